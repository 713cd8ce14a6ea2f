"""What the fused estimators share: one stream through map, moments and a lazily solved model."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from streamchi2.adaptive_map import AdaptiveMap, Schedule
from streamchi2.batch import (
    Floats,
    Rows,
    as_choice,
    as_estimator_rows,
    as_positive_float,
    as_weights,
    record_columns,
)
from streamchi2.errors import StateMismatchError
from streamchi2.estimators.map_words import MapWords
from streamchi2.estimators.solution import LearnerWords, Solution
from streamchi2.mapped_moments import MappedMoments
from streamchi2.row_blocks import n_workers
from streamchi2.solvers.least_squares import PENALTIES
from streamchi2.solvers.linear_model import LinearModel
from streamchi2.solvers.principal import check_n_pca
from streamchi2.trackers.buffered_tracker import BufferedTracker
from streamchi2.trackers.class_moments import ClassMoments
from streamchi2.trackers.labelled_moments import TargetMoments


class MappedLearner(MapWords, BaseEstimator):
    """A feature map and what is learnt on its features, in one object with one ``partial_fit``."""

    def __init__(
        self,
        n_components: int = 1024,
        *,
        n_pca: float | None = None,
        alpha: float | str = "gcv",
        penalty: str = "ridge",
        l1_ratio: float = 0.5,
        beta: float | str = "auto",
        dof: float = 2,
        series: str = "direct",
        n_terms: int | str = "auto",
        basis: str = "orthogonal",
        n_slots: int | str | None = "auto",
        adapt: bool = True,
        half_life: float | None = None,
        dtype: str = "float32",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_pca = n_pca
        self.alpha = alpha
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.beta = beta
        self.dof = dof
        self.series = series
        self.n_terms = n_terms
        self.basis = basis
        self.n_slots = n_slots
        self.adapt = adapt
        self.half_life = half_life
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state

    _reading: Solution  # type: ignore[assignment]
    _stream: BufferedTracker[MappedMoments]

    def _learner_words(self) -> LearnerWords:
        """Check the words that decide how statistics become a model, and return them."""
        check_n_pca(self.n_pca)
        as_choice(self.penalty, PENALTIES, name="penalty")
        if isinstance(self.alpha, str) or self.alpha != 0:
            if isinstance(self.alpha, str) and self.alpha != "gcv":
                raise ValueError(f"alpha must be a number or 'gcv', got {self.alpha!r}")
            if not isinstance(self.alpha, str):
                as_positive_float(self.alpha, name="alpha")
        if not 0 < as_positive_float(self.l1_ratio, name="l1_ratio") <= 1:
            raise ValueError(f"l1_ratio must be above 0 and at most 1, got {self.l1_ratio!r}")
        return LearnerWords(self.n_pca, self.penalty, self.alpha, float(self.l1_ratio))

    def _checked(
        self, X: Any, sample_weight: ArrayLike | None, *, first: bool
    ) -> tuple[Rows, NDArray[np.float64] | None]:
        """Check everything about a batch but its targets."""
        rows = as_estimator_rows(self, X, reset=first)
        weights = as_weights(sample_weight, int(rows.shape[0]))
        n_workers(self.n_jobs)
        self._learner_words()
        if first and weights is not None and not weights.any():
            raise ValueError("sample_weight must not be zero for every row of the first batch")
        if not first:
            self._check_unchanged(self._stream.tracker.map.settings)
        return rows, weights

    def _absorb(
        self,
        X: Any,
        rows: Rows,
        targets: NDArray[Any] | None,
        weights: NDArray[np.float64] | None,
        labelled: ClassMoments | TargetMoments | None = None,
        *,
        first: bool,
    ) -> Self:
        """Learn from a batch that has been checked; ``labelled`` is the tracker of a first one."""
        if weights is not None and not weights.all():
            heavy = weights > 0.0  # a weight of zero is as good as no row
            rows, weights = rows[heavy], weights[heavy]
            targets = None if targets is None else targets[heavy]
        if first:
            tracker = MappedMoments(self._first_map(int(rows.shape[1])), labelled)
            stream = BufferedTracker(tracker, Schedule(self.half_life).boundaries())
        else:
            stream = self._stream
        stream.tracker.n_jobs = self.n_jobs
        stream.update(rows, targets, weights=weights)
        if first:
            record_columns(self, X)
        self._stream = stream
        self._reading = Solution(stream, self._learner_words())
        return self

    def _features(self, X: Any) -> Floats:
        check_is_fitted(self)
        rows = as_estimator_rows(self, X, reset=False)
        return self._recipe.transform(rows, n_jobs=self.n_jobs)

    def _model_scores(self, model: LinearModel, X: Any) -> NDArray[np.float64]:
        # In float64, so that coefficients which differ by rounding give scores that do.
        return model.scores(self._features(X).astype(np.float64, copy=False))

    def new_shard(self) -> Self:
        """Return an estimator with this one's map that has learnt nothing: a worker's share.

        Give each worker a shard, let it learn its part of the stream, and :meth:`merge` the
        shards: the result is that of one pass.
        """
        check_is_fitted(self)
        shard: Self = clone(self)
        tracker = self._stream.tracker
        empty = MappedMoments(
            AdaptiveMap(tracker.map.settings, self._recipe), _empty_like(tracker.labelled)
        )
        shard._take_over(self, BufferedTracker(empty, self._stream.buffer.boundaries))
        return shard

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has seen; ``other`` is untouched.

        Parameters
        ----------
        other : estimator of the same class
            With the same parameters and a map that differs from this one's by transport alone
            (see :meth:`new_shard`). One that has not been fitted changes nothing.

        Returns
        -------
        estimator
            This one.
        """
        if type(other) is not type(self):
            raise TypeError(f"other must be a {type(self).__name__}, got {other!r}")
        if not hasattr(other, "_stream"):
            return self
        self._check_same_words(other)
        if not hasattr(self, "_stream"):
            self._take_over(other, other._stream.copy())
        else:
            self._stream.merge(other._stream)
            self._reading = Solution(self._stream, self._learner_words())
        return self

    def _take_over(self, other: Self, stream: BufferedTracker[MappedMoments]) -> None:
        """Adopt a stream, and what ``other`` knows about columns and targets."""
        for name in ("n_features_in_", "feature_names_in_", "_declared", "_flat_targets"):
            if hasattr(other, name):
                setattr(self, name, getattr(other, name))
        self._stream = stream
        self._reading = Solution(stream, self._learner_words())

    def _check_same_words(self, other: Self) -> None:
        theirs = other.get_params()
        for name, value in self.get_params().items():
            if name not in ("n_jobs", "random_state") and value != theirs[name]:
                raise StateMismatchError(
                    f"{name} must agree to merge, got {value!r} and {theirs[name]!r}"
                )

    @property
    def explained_variance_ratio_(self) -> NDArray[np.float64]:
        """Share of the features' variance that each principal component holds."""
        check_is_fitted(self)
        if self.n_pca is None:
            raise AttributeError("explained_variance_ratio_ needs n_pca, got None")
        return self._reading.components.variance_shares

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_stream")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        return tags


def _empty_like(
    tracker: ClassMoments | TargetMoments | None,
) -> ClassMoments | TargetMoments | None:
    if tracker is None:
        return None
    width = tracker.features.n_features
    if isinstance(tracker, TargetMoments):
        return TargetMoments(width, tracker.n_targets)
    return ClassMoments(width)
