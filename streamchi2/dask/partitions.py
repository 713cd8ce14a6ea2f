"""Dask collections as lists of delayed batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import dask
from dask.base import is_dask_collection, tokenize
from dask.delayed import Delayed, delayed

from streamchi2.dask.passes import partition_named_in_errors
from streamchi2.provenance import Provenance
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
    if isinstance(X, Sequence) and not isinstance(X, str):
        name, rows = f"delayed-{tokenize([_key(part) for part in X])}", list(X)
    elif is_dask_collection(X) and hasattr(X, "to_delayed"):
        X = _with_whole_rows(X)
        name, rows = str(X.name if hasattr(X, "numblocks") else X._name), _parts(X)
    else:
        raise TypeError(
            "X must be a Dask array, a Dask DataFrame or a list of delayed batches, got a "
            f"{type(X).__name__}"
        )
    targets = _targets(X, y, len(rows))
    if not rows:
        raise ValueError("X must have at least one partition, got none")
    made = delayed(_batch, pure=False)
    pairs = zip(rows, targets, strict=True)
    return [made(part, answers, name, number) for number, (part, answers) in enumerate(pairs)]


def _targets(X: Any, y: Any, n_parts: int) -> list[Any]:
    if y is None:
        return [None] * n_parts
    if isinstance(y, Sequence) and not isinstance(y, str):
        targets = list(y)
    elif is_dask_collection(y) and hasattr(y, "to_delayed"):
        targets = _parts(_with_whole_rows(_cut_alike(y, X)))
    else:
        raise TypeError(
            "y must be a Dask array, a Dask Series, a list of delayed targets or None, got a "
            f"{type(y).__name__}"
        )
    if len(targets) != n_parts:
        raise ValueError(
            f"y must have the partitions of X, got {len(targets)} of y for {n_parts} of X; where "
            "both are columns of one Dask DataFrame, give it as X and name the column: target='y'"
        )
    return targets


def _cut_alike(y: Any, X: Any) -> Any:
    """Return the targets with the partitions of the rows, where these are known to both."""
    if hasattr(X, "numblocks") and hasattr(y, "numblocks"):
        alike = X.shape[0] == X.shape[0] == y.shape[0]  # nan, where unknown, is not itself
        return y.rechunk({0: X.chunks[0]}) if alike else y
    known = all(getattr(side, "known_divisions", False) for side in (X, y))
    if not known or X.divisions == y.divisions:
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
    return [
        made(part, target, weight, str(X._name), number) for number, part in enumerate(_parts(X))
    ]


def _with_whole_rows(collection: Any) -> Any:
    """Return an array whose blocks hold all columns of their rows; others as they are."""
    if not hasattr(collection, "numblocks") or collection.ndim < 2:
        return collection
    return collection.rechunk(dict.fromkeys(range(1, collection.ndim), -1))


def _parts(collection: Any) -> list[Any]:
    # Left to itself, Dask joins partitions of which few columns are read: those of X and y apart.
    with dask.config.set({"optimization.tune.active": False}):
        found = collection.to_delayed()
    return list(found.ravel()) if hasattr(found, "ravel") else list(found)


def _key(part: Any) -> Any:
    return getattr(part, "key", part)


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
        (batch,) = source.batches(Provenance())
    return replace(batch, source=name, start=number)
