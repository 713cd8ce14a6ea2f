"""ADWIN for hits and misses: a window of errors that grows until its two ends disagree."""

from __future__ import annotations

from math import log, sqrt
from typing import Any, ClassVar, Self

from streamchi2.state import Bool, Int, Kind, Saved, TupleOf, require

CLOCK = 32  # rows between two looks
MAX_BUCKETS = 5  # of each size, as in the paper
_DELTA = 0.002  # chance of a false alarm, as river chooses it
_SHORTEST = 5  # rows either part must have
_GRACE = 10  # rows before the first look
_MOST_LEVELS = 63  # of buckets of 2^j rows


class Adwin(Saved):
    r"""A drift detector for errors that are 0 or 1, whose whole state is a few dozen counts.

    The window is kept as buckets of 1, 2, 4, ... rows, five or six of a size. Every 32 rows it is
    tried to cut it between two buckets: with the means :math:`p_0, p_1` of its parts of
    :math:`n_0, n_1` rows, the mean p of all n and
    :math:`1/m = 1/(n_0-4) + 1/(n_1-4)`, :math:`d = \log(2 \log n / \delta)`, there is a change if

    .. math:: |p_0 - p_1| > \sqrt{2 d\,p(1-p)/m} + \frac{2 d}{3 m}

    The window begins anew with the row after an alarm.

    Law: the alarms are those of ``river.drift.ADWIN()``. Unlike that one's, the state is plain
    whole numbers, which a file can hold; 0/1 needs no variances of buckets.

    References
    ----------
    Bifet and Gavaldà (2007), doi:10.1137/1.9781611972771.42.

    Examples
    --------
    >>> window = Adwin()
    >>> for row in range(400):
    ...     window.update(row >= 200)
    ...     if window.drift_detected:
    ...         print(row)
    223
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "drift_detected": Bool(),
        "n_rows": Int(),
        "counts": TupleOf(TupleOf(Int())),
    }

    def __init__(self) -> None:
        self.drift_detected = False
        self.n_rows = 0
        self.counts: list[list[int]] = [[]]  # errors per bucket, oldest first; level j: 2^j rows

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the window."""
        window = cls()
        counts = [list(buckets) for buckets in state["counts"]]
        window.__dict__.update(state, counts=counts)
        return window

    def validate(self) -> None:
        """Require buckets that hold as many rows as the window, and no more errors than rows."""
        require(1 <= len(self.counts) <= _MOST_LEVELS, "a window has at least one size of buckets")
        few = all(len(buckets) <= MAX_BUCKETS for buckets in self.counts)
        require(few, "too many buckets of a size")
        sizes = [1 << level for level in range(len(self.counts))]
        pairs = list(zip(sizes, self.counts, strict=True))
        n_rows = sum(size * len(buckets) for size, buckets in pairs)
        require(n_rows == self.n_rows, f"the buckets hold {n_rows} rows")
        fits = all(count <= size for size, buckets in pairs for count in buckets)
        require(fits, "more errors than rows in a bucket")

    def update(self, error: bool) -> None:
        """Take in one error, and look for a change where that is due."""
        if self.drift_detected:
            self.__init__()  # type: ignore[misc]
        self.n_rows += 1
        self.counts[0].append(int(error))
        self._compress()
        if self.n_rows % CLOCK == 0 and self.n_rows > _GRACE:
            self.drift_detected = self._has_cut()

    def _compress(self) -> None:
        """Join the two oldest buckets of a size of which there are too many."""
        for level, buckets in enumerate(self.counts):
            if len(buckets) <= MAX_BUCKETS:
                return
            if level + 1 == len(self.counts):
                self.counts.append([])  # the loop goes on to it
            self.counts[level + 1].append(buckets.pop(0) + buckets.pop(0))

    def _has_cut(self) -> bool:
        n_rows, n_errors = self.n_rows, sum(map(sum, self.counts))
        rate = n_errors / n_rows
        spread, depth = rate * (1.0 - rate), log(2.0 * log(n_rows) / _DELTA)
        n_old = old_errors = 0
        for level in reversed(range(len(self.counts))):
            for errors in self.counts[level]:
                n_old += 1 << level
                old_errors += errors
                n_new = n_rows - n_old
                if n_new < _SHORTEST:
                    return False
                if n_old >= _SHORTEST:
                    gap = abs(old_errors / n_old - (n_errors - old_errors) / n_new)
                    shares = 1.0 / (n_old - _SHORTEST + 1) + 1.0 / (n_new - _SHORTEST + 1)
                    if gap > sqrt(2.0 * shares * spread * depth) + 2.0 / 3.0 * depth * shares:
                        return True
        return False
