"""What error a series makes, and what it costs the kernel: predicted, and measured on rows.

Data are known by their histogram. The prediction for the kernel is an upper estimate: it counts
errors of distances that are so large that the kernel is nought either way. On rows whose scale
drifts it may be wrong by orders of magnitude, and a series that looks better may be worse. A few
rows tell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from streamchi2.checks.rows import Rows
from streamchi2.kernels import exp_chi2_kernel
from streamchi2.series.direct import DirectSeries
from streamchi2.series.series import Series, bins_and_shares
from streamchi2.statistics.log_histogram import LogHistogram

MOST_ROWS = 64  # whose exact kernel costs d for each of 2016 pairs


class PredictedError(NamedTuple):
    """Error of one coordinate's inner product against 2xy/(x+y), x and y non-zero.

    Attributes
    ----------
    rms : float
        Root mean square for x and y drawn independently from the histogram.
    worst : float
        Largest error over the observed range; rare large values show here and not in ``rms``.
    shrinkage : float
        Mean of x - c(x)·c(x): how much squared length a value loses on average. Half of it is what
        the chi2 distance between values in different columns is underestimated by.
    """

    rms: float
    worst: float
    shrinkage: float


def predicted_error(histogram: LogHistogram, series: Series | ArrayLike) -> PredictedError:
    r"""Predict the error of a series, or of nodes k, under a histogram of the inputs.

    .. math:: \mathrm{rms}^2 = \sum_{x,y} h(x)\,h(y)\,
              \Bigl(\frac{2xy}{x+y} - c(x)^\top c(y)\Bigr)^2

    over bin centres; for the direct series this is g'Mg with g = h G² and M = (2xy/(x+y))².
    The cost is one small matrix product, whatever the number of rows seen.

    Parameters
    ----------
    histogram : LogHistogram
        Non-zero input values.
    series : Series or array-like of nodes
        An array stands for ``DirectSeries(array)``.

    Returns
    -------
    PredictedError

    Examples
    --------
    >>> histogram = LogHistogram().update([0.01, 0.02, 0.05, 0.1, 0.2])
    >>> error = predicted_error(histogram, [0.01, 0.1])
    >>> print(f"{error.rms:.5f} {error.worst:.5f}")
    0.00407 0.01861
    """
    if not isinstance(series, Series):
        series = DirectSeries(series)
    rms = predicted_rms(histogram, series)
    worst = series.error_bound(histogram.low, histogram.high)
    return PredictedError(rms, worst, shrinkage(histogram, series))


def predicted_rms(histogram: LogHistogram, series: Series) -> float:
    """Return the root mean square error for x and y drawn independently from the histogram."""
    centres, shares = bins_and_shares(histogram)
    scale = centres[-1]  # squares in its unit stay in range
    squares = np.square(series.errors(centres, centres) / scale)
    return float(scale * np.sqrt(shares @ (squares @ shares)))


def shrinkage(histogram: LogHistogram, series: Series) -> float:
    r"""Return the mean of :math:`x - c(x)^\top c(x)`, which costs no matrix."""
    centres, shares = bins_and_shares(histogram)
    return float(shares @ series.lost(centres))


def tolerance(n_components: int) -> float:
    """Return a third of the Monte Carlo error of D features: what a series may add to it."""
    return 1.0 / (3.0 * float(np.sqrt(n_components)))


def predicted_kernel_error(
    series: Series, histogram: LogHistogram, beta: float, n_features: int
) -> float:
    r"""Return what a series costs the exp-chi2 kernel: :math:`\beta\,s\,|E[x - c(x)^\top c(x)]|`.

    s is the mean number of non-zero values in a row. An upper estimate: it leaves out that the
    kernel is below one, and that columns which two rows share err in the same direction.
    """
    if histogram.total == 0:
        return 0.0
    values_per_row = n_features * float(histogram.total / (histogram.total + histogram.n_zeros))
    return beta * values_per_row * abs(shrinkage(histogram, series))


class SampledError:
    r"""Root mean square error of a series' kernel over all pairs of some rows.

    .. math:: e^{-\frac\beta2\lVert c(x)-c(y)\rVert^2} - e^{-\beta\chi^2(x, y)}

    The error of the series alone, whatever folding and random features follow it.

    Parameters
    ----------
    beta : float
        Inverse scale of the kernel.
    rows : ndarray or csr_array
        Checked rows, of which the first 64 are used.

    Examples
    --------
    >>> error = SampledError(1.0, np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]))
    >>> [round(error.of(DirectSeries(k)), 4) for k in ([0.3], [0.2, 0.6])]
    [0.1301, 0.0088]
    """

    def __init__(self, beta: float, rows: Rows) -> None:
        rows = rows[:MOST_ROWS].astype(np.float64)
        if isinstance(rows, sparse.csr_array):  # however wide: only columns that are in use
            used, places = np.unique(rows.indices, return_inverse=True)
            shape = (rows.shape[0], max(1, used.size))
            rows = sparse.csr_array((rows.data, places, rows.indptr), shape=shape)
        self._beta, self._rows = beta, rows
        # Whatever the degrees of freedom: it is distances that a series gets wrong.
        self._exact = exp_chi2_kernel(rows, beta=beta)

    def of(self, series: Series) -> float:
        """Return the error of a series; 0 where there are no two rows."""
        terms = series.transform(self._rows)
        unit = max(float(abs(terms).max()), np.finfo(np.float64).tiny)
        terms = terms / unit  # squares in this unit stay in range
        products = terms @ terms.T
        if isinstance(products, sparse.csr_array):
            products = products.toarray()
        lengths = products.diagonal()
        squared = np.maximum(lengths[:, None] + lengths - 2.0 * products, 0.0)
        with np.errstate(over="ignore"):  # an infinite distance is a kernel value of zero
            exponents = (0.5 * self._beta * squared) * unit * unit
        n_rows = lengths.size
        errors = np.exp(-exponents) - self._exact  # of a row and itself there is none
        return float(np.sqrt(np.square(errors).sum() / max(1, n_rows * (n_rows - 1))))


def relevant(histogram: LogHistogram, beta: float, power: int) -> LogHistogram:
    r"""Return the histogram with every value x counting :math:`\min(1, (\beta x)^{-p})` times.

    A value that another row lacks adds x/2 to their distance, so their kernel is at most
    :math:`e^{-\beta x/2} \le 2.2\,(\beta x)^{-2}`, and whatever a series makes of x costs it no
    more. Where no value is above :math:`1/\beta`, the histogram itself comes back.

    Parameters
    ----------
    histogram : LogHistogram
        Non-zero input values.
    beta : float
        Inverse scale of the kernel.
    power : int
        p: 0 counts all alike, so that series serve the largest values best; 1 does every decade
        above :math:`1/\beta` equal justice; 2 hardly sees beyond the next two.

    Examples
    --------
    >>> histogram = LogHistogram().update([0.5, 0.5, 8.0])
    >>> [relevant(histogram, 1.0, power).weights.round(3).tolist() for power in (1, 2)]
    [[2.0, 0.124], [2.0, 0.015]]
    >>> relevant(histogram, 0.1, 2) is histogram
    True
    """
    centres, weights = histogram.centres, histogram.weights
    # Divided first: the square of a huge value would overflow.
    counting = np.minimum(1.0, (1.0 / beta) / centres) ** power
    if (counting == 1.0).all():
        return histogram
    kept = weights * counting > 0.0
    counted = LogHistogram(histogram.bins_per_octave)
    counted.absorb(centres[kept, None], (weights * counting)[kept])
    return counted
