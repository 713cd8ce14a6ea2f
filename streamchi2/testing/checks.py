"""The laws, one check each: about what is learnt, what may change, and what may not."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamchi2.files import dumped, loaded
from streamchi2.testing.front_ends import columns
from streamchi2.testing.laws import BrokenError, Trial, difference, law, readings, state_of


@law("cut")
def check_cut(trial: Trial, *, cuts: Sequence[int]) -> None:
    """Check that rows cut into batches give the model that they give at once.

    For river's estimators: that ``learn_many`` over the batches equals ``learn_one`` over the rows.

    Parameters
    ----------
    cuts : sequence of int
        Where the rows are cut, each between 1 and n - 1; ``range(1, n)`` gives batches of one row.

    Examples
    --------
    >>> from sklearn.decomposition import IncrementalPCA
    >>> rows = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0], [4.0, 1.0, 0.0]])
    >>> check_cut(IncrementalPCA(1), rows, cuts=[2, 3], rtol=0.01)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    streamchi2.testing.laws.LawError: law 'cut' is broken by IncrementalPCA(n_components=1):
    transform differs at (0, 0), ... when 4 rows are cut at [2, 3]
    <BLANKLINE>
    To see it again:
    ...
    from sklearn.decomposition._incremental_pca import IncrementalPCA
    from streamchi2.testing import *
    <BLANKLINE>
    estimator = IncrementalPCA(n_components=1)
    rows = array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0], [4.0, 1.0, 0.0]], dtype='<f8')
    rtol = 0.01
    cuts = [2, 3]
    check_cut(estimator=estimator, rows=rows, rtol=rtol, cuts=cuts)
    """
    pieces = trial.pieces(cuts)
    whole, model = trial.learn(trial.fresh()), trial.fresh()
    for piece in pieces:
        trial.learn(model, piece, batch=True)
    trial.compare(whole, model, f"when {pieces[-1].stop} rows are cut at {list(cuts)[:20]}")


@law("merge", rtol=1e-5)
def check_merge(trial: Trial, *, cuts: Sequence[int]) -> None:
    """Check that merged shards equal one pass, in any order, and that empty is the identity.

    Compared are what models say about rows and the public attributes that hold statistics. With
    ``alpha="auto"`` the penalty is what a fresh choice on the merged statistics gives, where one
    pass may have chosen it at another position. It must be the same however the rows were shared
    out, and all else is compared with that number for alpha. Probabilities of a linear model, whose
    sharpness is chosen with the penalty, are compared between merged models alone. A model of
    river's kind may be solved at some rows only, so that the merged one is more up to date than the
    one of a single pass. Both therefore learn all rows once more before they are compared.

    Sums are taken in another order. Those of float32 features are rounded to 6e-8 of themselves,
    which a model with a small penalty multiplies by as much as its equations are ill-conditioned;
    scores of digits differed by 4e-6 after 6000 rows.

    Parameters
    ----------
    cuts : sequence of int
        Where the rows are cut into shards. Where the estimator has ``new_shard``, the others'
        common map is made from the first one.
    """
    first, *others = trial.pieces(cuts)
    rest = slice(first.stop, others[-1].stop)
    base = trial.learn(trial.fresh(), first)
    for nothing in (trial.fresh(), _shard(trial, base)):
        same = copy.deepcopy(base)
        same.merge(nothing)
        if state_of(same) != state_of(base):
            raise BrokenError("merging an empty shard changed something")
    models = [_merged(trial, base, order) for order in (others, others[::-1], [rest])]
    if trial.alpha == "auto":
        penalties = [np.ravel(model.alpha_).tolist() for model in models]
        if not np.allclose(penalties, penalties[0], rtol=0.01, atol=0.0):
            raise BrokenError(f"the penalty depends on how rows are shared out: {penalties}")
        fixed = trial.fresh(alpha=penalties[0][0])
        check_merge(fixed, trial.rows, trial.targets, rtol=trial.rtol, cuts=cuts)
        return
    once = trial.learn(trial.learn(trial.fresh(), first), rest)
    for model in (once, *models) if trial.front.is_river else ():
        trial.learn(model)
    for model in models:
        case = f"when shards of {rest.stop} rows, cut at {list(cuts)}, are merged"
        trial.compare_statistics(once, model, case)
        trial.compare(models[0], model, case)


def _merged(trial: Trial, base: Any, pieces: list[slice]) -> Any:
    model = copy.deepcopy(base)
    for piece in pieces:
        shard = trial.learn(_shard(trial, base), piece)
        before = state_of(shard)
        model.merge(shard)
        if state_of(shard) != before:
            raise BrokenError("merging changed the shard that was merged")
    return model


def _shard(trial: Trial, base: Any) -> Any:
    """Return a model that has learnt nothing, under the map of another where there is one."""
    try:
        return base.new_shard() if hasattr(base, "new_shard") else trial.front.fresh(base)
    except ValueError:  # too young to have a map
        return trial.front.fresh(base)


@law("threads")
def check_threads(trial: Trial, *, n_jobs: Sequence[int] = (2, 7)) -> None:
    """Check that the number of workers does not change a bit.

    Parameters
    ----------
    n_jobs : sequence of int
        Numbers to compare with 1, on several hundred rows, to share out.
    """
    alone = trial.learn(trial.fresh(n_jobs=1))
    for number in n_jobs:
        trial.compare(alone, trial.learn(trial.fresh(n_jobs=number)), f"with n_jobs={number}")


@law("absent = 0", rtol=1e-5)
def check_absent_is_zero(trial: Trial) -> None:
    """Check that zeros may be left out: of sparse rows, and keys of dicts, in any order.

    Sparse sums are taken in another order; river's, row by row, may not differ at all.

    Examples
    --------
    >>> from streamchi2.river import ExpChi2Sampler
    >>> check_absent_is_zero(ExpChi2Sampler(8, seed=0), [{"red": 1.0, "green": 0.0}, {"blue": 2.0}])
    """
    said = []
    for form, rows in trial.front.forms_of_zero(trial.rows).items():
        said.append(readings(replace(trial, rows=rows).learn(trial.fresh()), rows))
        if where := difference(said[0], said[-1], 0.0 if trial.front.is_river else trial.rtol):
            raise BrokenError(f"{where} when zeros are {form}")


@law("late classes", rtol=1e-5)
def check_late_classes(trial: Trial) -> None:
    """Check that a class that appears late gives the model of one announced at the start.

    The rows are sorted by label, so that all classes but one are late.
    """
    order = np.argsort(trial.targets, kind="stable")
    classes, starts = np.unique(trial.targets[order], return_index=True)
    if classes.size < 2:
        raise ValueError(f"targets must be of two classes, for one to be late, got {classes}")
    announced, surprised = trial.fresh(), trial.fresh()
    for piece in trial.pieces(starts[1:].tolist()):
        rows, targets = trial.rows[order[piece]], trial.targets[order[piece]]
        trial.front.learn(announced, rows, targets, classes=classes)
        trial.front.learn(surprised, rows, targets)
    trial.compare(announced, surprised, f"when {classes.tolist()} appear one after the other")


@law("weights", rtol=1e-5)
def check_weights(trial: Trial, *, counts: Any = None, scale: float = 2.0**-10) -> None:
    """Check that whole weights are repeated rows, and that the scale of all weights is nothing.

    A penalty that is a number does weigh against the sum of the weights, so the scale is tried only
    where the penalty is chosen from the data, or where there is none. It may be chosen at other
    positions where rows are repeated, which are therefore compared with ``alpha=0.1``. Where the
    estimator has ``new_shard``, weighted and repeated rows are learnt under one map, which is made
    from the rows without weights: a map is planned from the first rows as they come.

    Parameters
    ----------
    counts : array-like of int, optional
        How often each row is repeated: zero or more, not all of them one. What an estimator does
        after so many rows counts rows, not weights. For those of this library the stream must
        therefore stand between the same positions with repetitions and without: k is estimated
        again at row 256, 1024, 4096, ... River's, which are solved at some counts of rows only, and
        those that forget are not compared: leave it out.
    scale : float, default=2**-10
        The weight of every row. Scaling by a power of two rounds nothing.
    """
    weights = trial.front.weights
    if counts is not None:
        counts = np.asarray(counts)
        if counts.shape != trial.rows.shape[:1] or (counts == 1).all():
            raise ValueError(f"counts must be one per row and not all 1, got {counts!r:.80}")
        base = trial.learn(trial.fresh(**({"alpha": 0.1} if trial.alpha == "auto" else {})))
        weighted = trial.learn(_shard(trial, base), **{weights: counts.astype(float)})
        repeated = trial.learn(_shard(trial, base), np.repeat(np.arange(counts.size), counts))
        case = "when weights stand for repeated rows"
        trial.compare_statistics(repeated, weighted, case, names=())
    if trial.alpha in (None, "auto"):
        small = trial.learn(trial.fresh(), **{weights: np.full(trial.rows.shape[0], scale)})
        trial.compare(trial.learn(trial.fresh()), small, f"when all weights are {scale:g}")


@law("no dip")
def check_no_dip(trial: Trial) -> list[float]:
    r"""Check that the learning curve never falls by more than noise below an earlier point.

    The last third of the rows is held out. After each size the model predicts them, and the losses
    :math:`l_i` (wrong or right, or the absolute error) are compared row by row with those after
    the best size so far: with :math:`d_i = l_i^{now} - l_i^{best}` over m rows, a dip is

    .. math:: \bar d > 4 \, s_d / \sqrt m, \qquad s_d^2 = \tfrac{1}{m}\sum_i (d_i - \bar d)^2

    Pairing removes the noise that both share. Nine sizes make 36 pairs: where nothing but chance
    is at work, some pair exceeds 3 standard errors in up to one curve of 20, and 4 in one of 800
    (normal tails, added up). Up to 16 rows that turn from right to wrong, and none the other way,
    are no dip.

    Nor may the same rows cost accuracy: learnt a second time, or, where rows can be weighted, with
    weights of 3. Both add no knowledge, and take none away. A penalty that is a number weighs
    against the sum of the weights; such estimators are not tried on it.

    There are nine sizes from an eighth of the rows that are learnt to all of them, evenly in their
    logarithm, and the number of features D where the estimator has ``n_components``: there least
    squares is at its worst.

    Returns
    -------
    list of float
        Mean losses, for those who want to see the curve.
    """
    n_learnt = len(trial.targets) - len(trial.targets) // 3
    sizes = _sizes(trial.estimator, n_learnt)
    model, curve = trial.fresh(), []
    for start, stop in zip([0, *sizes], sizes, strict=False):
        trial.learn(model, slice(start, stop))
        curve.append(_losses(trial, model, n_learnt))
        best = int(np.argmin([losses.mean() for losses in curve]))
        _compare(curve[best], curve[-1], f"after {sizes[best]} rows", f"after {stop}")
    if trial.alpha in (None, "auto"):
        then, learnt = f"after {sizes[-1]} rows", slice(0, sizes[-1])
        again = _losses(trial, trial.learn(model, learnt), n_learnt)
        _compare(curve[-1], again, then, "after the same rows once more")
        if trial.front.accepts(model, trial.front.weights):
            weights = {trial.front.weights: np.full(sizes[-1], 3.0)}
            heavy = trial.learn(trial.fresh(), learnt, **weights)
            _compare(curve[-1], _losses(trial, heavy, n_learnt), then, "with weights of 3")
    return [float(losses.mean()) for losses in curve]


def _compare(best: NDArray[Any], now: NDArray[Any], then: str, case: str) -> None:
    """See that losses have not risen by more than noise."""
    apart = now - best
    # Losses that all move by the same rounding have no spread.
    noise = 4 * apart.std() / np.sqrt(apart.size) + 1e-9 * np.maximum(now, best).mean()
    if apart.mean() > noise:
        risen = f"from {best.mean():.4g} {then} to {now.mean():.4g} {case}"
        raise BrokenError(f"the mean loss rises {risen}, beyond the {noise:.2g} of noise")


def _losses(trial: Trial, model: Any, n_learnt: int) -> NDArray[Any]:
    """Return the loss of each unseen row, the mean over targets where there are several."""
    name = trial.front.predictor
    said = trial.front.read(model, name, trial.rows[n_learnt:])
    actual = columns(name, list(trial.targets[n_learnt:]))
    numbers = trial.front.predicts(model) == "numbers"
    loss = (lambda one, other: np.abs(one - other)) if numbers else np.not_equal
    losses = [loss(said[key], target) for key, target in actual.items()]
    return np.asarray(np.mean(losses, axis=0), dtype=np.float64)


def _sizes(estimator: Any, n_learnt: int) -> list[int]:
    n_features = getattr(estimator, "n_components", None)
    first = max(n_learnt // 8, 1)
    sizes = {round(size) for size in np.geomspace(first, n_learnt, 9)}
    if isinstance(n_features, int) and first < n_features < n_learnt:
        sizes.add(n_features)
    return sorted(sizes)


@law("any order")
def check_any_order(trial: Trial) -> None:
    """Check that rows sorted by their targets are not taken for a world that changes.

    The last third of the rows is held out. A model that forgets by itself must predict them as well
    as one that never does, but for four standard errors of the difference.
    """
    n_learnt = len(trial.targets) - len(trial.targets) // 3
    order = sorted(range(n_learnt), key=lambda index: repr(trial.targets[index]))
    never, by_itself = (
        _losses(trial, trial.learn(trial.fresh(latest_rows=0, half_life=value), order), n_learnt)
        for value in (None, "auto")
    )
    _compare(never, by_itself, "with half_life=None", "with 'auto', rows sorted by their targets")


@law("no trace")
def check_no_trace(trial: Trial, *, arguments: dict[str, Any], fitted: bool = True) -> Exception:
    """Check that a bad call is refused and leaves the state bit for bit as it was.

    Parameters
    ----------
    arguments : dict of str -> object
        Keyword arguments that ``partial_fit`` must refuse, or ``learn_one`` of river's.
    fitted : bool, default=True
        Whether the estimator has learnt the rows before.

    Returns
    -------
    Exception
        What the call raised, for those who want to read its message.

    Examples
    --------
    >>> from streamchi2 import ExpChi2Sampler
    >>> sampler = ExpChi2Sampler(8, random_state=0)
    >>> print(check_no_trace(sampler, [[0.5, 0.5]], arguments={"X": [[0.5, -1.0]]}))
    Negative values in data: X must be non-negative, got -1.0 at row 0, column 1
    """
    model = trial.learn(trial.fresh()) if fitted else trial.fresh()
    return refusal(model, lambda it: getattr(it, trial.front.learner)(**arguments))


def refusal(model: Any, call: Callable[[Any], Any]) -> Exception:
    """Return the error by which a call is refused; see that it leaves no trace in any object."""
    before = state_of(model)
    try:
        call(model)
    except Exception as error:
        if not isinstance(error, ValueError | TypeError):  # NotFittedError is one
            raise BrokenError(f"it raised {error!r}, which is no refusal") from error
        if state_of(model) != before:
            raise BrokenError("the state changed though the call was refused") from error
        return error
    raise BrokenError("nothing was refused")


@law("save")
def check_save(trial: Trial, *, cuts: Sequence[int]) -> None:
    """Check that a model that is saved and loaded at some positions stays the same bit for bit.

    In this library's format, or with pickle for foreign estimators.

    Parameters
    ----------
    cuts : sequence of int
        Numbers of rows after which it is saved and loaded; ``range(1, n)`` for every position.
    """
    model, twin = trial.fresh(), trial.fresh()
    for piece in trial.pieces(cuts):
        trial.learn(model, piece)
        trial.learn(twin, piece)
        try:
            twin = loaded(dumped(twin))
        except TypeError:  # none of this library's
            twin = pickle.loads(pickle.dumps(twin))
        case = f"after {piece.stop} rows, when saved and loaded after {list(cuts)[:20]}"
        trial.compare(model, twin, case)
        if state_of(model) != state_of(twin):
            raise BrokenError(f"the states differ {case}")


@law("pure reads")
def check_pure_reads(trial: Trial, *, cuts: Sequence[int]) -> None:
    """Check that reading changes nothing: no state, no attribute, no answer, nothing learnt later.

    Parameters
    ----------
    cuts : sequence of int
        Numbers of rows after which every method that reads (transform, decision_function,
        predict_proba and predict, or river's ``..._one``) reads all rows; ``range(1, n)`` for every
        position. A second model, which is read at the end only, must learn the same.
    """
    model, unread = trial.fresh(), trial.fresh()
    for piece in trial.pieces(cuts):
        trial.learn(model, piece)
        trial.learn(unread, piece)
        before = state_of(model), set(vars(model))
        readings(model, trial.rows)
        if (state_of(model), set(vars(model))) != before:
            raise BrokenError(f"the state changed while rows were read after {piece.stop} rows")
        trial.compare(model, model, "the second time")
    case = f"between a model that was read after {list(cuts)[:20]} rows and one that was not"
    if state_of(model) != state_of(unread):
        raise BrokenError(f"the states differ {case}")
    trial.compare(unread, model, case)
