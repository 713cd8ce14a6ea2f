"""The Vedaldi-Zisserman series: the spectrum of the harmonic kernel, sampled at regular steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from streamchi2.checks.params import as_positive_float, as_positive_int
from streamchi2.checks.rows import Floats
from streamchi2.saving import saved
from streamchi2.series.predicted_error import predicted_rms
from streamchi2.series.series import GRID_POINTS, Series, checked_range, logarithms, room_for
from streamchi2.statistics.log_histogram import LogHistogram


@saved("series.vz")
@dataclass(frozen=True)
class VZSeries(Series):
    r"""Samples of the spectrum :math:`\mathrm{sech}(\pi\omega)` at 0, L, 2L, ...

    .. math::

        \sqrt{xL}, \quad \sqrt{2xL\,\mathrm{sech}(\pi jL)}\,\cos(jL\log x), \quad
        \sqrt{2xL\,\mathrm{sech}(\pi jL)}\,\sin(jL\log x), \qquad L = 2\pi/\mathrm{period}

    Sampling makes the approximation periodic in log(x/y): the period must exceed the log-range of
    the data, and the shorter it is, the fewer terms are needed.

    Parameters
    ----------
    n_terms : int
        Number of coordinates N per value; odd, since cosine and sine come in pairs.
    period : float
        Period in log(x/y).

    References
    ----------
    Vedaldi and Zisserman (2012), doi:10.1109/TPAMI.2011.153.

    Examples
    --------
    >>> series = VZSeries(5, period=12.0)
    >>> c = series.transform([[0.05], [0.2]])
    >>> print(f"{c[0] @ c[1]:.4f}, exactly {2 * 0.05 * 0.2 / 0.25:.4f}")
    0.0824, exactly 0.0800
    """

    terms_step: ClassVar[int] = 2  # cosine and sine come in pairs

    n_terms: int
    period: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_terms", self.check_n_terms(self.n_terms))
        object.__setattr__(self, "period", as_positive_float(self.period, name="period"))

    @classmethod
    def check_n_terms(cls, n_terms: Any, *, name: str = "n_terms") -> int:
        """Return an odd number of terms: cosine and sine come in pairs."""
        if as_positive_int(n_terms, name=name) % 2 == 0:
            raise ValueError(f"{name} must be odd for the vz series, got {n_terms}")
        return int(n_terms)

    @classmethod
    def from_histogram(cls, histogram: LogHistogram, n_terms: int) -> Self:
        """Return the series whose period has the least rms error under the histogram."""

        def rms(log_period: float) -> float:
            return predicted_rms(histogram, cls(n_terms, math.exp(log_period)))

        # The error has several valleys in the period: a grid chooses one, a search descends.
        log_range = max(math.log(histogram.high) - math.log(histogram.low), 1.0)
        grid = np.linspace(0.0, math.log(log_range) + 2.0, 64)
        best = int(np.argmin([rms(log_period) for log_period in grid]))
        around = (grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)])
        return cls(n_terms, math.exp(minimize_scalar(rms, bounds=around, method="bounded").x))

    @property
    def _amplitudes(self) -> NDArray[np.float64]:
        """Weights of cos(j L log(x/y)) in the approximation, j = 0, 1, ..."""
        step = 2 * math.pi / self.period
        harmonics = np.arange(self.n_terms // 2 + 1)
        # sech(t) written with a falling exponential: cosh would overflow for short periods.
        falling = np.exp(-math.pi * step * harmonics)
        amplitudes: NDArray[np.float64] = 2 * step * 2 * falling / (1 + falling**2)
        amplitudes[0] = step
        return amplitudes

    def coordinates(self, values: Floats, out: Floats | None = None) -> Floats:
        """Return the coordinates of checked values, shape ``(N, *values.shape)``."""
        out = room_for(values, self.n_terms, out)
        number = values.dtype.type
        roots, logs = np.sqrt(values), logarithms(values)
        for j, amplitude in enumerate(np.sqrt(self._amplitudes)):
            phases = logs * number(2 * math.pi * j / self.period)
            scaled = roots * number(amplitude)
            np.multiply(scaled, np.cos(phases), out=out[max(2 * j - 1, 0)])
            if j > 0:
                np.multiply(scaled, np.sin(phases), out=out[2 * j])
        return out

    def error_bound(self, low: float, high: float) -> float:
        r"""Return the largest error for values in [low, high], found on 4096 ratios.

        At a given x/y the error is proportional to :math:`\sqrt{xy}`, so the larger of the two
        may be taken as ``high``.

        >>> print(f"{VZSeries(5, period=12.0).error_bound(0.01, 1.0):.4f}")
        0.0128
        """
        values = np.geomspace(*checked_range(low, high), GRID_POINTS)
        return float(np.abs(self.errors(values, values[-1:])).max())
