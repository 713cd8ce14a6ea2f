"""The weights of memories along a stream, thinned so that they take the same room for ever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from streamchi2.state import Array, Int, Kind, SavedValue, require

_MOST_ENTRIES = 512


@dataclass(frozen=True, eq=False)
class WeightHistory(SavedValue):
    """Positions and the weights there: every block, then every second, every fourth and so on.

    Where there are 512 entries every second one is dropped and half as many are taken from then
    on, so that a history always has between 256 and 512 evenly spaced ones.

    Examples
    --------
    >>> history = WeightHistory.of_none(1)
    >>> for position in range(32, 32 * 1000, 32):
    ...     history = history.after(position, np.ones(1))
    >>> history.positions.size, history.positions[:3].tolist()
    (500, [32, 96, 160])
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "positions": Array(1, ("<i8",)),
        "weights": Array(2),
        "n_blocks": Int(),
        "every": Int(1),
    }

    positions: NDArray[np.int64]
    weights: NDArray[np.float64]  # (m, K)
    n_blocks: int = 0  # that came
    every: int = 1

    @classmethod
    def of_none(cls, n_weights: int) -> WeightHistory:
        """Return the history of a stream that has not begun."""
        return cls(np.zeros(0, np.int64), np.zeros((0, n_weights)))

    def after(self, position: int, weights: NDArray[np.float64]) -> WeightHistory:
        """Return the history with one more block."""
        n_blocks = self.n_blocks + 1
        if self.n_blocks % self.every:
            return WeightHistory(self.positions, self.weights, n_blocks, self.every)
        positions = np.append(self.positions, position)
        grown = np.vstack([self.weights, weights])
        if positions.size < _MOST_ENTRIES:
            return WeightHistory(positions, grown, n_blocks, self.every)
        return WeightHistory(positions[::2], grown[::2], n_blocks, 2 * self.every)

    def validate(self) -> None:
        """Require a row of weights for each position, and positions that ascend."""
        require(self.weights.shape[0] == self.positions.size, "weights must be one row a position")
        require(self.positions.size < _MOST_ENTRIES, f"there are fewer than {_MOST_ENTRIES}")
        require((np.diff(self.positions) > 0).all(), "positions must ascend")
