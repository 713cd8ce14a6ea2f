"""What every estimator with a feature map has in common: constructor words and readings."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from streamchi2.adaptive_map import AdaptiveMap, KernelError, Transport
from streamchi2.bases import ChosenRows, LandmarkBasis
from streamchi2.errors import StateMismatchError
from streamchi2.feature_map import FeatureMap
from streamchi2.map_plan import MapSettings
from streamchi2.series import DirectSeries
from streamchi2.trackers.buffered_tracker import BufferedTracker
from streamchi2.trackers.log_histogram import LogHistogram


class MapWords:
    """Readings of a map that follows a stream, for estimators that hold a ``_reading``."""

    _reading: Reading
    n_features_in_: int

    @property
    def _map(self) -> AdaptiveMap:
        check_is_fitted(self)
        return self._reading.state

    @property
    def _recipe(self) -> FeatureMap:
        check_is_fitted(self)
        return self._reading.recipe

    @property
    def k_(self) -> NDArray[np.float64]:
        """Landmarks of the direct series now in use."""
        series = self._recipe.series.series
        if not isinstance(series, DirectSeries):
            raise AttributeError(f"k_ belongs to series='direct', this is {series!r}")
        return np.array(series.k)

    @property
    def n_terms_(self) -> int:
        """Number of coordinates per value."""
        return self._recipe.series.n_terms

    @property
    def beta_(self) -> float:
        """Inverse scale of the kernel."""
        return self._recipe.basis.beta

    @property
    def input_histogram_(self) -> LogHistogram:
        """Values seen so far, as a copy."""
        return self._map.histogram.copy()

    @property
    def kernel_error_(self) -> float:
        """What the series is predicted to cost the kernel, an upper estimate."""
        return self._map.predicted_kernel_error()

    @property
    def transports_(self) -> tuple[Transport, ...]:
        """Re-estimations of k: position in the stream, and how far the coordinates moved."""
        return self._map.transports

    @property
    def transport_residual_(self) -> float:
        """Sum of the residuals: how far the features may have moved since the beginning."""
        return float(sum(transport.residual for transport in self.transports_))

    def kernel_error(self) -> KernelError:
        """Measure the error of the present map on a fair sample of the rows seen.

        Up to 128 rows of the stream are kept for this. Their exact exp-chi2 kernel is compared
        with the inner products of their features.

        Returns
        -------
        KernelError
            Root mean square and worst absolute error over all pairs.
        """
        return self._map.measured_kernel_error()

    @property
    def landmarks_(self) -> sparse.csr_array:
        """Rows on which the features rest, as a copy."""
        basis = self._recipe.basis
        if not isinstance(basis, LandmarkBasis):
            raise AttributeError(f"landmarks_ belongs to basis='landmarks', this is {basis!r}")
        return basis.landmarks.copy()

    def _map_settings(
        self: Any, n_features: int, seed: int, known: ChosenRows | None = None
    ) -> MapSettings:
        """Check the constructor words and return them as a value.

        ``known`` are landmarks of an earlier call, which need not be read again.
        """
        landmarks = known
        if known is None or not known.is_read_from(self.landmarks):
            landmarks = None if self.landmarks is None else ChosenRows.read(self.landmarks)
        return MapSettings(
            n_features=n_features,
            n_components=self.n_components,
            beta=self.beta,
            dof=self.dof,
            series=self.series,
            n_terms=self.n_terms,
            basis=self.basis,
            n_slots=self.n_slots,
            adapt=self.adapt,
            half_life=self.half_life,
            seed=seed,
            dtype=self.dtype,
            landmarks=landmarks,
        )

    def _first_map(self: Any, n_features: int) -> AdaptiveMap:
        """Return an empty map under the present constructor words."""
        # Checked once before the draw: a refusal must not advance a shared random state.
        settings = self._map_settings(n_features, 0)
        return AdaptiveMap(replace(settings, seed=_drawn_seed(self.random_state)))

    def _check_unchanged(self: Any, settings: MapSettings) -> None:
        """Refuse constructor words that were changed in the middle of a stream."""
        seed = settings.seed
        check_random_state(self.random_state)  # refuses nonsense, draws nothing
        if isinstance(self.random_state, Integral):
            seed = _drawn_seed(self.random_state)
        present = self._map_settings(settings.n_features, seed, settings.landmarks)
        if (difference := present.first_difference(settings)) is not None:
            name, now, before = difference
            raise ValueError(
                f"{name} must not change between calls of partial_fit, got {now!r} after "
                f"{before!r}; use fit, or a clone, to start afresh"
            )


class Reading:
    """The state of a map as of the last call, worked out when it is first asked for.

    It lives in its own object, so that reading changes nothing in the estimator.
    """

    def __init__(self, stream: BufferedTracker[AdaptiveMap]) -> None:
        self._stream = stream

    @cached_property
    def state(self) -> AdaptiveMap:
        """Everything seen, the rows that wait included."""
        return self._stream.snapshot()

    @cached_property
    def recipe(self) -> FeatureMap:
        """The map; before the first 64 rows are complete, from the rows there are."""
        recipe = self._stream.tracker.recipe or self.state.recipe
        assert recipe is not None
        return recipe

    def __getstate__(self) -> dict[str, Any]:
        return {"_stream": self._stream}  # what has been worked out is no state


def landmarks_differ(mine: Any, theirs: Any) -> bool:
    """Tell whether two values of the word ``landmarks`` differ in content."""
    if mine is None or theirs is None or mine is theirs:
        return mine is not theirs
    return ChosenRows.read(mine) != ChosenRows.read(theirs)


def check_same_words(mine: Any, other: Any) -> None:
    """Refuse to merge estimators of other constructor words."""
    theirs = other.get_params()
    for name, value in mine.get_params().items():
        if name == "landmarks":
            differs = landmarks_differ(value, theirs[name])
        else:
            differs = name != "n_jobs" and value != theirs[name]
        if differs:
            raise StateMismatchError(
                f"{name} must agree to merge, got {value!r} and {theirs[name]!r}"
            )


def _drawn_seed(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
