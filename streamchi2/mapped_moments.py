"""Statistics of features on a stream whose map may change: all that a learner remembers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.any_map import AnyMap, AnyRecipe, sizes_of
from streamchi2.joint_map import JointRecipe
from streamchi2.projected_map import ProjectedRecipe
from streamchi2.statistics.block_moments import BlockMoments
from streamchi2.statistics.centred_block import faded_weights, fading
from streamchi2.statistics.class_moments import ClassMoments
from streamchi2.statistics.moments import Moments, pooled
from streamchi2.statistics.reservoir import Reservoir
from streamchi2.statistics.target_moments import TargetMoments
from streamchi2.validation import Floats, Rows

CALIBRATION_ROWS = 1024
_FEW_ROWS = 64  # products of so few are cheap, and a model of few rows needs every digit


class MappedMoments:
    """A map that follows its stream, and moments of the features that it gives.

    Rows with a target enter the regression; rows without one only the covariance of the features,
    from which principal components are taken. Because transport keeps the features what they were
    when k changes, moments gathered before and after belong together.

    Law: merging shards that share a map equals one pass; an empty shard changes nothing.

    Parameters
    ----------
    adaptive : AdaptiveMap, JointMap or ProjectedMap
        The map, empty; the others where there are several descriptors.
    labelled : ClassMoments, TargetMoments or None
        An empty tracker for rows with targets; None where there are none.
    n_jobs : int or None, default=None
        Threads for the features.
    """

    def __init__(
        self,
        adaptive: AnyMap,
        labelled: ClassMoments | TargetMoments | None,
        n_jobs: int | None = None,
    ) -> None:
        settings = adaptive.settings
        self.map: Any = adaptive
        self.labelled = labelled
        self.unlabelled: Moments | BlockMoments | None = None  # large, made when it is needed
        self.sample: Reservoir | None = None
        if isinstance(labelled, ClassMoments):
            # Another seed than the audit's, or both would keep the same rows.
            self.sample = Reservoir(CALIBRATION_ROWS, settings.seed + 1, settings.half_life)
        self.n_jobs = n_jobs

    def update(
        self,
        rows: Rows,
        targets: NDArray[Any] | None = None,
        *,
        weights: NDArray[np.float64] | None = None,
    ) -> Self:
        """Absorb one block of checked rows of positive weight, then adapt if that is due.

        Targets are class labels as made by :func:`with_labels`, or numbers of shape
        (n, n_targets) with NaN for rows without.
        """
        # All that may fail works on copies, which share what is large; the moments come last.
        adaptive = self.map.copy()
        recipe = adaptive.absorb(rows, weights)
        features = recipe.transform(rows, n_jobs=self.n_jobs)
        adaptive.reconsider()
        n_rows, half_life = int(rows.shape[0]), self.map.settings.half_life
        if n_rows <= _FEW_ROWS:
            features = features.astype(np.float64, copy=False)
        known = _has_target(targets, n_rows)
        sample = None if self.sample is None else self.sample.copy()
        if sample is not None and targets is not None and known.any():
            sample.absorb(rows[known], _chosen(weights, known), targets["label"][known])
        present = weights
        if half_life is not None:
            present = faded_weights(n_rows, weights, half_life)
            for tracker in (self.labelled, self.unlabelled):
                if tracker is not None:
                    tracker.fade(fading(n_rows, half_life))
        if known.any():
            assert targets is not None
            self._learn(_chosen(features, known), targets[known], _chosen(present, known))
        # Components that are known need no rows without targets.
        if not known.all() and not isinstance(recipe, ProjectedRecipe):
            if self.unlabelled is None:
                self.unlabelled = _no_rows(recipe)
            self.unlabelled.update(_chosen(features, ~known), weights=_chosen(present, ~known))
        self.map, self.sample = adaptive, sample
        return self

    def _learn(
        self, features: Floats, targets: NDArray[Any], weights: NDArray[np.float64] | None
    ) -> None:
        if isinstance(self.labelled, ClassMoments):
            self.labelled.update(features, targets["label"], weights=weights)
        else:
            assert self.labelled is not None
            self.labelled.update(features, targets, weights=weights)

    def feature_moments(self) -> Moments | BlockMoments:
        """Return the moments of all features, with and without targets."""
        rest = self.unlabelled
        if self.labelled is None:
            assert rest is not None
            return rest
        if rest is None:
            return self.labelled.features
        if isinstance(rest, BlockMoments):
            return rest.pooled(self.labelled.features)
        return pooled(self.labelled.features, rest)

    @property
    def recipe(self) -> AnyRecipe:
        """The map under which the rows seen were learnt."""
        recipe: AnyRecipe = self.map.recipe
        assert recipe is not None
        return recipe

    def fade(self, factor: float) -> Self:
        """Let everything seen so far count ``factor`` times as much; means and map stay."""
        for part in (self.map, self.labelled, self.unlabelled, self.sample):
            if part is not None:
                part.fade(factor)
        return self

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has seen; ``other`` is untouched."""
        merged_map = self.map.copy().merge(other.map)
        if self.labelled is not None:
            self.labelled.merge(other.labelled)  # type: ignore[arg-type]
        # Nothing refuses from here on.
        self.map = merged_map
        if self.sample is not None and other.sample is not None:
            self.sample.merge(other.sample)
        if other.unlabelled is not None:
            mine = self.unlabelled
            rest: Any = other.unlabelled
            self.unlabelled = rest.copy() if mine is None else mine.merge(rest)
        return self

    def forget_moments(self) -> None:
        """Let go of all moments, D x D numbers each; map and sample stay."""
        self.labelled = self.unlabelled = None

    def copy(self) -> Self:
        """Return an independent tracker in the same state."""
        twin = object.__new__(type(self))
        parts = ("map", "labelled", "unlabelled", "sample")
        copies = {name: getattr(self, name) for name in parts}
        copies = {name: None if part is None else part.copy() for name, part in copies.items()}
        twin.__dict__.update(self.__dict__, **copies)
        return twin


def _no_rows(recipe: AnyRecipe) -> Moments | BlockMoments:
    # Principal components are those of each descriptor: nothing between two is needed.
    if isinstance(recipe, JointRecipe):
        return BlockMoments.of_sizes(sizes_of(recipe))
    return Moments(recipe.n_components)


def with_labels(labels: NDArray[Any], given: NDArray[np.bool_] | None = None) -> NDArray[Any]:
    """Return labels in the form that lets rows with and without labels share a buffer.

    ``given`` tells which rows have one, where not all have.

    >>> with_labels(np.array(["ham", "spam"]))["given"]
    array([ True,  True])
    """
    marked = without_labels(labels.size, labels.dtype)
    there = slice(None) if given is None else given
    marked["label"][there], marked["given"][there] = labels[there], True
    return marked


def without_labels(n_rows: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return as many absent labels.

    >>> without_labels(2, np.dtype(np.int64))["given"]
    array([False, False])
    """
    return np.zeros(n_rows, dtype=[("label", dtype), ("given", np.bool_)])


def _has_target(targets: NDArray[Any] | None, n_rows: int) -> NDArray[np.bool_]:
    if targets is None:
        return np.zeros(n_rows, dtype=np.bool_)
    if targets.dtype.names is not None:
        given: NDArray[np.bool_] = targets["given"]
        return given
    numbers: NDArray[np.float64] = targets
    return np.isfinite(numbers[:, 0])


def _chosen(array: Any, mask: NDArray[np.bool_]) -> Any:
    """Return the chosen rows, without a copy where all are chosen."""
    return array if array is None or mask.all() else array[mask]
