"""What happens to one partition, and how partial results become one: pure functions all.

A task that is run twice, since the worker that held its result was lost, gives the same result
twice, and the tree of merges takes it once. Nothing is added to anything in place. Partial results
are streams; estimators would choose their penalty before they are sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed

from streamchi2.features import Tracker
from streamchi2.provenance import LearntRows, Provenance
from streamchi2.sources import Batch
from streamchi2.stream import Stream


def tree(start: Any, parts: Sequence[Delayed], fan_in: int) -> Any:
    """Return the stream that estimators like ``start`` have learnt of all partitions.

    Neighbours join first. None where there was no row, and no map.
    """
    sent = delayed(start, pure=False, traverse=False)
    level = [delayed(_learnt, pure=False)(sent, part) for part in parts]
    join = delayed(_merged, pure=False)
    while len(level) > 1:
        level = [join(level[at : at + fan_in]) for at in range(0, len(level), fan_in)]
    return level[0].compute()


def _learnt(start: Any, batch: Batch) -> Stream | None:
    """Return what an estimator learns of one partition."""
    part = deepcopy(start)
    first = not part.__sklearn_is_fitted__()
    if batch.n_rows == 0 or (first and _is_weightless(batch)):
        return None if first else part._stream
    if not (first or part._stream.settings.learns):
        batch = replace(batch, targets=None, given=None)
    with partition_named_in_errors(batch):
        part._learn_batch(batch, first=first)
    part._stream.provenance = _entry(batch)
    return _lighter(part._stream)


def _merged(parts: Sequence[Stream | None]) -> Stream | None:
    """Return what partial results of neighbouring partitions are together, in their order."""
    streams = [part for part in parts if part is not None]
    if not streams:
        return None
    total = streams[0].copy()
    for stream in streams[1:]:
        total.merge(stream)
    return _lighter(total)


def _lighter(stream: Stream) -> Stream:
    """Return a stream without what shards would choose a penalty from."""
    if stream.learnt is not None:
        stream.learnt.forget_choice()
    return stream


def under(stream: Stream, tracker: Tracker, *, learns: bool) -> Stream:
    """Return a stream in the same state under another tracker, its pending rows learnt."""
    settled, settings = stream.settled(), replace(stream.settings, learns=learns)
    kept: dict[str, Any] = {} if learns else {"statistics": None}
    learnt = replace(settled, settings=settings, tracker=tracker, **kept)
    changes = {"settings": settings, "learnt": learnt, "pending": None}
    return Stream._from_saved(stream._saved_state() | changes)


def with_adapt(tracker: Tracker, adapt: bool) -> Tracker:
    """Return a tracker that estimates nodes again where due, or never does."""
    parts = (replace(part, spec=replace(part.spec, adapt=adapt)) for part in tracker.parts)
    return replace(tracker, parts=tuple(parts))


def reestimated(tracker: Tracker, n_rows: int) -> Tracker:
    """Return a tracker whose nodes have been estimated again from all that it has seen."""
    return replace(tracker, parts=tuple(part.reestimated(n_rows)[0] for part in tracker.parts))


def planned_on_first_rows(model: Any, parts: Sequence[Delayed]) -> None:
    """Let a new estimator learn the first rows, as many as its map is planned on."""
    provenance = Provenance()
    for part in parts:
        start = 0
        while (n_missing := _n_missing(model)) > 0:
            batch: Batch = delayed(_head, pure=False)(part, start, n_missing).compute()
            if batch.n_rows == 0:
                break
            start += batch.n_rows
            provenance |= _entry(batch, start)
            first = not model.__sklearn_is_fitted__()
            if first and _is_weightless(batch):
                continue  # as good as no rows
            model._learn_batch(batch, first=first)
    if not model.__sklearn_is_fitted__():
        raise ValueError("X must hold at least one row, got none")
    model._stream.provenance = provenance


def _n_missing(model: Any) -> int:
    if not model.__sklearn_is_fitted__():
        return 1  # which tells the width, and with it how many are needed
    stream = model._stream
    return 0 if stream.is_planned else int(stream.plan_at - stream.n_rows)


def _head(batch: Batch, start: int, n_rows: int) -> Batch:
    """Return some rows of a partition, whose number stays that of the partition."""
    return replace(batch.part(start, start + n_rows), start=batch.start)


def _entry(batch: Batch, n_rows: int | None = None) -> Provenance:
    n_rows = batch.n_rows if n_rows is None else n_rows
    return {f"{batch.source}[{batch.start}]": LearntRows(n_rows)}


def _is_weightless(batch: Batch) -> bool:
    return batch.weights is not None and not np.any(batch.weights)


@contextmanager
def partition_named_in_errors(batch: Batch) -> Iterator[None]:
    """Let errors name the partition in which they were raised."""
    try:
        yield
    except Exception as error:  # which counts rows from the first of the partition
        error.add_note(f"in partition {batch.start} of {batch.source}")
        raise
