"""fit: one map planned, statistics of every partition, one tree of merges, one model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from dask.delayed import Delayed, delayed
from sklearn.base import clone

from streamchi2.adaptive_map import AdaptiveMap
from streamchi2.dask.partitions import partitions_of
from streamchi2.dask.passes import inputs_seen, learnt, merged
from streamchi2.dask.planning import planned_on_first_rows
from streamchi2.estimators.map_words import MapWords
from streamchi2.estimators.memory_budget import (
    MemoryBudget,
    first_of_two,
    map_to_reread,
    needs_two_passes,
)
from streamchi2.estimators.out_of_core import OutOfCore
from streamchi2.estimators.sampler import ExpChi2Sampler
from streamchi2.runtime.interrupts import deferred_interrupts
from streamchi2.statistics.buffered_tracker import BufferedTracker
from streamchi2.statistics.row_buffer import RowBuffer
from streamchi2.validation import as_positive_int

AnyEstimator = TypeVar("AnyEstimator", bound=OutOfCore)


def fit(
    estimator: AnyEstimator, X: Any, y: Any = None, *, memory_budget: Any = None, fan_in: int = 4
) -> AnyEstimator:
    """Fit an estimator on a Dask collection, on the cluster of the active client if there is one.

    The map is planned on the first rows, as ``estimator.fit`` would plan it, and k is estimated
    once more from the histogram of all rows; this one map is sent to every worker. Moments of the
    partitions are then merged by a tree in their order, and the model is solved when it is read.

    Law: the result is, to rounding, that of one machine that learns all rows in order under the
    same map. With ``adapt=False`` that is ``estimator.fit``. With ``adapt=True`` a stream estimates
    k at rows 256, 1024, 4096, ... and carries on under maps that differ by their
    ``transport_residual_``; here every row is learnt under the last map, that of all rows. The
    samples of up to 128 and 1024 rows behind ``kernel_error()`` and ``predict_proba`` are fair, but
    other rows than those of one machine. Results do not depend on workers, bit for bit.

    Partial results are pure functions of partitions: when a worker is lost, its partitions are
    computed again and nothing is counted twice. ``estimator.provenance_`` lists the partitions.

    Parameters
    ----------
    estimator : estimator of this library
        Fitted in place, as by its ``fit``. It must have no ``half_life``: what is learnt in
        several places at once has no order in time.
    X : dask Array, dask DataFrame or list of delayed batches
        Rows; or X, (X, y) and (X, y, sample_weight) as delayed values, where y may be None for
        rows without targets. A batch should fit into a worker's memory several times.
    y : dask Array, dask Series, list of delayed targets or None
        Targets, with the partitions of ``X``; arrays of known length are cut to fit.
    memory_budget : int, str or None, default=None
        Bytes for scatter matrices, as a number or like "4GB". Where the joint scatter of several
        descriptors is above it and ``n_pca`` is given, their principal components are found
        first and learning happens inside these, as by ``fit_stream``.
    fan_in : int, default=4
        How many partial results, each of 8 D^2 bytes, are merged by one task.

    Returns
    -------
    estimator
        The same, fitted; it may go on learning with ``partial_fit``.

    Notes
    -----
    A partition is read twice, once where ``adapt=False`` or there is no map, and once more where
    ``memory_budget`` asks for components first; its rows cross no wire. n partitions send n
    partial results, 8 D^2 bytes each: let them be so large that learning, D^2 a row, takes
    longer than sending, some thousands of rows.

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
    0.96
    """
    _check(estimator)
    if y is None and not isinstance(X, Sequence) and _needs_targets(estimator):
        raise ValueError("y must hold the targets, got None")
    as_positive_int(fan_in, name="fan_in", minimum=2)
    parts = partitions_of(X, y)
    if isinstance(estimator, MemoryBudget) and needs_two_passes(estimator, memory_budget):
        result = _fitted_in_components(estimator, parts, fan_in)
    elif isinstance(estimator, MapWords):
        result = _fitted_map(planned_on_first_rows(clone(estimator), parts), parts, fan_in)
    else:
        result = _tree(learnt, clone(estimator), parts, fan_in)
        if not result.__sklearn_is_fitted__():
            raise ValueError("X must hold at least one row, got none")
    with deferred_interrupts():
        vars(estimator).clear()
        vars(estimator).update(vars(result))
    return estimator


def _check(estimator: Any) -> None:
    if not isinstance(estimator, OutOfCore):
        raise TypeError(f"estimator must be one of this library, got {estimator!r}")
    half_life = getattr(estimator, "half_life", None)
    if half_life is not None:
        raise ValueError(
            "half_life must be None: what is learnt in several places at once has no order in "
            f"time, got {half_life!r}"
        )


def _needs_targets(estimator: Any) -> bool:
    return bool(estimator.__sklearn_tags__().target_tags.required)


def _fitted_map(planned: Any, parts: Sequence[Delayed], fan_in: int) -> Any:
    """Return the estimator that has learnt all partitions under one map."""
    samples_only, shard = isinstance(planned, ExpChi2Sampler), planned._empty_shard()
    if not (samples_only or planned.adapt):
        return _tree(learnt, shard, parts, fan_in)
    empty = _map_of(shard)
    stream = BufferedTracker(empty, shard._stream.buffer.boundaries)
    seen = _tree(inputs_seen, (shard, stream), parts, fan_in)
    seen.tracker.reestimate()
    if samples_only:
        shard._stream = seen
        return shard.new_shard().merge(shard)  # which makes what is read of it
    return _learnt_under(seen.tracker, shard, parts, fan_in)


def _fitted_in_components(estimator: Any, parts: Sequence[Delayed], fan_in: int) -> Any:
    """Return the estimator that has learnt inside the components of each descriptor."""
    first = _fitted_map(planned_on_first_rows(first_of_two(estimator), parts), parts, fan_in)
    second = clone(estimator)
    second._planned = map_to_reread(first)
    shard = planned_on_first_rows(second, parts)._empty_shard()
    return _learnt_under(map_to_reread(first).reread(), shard, parts, fan_in)


def _learnt_under(seen: Any, shard: Any, parts: Sequence[Delayed], fan_in: int) -> Any:
    """Return a shard that has learnt all partitions under a map that has seen them."""
    adapt, empty = shard.adapt, _map_of(shard)
    # Workers hold on to the map: one partition must not adapt it.
    settings = _without_adapting(empty.settings)
    shard.adapt, shard._stream.tracker.map = False, type(empty)(settings, seen.recipe)
    result = _tree(learnt, shard, parts, fan_in)
    # Rows that still wait are among those the map has seen: it must not count them again.
    stream = _settled(result._stream)
    result.adapt, stream.tracker.map = adapt, seen
    result._swap_in(stream, result._words_of_stream())
    return result


def _settled(stream: BufferedTracker[Any]) -> BufferedTracker[Any]:
    settled = BufferedTracker(stream.snapshot(), stream.buffer.boundaries)
    settled.buffer = RowBuffer(stream.buffer.boundaries, stream.n_rows)
    settled.provenance = stream.provenance
    return settled


def _map_of(shard: Any) -> Any:
    tracker = shard._stream.tracker
    return tracker if isinstance(tracker, AdaptiveMap) else tracker.map


def _without_adapting(settings: Any) -> Any:
    parts = getattr(settings, "parts", None)  # of several descriptors
    if parts is None:
        return replace(settings, adapt=False)
    return replace(settings, parts=tuple(replace(part, adapt=False) for part in parts))


def _tree(task: Callable[..., Any], start: Any, parts: Sequence[Delayed], fan_in: int) -> Any:
    """Return the merged results of a task on every partition, neighbours first."""
    given = start if isinstance(start, tuple) else (start,)
    sent = [delayed(value, pure=False, traverse=False) for value in given]
    level = [delayed(task, pure=False)(*sent, part) for part in parts]
    join = delayed(merged, pure=False)
    while len(level) > 1:
        level = [join(level[at : at + fan_in]) for at in range(0, len(level), fan_in)]
    return level[0].compute()
