"""Cutting a stream at absolute positions, so that a model cannot depend on its batches.

Floating-point sums depend on where they are cut. Here rows are pending until the next boundary of
the stream has arrived, and only whole blocks are handed on: whichever way the same rows arrive, the
blocks are the same, and so is every bit computed from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.checks import Rows, as_positive_int
from streamchi2.state import Array, Int, Kind, Maybe, Object, Saved, SavedValue, Targets, require
from streamchi2.state import Rows as StoredRows
from streamchi2.statistics.change import Change
from streamchi2.statistics.targets import NumericTargets, with_labels

NAMED_WIDTH = 2**62  # of the matrix in which every possible key of a dict has a column


@dataclass(frozen=True)
class Boundaries:
    """Positions of a stream at which blocks end.

    Blocks end at the given positions, at multiples of the periods, and, from ``growing_from`` on,
    at steps that grow with the stream: the power of two next below an eighth of the position, at
    most ``longest``. All depend on nothing but where the stream is, merged or not.

    Parameters
    ----------
    positions : tuple of int, default=()
        Single positions, in any order; the first block ends at the smallest of them.
    periods : tuple of int, default=(1024,)
        Every multiple of each of these is a boundary too, from the first of the positions on.
    growing_from : int or None, default=None
        Where growing steps begin; None where there are none.
    longest : int, default=1024
        Longest growing step, a power of two.

    Examples
    --------
    >>> boundaries = Boundaries(positions=(64, 256))
    >>> [boundaries.after(position) for position in (0, 63, 64, 300, 1024, 5000)]
    [64, 64, 256, 1024, 2048, 5120]
    >>> growing = Boundaries((1,), growing_from=1)
    >>> [growing.after(position) for position in (0, 1, 31, 32, 100, 1000, 1024, 60000)]
    [1, 2, 32, 36, 104, 1024, 1152, 60416]
    """

    positions: tuple[int, ...] = ()
    periods: tuple[int, ...] = (1024,)
    growing_from: int | None = None
    longest: int = 1024

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
        if self.growing_from is not None:
            start = max(position, self.growing_from - 1)
            step = min(self.longest, 1 << max(0, start.bit_length() - 4))
            coming.append((start // step + 1) * step)
        return min(coming)

    @classmethod
    def growing(cls, longest: int = 1024) -> Self:
        """Return growing steps from the first row on, and nothing else."""
        return cls((1,), (1 << 62,), growing_from=1, longest=longest)


class Row(NamedTuple):
    """One row with named columns: columns in ascending order and their values, zeros included."""

    columns: NDArray[np.int64]
    values: NDArray[np.float64]


def as_matrix(rows: Sequence[Row]) -> sparse.csr_array:
    """Return rows as one sparse matrix of width 2^62, which stores no zeros.

    >>> matrix = as_matrix([Row(np.array([5, 7, 9]), np.array([0.5, 0.0, 0.25]))])
    >>> matrix.shape[1] == 2**62, matrix.indices.tolist()
    (True, [5, 9])
    """
    if not rows:
        return sparse.csr_array((0, NAMED_WIDTH))
    ends = np.cumsum([0] + [row.columns.size for row in rows], dtype=np.int64)
    values = np.concatenate([row.values for row in rows])
    columns = np.concatenate([row.columns for row in rows])
    kept = values != 0.0
    if not kept.all():
        ends = np.concatenate([ends[:1], np.cumsum(kept)])[ends]
        values, columns = values[kept], columns[kept]
    return sparse.csr_array((values, columns, ends), shape=(len(rows), NAMED_WIDTH))


@dataclass(frozen=True, eq=False)
class Block(SavedValue):
    """Consecutive rows of a stream with what belongs to them; ``start`` is absolute.

    ``targets`` and ``weights`` are None where none were given; rows pushed without weights into
    a block that also holds weighted ones weigh one.
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "start": Int(),
        "rows": StoredRows(),
        "targets": Maybe(Targets()),
        "weights": Maybe(Array()),
    }

    start: int
    rows: Rows
    targets: NDArray[Any] | None = None
    weights: NDArray[np.float64] | None = None

    @property
    def stop(self) -> int:
        """Absolute position after the last row."""
        return self.start + int(self.rows.shape[0])

    def part(self, begin: int, end: int) -> Block:
        """Return the rows from one absolute position to another."""
        if (begin, end) == (self.start, self.stop):
            return self  # slicing a sparse matrix copies it
        inside = slice(begin - self.start, end - self.start)
        targets = None if self.targets is None else self.targets[inside]
        weights = None if self.weights is None else self.weights[inside]
        return Block(begin, self.rows[inside], targets, weights)

    def copy(self) -> Block:
        """Return a block with arrays of its own."""
        targets = None if self.targets is None else self.targets.copy()
        weights = None if self.weights is None else self.weights.copy()
        return Block(self.start, self.rows.copy(), targets, weights)

    def validate(self) -> None:
        """Require targets and positive weights for every row."""
        n_rows = self.rows.shape[0]
        require(n_rows > 0, "a block must hold rows")
        for name in ("targets", "weights"):
            belonging = getattr(self, name)
            require(belonging is None or belonging.shape[0] == n_rows, f"{name} must be one a row")
        require(self.weights is None or (self.weights > 0.0).all(), "weights must be positive")


class RowBuffer(Saved):
    """Rows that are pending until the next boundary; the blocks are the same for every cutting.

    Law: pushing the same rows in any batches yields the same blocks, bit for bit.

    Parameters
    ----------
    boundaries : Boundaries
        Where blocks end.
    position : int, default=0
        Absolute position at which this buffer begins.

    Notes
    -----
    A pending row is copied once when it arrives and once when its block is complete, so a stream of
    single rows costs O(1) a row. Rows that need not wait are handed on as views of the caller's
    array. The dtype of a block is the common one of its rows.

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

    STATE: ClassVar[dict[str, Kind]] = {"position": Int(), "pending": Maybe(Object((Block,)))}

    def __init__(self, boundaries: Boundaries, position: int = 0) -> None:
        self.boundaries = boundaries
        self.position = as_positive_int(position, name="position", minimum=0)
        # Blocks, or (row, target, weight) of single rows with named columns, each with the number
        # of rows up to its end: one list, so that a signal finds either all or nothing of a row.
        self._pieces: list[tuple[Block | tuple[Row, Any, float], int]] = []

    @property
    def n_pending(self) -> int:
        """Number of pending rows."""
        return self._pieces[-1][1] if self._pieces else 0

    @property
    def stop(self) -> int:
        """Absolute position after the last row pushed."""
        return self.position + self.n_pending

    def append(self, row: Row, target: Any, weight: float) -> None:
        """Add one row with named columns, which must not complete a block."""
        self._pieces.append(((row, target, weight), self.n_pending + 1))

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
            Rows already validated; n may be 0.
        targets : ndarray, shape (n, ...), optional
            Given with every push or with none.
        weights : ndarray, shape (n,), optional
            None where every row weighs one.
        """
        arrived, complete = Block(self.stop, rows, targets, weights), []
        while (split := self.split(arrived)) is not None:
            block, arrived = split
            complete.append(block)
            self.move_to(block.stop)
        self.hold(arrived)
        return complete

    def split(self, arrived: Block) -> tuple[Block, Block] | None:
        """Return the block that arriving rows complete and what is left of them; nothing changes.

        None where they complete no block.
        """
        if self._pieces and (arrived.targets is None) != (self._first_target() is None):
            raise ValueError("targets must be given with every push or with none, got both")
        boundary = self.boundaries.after(self.position)
        if boundary > arrived.stop:
            return None
        pending, part = self.pending, arrived.part(arrived.start, boundary)
        block = part if pending is None else joined([pending, part])
        return block, arrived.part(boundary, arrived.stop)

    def move_to(self, position: int) -> None:
        """Drop the pending rows, which have been handed on, and go on from a position."""
        self.position, self._pieces = position, []

    def moving(self, position: int, boundaries: Boundaries) -> Change:
        """Return what drops the pending rows, once it is finished, and sets the next boundaries."""
        return Change(self, {"position": position, "_pieces": [], "boundaries": boundaries})

    def hold(self, rest: Block) -> None:
        """Keep rows that complete no block, as a copy: the caller may overwrite its array."""
        if rest.start < rest.stop:
            self._pieces.append((rest.copy(), self.n_pending + rest.stop - rest.start))

    def _first_target(self) -> Any:
        piece, _ = self._pieces[0]
        return piece.targets if isinstance(piece, Block) else piece[1]

    @property
    def pending(self) -> Block | None:
        """Pending rows as one block, or None."""
        if not self._pieces:
            return None
        if len(self._pieces) > 1 or not isinstance(self._pieces[0][0], Block):
            # One assignment of equal content: what is read does not change.
            pieces = [piece for piece, _ in self._pieces]
            self._pieces = [(joined(_as_blocks(pieces, self.position)), self.n_pending)]
        block, _ = self._pieces[0]
        assert isinstance(block, Block)
        return block

    def aligned(self, before: NumericTargets, after: NumericTargets) -> Self:
        """Return an independent buffer with the same rows, whose targets have other columns."""
        twin, pending = self.copy(), self.pending
        if pending is not None:
            assert pending.targets is not None
            block = replace(pending, targets=after.aligned(pending.targets, before))
            twin._pieces = [(block, self.n_pending)]
        return twin

    def copy(self) -> Self:
        """Return an independent buffer with the same rows."""
        twin = type(self)(self.boundaries, self.position)
        # Pieces are never changed in place, so the two may share them.
        twin._pieces = list(self._pieces)
        return twin

    def get_state(self) -> dict[str, Any]:
        """Return position and pending rows; boundaries follow from the parameters."""
        return {"position": self.position, "pending": self.pending}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return a buffer whose boundaries its owner will set."""
        buffer = cls(Boundaries(), state["position"])
        pending = state["pending"]
        if pending is not None:
            buffer._pieces = [(pending, pending.stop - pending.start)]
        return buffer

    def check_boundaries(self) -> None:
        """Require pending rows that begin at the position and end before the next boundary."""
        if (pending := self.pending) is not None:
            require(pending.start == self.position, "pending rows must begin at the position")
            boundary = self.boundaries.after(self.position)
            require(pending.stop < boundary, "pending rows must end before the next boundary")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RowBuffer):
            return NotImplemented
        params = [(side.boundaries, side.position, side.n_pending) for side in (self, other)]
        return params[0] == params[1] and _same_block(self.pending, other.pending)

    __hash__ = None  # type: ignore[assignment]  # it changes with every row

    def __getstate__(self) -> dict[str, Any]:
        pending = self.pending
        return {**self.__dict__, "_pieces": [] if pending is None else [(pending, self.n_pending)]}

    def __repr__(self) -> str:
        return f"RowBuffer(position={self.position}, n_pending={self.n_pending})"


def _as_blocks(pieces: Sequence[Block | tuple[Row, Any, float]], start: int) -> list[Block]:
    """Return pieces as blocks, consecutive single rows as one."""
    blocks: list[Block] = []
    single: list[tuple[Row, Any, float]] = []
    for piece in pieces:
        if not isinstance(piece, Block):
            single.append(piece)
            continue
        if single:
            blocks.append(block_of_rows(start, single))
            start, single = blocks[-1].stop, []
        blocks.append(piece)
        start = piece.stop
    return [*blocks, block_of_rows(start, single)] if single else blocks


def block_of_rows(start: int, pieces: Sequence[tuple[Row, Any, float]]) -> Block:
    """Return single rows as a block; targets are all None, or labels, or arrays of numbers."""
    rows, targets, weights = zip(*pieces, strict=True)
    together: NDArray[Any] | None = None
    if isinstance(targets[0], np.ndarray):
        together = np.stack(targets)
    elif targets[0] is not None:
        together = with_labels(np.array(targets))
    weighted = any(weight != 1.0 for weight in weights)
    return Block(
        start,
        as_matrix(rows),
        together,
        np.array(weights, dtype=np.float64) if weighted else None,
    )


def joined(blocks: Sequence[Block]) -> Block:
    """Return consecutive blocks as one."""
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
