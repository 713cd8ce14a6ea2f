"""StreamingRidgeClassifier: one linear score a class, classes welcome at any time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from streamchi2.estimators.class_targets import labelled_batch
from streamchi2.estimators.documented import documented
from streamchi2.estimators.linear import LinearStreamEstimator
from streamchi2.estimators.parameter_docs import ATTRIBUTES, LINEAR, OF_LABELLED_FEATURES
from streamchi2.model import ModelParams
from streamchi2.sources import Batch
from streamchi2.statistics.class_weight import as_class_weight
from streamchi2.statistics.targets import ClassTargets, IndicatorTargets


@documented(LINEAR, ATTRIBUTES, OF_LABELLED_FEATURES)
class StreamingRidgeClassifier(ClassifierMixin, LinearStreamEstimator):
    r"""Penalised least squares on one-hot classes, from a stream of features.

    One regression a class, with targets 1 for its rows and 0 for all others; the class with the
    highest score is predicted. Learning costs the same for two classes and for a thousand.

    Laws: any cutting of the same rows into batches gives the same model, bit for bit; a class that
    first appears late gives the same model as one announced at the start; merged shards equal
    one pass; a refused call leaves no trace; reading changes nothing.

    %(parameters)s

    %(attributes)s

    See Also
    --------
    sklearn.linear_model.RidgeClassifier : targets 1 and -1, all rows at once. For two classes
        the scores are the same; for more, theirs are twice ours less one.

    Notes
    -----
    Absent, beside scikit-learn's RidgeClassifier: ``solver``, ``positive`` and sparse input. For
    ``predict_proba`` there is scikit-learn's ``CalibratedClassifierCV``.

    A row costs d^2 operations, the state is d (d + c) numbers, and solving costs d^3 / 3 + c d^2.

    References
    ----------
    Hoerl and Kennard (1970), doi:10.1080/00401706.1970.10488634.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = StreamingRidgeClassifier(alpha="auto")
    >>> for start in range(0, 1500, 100):
    ...     model = model.partial_fit(X[start : start + 100], y[start : start + 100])
    >>> print(f"{model.score(X[1500:], y[1500:]):.3f}")
    0.865
    """

    _signed = True
    _targets_kind = (ClassTargets, IndicatorTargets)

    def __init__(
        self,
        alpha: float | str = 1.0,
        *,
        penalty: str = "ridge",
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        class_weight: Mapping[Any, float] | str | None = None,
        half_life: float | None = None,
    ) -> None:
        self.alpha = alpha
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.half_life = half_life

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything and learn from rows and labels, as one ``partial_fit`` would."""
        return self._learn(X, y, None, sample_weight, first=True)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from one more batch.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Features.
        y : array-like, shape (n,), or array-like or sparse matrix, shape (n, n_labels)
            One label for each row, text or a number; new ones may appear at any time. Or an
            indicator matrix, 1 where a row has a label and 0 where it has not.
        classes : array-like, optional
            All labels there will ever be; others are refused from then on.
        sample_weight : array-like, shape (n,), optional
            A weight counts like that many equal rows.

        Returns
        -------
        StreamingRidgeClassifier
            This estimator.
        """
        return self._learn(X, y, classes, sample_weight, first=None)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return one score per row and class; of two classes, one per row, positive for the second.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Features.

        Returns
        -------
        ndarray of float64, shape (n, c) or (n,)
        """
        model = self._model()
        scores = model.linear.scores(self._validated(X, first=False))
        if model.classes is None:  # columns of indicators
            return 2.0 * scores - 1.0
        if scores.shape[1] <= 2:
            return scores[:, -1] - scores[:, 0] if scores.shape[1] == 2 else scores[:, 0]
        return scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label with the highest score for each row, or an indicator matrix."""
        model = self._model()
        scores = model.linear.scores(self._validated(X, first=False))
        if model.classes is None:
            return (scores > 0.5).astype(np.intp)
        labels: NDArray[Any] = model.classes[scores.argmax(axis=1)]
        return labels

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels seen or announced, sorted."""
        check_is_fitted(self)
        known = self._stream.targets
        if isinstance(known, IndicatorTargets):
            return np.arange(known.n_targets)
        assert isinstance(known, ClassTargets)
        return known.labels.copy()

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Coefficients of the scores, shape (n_classes, d); (1, d) for two classes."""
        model = self._model()
        coef = model.linear.coef.T
        if model.classes is None:
            return 2.0 * coef
        return coef[1:] - coef[:1] if coef.shape[0] == 2 else coef

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Intercepts of the scores, shape (n_classes,); (1,) for two classes."""
        model = self._model()
        intercept = model.linear.intercept
        if model.classes is None:
            return 2.0 * intercept - 1.0
        return intercept[1:] - intercept[:1] if intercept.size == 2 else intercept

    def _learn(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        first: bool | None,
    ) -> Self:
        return self._learn_rows(X, sample_weight, labelled_batch(self, y, classes), first=first)

    def _model_params(self) -> ModelParams:
        class_weight = as_class_weight(self.class_weight)
        return replace(super()._model_params(), class_weight=class_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.class_weight is None
        return tags

    def _learn_batch(self, batch: Batch, *, first: bool) -> None:
        batch.refuse_without_targets()
        self._learn(batch.rows, batch.targets, None, batch.weights, first=first)
