"""Features of one row at a time, remembered for the moment when the same row comes again."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from streamchi2.checks import Floats
from streamchi2.feature_map import FeatureMap
from streamchi2.feature_map.feature_map import RowBlock
from streamchi2.statistics.row_buffer import Row, as_matrix


class _Known(NamedTuple):
    """The last row, its features, and what its columns need; replaced as a whole."""

    feature_map: FeatureMap
    row: Row
    features: Floats
    parts: tuple[tuple[slice, RowBlock], ...]


class RowFeatures:
    """The last row featurised, and what its columns need.

    A pipeline transforms each event twice, to predict and to learn, and a stream tends to repeat
    its keys: neither need be worked out again. A reader of dicts gives equal dicts the same row;
    rows of other columns are compared by value. Nothing of this is state: pickles leave it out.
    One assignment replaces all of it, so that threads that only predict may share an estimator.
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
            parts = known.parts
        else:
            parts = _parts(feature_map, row)
        found = [part.transform(row.values[own]) for own, part in parts]
        features: Floats = found[0] if len(found) == 1 else np.concatenate(found)
        self._known = _Known(feature_map, row, features, parts)
        return features

    def __getstate__(self) -> dict[str, Any]:
        return RowFeatures().__dict__


def _parts(feature_map: FeatureMap, row: Row) -> tuple[tuple[slice, RowBlock], ...]:
    """Return for each block which values it reads, and the block for their columns."""
    if feature_map.columns is None:
        return ((slice(None), feature_map.blocks[0].for_columns(row.columns)),)
    parts = []
    for block, read in zip(feature_map.blocks, feature_map.columns, strict=True):
        assert isinstance(read, range)  # as all descriptors of named rows have it
        own = slice(*row.columns.searchsorted((read.start, read.stop)).tolist())
        parts.append((own, block.for_columns(row.columns[own] - read.start)))
    return tuple(parts)


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
    if left.columns is right.columns:
        return left is right
    return np.array_equal(left.columns, right.columns) and np.array_equal(left.values, right.values)
