"""What has been learnt, solved when first asked for, in an object of its own.

An estimator swaps in a new one after every call that learns. Reading solves at most once, changes
nothing in the estimator, and may happen in one thread while another learns: the statistics are
copied between two calls, never in the middle of one, and let go once they have been solved.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from streamchi2.any_map import AnyMap, AnyRecipe, each_recipe, sizes_of
from streamchi2.estimators.linear_words import LinearWords
from streamchi2.estimators.posed_regression import Posed, solved
from streamchi2.feature_map import FeatureMap
from streamchi2.mapped_moments import MappedMoments
from streamchi2.projected_map import ProjectedRecipe
from streamchi2.solvers.block_vectors import BlockVectors, consecutive
from streamchi2.solvers.calibration import (
    Calibration,
    fitted_inverse_temperature,
    left_out_scores,
    own_shares,
    quantile_shifts,
)
from streamchi2.solvers.eigen import Eigenpairs
from streamchi2.solvers.group_lasso import definite
from streamchi2.solvers.group_path import entry_alphas
from streamchi2.solvers.linear_model import LinearModel
from streamchi2.solvers.principal import principal_components
from streamchi2.statistics.block_moments import BlockMoments
from streamchi2.statistics.buffered_tracker import BufferedTracker
from streamchi2.statistics.class_moments import ClassMoments
from streamchi2.statistics.moments import Moments
from streamchi2.statistics.reservoir import Reservoir


@dataclass(frozen=True)
class LearnerWords:
    """The constructor words that decide how statistics become a model."""

    n_pca: float | tuple[float | None, ...] | None = None  # with descriptors, one for each
    linear: LinearWords | None = None
    calibrate: str | None = None


@dataclass(frozen=True, eq=False)
class Components:
    """Principal components of the features of a map, and the mean about which they are taken.

    Each descriptor has eigenpairs of its own; without descriptors there is one tuple of pairs.
    """

    recipe: AnyRecipe
    mean: NDArray[np.float64]  # (D,)
    pairs: tuple[Eigenpairs, ...]
    variance_shares: tuple[NDArray[np.float64], ...]
    weight: float

    @property
    def vectors(self) -> BlockVectors:
        """The directions, those of one descriptor after those of the other."""
        return BlockVectors(tuple(pairs.vectors for pairs in self.pairs))

    def named(self, values: tuple[NDArray[np.float64], ...]) -> Any:
        """Return what there is for each descriptor under its name, or the only one as it is."""
        if isinstance(self.recipe, FeatureMap):
            return values[0]
        names = each_recipe(self.recipe, lambda recipe: None)
        return dict(zip(names, values, strict=True))


@dataclass(frozen=True, eq=False)
class Learnt:
    """A model on the features of a map; ``classes`` are the labels of its outputs, if any."""

    recipe: AnyRecipe
    model: LinearModel
    classes: NDArray[Any] | None
    scales: NDArray[np.float64] | None = None  # of the descriptors, by group lasso


@dataclass(frozen=True, eq=False)
class _Uncalibrated:
    """The model in the coordinates it was fitted in, with what its calibration needs."""

    model: LinearModel
    posed: Posed
    sample: Reservoir


class Solution:
    """The readings of a stream of features under a map, each worked out once.

    Parameters
    ----------
    stream : BufferedTracker of MappedMoments
        What has been seen.
    words : LearnerWords
        How to solve.
    classes : ndarray, optional
        Labels that are known, whether or not a row had them.
    """

    def __init__(
        self,
        stream: BufferedTracker[MappedMoments],
        words: LearnerWords,
        classes: NDArray[Any] | None = None,
    ) -> None:
        self.words = words
        self._stream = stream
        self._classes = classes
        self._lock = threading.RLock()

    @property
    def recipe(self) -> AnyRecipe:
        """The map; before the first 64 rows are complete, from the rows there are."""
        recipe: AnyRecipe | None = self._stream.tracker.map.recipe or self.state.recipe
        assert recipe is not None
        return recipe

    @property
    def state(self) -> AnyMap:
        """The map with histogram and sample, the rows that wait included."""
        with self._lock:
            state: AnyMap = self._seen.map
            return state

    @property
    def components(self) -> Components:
        """Principal components of all features seen."""
        with self._lock:
            return self._components

    @property
    def learnt(self) -> Learnt:
        """The model."""
        with self._lock:
            return self._learnt

    @property
    def calibration(self) -> Calibration:
        """Shifts and inverse_temperature of a classifier's scores."""
        with self._lock:
            return self._calibration

    @property
    def entries(self) -> NDArray[np.float64]:
        """The largest penalty of a group lasso at which each descriptor is in."""
        with self._lock:
            return self._entries

    @cached_property
    def _entries(self) -> NDArray[np.float64]:
        posed = self._posed(self._stream.snapshot())
        return entry_alphas(definite(posed.moments), posed.groups)

    @cached_property
    def _seen(self) -> MappedMoments:
        return self._stream.snapshot()

    @cached_property
    def _components(self) -> Components:
        seen = self._seen
        moments = seen.feature_moments()
        components = components_of(seen.recipe, moments, self.words.n_pca)
        if seen.labelled is None:
            seen.forget_moments()
        return components

    @cached_property
    def _learnt(self) -> Learnt:
        seen, classes = self._seen, None
        labelled = seen.labelled
        assert labelled is not None
        if labelled.features.weight <= 0.0:
            raise NotFittedError("No row has had a target yet: call partial_fit")
        if isinstance(labelled, ClassMoments) and self._classes is not None:
            classes = labelled.announce(self._classes).classes
        linear = self.words.linear
        assert linear is not None
        found = solved(self._posed(seen), linear)
        if seen.sample is not None:
            self._uncalibrated = _Uncalibrated(found.inner, found.posed, seen.sample)
        seen.forget_moments()
        recipe = seen.recipe
        if isinstance(recipe, ProjectedRecipe):
            recipe = recipe.joint  # the model has been folded back
        return Learnt(recipe, found.model, classes, found.scales)

    def _posed(self, seen: MappedMoments) -> Posed:
        """Return the regression in the coordinates in which it is to be solved."""
        assert seen.labelled is not None
        moments, recipe = seen.labelled.summary(), seen.recipe
        if isinstance(recipe, ProjectedRecipe):
            known = recipe.projection
            return Posed(moments, known.vectors, consecutive(known.sizes), known.mean, known.mean)
        sizes = sizes_of(recipe)
        if self.words.n_pca is None:
            return Posed(moments, None, consecutive(sizes), moments.mean)
        found = self._components
        # Only without rows that lack targets is this the scatter that was decomposed.
        diagonal = len(sizes) == 1 and seen.unlabelled is None
        vectors, values = found.vectors, found.pairs[0].values if diagonal else None
        return Posed(vectors.moments(moments, values), vectors, vectors.outputs, moments.mean)

    @cached_property
    def _calibration(self) -> Calibration:
        learnt, linear = self._learnt, self.words.linear
        assert learnt.classes is not None
        assert linear is not None
        inner = self._uncalibrated
        assert inner.sample.targets is not None
        shifts = np.zeros(learnt.classes.size)
        if learnt.classes.size < 2:
            return Calibration(shifts, 1.0)
        features = learnt.recipe.transform(inner.sample.rows).astype(np.float64, copy=False)
        features = inner.posed.coordinates(features)
        codes = np.searchsorted(learnt.classes, inner.sample.targets)
        one_hot = np.zeros((codes.size, learnt.classes.size))  # never classes x classes
        one_hot[np.arange(codes.size), codes] = 1.0
        exact = linear.penalty in ("ridge", "group_lasso")
        shares = own_shares(inner.model, inner.posed.moments, features, exact=exact)
        scores = left_out_scores(inner.model.scores(features), one_hot, shares)
        weights = inner.sample.importance()
        if self.words.calibrate == "quantile":
            shifts = quantile_shifts(scores, weights, inner.posed.moments.target_mean)
        inverse_temperature = fitted_inverse_temperature(scores - shifts, codes, weights)
        del self._uncalibrated
        return Calibration(shifts, inverse_temperature)

    def __getstate__(self) -> dict[str, Any]:
        # What was worked out can be worked out again.
        return {"_stream": self._stream, "words": self.words, "_classes": self._classes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())


def components_of(
    recipe: AnyRecipe,
    moments: Moments | BlockMoments,
    n_pca: float | tuple[float | None, ...] | None,
) -> Components:
    """Return principal components with the shares of the variance that they hold."""
    owns = consecutive(sizes_of(recipe))
    numbers = n_pca if isinstance(n_pca, tuple) else (n_pca,) * len(owns)
    pairs, shares = [], []
    for own, number in zip(owns, numbers, strict=True):
        part = moments.part(own)
        pairs.append(principal_components(part, number or part.n_features))
        total = float(part.upper.trace())
        values = pairs[-1].values
        shares.append(values / total if total > 0 else np.zeros_like(values))
    return Components(recipe, moments.mean, tuple(pairs), tuple(shares), moments.weight)
