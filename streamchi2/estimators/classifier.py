"""ExpChi2Classifier: online classification of histograms with the exp-chi2 kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from streamchi2.checks import as_choice
from streamchi2.estimators.class_targets import class_targets, labelled_batch
from streamchi2.estimators.documented import documented
from streamchi2.estimators.parameter_docs import ATTRIBUTES, LEARNER, OF_LABELLED_ROWS
from streamchi2.estimators.regression import MapRegression
from streamchi2.model import FittedModel, ModelParams
from streamchi2.sources import Batch
from streamchi2.statistics.class_weight import as_class_weight
from streamchi2.statistics.targets import ClassTargets, IndicatorTargets


@documented(LEARNER, ATTRIBUTES, OF_LABELLED_ROWS)
class ExpChi2Classifier(ClassifierMixin, MapRegression):
    r"""Kernel ridge classification of histograms, learnt from a stream at linear cost.

    Rows become features of the exp-chi2 kernel (see :class:`ExpChi2Sampler`); least squares on
    one-hot targets is solved from their statistics when a prediction is asked for.

    .. math:: \min_W \sum_i \lVert y_i - W^\top z(x_i) - b \rVert^2 + \alpha \lVert W \rVert^2

    Laws: any cutting of the same rows into batches gives the same model, bit for bit; merging
    shards equals one pass; a class that appears late gives the model of one announced at the
    start; a refused call leaves no trace; reading changes nothing.

    %(parameters)s

    %(attributes)s

    References
    ----------
    Li, Lebanon and Sminchisescu (2013), Algorithms 3 and 4, arXiv:1206.4074.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> X /= X.sum(axis=1, keepdims=True)
    >>> model = ExpChi2Classifier(n_components=512, random_state=0)
    >>> for start in range(0, 1200, 100):
    ...     model = model.partial_fit(X[start : start + 100], y[start : start + 100])
    >>> print(f"{model.score(X[1200:], y[1200:]):.3f}")
    0.950
    """

    _targets_kind = (ClassTargets, IndicatorTargets)

    _MODEL_PARAMETERS = (*MapRegression._MODEL_PARAMETERS, "calibrate", "class_weight")

    def __init__(
        self,
        n_components: int | Mapping[str, int] = 1024,
        *,
        descriptors: Mapping[str, Any] | None = None,
        n_pca: Any = None,
        alpha: float | str = "auto",
        penalty: str = "ridge",
        l1_ratio: float = 0.5,
        calibrate: str | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        beta: Any = "auto",
        dof: float = 2,
        series: str = "direct",
        n_terms: Any = "auto",
        basis: Any = "subspace",
        landmarks: Any = None,
        n_buckets: int | str | None = "auto",
        normalize: str | None = None,
        adapt: bool = True,
        half_life: float | None = None,
        dtype: str = "float32",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            n_components,
            descriptors=descriptors,
            n_pca=n_pca,
            alpha=alpha,
            penalty=penalty,
            l1_ratio=l1_ratio,
            beta=beta,
            dof=dof,
            series=series,
            n_terms=n_terms,
            basis=basis,
            landmarks=landmarks,
            n_buckets=n_buckets,
            normalize=normalize,
            adapt=adapt,
            half_life=half_life,
            dtype=dtype,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.calibrate = calibrate
        self.class_weight = class_weight

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
        X : array-like, sparse matrix or DataFrame, shape (n, d)
            Non-negative rows.
        y : array-like, shape (n,), or array-like or sparse matrix, shape (n, n_labels)
            One label for each row, text or a number; new ones may appear at any time. Or an
            indicator matrix, 1 where a row has a label and 0 where it has not: one binary
            classifier for each column, all with one penalty.
        classes : array-like, optional
            All labels there will ever be; others are refused from then on. For an indicator matrix
            the numbers of its columns.
        sample_weight : array-like, shape (n,), optional
            A weight of two equals a repeated row, a weight of zero no row.

        Returns
        -------
        ExpChi2Classifier
            This estimator.
        """
        return self._learn(X, y, classes, sample_weight, first=None)

    def observe(self, X: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows without labels: the histogram of inputs and the principal components."""
        return self._observe(X, sample_weight, first=None)

    def _observe(self, X: Any, sample_weight: ArrayLike | None, *, first: bool | None) -> Self:
        def absent(known: Any, n_rows: int, heavy: NDArray[np.bool_] | None) -> Any:
            targets = known
            if not isinstance(known, IndicatorTargets):
                targets = class_targets(known, self.class_weight)
            return targets, targets.absent(n_rows)

        return self._learn_rows(X, sample_weight, absent, first=first)

    def _learn(
        self,
        X: Any,
        y: Any,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
        *,
        first: bool | None,
        given: NDArray[np.bool_] | None = None,
    ) -> Self:
        labelled = labelled_batch(self, y, classes, given)
        return self._learn_rows(X, sample_weight, labelled, first=first)

    def _learn_batch(self, batch: Batch, *, first: bool) -> None:
        if batch.targets is None:
            self._observe(batch.rows, batch.weights, first=first)
        else:
            rows, targets, weights = batch.rows, batch.targets, batch.weights
            self._learn(rows, targets, None, weights, first=first, given=batch.given)

    def _model_params(self) -> ModelParams:
        if self.calibrate is not None:
            as_choice(self.calibrate, ("quantile",), name="calibrate")
        class_weight = as_class_weight(self.class_weight)
        params = super()._model_params()
        return ModelParams(
            params.n_pca, params.penalty, calibrate=self.calibrate, class_weight=class_weight
        )

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels seen or announced, sorted; numbers of columns where y is an indicator matrix."""
        check_is_fitted(self)
        known = self._stream.targets
        if isinstance(known, IndicatorTargets):
            return np.arange(known.n_targets)
        assert isinstance(known, ClassTargets)
        if not known.labels.size:
            raise NotFittedError("No row has had a label yet: call partial_fit")
        return known.labels.copy()

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Coefficients on the features, shape (n_classes, n_components)."""
        return self._model().linear.coef.T

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Intercepts, shape (n_classes,)."""
        return self._model().linear.intercept

    def _class_scores(self, model: FittedModel, X: Any) -> NDArray[np.float64]:
        scores = self._scores(model, X)
        if self.calibrate is None or model.classes is None:
            return scores
        assert model.calibration is not None
        return scores - model.calibration.shifts

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return one score per row and class; for two classes one per row, positive for the second.

        Where y was an indicator matrix, one per row and column, positive for rows with the label.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame, shape (n, d)
            Non-negative rows.

        Returns
        -------
        ndarray, shape (n, n_classes) or (n,)
        """
        model = self._model()
        scores = self._class_scores(model, X)
        if model.classes is None:
            return 2.0 * scores - 1.0
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label with the highest score for each row, or an indicator matrix."""
        model = self._model()
        scores = self._class_scores(model, X)
        if model.classes is None:
            return (scores > 0.5).astype(np.intp)
        labels: NDArray[Any] = np.asarray(model.classes)[scores.argmax(axis=1)]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return one probability per row and class.

        A softmax of the scores, mixed with the same probability for every class: labels may be
        wrong. Its inverse temperature and the share of the mixture have the least log-loss on rows
        that were left out: all rows until they exceed features by an eighth, then a sample of
        up to 1024. The class that :meth:`predict` returns has the highest probability. Where y was
        an indicator matrix, the probability of each label, from a softmax of its own.
        """
        model = self._model()
        return model.probabilities(self._class_scores(model, X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.class_weight is None and self.calibrate is None
        return tags

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
