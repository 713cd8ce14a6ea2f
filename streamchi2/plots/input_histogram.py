"""What came in, where the nodes k of the series are, and how little error they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from streamchi2.plots import canvas
from streamchi2.series import DirectSeries
from streamchi2.statistics.log_histogram import LogHistogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_N_BINS = 60
_N_POINTS = 600


def density_of_logarithms(
    histogram: LogHistogram,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the probability per unit of log x in 60 bins, and the ends of these.

    Examples
    --------
    >>> histogram = LogHistogram().update(np.random.default_rng(0).gamma(0.5, size=1000))
    >>> density, edges = density_of_logarithms(histogram)
    >>> print(f"{density @ np.diff(np.log(edges)):.3f}")
    1.000
    """
    # A little beyond the largest value: a histogram of equal values has some width, too.
    edges = np.geomspace(histogram.low, histogram.high * (1 + 1e-12), _N_BINS + 1)
    counts = np.histogram(histogram.centres, bins=edges, weights=histogram.weights)[0]
    return counts / counts.sum() / np.diff(np.log(edges)), edges


def plot_input_histogram(
    estimator: Any, *, descriptor: str | None = None, ax: Axes | None = None
) -> Axes:
    r"""Draw the density of the non-zero inputs on a logarithmic axis, the nodes k and abs(G).

    The direct series errs by :math:`G(x)\,G(y)\,2xy/(x+y)` with
    :math:`G(x) = \prod_p (x-k_p)/(x+k_p)`, so abs(G) is the envelope of its relative error: it
    touches zero at every node, and is small where the inputs are many.

    Parameters
    ----------
    estimator : estimator with ``input_histogram_``
        Such as a fitted :class:`~streamchi2.ExpChi2Classifier`. Without the direct series there
        are no nodes, and inputs alone are drawn.
    descriptor : str, optional
        Whose inputs, for an estimator with several descriptors.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        Those of the density. Nodes and abs(G) are on Axes of their own, the last of the figure.
    """
    histogram = canvas.reading(estimator, "input_histogram_", descriptor)
    ax = canvas.axes_to_draw_on(ax, "Inputs and nodes k")
    density, edges = density_of_logarithms(histogram)
    ax.stairs(density, edges, fill=True, color=canvas.BLUE, alpha=0.35, lw=0, label="inputs")
    ax.set(xscale="log", xlabel="value of an input", ylabel="density of log x")
    ax.set(xlim=(edges[0], edges[-1]), ylim=(0.0, None))
    if hasattr(estimator, "k_"):
        _plot_nodes(ax, np.sort(canvas.reading(estimator, "k_", descriptor)))
    return ax


def _plot_nodes(ax: Axes, k: NDArray[np.float64]) -> None:
    low, high = ax.get_xlim()
    error_ax = ax.twinx()
    error_ax.spines[["top", "left"]].set_visible(False)
    values = np.unique(np.append(np.geomspace(low, high, _N_POINTS), k))
    envelope = np.abs(DirectSeries(k).residual(values))
    error_ax.plot(values, envelope, color=canvas.VERMILLION, lw=1.4, label="|G|")
    style: dict[str, Any] = {"color": canvas.VERMILLION, "ms": 7, "clip_on": False}
    inside = k[(k >= low) & (k <= high)]
    error_ax.plot(inside, 0.0 * inside, "^", label="nodes k", **style)
    error_ax.set_ylim(bottom=0.0)
    error_ax.set_ylabel("|G(x)|", color=canvas.VERMILLION)
