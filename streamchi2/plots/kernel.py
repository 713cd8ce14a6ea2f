"""Products of features against the exact kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamchi2.plots import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
