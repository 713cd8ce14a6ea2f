"""What every chi2 series has in common: one value becomes N coordinates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from streamchi2.checks import Floats, Rows, as_positive_float, as_positive_int, as_rows
from streamchi2.saving import Value
from streamchi2.statistics.log_histogram import LogHistogram

USUAL_TERMS = 5  # of the series that cannot tell how many they need


class Series(Value, ABC):
    r"""A map of one non-negative value to N coordinates.

    Inner products of coordinates tend to the harmonic mean 2xy/(x+y), hence

    .. math:: \tfrac12 \lVert c(x) - c(y) \rVert^2 \approx \chi^2(x, y).

    Law: zero maps to zero, so sparsity survives, and a missing column equals a column of zeros.
    """

    terms_step: ClassVar[int] = 1  # between numbers of terms that the series can have

    n_terms: int

    @classmethod
    def from_histogram(cls, histogram: LogHistogram, n_terms: int) -> Self:
        """Return the series of this kind that suits a histogram best."""
        raise NotImplementedError

    @classmethod
    def enough(
        cls, histogram: LogHistogram, *, n_components: int, beta: float, values_per_row: float
    ) -> Self:
        """Return a series whose number of terms suits D features: five, unless it can tell."""
        return cls.from_histogram(histogram, USUAL_TERMS)

    @classmethod
    def for_range(cls, low: float, high: float, n_terms: int) -> Self:
        """Return a series for values of which only the range is known."""
        return cls.from_histogram(LogHistogram().update(np.geomspace(low, high, 100)), n_terms)

    @classmethod
    def check_n_terms(cls, n_terms: int) -> None:
        """Refuse a number of terms that this kind of series cannot have."""
        as_positive_int(n_terms, name="n_terms")

    @abstractmethod
    def coordinates(self, values: Floats, out: Floats | None = None) -> Floats:
        """Return the coordinates of checked values, shape ``(N, *values.shape)``, in their dtype.

        ``out``, an array of that shape, is filled and returned when given.
        """

    @abstractmethod
    def error_bound(self, low: float, high: float) -> float:
        """Return the largest |2xy/(x+y) - c(x)·c(y)| for x and y in [low, high]."""

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


def harmonic_mean(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 2xy/(x+y) for positive values, broadcast; it neither overflows nor underflows early.

    >>> harmonic_mean(np.array([1.0]), np.array([3.0]))
    array([1.5])
    """
    small, large = np.minimum(x, y), np.maximum(x, y)
    mean: NDArray[np.float64] = small * (2.0 / (1.0 + small / large))
    return mean
