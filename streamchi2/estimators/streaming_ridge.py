"""StreamingRidge: the ``partial_fit`` that ridge regression, lasso and elastic net lack."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from streamchi2.errors import StateMismatchError
from streamchi2.estimators.linear_words import LinearLearner
from streamchi2.sources import Batch
from streamchi2.statistics.buffered_tracker import BufferedTracker
from streamchi2.statistics.target_moments import TargetMoments
from streamchi2.validation import as_numbers, refuse_huge


class StreamingRidge(RegressorMixin, LinearLearner):
    r"""Penalised least squares on a stream of features, equal to one fit on all rows at once.

    .. math:: \min_{w, b} \sum_i s_i (y_i - w^\top x_i - b)^2 + \alpha \|w\|^2

    with weights s, or the objectives of scikit-learn's ``Lasso`` and ``ElasticNet``. Only moments
    are kept: the model is solved when it is first read after learning.

    Laws: any cutting of the same rows into batches gives the same model, bit for bit; merged
    shards equal one pass; a refused call leaves no trace; reading changes nothing.

    Parameters
    ----------
    alpha : float or "gcv", default=1.0
        Strength of the penalty, with the meaning it has in scikit-learn's ``Ridge``, ``Lasso``
        or ``ElasticNet``; "gcv" chooses one for all outputs by generalised cross-validation.
    penalty : {"ridge", "lasso", "elastic_net"}, default="ridge"
        What is penalised: squares, absolute values or both.
    l1_ratio : float, default=0.5
        Share of the absolute values in the elastic net, above 0 and at most 1.
    half_life : float or None, default=None
        Rows after which a row counts half; None remembers everything. The penalty never fades.

    Attributes
    ----------
    coef_ : ndarray, shape (d,) or (t, d)
        Coefficients, in the shape that the targets had.
    intercept_ : float or ndarray, shape (t,)
        Prediction where all features are zero.
    alpha_ : float
        Strength of the penalty in use.
    n_features_in_, n_samples_seen_ : int
        Numbers of columns and of rows.

    See Also
    --------
    sklearn.linear_model.Ridge, sklearn.linear_model.ElasticNet : the same from all rows at once.

    Notes
    -----
    A row costs d (d + t) operations, the state is d (d + t) numbers, and solving costs d^3 / 3.

    References
    ----------
    Hoerl and Kennard (1970), doi:10.1080/00401706.1970.10488634.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = StreamingRidge(alpha="gcv")
    >>> for start in range(0, len(X), 50):
    ...     model = model.partial_fit(X[start : start + 50], y[start : start + 50])
    >>> print(f"{model.score(X, y):.3f} with alpha = {model.alpha_:.3f}")
    0.517 with alpha = 0.007
    """

    _flat_targets: bool

    def __init__(
        self,
        alpha: float | str = 1.0,
        *,
        penalty: str = "ridge",
        l1_ratio: float = 0.5,
        half_life: float | None = None,
    ) -> None:
        self.alpha = alpha
        self.penalty = penalty
        self.l1_ratio = l1_ratio
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
        """Learn from one more batch; see :meth:`fit` for the arguments."""
        return self._learn(X, y, sample_weight, first=not self.__sklearn_is_fitted__())

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
        model = self._model
        scores = model.scores(self._checked_features(X, first=False))
        return scores[:, 0] if self._flat_targets else scores

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Coefficients, shape (d,) or (t, d)."""
        coef = self._model.coef.T
        return coef[0] if self._flat_targets else coef

    @property
    def intercept_(self) -> float | NDArray[np.float64]:
        """Intercept, a number or shape (t,)."""
        intercept = self._model.intercept
        return float(intercept[0]) if self._flat_targets else intercept

    def _learn(self, X: Any, y: Any, sample_weight: ArrayLike | None, *, first: bool) -> Self:
        features = self._checked_features(X, first=first)
        targets = as_numbers(self, y, features.shape[0])
        refuse_huge(targets, name="y")
        weights = self._checked_weights(sample_weight, features.shape[0], first=first)
        half_life = self._checked_half_life(first=first)
        flat, targets = targets.ndim == 1, targets.reshape(features.shape[0], -1)
        stream = self._stream_for(features.shape[1], targets.shape[1], half_life, first=first)
        if not first and (flat, targets.shape[1]) != (self._flat_targets, stream.tracker.n_targets):
            shape = "(n,)" if self._flat_targets else f"(n, {stream.tracker.n_targets})"
            raise ValueError(f"y must keep its shape {shape}, got {np.shape(y)}")
        self._checked_words()
        new = X if first else None
        return self._absorbed(stream, features, targets, weights, first=new, _flat_targets=flat)

    def _stream_for(
        self, n_features: int, n_targets: int, half_life: float | None, *, first: bool
    ) -> BufferedTracker[TargetMoments]:
        if not first:
            return self._stream
        return BufferedTracker(TargetMoments(n_features, n_targets, half_life=half_life))

    def _learn_batch(self, batch: Batch, *, first: bool) -> None:
        batch.refuse_without_targets()
        self._learn(batch.rows, batch.targets, batch.weights, first=first)

    def _words_of_stream(self) -> dict[str, Any]:
        return {"_flat_targets": self._flat_targets}

    def _merged_words(self, other: Self) -> dict[str, Any]:
        if self._flat_targets != other._flat_targets:
            raise StateMismatchError(
                "targets must have the same shape to merge, got (n,) and (n, 1)"
            )
        return self._words_of_stream()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
