"""The Chebyshev series: nothing to choose but a scale, error falling like 1/N."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from streamchi2.checks.params import as_positive_float
from streamchi2.checks.rows import Floats
from streamchi2.saving import saved
from streamchi2.series.series import Series, logarithms, room_for
from streamchi2.statistics.log_histogram import LogHistogram


@saved("series.chebyshev")
@dataclass(frozen=True)
class ChebyshevSeries(Series):
    r"""The Fourier-Chebyshev expansion of the harmonic kernel, applied to x/s.

    .. math::

        d_0 = \frac{2x}{x+1}, \quad d_1 = -\sqrt2\,\frac{\log x}{\pi}\, d_0, \quad
        d_q = \frac1q\Bigl((-1)^q\,\frac{2\log x}{\pi}\,d_{q-1} + (q-2)\,d_{q-2}\Bigr)

    multiplied by :math:`\sqrt s`. The scale s belongs in the middle of the data, at the geometric
    mean of the non-zero values: on L1-normalised rows s = 1 costs about 20 times the error. What
    the truncation leaves out is a positive definite kernel.

    Parameters
    ----------
    n_terms : int
        Number of coordinates N per value.
    scale : float, default=1.0
        The s of the formula.

    References
    ----------
    Li, Lebanon and Sminchisescu (2013), section 5, arXiv:1206.4074.

    Examples
    --------
    >>> series = ChebyshevSeries(5, scale=0.1)
    >>> c = series.transform([[0.05], [0.2]])
    >>> print(f"{c[0] @ c[1]:.4f}, exactly {2 * 0.05 * 0.2 / 0.25:.4f}")
    0.0801, exactly 0.0800
    """

    n_terms: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_terms", self.check_n_terms(self.n_terms))
        object.__setattr__(self, "scale", as_positive_float(self.scale, name="scale"))

    @classmethod
    def from_histogram(cls, histogram: LogHistogram, n_terms: int) -> Self:
        """Return the series whose scale is the geometric mean of the histogram's values."""
        mean = np.average(np.log(histogram.centres), weights=histogram.weights)
        return cls(n_terms, math.exp(mean))

    def coordinates(self, values: Floats, out: Floats | None = None) -> Floats:
        """Return the coordinates of checked values, shape ``(N, *values.shape)``."""
        out = room_for(values, self.n_terms, out)
        number = values.dtype.type
        half_scale = max(self.scale / 2, 4 * float(np.finfo(values.dtype).tiny))
        halves = values * number(0.5)
        # sqrt(s) d_0, written so that x/s, which may overflow, never appears.
        first = np.divide(halves, halves + number(half_scale), out=out[0])
        first *= number(2 * math.sqrt(self.scale))
        if self.n_terms == 1:
            return out
        slope = logarithms(values) - number(math.log(self.scale))
        slope *= number(2 / math.pi)
        np.multiply(slope, first, out=out[1])
        out[1] *= number(-math.sqrt(0.5))
        for q in range(2, self.n_terms):
            np.multiply(slope, out[q - 1], out=out[q])
            out[q] *= number((-1) ** q / q)
            if q > 2:
                out[q] += number((q - 2) / q) * out[q - 2]
        return out
