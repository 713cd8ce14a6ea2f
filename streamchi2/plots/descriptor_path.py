"""Which descriptors a group lasso lets in, and at which penalty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from streamchi2.plots.canvas import BLUE, MUTED, VERMILLION, axes_to_draw_on, put_title, reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

# Entries below this share of the largest are reported as zero by the estimators.
_SMALLEST_SHARE = 1e-5


@dataclass
class DescriptorPathDisplay:
    """Penalties of a group lasso at which each descriptor is in the model, as bars.

    A bar reaches from the left to the largest alpha at which its descriptor still has a weight.
    Descriptors that tell most about the targets come in first, and are on top.

    Parameters
    ----------
    entries : dict of str -> float
        Largest alpha at which each descriptor is in; zero for one that never is.
    alpha : float or None
        The penalty in use, marked by a vertical line.
    weights : dict of str -> float or None
        Weight of each kernel in the model in use, written beside its bar.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure that holds them.
    bars_ : dict of str -> matplotlib Rectangle
        A bar for each descriptor that is ever in.

    Examples
    --------
    >>> DescriptorPathDisplay({"noise": 0.0, "colour": 0.2, "edges": 0.4}).in_order()
    ['edges', 'colour', 'noise']
    """

    entries: Mapping[str, float]
    alpha: float | None = None
    weights: Mapping[str, float] | None = None

    ax_: Axes | None = None
    figure_: Figure | None = None
    bars_: dict[str, Rectangle] = field(default_factory=dict)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the path of a fitted estimator with several descriptors.

        Parameters
        ----------
        estimator : estimator with ``descriptor_path_``
            A fitted :class:`~streamchi2.ExpChi2Classifier` or
            :class:`~streamchi2.ExpChi2Regressor` with ``descriptors``, whatever its penalty. With
            ``penalty="group_lasso"`` the penalty in use and the weights are shown, too.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        DescriptorPathDisplay
        """
        entries = reading(estimator, "descriptor_path_", needed_for="a path", whole=True)
        weights = getattr(estimator, "descriptor_weights_", None)
        alpha = None if weights is None else float(estimator.alpha_)
        return cls(entries, alpha, weights).plot(ax)

    def in_order(self) -> list[str]:
        """Return the descriptors in the order in which they come in."""
        return sorted(self.entries, key=lambda name: -self.entries[name])

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on Axes, or on those of a new figure, and return this display."""
        ax = axes_to_draw_on(ax)
        names = self.in_order()
        marks = [alpha for alpha in (*self.entries.values(), self.alpha or 0.0) if alpha > 0]
        largest = max(marks, default=1.0)
        low = max(0.3 * min(marks, default=1.0), 0.1 * _SMALLEST_SHARE * largest)
        # Room to the right of the bars for what is written there.
        ax.set(xscale="log", xlim=(low, largest * (largest / low) ** 0.7))
        for place, name in enumerate(names):
            entry = max(self.entries[name], low)
            if self.entries[name] > 0:
                (self.bars_[name],) = ax.barh(place, entry - low, 0.6, left=low, color=BLUE)
            ax.annotate(
                self._remark(name), (entry, place), xytext=(5, 0), textcoords="offset points",
                va="center", fontsize="small", alpha=MUTED, zorder=3,
                bbox={"facecolor": ax.get_facecolor(), "edgecolor": "none", "pad": 0.5},
            )  # fmt: skip
        ax.set_yticks(range(len(names)), labels=names)
        ax.set_ylim(len(names) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("penalty alpha")
        seen = "bars: penalties at which a descriptor is in the model"
        if self.alpha is not None:
            ax.axvline(self.alpha, color=VERMILLION, lw=1.2, ls="--")
            seen += f"; dashed: alpha = {self.alpha:.3g} in use, with the weights of its kernels"
        put_title(ax, "Path of the group lasso", seen)
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self

    def _remark(self, name: str) -> str:
        entry = self.entries[name]
        text = f"to {entry:.2g}" if entry > 0 else "never in"
        if self.weights is not None:
            weight = self.weights[name]
            text += f", weight {weight:.2g}" if weight > 0 else ", left out"
        return text


def plot_descriptor_path(estimator: Any, *, ax: Axes | None = None) -> Axes:
    """Draw at which penalties of a group lasso each descriptor is in the model.

    Parameters
    ----------
    estimator : estimator with ``descriptor_path_``
        Fitted, with ``descriptors``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        See :class:`DescriptorPathDisplay` for what is on them.
    """
    drawn = DescriptorPathDisplay.from_estimator(estimator, ax=ax).ax_
    assert drawn is not None
    return drawn
