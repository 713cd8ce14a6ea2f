"""Cutting a stream at absolute positions, so that a model cannot depend on its batches.

Floating-point sums depend on where they are cut. Here rows wait until the next boundary of the
stream has arrived, and only whole blocks are handed on: whichever way the same rows arrive, the
blocks are the same, and so is every bit computed from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.validation import Rows, as_positive_int


@dataclass(frozen=True)
class Boundaries:
    """Positions of a stream at which blocks end: some given ones, and multiples of periods.

    Parameters
    ----------
    positions : tuple of int, default=()
        Single positions, in any order.
    periods : tuple of int, default=(1024,)
        Every multiple of each of these is a boundary too, from the first of the positions on.

    Examples
    --------
    >>> boundaries = Boundaries(positions=(64, 256))
    >>> [boundaries.after(position) for position in (0, 63, 64, 300, 1024, 5000)]
    [64, 64, 256, 1024, 2048, 5120]
    """

    positions: tuple[int, ...] = ()
    periods: tuple[int, ...] = (1024,)

    def __post_init__(self) -> None:
        if not self.periods:
            raise ValueError("periods must hold at least one period, got ()")
        for value in (*self.positions, *self.periods):
            as_positive_int(value, name="positions and periods")

    def after(self, position: int) -> int:
        """Return the first boundary beyond ``position``."""
        position = max(position, min(self.positions, default=1) - 1)
        coming = [boundary for boundary in self.positions if boundary > position]
        coming += [(position // period + 1) * period for period in self.periods]
        return min(coming)


@dataclass(frozen=True)
class Block:
    """Consecutive rows of a stream with what belongs to them; ``start`` is absolute.

    ``targets`` and ``weights`` are None where none were given; rows pushed without weights into
    a block that also holds weighted ones weigh one.
    """

    start: int
    rows: Rows
    targets: NDArray[Any] | None = None
    weights: NDArray[np.float64] | None = None

    @property
    def stop(self) -> int:
        """Absolute position after the last row."""
        return self.start + int(self.rows.shape[0])


class RowBuffer:
    """Rows that wait for the next boundary; the blocks are the same for every cutting.

    Law: pushing the same rows in any batches yields the same blocks, bit for bit.

    Parameters
    ----------
    boundaries : Boundaries
        Where blocks end.
    position : int, default=0
        Absolute position at which this buffer begins.

    Notes
    -----
    A row that has to wait is copied once when it arrives and once when its block is complete, so
    a stream of single rows costs O(1) a row. Rows that need not wait are handed on as views of the
    caller's array. The dtype of a block is the common one of its rows.

    Examples
    --------
    >>> buffer = RowBuffer(Boundaries(periods=(4,)))
    >>> buffer.push(np.ones((3, 2)))
    []
    >>> [(block.start, block.stop) for block in buffer.push(np.ones((7, 2)))]
    [(0, 4), (4, 8)]
    >>> buffer
    RowBuffer(position=8, n_pending=2)
    """

    def __init__(self, boundaries: Boundaries, position: int = 0) -> None:
        self.boundaries = boundaries
        self.position = as_positive_int(position, name="position", minimum=0)
        self.n_pending = 0
        self._waiting: list[Block] = []

    @property
    def stop(self) -> int:
        """Absolute position after the last row pushed."""
        return self.position + self.n_pending

    def push(
        self,
        rows: Rows,
        targets: NDArray[Any] | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> list[Block]:
        """Take rows in and return the blocks that are complete now, in order.

        Parameters
        ----------
        rows : ndarray or csr_array, shape (n, d)
            Rows already checked; n may be 0.
        targets : ndarray, shape (n, ...), optional
            Given with every push or with none.
        weights : ndarray, shape (n,), optional
            None where every row weighs one.
        """
        complete, rest = self.cut(rows, targets, weights)
        # The caller may overwrite a view of its own array before the block is complete.
        left_over = [_copied(rest)] if rest.start < rest.stop else []
        if complete:
            self._waiting = left_over
        else:
            self._waiting.extend(left_over)
        self.position = complete[-1].stop if complete else self.position
        self.n_pending = rest.stop - self.position
        return complete

    def cut(
        self,
        rows: Rows,
        targets: NDArray[Any] | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> tuple[list[Block], Block]:
        """Return the blocks that these rows would complete, and what would wait; nothing changes.

        For those who must take in one block after the other, and may be interrupted between two.
        """
        arrived = Block(self.stop, rows, targets, weights)
        if self._waiting and (targets is None) != (self._waiting[0].targets is None):
            raise ValueError("targets must be given with every push or with none, got both")
        position, waiting, complete = self.position, self._waiting, []
        while (boundary := self.boundaries.after(position)) <= arrived.stop:
            complete.append(_joined([*waiting, _part(arrived, boundary)]))
            arrived = _part(arrived, arrived.stop, begin=boundary)
            position, waiting = boundary, []
        return complete, arrived

    def pending(self) -> Block | None:
        """Return the rows that wait, as one block, or None; nothing changes."""
        return _joined(self._waiting) if self._waiting else None

    def copy(self) -> Self:
        """Return an independent buffer with the same rows."""
        twin = type(self)(self.boundaries, self.position)
        # Blocks are never changed in place, so the two may share them.
        twin._waiting, twin.n_pending = list(self._waiting), self.n_pending
        return twin

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RowBuffer):
            return NotImplemented
        settings = [(side.boundaries, side.position, side.n_pending) for side in (self, other)]
        return settings[0] == settings[1] and _same_block(self.pending(), other.pending())

    __hash__ = None  # type: ignore[assignment]  # it changes with every row

    def __getstate__(self) -> dict[str, Any]:
        block = self.pending()
        return {**self.__dict__, "_waiting": [] if block is None else [block]}

    def __repr__(self) -> str:
        return f"RowBuffer(position={self.position}, n_pending={self.n_pending})"


def _part(block: Block, end: int, *, begin: int | None = None) -> Block:
    begin = block.start if begin is None else begin
    if (begin, end) == (block.start, block.stop):
        return block  # slicing a sparse matrix copies it
    inside = slice(begin - block.start, end - block.start)
    targets = None if block.targets is None else block.targets[inside]
    weights = None if block.weights is None else block.weights[inside]
    return Block(begin, block.rows[inside], targets, weights)


def _copied(block: Block) -> Block:
    targets = None if block.targets is None else block.targets.copy()
    weights = None if block.weights is None else block.weights.copy()
    return Block(block.start, block.rows.copy(), targets, weights)


def _joined(blocks: Sequence[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    rows = _stacked([block.rows for block in blocks])
    targets = None
    if blocks[0].targets is not None:
        targets = np.concatenate([block.targets for block in blocks])
    weights = None
    if any(block.weights is not None for block in blocks):
        weights = np.concatenate(
            [
                np.ones(block.stop - block.start) if block.weights is None else block.weights
                for block in blocks
            ]
        )
    return Block(blocks[0].start, rows, targets, weights)


def _stacked(pieces: list[Rows]) -> Rows:
    if any(sparse.issparse(piece) for piece in pieces):
        return sparse.csr_array(sparse.vstack([sparse.csr_array(p) for p in pieces], format="csr"))
    return np.concatenate(pieces)


def _same_block(left: Block | None, right: Block | None) -> bool:
    if left is None or right is None:
        return left is right
    return all(
        _same_piece(getattr(left, name), getattr(right, name))
        for name in ("rows", "targets", "weights")
    )


def _same_piece(left: Rows | NDArray[Any] | None, right: Rows | NDArray[Any] | None) -> bool:
    if left is None or right is None:
        return left is right
    if sparse.issparse(left) and sparse.issparse(right):
        return all(
            np.array_equal(getattr(left, name), getattr(right, name))
            for name in ("indptr", "indices", "data")
        )
    if sparse.issparse(left) or sparse.issparse(right):
        return False
    return left.dtype == right.dtype and np.array_equal(left, right)
