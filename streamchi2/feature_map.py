"""The frozen recipe from a row to its features: series, rotation, basis, buckets."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.bases import HashBuckets, LandmarkBasis, RandomBasis, SubspaceBasis
from streamchi2.bases.landmarks import AnchoredLandmarks
from streamchi2.runtime.threads import BLOCK_ROWS, for_each_block
from streamchi2.series.transport import RotatedSeries
from streamchi2.validation import Floats, Rows

_LEAST_BETA = 1e-30


@dataclass(frozen=True)
class FeatureMap:
    r"""Rows to features whose inner products approximate the exp-chi2 kernel.

    .. math:: z(x)^\top z(y) \approx \exp(-\beta\,\chi^2(x, y))

    Law: a map is a value. Equal maps give equal features, pickles hold the seed and not a matrix,
    and nothing about a map ever changes; adapting to the data means making another one.

    Parameters
    ----------
    series : RotatedSeries
        One value to N coordinates.
    basis : RandomBasis, SubspaceBasis or LandmarkBasis
        Coordinates to features; knows beta, dof and the seed or the landmarks.
    buckets : HashBuckets or None, default=None
        Folds the coordinates of wide or open-ended rows; None keeps every one of them.
    dtype : str, default="float32"
        "float32" or "float64", of the work and of the features.

    Examples
    --------
    >>> from streamchi2.bases import OrthogonalBasis
    >>> from streamchi2.series import DirectSeries
    >>> series = RotatedSeries(DirectSeries([0.7, 0.2, 0.06]))
    >>> recipe = FeatureMap(series, OrthogonalBasis(n_inputs=9, n_components=1000, seed=0))
    >>> z = recipe.transform(np.array([[0.2, 0.3, 0.5], [0.1, 0.2, 0.7]]))
    >>> print(f"{z[0] @ z[1]:.3f}, exactly {np.exp(-0.13 / 3):.3f}")
    0.959, exactly 0.958
    """

    series: RotatedSeries
    basis: RandomBasis | SubspaceBasis | LandmarkBasis
    buckets: HashBuckets | None = None
    dtype: str = "float32"

    @property
    def n_components(self) -> int:
        """Number of features D."""
        return self.basis.n_components

    @cached_property
    def _ready(self) -> RandomBasis | SubspaceBasis | AnchoredLandmarks:
        """The basis, its landmarks (if it has any) in the coordinates of this map."""
        return self.basis.ready(lambda rows: self.inputs(_within(rows, self._work_dtype)))

    def with_series(self, series: RotatedSeries) -> Self:
        """Return the map with other landmarks and all else unchanged."""
        return replace(self, series=series)

    def transform(self, rows: Rows, *, n_jobs: int | None = None) -> Floats:
        """Return the features of checked rows, shape (n, D).

        Parameters
        ----------
        rows : ndarray or csr_array, shape (n, d)
            As they come from the door.
        n_jobs : int or None, default=None
            Number of threads; does not change a bit of the result.
        """
        if self.buckets is not None:
            rows = sparse.csr_array(rows)  # only stored values have buckets
        dtype, ready = self._work_dtype, self._ready
        features: Floats = np.empty((rows.shape[0], self.n_components), dtype=self.dtype)

        def work(start: int, stop: int) -> None:
            block = _within(rows[start:stop], dtype)
            ready.features(self.inputs(block), features[start:stop])

        block_rows = ready.block_rows if isinstance(ready, AnchoredLandmarks) else BLOCK_ROWS
        for_each_block(work, rows.shape[0], n_jobs=n_jobs, block_rows=block_rows)
        return features

    def transform_row(
        self,
        values: NDArray[np.float64],
        buckets: NDArray[np.int32],
        signs: NDArray[np.int8],
    ) -> Floats:
        """Return the features of one folded row, shape (D,), without a matrix around it.

        Parameters
        ----------
        values : ndarray, shape (n_values,)
            Checked values of the row; zeros are welcome.
        buckets, signs : ndarray, shape (n_values, n_terms)
            Where they belong, from :meth:`streamchi2.bases.HashBuckets.places`.
        """
        coordinates = self.series.coordinates(np.asarray(_within(values, self._work_dtype)))
        inputs: Floats = np.zeros((1, self.basis.scratch_width), dtype=coordinates.dtype)
        # One after the other, as a sparse matrix adds them: the same bits as ``transform``.
        np.add.at(inputs[0], buckets.ravel(), (coordinates.T * signs).ravel())
        features: Floats = np.empty((1, self.n_components), dtype=self.dtype)
        self._ready.features(inputs, features)
        row: Floats = features[0]
        return row

    @property
    def _work_dtype(self) -> str:
        # Data whose scale is beyond float32 show by their beta; only the features fit then.
        return self.dtype if _LEAST_BETA < self.basis.beta < 1 / _LEAST_BETA else "float64"

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

    def __getstate__(self) -> dict[str, Any]:
        # Landmarks in coordinates can be worked out again.
        return {field.name: getattr(self, field.name) for field in fields(self)}


def _within(rows: Rows, dtype: str) -> Rows:
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
