"""Laws about what is learnt: cuts, merges, threads, absent values, late classes, order of k."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from streamchi2.testing.evidence import (
    broken,
    compare,
    fresh,
    learnt,
    learnt_in_pieces,
    shown,
    state_of,
)


def check_cut(
    estimator: Any,
    rows: Any,
    targets: Any = None,
    *,
    cuts: Sequence[int],
    rtol: float = 0.0,
    atol: float = 0.0,
) -> None:
    """Check that rows cut into batches give the model that they give at once.

    Parameters
    ----------
    estimator : estimator
        Its parameters are used; with a ``random_state`` that is an int.
    rows, targets : array
        The stream.
    cuts : sequence of int
        Where it is cut; ``range(1, n)`` gives batches of one row.
    rtol, atol : float, default=0
        How far readings may differ; by default by not a bit.

    Examples
    --------
    >>> from sklearn.decomposition import IncrementalPCA
    >>> rows = np.random.default_rng(0).normal(size=(9, 3))
    >>> check_cut(IncrementalPCA(1), rows, cuts=[2, 5], rtol=0.01)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    streamchi2.testing.evidence.LawBroken: law 'cut' is broken by IncrementalPCA(n_components=1):
    transform differs at (0, 0), ... when 9 rows of 3 columns are cut at [2, 5]
    """
    whole = learnt(fresh(estimator), rows, targets)
    pieces = learnt_in_pieces(fresh(estimator), rows, targets, cuts)
    case = f"when {shown(rows)} are cut at {list(cuts)[:20]}"
    compare("cut", whole, pieces, rows, case=case, rtol=rtol, atol=atol)


def check_merge(
    estimator: Any,
    shards: Sequence[tuple[Any, Any]],
    *,
    rtol: float = 1e-5,
    atol: float = 1e-6,
) -> None:
    """Check that merged shards equal one pass, in either order, and that empty is the identity.

    Parameters
    ----------
    estimator : estimator
        With ``merge``, and with ``new_shard`` if shards must share something such as a map.
    shards : sequence of (rows, targets)
        Targets may be None. The first shard is what the others' common map is made from.
    rtol, atol : float
        How far readings may differ: sums are taken in another order.
    """
    (rows, targets), *others = shards
    base = learnt(fresh(estimator), rows, targets)
    before = state_of(base)
    parts = []
    for some_rows, some_targets in others:
        part = base.new_shard() if hasattr(base, "new_shard") else fresh(estimator)
        parts.append(learnt(part, some_rows, some_targets))
    for nothing in (fresh(estimator), base.new_shard() if hasattr(base, "new_shard") else None):
        if nothing is not None and state_of(copy.deepcopy(base).merge(nothing)) != before:
            raise broken("merge", estimator, "merging an empty shard changed something")
    all_rows = _stacked([some_rows for some_rows, _ in shards])
    all_targets = None if targets is None else np.concatenate([some for _, some in shards])
    once = learnt_in_pieces(fresh(estimator), all_rows, all_targets, [rows.shape[0]])
    for order in (parts, parts[::-1]):
        merged = copy.deepcopy(base)
        states = [state_of(part) for part in order]
        for part in order:
            merged.merge(part)
        if [state_of(part) for part in order] != states:
            raise broken("merge", estimator, "merging changed the shard that was merged")
        case = f"when {len(shards)} shards of {shown(all_rows)} are merged"
        compare("merge", once, merged, all_rows, case=case, rtol=rtol, atol=atol)


def check_threads(
    estimator: Any, rows: Any, targets: Any = None, *, n_jobs: Sequence[int] = (2, 7)
) -> None:
    """Check that the number of workers does not change a bit.

    Parameters
    ----------
    estimator : estimator
        With the parameter ``n_jobs``.
    rows, targets : array
        Learnt and read under every number of workers; several hundred rows, to share out.
    n_jobs : sequence of int
        Numbers to compare with 1.
    """
    alone = learnt(fresh(estimator).set_params(n_jobs=1), rows, targets)
    for number in n_jobs:
        together = learnt(fresh(estimator).set_params(n_jobs=number), rows, targets)
        compare("threads", alone, together, rows, case=f"with n_jobs={number} on {shown(rows)}")


def check_absent_is_zero(
    estimator: Any, rows: Any, targets: Any = None, *, rtol: float = 1e-5, atol: float = 1e-6
) -> None:
    """Check that what a sparse row does not store equals a zero, stored or dense.

    Parameters
    ----------
    estimator : estimator
        One that learns sparse rows too.
    rows, targets : array
        Dense rows, best with zeros among them.
    rtol, atol : float
        How far readings may differ: sparse sums are taken in another order.
    """
    dense = learnt(fresh(estimator), rows, targets)
    absent = sparse.csr_array(rows)
    n_rows, n_columns = rows.shape
    everywhere = (np.tile(np.arange(n_columns), n_rows), np.arange(n_rows + 1) * n_columns)
    stored = sparse.csr_array((np.ravel(rows), *everywhere), shape=rows.shape)
    for name, form in (("absent", absent), ("stored", stored)):
        found = learnt(fresh(estimator), form, targets)
        case = f"where zeros are {name} in {shown(rows)}"
        compare("absent = 0", dense, found, rows, case=case, rtol=rtol, atol=atol)
        compare("absent = 0", found, found, form, case=case, rtol=rtol, atol=atol)


def check_late_classes(
    estimator: Any, rows: Any, labels: NDArray[Any], *, rtol: float = 0.0, atol: float = 0.0
) -> None:
    """Check that a class that appears late gives the model of one announced at the start.

    Parameters
    ----------
    estimator : classifier
        With ``partial_fit(X, y, classes=...)`` where classes may also be left out.
    rows, labels : array
        The stream; it is sorted by label, so that all classes but one are late.
    rtol, atol : float, default=0
        How far readings may differ.
    """
    order = np.argsort(labels, kind="stable")
    rows, labels = rows[order], labels[order]
    classes, starts = np.unique(labels, return_index=True)
    announced = fresh(estimator)
    for number, (start, stop) in enumerate(zip(starts, [*starts[1:], len(labels)], strict=True)):
        more = {"classes": classes} if number == 0 else {}
        learnt(announced, rows[start:stop], labels[start:stop], **more)
    surprised = learnt_in_pieces(fresh(estimator), rows, labels, starts.tolist())
    case = f"where {classes.tolist()} appear one after the other in {shown(rows)}"
    compare("classes", announced, surprised, rows, case=case, rtol=rtol, atol=atol)


def check_order_of_k(
    series: Callable[[Any], Any],
    k: ArrayLike,
    order: Sequence[int],
    rows: Any,
    *,
    rtol: float = 1e-9,
) -> None:
    """Check that the kernel of a series does not depend on the order of its landmarks.

    Parameters
    ----------
    series : callable
        From landmarks to something with ``transform``; such as ``DirectSeries``.
    k : array-like
        Landmarks.
    order : sequence of int
        A permutation of their positions.
    rows : array
        Rows whose kernel is compared.
    rtol : float
        How far kernels may differ, relative to their largest value.
    """
    landmarks = np.asarray(k, dtype=np.float64)
    kernels = []
    for some in (landmarks, landmarks[list(order)]):
        coordinates = series(some).transform(rows)
        kernels.append(coordinates @ coordinates.T)
    difference = float(np.abs(kernels[0] - kernels[1]).max())
    if difference > rtol * max(float(np.abs(kernels[0]).max()), np.finfo(np.float64).tiny):
        what = f"the kernel moves by {difference} when k = {landmarks} is put in order {order}"
        raise broken("order of k", series, what)


def _stacked(pieces: list[Any]) -> Any:
    if any(sparse.issparse(piece) for piece in pieces):
        return sparse.csr_array(sparse.vstack(pieces, format="csr"))
    return np.concatenate(pieces)
