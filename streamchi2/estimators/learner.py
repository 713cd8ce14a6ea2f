"""What the fused estimators share: one stream through map, moments and a lazily solved model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from streamchi2.any_map import AnyRecipe
from streamchi2.estimators.descriptor_columns import (
    names_of,
    resolved_columns,
    same_descriptors,
)
from streamchi2.estimators.joint_words import joint_settings, n_pca_of_each
from streamchi2.estimators.map_words import MapWords, landmarks_differ
from streamchi2.estimators.solution import LearnerWords, Solution
from streamchi2.estimators.stream_learner import StreamLearner
from streamchi2.joint_map import JointSettings
from streamchi2.map_plan import MapSettings
from streamchi2.mapped_moments import MappedMoments
from streamchi2.projected_map import ProjectedMap, ProjectedRecipe
from streamchi2.runtime.threads import n_workers
from streamchi2.solvers.principal import check_n_pca
from streamchi2.statistics.buffered_tracker import BufferedTracker
from streamchi2.statistics.class_moments import ClassMoments
from streamchi2.statistics.target_moments import TargetMoments
from streamchi2.validation import Floats, Rows, as_estimator_rows, check_named_alike, columns_of


class MappedLearner(MapWords, StreamLearner):
    """A feature map and what is learnt on its features, in one object with one ``partial_fit``."""

    descriptors: Mapping[str, Any] | None
    n_pca: Any
    n_jobs: int | None
    landmarks: Any
    _solution: Solution
    _stream: BufferedTracker[MappedMoments]
    _planned: ProjectedMap | None = None  # a map to begin with, in a second pass
    _drops_weightless = True

    @property
    def _reading(self) -> Solution:  # type: ignore[override]
        return self._solution

    def _learner_words(self) -> LearnerWords:
        """Check the words that decide how statistics become a model, and return them."""
        if self.descriptors is not None:
            return LearnerWords(n_pca_of_each(self.n_pca, tuple(self.descriptors)))
        check_n_pca(self.n_pca)
        return LearnerWords(self.n_pca)

    def _settings(
        self, n_features: int, seed: int, X: Any = None, known: Any = None
    ) -> MapSettings | JointSettings:
        if self.descriptors is None:
            return super()._settings(n_features, seed, X, known)
        names = getattr(self, "feature_names_in_", None) if X is None else names_of(X)

        def chosen(name: str, selector: Any) -> Any:
            # A selector may look at values and dtypes, so it is asked once, about the first batch.
            return self.descriptor_columns_.get(name, ()) if X is None else selector(X)

        columns = resolved_columns(self.descriptors, n_features, names, chosen)
        return joint_settings(self.get_params(deep=False), columns, n_features, seed, known)

    @property
    def descriptor_columns_(self) -> dict[str, list[int]]:
        """Columns of X that each descriptor reads."""
        check_is_fitted(self)
        settings = self._stream.tracker.map.settings
        if not isinstance(settings, JointSettings):
            raise AttributeError("descriptor_columns_ needs descriptors, got None")
        pairs = zip(settings.names, settings.columns, strict=True)
        return {name: list(columns) for name, columns in pairs}

    def _new_solution(self, stream: BufferedTracker[MappedMoments]) -> Solution:
        return Solution(stream, self._learner_words())

    def _checked(
        self, X: Any, sample_weight: ArrayLike | None, *, first: bool
    ) -> tuple[Rows, NDArray[np.float64] | None]:
        """Check everything about a batch but its targets."""
        rows = as_estimator_rows(self, X, reset=first)
        weights = self._checked_weights(sample_weight, int(rows.shape[0]), first=first)
        n_workers(self.n_jobs)
        if first:
            check_named_alike(self.landmarks, X, name="landmarks")
            self._settings(int(rows.shape[1]), 0, X)
        else:
            self._check_unchanged(self._stream.tracker.map.settings)
        words = self._learner_words()
        if not first and isinstance(self._stream.tracker.map, ProjectedMap):
            before = self._solution.words.n_pca
            if words.n_pca != before:
                raise ValueError(
                    "n_pca must not change after two passes, which have settled the components, "
                    f"got {words.n_pca} after {before}; use fit_stream, or a clone, to start afresh"
                )
        return rows, weights

    def _absorb(
        self,
        X: Any,
        rows: Rows,
        targets: NDArray[Any] | None,
        weights: NDArray[np.float64] | None,
        labelled: Callable[[int], ClassMoments | TargetMoments] | None = None,
        *,
        first: bool,
        **words: Any,
    ) -> Self:
        """Learn from a batch that has been checked.

        ``labelled`` makes the tracker of a first batch from the number of features, ``words`` are
        attributes to set with it.
        """
        if weights is not None and not weights.all():
            heavy = weights > 0.0  # a weight of zero is as good as no row
            rows, weights = rows[heavy], weights[heavy]
            targets = None if targets is None else targets[heavy]
        if first:
            adaptive = self._planned or self._first_map(int(rows.shape[1]), X)
            learnt = None if labelled is None else labelled(adaptive.n_components)
            tracker = MappedMoments(adaptive, learnt)
            stream = BufferedTracker(tracker, tracker.map.schedule.boundaries())
        else:
            stream = self._stream
        stream.tracker.n_jobs = self.n_jobs
        return self._absorbed(stream, rows, targets, weights, first=X if first else None, **words)

    def _features(self, X: Any, recipe: AnyRecipe) -> Floats:
        rows = as_estimator_rows(self, X, reset=False)
        return recipe.transform(rows, n_jobs=self.n_jobs)

    def new_shard(self) -> Self:
        """Return an estimator with this one's map that has learnt nothing: a worker's share.

        Give each worker a shard, let it learn its part of the stream, and :meth:`merge` the
        shards: the result is that of one pass. The map must have been planned: refused before.
        """
        self._check_planned()
        return self._empty_shard()

    def _empty_shard(self) -> Self:
        """Return a shard with the present map, final or not: of few rows there is no other."""
        shard: Self = clone(self)
        tracker = self._stream.tracker
        same_map = type(tracker.map)(tracker.map.settings, self._recipe)
        empty = MappedMoments(same_map, _empty_like(tracker.labelled))
        shard.__dict__.update(self._words_of_stream() | columns_of(self))
        shard._stream = BufferedTracker(empty, self._stream.buffer.boundaries)
        shard._solution = shard._new_solution(shard._stream)
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
        return super().merge(other)

    def _differs(self, name: str, mine: Any, theirs: Any) -> bool:
        if name == "n_jobs":
            return False
        if name == "landmarks":
            return landmarks_differ(mine, theirs)
        if name == "descriptors":
            return not same_descriptors(mine, theirs)
        if name == "random_state":  # others were drawn from; the maps know what came of it
            return isinstance(mine, Integral) and isinstance(theirs, Integral) and mine != theirs
        return super()._differs(name, mine, theirs)

    @property
    def explained_variance_ratio_(self) -> Any:
        """Share of the features' variance that each principal component holds.

        With several descriptors, of each by itself: a dict.
        """
        check_is_fitted(self)
        solution = self._solution
        if isinstance(recipe := solution.recipe, ProjectedRecipe):
            shares = recipe.projection.variance_shares
            return dict(zip(recipe.joint.names, shares, strict=True))
        if solution.words.n_pca is None:
            raise AttributeError("explained_variance_ratio_ needs n_pca, got None")
        return solution.components.named(solution.components.variance_shares)

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
