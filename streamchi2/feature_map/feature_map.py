"""Rows to features: a frozen map of one or several blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.bases import BASES, Basis, BoundBasis, HashBuckets
from streamchi2.checks import Floats, Rows
from streamchi2.feature_map.normalization import NORMALIZATIONS, l1_normalized
from streamchi2.series.transport import RotatedSeries
from streamchi2.state import (
    Columns,
    Kind,
    Maybe,
    Object,
    Param,
    SavedValue,
    TupleOf,
    require,
)
from streamchi2.threads import for_each_block, one_blas_thread

ColumnNumbers: TypeAlias = tuple[int, ...] | range  # ranges are of step one


@dataclass(frozen=True)
class MapBlock(SavedValue):
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
    normalize : {None, "l1"}, default=None
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

    STATE: ClassVar[dict[str, Kind]] = {
        "series": Object((RotatedSeries,)),
        "basis": Object(tuple(BASES.values())),
        "buckets": Maybe(Object((HashBuckets,))),
        "dtype": Param(),
        "normalize": Param(),
        "work_dtype": Param(),
    }

    series: RotatedSeries
    basis: Basis
    buckets: HashBuckets | None = None
    dtype: str = "float32"
    normalize: str | None = None
    work_dtype: str | None = None

    @property
    def n_components(self) -> int:
        """Number of features D."""
        return self.basis.n_components

    @property
    def _work_dtype(self) -> str:
        return self.work_dtype or self.dtype

    @cached_property
    def _bound(self) -> BoundBasis:
        """The basis, its landmarks (if it has any) in the coordinates of this block."""
        return self.basis.bind(lambda rows: self.inputs(_within(rows, self._work_dtype)))

    def with_series(self, series: RotatedSeries) -> Self:
        """Return the block with another series and all else unchanged."""
        return replace(self, series=series)

    def transform(
        self, rows: Rows, *, n_jobs: int | None = None, ends: Sequence[int] | None = None
    ) -> Floats:
        """Return the features of validated rows, shape (n, D).

        Parameters
        ----------
        rows : ndarray or csr_array, shape (n, d)
            Validated rows.
        n_jobs : int or None, default=None
            Number of threads; does not change a bit of the result.
        ends : sequence of int, optional
            Where rows that are worked on together end; by default after every ``block_rows``.
        """
        if self.buckets is not None and not isinstance(rows, sparse.csr_array):
            rows = sparse.csr_array(rows)  # only stored values have buckets
        dtype, bound = self._work_dtype, self._bound
        features: Floats = np.empty((rows.shape[0], self.n_components), dtype=self.dtype)

        def work(start: int, stop: int) -> None:
            # Slicing a sparse matrix copies it.
            part = rows if stop - start == rows.shape[0] else rows[start:stop]
            block = _within(self.normalized(part), dtype)
            bound.features(self.inputs(block), features[start:stop])

        for_each_block(work, rows.shape[0], n_jobs=n_jobs, block_rows=bound.block_rows, ends=ends)
        return features

    def for_columns(self, columns: NDArray[np.int64]) -> RowBlock:
        """Return the block for single rows with these columns and no others, folded."""
        assert self.buckets is not None
        dtype, n_inputs = np.dtype(self._work_dtype), self.basis.n_inputs
        buckets, flips = self.buckets.assign(columns, self.series.n_terms)
        places, signs = buckets.ravel().astype(np.intp), flips.astype(dtype)
        is_used = np.zeros(n_inputs, dtype=np.bool_)
        is_used[places] = True
        if 2 * np.count_nonzero(is_used) > n_inputs:
            is_used[:] = True  # so many are cheaper where they are
        used = np.flatnonzero(is_used)
        basis = self.basis.of_inputs(used, dtype)
        if basis is None:
            by_blas = not self.basis.is_rowwise
            return RowBlock(self, places, signs, self.basis.scratch_width, self._bound, by_blas)
        among_used = np.cumsum(is_used)[places] - 1
        return RowBlock(self, among_used, signs, used.size, basis, False)

    def normalized(self, rows: Rows) -> Rows:
        """Return rows as the series sees them."""
        return rows if self.normalize is None else l1_normalized(rows)

    def coordinates(self, rows: Rows) -> NDArray[np.float64]:
        """Return what reaches the basis, in double precision whatever the dtype.

        Small eigenvalues are made of it, and divided by.
        """
        rows = sparse.csr_array(rows) if self.buckets is not None else rows
        doubled = self.inputs(rows.astype(np.float64, copy=False))
        return np.asarray(doubled[:, : self.basis.n_inputs], dtype=np.float64)

    def inputs(self, rows: Rows) -> Floats:
        """Coordinates of a block of rows in a scratch array, zeros behind them."""
        if self.buckets is not None:
            folded = self.buckets.fold(rows, self.series.coordinates(np.asarray(rows.data)))
            return _padded(folded, self.basis.scratch_width)
        n_rows, width = rows.shape
        n_terms = self.series.n_terms
        scratch: Floats = np.zeros((n_rows, self.basis.scratch_width), dtype=rows.dtype)
        terms = scratch[:, : n_terms * width].reshape(n_rows, n_terms, width).transpose(1, 0, 2)
        if isinstance(rows, sparse.csr_array):
            row_of_value = np.repeat(np.arange(n_rows), np.diff(rows.indptr))
            terms[:, row_of_value, rows.indices] = self.series.coordinates(rows.data)
        else:
            self.series.coordinates(rows, out=terms)
        return scratch

    def validate(self) -> None:
        """Require a basis as wide as the buckets that fill it."""
        require(self.normalize in NORMALIZATIONS, "normalize must be null or 'l1'")
        for dtype in (self.dtype, self._work_dtype):
            require(dtype in ("float32", "float64"), "dtypes must be float32 or float64")
        if self.buckets is not None:
            require(self.buckets.n_buckets == self.basis.n_inputs, "buckets must fill the basis")

    def __getstate__(self) -> dict[str, Any]:
        # Landmarks in coordinates can be worked out again.
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, eq=False)
class RowBlock:
    """A block for single rows of given columns: what follows from the columns is worked out once.

    Law: values of zero change no bit, nor do their columns; with a basis that is row by row, the
    features are those of :meth:`MapBlock.transform`, bit for bit.
    """

    block: MapBlock
    places: NDArray[np.intp]  # (n_values * n_terms,), of the coordinates among the inputs
    signs: Floats  # (n_values, n_terms)
    n_inputs: int
    basis: BoundBasis  # that reads so many inputs
    by_blas: bool  # whether it multiplies matrices

    def transform(self, values: NDArray[np.float64]) -> Floats:
        """Return the features of a row, shape (D,), from its validated values."""
        block = self.block
        if block.normalize is not None and values.size:
            values = block.normalized(values[None, :])[0]
        coordinates = block.series.coordinates(np.asarray(_within(values, self.signs.dtype)))
        inputs: Floats = np.zeros((1, self.n_inputs), dtype=coordinates.dtype)
        # One after the other, as a sparse matrix adds them: the same bits as among other rows.
        signed = np.multiply(coordinates.T, self.signs, order="C")
        np.add.at(inputs[0], self.places, signed.ravel())
        features: Floats = np.empty((1, block.n_components), dtype=block.dtype)
        if self.by_blas:
            with one_blas_thread:  # sums depend on the number of threads, which would only wait
                self.basis.features(inputs, features)
        else:
            self.basis.features(inputs, features)
        row: Floats = features[0]
        return row


@dataclass(frozen=True)
class FeatureMap(SavedValue):
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

    STATE: ClassVar[dict[str, Kind]] = {
        "blocks": TupleOf(Object((MapBlock,))),
        "columns": Maybe(TupleOf(Columns())),
    }

    blocks: tuple[MapBlock, ...]
    columns: tuple[ColumnNumbers, ...] | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of outputs of each block."""
        return tuple(block.n_components for block in self.blocks)

    @property
    def n_components(self) -> int:
        """Number of outputs of all blocks together."""
        return sum(self.sizes)

    @property
    def block_rows(self) -> int:
        """Rows that are featurised together: the bits of a row may depend on it, not on others."""
        return max(block._bound.block_rows for block in self.blocks)

    @property
    def is_rowwise(self) -> bool:
        """Whether one row alone gives the bits that it gives among others."""
        return all(block.basis.is_rowwise for block in self.blocks)

    def transform(
        self, rows: Rows, *, n_jobs: int | None = None, ends: Sequence[int] | None = None
    ) -> Floats:
        """Return the outputs for validated rows, shape (n, n_components), blocks in order.

        ``ends`` are where rows that are worked on together end, on which bits may depend.
        """
        if self.columns is None:
            return self.blocks[0].transform(rows, n_jobs=n_jobs, ends=ends)
        pairs = zip(self.blocks, self.columns, strict=True)
        return np.hstack(
            [block.transform(read(rows, own), n_jobs=n_jobs, ends=ends) for block, own in pairs]
        )

    def validate(self) -> None:
        """Require columns for every block."""
        blocks, columns = self.blocks, self.columns
        require(len(blocks) > 0, "there must be a block")
        n_readers = 1 if columns is None else len(columns)
        require(n_readers == len(blocks), "there must be columns for every block")
        for block, own in zip(blocks, columns or (), strict=columns is not None):
            distinct = isinstance(own, range) or len(set(own)) == len(own)
            require(distinct, "columns must differ")
            n_inputs = len(own) * block.series.n_terms
            fits = block.buckets is not None or block.basis.n_inputs == n_inputs
            require(fits, "the basis must read as many columns as there are")


def read(rows: Rows, columns: ColumnNumbers) -> Rows:
    """Return some columns of validated rows, without a copy of dense ones where they are a range.

    >>> read(np.arange(6.0).reshape(2, 3), (2, 0))
    array([[2., 0.],
           [5., 3.]])
    >>> read(np.arange(6.0).reshape(2, 3), range(1, 3))
    array([[1., 2.],
           [4., 5.]])
    """
    if isinstance(columns, range):
        return rows[:, columns.start : columns.stop]
    chosen: Rows = rows[:, list(columns)]
    if isinstance(chosen, sparse.csr_array):
        chosen.sort_indices()  # validated sparse rows are canonical
    return chosen


def _within(rows: Rows, dtype: str | np.dtype[Any]) -> Rows:
    """Return rows in a dtype; what is too large for float32 becomes its largest number."""
    if rows.dtype == dtype:
        return rows
    try:
        with np.errstate(over="raise"):
            return rows.astype(dtype, copy=False)
    except FloatingPointError:
        largest = np.finfo(dtype).max
        if isinstance(rows, sparse.csr_array):
            values = np.minimum(rows.data, largest).astype(dtype)
            return sparse.csr_array((values, rows.indices, rows.indptr), shape=rows.shape)
        return np.minimum(rows, largest).astype(dtype)


def _padded(block: Floats, width: int) -> Floats:
    if block.shape[1] == width:
        return block
    scratch: Floats = np.zeros((block.shape[0], width), dtype=block.dtype)
    scratch[:, : block.shape[1]] = block
    return scratch
