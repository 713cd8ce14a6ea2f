"""The memory of a histogram: running counts per bin, cut-proof, mergeable and fading."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.checks import Floats, Rows
from streamchi2.errors import StateMismatchError
from streamchi2.state import Array, Float, Int, Kind, Maybe, Param, Saved, require
from streamchi2.statistics.count_window import added, trimmed, widened
from streamchi2.statistics.fading import epoch, flushed, growth
from streamchi2.statistics.log_bins import bin_keys

_OCTAVES = 2047  # exponents of a float64, subnormal ones included
_BLOCK_VALUES = 1 << 16  # temporaries of 512 KiB stay in cache


class BinCounts(Saved):
    """Weighted counts of non-zero values per logarithmic bin, and of zeros, over a stream of rows.

    Parameters and rows have been validated by
    :class:`streamchi2.statistics.log_histogram.LogHistogram`.
    The law: the state depends on the rows and their order alone, never on how they were cut.

    Parameters
    ----------
    bins_per_octave : int
        A power of two.
    half_life : float or None
        In rows.

    Notes
    -----
    Without weights and half-life counts are int64. Otherwise they are float64 sums taken
    strictly in the order of the rows, because the rounding of a sum depends on its order.

    Examples
    --------
    >>> counts = BinCounts(2, None)
    >>> counts.absorb(np.array([[1.0, 1.5, 0.0], [1.9, 3.0, 0.0]]))
    >>> counts._counts, counts._zeros
    (array([1, 2, 0, 1]), 2)
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "bins_per_octave": Int(1),
        "half_life": Maybe(Float(0.0)),
        "n_rows": Int(),
        "_first_key": Int(),
        "_counts": Array(1, ("<i8", "<f8")),
        "_zeros": Param(),
    }

    def __init__(self, bins_per_octave: int, half_life: float | None) -> None:
        self.bins_per_octave = bins_per_octave
        self.half_life = half_life
        self.n_rows = 0
        # Bin first_key + i holds counts[i]; the first and the last count are not zero.
        self._first_key = 0
        self._counts: NDArray[Any] = np.zeros(0, np.int64 if half_life is None else np.float64)
        self._zeros: int | float = 0 if half_life is None else 0.0

    def absorb(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> None:
        """Count rows that have been validated already; otherwise as ``update``."""
        if weights is not None and not weights.all():
            rows, weights = rows[weights > 0.0], weights[weights > 0.0]
        if weights is None and self._exact:
            self._count(rows)
        elif rows.shape[0]:
            self._weigh(rows, np.ones(rows.shape[0]) if weights is None else weights)

    def merge(self, other: Self) -> Self:
        """Add everything ``other`` has seen; ``other`` is untouched.

        With a half-life the present counts of both are added, and so are their rows.
        """
        if not isinstance(other, type(self)):
            raise TypeError(f"other must be a {type(self).__name__}, got {other!r}")
        mine, theirs = self._settings(), other._settings()
        if mine != theirs:
            raise StateMismatchError(f"parameters must agree to merge, got {mine} and {theirs}")
        if other.n_rows == 0:
            return self
        if self.n_rows == 0:
            self.__dict__.update(other.copy().__dict__)
            return self
        self._merge_counts(other)
        return self

    def fade(self, factor: float) -> Self:
        """Let everything counted so far count ``factor`` times as much."""
        self._first_key, self._counts = trimmed((self._first_key, flushed(factor * self._counts)))
        self._zeros = float(flushed(np.float64(factor * self._zeros)))
        return self

    def copy(self) -> Self:
        """Return an independent histogram in the same state."""
        twin = type(self)(self.bins_per_octave, self.half_life)
        twin.__dict__.update(self.__dict__, _counts=self._counts.copy())
        return twin

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the histogram; its constructor checks the parameters."""
        found = cls(state["bins_per_octave"], state["half_life"])
        found.__dict__.update(state)
        return found

    def validate(self) -> None:
        """Require counts in one window of bins, of the kind that half-life and weights imply."""
        counts, zeros = self._counts, self._zeros
        require(not (self._exact and self.half_life is not None), "fading counts must be float64")
        kind = int if self._exact else float
        require(isinstance(zeros, kind), "zeros must be counted as the rest")
        require(zeros >= 0, "zeros must not be negative")
        require((counts >= 0).all(), "counts must not be negative")
        require(counts[:1].all() and counts[-1:].all(), "the window must end at occupied bins")
        total = float(counts.sum(dtype=np.float64))
        require(total < 2.0**63 or not self._exact, "counts must be below 2^63")
        last = self._first_key + counts.size
        require(last <= _OCTAVES * self.bins_per_octave, "bins must lie in the range of floats")
        require(self.n_rows > 0 or (counts.size == 0 and zeros == 0), "counts without rows")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BinCounts):
            return NotImplemented
        mine, theirs = dict(self.__dict__), dict(other.__dict__)
        return np.array_equal(mine.pop("_counts"), theirs.pop("_counts")) and mine == theirs

    __hash__ = None  # type: ignore[assignment]  # equal today, different after the next row

    @property
    def _exact(self) -> bool:
        return self._counts.dtype == np.int64

    def _settings(self) -> str:
        return f"bins_per_octave={self.bins_per_octave}, half_life={self.half_life}"

    def _present(self) -> tuple[NDArray[Any], int | float]:
        """Return counts and zeros as of the last row."""
        if self.half_life is None or self.n_rows == 0:
            return self._counts, self._zeros
        grown = growth(np.float64(self.n_rows - 1), self.half_life)
        return flushed(self._counts / grown), float(flushed(np.float64(self._zeros) / grown))

    def _occupied(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        present = np.asarray(self._present()[0], dtype=np.float64)
        occupied = np.flatnonzero(present)
        return occupied + self._first_key, present[occupied]

    def _count(self, rows: Rows) -> None:
        values = rows.data if isinstance(rows, sparse.csr_array) else rows.ravel(order="K")
        n_nonzero = 0
        for start in range(0, values.size, _BLOCK_VALUES):
            block = values[start : start + _BLOCK_VALUES]
            block = _selected(block, block != 0)
            self._add(block, 1)
            n_nonzero += block.size
        self._zeros += rows.shape[0] * rows.shape[1] - n_nonzero
        self.n_rows += rows.shape[0]

    def _weigh(self, rows: Rows, weights: NDArray[np.float64]) -> None:
        """Add row by row, in order, into the running sums: no cut can change how they round."""
        n_rows, n_columns = rows.shape
        self._counts = self._counts.astype(np.float64, copy=False)
        n_values = rows.nnz if isinstance(rows, sparse.csr_array) else rows.size
        starts = set(range(0, n_rows, max(1, _BLOCK_VALUES * n_rows // max(1, n_values))))
        if self.half_life is not None:
            positions = self.n_rows + np.arange(n_rows, dtype=np.float64)
            weights = weights * growth(positions, self.half_life)
            starts.update(1 + np.flatnonzero(np.diff(epoch(positions, self.half_life))))
        for start, stop in pairwise([*sorted(starts), n_rows]):
            self._enter_epoch()
            values, n_nonzero = _nonzero_values(rows, start, stop)
            self._add(values, np.repeat(weights[start:stop], n_nonzero))
            zeros = weights[start:stop] * (n_columns - n_nonzero)
            # Unlike a sum, a running sum is taken strictly in order.
            self._zeros = float(np.cumsum(np.append(self._zeros, zeros))[-1])
            self.n_rows += stop - start

    def _enter_epoch(self) -> None:
        """Change the unit of all counts to that of the row about to come."""
        if self.half_life is None or self.n_rows == 0:
            return
        last, coming = epoch(np.array([self.n_rows - 1.0, self.n_rows]), self.half_life)
        if last != coming:
            unit = np.exp2(last - coming)
            self._zeros = float(flushed(np.float64(self._zeros) * unit))
            self._first_key, self._counts = trimmed((self._first_key, flushed(self._counts * unit)))

    def _add(self, values: Floats, amounts: NDArray[np.float64] | int) -> None:
        if values.size == 0:
            return
        keys = bin_keys(values, self.bins_per_octave)
        self._first_key, self._counts = widened(
            (self._first_key, self._counts), int(keys.min()), int(keys.max())
        )
        keys -= self._first_key
        np.add.at(self._counts, keys, amounts)

    def _merge_counts(self, other: Self) -> None:
        if self._exact and other._exact:
            totals = int(self._counts.sum()), int(other._counts.sum())
            if sum(totals) >= 2**63:
                raise ValueError(f"total must stay below 2^63 to merge, got {totals}")
        (mine, my_zeros), (theirs, their_zeros) = self._present(), other._present()
        first_key, counts = added((self._first_key, mine), (other._first_key, theirs))
        zeros, n_rows = my_zeros + their_zeros, self.n_rows + other.n_rows
        if self.half_life is not None:
            grown = growth(np.float64(n_rows - 1), self.half_life)
            zeros = float(zeros * grown)
            first_key, counts = trimmed((first_key, counts * grown))
        self.n_rows, self._zeros = n_rows, zeros
        self._first_key, self._counts = first_key, counts


def _nonzero_values(rows: Rows, start: int, stop: int) -> tuple[Floats, NDArray[np.int64]]:
    """Return the non-zero values of some rows, in order, and how many each row has."""
    if isinstance(rows, sparse.csr_array):
        bounds = rows.indptr[start : stop + 1]
        return rows.data[bounds[0] : bounds[-1]], np.diff(bounds).astype(np.int64)
    block = rows[start:stop]
    nonzero = block != 0
    return _selected(block.ravel(), nonzero.ravel()), np.count_nonzero(nonzero, axis=1)


def _selected(values: Floats, wanted: NDArray[np.bool_]) -> Floats:
    """Return ``values[wanted]``, two to three times as fast: no branch to mispredict."""
    if np.count_nonzero(wanted) == wanted.size:
        return values
    return values[np.flatnonzero(wanted)]
