"""fit: one map planned, statistics of every partition, one tree of merges, one model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from dask.delayed import Delayed, delayed
from sklearn.base import clone

from streamchi2.checks import as_positive_int
from streamchi2.dask.partitions import partitions_of
from streamchi2.dask.passes import inputs_seen, learnt, merged
from streamchi2.dask.planning import planned_on_first_rows
from streamchi2.estimators.base import MapEstimator, StreamEstimator
from streamchi2.feature_map import AdaptiveFeatureMap
from streamchi2.stream import Stream
from streamchi2.threads import deferred_interrupts

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
    _check(estimator)
    if y is None and target is None and not isinstance(X, Sequence) and _needs_targets(estimator):
        raise ValueError(
            "y must hold the targets, or target name their column in a Dask DataFrame X, got None"
        )
    as_positive_int(fan_in, name="fan_in", minimum=2)
    parts = partitions_of(X, y, target, weight)
    if isinstance(estimator, MapEstimator):
        result = _fitted_map(planned_on_first_rows(clone(estimator), parts), parts, fan_in)
    else:
        result = _tree(learnt, clone(estimator), parts, fan_in)
        if not result.__sklearn_is_fitted__():
            raise ValueError("X must hold at least one row, got none")
    with deferred_interrupts():
        estimator._stream = result._stream
    return estimator


def _check(estimator: Any) -> None:
    if not isinstance(estimator, StreamEstimator):
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
    shard = planned._empty_shard()
    learns = shard._stream.learns
    if learns and not planned.adapt:
        return _tree(learnt, shard, parts, fan_in)
    seen: Stream = _tree(inputs_seen, (shard, _inputs_only(shard._stream)), parts, fan_in)
    assert seen.feature_map is not None
    seen.feature_map.reestimate()
    if not learns:
        shard._stream = seen
        return shard
    return _learnt_under(seen.feature_map, shard, parts, fan_in)


def _inputs_only(stream: Stream) -> Stream:
    """Return a stream with the map of another, which keeps no statistics of features."""
    assert stream.feature_map is not None
    adaptive = stream.feature_map.copy()
    return Stream(stream.n_features, names=stream.names, feature_map=adaptive, learns=False)


def _learnt_under(
    seen: AdaptiveFeatureMap, shard: Any, parts: Sequence[Delayed], fan_in: int
) -> Any:
    """Return a shard that has learnt all partitions under a map that has seen them."""
    adapt, params = shard.adapt, shard._stream.feature_map.params
    # Workers hold on to the map: one partition must not adapt it.
    shard.adapt = False
    shard._stream.feature_map = AdaptiveFeatureMap(params.without_adapting(), seen.feature_map)
    result = _tree(learnt, shard, parts, fan_in)
    # Pending rows are among those the map has seen: it must not count them again.
    stream = result._stream.flush()
    stream.feature_map, result.adapt = seen, adapt
    return result


def _tree(task: Callable[..., Any], start: Any, parts: Sequence[Delayed], fan_in: int) -> Any:
    """Return the merged results of a task on every partition, neighbours first."""
    given = start if isinstance(start, tuple) else (start,)
    sent = [delayed(value, pure=False, traverse=False) for value in given]
    level = [delayed(task, pure=False)(*sent, part) for part in parts]
    join = delayed(merged, pure=False)
    while len(level) > 1:
        level = [join(level[at : at + fan_in]) for at in range(0, len(level), fan_in)]
    return level[0].compute()
