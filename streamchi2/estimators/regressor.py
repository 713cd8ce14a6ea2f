"""ExpChi2Regressor: online regression on histograms with the exp-chi2 kernel."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from streamchi2.estimators.documented import documented
from streamchi2.estimators.numeric_targets import numeric_batch
from streamchi2.estimators.parameter_docs import ATTRIBUTES, LEARNER, OF_ROWS_WITH_TARGETS
from streamchi2.estimators.regression import MapRegression
from streamchi2.sources import Batch
from streamchi2.statistics.targets import NumericTargets


@documented(LEARNER, ATTRIBUTES, OF_ROWS_WITH_TARGETS)
class ExpChi2Regressor(RegressorMixin, MapRegression):
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
    0.93
    """

    _targets_kind = NumericTargets

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything and learn from rows and targets, as one ``partial_fit`` would."""
        return self._learn(X, y, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one more batch.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame, shape (n, d)
            Non-negative rows.
        y : array-like, shape (n,) or (n, n_targets)
            Finite targets.
        sample_weight : array-like, shape (n,), optional
            A weight of two equals a repeated row, a weight of zero no row.

        Returns
        -------
        ExpChi2Regressor
            This estimator.
        """
        return self._learn(X, y, sample_weight, first=None)

    def observe(self, X: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows without targets: the histogram of inputs and the principal components.

        The number of targets must be known by then.
        """
        check_is_fitted(self)

        def absent(known: Any, n_rows: int, heavy: Any) -> Any:
            return known, known.absent(n_rows)

        return self._learn_rows(X, sample_weight, absent, first=False)

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        *,
        first: bool | None,
        given: NDArray[np.bool_] | None = None,
    ) -> Self:
        return self._learn_rows(X, sample_weight, numeric_batch(self, y, given), first=first)

    def _learn_batch(self, batch: Batch, *, first: bool) -> None:
        if batch.targets is None and not first:
            self.observe(batch.rows, batch.weights)
        else:
            rows, targets, weights = batch.rows, batch.targets, batch.weights
            self._learn(rows, targets, weights, first=first, given=batch.given)

    @property
    def _flat(self) -> bool:
        known = self._stream.targets
        assert isinstance(known, NumericTargets)
        return known.flat

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Coefficients on the features, shape (n_components,) or (n_targets, n_components)."""
        coef = self._model().linear.coef.T
        return coef[0] if self._flat else coef

    @property
    def intercept_(self) -> NDArray[np.float64] | np.float64:
        """Intercept, a number or shape (n_targets,)."""
        intercept = self._model().linear.intercept
        number: np.float64 = intercept[0]
        return number if self._flat else intercept

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted targets, shape (n,) or (n, n_targets) as they were learnt."""
        scores = self._scores(self._model(), X)
        return scores[:, 0] if self._flat else scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
