"""What happens to one partition, and how partial results become one: pure functions all.

A task that is run twice, since the worker that held its result was lost, gives the same result
twice, and the tree of merges takes it once. Nothing is added to anything in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from streamchi2.checks import as_estimator_rows, as_weights
from streamchi2.provenance import Learnt, Provenance
from streamchi2.sources import Batch
from streamchi2.stream import Stream

State = TypeVar("State")  # an estimator or a stream: something that merges

_BLOCK = 1024  # rows at a time, so that memory does not depend on the partition


def head(batch: Batch, start: int, n_rows: int) -> Batch:
    """Return some rows of a partition, to plan a map on, without their provenance."""
    return replace(batch.part(start, start + n_rows), source=None, start=0)


def target_shape(batch: Batch) -> tuple[int, ...] | None:
    """Return the shape of one target, or None where a partition has none."""
    return None if batch.targets is None else tuple(np.shape(batch.targets)[1:])


def inputs_seen(model: Any, empty: Stream, batch: Batch) -> Stream:
    """Return what a map has seen of one partition: histogram and sample, no features.

    ``model`` knows the columns, ``empty`` is a stream through its map that has seen nothing.
    """
    stream = empty.copy()
    if stream.feature_map is not None:
        stream.feature_map = stream.feature_map.copy()  # which is changed in place below
    if batch.n_rows == 0:
        return stream
    with partition_named_in_errors(batch):
        rows = as_estimator_rows(model, batch.rows, reset=False)
        weights = as_weights(batch.weights, rows.shape[0])
    if weights is not None:
        rows, weights = rows[weights > 0.0], weights[weights > 0.0]
    for start in range(0, rows.shape[0], _BLOCK):
        part = slice(start, start + _BLOCK)
        # Absorbed only: the map must not adapt to one partition.
        assert stream.feature_map is not None
        stream.feature_map.absorb(rows[part], None if weights is None else weights[part])
    stream.buffer.move_to(int(rows.shape[0]))
    stream.provenance = _entry(batch)
    return stream


def learnt(shard: Any, batch: Batch) -> Any:
    """Return a shard that has learnt one partition, ``shard`` being one that has learnt none."""
    part = deepcopy(shard)
    first = not part.__sklearn_is_fitted__()
    weightless = batch.weights is not None and not np.any(batch.weights)
    if batch.n_rows == 0 or (first and weightless):
        return part
    with partition_named_in_errors(batch):
        part._learn_batch(batch, first=first)
    part._stream.provenance = _entry(batch)
    return part


def merged(parts: Sequence[State]) -> State:
    """Return what partial results of neighbouring partitions are together, in their order."""
    total: Any = deepcopy(parts[0])
    for part in parts[1:]:
        total.merge(part)
    return total  # type: ignore[no-any-return]


@contextmanager
def partition_named_in_errors(batch: Batch) -> Iterator[None]:
    """Let errors name the partition in which they were raised."""
    try:
        yield
    except Exception as error:  # which counts rows from the first of the partition
        error.add_note(f"in partition {batch.start} of {batch.source}")
        raise


def _entry(batch: Batch) -> Provenance:
    return {f"{batch.source}[{batch.start}]": Learnt(batch.n_rows)}
