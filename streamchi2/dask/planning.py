"""The first rows of a collection, on which one machine would plan its map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed
from sklearn.base import is_regressor

from streamchi2.dask.passes import head, target_shape
from streamchi2.sources import Batch


def planned_on_first_rows(model: Any, parts: Sequence[Delayed]) -> Any:
    """Let a new estimator learn the first rows, as many as its map is planned on."""
    for part in parts:
        start = 0
        while (n_missing := _n_missing(model)) > 0:
            batch: Batch = delayed(head, pure=False)(part, start, n_missing).compute()
            if batch.n_rows == 0:
                break
            start += batch.n_rows
            _learn_first(model, batch, parts)
    if not model.__sklearn_is_fitted__():
        raise ValueError("X must hold at least one row, got none")
    return model


def _n_missing(model: Any) -> int:
    if not model.__sklearn_is_fitted__():
        return 1  # which tells the width, and with it how many are needed
    stream = model._stream
    return int(stream.feature_map.params.first_rows - stream.n_rows)


def _learn_first(model: Any, batch: Batch, parts: Sequence[Delayed]) -> None:
    first = not model.__sklearn_is_fitted__()
    if first and batch.weights is not None and not np.any(batch.weights):
        return  # as good as no rows
    if first and batch.targets is None and is_regressor(model):
        batch = _with_absent_targets(batch, parts)
    model._learn_batch(batch, first=first)


def _with_absent_targets(batch: Batch, parts: Sequence[Delayed]) -> Batch:
    """Return rows without targets so that a regressor, which must know how many, may begin."""
    for part in parts:
        shape = delayed(target_shape, pure=False)(part).compute()
        if shape is not None:
            absent = np.zeros(batch.n_rows, dtype=np.bool_)
            return replace(batch, targets=np.zeros((batch.n_rows, *shape)), given=absent)
    raise ValueError("y must hold targets in some partition, got none")
