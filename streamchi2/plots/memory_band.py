"""A band below a curve that shows which memory was trusted when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from streamchi2.plots.canvas import GREEN, GREY, ORANGE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHARE = 0.18  # of the axes
_COLOURS = (VERMILLION, ORANGE, GREEN)


@dataclass(frozen=True, eq=False)
class MemoryWeights:
    """Weights of memories along a stream, as ``half_life="auto"`` has learnt them."""

    half_lives: tuple[float | None, ...]  # None never forgets
    positions: NDArray[np.int64]  # (m,)
    weights: NDArray[np.float64]  # (m, K)

    @classmethod
    def of(cls, estimator: Any) -> MemoryWeights | None:
        """Return those of an estimator; None where it has one memory or has judged nothing yet."""
        try:
            half_lives = tuple(estimator.memory_weights_)
            positions, weights = estimator.memory_history_
        except AttributeError:
            return None
        return cls(half_lives, positions, weights) if positions.size else None

    def names(self) -> list[str]:
        """Return what the memories are called in a legend.

        >>> MemoryWeights((64.0, None), np.array([32]), np.array([[0.4, 0.6]])).names()
        ['half-life 64', 'never forgets']
        """
        return ["never forgets" if one is None else f"half-life {one:g}" for one in self.half_lives]

    def draw(self, ax: Axes) -> list[Any]:
        """Make room below the curves of an Axes, draw the weights there, and return the areas.

        At every position the heights of the areas are the weights, the shortest memory lowest.
        """
        ticks, (low, high) = ax.get_yticks(), ax.get_ylim()
        bottom = low - _SHARE / (1.0 - _SHARE) * (high - low)
        edges = np.cumsum(np.column_stack([np.zeros(self.positions.size), self.weights]), axis=1)
        heights = bottom + 0.9 * (low - bottom) * edges
        colours = [*(_COLOURS * len(self.half_lives))[: len(self.half_lives) - 1], GREY]
        areas = [
            ax.fill_between(
                self.positions, heights[:, place], heights[:, place + 1], step="pre",
                color=colour, alpha=0.8, lw=0.0, label=name,
            )
            for place, (name, colour) in enumerate(zip(self.names(), colours, strict=True))
        ]  # fmt: skip
        ax.set_ylim(bottom, high)
        ax.set_yticks([tick for tick in ticks if low <= tick <= high])
        return areas
