"""Axes to draw on, and colours that everybody can tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito (2008), "Color universal design".
BLUE = "#0072b2"
SKY = "#56b4e9"
GREEN = "#009e73"
ORANGE = "#e69f00"
VERMILLION = "#d55e00"
PURPLE = "#cc79a7"
GREY = "#8a8a8a"


def axes_to_draw_on(ax: Axes | None) -> Axes:
    """Return the Axes given, or those of a new figure; without matplotlib name the extra."""
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
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def reading(estimator: Any, name: str, *, needed_for: str, descriptor: str | None = None) -> Any:
    """Return a fitted attribute, that of one descriptor where there are several.

    What is missing is named.
    """
    try:
        found = getattr(estimator, name)
    except AttributeError as error:
        raise TypeError(
            f"estimator must have {name} for {needed_for}, got {type(estimator).__name__}: {error}"
        ) from error
    if not isinstance(found, Mapping):
        if descriptor is not None:
            raise ValueError(
                f"descriptor must be None for an estimator without several, got {descriptor!r}"
            )
        return found
    if descriptor not in found:
        raise ValueError(f"descriptor must be one of {list(found)}, got {descriptor!r}")
    return found[descriptor]
