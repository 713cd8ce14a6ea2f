"""ExpChi2MultiTargetRegressor for river: several numbers a row, one row at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from river import base

from streamchi2.checks.targets import as_number
from streamchi2.docstrings import documented
from streamchi2.readings import DescriptorReadings
from streamchi2.river.base import NamedStreamEstimator
from streamchi2.river.named_targets import (
    by_name,
    checked_by_name,
    dicts_of_frame,
    frame_of,
    names_of,
)
from streamchi2.river.parameter_docs import RIVER
from streamchi2.saving import saved
from streamchi2.statistics.targets import Targets


@saved("river.ExpChi2MultiTargetRegressor")
@documented(RIVER)
class ExpChi2MultiTargetRegressor(  # type: ignore[misc]
    DescriptorReadings, NamedStreamEstimator, base.MultiTargetRegressor
):
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
    0.86
    """

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_components": 16, "n_terms": 2, "half_life": 99.0, "basis": "orthogonal"}

    @property
    def target_names_(self) -> list[Any]:
        """Names of the targets in the order in which they came, that of the rows of ``coef_``."""
        return names_of(self._stream)

    def _no_targets(self) -> Targets:
        return Targets("numbers")

    @staticmethod
    def _checked_target(y: Any, /) -> dict[str | int, float]:
        return checked_by_name(y, as_number)

    def _read_targets(self, y: Any) -> tuple[list[Any], Any]:
        return dicts_of_frame(y), None

    def predict_one(self, x: dict[Hashable, Any]) -> dict[Any, float]:
        """Return a number for each target; an empty dict before the first row.

        Parameters
        ----------
        x : dict
            Features by name, finite and non-negative; a missing key is a zero.
        """
        model, scores = self._scores_one(x)
        return {} if model is None else dict(by_name(self._stream, scores.tolist()))

    def predict_many(self, X: Any) -> Any:
        """Return a frame of the same kind and index as ``X``, a column for each target.

        Parameters
        ----------
        X : pandas, polars or pyarrow DataFrame
            Rows without missing values; names of columns are keys.
        """
        frame, _, scores = self._scores_many(X)
        return frame_of(scores, self.target_names_, np.float64, frame)
