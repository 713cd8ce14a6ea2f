"""How many principal components the features really have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from streamchi2.plots import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVELS = (0.5, 0.9, 0.99)


def components_for(level: float, shares: NDArray[np.float64]) -> int | None:
    """Return how many leading components hold a share of the variance; None if all do not.

    >>> components_for(0.9, np.array([0.6, 0.3, 0.05, 0.05]))
    2
    """
    total = np.cumsum(shares)
    number = int(np.searchsorted(total, level * (1 - 1e-12))) + 1  # sums are rounded
    return number if number <= total.size else None


def plot_spectrum(estimator: Any, *, descriptor: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the share of the variance along each principal component, on logarithmic axes.

    Dotted lines tell how many components hold 50, 90 and 99 % of the variance: where ``n_pca`` may
    be set. A straight fall is a power law, which is what kernels of real data show.

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
    matplotlib Axes
        With the spectrum as the first line.
    """
    ratios = canvas.reading(estimator, "explained_variance_ratio_", descriptor)
    shares = np.asarray(ratios, dtype=np.float64)
    ax = canvas.axes_to_draw_on(ax, f"Spectrum: {shares.sum():.1%} in {shares.size} components")
    numbers = np.arange(1, shares.size + 1)
    ax.plot(numbers, np.where(shares > 0, shares, np.nan), color=canvas.BLUE, lw=1.8)
    ax.set(xscale="log", yscale="log", xlabel="principal component", ylabel="share of the variance")
    for level, colour in zip(_LEVELS, (canvas.GREY, canvas.SKY, canvas.GREEN), strict=True):
        number = components_for(level, shares)
        if number is not None:
            ax.axvline(number, color=colour, lw=1.0, ls=":", label=f"{level:.0%} in {number}")
    if ax.get_legend_handles_labels()[1]:
        ax.legend(**canvas.LEGEND)
    return ax
