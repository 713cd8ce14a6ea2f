"""StreamingRidge: the ``partial_fit`` that ridge regression, lasso and elastic net lack."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from streamchi2.estimators.documented import documented
from streamchi2.estimators.linear import LinearStreamEstimator
from streamchi2.estimators.numeric_targets import numeric_batch
from streamchi2.estimators.parameter_docs import ATTRIBUTES, LINEAR, OF_FEATURES_WITH_TARGETS
from streamchi2.sources import Batch
from streamchi2.statistics.targets import NumericTargets


@documented(LINEAR, ATTRIBUTES, OF_FEATURES_WITH_TARGETS)
class StreamingRidge(RegressorMixin, LinearStreamEstimator):
    r"""Penalised least squares on a stream of features, equal to one fit on all rows at once.

    .. math:: \min_{w, b} \sum_i s_i (y_i - w^\top x_i - b)^2 + \alpha \|w\|^2

    with weights s, or the objectives of scikit-learn's ``Lasso`` and ``ElasticNet``. Only moments
    are kept: the model is solved when it is first read after learning.

    Laws: any cutting of the same rows into batches gives the same model, bit for bit; merged
    shards equal one pass; a refused call leaves no trace; reading changes nothing.

    %(parameters)s

    %(attributes)s

    See Also
    --------
    sklearn.linear_model.Ridge, sklearn.linear_model.ElasticNet : the same from all rows at once.

    Notes
    -----
    Absent, beside scikit-learn's Ridge: ``solver``, ``positive``, one ``alpha`` for each target
    and sparse input; rows are centred, so that zeros would not stay zeros.

    A row costs d (d + t) operations, the state is d (d + t) numbers, and solving costs d^3 / 3.

    References
    ----------
    Hoerl and Kennard (1970), doi:10.1080/00401706.1970.10488634.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = StreamingRidge(alpha="auto")
    >>> for start in range(0, len(X), 50):
    ...     model = model.partial_fit(X[start : start + 50], y[start : start + 50])
    >>> print(f"{model.score(X, y):.3f} with alpha = {model.alpha_:.3f}")
    0.515 with alpha = 0.040
    """

    _targets_kind = NumericTargets

    def __init__(
        self,
        alpha: float | str = 1.0,
        *,
        penalty: str = "ridge",
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        half_life: float | None = None,
    ) -> None:
        self.alpha = alpha
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.half_life = half_life

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything and learn from rows and targets, as one ``partial_fit`` would.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Features.
        y : array-like, shape (n,) or (n, t)
            Finite targets.
        sample_weight : array-like, shape (n,), optional
            A weight counts like that many equal rows.

        Returns
        -------
        StreamingRidge
            This estimator.
        """
        return self._learn(X, y, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one more batch."""
        return self._learn(X, y, sample_weight, first=None)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted targets, shape (n,) or (n, t) as they were learnt.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Features.

        Returns
        -------
        ndarray of float64
        """
        model = self._model()
        scores = model.linear.scores(self._validated(X, first=False))
        return scores[:, 0] if self._flat else scores

    @property
    def _flat(self) -> bool:
        known = self._stream.targets
        assert isinstance(known, NumericTargets)
        return known.flat

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Coefficients, shape (d,) or (t, d)."""
        coef = self._model().linear.coef.T
        return coef[0] if self._flat else coef

    @property
    def intercept_(self) -> np.float64 | NDArray[np.float64]:
        """Intercept, a number or shape (t,)."""
        intercept = self._model().linear.intercept
        number: np.float64 = intercept[0]
        return number if self._flat else intercept

    def _learn(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, *, first: bool | None
    ) -> Self:
        return self._learn_rows(X, sample_weight, numeric_batch(self, y), first=first)

    def _learn_batch(self, batch: Batch, *, first: bool) -> None:
        batch.refuse_without_targets()
        self._learn(batch.rows, batch.targets, batch.weights, first=first)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
