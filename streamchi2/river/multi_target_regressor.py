"""ExpChi2MultiTargetRegressor for river: several numbers a row, one row at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np
from river import base
from river.utils.dataframe import into_frame

from streamchi2.estimators.documented import documented
from streamchi2.estimators.parameter_docs import ATTRIBUTES
from streamchi2.river.named_targets import NamedTargetsModel
from streamchi2.river.numeric_targets import as_number
from streamchi2.river.parameter_docs import ARGUMENTS, LEARNER
from streamchi2.statistics.targets import NumericTargets


@documented(LEARNER, ATTRIBUTES, ARGUMENTS)
class ExpChi2MultiTargetRegressor(NamedTargetsModel, base.MultiTargetRegressor):  # type: ignore[misc]
    r"""Kernel ridge regression with several numeric targets a row.

    Rows become features z of the kernel (see :class:`ExpChi2Sampler`), and least squares is solved
    for all targets at once, under one penalty, when :class:`ExpChi2Regressor` solves it.

    .. math:: \min_W \sum_i \lVert y_i - W^\top z(x_i) - b \rVert^2 + \alpha \lVert W \rVert^2

    Targets are dicts of name to number. The first row says which names there are; a row that lacks
    one or has another is refused, since a number that is not known cannot be taken for zero.

    Laws: the statistics and the predictions are those of :class:`streamchi2.ExpChi2Regressor` for
    a matrix of targets; merging shards equals one pass; a refused call leaves no trace; reading
    changes nothing.

    %(parameters)s

    %(attributes)s

    Examples
    --------
    >>> from river import evaluate, metrics
    >>> from streamchi2.river import ExpChi2MultiTargetRegressor
    >>> shares = np.random.default_rng(0).dirichlet(np.ones(8), size=600).tolist()
    >>> rows = [dict(enumerate(share)) for share in shares]
    >>> stream = [(x, {"wave": np.sin(8 * x[0]), "sum": x[1] + x[2]}) for x in rows]
    >>> model = ExpChi2MultiTargetRegressor(n_components=256, seed=0)
    >>> metric = metrics.multioutput.MicroAverage(metrics.R2())
    >>> print(f"{evaluate.progressive_val_score(stream, model, metric).get():.2f}")
    0.90
    """

    _targets_kind = NumericTargets

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_components": 16, "n_terms": 2, "half_life": 99.0, "basis": "orthogonal"}

    def _no_targets(self) -> NumericTargets:
        return NumericTargets(1, flat=False, names=())

    def _checked_value(self, name: Any, value: Any) -> float:
        return as_number(value, f" for {name!r}")

    def _with_target(
        self, known: NumericTargets, target: Mapping[str | int, float]
    ) -> NumericTargets:
        if not target:
            raise ValueError("y must hold a number for each target, got an empty dict")
        if known.names and target.keys() != known.columns.keys():
            raise ValueError(
                f"y must hold the targets {list(known.names)} as before, got {list(target)}; "
                "leave out rows that lack one, or observe them"
            )
        return known.with_names(target)

    def predict_one(self, x: dict[Hashable, Any]) -> dict[Any, float]:
        """Return a number for each target; an empty dict before the first row."""
        return dict(zip(self._names(), self._outputs_one(x).tolist(), strict=True))

    def predict_many(self, X: Any) -> Any:
        """Return a frame of the same kind and index as ``X``, a column for each target."""
        frame = into_frame(X)
        return self._frame(self._outputs_many(frame), np.float64, frame)
