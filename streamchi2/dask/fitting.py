"""fit: one map planned, statistics of every partition, one tree of merges, one model.

A task is a pure function: when it is run twice, since the worker that held its result was lost, it
gives the same result twice, and the tree of merges takes it once. Partial results are streams;
estimators would choose their penalty before they are sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from dask.delayed import Delayed, delayed
from sklearn.base import clone

from streamchi2.checks.params import as_positive_int
from streamchi2.dask.partitions import partition_named_in_errors, partitions_of
from streamchi2.estimators.base import StreamEstimator
from streamchi2.estimators.mapped import MapEstimator
from streamchi2.features import Tracker
from streamchi2.provenance import LearntRows, Provenance
from streamchi2.sources import Batch
from streamchi2.stream import Stream

AnyEstimator = TypeVar("AnyEstimator", bound=StreamEstimator)


def fit(
    estimator: AnyEstimator,
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    weight: str | None = None,
    fan_in: int = 4,
) -> AnyEstimator:
    """Fit an estimator on a Dask collection, on the cluster of the active client if there is one.

    The map is planned on the first rows, as ``estimator.fit`` would plan it, and k is estimated
    once more from the histogram of all rows; this one map is sent to every worker. What workers
    learn of the partitions is then merged by a tree in their order. The penalty is chosen after
    that, once, and the model is solved when it is read.

    Law: the result is, to rounding, that of one machine that learns all rows in order under the
    same map. With ``adapt=False`` that is ``estimator.fit``. With ``adapt=True`` a stream estimates
    k at rows 256, 1024, 4096, ... and carries on under maps that differ by their
    ``transport_residual_``; here every row is learnt under the last map, that of all rows. Results
    do not depend on workers, bit for bit.

    Partial results are pure functions of partitions: when a worker is lost, its partitions are
    computed again and nothing is counted twice. ``estimator.provenance_`` lists the partitions.

    Parameters
    ----------
    estimator : estimator of this library
        Fitted in place, as by its ``fit``. It must have no ``half_life`` and no
        ``latest_rows``: what is learnt in several places at once has no order in time.
    X : dask Array, dask DataFrame or list of delayed batches
        Rows; or X, (X, y) and (X, y, sample_weight) as delayed values, where y may be None for
        rows without targets. A batch should fit into a worker's memory several times.
    y : dask Array, dask Series, list of delayed targets or None
        Targets, with the partitions of ``X``; arrays of known length and series of known divisions
        are cut to fit.
    target, weight : str, optional
        Columns of a Dask DataFrame ``X`` that hold the targets and the sample weights; the others
        are learnt from. A row whose target is null is learnt from as by ``observe``. (These need
        the extra ``arrow``.)
    fan_in : int, default=4
        How many partial results, each of 8 D^2 bytes, are merged by one task.

    Returns
    -------
    estimator
        The same, fitted; it may go on learning with ``partial_fit``.

    Notes
    -----
    A partition is read twice, once where ``adapt=False`` or there is no map. Rows stay with their
    worker; n partitions send n partial results, 8 D^2 bytes each: let them be so large that
    learning, D^2 a row, takes longer than sending, some thousands of rows.

    References
    ----------
    Chan, Golub and LeVeque (1983), doi:10.1080/00031305.1983.10483115, for the merges.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_digits
    >>> from streamchi2 import ExpChi2Classifier
    >>> X, y = load_digits(return_X_y=True)
    >>> X /= X.sum(axis=1, keepdims=True)
    >>> model = ExpChi2Classifier(n_components=256, random_state=0)
    >>> model = fit(model, da.from_array(X[:1200], chunks=300), da.from_array(y[:1200], chunks=300))
    >>> print(f"{model.score(X[1200:], y[1200:]):.2f}")
    0.97
    """
    _refuse(estimator)
    needs_targets = estimator.__sklearn_tags__().target_tags.required
    if needs_targets and y is None and target is None and not isinstance(X, Sequence):
        raise ValueError(
            "y must hold the targets, or target name their column in a Dask DataFrame X, got None"
        )
    as_positive_int(fan_in, name="fan_in", minimum=2)
    parts = partitions_of(X, y, target, weight)
    model = clone(estimator)
    if isinstance(estimator, MapEstimator):
        stream = _under_one_map(model, parts, fan_in)
    else:
        stream = tree(model, parts, fan_in)
    if stream is None:
        raise ValueError("X must hold at least one row, got none")
    estimator._stream = stream
    return estimator


def _refuse(estimator: Any) -> None:
    if not isinstance(estimator, StreamEstimator):
        raise TypeError(f"estimator must be one of this library, got {estimator!r}")
    for name, none in (("half_life", None), ("latest_rows", 0)):
        value = getattr(estimator, name, none)
        if value != none:
            raise ValueError(
                f"{name} must be {none}: what is learnt in several places at once has no order in "
                f"time, got {value!r}"
            )


def _under_one_map(model: Any, parts: Sequence[Delayed], fan_in: int) -> Any:
    """Return the stream of an estimator that has learnt all partitions under one map."""
    planned_on_first_rows(model, parts)
    if not model._stream.is_planned:
        return model._stream  # so few rows that all have been learnt
    shard = model.new_shard()
    empty = seen = shard._stream
    learns = empty.settings.learns
    # One partition must not adapt the map to itself.
    tracker = with_adapt(empty.learnt.tracker, False)
    if model.adapt or not learns:
        shard._stream = under(empty, tracker, learns=False)
        seen = tree(shard, parts, fan_in)
        tracker = with_adapt(seen.settled().tracker, model.adapt)
    if model.adapt:
        tracker = reestimated(tracker, seen.n_rows)
    if learns:
        start = with_adapt(Tracker.of(tracker.spec, tracker.feature_map), False)
        shard._stream = under(empty, start, learns=True)
        seen = tree(shard, parts, fan_in)
        # Both passes have seen the histogram of all rows; only the first knows of transports.
        tracker = tracker if model.adapt else seen.settled().tracker
    return under(seen, tracker, learns=learns)


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
