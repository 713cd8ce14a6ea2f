"""Base class of river estimators with several targets a row, given as dicts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river.utils.dataframe import into_frame, to_native_frame

from streamchi2.model import FittedModel
from streamchi2.river.numeric_targets import NumericTargetsModel
from streamchi2.state import require
from streamchi2.statistics.targets import NumericTargets
from streamchi2.stream import Stream


class NamedTargetsModel(NumericTargetsModel):
    """A model of named rows whose targets have names, too: a column for each."""

    @property
    def target_names_(self) -> list[Any]:
        """Names of the targets in the order in which they came, that of the rows of ``coef_``."""
        return list(self._names())

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Coefficients on the features, shape (n_targets, n_components)."""
        return super().coef_[: len(self._names())]

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Intercepts, shape (n_targets,)."""
        return np.asarray(super().intercept_)[: len(self._names())]

    def _names(self) -> tuple[str | int, ...]:
        known = None if self._stream is None else self._stream.targets
        assert known is None or isinstance(known, NumericTargets)
        return () if known is None else known.names or ()

    def _checked_target(self, y: Any) -> dict[str | int, float]:
        if not isinstance(y, Mapping):
            raise TypeError(f"y must be a dict with a value for each target, got {y!r}")
        return {_as_name(name): self._checked_value(name, value) for name, value in y.items()}

    def _checked_value(self, name: Any, value: Any) -> float:
        raise NotImplementedError

    def _known_targets(self, stream: Stream, targets: Sequence[Any]) -> NumericTargets:
        known = stream.targets
        assert isinstance(known, NumericTargets)
        for target in targets:
            known = self._with_target(known, target)
        return known

    def _with_target(
        self, known: NumericTargets, target: Mapping[str | int, float]
    ) -> NumericTargets:
        """Return what is known after one more target, or refuse it."""
        raise NotImplementedError

    def _as_target(self, stream: Stream, target: Any) -> NDArray[np.float64]:
        known = stream.targets
        assert isinstance(known, NumericTargets)
        values = np.zeros(known.n_targets)
        for name, value in target.items():
            values[known.columns[name]] = value
        return values

    def _read_targets(self, y: Any) -> tuple[list[Any], Any]:
        frame = into_frame(y)
        # Names of pandas need not be text; narwhals would have them so.
        named = frame.implementation.is_pandas_like()
        names = list(frame.to_native().columns if named else frame.columns)
        if len(set(names)) < len(names):
            raise ValueError(f"y must have distinct columns, got {names!r}")
        columns = [frame[:, place].to_list() for place in range(len(names))]
        rows = zip(*columns, strict=True) if columns else [()] * len(frame)
        return [dict(zip(names, row, strict=True)) for row in rows], None

    def _outputs_one(self, x: dict[Hashable, Any]) -> NDArray[np.float64]:
        """Return one output for each name that the model knows; none before the first target."""
        model = self._schedule.model
        if model is None:
            self._reader.read(x)  # refuses what learning would refuse
            return np.empty(0)
        return self._scores_one(model, x)[: len(self._names())]

    def _outputs_many(self, frame: Any) -> list[NDArray[np.float64]]:
        model = self._schedule.model
        return [] if model is None else self._scores_many(model, frame)

    def _frame(self, rows: list[NDArray[Any]], dtype: type, like: Any) -> Any:
        """Return values of rows, one for each of the first names, as a frame with all names."""
        names = self._names()
        values: NDArray[Any] = np.zeros((len(like), len(names)), dtype=dtype)
        for place, row in enumerate(rows):
            values[place, : row.size] = row[: len(names)]
        return to_native_frame(values, columns=names, like=like)

    def _check_model(self, model: FittedModel, stream: Stream) -> None:
        require(model.classes is None, "targets with names have no classes")
        known = stream.targets
        assert isinstance(known, NumericTargets)
        require(known.names is not None, "targets must have names")
        require(model.linear.intercept.size <= known.n_targets, "a model of unknown targets")


def _as_name(name: Any) -> str | int:
    plain = name.item() if isinstance(name, np.generic) else name
    if type(plain) not in (str, int):
        raise TypeError(f"names of targets in y must be text or whole numbers, got {name!r}")
    known: str | int = plain
    return known
