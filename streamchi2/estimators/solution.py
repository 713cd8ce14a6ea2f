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

from streamchi2.adaptive_map import AdaptiveMap
from streamchi2.estimators.linear_words import LinearWords
from streamchi2.feature_map import FeatureMap
from streamchi2.mapped_moments import MappedMoments
from streamchi2.solvers.calibration import (
    Calibration,
    fitted_sharpness,
    left_out_scores,
    own_shares,
    quantile_shifts,
)
from streamchi2.solvers.eigen import Eigenpairs
from streamchi2.solvers.least_squares import least_squares
from streamchi2.solvers.linear_model import LinearModel, folded_back, projected
from streamchi2.solvers.principal import principal_components
from streamchi2.trackers.buffered_tracker import BufferedTracker
from streamchi2.trackers.class_moments import ClassMoments
from streamchi2.trackers.labelled_moments import RegressionMoments
from streamchi2.trackers.moments import Moments
from streamchi2.trackers.reservoir import Reservoir


@dataclass(frozen=True)
class LearnerWords:
    """The constructor words that decide how statistics become a model."""

    n_pca: float | None = None
    linear: LinearWords | None = None
    calibrate: str | None = None


@dataclass(frozen=True, eq=False)
class Components:
    """Principal components of the features of a map, and the mean about which they are taken."""

    recipe: FeatureMap
    mean: NDArray[np.float64]  # (D,)
    pairs: Eigenpairs
    variance_shares: NDArray[np.float64]
    weight: float


@dataclass(frozen=True, eq=False)
class Learnt:
    """A model on the features of a map; ``classes`` are the labels of its outputs, if any."""

    recipe: FeatureMap
    model: LinearModel
    classes: NDArray[Any] | None


@dataclass(frozen=True, eq=False)
class _Uncalibrated:
    """The model in the coordinates it was fitted in, with what its calibration needs."""

    model: LinearModel
    moments: RegressionMoments
    vectors: NDArray[np.float64] | None  # from the features to these coordinates
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
    def recipe(self) -> FeatureMap:
        """The map; before the first 64 rows are complete, from the rows there are."""
        recipe = self._stream.tracker.map.recipe or self.state.recipe
        assert recipe is not None
        return recipe

    @property
    def state(self) -> AdaptiveMap:
        """The map with histogram and sample, the rows that wait included."""
        with self._lock:
            return self._seen.map

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
        """Shifts and sharpness of a classifier's scores."""
        with self._lock:
            return self._calibration

    @cached_property
    def _seen(self) -> MappedMoments:
        return self._stream.snapshot()

    @cached_property
    def _components(self) -> Components:
        seen = self._seen
        moments = seen.feature_moments()
        components = components_of(seen.recipe, moments, self.words.n_pca or moments.n_features)
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
        moments = labelled.summary()
        if self.words.n_pca is None:
            vectors, inner_moments = None, moments
        else:
            pairs = self._components.pairs
            vectors = pairs.vectors
            # Only without rows that lack targets is this the scatter that was decomposed.
            values = pairs.values if seen.unlabelled is None else None
            inner_moments = projected(moments, vectors, values)
        linear = self.words.linear
        assert linear is not None
        inner = least_squares(
            inner_moments, penalty=linear.penalty, alpha=linear.alpha, l1_ratio=linear.l1_ratio
        )
        model = inner if vectors is None else folded_back(inner, vectors, moments)
        if seen.sample is not None:
            self._uncalibrated = _Uncalibrated(inner, inner_moments, vectors, seen.sample)
        seen.forget_moments()
        return Learnt(seen.recipe, model, classes)

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
        if inner.vectors is not None:
            features = features @ inner.vectors
        codes = np.searchsorted(learnt.classes, inner.sample.targets)
        one_hot = np.zeros((codes.size, learnt.classes.size))  # never classes x classes
        one_hot[np.arange(codes.size), codes] = 1.0
        shares = own_shares(inner.model, inner.moments, features, exact=linear.penalty == "ridge")
        scores = left_out_scores(inner.model.scores(features), one_hot, shares)
        weights = inner.sample.importance()
        if self.words.calibrate == "quantile":
            shifts = quantile_shifts(scores, weights, inner.moments.target_mean)
        sharpness = fitted_sharpness(scores - shifts, codes, weights)
        del self._uncalibrated
        return Calibration(shifts, sharpness)

    def __getstate__(self) -> dict[str, Any]:
        # What was worked out can be worked out again.
        return {"_stream": self._stream, "words": self.words, "_classes": self._classes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())


def components_of(recipe: FeatureMap, moments: Moments, n_pca: float) -> Components:
    """Return principal components with the shares of the variance that they hold."""
    pairs = principal_components(moments, n_pca)
    total = float(moments.upper.trace())
    shares = pairs.values / total if total > 0 else np.zeros_like(pairs.values)
    return Components(recipe, moments.mean, pairs, shares, moments.weight)
