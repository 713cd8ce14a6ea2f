"""Rows to features: a frozen map of one or several blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.bases import Basis, HashBuckets
from streamchi2.checks.rows import Floats, Rows
from streamchi2.saving import Value, saved
from streamchi2.series import Series
from streamchi2.series.transport import RotatedSeries
from streamchi2.threads import for_each_block, one_blas_thread

ColumnNumbers: TypeAlias = tuple[int, ...] | range  # ranges are of step one


@saved("map_block")
@dataclass(frozen=True)
class MapBlock(Value):
    r"""Rows to features whose inner products approximate the exp-chi2 kernel.

    .. math:: z(x)^\top z(y) \approx \exp(-\beta\,\chi^2(x, y))

    Law: a block is a value. Equal blocks give equal features, pickles hold the seed and not a
    matrix, and nothing about a block ever changes; adapting to the data means making another one.

    Parameters
    ----------
    series : RotatedSeries
        One value to N coordinates.
    basis : Basis
        Coordinates to features.
    buckets : HashBuckets or None, default=None
        Folds the coordinates of wide or open-ended rows; None keeps every one of them.
    dtype : str, default="float32"
        "float32" or "float64", of the features.
    norm : {None, "l1"}, default=None
        Whether rows are divided by their sums first.
    work_dtype : str or None, default=None
        Of the coordinates: "float64" where distances would be lost in the rounding of float32;
        None is that of the features.

    Examples
    --------
    >>> from streamchi2.bases import OrthogonalBasis
    >>> from streamchi2.series import DirectSeries
    >>> series = RotatedSeries(DirectSeries([0.7, 0.2, 0.06]))
    >>> block = MapBlock(series, OrthogonalBasis(n_inputs=9, n_components=1000, seed=0))
    >>> z = block.transform(np.array([[0.2, 0.3, 0.5], [0.1, 0.2, 0.7]]))
    >>> print(f"{z[0] @ z[1]:.3f}, exactly {np.exp(-0.13 / 3):.3f}")
    0.959, exactly 0.958
    """

    series: RotatedSeries
    basis: Basis
    buckets: HashBuckets | None = None
    dtype: str = "float32"
    norm: str | None = None
    work_dtype: str | None = None

    @property
    def n_components(self) -> int:
        """Number of features D."""
        return self.basis.n_components

    @cached_property
    def _features(self) -> Callable[[Floats, Floats], None]:
        """What fills features from coordinates: the basis, its landmarks in coordinates too."""
        return self.basis.bound(self.inputs)

    def with_series(self, series: RotatedSeries) -> Self:
        """Return the block with another series and all else unchanged."""
        return replace(self, series=series)

    def transform(self, rows: Rows, *, n_jobs: int | None = None) -> Floats:
        """Return the features of validated rows, shape (n, D).

        Parameters
        ----------
        rows : ndarray or csr_array, shape (n, d)
            Validated rows.
        n_jobs : int or None, default=None
            Number of threads; does not change a bit of the result.
        """
        fill, block_rows = self._features, self.basis.block_rows
        features: Floats = np.empty((rows.shape[0], self.n_components), dtype=self.dtype)

        def work(start: int, stop: int) -> None:
            fill(self.inputs(normalized(rows[start:stop], self.norm)), features[start:stop])

        with one_blas_thread:  # sums depend on the number of threads
            for_each_block(work, rows.shape[0], n_jobs=n_jobs, block_rows=block_rows)
        return features

    def within(self, rows: Rows) -> Rows:
        """Return rows in the dtype of the coordinates; what is too large becomes its largest."""
        dtype = self.work_dtype or self.dtype
        if rows.dtype == dtype:
            return rows
        return with_values(rows, np.minimum(values_of(rows), np.finfo(dtype).max).astype(dtype))

    def inputs(self, rows: Rows) -> Floats:
        """Return the coordinates of rows, shape (n, n_inputs), in their dtype."""
        return coordinates_of(self.within(rows), self.series, self.buckets)


def coordinates_of(rows: Rows, series: Series, buckets: HashBuckets | None) -> Floats:
    """Return the coordinates of validated rows, all first terms before all second, or folded."""
    if buckets is not None:
        rows = sparse.csr_array(rows)  # only stored values have buckets
        return buckets.fold(rows, series.coordinates(np.asarray(rows.data)))
    (n_rows, width), n_terms = rows.shape, series.n_terms
    inputs: Floats = np.zeros((n_rows, n_terms * width), dtype=rows.dtype)
    terms = inputs.reshape(n_rows, n_terms, width).transpose(1, 0, 2)
    if isinstance(rows, sparse.csr_array):
        row_of_value = np.repeat(np.arange(n_rows), np.diff(rows.indptr))
        terms[:, row_of_value, rows.indices] = series.coordinates(rows.data)
    else:
        series.coordinates(rows, out=terms)
    return inputs


class RowBlock:
    """A block for single rows of given columns, folded; what follows from them is worked out once.

    Where phases are one product, what a coordinate adds to them is a line of a matrix. Sums are
    taken one line after the other and without BLAS, whose threads would wake for microseconds of
    work.

    Law: values of zero change no bit, nor do their columns.
    """

    def __init__(self, block: MapBlock, columns: NDArray[np.int64]) -> None:
        assert block.buckets is not None
        self._block = block
        buckets, flips = block.buckets.assign(columns, block.series.n_terms)
        self._inputs = buckets.T.ravel().astype(np.intp)  # all first terms, then all second
        self._signs = flips.T.ravel().astype(block.work_dtype or block.dtype)
        basis, dtype = block.basis, self._signs.dtype
        self._lines = basis.lines(self._inputs, dtype) if basis.has_lines else None

    def transform(self, values: NDArray[np.float64]) -> Floats:
        """Return the features of a row, shape (D,), from its validated values."""
        block = self._block
        row = block.within(normalized(values[None, :], block.norm))
        coordinates = block.series.coordinates(row[0]).ravel()
        coordinates *= self._signs
        features: Floats = np.empty((1, block.n_components), dtype=block.dtype)
        if self._lines is not None:
            block.basis.fill(weighted_sum(coordinates, self._lines)[None, :], features)
        else:
            inputs = np.zeros((1, block.basis.n_inputs), dtype=coordinates.dtype)
            np.add.at(inputs[0], self._inputs, coordinates)
            with one_blas_thread:
                block._features(inputs, features)
        return features.ravel()


@saved("feature_map")
@dataclass(frozen=True)
class FeatureMap(Value):
    r"""Features of every block side by side, so that their kernels add up.

    .. math:: z(x)^\top z(y) = \sum_g z_g(x_g)^\top z_g(y_g)
              \approx \sum_g \exp(-\beta_g\,\chi^2(x_g, y_g))

    Law: a map is a value, as each :class:`MapBlock` in it is. With one block that reads whole rows
    its features are those of the block, bit for bit.

    Parameters
    ----------
    blocks : tuple of MapBlock
        One, or one a descriptor.
    columns : tuple of tuple of int or range, or None
        Columns that each block reads; None where the only one reads whole rows.
    """

    blocks: tuple[MapBlock, ...]
    columns: tuple[ColumnNumbers, ...] | None = None
    # The last columns of a single row, and what follows from them.
    _last: Any = field(default=(None, ()), init=False, compare=False, repr=False)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of outputs of each block."""
        return tuple(block.n_components for block in self.blocks)

    @property
    def n_components(self) -> int:
        """Number of outputs of all blocks together."""
        return sum(self.sizes)

    def transform(self, rows: Rows, *, n_jobs: int | None = None) -> Floats:
        """Return the outputs for validated rows, shape (n, n_components), blocks in order."""
        pairs = zip(self.blocks, parts_of(rows, self.columns), strict=True)
        features = [block.transform(part, n_jobs=n_jobs) for block, part in pairs]
        return features[0] if len(features) == 1 else np.hstack(features)

    def transform_row(self, columns: NDArray[np.int64], values: NDArray[np.float64]) -> Floats:
        """Return the outputs for one validated row of named columns, shape (n_components,).

        Streams repeat their columns: what follows from them is kept until others come. Columns
        ascend; with several blocks each reads a range of them.
        """
        key, parts = self._last
        if key != columns.tobytes():
            parts = self._parts(columns)
            # In one assignment, so that threads may share the map.
            object.__setattr__(self, "_last", (columns.tobytes(), parts))
        features = [part.transform(values[inside]) for inside, part in parts]
        return features[0] if len(features) == 1 else np.concatenate(features)

    def transform_each(self, rows: sparse.csr_array) -> Floats:
        """Return the outputs for many rows of named columns, each worked out alone."""
        features: Floats = np.empty((rows.shape[0], self.n_components), self.blocks[0].dtype)
        for index, (start, stop) in enumerate(pairwise(rows.indptr.tolist())):
            columns = rows.indices[start:stop].astype(np.int64, copy=False)
            features[index] = self.transform_row(columns, rows.data[start:stop])
        return features

    def _parts(self, columns: NDArray[np.int64]) -> list[tuple[slice, RowBlock]]:
        """Return for each block which values it reads, and the block for their columns."""
        parts = []
        for block, ends in zip(self.blocks, self.columns or (range(2**62),), strict=True):
            assert isinstance(ends, range)  # as all descriptors of named rows have it
            inside = slice(*columns.searchsorted((ends.start, ends.stop)).tolist())
            parts.append((inside, RowBlock(block, columns[inside] - ends.start)))
        return parts


def parts_of(rows: Rows, columns: tuple[ColumnNumbers, ...] | None) -> list[Rows]:
    """Return what each block reads of validated rows: all columns, where there is only one.

    >>> parts_of(np.arange(6.0).reshape(2, 3), ((2, 0), range(1, 2)))
    [array([[2., 0.],
           [5., 3.]]), array([[1.],
           [4.]])]
    """
    return [rows] if columns is None else [read(rows, each) for each in columns]


def read(rows: Rows, columns: ColumnNumbers) -> Rows:
    """Return some columns of validated rows; of dense ones a range is no copy."""
    if isinstance(columns, range):
        return rows[:, columns.start : columns.stop]
    chosen: Rows = rows[:, list(columns)]
    if isinstance(chosen, sparse.csr_array):
        chosen.sort_indices()  # validated sparse rows are canonical
    return chosen


def weighted_sum(weights: Floats, rows: Floats) -> Floats:
    """Return the sum of rows times their weights, one added after the other.

    So weights of zero change no bit, however many there are. Of rows of a single entry einsum
    would add several partial sums.

    >>> weighted_sum(np.array([2.0, 0.0, 1.0]), np.array([[1.0, 0.0], [5.0, 5.0], [0.0, 3.0]]))
    array([2., 3.])
    """
    if not weights.size:  # einsum reads memory that is not there: NaN, where it looks like one
        return np.zeros(rows.shape[1], rows.dtype)
    summed: Floats = np.einsum("i,ij->j", weights, rows)
    return summed


def values_of(rows: Rows) -> Floats:
    """Return the values of rows that are stored, one row after the other."""
    return rows.data if isinstance(rows, sparse.csr_array) else rows.ravel()


def with_values(rows: Rows, values: Floats) -> Rows:
    """Return rows with other values in place of those that are stored."""
    if isinstance(rows, sparse.csr_array):
        return sparse.csr_array((values, rows.indices, rows.indptr), shape=rows.shape)
    return values.reshape(rows.shape)


def normalized(rows: Rows, norm: str | None) -> Rows:
    """Return rows divided by their sums, in their dtype, if ``norm`` is "l1"; zeros stay zeros.

    Values are first taken in units of the largest of their row, so that no sum overflows. Sums are
    taken one value after the other, in the order of the columns: a zero between two values
    changes no bit, so that an absent value and a zero are the same input.

    >>> normalized(np.array([[1.0, 3.0], [0.0, 0.0]]), "l1")
    array([[0.25, 0.75],
           [0.  , 0.  ]])
    """
    if norm is None:
        return rows
    n_rows, values = rows.shape[0], values_of(rows)
    n_values = np.diff(rows.indptr) if isinstance(rows, sparse.csr_array) else rows.shape[1]
    row_of_value = np.repeat(np.arange(n_rows), n_values)
    largest = np.zeros(n_rows)
    np.maximum.at(largest, row_of_value, values)
    shares = values / np.where(largest > 0.0, largest, 1.0)[row_of_value]
    sums = np.bincount(row_of_value, shares, n_rows)
    shares /= np.where(sums > 0.0, sums, 1.0)[row_of_value]
    return with_values(rows, shares.astype(rows.dtype, copy=False))
