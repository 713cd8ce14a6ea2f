"""What every chi2 series has in common: one value becomes N coordinates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from streamchi2.checks.params import as_positive_float, as_positive_int
from streamchi2.checks.rows import Floats, Rows, as_rows
from streamchi2.saving import Value
from streamchi2.statistics.log_histogram import LogHistogram

MAX_BINS = 384  # a matrix of this side is built; finer bins would change the figures by per mille
GRID_POINTS = 4096  # on which largest errors are found


class Series(Value, ABC):
    r"""A map of one non-negative value to N coordinates.

    Inner products of coordinates tend to the harmonic mean 2xy/(x+y), hence

    .. math:: \tfrac12 \lVert c(x) - c(y) \rVert^2 \approx \chi^2(x, y).

    Law: zero maps to zero, so sparsity survives, and a missing column equals a column of zeros.
    """

    # Numbers of terms that are tried where there are to be enough: the first one, and the steps.
    first_terms: ClassVar[int] = 5
    terms_step: ClassVar[int] = 1

    n_terms: int

    @classmethod
    def from_histogram(cls, histogram: LogHistogram, n_terms: int) -> Self:
        """Return the series of this kind that suits a histogram best."""
        raise NotImplementedError

    @classmethod
    def check_n_terms(cls, n_terms: Any, *, name: str = "n_terms") -> int:
        """Return a number of terms that this kind of series can have."""
        return as_positive_int(n_terms, name=name)

    @abstractmethod
    def coordinates(self, values: Floats, out: Floats | None = None) -> Floats:
        """Return the coordinates of checked values, shape ``(N, *values.shape)``, in their dtype.

        ``out``, an array of that shape, is filled and returned when given.
        """

    def errors(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return 2xy/(x+y) - c(x)·c(y) for all pairs of positive values."""
        return harmonic_mean(x[:, None], y) - self.coordinates(x).T @ self.coordinates(y)

    def lost(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return x - c(x)·c(x), the squared length that each value loses."""
        lengths: NDArray[np.float64] = np.square(self.coordinates(values)).sum(axis=0)
        return values - lengths

    def error_bound(self, low: float, high: float) -> float:
        r"""Return the largest error for x and y in [low, high].

        .. math:: \max_{x, y} \left| \tfrac{2xy}{x+y} - c(x)^\top c(y) \right|

        Where the error is itself a positive definite kernel it is largest on the diagonal x = y. It
        is looked for on a grid of 4096 logarithmic steps, on which it varies slowly.
        """
        values = np.geomspace(*checked_range(low, high), GRID_POINTS)
        return float(max(self.lost(values).max(), 0.0))

    def transform(self, X: ArrayLike | Rows) -> Rows:
        """Return the coordinates of whole rows, shape (n, N d): all first terms, then all second.

        Dense rows give a dense array, sparse rows a ``csr_array``; float32 stays float32.
        """
        rows = as_rows(X)
        if isinstance(rows, sparse.csr_array):
            terms = [
                sparse.csr_array((term, rows.indices, rows.indptr), shape=rows.shape)
                for term in self.coordinates(np.asarray(rows.data))
            ]
            return sparse.csr_array(sparse.hstack(terms, format="csr"))
        n_rows, width = rows.shape
        side_by_side = np.empty((n_rows, self.n_terms, width), dtype=rows.dtype)
        self.coordinates(rows, out=side_by_side.transpose(1, 0, 2))
        return side_by_side.reshape(n_rows, self.n_terms * width)


def checked_range(low: float, high: float) -> tuple[float, float]:
    """Return the ends of a range of positive values, low <= high."""
    low, high = as_positive_float(low, name="low"), as_positive_float(high, name="high")
    if low > high:
        raise ValueError(f"low must not exceed high, got low={low!r} and high={high!r}")
    return low, high


def room_for(values: Floats, n_terms: int, out: Floats | None) -> Floats:
    """Return ``out``, or a new array for ``n_terms`` coordinates of each value."""
    return np.empty((n_terms, *values.shape), dtype=values.dtype) if out is None else out


def logarithms(values: Floats) -> Floats:
    """Return natural logarithms; of zeros, whose coordinates are zeros whatever it is, 0.

    >>> logarithms(np.array([0.0, 1.0, np.e]))
    array([0., 0., 1.])
    """
    return np.log(values, out=np.zeros_like(values), where=values > 0)


def harmonic_mean(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 2xy/(x+y) for positive values, broadcast; it neither overflows nor underflows early.

    >>> harmonic_mean(np.array([1.0]), np.array([3.0]))
    array([1.5])
    """
    small, large = np.minimum(x, y), np.maximum(x, y)
    mean: NDArray[np.float64] = small * (2.0 / (1.0 + small / large))
    return mean


def bins_and_shares(
    histogram: LogHistogram,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return at most ``MAX_BINS`` bin centres and the share of the non-zero values in each."""
    if histogram.total <= 0.0:
        raise ValueError(
            "histogram must hold at least one non-zero value to choose or judge a series"
        )
    centres, weights = histogram.coarsened(MAX_BINS)
    return centres, weights / weights.sum()
