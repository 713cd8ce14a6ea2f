"""Planning a feature map: from parameters and the first rows of a stream to frozen blocks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamchi2.bases import BasisPlan
from streamchi2.checks.rows import Rows
from streamchi2.features.feature_map import MapBlock, coordinates_of
from streamchi2.features.spec import BlockSpec
from streamchi2.kernels import chi2_distance
from streamchi2.series import Series
from streamchi2.series.predicted_error import SampledError, predicted_kernel_error, tolerance
from streamchi2.series.transport import RotatedSeries
from streamchi2.statistics.log_histogram import LogHistogram

_DISTANCE_ROWS = 256  # enough for the mean distance, whose cost grows with their square
_PROVISIONAL_ROWS = 64  # for a while
_FAR_APART = 10.0  # times the median distance: beyond, a row is wild
_LEAST_BETA = 1e-30
_FLOAT32_COST = 1e-3  # of the kernel
_MOST_TERMS = 12  # cover six decades of scale
_USUAL_TERMS = 5
_PROVISIONAL_TERMS = 3  # finding out how many are needed would cost more than all else
_VALUES_UNSEEN = np.geomspace(1e-4, 1.0, 100)  # of rows that sum to one, while all are zeros


def plan_block(
    spec: BlockSpec,
    rows: Rows,
    weights: NDArray[np.float64],
    *,
    final: bool = True,
) -> MapBlock:
    """Return a block for a stream that begins with these normalized rows.

    One that is not final serves for a while: it is planned quickly.
    """
    histogram, beta = LogHistogram(half_life=spec.fading), spec.beta
    histogram.absorb(rows, weights)
    if isinstance(beta, str):
        n_rows = _DISTANCE_ROWS if final else _PROVISIONAL_ROWS
        beta = usual_beta(rows[:n_rows], weights[:n_rows])
    beta = float(beta)
    series = RotatedSeries(_first_series(spec, rows, histogram, beta, final=final))
    buckets = spec.buckets(series.n_terms)
    n_inputs = spec.n_features * series.n_terms if buckets is None else buckets.n_buckets

    def coordinates(part: Rows) -> NDArray[np.float64]:
        # Small eigenvalues are made of it, and divided by.
        return coordinates_of(part.astype(np.float64), series, buckets).astype(np.float64)

    basis = spec.basis_class.plan(
        BasisPlan(
            n_inputs=n_inputs,
            n_components=spec.n_components,
            seed=spec.seed,
            beta=beta,
            dof=float(spec.dof),
            rows=rows,
            weights=weights,
            coordinates=coordinates,
            landmarks=spec.landmarks,
        )
    )
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
        largest = float(np.max(rows.sum(axis=1, dtype=np.float64)))
    return beta * largest * float(np.finfo(np.float32).eps) < _FLOAT32_COST


def usual_beta(rows: Rows, weights: NDArray[np.float64]) -> float:
    r"""Return one over the mean chi2 distance, :math:`\sum_{ij} w_i w_j \chi^2_{ij} / W^2`.

    Pairs of a row with itself are included, so that a weight of two equals a repeated row. Rows of
    zeros are left out unless all others are equal: they have no scale. So are pairs that are more
    than ten times as far apart as half of all pairs, so that a few wild rows do not set the scale;
    ordinary rows have none. Where all rows are equal the answer is 1.

    >>> usual_beta(np.array([[1.0, 0.0], [0.0, 1.0]]), np.ones(2))
    2.0
    """
    distances = chi2_distance(rows)
    filled = np.asarray((rows > 0.0).sum(axis=1)) > 0
    mean = _mean_distance(distances, weights * filled) or _mean_distance(distances, weights)
    # The reciprocal of a subnormal mean would be infinite.
    return 1.0 / mean if mean > np.finfo(np.float64).tiny else 1.0


def _mean_distance(distances: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return the mean over pairs that are not far apart; 0 where no two rows differ."""
    shares = weights / max(float(weights.max()), np.finfo(np.float64).tiny)
    pairs = np.outer(shares, shares)
    apart = np.flatnonzero((distances > 0.0) & (pairs > 0.0))
    if apart.size == 0:
        return 0.0
    order = apart[np.argsort(distances.ravel()[apart])]
    reached = np.cumsum(pairs.ravel()[order])
    median = distances.ravel()[order[reached.searchsorted(reached[-1] / 2.0)]]
    near = distances <= _FAR_APART * median
    return float(distances[near] @ pairs[near] / pairs[near].sum())


def _first_series(
    spec: BlockSpec, rows: Rows, histogram: LogHistogram, beta: float, *, final: bool
) -> Series:
    """Return the series that suits the histogram, with as many terms as D features can notice."""
    series, n_terms = spec.series_class, spec.n_terms
    if histogram.total == 0:
        histogram = LogHistogram().update(_VALUES_UNSEEN)
        n_terms = _USUAL_TERMS if isinstance(n_terms, str) else n_terms
    if isinstance(n_terms, str) and not final:
        n_terms = _PROVISIONAL_TERMS
    if not isinstance(n_terms, str):
        return series.from_histogram(histogram, n_terms)
    limit, measured = tolerance(spec.n_components or spec.n_features), SampledError(beta, rows)
    for n_terms in range(series.first_terms, _MOST_TERMS + 1, series.terms_step):
        candidate = series.from_histogram(histogram, n_terms)
        predicted = predicted_kernel_error(candidate, histogram, beta, spec.n_features)
        # A prediction knows bins, not values: rows that differ within a bin may need more terms.
        # It is an upper estimate, too: beyond the usual number rows alone ask for more.
        believed = predicted <= limit or n_terms >= _USUAL_TERMS
        if believed and measured.of(candidate) <= limit:
            break
    return candidate
