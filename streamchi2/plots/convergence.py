"""How fast each series converges on the inputs that came."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.plots.canvas import (
    BLUE,
    GREEN,
    GREY,
    LEGEND,
    ORANGE,
    PURPLE,
    VERMILLION,
    axes_to_draw_on,
    put_title,
    reading,
)
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
from streamchi2.validation import as_positive_int

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

SERIES: dict[str, Callable[[LogHistogram, int], Series]] = {
    "VZ": VZSeries.from_histogram,
    "Chebyshev": ChebyshevSeries.from_histogram,
    "direct, Zolotarev": lambda h, n: DirectSeries(zolotarev_parameters(h.low, h.high, n)),
    "direct, greedy": lambda h, n: DirectSeries(greedy_parameters(h, n)),
    "direct, refined": lambda h, n: DirectSeries(refined_parameters(h, n)),
}
STYLES = {
    "VZ": (ORANGE, "s"),
    "Chebyshev": (PURPLE, "D"),
    "direct, Zolotarev": (GREEN, "v"),
    "direct, greedy": (VERMILLION, "^"),
    "direct, refined": (BLUE, "o"),
}


@dataclass
class ConvergenceDisplay:
    r"""Error of 2xy/(x+y) against the number of terms, for every series of the library.

    Shown is the root mean square error for x and y drawn from the inputs, divided by the root mean
    square of 2xy/(x+y) itself. VZ has odd numbers of terms only.

    Parameters
    ----------
    errors : dict of name -> (numbers of terms, relative errors)
        What is drawn, one line each.
    n_terms_in_use : int or None
        Marked by a vertical line.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure that holds them.
    lines_ : dict of name -> matplotlib Line2D
        The curves.

    Examples
    --------
    >>> from streamchi2 import LogHistogram
    >>> histogram = LogHistogram().update(np.random.default_rng(0).gamma(0.5, size=1000))
    >>> display = ConvergenceDisplay.from_histogram(histogram, n_terms=5)
    >>> for name, (terms, errors) in display.errors.items():
    ...     print(f"{name:18} {terms[-1]} terms: {errors[-1]:.0e}")
    VZ                 5 terms: 2e-02
    Chebyshev          5 terms: 6e-02
    direct, Zolotarev  5 terms: 1e-01
    direct, greedy     5 terms: 3e-03
    direct, refined    5 terms: 8e-04
    """

    errors: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]]
    n_terms_in_use: int | None = None

    ax_: Axes | None = None
    figure_: Figure | None = None
    lines_: dict[str, Line2D] = field(default_factory=dict)

    @classmethod
    def from_histogram(
        cls, histogram: LogHistogram, n_terms: int = 8, *, in_use: int | None = None
    ) -> Self:
        """Return the display of all series of 1 to ``n_terms`` terms; draws nothing yet."""
        n_terms = as_positive_int(n_terms, name="n_terms")
        centres, shares = bins_and_shares(histogram)
        scale = np.sqrt(shares @ harmonic_mean(centres[:, None], centres) ** 2 @ shares)
        errors = {}
        for name, make in SERIES.items():
            terms = np.arange(1, n_terms + 1, 2 if name == "VZ" else 1)
            rms = [predicted_error(histogram, make(histogram, int(n))).rms for n in terms]
            errors[name] = terms, np.array(rms) / scale
        return cls(errors, in_use)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        n_terms: int = 8,
        descriptor: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw how the series converge on the inputs that a fitted estimator has seen.

        Parameters
        ----------
        estimator : estimator with ``input_histogram_``
            Fitted; the number of terms that it uses is marked.
        n_terms : int, default=8
            The most terms.
        descriptor : str, optional
            Whose inputs, for an estimator with several descriptors.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ConvergenceDisplay
        """
        asked: dict[str, Any] = {"needed_for": "its inputs", "descriptor": descriptor}
        histogram = reading(estimator, "input_histogram_", **asked)
        in_use = reading(estimator, "n_terms_", **asked)
        return cls.from_histogram(histogram, n_terms, in_use=in_use).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on Axes, or on those of a new figure, and return this display."""
        ax = axes_to_draw_on(ax)
        if self.n_terms_in_use is not None:
            ax.axvline(self.n_terms_in_use, color=GREY, lw=1.0, ls=":")
        for name, (terms, errors) in self.errors.items():
            colour, marker = STYLES[name]
            # An error of exactly zero (a node on every value) has no place on a log axis.
            seen = np.where(errors > 0, errors, np.nan)
            (self.lines_[name],) = ax.plot(
                terms, seen, marker=marker, color=colour, lw=1.5, ms=5, label=name
            )
        ax.set(yscale="log", xlabel="number of terms", ylabel="relative rms error")
        ax.locator_params(axis="x", integer=True)
        ax.legend(**LEGEND)
        in_use = self.n_terms_in_use
        marked = "" if in_use is None else f"; dotted: the {in_use} in use"
        put_title(
            ax, "Convergence of the series", f"error of 2xy/(x+y) over the inputs seen{marked}"
        )
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self


def plot_convergence(
    estimator: Any, *, n_terms: int = 8, descriptor: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the error of every series against its number of terms, on the inputs seen.

    Parameters
    ----------
    estimator : estimator with ``input_histogram_``
        Fitted.
    n_terms : int, default=8
        The most terms.
    descriptor : str, optional
        Whose inputs, for an estimator with several descriptors.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        See :class:`ConvergenceDisplay` for what is on them.
    """
    drawn = ConvergenceDisplay.from_estimator(
        estimator, n_terms=n_terms, descriptor=descriptor, ax=ax
    ).ax_
    assert drawn is not None
    return drawn
