"""Feature maps and trackers for tests, without an estimator around them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.features import FeatureMap, MapSpec, Tracker

PARAMS: dict[str, Any] = {
    "n_components": 256,
    "norm": None,
    "basis": "orthogonal",
    "beta": "auto",
    "dof": 2,
    "series": "direct",
    "n_terms": 3,
    "landmarks": None,
    "adapt": True,
    "half_life": None,
}


def spec_of(width: int, *, seed: int = 0, columns: Any = None, **params: Any) -> MapSpec:
    """Return the spec of a map for rows of this width."""
    return MapSpec.of({**PARAMS, **params}, width, seed, columns)


def steps(spec: MapSpec, rows: Any, weights: Any = None, *, block: int = 64) -> Iterator[Tracker]:
    """Yield the tracker of a stream: planned on its first rows, then after each block."""
    weights = np.ones(rows.shape[0]) if weights is None else weights
    first = spec.first_rows
    tracker = Tracker.planned(spec, rows[:first], weights[:first])
    yield tracker
    for start in range(first, rows.shape[0], block):
        end = min(start + block, rows.shape[0])
        tracker = tracker.absorbed(rows[start:end], weights[start:end], end)
        yield tracker


def tracker_of(spec: MapSpec, rows: Any, weights: Any = None, *, block: int = 64) -> Tracker:
    """Return the tracker of a stream after all its rows."""
    *_, tracker = steps(spec, rows, weights, block=block)
    return tracker


def plan(spec: MapSpec, rows: Any, *, final: bool = True) -> FeatureMap:
    """Return the map for a stream that begins with these rows."""
    return Tracker.planned(spec, rows, np.ones(rows.shape[0]), final=final).feature_map


def named(rows: NDArray[np.floating[Any]], *, zeros: bool = True) -> sparse.csr_array:
    """Return rows in a matrix with a column for every possible key."""
    columns = np.tile(np.arange(rows.shape[1]) * 2**40, len(rows))
    ends = rows.shape[1] * np.arange(len(rows) + 1)
    matrix = sparse.csr_array((rows.ravel(), columns, ends), shape=(len(rows), 2**62))
    if not zeros:
        matrix.eliminate_zeros()
    return matrix
