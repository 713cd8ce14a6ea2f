"""Laws about what is learnt: cuts, merges, threads, late classes, order of k."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from streamchi2.testing.comparison import broken, compare, state_of
from streamchi2.testing.front_ends import (
    ArrayFrontEnd,
    DictFrontEnd,
    FrontEnd,
    ends_of_batches,
    front_end_of,
    n_rows_of,
    written_out,
)
from streamchi2.testing.reproduction import literal, reproduction


def check_cut(
    estimator: Any,
    rows: Any,
    targets: Any = None,
    *,
    cuts: Sequence[int],
    classes: Any = None,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> None:
    """Check that rows cut into batches give the model that they give at once.

    For river's estimators: that ``learn_many`` over the batches equals ``learn_one`` over the rows.

    Parameters
    ----------
    estimator : estimator
        Its parameters are used; with a ``random_state`` (river: ``seed``) that is an int.
    rows, targets : array, or dicts for river's estimators
        The stream.
    cuts : sequence of int
        Where it is cut, each between 1 and n - 1; ``range(1, n)`` gives batches of one row.
    classes : array-like, optional
        For classifiers that must be told at the first call.
    rtol, atol : float, default=0
        How far readings may differ; by default by not a bit.

    Examples
    --------
    >>> from sklearn.decomposition import IncrementalPCA
    >>> rows = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0], [4.0, 1.0, 0.0]])
    >>> check_cut(IncrementalPCA(1), rows, cuts=[2, 3], rtol=0.01)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    streamchi2.testing.comparison.LawError: law 'cut' is broken by IncrementalPCA(n_components=1):
    transform differs at (0, 0), ... when 4 rows are cut at [2, 3]
    <BLANKLINE>
    To see it again:
    <BLANKLINE>
    import numpy as np
    from sklearn.decomposition import IncrementalPCA
    from streamchi2.testing import check_cut
    <BLANKLINE>
    estimator = IncrementalPCA(n_components=1)
    rows = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0], [4.0, 1.0, 0.0]])
    check_cut(estimator, rows, cuts=[2, 3], rtol=0.01, atol=0.0)
    """
    front = front_end_of(estimator)
    rows, targets = front.stream(rows, targets)
    cuts = [int(cut) for cut in cuts]
    ends_of_batches(cuts, n_rows_of(rows))
    if isinstance(front, DictFrontEnd):
        if not hasattr(estimator, "learn_many"):
            raise TypeError(
                f"estimator must have learn_many for the law 'cut', got {type(estimator).__name__}"
            )
        rows = written_out(rows)
    elif not cuts:
        raise ValueError("cuts must hold a position for the law 'cut' to be seen, got none")
    code = partial(
        reproduction,
        "check_cut", estimator, rows=rows, targets=targets, cuts=cuts, classes=classes,
        rtol=rtol, atol=atol,
    )  # fmt: skip
    whole = front.learn(front.fresh(estimator), rows, targets, classes=classes)
    pieces = front.learn_in_pieces(front.fresh(estimator), rows, targets, cuts, classes)
    shown = f"{cuts}" if len(cuts) <= 20 else f"{len(cuts)} places"
    case = f"when {n_rows_of(rows)} rows are cut at {shown}"
    compare("cut", whole, pieces, rows, case=case, code=code, rtol=rtol, atol=atol)


def check_merge(
    estimator: Any,
    shards: Sequence[tuple[Any, Any]],
    *,
    classes: Any = None,
    methods: Sequence[str] | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-5,
) -> None:
    """Check that merged shards equal one pass, in either order, and that empty is the identity.

    A model of river's kind may be solved at some rows only, so that the merged one is more up to
    date than the one of a single pass. Both therefore learn all rows once more before they are
    compared.

    The classifiers of this library calibrate probabilities on a sample of the rows once there are
    more than 9D/8 of them, and a merged sample is another one: give ``methods`` without
    ``predict_proba`` there. With a ``half_life`` the law does not hold, since both sides of a merge
    end at the same time.

    Parameters
    ----------
    estimator : estimator
        With ``merge``, and with ``new_shard`` if shards must share something such as a map.
    shards : sequence of (rows, targets)
        Two at least; targets may be None. The first shard is what the others' common map is made
        from.
    classes : array-like, optional
        For classifiers that must be told at the first call.
    methods : sequence of str, optional
        Which methods are compared; by default all that the estimator has.
    rtol, atol : float
        How far readings may differ: sums are taken in another order. Those of float32 features are
        rounded to 6e-8 of themselves, which a model with a small penalty multiplies by as much as
        its equations are ill-conditioned; scores of digits differed by 4e-6 after 6000 rows.
    """
    front = front_end_of(estimator)
    if not hasattr(estimator, "merge"):
        raise TypeError(f"estimator must have merge, got {type(estimator).__name__}")
    if len(shards) < 2:
        raise ValueError(f"shards must be two at least for a merge, got {len(shards)}")
    streams = [front.stream(rows, targets) for rows, targets in shards]
    code = partial(
        reproduction,
        "check_merge",
        estimator,
        shards=streams,
        classes=classes,
        methods=None if methods is None else list(methods),
        rtol=rtol,
        atol=atol,
    )
    (rows, targets), *others = streams
    base = front.learn(front.fresh(estimator), rows, targets, classes=classes)
    parts = []
    for some_rows, some_targets in others:
        shard = _shard(front, estimator, base)
        parts.append(front.learn(shard, some_rows, some_targets, classes=classes))
    before = state_of(base)
    for nothing in (front.fresh(estimator), _shard(front, estimator, base)):
        same = copy.deepcopy(base)
        same.merge(nothing)
        if state_of(same) != before:
            what = "merging an empty shard changed something"
            raise broken("merge", estimator, what, code)
    all_rows = _joined([some for some, _ in streams])
    all_targets = None if targets is None else _joined([some for _, some in streams])
    once = front.fresh(estimator)
    for place, (some_rows, some_targets) in enumerate(streams):
        front.learn(once, some_rows, some_targets, classes=None if place else classes)
    learn_on = isinstance(front, DictFrontEnd)
    if learn_on:
        front.learn(once, all_rows, all_targets)
    for order in (parts, parts[::-1]):
        merged = copy.deepcopy(base)
        states = [state_of(part) for part in order]
        for part in order:
            merged.merge(part)
        if [state_of(part) for part in order] != states:
            what = "merging changed the shard that was merged"
            raise broken("merge", estimator, what, code)
        if learn_on:
            front.learn(merged, all_rows, all_targets)
        case = f"when {len(streams)} shards of {n_rows_of(all_rows)} rows in all are merged"
        compare(
            "merge", once, merged, all_rows, case=case, code=code, rtol=rtol, atol=atol,
            methods=methods,
        )  # fmt: skip


def check_threads(
    estimator: Any,
    rows: Any,
    targets: Any = None,
    *,
    n_jobs: Sequence[int] = (2, 7),
    classes: Any = None,
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
    classes : array-like, optional
        For classifiers that must be told at the first call.
    """
    front = ArrayFrontEnd()
    rows, targets = front.stream(rows, targets)
    if "n_jobs" not in estimator.get_params():
        raise TypeError(f"estimator must have n_jobs, got {type(estimator).__name__}")
    if not set(n_jobs) - {1}:
        raise ValueError(f"n_jobs must hold a number other than 1 to compare, got {list(n_jobs)}")
    code = partial(
        reproduction,
        "check_threads",
        estimator,
        rows=rows,
        targets=targets,
        n_jobs=list(n_jobs),
        classes=classes,
    )
    alone = front.fresh(estimator).set_params(n_jobs=1)
    front.learn(alone, rows, targets, classes=classes)
    for number in n_jobs:
        together = front.fresh(estimator).set_params(n_jobs=number)
        front.learn(together, rows, targets, classes=classes)
        compare("threads", alone, together, rows, case=f"with n_jobs={number}", code=code)


def check_late_classes(
    estimator: Any, rows: Any, labels: Any, *, rtol: float = 0.0, atol: float = 0.0
) -> None:
    """Check that a class that appears late gives the model of one announced at the start.

    Parameters
    ----------
    estimator : classifier
        With ``partial_fit(X, y, classes=...)`` where classes may also be left out.
    rows, labels : array
        The stream; it is sorted by label, so that all classes but one are late. Two classes at
        least.
    rtol, atol : float, default=0
        How far readings may differ.
    """
    front = ArrayFrontEnd()
    rows, labels = front.stream(rows, labels)
    code = partial(
        reproduction,
        "check_late_classes",
        estimator,
        rows=rows,
        targets=labels,
        rtol=rtol,
        atol=atol,
    )
    order = np.argsort(labels, kind="stable")
    rows, labels = rows[order], labels[order]
    classes, starts = np.unique(labels, return_index=True)
    if classes.size < 2:
        raise ValueError(
            f"labels must be of two classes for one to be late, got {classes.tolist()}"
        )
    cuts = starts[1:].tolist()
    announced = front.learn_in_pieces(front.fresh(estimator), rows, labels, cuts, classes)
    surprised = front.learn_in_pieces(front.fresh(estimator), rows, labels, cuts)
    case = f"when {classes.tolist()} appear one after the other"
    compare("classes", announced, surprised, rows, case=case, code=code, rtol=rtol, atol=atol)


def check_order_of_k(
    series: Callable[[Any], Any],
    k: ArrayLike,
    order: Sequence[int],
    rows: Any,
    *,
    rtol: float = 1e-9,
) -> None:
    """Check that the kernel of a series does not depend on the order of its nodes.

    Parameters
    ----------
    series : callable
        From nodes to something with ``transform``; such as ``DirectSeries``.
    k : array-like
        Nodes, two at least.
    order : sequence of int
        A permutation of their positions that moves some.
    rows : array
        Rows whose kernel is compared.
    rtol : float
        How far kernels may differ, relative to their largest value.
    """
    nodes = np.asarray(k, dtype=np.float64)
    order = [int(place) for place in order]
    in_place = list(range(nodes.size))
    if sorted(order) != in_place or order == in_place:
        raise ValueError(
            f"order must permute the positions of {nodes.size} nodes and move some, got {order}"
        )
    kernels = []
    for some in (nodes, nodes[order]):
        coordinates = series(some).transform(rows)
        kernels.append(coordinates @ coordinates.T)
    moved = float(np.abs(kernels[0] - kernels[1]).max())
    if moved > rtol * max(float(np.abs(kernels[0]).max()), np.finfo(np.float64).tiny):
        what = (
            f"the kernel of rows = {literal(rows)} moves by {moved} when k = {nodes.tolist()} is "
            f"put in order {order}"
        )
        raise broken("order of k", series, what)


def _shard(front: FrontEnd, estimator: Any, base: Any) -> Any:
    return base.new_shard() if hasattr(base, "new_shard") else front.fresh(estimator)


def _joined(pieces: list[Any]) -> Any:
    if any(sparse.issparse(piece) for piece in pieces):
        return sparse.csr_array(sparse.vstack(pieces, format="csr"))
    if isinstance(pieces[0], list):
        return [value for piece in pieces for value in piece]
    return np.concatenate(pieces)
