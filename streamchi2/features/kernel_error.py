"""What a series costs the kernel: predicted from a histogram, measured on a sample of rows.

The prediction from a histogram is an upper estimate: it counts errors of distances that are so
large that the kernel is nought either way. On rows whose scale drifts it may be wrong by orders of
magnitude, and a series that looks better may be worse. A few rows tell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.checks import Rows
from streamchi2.kernels import exp_chi2_kernel
from streamchi2.series import Series
from streamchi2.series.predicted_error import shrinkage
from streamchi2.series.transport import RotatedSeries
from streamchi2.statistics.log_histogram import LogHistogram

MOST_ROWS = 64  # 2016 pairs; the exact kernel costs d for each


class KernelError(NamedTuple):
    """Error of the kernel, measured over all pairs of a sample of the rows seen.

    What ``kernel_error()`` of an estimator returns. The exp-chi2 kernel itself is between 0 and 1.

    Parameters
    ----------
    rms : float
        Root mean square of the differences between the products of features and the exact kernel.
    worst : float
        The largest absolute difference.

    Examples
    --------
    >>> from streamchi2 import ExpChi2Sampler
    >>> sampler = ExpChi2Sampler(256, beta=1.0, random_state=0).fit([[0.2, 0.8], [0.7, 0.3]])
    >>> error = sampler.kernel_error()
    >>> error.rms == error.worst  # of the one pair there is
    True
    """

    rms: float
    worst: float


def tolerance(n_components: int) -> float:
    """Return a third of the Monte Carlo error of D features: what a series may add to it."""
    return 1.0 / (3.0 * float(np.sqrt(n_components)))


def predicted_error(series: Series, histogram: LogHistogram, beta: float, n_features: int) -> float:
    r"""Return what a series costs the exp-chi2 kernel: :math:`\beta\,s\,|E[x - c(x)^\top c(x)]|`.

    s is the mean number of non-zero values in a row. An upper estimate: it leaves out that the
    kernel is below one, and that columns which two rows share err in the same direction.
    """
    if histogram.total == 0:
        return 0.0
    lost = abs(shrinkage(histogram, series))
    return beta * values_per_row(histogram, n_features) * lost


def values_per_row(histogram: LogHistogram, n_features: int) -> float:
    """Return the mean number of non-zero values in a row."""
    return n_features * float(histogram.total / (histogram.total + histogram.n_zeros))


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
    >>> from streamchi2.series import DirectSeries
    >>> error = SampledError(1.0, np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]))
    >>> [round(error.of(RotatedSeries(DirectSeries(k))), 4) for k in ([0.3], [0.2, 0.6])]
    [0.1301, 0.0088]
    """

    def __init__(self, beta: float, rows: Rows) -> None:
        self._beta = beta
        # Whatever the degrees of freedom: it is distances that a series gets wrong.
        rows = rows[:MOST_ROWS]
        self._pairs = np.triu_indices(rows.shape[0], k=1)
        self._exact = exp_chi2_kernel(rows, beta=beta)[self._pairs]
        self._rows = _narrow(rows)

    def of(self, series: RotatedSeries) -> float:
        """Return the error of a series; 0 where there are no two rows."""
        if not self._exact.size:
            return 0.0
        approximate = np.exp(-self._exponents(series))
        return float(np.sqrt(np.mean(np.square(approximate - self._exact))))

    def _exponents(self, series: RotatedSeries) -> NDArray[np.float64]:
        stored, (left, right) = self._rows, self._pairs
        terms = series.coordinates(stored.data)
        unit = max(float(np.abs(terms).max(initial=0.0)), np.finfo(np.float64).tiny)
        products = np.zeros((stored.shape[0], stored.shape[0]))
        for term in terms / unit:  # squares in this unit stay in range
            one = sparse.csr_array((term, stored.indices, stored.indptr), shape=stored.shape)
            products += (one @ one.T).toarray()
        lengths = np.diag(products)
        squared = np.maximum(lengths[left] + lengths[right] - 2.0 * products[left, right], 0.0)
        with np.errstate(over="ignore"):  # an infinite distance is a kernel value of zero
            exponents: NDArray[np.float64] = (0.5 * self._beta * squared) * unit * unit
        return exponents


def _narrow(rows: Rows) -> sparse.csr_array:
    """Return rows with only the columns that some of them use, however wide they were."""
    stored = sparse.csr_array(rows, dtype=np.float64)
    used, places = np.unique(stored.indices, return_inverse=True)
    shape = (stored.shape[0], max(1, used.size))
    return sparse.csr_array((stored.data, places, stored.indptr), shape=shape)
