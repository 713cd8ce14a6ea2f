"""fit: one map planned, statistics of every partition, one tree of merges, one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from dask.delayed import Delayed
from sklearn.base import clone

from streamchi2.checks import as_positive_int
from streamchi2.dask.partitions import partitions_of
from streamchi2.dask.shards import (
    planned_on_first_rows,
    reestimated,
    tree,
    under,
    with_adapt,
)
from streamchi2.estimators.base import StreamEstimator
from streamchi2.estimators.mapped import MapEstimator
from streamchi2.features import Tracker

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
    model = clone(estimator)
    if isinstance(estimator, MapEstimator):
        stream = _under_one_map(model, parts, fan_in)
    else:
        stream = tree(model, parts, fan_in)
    if stream is None:
        raise ValueError("X must hold at least one row, got none")
    estimator._stream = stream
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
