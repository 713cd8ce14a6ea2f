"""A tracker behind a row buffer: what an estimator holds, cut-free and safe between threads."""

from __future__ import annotations

import threading
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from streamchi2.provenance import Provenance
from streamchi2.runtime.interrupts import checkpoint, deferred_interrupts
from streamchi2.statistics.row_buffer import Block, Boundaries, RowBuffer
from streamchi2.validation import Floats

BLOCK_BOUNDARIES = Boundaries(periods=(1024,))


class Tracker(Protocol):
    """What can be buffered: update with or without targets, merge and copy."""

    @property
    def update(self) -> Any:
        """Absorb rows, with targets where the tracker has them."""

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has seen."""

    def copy(self) -> Self:
        """Return an independent tracker in the same state."""


AnyTracker = TypeVar("AnyTracker", bound=Tracker)


class BufferedTracker(Generic[AnyTracker]):
    """A tracker fed in blocks that end at fixed positions of the stream.

    Law: any cutting of the same rows into updates gives the same state, bit for bit, and reading
    includes the rows that wait without changing anything.

    Parameters
    ----------
    tracker : Tracker
        An empty tracker, which from now on belongs to this object.
    boundaries : Boundaries, default=multiples of 1024
        Where blocks end.

    Notes
    -----
    One lock covers updates, merges and snapshots: a thread that reads sees the state between two
    calls, never inside one, and what it has read is its own copy. Ctrl-C waits for the end of a
    block.

    Examples
    --------
    >>> from streamchi2.statistics.moments import Moments
    >>> stream = BufferedTracker(Moments(1))
    >>> stream.update(np.array([[1.0], [3.0]]))
    BufferedTracker(n_rows=2, n_pending=2)
    >>> stream.snapshot().mean
    array([2.])
    """

    def __init__(self, tracker: AnyTracker, boundaries: Boundaries = BLOCK_BOUNDARIES) -> None:
        self.tracker = tracker
        self.buffer = RowBuffer(boundaries)
        self.provenance = Provenance()
        self._lock = threading.RLock()

    @property
    def lock(self) -> threading.RLock:
        """Held, no other thread changes or copies this; the one that holds it may."""
        return self._lock

    @property
    def n_rows(self) -> int:
        """Number of rows seen, merged ones included."""
        return self.buffer.stop

    def update(
        self,
        rows: Floats,
        targets: NDArray[Any] | None = None,
        *,
        weights: NDArray[np.float64] | None = None,
    ) -> Self:
        """Take in rows that have already been checked.

        Where a block fails or Ctrl-C comes, the blocks before it have been absorbed, the rows that
        waited before still wait, and the rest of the batch has not been seen.
        """
        with self._lock, deferred_interrupts():
            complete, rest = self.buffer.cut(rows, targets, weights)
            for block in complete:
                checkpoint()
                _feed(self.tracker, block)
                self.buffer = RowBuffer(self.buffer.boundaries, block.stop)
            self.buffer.push(rest.rows, rest.targets, rest.weights)
        return self

    def snapshot(self) -> AnyTracker:
        """Return a tracker of everything seen, the rows that wait included, as a copy."""
        with self._lock:
            tracker, waiting = self.tracker.copy(), self.buffer.pending()
        if waiting is not None:
            _feed(tracker, waiting)
        return tracker

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has seen; ``other`` is untouched.

        An empty side changes nothing: the result is the other side, waiting rows included. A side
        without a complete block hands its waiting rows over, as if they arrived now. Otherwise
        the rows that wait on both sides are absorbed, and blocks go on from the sum of both
        positions. Rows that both have absorbed, as far as their provenances know, are refused.
        """
        return self.take_over(other.copy())

    def take_over(self, shard: Self) -> Self:
        """Merge with a shard that nobody else will use again: nothing of it is copied."""
        with self._lock, deferred_interrupts():
            provenance = self.provenance.merged(shard.provenance)
            if self.n_rows == 0:
                # The empty side may still bring settings of its own, such as announced classes.
                self.tracker, self.buffer = shard.tracker.merge(self.tracker), shard.buffer
            elif shard.n_rows == 0:
                self.tracker.merge(shard.tracker)
            elif shard.buffer.position == 0:
                self.tracker.merge(shard.tracker)  # nothing but settings
                self._take(shard.buffer.pending())
            elif self.buffer.position == 0:
                waiting = self.buffer.pending()
                self.tracker, self.buffer = shard.tracker.merge(self.tracker), shard.buffer
                self._take(waiting)
            else:
                total = self.n_rows + shard.n_rows
                self.tracker = self.snapshot().merge(shard.snapshot())
                self.buffer = RowBuffer(self.buffer.boundaries, total)
            self.provenance = provenance
        return self

    def _take(self, block: Block | None) -> None:
        if block is not None:
            self.update(block.rows, block.targets, weights=block.weights)

    def copy(self) -> Self:
        """Return an independent tracker in the same state."""
        with self._lock:
            twin = type(self)(self.tracker.copy(), self.buffer.boundaries)
            twin.buffer, twin.provenance = self.buffer.copy(), self.provenance
        return twin

    def __getstate__(self) -> dict[str, Any]:
        twin = self.copy()
        return {"tracker": twin.tracker, "buffer": twin.buffer, "provenance": twin.provenance}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.RLock())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BufferedTracker):
            return NotImplemented
        mine, theirs = ((side.buffer, side.provenance) for side in (self, other))
        return bool(self.tracker == other.tracker) and mine == theirs

    __hash__ = None  # type: ignore[assignment]  # it changes with every row

    def __repr__(self) -> str:
        return f"BufferedTracker(n_rows={self.n_rows}, n_pending={self.buffer.n_pending})"


def _feed(tracker: Tracker, block: Block) -> None:
    if block.targets is None:
        tracker.update(block.rows, weights=block.weights)
    else:
        tracker.update(block.rows, block.targets, weights=block.weights)
