"""Dask collections as lists of delayed batches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dask.base import is_dask_collection, tokenize
from dask.delayed import Delayed, delayed

from streamchi2.sources import Batch, as_batch


def partitions_of(X: Any, y: Any) -> list[Delayed]:
    """Return one delayed :class:`Batch` a partition, in order, or refuse.

    The name of a batch is that of the collection, its start the number of the partition: Dask
    names collections by what they compute, so these tell partitions of one from those of another.
    """
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
        known = hasattr(X, "numblocks") and hasattr(y, "numblocks")
        if known and X.shape[0] == X.shape[0] == y.shape[0]:  # nan, where unknown, is not itself
            y = y.rechunk({0: X.chunks[0]})
        targets = _parts(_with_whole_rows(y))
    else:
        raise TypeError(
            "y must be a Dask array, a Dask Series, a list of delayed targets or None, got a "
            f"{type(y).__name__}"
        )
    if len(targets) != n_parts:
        raise ValueError(
            f"y must have the partitions of X, got {len(targets)} of y for {n_parts} of X"
        )
    return targets


def _with_whole_rows(collection: Any) -> Any:
    """Return an array whose blocks hold all columns of their rows; others as they are."""
    if not hasattr(collection, "numblocks") or collection.ndim < 2:
        return collection
    return collection.rechunk(dict.fromkeys(range(1, collection.ndim), -1))


def _parts(collection: Any) -> list[Any]:
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
