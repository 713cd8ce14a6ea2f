"""ExpChi2Regressor: online regression on histograms with the exp-chi2 kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from streamchi2.docstrings import documented
from streamchi2.estimators.mapped import MapLearner
from streamchi2.estimators.predictors import StreamRegressor
from streamchi2.readings import DescriptorReadings
from streamchi2.saving import register


@documented()
class ExpChi2Regressor(StreamRegressor, MapLearner, DescriptorReadings):
    r"""Kernel ridge regression on histograms, learnt from a stream at linear cost.

    Rows become features of the exp-chi2 kernel (see :class:`ExpChi2Sampler`); least squares is
    solved from their statistics when a prediction is asked for.

    .. math:: \min_W \sum_i \lVert y_i - W^\top z(x_i) - b \rVert^2 + \alpha \lVert W \rVert^2

    Laws: any cutting of the same rows into batches gives the same model, bit for bit; merging
    shards equals one pass; a refused call leaves no trace; reading changes nothing.

    %(parameters)s

    %(attributes)s

    References
    ----------
    Li, Lebanon and Sminchisescu (2013), Algorithms 3 and 4, arXiv:1206.4074.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> X = random.dirichlet(np.ones(8), size=600)
    >>> y = np.sin(8 * X[:, 0]) + X[:, 1]
    >>> model = ExpChi2Regressor(n_components=200, random_state=0)
    >>> for start in range(0, 500, 50):
    ...     model = model.partial_fit(X[start : start + 50], y[start : start + 50])
    >>> print(f"{model.score(X[500:], y[500:]):.2f}")
    0.92
    """

    _observes = True

    def __init__(
        self,
        n_components: int | Mapping[str, int] = 1024,
        *,
        norm: str | None = None,
        basis: Any = "subspace",
        beta: Any = "auto",
        alpha: float | str = "auto",
        half_life: float | str | None = None,
        latest_rows: int = 0,
        descriptors: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_pca: Any = None,
        penalty: str = "ridge",
        l1_ratio: float = 0.5,
        dof: float = 2,
        series: str = "direct",
        n_terms: Any = "auto",
        landmarks: Any = None,
        adapt: bool = True,
    ) -> None:
        self._store(locals())

    def observe(self, X: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows without targets: the histogram of inputs and the principal components.

        The number of targets must be known by then.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Non-negative rows.
        sample_weight : array-like of shape (n,)
            Weight of each row. By default all are 1.

        Returns
        -------
        Self
            This estimator.
        """
        check_is_fitted(self)
        return self._learn(X, None, sample_weight, has_target=False)


register(ExpChi2Regressor, name="ExpChi2Regressor")
