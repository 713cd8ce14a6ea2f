"""Which descriptors a group lasso lets in, and at which penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamchi2.plots import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Entries below this share of the largest are reported as zero by the estimators.
_SMALLEST_SHARE = 1e-5


def plot_descriptor_path(estimator: Any, *, ax: Axes | None = None) -> Axes:
    """Draw at which penalties of a group lasso each descriptor is in the model, as bars.

    A bar reaches from the left to the largest alpha at which its descriptor still has a weight.
    Descriptors that tell most about the targets come in first, and are on top.

    Parameters
    ----------
    estimator : estimator with ``descriptor_path_``
        A fitted :class:`~streamchi2.ExpChi2Classifier` or :class:`~streamchi2.ExpChi2Regressor`
        with ``descriptors``, whatever its penalty. With ``penalty="group_lasso"`` the penalty in
        use and the weights are shown, too.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        With a bar for each descriptor that is ever in, from the top.
    """
    entries = canvas.fitted_attribute(estimator, "descriptor_path_")
    weights = getattr(estimator, "descriptor_weights_", None)
    alpha = None if weights is None else float(estimator.alpha_)
    ax = canvas.axes_to_draw_on(ax)
    marks = [mark for mark in (*entries.values(), alpha or 0.0) if mark > 0]
    largest = max(marks, default=1.0)
    low = max(0.3 * min(marks, default=1.0), 0.1 * _SMALLEST_SHARE * largest)
    # Room to the right of the bars for what is written there.
    ax.set(xscale="log", xlim=(low, largest * (largest / low) ** 0.7))
    names = sorted(entries, key=lambda name: -entries[name])
    ground = {"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.5}
    for row, name in enumerate(names):
        end = max(entries[name], low)
        if entries[name] > 0:
            ax.barh(row, end - low, 0.6, left=low, color=canvas.BLUE, label=name)
        text = _remark(entries[name], None if weights is None else weights[name])
        canvas.remark(ax, text, (end, row), (5, 0), zorder=3, bbox=ground)
    ax.set_yticks(range(len(names)), labels=names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("penalty alpha")
    caption = "bars: penalties at which a descriptor is in the model"
    if alpha is not None:
        ax.axvline(alpha, color=canvas.VERMILLION, lw=1.2, ls="--")
        caption += f"; dashed: alpha = {alpha:.3g} in use, with the weights of its kernels"
    canvas.put_title(ax, "Path of the group lasso", caption)
    return ax


def _remark(entry: float, weight: float | None) -> str:
    text = f"to {entry:.2g}" if entry > 0 else "never in"
    if weight is None:
        return text
    return text + (f", weight {weight:.2g}" if weight > 0 else ", left out")
