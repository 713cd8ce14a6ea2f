"""A histogram of a stream of non-negative values, exact, in logarithmic bins without a range.

Counts live in one array that spans the occupied bins and grows when a value falls outside, so
memory depends on how many octaves the values span (512 bytes each), never on their number.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from streamchi2.checks import Floats, Rows, as_half_life, as_positive_int, as_values, as_weights
from streamchi2.errors import StateMismatchError
from streamchi2.saving import saved
from streamchi2.statistics.fading import epoch, flushed, growth
from streamchi2.statistics.log_bins import (
    MAX_BINS_PER_OCTAVE,
    bin_centres,
    bin_edges,
    bin_keys,
    merge_neighbours,
)

_MIN_HALF_LIFE = 1e-3
_OCTAVES = 2047  # exponents of a float64, subnormal ones included
_BLOCK_VALUES = 1 << 16  # temporaries of 512 KiB stay in cache


@saved("log_histogram")
class LogHistogram:
    r"""Exact (weighted) counts of non-zero values in logarithmic bins over the whole float range.

    Bins are read from the bits of the float (see ``statistics/log_bins.py``): every
    octave is cut into ``bins_per_octave`` bins of equal width. Zeros are counted apart.
    With a half-life h, row i of the n seen so far counts

    .. math:: w_i \, 2^{-(n-1-i)/h}

    The law: any cutting of the same rows into batches gives the same counts bit for bit, and
    merging shards equals one pass (bit for bit for counts without weights; with weights the
    sums round, but in either order alike; with a half-life both shards end "now").

    Parameters
    ----------
    bins_per_octave : int, default=64
        A power of two from 1 to 4096. A value (unless subnormal, below 2.2e-308) differs from
        the centre of its bin by at most a share of 1 / (2 * bins_per_octave).
    half_life : float or None, default=None
        Rows after which a count has faded by half, at least 0.001. None remembers everything.

    Attributes
    ----------
    n_rows : int
        Rows seen, each counted once whatever its weight. Rows of weight zero are not seen.

    Notes
    -----
    An update costs 3 to 6 ns a value (``examples/benchmarks/histogram_update.py``). Counts are
    int64, exact past 2^53, until a weight or a half-life makes them float64. A count that has
    faded below 2.2e-308 is forgotten.

    References
    ----------
    Masson, Rim and Lee, DDSketch (2019), doi:10.14778/3352063.3352135: bins, merging, quantiles.

    Examples
    --------
    >>> histogram = LogHistogram(bins_per_octave=2).update([[1.0, 0.0], [1.25, 6.5]])
    >>> histogram.centres, histogram.weights
    (array([1.25, 7.  ]), array([2., 1.]))
    >>> histogram.merge(LogHistogram(bins_per_octave=2).update([0.0, 7.0]))
    LogHistogram(bins_per_octave=2, half_life=None, n_rows=3, total=4, n_zeros=2, low=1.0, high=8.0)
    """

    _saved_fields: ClassVar[Mapping[str, Any]] = {
        "bins_per_octave": int,
        "half_life": float | None,
        "n_rows": int,
        "_first_key": int,
        "_counts": NDArray[np.int64 | np.float64],
        "_zeros": int | float,
    }

    def __init__(self, bins_per_octave: int = 64, half_life: float | None = None) -> None:
        bins_per_octave = as_positive_int(bins_per_octave, name="bins_per_octave")
        if bins_per_octave.bit_count() != 1 or bins_per_octave > MAX_BINS_PER_OCTAVE:
            raise ValueError(
                f"bins_per_octave must be a power of two, at most {MAX_BINS_PER_OCTAVE}, "
                f"got {bins_per_octave}"
            )
        if half_life is not None:
            half_life = as_half_life(half_life)
            if half_life < _MIN_HALF_LIFE:
                raise ValueError(
                    f"half_life must be at least {_MIN_HALF_LIFE} rows, got {half_life}"
                )
        self.bins_per_octave = bins_per_octave
        self.half_life = half_life
        self.n_rows = 0
        # Bin first_key + i holds counts[i].
        self._first_key = 0
        self._counts: NDArray[Any] = np.zeros(0, np.int64 if half_life is None else np.float64)
        self._zeros: int | float = 0 if half_life is None else 0.0

    def _saved_state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._saved_fields}

    @classmethod
    def _from_saved(cls, state: dict[str, Any]) -> Self:
        histogram = cls(state["bins_per_octave"], state["half_life"])
        histogram.__dict__.update(state)
        return histogram

    def check_state(self) -> None:
        """Raise ValueError where bins are not those of floats, or counts are negative."""
        last = self._first_key + self._counts.size
        if self._first_key < 0 or last > _OCTAVES * self.bins_per_octave:
            raise ValueError("bins must lie in the range of floats")
        if self._zeros < 0 or (self._counts < 0).any():
            raise ValueError("counts must not be negative")

    def update(self, X: ArrayLike | Rows, sample_weight: ArrayLike | None = None) -> Self:
        """Count the values of ``X``: rows, dense or sparse, or a flat sequence taken as one row.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n, d) or (d,)
            Finite and non-negative. What a sparse matrix does not store is a zero.
        sample_weight : array-like, shape (n,), or None
            One non-negative weight per row. A row of weight zero leaves no trace.

        Returns
        -------
        LogHistogram
            This histogram.
        """
        rows = as_values(X)
        self.absorb(rows, as_weights(sample_weight, rows.shape[0]))
        return self

    def absorb(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> None:
        """Count rows that have been checked already; otherwise as :meth:`update`."""
        if weights is not None and not weights.all():
            rows, weights = rows[weights > 0.0], weights[weights > 0.0]
        n_rows = rows.shape[0]
        positions = self.n_rows + np.arange(n_rows, dtype=np.float64)
        epochs = epoch(positions, self.half_life)
        amounts = None
        if n_rows and (weights is not None or not self._is_exact):
            amounts = growth(positions, self.half_life) * (1.0 if weights is None else weights)
            self._counts = self._counts.astype(np.float64, copy=False)
        step = max(1, _BLOCK_VALUES * n_rows // max(1, _n_stored(rows)))
        starts = {*range(0, n_rows, step), *(1 + np.flatnonzero(np.diff(epochs))).tolist()}
        for start, stop in pairwise([*sorted(starts), n_rows]):
            part = slice(start, stop)
            self._enter(epochs[start])
            self._count(rows[part], None if amounts is None else amounts[part])

    def _enter(self, coming: np.float64) -> None:
        """Change the unit of all counts to that of the epoch of the row about to come."""
        last = epoch(np.float64(max(self.n_rows - 1, 0)), self.half_life)
        if last != coming:
            self._zeros = float(flushed(np.float64(self._zeros) * np.exp2(last - coming)))
            self._counts = flushed(self._counts * np.exp2(last - coming))

    def _count(self, rows: Rows, amounts: NDArray[np.float64] | None) -> None:
        """Add the values of rows to the running counts, each row's amount where there is one.

        Sums of floats are taken strictly in the order of the rows, as bincount does it, so that no
        cut can change how they round.
        """
        n_rows, n_columns = rows.shape
        values, n_values = _nonzero_values(rows)
        self.n_rows += n_rows
        if amounts is None:
            self._zeros += n_rows * n_columns - values.size
        else:
            zeros = amounts * (n_columns - n_values)
            self._zeros = float(np.cumsum(np.append(self._zeros, zeros))[-1])
        if values.size == 0:
            return
        keys = bin_keys(values, self.bins_per_octave)
        first, counts = _spanning(
            self._first_key, self._counts, int(keys.min()), int(keys.max()) + 1
        )
        keys -= first
        if amounts is None:
            counts += np.bincount(keys, minlength=counts.size)
        else:
            bins = np.concatenate([np.arange(counts.size), keys])
            counts = np.bincount(bins, np.concatenate([counts, np.repeat(amounts, n_values)]))
        self._first_key, self._counts = first, counts

    def merge(self, other: Self) -> Self:
        """Add everything ``other`` has seen; ``other`` is untouched.

        With a half-life the present counts of both are added, and so are their rows.
        """
        if not isinstance(other, type(self)):
            raise TypeError(f"other must be a {type(self).__name__}, got {other!r}")
        mine, theirs = self._settings(), other._settings()
        if mine != theirs:
            raise StateMismatchError(f"parameters must agree to merge, got {mine} and {theirs}")
        if other.n_rows == 0 or self.n_rows == 0:
            self.__dict__.update((self if other.n_rows == 0 else other.copy()).__dict__)
            return self
        totals = int(self._counts.sum()), int(other._counts.sum())
        if sum(totals) >= 2**63 and self._is_exact and other._is_exact:
            raise ValueError(f"total must stay below 2^63 to merge, got {totals}")
        (counts, zeros), (other_counts, other_zeros) = self._present(), other._present()
        grown = growth(np.float64(self.n_rows + other.n_rows - 1), self.half_life)
        counts = counts.astype(np.result_type(counts, other_counts))
        last = other._first_key + other_counts.size
        first, counts = _spanning(self._first_key, counts, other._first_key, last)
        counts[other._first_key - first :][: other_counts.size] += other_counts
        self._zeros = zeros + other_zeros
        if self.half_life is not None:
            counts, self._zeros = counts * grown, float(self._zeros * grown)
        self.n_rows += other.n_rows
        self._first_key, self._counts = first, counts
        return self

    def copy(self) -> Self:
        """Return an independent histogram in the same state."""
        return self._from_saved({**self._saved_state(), "_counts": self._counts.copy()})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LogHistogram):
            return NotImplemented
        mine, theirs = self._saved_state(), other._saved_state()
        return np.array_equal(mine.pop("_counts"), theirs.pop("_counts")) and mine == theirs

    __hash__ = None  # type: ignore[assignment]  # equal today, different after the next row

    @property
    def _is_exact(self) -> bool:
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

    @property
    def centres(self) -> NDArray[np.float64]:
        """Midpoints of the occupied bins, ascending."""
        return bin_centres(self._occupied()[0], self.bins_per_octave)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Present counts of the occupied bins, in the order of ``centres``."""
        return self._occupied()[1]

    @property
    def edges(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lower and upper edges of the occupied bins; a bin holds lower <= x < upper."""
        return bin_edges(self._occupied()[0], self.bins_per_octave)

    @property
    def total(self) -> float:
        """Weight of all non-zero values, an exact int where every row has weighed one."""
        return int(self._counts.sum()) if self._is_exact else float(self.weights.sum())

    @property
    def n_zeros(self) -> float:
        """Weight of all zeros, an exact int where every row has weighed one."""
        return self._present()[1]

    @property
    def low(self) -> float:
        """Lower edge of the lowest occupied bin."""
        self._refuse_empty("low")
        return float(self.edges[0][0])

    @property
    def high(self) -> float:
        """Upper edge of the highest occupied bin."""
        self._refuse_empty("high")
        return float(self.edges[1][-1])

    def quantile(self, q: ArrayLike) -> Any:
        """Value below which a share ``q`` of the non-zero values lies, to within one bin.

        Within its bin a value is interpolated linearly. Returns a float for a number and an
        array of the same shape for an array.

        >>> LogHistogram().update([1.0, 2.0, 2.0, 4.0]).quantile([0.25, 0.5])
        array([1.015625, 2.015625])
        """
        shares = np.asarray(q, dtype=np.float64)
        if not ((shares >= 0.0) & (shares <= 1.0)).all():
            raise ValueError(f"q must lie between 0 and 1, got {q!r}")
        self._refuse_empty("quantile")
        lower, upper = self.edges
        reached = np.cumsum(self.weights)
        wanted = shares * reached[-1]
        index = np.searchsorted(reached, wanted)
        within = 1.0 - (reached[index] - wanted) / self.weights[index]
        quantiles = lower[index] + (upper - lower)[index] * np.clip(within, 0.0, 1.0)
        return quantiles if quantiles.ndim else float(quantiles)

    def density(self) -> NDArray[np.float64]:
        """Probability per unit of log x in the occupied bins, zeros left out.

        >>> LogHistogram(bins_per_octave=1).update([1.0, 2.0]).density() * np.log(2.0)
        array([0.5, 0.5])
        """
        lower, upper = self.edges
        return self.weights / self.total / np.log1p((upper - lower) / lower)

    def coarsened(self, max_bins: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Centres and weights after merging neighbours until at most ``max_bins`` bins remain.

        The number of bins per octave is halved as often as needed (then octaves are paired),
        and the centre of a merged bin is the weighted mean of the centres it holds.

        >>> LogHistogram().update([1.0, 1.0, 1.5, 9.0]).coarsened(2)
        (array([1.17447917, 9.0625    ]), array([3., 1.]))
        """
        max_bins = as_positive_int(max_bins, name="max_bins")
        keys, weights = self._occupied()
        return merge_neighbours(keys, bin_centres(keys, self.bins_per_octave), weights, max_bins)

    def __repr__(self) -> str:
        span = f", low={self.low!r}, high={self.high!r}" if self._occupied()[0].size else ""
        return (
            f"LogHistogram({self._settings()}, n_rows={self.n_rows}, total={self.total!r}, "
            f"n_zeros={self.n_zeros!r}{span})"
        )

    def _refuse_empty(self, name: str) -> None:
        if not self._occupied()[0].size:
            raise ValueError(f"{name} needs a non-zero value, got none in {self.n_rows} rows")


def _spanning(first: int, counts: NDArray[Any], low: int, end: int) -> tuple[int, NDArray[Any]]:
    """Return new counts of the same bins, and of those from ``low`` to before ``end``.

    >>> _spanning(5, np.array([7, 8]), 3, 6)
    (3, array([0, 0, 7, 8]))
    """
    if counts.size:
        last = first + counts.size
        low, end = (min(low, first), max(end, last)) if low < end else (first, last)
    wide = np.zeros(end - low, counts.dtype)
    wide[first - low :][: counts.size] = counts
    return low, wide


def _n_stored(rows: Rows) -> int:
    return int(rows.nnz if isinstance(rows, sparse.csr_array) else rows.size)


def _nonzero_values(rows: Rows) -> tuple[Floats, NDArray[np.int64]]:
    """Return the non-zero values of rows, in order, and how many each row has."""
    if isinstance(rows, sparse.csr_array):
        return rows.data, np.diff(rows.indptr).astype(np.int64)
    nonzero = rows != 0.0
    n_values, values = np.count_nonzero(nonzero, axis=1), rows.ravel()
    # Twice as fast as by a mask: no branch to mispredict.
    is_full = n_values.sum() == values.size
    return values if is_full else values[np.flatnonzero(nonzero)], n_values
