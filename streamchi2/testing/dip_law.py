"""Law "no dip": more rows from the same source never cost accuracy beyond noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamchi2.testing.comparison import broken
from streamchi2.testing.front_ends import FrontEnd, front_end_of, n_rows_of
from streamchi2.testing.reproduction import reproduction

_N_SIZES = 9


def check_no_dip(
    estimator: Any,
    rows: Any,
    targets: Any,
    *,
    sizes: Sequence[int] | None = None,
    n_unseen: int | None = None,
    n_errors: float = 4.0,
    classes: Any = None,
) -> NDArray[np.float64]:
    r"""Check that the learning curve never falls by more than noise below an earlier point.

    The last rows are held out. After each size the model predicts them, and the losses
    :math:`l_i` (wrong or right, or the absolute error) are compared row by row with those after
    the best size so far: with :math:`d_i = l_i^{now} - l_i^{best}` over m rows, a dip is

    .. math:: \bar d > z \, s_d / \sqrt m, \qquad s_d^2 = \tfrac{1}{m}\sum_i (d_i - \bar d)^2

    Pairing removes the noise that both share. Nine sizes make 36 pairs: where nothing but chance
    is at work, some pair exceeds 3 standard errors in up to one curve of 20, and 4 in one of 800
    (normal tails, added up). With z = 4, up to 16 rows that turn from right to wrong, and none the
    other way, are no dip.

    Parameters
    ----------
    estimator : estimator
        With ``predict`` or ``predict_one``.
    rows, targets : array, or dicts for river's estimators
        In the order of the stream, all from one source: shuffled.
    sizes : sequence of int, optional
        Numbers of rows learnt, ascending, after which to predict. By default nine from an eighth of
        the rows that are learnt to all of them, evenly in their logarithm, and the number of
        features D where the estimator has ``n_components``: there least squares is at its worst.
    n_unseen : int, optional
        Rows held out, a third of them by default.
    n_errors : float, default=4
        How many standard errors count as noise, z.
    classes : array-like, optional
        For classifiers that must be told at the first call.

    Returns
    -------
    ndarray, shape (len(sizes),)
        Mean losses, for those who want to see the curve.
    """
    front = front_end_of(estimator)
    rows, targets = front.stream(rows, targets)
    if targets is None:
        raise ValueError("targets must be given for the law 'no dip', got None")
    reader = next((name for name in ("predict", "predict_one") if hasattr(estimator, name)), None)
    if reader is None:
        raise TypeError(f"estimator must have predict, got {type(estimator).__name__}")
    n_unseen = n_rows_of(rows) // 3 if n_unseen is None else n_unseen
    n_learnt = n_rows_of(rows) - n_unseen
    if not 0 < n_unseen < n_rows_of(rows):
        raise ValueError(
            f"n_unseen must leave rows to learn and to predict, got {n_unseen!r} of "
            f"{n_rows_of(rows)} rows"
        )
    sizes = _usual_sizes(estimator, n_learnt) if sizes is None else [int(size) for size in sizes]
    if len(sizes) < 2 or sorted(set(sizes)) != sizes or sizes[-1] > n_learnt or sizes[0] < 1:
        raise ValueError(
            f"sizes must be two or more, ascending, from 1 to the {n_learnt} rows that are learnt, "
            f"got {sizes}"
        )
    code = partial(
        reproduction,
        "check_no_dip", estimator, rows=rows, targets=targets, sizes=sizes, n_unseen=n_unseen,
        n_errors=n_errors, classes=classes,
    )  # fmt: skip
    unseen = slice(n_learnt, None)
    judge = (front, reader, front.take(rows, unseen), front.take(targets, unseen))
    model, best, curve, start = front.fresh(estimator), None, [], 0
    for stop in sizes:
        piece = slice(start, stop)
        more = None if start else classes
        front.learn(model, front.take(rows, piece), front.take(targets, piece), classes=more)
        losses = _losses(model, *judge)
        curve.append(float(losses.mean()))
        if best is not None and (noise := _dip(losses, best[1], n_errors)) is not None:
            what = (
                f"the mean loss on {n_unseen} unseen rows rises from {best[1].mean():.4g} after "
                f"{best[0]} rows to {losses.mean():.4g} after {stop}, beyond the {noise:.2g} of "
                "noise"
            )
            raise broken("no dip", estimator, what, code)
        if best is None or losses.mean() < best[1].mean():
            best = stop, losses
        start = stop
    return np.array(curve)


def _dip(now: NDArray[np.float64], best: NDArray[np.float64], n_errors: float) -> float | None:
    """Return how much would have been noise, where the loss has risen by more than that."""
    apart = now - best
    # Losses that all move by the same rounding have no spread.
    rounding = 1e-9 * float(np.maximum(now, best).mean())
    noise = n_errors * float(apart.std()) / math.sqrt(apart.size) + rounding
    return noise if apart.mean() > noise else None


def _losses(
    model: Any, front: FrontEnd, reader: str, rows: Any, targets: Any
) -> NDArray[np.float64]:
    said = front.read_one_way(model, reader, rows)
    if front.kind(model) == "regressor":
        return np.abs(np.asarray(said, dtype=np.float64) - np.asarray(targets, dtype=np.float64))
    wrong = [one != other for one, other in zip(said, targets, strict=True)]
    return np.asarray(wrong, dtype=np.float64)


def _usual_sizes(estimator: Any, n_learnt: int) -> list[int]:
    first = max(n_learnt // 8, 1)
    sizes = {round(size) for size in np.geomspace(first, n_learnt, _N_SIZES)}
    n_features = getattr(estimator, "n_components", None)
    if isinstance(n_features, int) and first < n_features < n_learnt:
        sizes.add(n_features)
    return sorted(sizes)
