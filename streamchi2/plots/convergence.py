"""How fast each series converges on the inputs that came."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks import as_positive_int
from streamchi2.plots import canvas
from streamchi2.series import (
    ChebyshevSeries,
    DirectSeries,
    VZSeries,
    greedy_parameters,
    refined_parameters,
    zolotarev_parameters,
)
from streamchi2.series.predicted_error import bins_and_shares, predicted_error
from streamchi2.series.series import Series, harmonic_mean
from streamchi2.statistics.log_histogram import LogHistogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# How each series is made from the inputs, and how it is drawn.
SERIES: dict[str, tuple[Callable[[LogHistogram, int], Series], str, str]] = {
    "VZ": (VZSeries.from_histogram, canvas.ORANGE, "s"),
    "Chebyshev": (ChebyshevSeries.from_histogram, canvas.PURPLE, "D"),
    "direct, Zolotarev": (
        lambda h, n: DirectSeries(zolotarev_parameters(h.low, h.high, n)), canvas.GREEN, "v"
    ),
    "direct, greedy": (
        lambda h, n: DirectSeries(greedy_parameters(h, n)), canvas.VERMILLION, "^"
    ),
    "direct, refined": (
        lambda h, n: DirectSeries(refined_parameters(h, n)), canvas.BLUE, "o"
    ),
}  # fmt: skip


def relative_errors(
    histogram: LogHistogram, n_terms: int
) -> dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """Return numbers of terms up to ``n_terms`` and relative errors, for each series.

    The root mean square error for x and y drawn from the histogram, divided by the root mean
    square of 2xy/(x+y) itself. VZ has odd numbers of terms only.

    Examples
    --------
    >>> histogram = LogHistogram().update(np.random.default_rng(0).gamma(0.5, size=1000))
    >>> for name, (terms, errors) in relative_errors(histogram, 5).items():
    ...     print(f"{name:18} {terms[-1]} terms: {errors[-1]:.0e}")
    VZ                 5 terms: 2e-02
    Chebyshev          5 terms: 6e-02
    direct, Zolotarev  5 terms: 1e-01
    direct, greedy     5 terms: 3e-03
    direct, refined    5 terms: 8e-04
    """
    centres, shares = bins_and_shares(histogram)
    scale = np.sqrt(shares @ harmonic_mean(centres[:, None], centres) ** 2 @ shares)
    errors = {}
    for name, (make, *_) in SERIES.items():
        terms = np.arange(1, n_terms + 1, 2 if name == "VZ" else 1)
        rms = [predicted_error(histogram, make(histogram, int(n))).rms for n in terms]
        errors[name] = terms, np.array(rms) / scale
    return errors


def plot_convergence(
    estimator: Any, *, n_terms: int = 8, descriptor: str | None = None, ax: Axes | None = None
) -> Axes:
    r"""Draw the error of 2xy/(x+y) against the number of terms, for every series of the library.

    Shown is the root mean square error for x and y drawn from the inputs seen, divided by the root
    mean square of 2xy/(x+y) itself. VZ has odd numbers of terms only.

    Parameters
    ----------
    estimator : estimator with ``input_histogram_``
        Fitted; the number of terms that it uses is marked by a dotted line.
    n_terms : int, default=8
        The most terms.
    descriptor : str, optional
        Whose inputs, for an estimator with several descriptors.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        With a labelled line for each series.
    """
    n_terms = as_positive_int(n_terms, name="n_terms")
    histogram = canvas.reading(estimator, "input_histogram_", descriptor)
    in_use = canvas.reading(estimator, "n_terms_", descriptor)
    ax = canvas.axes_to_draw_on(ax, "Convergence of the series")
    ax.axvline(in_use, color=canvas.GREY, lw=1.0, ls=":", label="terms in use")
    for name, (terms, errors) in relative_errors(histogram, n_terms).items():
        _, colour, marker = SERIES[name]
        # An error of exactly zero (a node on every value) has no place on a log axis.
        positive = np.where(errors > 0, errors, np.nan)
        ax.plot(terms, positive, marker=marker, color=colour, lw=1.5, ms=5, label=name)
    ax.set(yscale="log", xlabel="number of terms", ylabel="relative rms error of 2xy/(x+y)")
    ax.locator_params(axis="x", integer=True)
    ax.legend(**canvas.LEGEND)
    return ax
