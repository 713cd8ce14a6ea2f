"""Features of one row at a time, remembered for the moment when the same row comes again."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamchi2.bases import OrthogonalBasis
from streamchi2.feature_map import FeatureMap
from streamchi2.river.dict_rows import Row, as_matrix
from streamchi2.validation import Floats


class RowFeatures:
    """The last row featurised, and where its columns belong.

    A pipeline transforms each event twice, to predict and to learn, and a stream tends to repeat
    its keys: neither need be worked out again. Rows are compared by value, so that a dict changed
    in place is another row. Nothing of this is state: pickles leave it out.
    """

    def __init__(self) -> None:
        self._recipe: FeatureMap | None = None
        self._row: Row | None = None
        self._features: Floats | None = None
        self._places: tuple[NDArray[np.int32], NDArray[np.int8]] | None = None

    def of(self, recipe: FeatureMap, row: Row) -> Floats:
        """Return the features of a row, shape (D,), not to be written to."""
        before = self._row if recipe is self._recipe else None
        if before is not None and self._features is not None and _same(before, row):
            return self._features
        assert recipe.buckets is not None
        if before is None or self._places is None or before.columns is not row.columns:
            self._places = recipe.buckets.places(row.columns, recipe.series.n_terms)
        self._features = recipe.transform_row(row.values, *self._places)
        self._recipe, self._row = recipe, row
        return self._features

    def __getstate__(self) -> dict[str, Any]:
        return RowFeatures().__dict__


def features_of(recipe: FeatureMap, rows: list[Row]) -> Floats:
    """Return the features of many rows, shape (n, D), as those of each alone would be.

    Cosine transforms give the same bits for one row and for many. Matrix products of float32, which
    the other bases are made of, do not, so those are taken row by row.
    """
    if isinstance(recipe.basis, OrthogonalBasis):
        return recipe.transform(as_matrix(rows))
    one = RowFeatures()
    return np.array([one.of(recipe, row) for row in rows])


def _same(left: Row, right: Row) -> bool:
    return np.array_equal(left.values, right.values) and (
        left.columns is right.columns or np.array_equal(left.columns, right.columns)
    )
