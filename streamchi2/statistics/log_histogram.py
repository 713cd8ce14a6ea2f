r"""A histogram of a stream of non-negative values in logarithmic bins without a range.

A positive float64 is :math:`2^{e-1023}(1 + m)` with the biased exponent e and the mantissa m in
its bits, in this order. Dropping all but the leading :math:`\log_2 B` bits of the mantissa leaves

.. math:: \mathrm{key}(x) = eB + \lfloor mB \rfloor

an integer that grows with x: each octave is cut into B bins of equal width, so the width of a bin
relative to its values lies between 1/(2B) and 1/B. No logarithm is taken and nothing is rounded:
every platform finds the same bin. The same idea, without interpolation, as the "fast" mappings
of Masson, Rim and Lee, DDSketch (2019, doi:10.14778/3352063.3352135).

Subnormal float64 values (below 2.2e-308) have e = 0 and no leading one: all of them together
share one more "octave" of B bins of equal width, the lowest from 5e-324. A float32 and
a float64 of equal value have equal keys, also where the float32 is subnormal.

Counts live in one array that spans the occupied bins and grows when a value falls outside, so
memory depends on how many octaves the values span (512 bytes each), never on their number.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from streamchi2.checks.params import as_half_life, as_positive_int
from streamchi2.checks.rows import Array, Floats, Rows, as_values, as_weights
from streamchi2.errors import StateMismatchError
from streamchi2.saving import same, saved
from streamchi2.statistics.weights import faded_to_end

_MAX_BINS_PER_OCTAVE = 4096  # 2046 octaves of 4096 bins are 64 MiB, the most counts can take
_MIN_HALF_LIFE = 1e-3
_OCTAVES = 2047  # exponents of a float64, subnormal ones included
_MANTISSA_BITS = 52
_EXPONENT_BIAS_GAP = 1023 - 127  # float64 and float32 store 2^0 under these exponents
_BLOCK_VALUES = 1 << 16  # temporaries of 512 KiB stay in cache
_LIMITS = np.finfo(np.float64)


@saved("log_histogram")
class LogHistogram:
    r"""Exact (weighted) counts of non-zero values in logarithmic bins over the whole float range.

    Bins are read from the bits of the float: every octave is cut into ``bins_per_octave`` bins of
    equal width. Zeros are counted apart. With a half-life h, row i of the n seen so far counts

    .. math:: w_i \, 2^{-(n-1-i)/h}

    The law: any cutting of the same rows into batches gives the same counts, bit for bit without a
    half-life and to rounding with one, and merging shards equals one pass (bit for bit for counts
    without weights; with weights the sums round, but in either order alike; with a half-life both
    shards end "now").

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
    n_zeros : float
        Weight of all zeros.

    Notes
    -----
    An update costs 3 to 6 ns a value (``examples/benchmarks/histogram_update.py``). Counts are
    float64, exact up to 2^53 where no row has a weight. One that has faded below 2.2e-308 is
    forgotten.

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
        "_counts": Array,
        "n_zeros": float,
    }

    def __init__(self, bins_per_octave: int = 64, half_life: float | None = None) -> None:
        bins_per_octave = as_positive_int(bins_per_octave, name="bins_per_octave")
        if bins_per_octave.bit_count() != 1 or bins_per_octave > _MAX_BINS_PER_OCTAVE:
            raise ValueError(
                f"bins_per_octave must be a power of two, at most {_MAX_BINS_PER_OCTAVE}, "
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
        self._counts = np.zeros(0)
        self.n_zeros = 0.0

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
        if self.n_zeros < 0.0 or (self._counts < 0.0).any():
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
        weights = as_weights(sample_weight, rows.shape[0])
        if weights is not None and not weights.all():
            rows, weights = rows[weights > 0.0], weights[weights > 0.0]
        self.absorb(rows, weights)
        return self

    def absorb(self, rows: Rows, weights: Array | None = None) -> None:
        """Count rows that have been checked, all of positive weight; else as :meth:`update`."""
        n_rows = rows.shape[0]
        n_stored = rows.nnz if isinstance(rows, sparse.csr_array) else rows.size
        step = max(1, _BLOCK_VALUES * n_rows // max(1, n_stored))
        for start in range(0, n_rows, step):
            part = slice(start, start + step)
            self._count(rows[part], 1.0 if weights is None else weights[part])

    def _count(self, rows: Rows, weights: Array | float) -> None:
        """Add the values of rows to the counts, which fade before.

        Sums are taken strictly in the order of the rows, so that without a half-life no cut can
        change how they round.
        """
        n_rows, n_columns = rows.shape
        values, n_values = _nonzero_values(rows)
        shares, fading = faded_to_end(n_rows, self.half_life)
        amounts = weights * shares
        zeros = np.append(fading * self.n_zeros, amounts * (n_columns - n_values))
        keys = bin_keys(values, self.bins_per_octave)
        if values.size:
            self._span(int(keys.min()), int(keys.max()) + 1)
        if self.half_life is not None:
            self._counts *= fading
        np.add.at(self._counts, keys - self._first_key, np.repeat(amounts, n_values))
        if self.half_life is not None:
            # The subnormal are slow to compute with, and long faded.
            self._counts[self._counts < _LIMITS.tiny] = 0.0
            zeros[zeros < _LIMITS.tiny] = 0.0
        self.n_zeros = float(np.cumsum(zeros)[-1])
        self.n_rows += n_rows

    def _span(self, low: int, end: int) -> None:
        """Let there be bins from ``low`` to before ``end``."""
        first, last = self._first_key, self._first_key + self._counts.size
        if first == last:
            first = last = low
        low, end = min(low, first), max(end, last)
        self._counts = np.pad(self._counts, (first - low, end - last))
        self._first_key = low

    def merge(self, other: Self) -> Self:
        """Add everything ``other`` has seen; ``other`` is untouched.

        With a half-life the present counts of both are added, and so are their rows.
        """
        if not isinstance(other, type(self)):
            raise TypeError(f"other must be a {type(self).__name__}, got {other!r}")
        mine, theirs = self._settings(), other._settings()
        if mine != theirs:
            raise StateMismatchError(f"parameters must agree to merge, got {mine} and {theirs}")
        size = other._counts.size
        if size:
            self._span(other._first_key, other._first_key + size)
            start = other._first_key - self._first_key
            self._counts[start : start + size] += other._counts
        self.n_zeros += other.n_zeros
        self.n_rows += other.n_rows
        return self

    def copy(self) -> Self:
        """Return an independent histogram in the same state."""
        return deepcopy(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LogHistogram):
            return NotImplemented
        theirs = other._saved_state()
        return all(same(value, theirs[name]) for name, value in self._saved_state().items())

    __hash__ = None  # type: ignore[assignment]  # equal today, different after the next row

    def _settings(self) -> str:
        return f"bins_per_octave={self.bins_per_octave}, half_life={self.half_life}"

    @property
    def _keys(self) -> NDArray[np.int64]:
        """Keys of the occupied bins, ascending."""
        return np.flatnonzero(self._counts) + self._first_key

    @property
    def centres(self) -> Array:
        """Midpoints of the occupied bins, ascending."""
        return _floats_of(2 * self._keys + 1, 2 * self.bins_per_octave)

    @property
    def weights(self) -> Array:
        """Present counts of the occupied bins, in the order of ``centres``."""
        return self._counts[self._counts > 0.0]

    @property
    def edges(self) -> tuple[Array, Array]:
        """Lower and upper edges of the occupied bins; a bin holds lower <= x < upper.

        The outermost edges are the smallest and the largest float, not zero and infinity; the
        largest float is therefore the one value that may equal its upper edge.
        """
        lower, upper = (_floats_of(self._keys + i, self.bins_per_octave) for i in (0, 1))
        return np.maximum(lower, _LIMITS.smallest_subnormal), np.minimum(upper, _LIMITS.max)

    @property
    def total(self) -> float:
        """Weight of all non-zero values."""
        return float(self._counts.sum())

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

    def density(self) -> Array:
        """Probability per unit of log x in the occupied bins, zeros left out.

        >>> LogHistogram(bins_per_octave=1).update([1.0, 2.0]).density() * np.log(2.0)
        array([0.5, 0.5])
        """
        lower, upper = self.edges
        return self.weights / self.total / np.log1p((upper - lower) / lower)

    def coarsened(self, max_bins: int) -> tuple[Array, Array]:
        """Centres and weights after merging neighbours until at most ``max_bins`` bins remain.

        The number of bins per octave is halved as often as needed (then octaves are paired). The
        centre of a merged bin is the weighted mean of the centres it holds, so the sum and the mean
        of the values stay as they were.

        >>> LogHistogram().update([1.0, 1.0, 1.5, 9.0]).coarsened(2)
        (array([1.17447917, 9.0625    ]), array([3., 1.]))
        """
        max_bins = as_positive_int(max_bins, name="max_bins")
        keys, weights = self._keys, self.weights
        while np.count_nonzero(np.diff(keys, prepend=-1)) > max_bins:
            keys = keys >> 1
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        merged = np.add.reduceat(weights, starts)
        # Shares first: weight times centre may overflow where their mean cannot.
        shares = weights / np.repeat(merged, np.diff(starts, append=keys.size))
        return np.add.reduceat(shares * self.centres, starts), merged

    def __repr__(self) -> str:
        span = f", low={self.low!r}, high={self.high!r}" if self._keys.size else ""
        return (
            f"LogHistogram({self._settings()}, n_rows={self.n_rows}, total={self.total:g}, "
            f"n_zeros={self.n_zeros:g}{span})"
        )

    def _refuse_empty(self, name: str) -> None:
        if not self._counts.any():
            raise ValueError(f"{name} needs a non-zero value, got none in {self.n_rows} rows")


def bin_keys(values: Floats, bins_per_octave: int) -> NDArray[np.int64]:
    """Return the key of every value; all must be positive and finite. About 1 ns a value.

    >>> bin_keys(np.array([1.0, 1.2, 1.5, 2.0]), bins_per_octave=2) - 2 * 1023
    array([0, 0, 1, 2])
    """
    precision = bins_per_octave.bit_length() - 1
    if values.dtype == np.float32:
        short = values.view(np.uint32) >> np.uint32(23 - precision)
        # Below the first whole octave float32 is subnormal, which float64 is not.
        if short.size and short.min() >= bins_per_octave:
            return short.astype(np.int64) + _EXPONENT_BIAS_GAP * bins_per_octave
        values = values.astype(np.float64)
    bits: NDArray[np.uint64] = values.view(np.uint64)
    return (bits >> np.uint64(_MANTISSA_BITS - precision)).view(np.int64)


def _floats_of(keys: NDArray[np.int64], bins_per_octave: int) -> Array:
    """Return the lower edge of the bin of each key."""
    return (keys << (_MANTISSA_BITS + 1 - bins_per_octave.bit_length())).view(np.float64)


def _nonzero_values(rows: Rows) -> tuple[Floats, NDArray[np.int64]]:
    """Return the non-zero values of rows, in order, and how many each row has."""
    if isinstance(rows, sparse.csr_array):
        return rows.data, np.diff(rows.indptr).astype(np.int64)
    nonzero = rows != 0.0
    n_values, values = np.count_nonzero(nonzero, axis=1), rows.ravel()
    # Twice as fast as by a mask: no branch to mispredict.
    is_full = n_values.sum() == values.size
    return values if is_full else values[np.flatnonzero(nonzero)], n_values
