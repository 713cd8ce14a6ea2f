"""Law "scale of weights": integer weights are repeated rows; small weights are not few rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from streamchi2.testing.comparison import compare
from streamchi2.testing.front_ends import FrontEnd, front_end_of, n_rows_of
from streamchi2.testing.reproduction import literal, reproduction


def check_repeated_rows(
    estimator: Any,
    rows: Any,
    targets: Any = None,
    *,
    weights: Any,
    classes: Any = None,
    rtol: float = 1e-5,
    atol: float = 1e-5,
) -> None:
    """Check that a row of weight m is learnt as m rows, and one of weight zero as none.

    What an estimator does after so many rows counts rows, not weights. For those of this library
    both streams must therefore stand between the same positions: there is none between 9D/8 (where
    ``alpha="auto"`` changes its criterion) and 256, 1024, 4096, ... (where k is estimated again).

    Parameters
    ----------
    estimator : estimator
        One that takes weights. Where it has ``new_shard``, both sides learn under one map, which
        is made from the rows without weights: a map is planned from the first rows as they come.
    rows, targets : array, or dicts for river's estimators
        The stream.
    weights : array-like of int
        One per row, zero or more; not all of them one.
    classes : array-like, optional
        For classifiers that must be told at the first call.
    rtol, atol : float
        How far readings may differ: sums are taken in another order, of features in float32.
    """
    front = _weighing(estimator)
    rows, targets = front.stream(rows, targets)
    counts = np.asarray(weights)
    whole = counts.shape == (n_rows_of(rows),) and counts.dtype.kind in "iu"
    if not whole or counts.min() < 0 or counts.max() == 0 or (counts == 1).all():
        raise ValueError(
            "weights must be whole numbers, zero or more, one per row, some above zero and not all "
            f"one, got {literal(counts)[:80]}"
        )
    code = partial(
        reproduction,
        "check_repeated_rows", estimator, rows=rows, targets=targets, weights=counts,
        classes=classes, rtol=rtol, atol=atol,
    )  # fmt: skip
    some, other = front.fresh(estimator), front.fresh(estimator)
    if hasattr(estimator, "new_shard"):
        base = front.learn(front.fresh(estimator), rows, targets, classes=classes)
        some, other = base.new_shard(), base.new_shard()
    repeats = np.repeat(np.arange(counts.size), counts)
    weighted = front.learn(some, rows, targets, weights=counts.astype(float), classes=classes)
    repeated = front.learn(
        other, front.take(rows, repeats), front.take(targets, repeats), classes=classes
    )
    compare(
        "scale of weights", repeated, weighted, rows, case="when weights stand for repeated rows",
        code=code, rtol=rtol, atol=atol,
    )  # fmt: skip


def check_scale_of_weights(
    estimator: Any,
    rows: Any,
    targets: Any = None,
    *,
    scale: float = 2.0**-10,
    classes: Any = None,
    rtol: float = 1e-5,
    atol: float = 1e-5,
) -> None:
    """Check that one small weight for all rows gives the model of no weights: not few rows.

    A penalty that is a number does weigh against the sum of the weights, so this law is for models
    whose penalty is chosen from the data, or that have none.

    Parameters
    ----------
    estimator : estimator
        One that takes weights.
    rows, targets : array, or dicts for river's estimators
        The stream; some of it must be learnable, or a model that learns nothing looks the same.
    scale : float, default=2**-10
        The weight of every row. Scaling by a power of two rounds nothing.
    classes : array-like, optional
        For classifiers that must be told at the first call.
    rtol, atol : float
        How far readings may differ.
    """
    front = _weighing(estimator)
    rows, targets = front.stream(rows, targets)
    if not 0.0 < scale < np.inf or scale == 1.0:
        raise ValueError(f"scale must be positive, finite and not 1, got {scale!r}")
    code = partial(
        reproduction,
        "check_scale_of_weights", estimator, rows=rows, targets=targets, scale=scale,
        classes=classes, rtol=rtol, atol=atol,
    )  # fmt: skip
    weights = np.full(n_rows_of(rows), scale)
    plain = front.learn(front.fresh(estimator), rows, targets, classes=classes)
    small = front.learn(front.fresh(estimator), rows, targets, weights=weights, classes=classes)
    case = f"when the weight of each of {weights.size} rows is {scale:g}"
    compare("scale of weights", plain, small, rows, case=case, code=code, rtol=rtol, atol=atol)


def _weighing(estimator: Any) -> FrontEnd:
    front = front_end_of(estimator)
    if not front.takes_weights(estimator):
        raise TypeError(
            "estimator must take weights, as sample_weight of partial_fit or w of learn_one, got "
            f"{type(estimator).__name__}"
        )
    return front
