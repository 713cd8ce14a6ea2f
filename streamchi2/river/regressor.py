"""ExpChi2Regressor for river: kernel regression on histograms, one row at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from river import base
from river.utils.dataframe import to_native_series

from streamchi2.checks.targets import as_number
from streamchi2.docstrings import RIVER, documented
from streamchi2.readings import DescriptorReadings
from streamchi2.river.base import NamedStreamEstimator
from streamchi2.saving import saved
from streamchi2.statistics.targets import Targets


@saved("river.ExpChi2Regressor")
@documented(RIVER)
class ExpChi2Regressor(DescriptorReadings, NamedStreamEstimator, base.MiniBatchRegressor):
    r"""Kernel ridge regression with the exp-chi2 kernel, at linear cost and constant memory.

    .. math:: \min_w \sum_i (y_i - w^\top z(x_i) - b)^2 + \alpha \lVert w \rVert^2

    Rows become features z of the kernel (see :class:`ExpChi2Sampler`), and least squares is solved
    again whenever rows have grown by six to twelve per cent; in between the latest rows correct it.
    ``alpha``, where it is not a number, is chosen again whenever the number of rows has doubled.
    Every penalty but "ridge", and ``n_pca``, makes each solution some ten times as expensive.

    Laws: ``learn_many`` over any cutting and ``learn_one`` over rows give the same model, bit for
    bit; merging shards equals one pass; a refused call leaves no trace; reading changes nothing.

    %(parameters)s

    %(attributes)s

    References
    ----------
    Li, Lebanon and Sminchisescu (2013), Algorithms 3 and 4, arXiv:1206.4074.

    Examples
    --------
    >>> from river import evaluate, metrics
    >>> from streamchi2.river import ExpChi2Regressor
    >>> shares = np.random.default_rng(0).dirichlet(np.ones(8), size=600).tolist()
    >>> rows = [dict(enumerate(share)) for share in shares]
    >>> stream = [(x, np.sin(8 * x[0]) + x[1]) for x in rows]
    >>> model = ExpChi2Regressor(n_components=256, seed=0)
    >>> print(f"{evaluate.progressive_val_score(stream, model, metrics.R2()).get():.2f}")
    0.80
    """

    _checked_target = staticmethod(as_number)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_components": 64}

    def _no_targets(self) -> Targets:
        return Targets.of_columns("numbers", np.empty(0))

    def predict_one(self, x: dict[Hashable, Any]) -> float:
        """Return the predicted target; 0.0 before the first row.

        Parameters
        ----------
        x : dict
            Features by name, finite and non-negative; a missing key is a zero.
        """
        model, scores = self._scores_one(x)
        return 0.0 if model is None else float(scores[0])

    def predict_many(self, X: Any) -> Any:
        """Return a series of predictions of the same kind and index as ``X``.

        Parameters
        ----------
        X : pandas, polars or pyarrow DataFrame
            Rows without missing values; names of columns are keys.
        """
        frame, model, scores = self._scores_many(X)
        values = np.zeros(len(frame)) if model is None else np.array([row[0] for row in scores])
        return to_native_series(values, name=self._target_name, like=frame)
