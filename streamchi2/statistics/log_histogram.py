"""A histogram of a stream of non-negative values, exact, in logarithmic bins without a range.

Counts live in one array that spans the occupied bins and grows when a value falls outside, so
memory depends on how many octaves the values span (512 bytes each), never on their number.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamchi2.checks import (
    Rows,
    as_half_life,
    as_positive_int,
    as_values,
    as_weights,
)
from streamchi2.statistics.bin_counts import BinCounts
from streamchi2.statistics.log_bins import (
    MAX_BINS_PER_OCTAVE,
    bin_centres,
    bin_edges,
    merge_neighbours,
)

_MIN_HALF_LIFE = 1e-3


class LogHistogram(BinCounts):
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
        super().__init__(bins_per_octave, half_life)

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
        self.absorb(rows, weights)
        return self

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
        return int(self._counts.sum()) if self._exact else float(self.weights.sum())

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
        found = lower[index] + (upper - lower)[index] * np.clip(within, 0.0, 1.0)
        return found if found.ndim else float(found)

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
