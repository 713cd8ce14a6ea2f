"""Features of one row at a time, remembered for the moment when the same row comes again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamchi2.feature_map import FeatureMap
from streamchi2.statistics.row_buffer import Row, as_matrix
from streamchi2.validation import Floats


class _Known(NamedTuple):
    """The last row, its features, and where its columns belong; replaced as a whole."""

    feature_map: FeatureMap
    row: Row
    features: Floats
    places: tuple[tuple[Any, NDArray[np.int32], NDArray[np.int8]], ...]


class RowFeatures:
    """The last row featurised, and where its columns belong.

    A pipeline transforms each event twice, to predict and to learn, and a stream tends to repeat
    its keys: neither need be worked out again. Rows are compared by value, so that a dict changed
    in place is another row. Nothing of this is state: pickles leave it out. One assignment
    replaces all of it, so that threads that only predict may share an estimator.
    """

    def __init__(self) -> None:
        self._known: _Known | None = None

    def of(self, feature_map: FeatureMap, row: Row) -> Floats:
        """Return the features of a row, shape (D,), not to be written to."""
        known = self._known
        if known is not None and not _same_map(known.feature_map, feature_map):
            known = None
        if known is not None and _same(known.row, row):
            return known.features
        if known is not None and known.row.columns is row.columns:
            places = known.places
        else:
            places = _places(feature_map, row)
        parts = [
            block.transform_row(row.values[own], buckets, signs)
            for block, (own, buckets, signs) in zip(feature_map.blocks, places, strict=True)
        ]
        features: Floats = parts[0] if len(parts) == 1 else np.concatenate(parts)
        self._known = _Known(feature_map, row, features, places)
        return features

    def __getstate__(self) -> dict[str, Any]:
        return RowFeatures().__dict__


def _places(feature_map: FeatureMap, row: Row) -> Any:
    """Return for each block which values it reads, and their buckets and signs."""
    places = []
    for number, block in enumerate(feature_map.blocks):
        assert block.buckets is not None
        own: Any = slice(None)
        columns = row.columns
        if feature_map.columns is not None:
            read = feature_map.columns[number]
            assert isinstance(read, range)  # as all descriptors of named rows have it
            own = slice(*columns.searchsorted((read.start, read.stop)).tolist())
            columns = columns[own] - read.start
        places.append((own, *block.buckets.assign(columns, block.series.n_terms)))
    return tuple(places)


def features_of(feature_map: FeatureMap, rows: list[Row]) -> Floats:
    """Return the features of many rows, shape (n, D), as those of each alone would be.

    Cosine transforms give the same bits for one row and for many. Matrix products of float32, which
    the other bases are made of, do not, so those are taken row by row.
    """
    if feature_map.is_rowwise:
        return feature_map.transform(as_matrix(rows))
    one = RowFeatures()
    return np.array([one.of(feature_map, row) for row in rows])


def _same_map(left: FeatureMap, right: FeatureMap) -> bool:
    # A map is put together whenever it is read; its blocks stay the same objects.
    return left is right or (
        len(left.blocks) == len(right.blocks)
        and all(mine is theirs for mine, theirs in zip(left.blocks, right.blocks, strict=True))
    )


def _same(left: Row, right: Row) -> bool:
    return np.array_equal(left.values, right.values) and (
        left.columns is right.columns or np.array_equal(left.columns, right.columns)
    )
