"""What has been learnt, solved when first asked for, in an object of its own.

An estimator swaps in a new one after every call that learns. Reading solves at most once, changes
nothing in the estimator, and may happen in one thread while another learns: the statistics are
copied between two calls, never in the middle of one.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamchi2.adaptive_map import AdaptiveMap
from streamchi2.feature_map import FeatureMap
from streamchi2.mapped_moments import MappedMoments
from streamchi2.solvers.calibration import (
    Calibration,
    fitted_sharpness,
    leave_one_out_scores,
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
    penalty: str = "ridge"
    alpha: float | str = "gcv"
    l1_ratio: float = 0.5
    calibrate: str | None = None


@dataclass(frozen=True, eq=False)
class Components:
    """Principal components of the features, and the mean about which they are taken."""

    mean: NDArray[np.float64]  # (D,)
    pairs: Eigenpairs
    variance_shares: NDArray[np.float64]
    weight: float


@dataclass(frozen=True, eq=False)
class Learnt:
    """A model in the coordinates it was fitted in, and folded back to the features."""

    model: LinearModel  # on the features
    inner: LinearModel  # on the principal components, or the same
    moments: RegressionMoments  # in the coordinates of ``inner``
    components: Components | None
    classes: NDArray[Any] | None
    sample: Reservoir | None


class Solution:
    """The readings of a stream of features under a map, each worked out once.

    Parameters
    ----------
    stream : BufferedTracker of MappedMoments
        What has been seen.
    words : LearnerWords
        How to solve.
    """

    def __init__(self, stream: BufferedTracker[MappedMoments], words: LearnerWords) -> None:
        self._stream = stream
        self._words = words
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

    @property
    def _seen(self) -> MappedMoments:
        with self._lock:
            return self._snapshot

    @cached_property
    def _snapshot(self) -> MappedMoments:
        return self._stream.snapshot()

    @cached_property
    def _components(self) -> Components:
        moments = self._seen.feature_moments()
        return components_of(moments, self._words.n_pca or moments.n_features)

    @cached_property
    def _learnt(self) -> Learnt:
        labelled = self._seen.labelled
        assert labelled is not None
        moments = labelled.summary()
        components = None if self._words.n_pca is None else self._components
        inner_moments = moments
        if components is not None:
            # Only without rows that lack targets is this the scatter that was decomposed.
            own = self._seen.unlabelled is None
            pairs = components.pairs
            inner_moments = projected(moments, pairs.vectors, pairs.values if own else None)
        words = self._words
        inner = least_squares(
            inner_moments,
            penalty=words.penalty,
            alpha=words.alpha,  # type: ignore[arg-type]
            l1_ratio=words.l1_ratio,
        )
        model = inner
        if components is not None:
            model = folded_back(inner, components.pairs.vectors, moments)
        classes = labelled.classes if isinstance(labelled, ClassMoments) else None
        return Learnt(model, inner, inner_moments, components, classes, self._seen.sample)

    @cached_property
    def _calibration(self) -> Calibration:
        learnt = self._learnt
        assert learnt.classes is not None
        assert learnt.sample is not None
        assert learnt.sample.targets is not None
        shifts = np.zeros(learnt.classes.size)
        if learnt.classes.size < 2:
            return Calibration(shifts, 1.0)
        features = self.recipe.transform(learnt.sample.rows)
        if learnt.components is not None:
            features = features @ learnt.components.pairs.vectors
        codes = np.searchsorted(learnt.classes, learnt.sample.targets)
        one_hot = np.eye(learnt.classes.size)[codes]
        scores = leave_one_out_scores(learnt.inner, learnt.moments, features, one_hot)
        weights = learnt.sample.importance()
        if self._words.calibrate == "quantile":
            shifts = quantile_shifts(scores, weights, learnt.moments.target_mean)
        return Calibration(shifts, fitted_sharpness(scores - shifts, codes, weights))

    def __getstate__(self) -> dict[str, Any]:
        # What was worked out can be worked out again.
        return {"_stream": self._stream, "_words": self._words}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())


def components_of(moments: Moments, n_pca: float) -> Components:
    """Return principal components with the shares of the variance that they hold."""
    pairs = principal_components(moments, n_pca)
    total = float(moments.upper.trace())
    shares = pairs.values / total if total > 0 else np.zeros_like(pairs.values)
    return Components(moments.mean, pairs, shares, moments.weight)
