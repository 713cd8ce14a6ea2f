"""Planning a feature map: from parameters and the first rows of a stream to frozen blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.bases import BasisPlan, OrthogonalBasis
from streamchi2.checks import Rows
from streamchi2.features.feature_map import FeatureMap, MapBlock, parts_of
from streamchi2.features.kernel_error import SampledError, tolerance, values_per_row
from streamchi2.features.spec import BlockSpec, MapSpec
from streamchi2.kernels import chi2_distance
from streamchi2.series import Series
from streamchi2.series.series import USUAL_TERMS
from streamchi2.series.transport import RotatedSeries
from streamchi2.statistics.log_histogram import LogHistogram

_DISTANCE_ROWS = 256  # enough for the mean distance, whose cost grows with their square
_FAR_APART = 10.0  # times the median distance: beyond, a row is wild
_LEAST_BETA = 1e-30
_FLOAT32_COST = 1e-3  # of the kernel
_MOST_TERMS = 12  # cover six decades of scale
_PROVISIONAL_TERMS = 3  # finding out how many are needed would cost more than all else
_RANGE_UNSEEN = (1e-4, 1.0)  # of a row that sums to one, while only zeros have been seen


def plan(
    spec: MapSpec, rows: Rows, weights: NDArray[np.float64] | None = None, *, final: bool = True
) -> FeatureMap:
    """Return the map for a stream that begins with these validated rows of positive weight.

    One that is not final serves for a while: it is planned quickly.
    """
    blocks = []
    for block, part in zip(spec.blocks, parts_of(rows, spec.columns), strict=True):
        normalized, histogram = block.normalized(part), LogHistogram()
        histogram.absorb(normalized, weights)
        blocks.append(plan_block(block, normalized, weights, histogram, final=final))
    return FeatureMap(tuple(blocks), spec.columns)


def plan_block(
    spec: BlockSpec,
    rows: Rows,
    weights: NDArray[np.float64] | None,
    histogram: LogHistogram,
    *,
    final: bool = True,
) -> MapBlock:
    """Return a block from its normalized rows and their histogram."""
    beta = spec.beta
    if isinstance(beta, str):
        first = slice(0, _DISTANCE_ROWS)
        beta = usual_beta(rows[first], None if weights is None else weights[first])
    beta = float(beta)
    series = RotatedSeries(_first_series(spec, rows, histogram, beta, final=final))
    buckets = spec.buckets(series.n_terms)
    n_inputs = spec.n_features * series.n_terms if buckets is None else buckets.n_buckets
    # Whatever the basis, this gives the coordinates that will reach it.
    plain = MapBlock(series, OrthogonalBasis(n_inputs, 1, 0, beta), buckets, spec.dtype)
    given = (rows, weights, plain.coordinates, spec.landmarks)
    sizes = (n_inputs, spec.n_components, spec.seed, beta, float(spec.dof))
    basis = spec.basis_class.plan(BasisPlan(*sizes, *given))
    work_dtype = None if _float32_is_enough(rows, beta) else "float64"
    return MapBlock(series, basis, buckets, spec.dtype, spec.norm, work_dtype)


def _float32_is_enough(rows: Rows, beta: float) -> bool:
    r"""Tell whether the rounding of float32 coordinates moves the kernel by less than a thousandth.

    The squared length of coordinates is the sum of a row, so that :math:`\beta\chi^2` is wrong by
    about :math:`\beta \varepsilon \sum_i x_i`.
    """
    if not _LEAST_BETA < beta < 1.0 / _LEAST_BETA:
        return False  # the scale of the data is beyond float32
    with np.errstate(over="ignore"):  # an infinite sum is too large
        largest = float(np.asarray(rows.sum(axis=1, dtype=np.float64)).max(initial=0.0))
    return beta * largest * float(np.finfo(np.float32).eps) < _FLOAT32_COST


def usual_beta(rows: Rows, weights: NDArray[np.float64] | None = None) -> float:
    r"""Return one over the mean chi2 distance, :math:`\sum_{ij} w_i w_j \chi^2_{ij} / W^2`.

    Pairs of a row with itself are included, so that a weight of two equals a repeated row. Rows of
    zeros are left out unless all others are equal: they have no scale. So are pairs that are more
    than ten times as far apart as half of all pairs, so that a few wild rows do not set the scale;
    ordinary rows have none. Where all rows are equal the answer is 1.

    >>> usual_beta(np.array([[1.0, 0.0], [0.0, 1.0]]))
    2.0
    """
    shares = np.full(rows.shape[0], 1.0) if weights is None else weights
    distances = chi2_distance(rows)
    filled = np.flatnonzero(_has_values(rows))
    mean = 0.0
    if 0 < filled.size < shares.size:
        mean = _mean_distance(distances[np.ix_(filled, filled)], shares[filled])
    if mean == 0.0:
        mean = _mean_distance(distances, shares)
    # The reciprocal of a subnormal mean would be infinite.
    return 1.0 / mean if mean > np.finfo(np.float64).tiny else 1.0


def _has_values(rows: Rows) -> NDArray[np.bool_]:
    """Tell which validated rows have a value above zero."""
    if isinstance(rows, sparse.csr_array):
        return np.asarray(np.diff(rows.indptr) > 0)  # no zeros are stored
    return np.asarray(rows.any(axis=1))


def _mean_distance(distances: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
    """Return the mean over pairs that are not far apart, for rows of these weights."""
    shares = shares / shares.sum()
    pairs = np.outer(shares, shares)
    near = distances <= _FAR_APART * _weighted_median(distances, pairs)
    if near.all():
        return float(shares @ distances @ shares)
    return float((distances * pairs)[near].sum() / pairs[near].sum())


def _weighted_median(distances: NDArray[np.float64], pairs: NDArray[np.float64]) -> float:
    """Return the distance that half of all pairs of different rows do not exceed."""
    apart = distances > 0.0
    if not apart.any():
        return 0.0
    values, weights = distances[apart], pairs[apart]
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(reached, reached[-1] / 2.0)])


def _first_series(
    spec: BlockSpec, rows: Rows, histogram: LogHistogram, beta: float, *, final: bool
) -> Series:
    n_terms, series = spec.n_terms, spec.series_class
    if histogram.total == 0:
        n_terms = USUAL_TERMS if isinstance(n_terms, str) else n_terms
        return series.for_range(*_RANGE_UNSEEN, n_terms)
    if not isinstance(n_terms, str):
        return series.from_histogram(histogram, n_terms)
    if not final:
        return series.from_histogram(histogram, _PROVISIONAL_TERMS)
    n_components = spec.n_components or spec.n_features
    values = values_per_row(histogram, spec.n_features)
    enough = series.enough(histogram, n_components=n_components, beta=beta, values_per_row=values)
    # The prediction knows bins, not values: rows that differ within a bin may need more terms.
    measured, limit = SampledError(beta, rows), tolerance(n_components)
    while measured.of(RotatedSeries(enough)) > limit and enough.n_terms < _MOST_TERMS:
        enough = series.from_histogram(histogram, enough.n_terms + series.terms_step)
    return enough
