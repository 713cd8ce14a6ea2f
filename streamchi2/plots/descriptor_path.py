"""Which descriptors a group lasso lets in, and at which penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from streamchi2.plots import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_descriptor_path(estimator: Any, *, ax: Axes | None = None) -> Axes:
    """Draw at which penalties of a group lasso each descriptor is in the model, as bars.

    A bar reaches from the left to the largest alpha at which its descriptor still has a weight.
    Descriptors that tell most about the targets come in first, and are on top. With
    ``penalty="group_lasso"`` a dashed line is at the alpha in use.

    Parameters
    ----------
    estimator : estimator with ``descriptor_path_``
        A fitted :class:`~streamchi2.ExpChi2Classifier` or :class:`~streamchi2.ExpChi2Regressor`
        with ``descriptors``, whatever its penalty.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        With a bar for each descriptor that is ever in, from the top.
    """
    entries = canvas.fitted_attribute(estimator, "descriptor_path_")
    ax = canvas.axes_to_draw_on(ax, "Path of the group lasso")
    names = sorted(entries, key=lambda name: -entries[name])
    ends = np.array([entries[name] for name in names])
    # A logarithmic axis has no zero: who is never in has no bar.
    low = 0.3 * ends[ends > 0].min(initial=1.0)
    for row, (name, end) in enumerate(zip(names, ends.tolist(), strict=True)):
        if end > 0:
            ax.barh(row, end - low, 0.6, left=low, color=canvas.BLUE, label=name)
    ax.set(xscale="log", xlabel="penalty alpha", ylim=(len(names) - 0.4, -0.6))
    ax.set_yticks(range(len(names)), labels=names)
    if hasattr(estimator, "descriptor_weights_"):
        ax.axvline(float(estimator.alpha_), color=canvas.VERMILLION, lw=1.2, ls="--")
    return ax
