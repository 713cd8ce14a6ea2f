"""What every estimator with a feature map has in common: constructor words and readings."""

from __future__ import annotations

from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from streamchi2.adaptive_map import AdaptiveMap
from streamchi2.any_map import AnyMap, AnyRecipe, each_map, each_recipe
from streamchi2.bases import LandmarkBasis, LandmarkRows
from streamchi2.errors import StateMismatchError
from streamchi2.feature_map import FeatureMap
from streamchi2.joint_map import JointSettings, map_of
from streamchi2.map_plan import MapSettings
from streamchi2.series import DirectSeries
from streamchi2.statistics.buffered_tracker import BufferedTracker


class MapWords:
    """Readings of a map that follows a stream, for estimators that hold a ``_reading``.

    With several descriptors every reading is a dict from their names to what it is for each.
    """

    _reading: Reading
    n_features_in_: int

    @property
    def _map(self) -> AnyMap:
        check_is_fitted(self)
        return self._reading.state

    @property
    def _recipe(self) -> AnyRecipe:
        check_is_fitted(self)
        return self._reading.recipe

    @property
    def k_(self) -> Any:
        """Landmarks of the direct series now in use."""
        return each_recipe(self._recipe, _k_of)

    @property
    def n_terms_(self) -> Any:
        """Number of coordinates per value."""
        return each_recipe(self._recipe, lambda recipe: recipe.series.n_terms)

    @property
    def beta_(self) -> Any:
        """Inverse scale of the kernel."""
        return each_recipe(self._recipe, lambda recipe: recipe.basis.beta)

    @property
    def input_histogram_(self) -> Any:
        """Values seen so far, as a copy."""
        return each_map(self._map, lambda state: state.histogram.copy())

    @property
    def kernel_error_(self) -> Any:
        """What the series is predicted to cost the kernel, an upper estimate."""
        return each_map(self._map, AdaptiveMap.predicted_kernel_error)

    @property
    def transports_(self) -> Any:
        """Re-estimations of k: position in the stream, and how far the coordinates moved."""
        return each_map(self._map, lambda state: state.transports)

    @property
    def transport_residual_(self) -> Any:
        """Sum of the residuals: how far the features may have moved since the beginning."""
        return each_map(self._map, _residual)

    def kernel_error(self) -> Any:
        """Measure the error of the present map on a fair sample of the rows seen.

        Up to 128 rows of the stream are kept for this. Their exact exp-chi2 kernel is compared
        with the inner products of their features.

        Returns
        -------
        KernelError
            Root mean square and worst absolute error over all pairs; with several descriptors, a
            dict of them.
        """
        return each_map(self._map, AdaptiveMap.measured_kernel_error)

    @property
    def landmarks_(self) -> Any:
        """Rows on which the features rest, as a copy."""
        return each_recipe(self._recipe, _landmarks_of)

    def _map_settings(
        self: Any, n_features: int, seed: int, known: LandmarkRows | None = None
    ) -> MapSettings:
        """Check the constructor words and return them as a value.

        ``known`` are landmarks of an earlier call, which need not be read again.
        """
        landmarks = known
        if known is None or not known.is_read_from(self.landmarks):
            landmarks = None if self.landmarks is None else LandmarkRows.read(self.landmarks)
        return MapSettings(
            n_features=n_features,
            n_components=self.n_components,
            beta=self.beta,
            dof=self.dof,
            series=self.series,
            n_terms=self.n_terms,
            basis=self.basis,
            n_buckets=self.n_buckets,
            adapt=self.adapt,
            half_life=self.half_life,
            seed=seed,
            dtype=self.dtype,
            landmarks=landmarks,
        )

    def _settings(
        self, n_features: int, seed: int, X: Any = None, known: Any = None
    ) -> MapSettings | JointSettings:
        """Check all words that decide about maps, and return them as a value.

        ``X`` is a first batch as the user gave it, ``known`` the settings of an earlier call.
        """
        return self._map_settings(n_features, seed, getattr(known, "landmarks", None))

    def _first_map(self: Any, n_features: int, X: Any = None) -> Any:
        """Return an empty map under the present constructor words."""
        # Checked once before the draw: a refusal must not advance a shared random state.
        settings = self._settings(n_features, 0, X)
        return map_of(settings.with_seed(_drawn_seed(self.random_state)))

    def _check_planned(self: Any) -> None:
        """Refuse to share a map before the rows on which it is planned are complete."""
        check_is_fitted(self)
        stream = self._stream
        if getattr(stream.tracker, "map", stream.tracker).recipe is None:
            n_first = stream.buffer.boundaries.after(0)
            raise ValueError(
                f"new_shard needs a map to share, which is planned on the first {n_first} rows of "
                f"a stream, got {stream.n_rows}; learn from more rows first"
            )

    def _check_unchanged(self: Any, settings: MapSettings | JointSettings) -> None:
        """Refuse constructor words that were changed in the middle of a stream."""
        seed = settings.seed
        check_random_state(self.random_state)  # refuses nonsense, draws nothing
        if isinstance(self.random_state, Integral):
            seed = _drawn_seed(self.random_state)
        present = self._settings(settings.n_features, seed, known=settings)
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
    return LandmarkRows.read(mine) != LandmarkRows.read(theirs)


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


def _landmarks_of(recipe: FeatureMap) -> sparse.csr_array:
    basis = recipe.basis
    if not isinstance(basis, LandmarkBasis):
        raise AttributeError(f"landmarks_ belongs to basis='landmarks', this is {basis!r}")
    return basis.landmarks.copy()


def _k_of(recipe: FeatureMap) -> NDArray[np.float64]:
    series = recipe.series.series
    if not isinstance(series, DirectSeries):
        raise AttributeError(f"k_ belongs to series='direct', this is {series!r}")
    return np.array(series.k)


def _residual(state: AdaptiveMap) -> float:
    return float(sum(transport.residual for transport in state.transports))


def _drawn_seed(random_state: Any) -> int:
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
