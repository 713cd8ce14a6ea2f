"""Dask collections as lists of delayed batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import dask
from dask.base import is_dask_collection, tokenize
from dask.delayed import Delayed, delayed

from streamchi2.sources import Batch, as_batch, as_source


def partitions_of(
    X: Any, y: Any, target: str | None = None, weight: str | None = None
) -> list[Delayed]:
    """Return one delayed :class:`Batch` a partition, in order, or refuse.

    The name of a batch is that of the collection, its start the number of the partition: Dask
    names collections by what they compute, so these tell partitions of one from those of another.
    """
    if target is not None or weight is not None:
        return _frame_partitions(X, y, target, weight)
    rows = _parts_of(X, "X")
    targets = [None] * len(rows) if y is None else _parts_of(_cut_alike(y, X), "y")
    if len(targets) != len(rows):
        raise ValueError(
            f"y must have the partitions of X, got {len(targets)} of y for {len(rows)} of X; where "
            "both are columns of one Dask DataFrame, give it as X and name the column: target='y'"
        )
    if not rows:
        raise ValueError("X must have at least one partition, got none")
    made, name = delayed(_batch, pure=False), _name_of(X)
    pairs = zip(rows, targets, strict=True)
    return [made(part, answers, name, number) for number, (part, answers) in enumerate(pairs)]


def _parts_of(collection: Any, name: str) -> list[Any]:
    """Return the delayed partitions of a collection, each with all columns of its rows."""
    if isinstance(collection, Sequence) and not isinstance(collection, str):
        return list(collection)
    if not (is_dask_collection(collection) and hasattr(collection, "to_delayed")):
        raise TypeError(
            f"{name} must be a Dask array, a Dask DataFrame or Series or a list of delayed "
            f"batches, got a {type(collection).__name__}"
        )
    if hasattr(collection, "numblocks") and collection.ndim > 1:
        collection = collection.rechunk(dict.fromkeys(range(1, collection.ndim), -1))
    # Left to itself, Dask joins partitions of which few columns are read: those of X and y apart.
    with dask.config.set({"optimization.tune.active": False}):
        parts = collection.to_delayed()
    return list(parts.ravel()) if hasattr(parts, "ravel") else list(parts)


def _name_of(collection: Any) -> str:
    if isinstance(collection, Sequence):
        return f"delayed-{tokenize([getattr(part, 'key', part) for part in collection])}"
    return str(collection.name if hasattr(collection, "numblocks") else collection._name)


def _cut_alike(y: Any, X: Any) -> Any:
    """Return the targets with the partitions of the rows, where these are known to both."""
    if hasattr(X, "numblocks") and hasattr(y, "numblocks"):
        alike = X.shape[0] == X.shape[0] == y.shape[0]  # nan, where unknown, is not itself
        return y.rechunk({0: X.chunks[0]}) if alike else y
    is_divided = all(getattr(side, "known_divisions", False) for side in (X, y))
    if not is_divided or X.divisions == y.divisions:
        return y
    return y.repartition(divisions=X.divisions, force=True)


def _frame_partitions(X: Any, y: Any, target: str | None, weight: str | None) -> list[Delayed]:
    """Return the partitions of a frame that holds targets or weights among its columns."""
    named = {"target": target, "weight": weight}
    for argument, column in named.items():
        if column is not None and not (is_dask_collection(X) and hasattr(X, "columns")):
            raise TypeError(
                f"{argument} must be left out unless X is a Dask DataFrame, got {column!r} and a "
                f"{type(X).__name__}"
            )
        if column is not None and column not in list(X.columns):
            raise ValueError(
                f"{argument} must name a column, one of {list(X.columns)}, got {column!r}"
            )
    if y is not None:
        raise TypeError("y must be left out where target or weight names a column")
    made = delayed(_frame_batch, pure=False)
    parts = enumerate(_parts_of(X, "X"))
    return [made(part, target, weight, _name_of(X), number) for number, part in parts]


def _batch(part: Any, targets: Any, name: str, number: int) -> Batch:
    batch = as_batch(part, name, number)
    if targets is None:
        return batch
    if batch.targets is not None:
        raise ValueError(f"y must be None where X holds (X, y), got both in partition {number}")
    return replace(batch, targets=targets)


def _frame_batch(
    frame: Any, target: str | None, weight: str | None, name: str, number: int
) -> Batch:
    """Return a partition of a DataFrame as the batch that ``fit_stream`` would read of it."""
    empty = Batch(frame, source=name, start=number)
    if empty.n_rows == 0:
        return empty
    with partition_named_in_errors(empty):
        source = as_source(frame, target=target, weight=weight, batch_size=empty.n_rows)
        (batch,) = source.batches({})
    return replace(batch, source=name, start=number)


@contextmanager
def partition_named_in_errors(batch: Batch) -> Iterator[None]:
    """Let errors name the partition in which they were raised."""
    try:
        yield
    except Exception as error:  # which counts rows from the first of the partition
        error.add_note(f"in partition {batch.start} of {batch.source}")
        raise
