"""What a series costs the kernel, measured on a sample of the rows that went by.

The prediction from a histogram is an upper estimate: it counts errors of distances that are so
large that the kernel is nought either way. On rows whose scale drifts it may be wrong by orders of
magnitude, and a series that looks better may be worse. A few rows tell.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.checks import Rows
from streamchi2.kernels import exp_chi2_kernel
from streamchi2.series.transport import RotatedSeries

MOST_ROWS = 64  # 2016 pairs; the exact kernel costs d for each


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
