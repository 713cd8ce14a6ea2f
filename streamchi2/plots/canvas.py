"""What all plots share: Axes, titles, colours, and fitted attributes of an estimator."""

from __future__ import annotations

import textwrap
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

MUTED = 0.75  # opacity of remarks in the usual colour of text, legible on a dark ground too
_INCHES_A_LETTER = 0.055  # of the small font, on average

# Where a small plot leaves a legend no free place, it stays legible on the ground of the axes.
LEGEND: dict[str, Any] = {
    "fontsize": "small",
    "labelspacing": 0.2,
    "facecolor": "inherit",
    "edgecolor": "none",
    "framealpha": 0.8,
}


def axes_to_draw_on(ax: Axes | None) -> Axes:
    """Return the Axes given, or those of a new figure; without matplotlib name the extra.

    A figure without a layout engine gets matplotlib's constrained one, so that titles and labels
    do not run into the plots beside and below.
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
    return ax


def put_title(ax: Axes, title: str, caption: str) -> None:
    """Write a title, and below the plot in small letters what there is to see.

    The caption hangs on the label of the x axis and is as wide as the axes, so that another title
    or label may be set without touching it.
    """
    figure: Any = ax.figure
    width = ax.get_window_extent().width / figure.dpi
    lines = textwrap.wrap(caption, max(24, int(width / _INCHES_A_LETTER)))
    ends = ("axes fraction", ax.xaxis.label)
    small = {"va": "top", "fontsize": 7.5, "linespacing": 1.1}
    remark(ax, "\n".join(lines), (0.0, 0.0), (0, -3), xycoords=ends, **small)
    ax.set_title(title, loc="left", fontsize=10, fontweight="bold")


def remark(
    ax: Axes, text: str, point: tuple[float, float], offset: tuple[float, float], **style: Any
) -> None:
    """Write a muted remark, ``offset`` in points from a point of the plot."""
    style = {"va": "center", "fontsize": "small", "alpha": MUTED, **style}
    ax.annotate(text, point, xytext=offset, textcoords="offset points", **style)


def fitted_attribute(estimator: Any, name: str) -> Any:
    """Return an attribute of a fitted estimator, and name it where it is missing."""
    try:
        return getattr(estimator, name)
    except AttributeError as error:
        raise TypeError(
            f"estimator must have {name} for this plot, got {type(estimator).__name__}: {error}"
        ) from error


def of_descriptor(value: Any, descriptor: str | None) -> Any:
    """Return the value of one descriptor, or the only value where there are none."""
    if not isinstance(value, Mapping):
        if descriptor is not None:
            raise ValueError(
                f"descriptor must be None for an estimator without several, got {descriptor!r}"
            )
        return value
    if descriptor not in value:
        raise ValueError(f"descriptor must be one of {list(value)}, got {descriptor!r}")
    return value[descriptor]
