"""What all plots share: Axes, colours, and what they read of an estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito (2008), "Color universal design": colours that everybody can tell apart.
BLUE = "#0072b2"
SKY = "#56b4e9"
GREEN = "#009e73"
ORANGE = "#e69f00"
VERMILLION = "#d55e00"
PURPLE = "#cc79a7"
GREY = "#8a8a8a"

# Where a small plot leaves a legend no free place, it stays legible on the ground of the axes.
LEGEND: dict[str, Any] = {"fontsize": "small", "facecolor": "inherit", "edgecolor": "none"}


def axes_to_draw_on(ax: Axes | None, title: str) -> Axes:
    """Return the Axes given, or those of a new figure, under a title.

    A figure without a layout engine gets matplotlib's constrained one, so that titles and labels
    do not run into the plots beside and below. Without matplotlib the error names the extra.
    """
    try:
        import matplotlib.pyplot as plt
        from matplotlib.axes import Axes
    except ImportError as error:
        raise ImportError(
            'streamchi2.plots needs matplotlib: pip install "streamchi2[plot]"'
        ) from error
    if ax is None:
        ax = plt.subplots(figsize=(6.0, 3.6), layout="constrained")[1]
    if not isinstance(ax, Axes):
        raise TypeError(f"ax must be matplotlib Axes or None, got {ax!r}")
    figure = ax.get_figure(root=True)
    if figure is not None and figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(title, loc="left", fontsize=9, fontweight="bold")
    return ax


def fitted_attribute(estimator: Any, name: str) -> Any:
    """Return an attribute of a fitted estimator, or what a method says; name what is missing."""
    try:
        value = getattr(estimator, name)
    except AttributeError as error:
        raise TypeError(
            f"estimator must have {name} for this plot, got {type(estimator).__name__}: {error}"
        ) from error
    return value() if callable(value) else value


def reading(estimator: Any, name: str, descriptor: str | None) -> Any:
    """Return what an estimator says of one descriptor, or of all rows where there are none."""
    value = fitted_attribute(estimator, name)
    if not isinstance(value, Mapping):
        if descriptor is not None:
            raise ValueError(
                f"descriptor must be None for an estimator without several, got {descriptor!r}"
            )
        return value
    if descriptor not in value:
        raise ValueError(f"descriptor must be one of {list(value)}, got {descriptor!r}")
    return value[descriptor]
