"""How many principal components the features really have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.plots.canvas import BLUE, GREY, MUTED, axes_to_draw_on, put_title, reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_SHARES = (0.5, 0.9, 0.99)


@dataclass
class SpectrumDisplay:
    """Share of the variance along each principal component, on logarithmic axes.

    Dotted lines tell how many components hold 50, 90 and 99 % of the variance: where ``n_pca`` may
    be set. A straight fall is a power law, which is what kernels of real data show.

    Parameters
    ----------
    variance_shares : ndarray, shape (n_pca,)
        Leading components first.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure that holds them.
    line_ : matplotlib Line2D
        The spectrum.

    Examples
    --------
    >>> display = SpectrumDisplay(np.array([0.6, 0.3, 0.05, 0.05]))
    >>> display.enough_for(0.9)
    2
    """

    variance_shares: NDArray[np.float64]

    ax_: Axes | None = None
    figure_: Figure | None = None
    line_: Line2D | None = None

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, descriptor: str | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw the spectrum of a fitted estimator.

        Parameters
        ----------
        estimator : estimator with ``explained_variance_ratio_``
            :class:`~streamchi2.ExpChi2PCA`, :class:`~streamchi2.StreamingPCA`, a classifier or
            regressor with ``n_pca``, or scikit-learn's ``PCA``; fitted.
        descriptor : str, optional
            Whose components, for an estimator with several descriptors.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        SpectrumDisplay
        """
        shares = reading(
            estimator, "explained_variance_ratio_", needed_for="a spectrum", descriptor=descriptor
        )
        return cls(np.asarray(shares, dtype=np.float64)).plot(ax)

    def enough_for(self, share: float) -> int | None:
        """Return how many components hold a share of the variance; None if all do not."""
        held = np.cumsum(self.variance_shares)
        number = int(np.searchsorted(held, share * (1 - 1e-12))) + 1
        return number if number <= held.size else None

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on Axes, or on those of a new figure, and return this display."""
        ax = axes_to_draw_on(ax)
        numbers = np.arange(1, self.variance_shares.size + 1)
        seen = np.where(self.variance_shares > 0, self.variance_shares, np.nan)
        (self.line_,) = ax.plot(numbers, seen, color=BLUE, lw=1.8)
        ax.set(xscale="log", yscale="log", xlabel="principal component")
        ax.set_ylabel("share of the variance")
        for level, share in enumerate(_SHARES):
            if (number := self.enough_for(share)) is not None:
                ax.axvline(number, color=GREY, lw=1.0, ls=":")
                # A line lower each, so that neighbours do not overlap; the curve is lower still.
                late = number > numbers[-1] ** 0.75
                ax.annotate(
                    f"{share:.0%} in {number}", (number, 1.0), xycoords=("data", "axes fraction"),
                    xytext=(-3 if late else 3, -2 - 11 * level), textcoords="offset points",
                    ha="right" if late else "left", va="top", fontsize="small", alpha=MUTED,
                )  # fmt: skip
        held = f"all {numbers.size} components drawn hold {self.variance_shares.sum():.1%} of it"
        put_title(ax, "Spectrum of the features", f"variance along each component; {held}")
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self


def plot_spectrum(estimator: Any, *, descriptor: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the share of the variance along each principal component of a fitted estimator.

    Parameters
    ----------
    estimator : estimator with ``explained_variance_ratio_``
        Fitted.
    descriptor : str, optional
        Whose components, for an estimator with several descriptors.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        See :class:`SpectrumDisplay` for what is on them.
    """
    drawn = SpectrumDisplay.from_estimator(estimator, descriptor=descriptor, ax=ax).ax_
    assert drawn is not None
    return drawn
