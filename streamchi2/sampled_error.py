"""What a series costs the kernel, measured on a sample of the rows that went by.

The prediction from a histogram is an upper estimate: it counts errors of distances that are so
large that the kernel is nought either way. On rows whose scale drifts it may be wrong by orders of
magnitude, and a series that looks better may be worse. A few rows tell.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.batch import Rows
from streamchi2.feature_map import FeatureMap
from streamchi2.kernels import exp_chi2_kernel
from streamchi2.series.transport import RotatedSeries

MOST_ROWS = 64  # 2016 pairs; the exact kernel costs d for each


class SampledError:
    r"""Root mean square error of a series' kernel over all pairs of some rows.

    .. math:: e^{-\frac\beta2\lVert c(x)-c(y)\rVert^2} - e^{-\beta\chi^2(x, y)}

    The error of the series alone, whatever random features follow it; with slots, that of folding
    is in it too.

    Parameters
    ----------
    recipe : FeatureMap
        Knows beta and how coordinates are folded.
    rows : ndarray or csr_array
        Checked rows, of which the first 64 are used.

    Examples
    --------
    >>> from streamchi2.bases import OrthogonalBasis
    >>> from streamchi2.series import DirectSeries
    >>> recipe = FeatureMap(RotatedSeries(DirectSeries([0.3])), OrthogonalBasis(2, 100, seed=0))
    >>> error = SampledError(recipe, np.array([[0.2, 0.8], [0.5, 0.5], [0.9, 0.1]]))
    >>> [round(error.of(RotatedSeries(DirectSeries(k))), 4) for k in ([0.3], [0.2, 0.6])]
    [0.1301, 0.0088]
    """

    def __init__(self, recipe: FeatureMap, rows: Rows) -> None:
        self._rows = sparse.csr_array(rows[:MOST_ROWS]) if recipe.slots else rows[:MOST_ROWS]
        self._recipe = replace(recipe, dtype="float64")
        self._pairs = np.triu_indices(self._rows.shape[0], k=1)
        # Whatever the degrees of freedom: it is distances that a series gets wrong.
        self._exact = exp_chi2_kernel(self._rows, beta=recipe.basis.beta)[self._pairs]

    def of(self, series: RotatedSeries) -> float:
        """Return the error of a series; 0 where there are no two rows."""
        if not self._exact.size:
            return 0.0
        inputs = self._recipe.with_series(series).inputs(self._rows)
        approximate = np.exp(-self._exponents(np.asarray(inputs, dtype=np.float64)))
        return float(np.sqrt(np.mean(np.square(approximate - self._exact))))

    def _exponents(self, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        left, right = self._pairs
        unit = max(float(np.abs(inputs).max()), np.finfo(np.float64).tiny)
        inputs = inputs / unit  # squares in this unit stay in range
        lengths, products = np.square(inputs).sum(axis=1), inputs @ inputs.T
        squared = np.maximum(lengths[left] + lengths[right] - 2.0 * products[left, right], 0.0)
        with np.errstate(over="ignore"):  # an infinite distance is a kernel value of zero
            exponents: NDArray[np.float64] = (0.5 * self._recipe.basis.beta * squared) * unit * unit
        return exponents
