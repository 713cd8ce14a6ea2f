"""What a law is judged by: the state of an estimator, what it says about rows, and the verdict."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import joblib  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from streamchi2.persistence import dumped

READERS = ("transform", "decision_function", "predict_proba", "predict")


class LawBroken(AssertionError):  # noqa: N818  # a verdict, not a failure of ours
    """A law does not hold; the message says which one, for whom, and on what."""


def broken(law: str, estimator: Any, what: str) -> LawBroken:
    """Return the error for a law that an estimator breaks."""
    return LawBroken(f"law {law!r} is broken by {estimator!r}: {what}")


def state_of(estimator: Any) -> Any:
    """Return something that is equal for equal states: saved bytes, or a hash of the pickle."""
    try:
        return dumped(estimator)
    except TypeError:
        return joblib.hash(estimator)


def readings(estimator: Any, rows: Any) -> dict[str, NDArray[Any]]:
    """Return what an estimator says about rows, by method."""
    found = {name: getattr(estimator, name, None) for name in READERS}
    return {name: np.asarray(read(rows)) for name, read in found.items() if read is not None}


def fresh(estimator: Any) -> Any:
    """Return an estimator with the same parameters that has learnt nothing."""
    return clone(estimator)


def learnt(estimator: Any, rows: Any, targets: Any = None, **more: Any) -> Any:
    """Let an estimator learn one batch, and return it."""
    arguments = () if targets is None else (targets,)
    estimator.partial_fit(rows, *arguments, **more)
    return estimator


def learnt_in_pieces(estimator: Any, rows: Any, targets: Any, cuts: Sequence[int]) -> Any:
    """Let an estimator learn rows cut at some positions, and return it."""
    n_rows = rows.shape[0]
    ends = [0, *sorted(cut for cut in set(cuts) if 0 < cut < n_rows), n_rows]
    for start, stop in pairwise(ends):
        piece = None if targets is None else targets[start:stop]
        learnt(estimator, rows[start:stop], piece)
    return estimator


def compare(
    law: str,
    expected: Any,
    found: Any,
    rows: Any,
    *,
    case: str,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> None:
    """Raise LawBroken unless two estimators say the same about rows."""
    theirs = readings(found, rows)
    for name, wanted in readings(expected, rows).items():
        difference = _difference(wanted, theirs[name], rtol, atol)
        if difference is not None:
            raise broken(law, expected, f"{name} differs {difference} {case}")


def _difference(wanted: NDArray[Any], found: NDArray[Any], rtol: float, atol: float) -> str | None:
    """Return where two arrays differ, or None."""
    if wanted.shape != found.shape:
        return f"in shape, {wanted.shape} against {found.shape},"
    if wanted.dtype.kind != "f" or (rtol == 0.0 and atol == 0.0):
        same = np.asarray(wanted == found)
    else:
        same = np.isclose(found, wanted, rtol=rtol, atol=atol)
    if same.all():
        return None
    place = tuple(int(i) for i in np.argwhere(~same)[0])
    return f"at {place}, {wanted[place]!r} against {found[place]!r},"


def shown(rows: Any) -> str:
    """Return rows as text for a message: all of few, the size of many."""
    dense = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    if dense.size <= 24:
        return f"{dense.tolist()}"
    return f"{dense.shape[0]} rows of {dense.shape[1]} columns"
