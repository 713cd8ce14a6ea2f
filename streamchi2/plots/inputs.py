"""Inputs, the series on them, and the kernel that comes of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks.params import as_positive_int
from streamchi2.plots import canvas
from streamchi2.series import (
    ChebyshevSeries,
    DirectSeries,
    VZSeries,
    greedy_parameters,
    refined_parameters,
    zolotarev_parameters,
)
from streamchi2.series.predicted_error import predicted_error
from streamchi2.series.series import Series, bins_and_shares, harmonic_mean
from streamchi2.statistics.log_histogram import LogHistogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_N_BINS = 60
_N_POINTS = 600

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
    # A little beyond the largest value: a histogram of equal values has some width, too.
    edges = np.geomspace(histogram.low, histogram.high * (1 + 1e-12), _N_BINS + 1)
    counts = np.histogram(histogram.centres, bins=edges, weights=histogram.weights)[0]
    density = counts / counts.sum() / np.diff(np.log(edges))
    ax.stairs(density, edges, fill=True, color=canvas.BLUE, alpha=0.35, lw=0, label="inputs")
    ax.set(xscale="log", xlabel="value of an input", ylabel="density of log x")
    ax.set(xlim=(edges[0], edges[-1]), ylim=(0.0, None))
    ax.tick_params(axis="x", which="minor", labelrotation=45, labelsize="x-small")
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
    centres, shares = bins_and_shares(histogram)
    scale = np.sqrt(shares @ harmonic_mean(centres[:, None], centres) ** 2 @ shares)
    ax = canvas.axes_to_draw_on(ax, "Convergence of the series")
    ax.axvline(in_use, color=canvas.GREY, lw=1.0, ls=":", label="terms in use")
    for name, (make, colour, marker) in SERIES.items():
        terms = range(1, n_terms + 1, 2 if name == "VZ" else 1)
        errors = np.array([predicted_error(histogram, make(histogram, n)).rms for n in terms])
        errors[errors == 0] = np.nan  # of a node on every value: no place on a logarithmic axis
        ax.plot(terms, errors / scale, marker=marker, color=colour, lw=1.5, ms=5, label=name)
    ax.set(yscale="log", xlabel="number of terms", ylabel="relative rms error of 2xy/(x+y)")
    ax.locator_params(axis="x", integer=True)
    ax.legend(**canvas.LEGEND)
    return ax


def plot_kernel(estimator: Any, *, descriptor: str | None = None, ax: Axes | None = None) -> Axes:
    r"""Draw inner products of features against the exact kernel, a point for each pair of rows.

    Points on the diagonal are exact. What is off it is the error of the random features, which
    falls as :math:`1/\sqrt D`, and that of the series. The rows are those of ``kernel_error()``, a
    sample of up to 128 of all rows seen.

    Parameters
    ----------
    estimator : estimator with ``kernel_error``
        Fitted, of either front end. With principal components it is the features before them that
        are drawn.
    descriptor : str, optional
        Whose features, for an estimator with several descriptors.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        With all points as one line, labelled "pairs".
    """
    error = canvas.reading(estimator, "kernel_error", descriptor)
    products, exact = canvas.reading(estimator, "_sampled_kernels", descriptor)
    ax = canvas.axes_to_draw_on(ax, f"Kernel error: rms {error.rms:.2g}\nworst {error.worst:.2g}")
    ax.plot(exact, products, ".", ms=1.5, color=canvas.BLUE, alpha=0.4, label="pairs")
    ax.axline((0, 0), slope=1, color=canvas.GREY, lw=0.8)
    ax.set(xlabel="exact kernel of two rows", ylabel="product of features")
    return ax
