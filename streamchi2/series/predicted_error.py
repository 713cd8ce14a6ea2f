"""What error a series will make on data known only by its histogram."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamchi2.series.direct import DirectSeries
from streamchi2.series.series import Series, harmonic_mean
from streamchi2.statistics.log_histogram import LogHistogram

MAX_BINS = 384  # a matrix of this side is built; finer bins would change the figures by per mille


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
    centres, shares = bins_and_shares(histogram)
    exact = harmonic_mean(centres[:, None], centres)
    if isinstance(series, DirectSeries):
        # The closed form keeps its relative accuracy where the difference would cancel.
        residual = series.residual(centres)
        error = residual[:, None] * residual * exact
    else:
        coordinates = series.coordinates(centres)
        error = exact - coordinates.T @ coordinates
    scale = centres[-1]  # squares in its unit stay in range
    rms = scale * np.sqrt(shares @ (np.square(error / scale) @ shares))
    worst = series.error_bound(histogram.low, histogram.high)
    return PredictedError(float(rms), worst, shrinkage(histogram, series))


def shrinkage(histogram: LogHistogram, series: Series) -> float:
    r"""Return the mean of :math:`x - c(x)^\top c(x)`, which costs no matrix."""
    centres, shares = bins_and_shares(histogram)
    if isinstance(series, DirectSeries):
        lost = np.square(series.residual(centres)) * centres
    else:
        coordinates = series.coordinates(centres)
        lost = centres - np.einsum("ij,ij->j", coordinates, coordinates)
    return float(shares @ lost)


def bins_and_shares(
    histogram: LogHistogram,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return at most ``MAX_BINS`` bin centres and the share of the non-zero values in each."""
    if histogram.total <= 0.0:
        raise ValueError(
            "histogram must hold at least one non-zero value to choose or judge a series"
        )
    centres, weights = histogram.coarsened(MAX_BINS)
    return centres, weights / weights.sum()
