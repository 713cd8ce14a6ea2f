"""Two passes over a source where the joint scatter of several descriptors does not fit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, Self

from sklearn.base import clone

from streamchi2.estimators.documented import documented_like
from streamchi2.estimators.fit_stream import FitStream
from streamchi2.estimators.map_params import divided
from streamchi2.feature_map import AdaptiveFeatureMap, Projection
from streamchi2.runtime.interrupts import deferred_interrupts
from streamchi2.stream import Stream

_UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


class TwoPasses(FitStream):
    """``fit_stream`` that reads its source twice where once would take too much memory."""

    descriptors: Any
    n_components: Any
    n_pca: Any

    @documented_like(
        FitStream.fit_stream,
        memory_budget="""\
memory_budget : int, str or None, default=None
    Bytes for scatter matrices, as a number or like "4GB"; None is no limit. Solving takes two to
    three times as much for a while. Where two passes are needed, the source must be one that can
    be read again, no generator; they start afresh, and have no checkpoints.""",
    )
    def fit_stream(
        self,
        source: Any,
        *,
        memory_budget: int | str | None = None,
        target: str | None = None,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        delimiter: str | None = None,
        target_dtype: Any = None,
        batch_size: int = 4096,
        source_name: str | None = None,
        forget: bool = True,
        checkpoint: Any = None,
        checkpoint_every: int = 100_000,
        verbose: int = 1,
        callback: Callable[[int, int | None], Any] | None = None,
    ) -> Self:
        """Learn from a source larger than memory, in one pass or in two.

        With several descriptors the scatter of all their features takes 8 D^2 bytes. Where that is
        above ``memory_budget`` and ``n_pca`` is given, a first pass finds the maps and the
        principal components of each descriptor, a second one learns inside these: 8 times the
        sum of D_g^2 and 8 P^2 bytes, P components in all. The model is that of one pass up to
        rounding where ``adapt=False``; else all rows are learnt under the final maps, where one
        pass has learnt the earlier ones under maps that were then transported.

        %(parameters)s

        Returns
        -------
        estimator
            This one. A refusal in one of two passes leaves it as it was; where one pass refuses a
            batch, those before it have been learnt.
        """
        options: dict[str, Any] = {
            "target": target,
            "weight": weight,
            "columns": columns,
            "delimiter": delimiter,
            "target_dtype": target_dtype,
            "batch_size": batch_size,
            "source_name": source_name,
            "forget": forget,
            "checkpoint": checkpoint,
            "checkpoint_every": checkpoint_every,
            "verbose": verbose,
            "callback": callback,
        }
        if not needs_two_passes(self, memory_budget):
            return super().fit_stream(source, **options)
        if isinstance(source, Iterator):
            raise TypeError(
                "source must be one that can be read twice where memory_budget asks for two "
                f"passes, got a {type(source).__name__}"
            )
        if checkpoint is not None or not forget:
            raise ValueError(
                "two passes start afresh and have no checkpoints: forget must be True and "
                f"checkpoint None, got forget={forget} and checkpoint={checkpoint!r}"
            )
        stream = self._streamed_twice(source, options)
        with deferred_interrupts():
            self._stream = stream
        return self

    def _streamed_twice(self: Any, source: Any, options: dict[str, Any]) -> Stream:
        first = first_of_two(self).fit_stream(source, **options)
        second = clone(self)
        second._planned = map_for_second_pass(first)
        FitStream.fit_stream(second, source, **options)
        n_rows = [model._stream.n_rows for model in (first, second)]
        if n_rows[0] != n_rows[1]:
            raise ValueError(
                f"source must give the same rows when it is read again, got {n_rows[0]} rows and "
                f"then {n_rows[1]}"
            )
        stream: Stream = second._stream.flush()
        unfreeze(stream)
        return stream


def needs_two_passes(estimator: Any, memory_budget: Any) -> bool:
    """Tell whether the joint scatter of an estimator's descriptors is above a budget, or None."""
    budget = None if memory_budget is None else as_bytes(memory_budget)
    if budget is None or estimator.descriptors is None:
        return False
    given = estimator.descriptors
    names = tuple(given) if isinstance(given, Mapping) else ("",)
    n_bytes = 8 * sum(divided(estimator.n_components, names, name="n_components")) ** 2
    if n_bytes > budget and estimator.n_pca is None:
        raise ValueError(
            f"memory_budget must hold a scatter of {n_bytes} bytes unless n_pca is given, got "
            f"{budget:.0f}"
        )
    return bool(n_bytes > budget)


def first_of_two(estimator: Any) -> Any:
    """Return the estimator of the first pass: the principal components of each descriptor."""
    from streamchi2.estimators.pca import ExpChi2PCA

    estimator._model_params()  # refused before all the work
    parameters = estimator.get_params(deep=False)
    return ExpChi2PCA(**{name: parameters[name] for name in ExpChi2PCA._get_param_names()})


def map_for_second_pass(first: Any) -> AdaptiveFeatureMap:
    """Return the map of the second pass, from what the first has found; it does not change."""
    found = first._components()
    adaptive: AdaptiveFeatureMap = first._reading.inputs.copy()
    adaptive.projection = Projection(found.vectors.blocks, found.mean, found.variance_shares)
    adaptive.frozen = True
    return adaptive


def unfreeze(stream: Stream) -> None:
    """Let the map of a stream follow its rows again, after the second pass."""
    assert stream.feature_map is not None
    adaptive = stream.feature_map.copy()
    adaptive.frozen = False
    stream.feature_map = adaptive


def as_bytes(size: Any) -> float:
    """Return a number of bytes from one, or from text such as "4GB" and "512 MiB".

    >>> as_bytes("1.5GB")
    1500000000.0
    >>> as_bytes("much")
    Traceback (most recent call last):
        ...
    ValueError: memory_budget must be a positive number of bytes or like '4GB', got 'much'
    """
    found = None
    if isinstance(size, Integral) and not isinstance(size, bool):
        found = float(size)
    elif isinstance(size, str) and (match := re.fullmatch(r"(\d+(?:\.\d+)?) ?([kMGTi]*B)", size)):
        found = float(match[1]) * _UNITS.get(match[2], 0.0)
    if found is None or not found > 0.0:
        raise ValueError(
            f"memory_budget must be a positive number of bytes or like '4GB', got {size!r}"
        )
    return found
