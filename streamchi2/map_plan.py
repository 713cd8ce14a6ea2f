"""Planning a feature map: from settings and the first rows of a stream to a frozen recipe."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.fft import next_fast_len

from streamchi2.bases import (
    CosineBasis,
    GaussianBasis,
    HashBuckets,
    LandmarkBasis,
    LandmarkRows,
    OrthogonalBasis,
    RandomBasis,
    SubspaceBasis,
    check_sampled_dof,
    drawn_landmarks,
    informative_directions,
    landmark_basis,
)
from streamchi2.errors import StateMismatchError
from streamchi2.feature_map import FeatureMap
from streamchi2.kernels import chi2_distance
from streamchi2.series import (
    ChebyshevSeries,
    DirectSeries,
    Series,
    VZSeries,
    enough_parameters,
    predicted_error,
    refined_parameters,
    zolotarev_parameters,
)
from streamchi2.series.transport import RotatedSeries
from streamchi2.statistics.log_histogram import LogHistogram
from streamchi2.validation import Rows, as_choice, as_positive_float, as_positive_int

BASES: dict[str, type[RandomBasis]] = {
    "orthogonal": OrthogonalBasis,
    "gaussian": GaussianBasis,
    "cosine": CosineBasis,
}
FIRST_ROWS = 64  # an estimate from fewer is too rough to be transported later
_DISTANCE_ROWS = 256  # enough for the mean distance, whose cost grows with their square
_DIRECTION_ROWS = 1024  # measured: twice as many find no better directions
_MAX_UNFOLDED = 1 << 14  # more coordinates than this are folded into buckets
_FEWEST_BUCKETS = 4096
_USUAL_TERMS = 5  # of the series that cannot tell how many they need
_RANGE_UNSEEN = (1e-4, 1.0)  # of a row that sums to one, while only zeros have been seen


@dataclass(frozen=True)
class MapSettings:
    """What a user may choose about a feature map; checked, comparable, printable.

    The words are those of :class:`streamchi2.ExpChi2Sampler`; ``seed`` stands for the
    ``random_state`` and ``n_features`` is the width of the rows.
    """

    n_features: int
    n_components: int
    beta: float | str
    dof: float
    series: str
    n_terms: int | str
    basis: str
    n_buckets: int | str | None
    adapt: bool
    half_life: float | None
    seed: int
    dtype: str
    landmarks: LandmarkRows | None = None

    def __post_init__(self) -> None:
        as_choice(self.basis, (*BASES, "subspace", "landmarks"), name="basis")
        as_choice(self.series, ("direct", "chebyshev", "vz"), name="series")
        as_choice(self.dtype, ("float32", "float64"), name="dtype")
        check_sampled_dof(self.dof)
        _number_or_word(self.beta, "auto", as_positive_float, name="beta")
        _number_or_word(self.n_terms, "auto", as_positive_int, name="n_terms")
        if self.series == "vz" and isinstance(self.n_terms, int):
            VZSeries(self.n_terms, period=10.0)  # refuses even numbers
        if self.n_buckets is not None:
            _number_or_word(self.n_buckets, "auto", as_positive_int, name="n_buckets")
            if not isinstance(self.n_buckets, str):
                HashBuckets(int(self.n_buckets), seed=0)  # refuses too many
        if not isinstance(self.adapt, bool | np.bool_):
            raise TypeError(f"adapt must be True or False, got {self.adapt!r}")
        LogHistogram(half_life=self.half_life)
        as_positive_int(self.n_components, name="n_components")
        if self.landmarks is not None:
            self._check_landmarks(self.landmarks)

    def _check_landmarks(self, landmarks: LandmarkRows) -> None:
        if self.basis != "landmarks":
            raise ValueError(
                f"landmarks must be None unless basis is 'landmarks', got {landmarks!r} "
                f"with basis {self.basis!r}"
            )
        if landmarks.width != self.n_features:
            raise ValueError(
                f"landmarks must have as many columns as X, got {landmarks.width} and "
                f"{self.n_features}"
            )
        if landmarks.n_rows < self.n_components:
            raise ValueError(
                f"landmarks must be at least n_components rows, got {landmarks.n_rows} for "
                f"n_components={self.n_components}: m landmarks carry m features"
            )

    @property
    def first_rows(self) -> int:
        """Rows that are kept before the map is planned.

        Landmarks are drawn from 2D of them, directions found in D of them or 1024.
        """
        if self.basis == "landmarks" and self.landmarks is None:
            return max(FIRST_ROWS, 2 * self.n_components)
        if self.basis == "subspace":
            return max(FIRST_ROWS, min(self.n_components, _DIRECTION_ROWS))
        return FIRST_ROWS

    def with_seed(self, seed: int) -> MapSettings:
        """Return the same with another seed."""
        return replace(self, seed=seed)

    def check_same(self, other: Any) -> None:
        """Refuse to merge with settings that differ, naming the first difference."""
        if (difference := self.first_difference(other)) is not None:
            name, mine, theirs = difference
            raise StateMismatchError(f"{name} must agree to merge, got {mine!r} and {theirs!r}")

    def first_difference(self, other: Any) -> tuple[str, Any, Any] | None:
        """Return the first word in which two settings differ, with both values, or None."""
        if not isinstance(other, MapSettings):  # several descriptors, here there are none
            return "descriptors", None, other.names
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if mine != theirs:
                return "random_state" if field.name == "seed" else field.name, mine, theirs
        return None


def planned_map(
    settings: MapSettings,
    rows: Rows,
    weights: NDArray[np.float64] | None,
    histogram: LogHistogram,
) -> FeatureMap:
    """Return the map for a stream that begins with these rows, whose histogram is given."""
    beta = settings.beta
    if isinstance(beta, str):
        first = slice(0, _DISTANCE_ROWS)
        beta = usual_beta(rows[first], None if weights is None else weights[first])
    series = _first_series(settings, histogram, float(beta))
    buckets = _hash_buckets(settings, series.n_terms)
    n_inputs = settings.n_features * series.n_terms if buckets is None else buckets.n_buckets
    kind = BASES.get(settings.basis, OrthogonalBasis)
    basis = kind(n_inputs, settings.n_components, settings.seed, float(beta), float(settings.dof))
    recipe = FeatureMap(RotatedSeries(series), basis, buckets, settings.dtype)
    if settings.basis == "landmarks":
        chosen = settings.landmarks
        landmarks = (
            drawn_landmarks(rows, weights, settings.n_components, settings.seed + 2)
            if chosen is None
            else chosen.rows
        )
        return replace(recipe, basis=_landmark_basis(settings, recipe, landmarks))
    if settings.basis == "subspace":
        return _in_subspace(recipe, basis, rows, weights)
    return recipe


def _in_subspace(
    plain: FeatureMap, basis: RandomBasis, rows: Rows, weights: NDArray[np.float64] | None
) -> FeatureMap:
    """Return the map with frequencies where rows vary; the plain one where they are all equal."""
    inputs = _coordinates(plain, rows)
    directions = informative_directions(inputs, weights, basis.n_components)
    if directions is None:
        return plain
    found = SubspaceBasis(directions, basis.n_components, basis.seed, basis.beta, basis.dof)
    return replace(plain, basis=found)


def _landmark_basis(
    settings: MapSettings, plain: FeatureMap, landmarks: sparse.csr_array
) -> LandmarkBasis:
    """Return the whitened landmarks, in the coordinates of a map with any other basis."""
    return landmark_basis(
        landmarks,
        _coordinates(plain, landmarks),
        n_components=settings.n_components,
        beta=plain.basis.beta,
        dof=float(settings.dof),
    )


def _coordinates(plain: FeatureMap, rows: Rows) -> NDArray[np.float64]:
    """Return what reaches the basis of a map, in double precision whatever the map.

    Small eigenvalues are made of it, and divided by.
    """
    rows = sparse.csr_array(rows) if plain.buckets is not None else rows
    doubled = replace(plain, dtype="float64").inputs(rows.astype(np.float64, copy=False))
    return np.asarray(doubled[:, : plain.basis.n_inputs], dtype=np.float64)


def usual_beta(rows: Rows, weights: NDArray[np.float64] | None = None) -> float:
    r"""Return one over the mean chi2 distance, :math:`\sum_{ij} w_i w_j \chi^2_{ij} / W^2`.

    Pairs of a row with itself are included, so that a weight of two equals a repeated row.
    Where all rows are equal the answer is 1.

    >>> usual_beta(np.array([[1.0, 0.0], [0.0, 1.0]]))
    2.0
    """
    shares = np.full(rows.shape[0], 1.0) if weights is None else weights
    shares = shares / shares.sum()
    mean = float(shares @ chi2_distance(rows) @ shares)
    # The reciprocal of a subnormal mean would be infinite.
    return 1.0 / mean if mean > np.finfo(np.float64).tiny else 1.0


def fitted_series(kind: str, histogram: LogHistogram, n_terms: int) -> Series:
    """Return the series of a kind that suits a histogram best, with ``n_terms`` terms."""
    if kind == "direct":
        return DirectSeries(refined_parameters(histogram, n_terms))
    if kind == "chebyshev":
        return ChebyshevSeries.from_histogram(histogram, n_terms)
    return VZSeries.from_histogram(histogram, n_terms)


def series_kernel_error(
    series: Series, histogram: LogHistogram, *, beta: float, n_features: int
) -> float:
    r"""Return what a series costs the exp-chi2 kernel: :math:`\beta\,s\,|E[x - c(x)^\top c(x)]|`.

    s is the mean number of non-zero values in a row. An upper estimate: it leaves out that the
    kernel is below one, and that columns which two rows share err in the same direction.
    """
    lost = abs(predicted_error(histogram, series).shrinkage)
    return beta * values_per_row(histogram, n_features) * lost


def values_per_row(histogram: LogHistogram, n_features: int) -> float:
    """Return the mean number of non-zero values in a row."""
    return n_features * float(histogram.total / (histogram.total + histogram.n_zeros))


def _first_series(settings: MapSettings, histogram: LogHistogram, beta: float) -> Series:
    n_terms = settings.n_terms
    if histogram.total == 0:
        n_terms = _USUAL_TERMS if isinstance(n_terms, str) else n_terms
        histogram = LogHistogram().update(np.geomspace(*_RANGE_UNSEEN, 100))
        if settings.series == "direct":
            return DirectSeries(zolotarev_parameters(*_RANGE_UNSEEN, n_terms))
    elif isinstance(n_terms, str) and settings.series == "direct":
        return DirectSeries(
            enough_parameters(
                histogram,
                n_components=settings.n_components,
                beta=beta,
                values_per_row=values_per_row(histogram, settings.n_features),
            )
        )
    elif isinstance(n_terms, str):
        n_terms = _USUAL_TERMS
    return fitted_series(settings.series, histogram, n_terms)


def _hash_buckets(settings: MapSettings, n_terms: int) -> HashBuckets | None:
    if settings.n_buckets == "auto":
        if settings.n_features * n_terms <= _MAX_UNFOLDED:
            return None
        # Four buckets a phase keep what folding adds to the error below a tenth of it.
        return HashBuckets(
            int(next_fast_len(max(_FEWEST_BUCKETS, 2 * settings.n_components), real=True)),
            settings.seed,
        )
    return (
        None if settings.n_buckets is None else HashBuckets(int(settings.n_buckets), settings.seed)
    )


def _number_or_word(value: Any, word: str, check: Any, *, name: str) -> None:
    if isinstance(value, str) and value != word:
        raise ValueError(f"{name} must be a number or {word!r}, got {value!r}")
    if not isinstance(value, str):
        check(value, name=name)
