"""Which values the kernel can still tell apart: all up to 1/beta, larger ones less and less."""

from __future__ import annotations

import numpy as np

from streamchi2.statistics.log_histogram import LogHistogram


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
    found = LogHistogram(histogram.bins_per_octave)
    found.absorb(centres[kept, None], (weights * counting)[kept])
    return found
