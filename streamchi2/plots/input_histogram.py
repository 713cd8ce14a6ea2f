"""What came in, where the nodes k of the series are, and how little error they leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamchi2.plots.canvas import BLUE, VERMILLION, axes_to_draw_on, put_title, reading
from streamchi2.series import DirectSeries
from streamchi2.statistics.log_histogram import LogHistogram

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import StepPatch

_N_BINS = 60
_N_POINTS = 600


@dataclass
class InputHistogramDisplay:
    r"""Density of the non-zero inputs on a logarithmic axis, with the nodes k and abs(G).

    The direct series errs by :math:`G(x)\,G(y)\,2xy/(x+y)` with
    :math:`G(x) = \prod_p (x-k_p)/(x+k_p)`, so abs(G) is the envelope of its relative error: it
    touches zero at every node, and is small where the inputs are many.

    Parameters
    ----------
    edges : ndarray, shape (m + 1,)
        Ends of the bins.
    density : ndarray, shape (m,)
        Probability per unit of log x.
    k : ndarray or None
        Nodes of the direct series; None leaves them and abs(G) out.

    Attributes
    ----------
    ax_, error_ax_ : matplotlib Axes
        For the density, and for abs(G) on the right (None without nodes).
    figure_ : matplotlib Figure
        The figure that holds them.
    density_ : matplotlib StepPatch
        The density.
    line_ : matplotlib Line2D or None
        The envelope abs(G).

    Examples
    --------
    >>> from streamchi2 import LogHistogram, refined_parameters
    >>> histogram = LogHistogram().update(np.random.default_rng(0).gamma(0.5, size=1000))
    >>> display = InputHistogramDisplay.from_histogram(histogram, refined_parameters(histogram, 3))
    >>> mass = display.density @ np.diff(np.log(display.edges))
    >>> print(f"{mass:.3f}")
    1.000
    """

    edges: NDArray[np.float64]
    density: NDArray[np.float64]
    k: NDArray[np.float64] | None = None

    ax_: Axes | None = None
    error_ax_: Axes | None = None
    figure_: Figure | None = None
    density_: StepPatch | None = None
    line_: Line2D | None = None

    @classmethod
    def from_histogram(cls, histogram: LogHistogram, k: ArrayLike | None = None) -> Self:
        """Return the display of a histogram and, if given, of nodes; draws nothing yet."""
        # One more bit than the range: a histogram of equal values has some width, too.
        edges = np.geomspace(histogram.low, histogram.high * (1 + 1e-12), _N_BINS + 1)
        counts = np.histogram(histogram.centres, bins=edges, weights=histogram.weights)[0]
        density = counts / counts.sum() / np.diff(np.log(edges))
        return cls(edges, density, None if k is None else np.sort(np.asarray(k, dtype=np.float64)))

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, descriptor: str | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw the inputs that a fitted estimator has seen.

        Parameters
        ----------
        estimator : estimator with ``input_histogram_``
            Such as a fitted :class:`~streamchi2.ExpChi2Classifier`.
        descriptor : str, optional
            Whose inputs, for an estimator with several descriptors.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        InputHistogramDisplay
        """
        asked: dict[str, Any] = {"needed_for": "its inputs", "descriptor": descriptor}
        histogram = reading(estimator, "input_histogram_", **asked)
        k = reading(estimator, "k_", **asked) if hasattr(estimator, "k_") else None
        return cls.from_histogram(histogram, k).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on Axes, or on those of a new figure, and return this display."""
        ax = axes_to_draw_on(ax)
        from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

        self.density_ = ax.stairs(
            self.density, self.edges, fill=True, color=BLUE, alpha=0.35, lw=0, label="inputs"
        )
        ax.set(xscale="log", xlabel="value of an input", ylabel="density of log x")
        ax.yaxis.label.set_color(BLUE)
        ax.set_xlim(self.edges[0], self.edges[-1])
        ax.set_ylim(bottom=0.0)
        if self.edges[-1] < 300 * self.edges[0]:  # plain numbers for the few decades of a row
            ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            ax.xaxis.set_minor_formatter(NullFormatter())
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        if self.k is None:
            put_title(ax, "Inputs of the kernel", "non-zero values of all rows seen")
        else:
            self._plot_nodes(ax, self.k)
        return self

    def _plot_nodes(self, ax: Axes, k: NDArray[np.float64]) -> None:
        values = np.unique(np.append(np.geomspace(self.edges[0], self.edges[-1], _N_POINTS), k))
        error_ax = ax.twinx()
        error_ax.spines[["top", "left"]].set_visible(False)
        envelope = np.abs(DirectSeries(k).residual(values))
        (self.line_,) = error_ax.plot(values, envelope, color=VERMILLION, lw=1.4, label="|G|")
        shown = k[(k >= self.edges[0]) & (k <= self.edges[-1])]
        error_ax.plot(
            shown, np.zeros(shown.size), "^", color=VERMILLION, ms=7, clip_on=False, label="nodes k"
        )
        error_ax.set_ylim(bottom=0.0)
        error_ax.set_ylabel("|G(x)|", color=VERMILLION)
        error_ax.tick_params(axis="y", colors=VERMILLION)
        put_title(
            ax,
            "Inputs and nodes k",
            "G(x) G(y) is the relative error of the series for inputs x and y: |G| is zero at the "
            "nodes k (triangles), and small where inputs are many",
        )
        self.error_ax_ = error_ax


def plot_input_histogram(
    estimator: Any, *, descriptor: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw what a fitted estimator has seen, its nodes k and the envelope of their error.

    Parameters
    ----------
    estimator : estimator with ``input_histogram_``
        Fitted.
    descriptor : str, optional
        Whose inputs, for an estimator with several descriptors.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        See :class:`InputHistogramDisplay` for what is on them.
    """
    drawn = InputHistogramDisplay.from_estimator(estimator, descriptor=descriptor, ax=ax).ax_
    assert drawn is not None
    return drawn
