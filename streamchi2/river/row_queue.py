"""Single rows that wait for the next position of their stream, at the cost of a list append."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Self

import numpy as np
from scipy import sparse

from streamchi2.river.dict_rows import Row, as_matrix
from streamchi2.statistics.row_buffer import Block, Boundaries


class RowQueue:
    """Rows, targets and weights in order of arrival, handed on as blocks between fixed positions.

    Law: the same rows give the same blocks, bit for bit, one by one or in any portions.

    Parameters
    ----------
    boundaries : Boundaries
        Where blocks end.
    start : int, default=0
        Absolute position of the first row to come.

    Examples
    --------
    >>> queue = RowQueue(Boundaries(periods=(2,)))
    >>> row = Row(np.array([3]), np.array([0.5]))
    >>> queue.push(row, "ham", 1.0), queue.push(row, "spam", 2.0).weights
    (None, array([1., 2.]))
    """

    def __init__(self, boundaries: Boundaries, start: int = 0) -> None:
        self.boundaries = boundaries
        self.start = start
        self._stop = boundaries.after(start)
        self._rows: list[Row] = []
        self._targets: list[Any] = []
        self._weights: list[float] = []

    @property
    def n_rows(self) -> int:
        """Absolute position after the last row."""
        return self.start + len(self._rows)

    def push(self, row: Row, target: Any, weight: float) -> Block | None:
        """Take a checked row without zeros, and return the block that it completes, or None."""
        self._rows.append(row)
        self._targets.append(target)
        self._weights.append(weight)
        if self.n_rows < self._stop:
            return None
        block = self.waiting()
        self.__init__(self.boundaries, self._stop)  # type: ignore[misc]
        return block

    def waiting(self) -> Block | None:
        """Return the rows that wait as a block, or None; targets are None or one per row."""
        if not self._rows:
            return None
        return block_of(self.start, self._rows, self._targets, self._weights)

    def copy(self) -> Self:
        """Return an independent queue with the same rows."""
        twin = type(self)(self.boundaries, self.start)
        # Rows are never changed, so the two may share them.
        twin._rows, twin._targets = list(self._rows), list(self._targets)
        twin._weights = list(self._weights)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {
            **self.__dict__,
            # Arrays of columns are shared between rows; a pickle should not depend on that.
            "_rows": [Row(row.columns.copy(), row.values.copy()) for row in self._rows],
        }


def block_of(start: int, rows: list[Row], targets: list[Any], weights: list[float]) -> Block:
    """Return rows with what belongs to them as a block; targets are all None, or none is."""
    weighted = any(weight != 1.0 for weight in weights)
    return Block(
        start,
        as_matrix(rows),
        None if targets[0] is None else np.array(targets),
        np.array(weights, dtype=np.float64) if weighted else None,
    )


def rows_of(block: Block) -> list[tuple[Row, Any, float]]:
    """Return the rows of a block one by one, with target and weight, as they were pushed."""
    matrix = sparse.csr_array(block.rows)
    targets = [None] * matrix.shape[0] if block.targets is None else block.targets.tolist()
    weights = [1.0] * matrix.shape[0] if block.weights is None else block.weights.tolist()
    rows = [
        Row(matrix.indices[start:stop], matrix.data[start:stop])
        for start, stop in pairwise(matrix.indptr)
    ]
    return list(zip(rows, targets, weights, strict=True))
