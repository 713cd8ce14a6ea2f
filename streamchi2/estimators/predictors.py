"""What classifiers and regressors share, on the features of a map and on features as they come."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError

from streamchi2.checks.rows import as_weights
from streamchi2.checks.targets import (
    as_indicators,
    as_labels,
    as_numbers,
    is_indicator,
    refuse_huge,
)
from streamchi2.errors import NoTargetError
from streamchi2.estimators.base import StreamEstimator, in_blocks, refuse_change
from streamchi2.model import Model
from streamchi2.readings import ModelReadings
from streamchi2.sources import Batch
from streamchi2.statistics.targets import Targets
from streamchi2.statistics.weights import as_class_weight
from streamchi2.stream import Stream


class StreamPredictor(ModelReadings, StreamEstimator):
    """An estimator whose model is penalised least squares on targets of some kind."""

    _observes = False  # whether rows without targets are of use

    def _model(self) -> Model:
        """Return one model, so that all parts of an answer belong together."""
        stream = self._fitted_stream()
        try:
            return stream.model(self._learner_spec())
        except NoTargetError:
            message = (
                "No row has had a target yet: call partial_fit; rows of a class whose class_weight "
                "is 0 count as rows without one"
            )
            raise NotFittedError(message) from None

    def _from_scores(self, model: Model, X: Any, work: Callable[[Any], Any]) -> NDArray[Any]:
        """Return what ``work`` makes of the scores of rows."""
        rows = self._checked_rows(X, reset=False)

        def answers(block: Any) -> NDArray[Any]:
            if model.feature_map is not None:
                block = model.feature_map.transform(block, n_jobs=getattr(self, "n_jobs", None))
            # In float64, so that coefficients which differ by rounding give scores that do.
            answer: NDArray[Any] = work(model.scores(block.astype(np.float64, copy=False)))
            return answer

        return in_blocks(answers, rows)

    def _learn_batch(self, batch: Batch, *, first: bool) -> None:
        if not self._observes:
            batch.refuse_without_targets()
        has_target = batch.targets is not None if batch.given is None else batch.given
        rows, targets, weights = batch.rows, batch.targets, batch.weights
        self._learn(rows, targets, weights, first=first, has_target=has_target)

    def _saved_state(self) -> dict[str, Any]:
        self._conclude()
        return super()._saved_state()

    def __getstate__(self) -> dict[str, Any]:
        self._conclude()
        state: dict[str, Any] = super().__getstate__()
        return state

    def _conclude(self) -> None:
        """Work out what is due, or the state would show whether somebody has read."""
        if self.__sklearn_is_fitted__():
            self._stream.conclude(self._learner_spec())


class StreamClassifier(ClassifierMixin, StreamPredictor):
    """A classifier: one regression a class, with targets 1 for its rows and 0 for all others."""

    class_weight: Mapping[Any, float] | str | None

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything and learn from rows and labels, as one ``partial_fit`` would.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows: not negative, or of any sign and dense where the features are given.
        y : array-like of shape (n,), or array-like or sparse matrix of shape (n, n_labels)
            Labels, or an indicator matrix.
        sample_weight : array-like of shape (n,)
            Weight of each row: 2 counts like a repeated row, 0 like no row. By default all are 1.

        Returns
        -------
        Self
            This estimator.
        """
        return self._learn(X, y, sample_weight, first=True)

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
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows, as for ``fit``.
        y : array-like of shape (n,), or array-like or sparse matrix of shape (n, n_labels)
            One label for each row, text or a number; new ones may appear at any time. Or an
            indicator matrix, 1 where a row has a label and 0 where it has not: one binary
            classifier for each column, all with one penalty.
        classes : array-like, optional
            All labels there will ever be; others are refused from then on. For an indicator matrix
            the numbers of its columns.
        sample_weight : array-like of shape (n,)
            Weight of each row: 2 counts like a repeated row, 0 like no row. By default all are 1.

        Returns
        -------
        Self
            This estimator.
        """
        return self._learn(X, y, sample_weight, classes=classes)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return one score per row and class; of two classes one per row, positive for the second.

        Where y was an indicator matrix, one per row and column, positive for rows with the label.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows, as for ``fit``.

        Returns
        -------
        ndarray of shape (n, n_classes) or (n,)
        """
        model = self._model()

        def decided(scores: NDArray[np.float64]) -> NDArray[np.float64]:
            if model.targets.kind == "indicators":
                return 2.0 * scores - 1.0
            return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

        return self._from_scores(model, X, decided)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label with the highest score for each row, or an indicator matrix.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows, as for ``fit``.

        Returns
        -------
        ndarray of shape (n,) or (n, n_labels)
        """
        model = self._model()
        if model.targets.kind == "indicators":
            return self._from_scores(model, X, lambda scores: (scores > 0.5).astype(np.intp))
        return self._from_scores(model, X, lambda scores: model.classes[scores.argmax(axis=1)])

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels seen or announced, sorted; numbers of columns where y is an indicator matrix."""
        targets: Any = self._fitted_stream().targets
        if not targets.n_columns:
            raise NotFittedError("No row has had a label yet: call partial_fit")
        classes: NDArray[Any] = targets.classes_sorted[0].copy()
        return classes

    def _is_balanced(self) -> bool:
        return as_class_weight(self.class_weight) == "balanced"

    def _refuse_changes(self, stream: Stream) -> None:
        super()._refuse_changes(stream)
        if self._is_balanced() != stream.settings.by_class:
            before = "balanced" if stream.settings.by_class else "another value"
            refuse_change("class_weight", self.class_weight, before)

    def _checked_targets(self, y: Any, n_rows: int) -> NDArray[Any]:
        if not is_indicator(y):
            return as_labels(self, y, n_rows)
        for name in ("class_weight", "class_shift"):
            value = getattr(self, name, None)
            if value is not None:
                raise ValueError(
                    f"{name} must be None where y has a column for each label, got {value!r}: it "
                    "is defined for one label a row"
                )
        return as_indicators(y, n_rows)

    def _no_targets(self, values: NDArray[Any] | None) -> Targets:
        if values is None or values.ndim == 1:
            return Targets("labels")
        return Targets.of_columns("indicators", values)

    def _class_weighted(
        self, targets: Targets, batch: NDArray[Any], weights: NDArray[np.float64]
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        class_weight = as_class_weight(self.class_weight)
        if not isinstance(class_weight, tuple):
            return batch, weights
        targets.refuse_other_kind([label for label, _ in class_weight], "class_weight")
        factors = np.ones(targets.n_columns + 1)  # the last one is of rows without a label
        for label, factor in class_weight:
            if label in targets.index:
                factors[targets.index[label]] = factor
        factor_of_row = factors[batch]
        # A class without weight teaches the map alone: its rows count, and its label is unknown.
        products: Any = as_weights(
            weights * np.where(factor_of_row > 0.0, factor_of_row, 1.0),
            weights.size,
            name="sample_weight times class_weight",
        )
        return np.where(factor_of_row > 0.0, batch, -1), products

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        shift = getattr(self, "class_shift", None)
        tags.classifier_tags.multi_label = self.class_weight is None and shift is None
        return tags


class StreamRegressor(RegressorMixin, StreamPredictor):
    """A regressor of one number a row, or of several."""

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything and learn from rows and targets, as one ``partial_fit`` would.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows: not negative, or of any sign and dense where the features are given.
        y : array-like of shape (n,) or (n, n_targets)
            Finite targets.
        sample_weight : array-like of shape (n,)
            Weight of each row: 2 counts like a repeated row, 0 like no row. By default all are 1.

        Returns
        -------
        Self
            This estimator.
        """
        return self._learn(X, y, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one more batch.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows, as for ``fit``.
        y : array-like of shape (n,) or (n, n_targets)
            Finite targets.
        sample_weight : array-like of shape (n,)
            Weight of each row: 2 counts like a repeated row, 0 like no row. By default all are 1.

        Returns
        -------
        Self
            This estimator.
        """
        return self._learn(X, y, sample_weight)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the predicted targets.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows, as for ``fit``.

        Returns
        -------
        ndarray of shape (n,) or (n, n_targets)
            As targets were learnt.
        """
        model = self._model()
        flat = model.targets.flat
        return self._from_scores(model, X, lambda scores: scores[:, 0] if flat else scores)

    def _checked_targets(self, y: Any, n_rows: int) -> NDArray[np.float64]:
        targets = as_numbers(self, y, n_rows)
        refuse_huge(targets, name="y")
        return targets

    def _no_targets(self, values: NDArray[Any] | None) -> Targets:
        if values is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, in the first batch at least, "
                "which says how many targets there are"
            )
        return Targets.of_columns("numbers", values)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
