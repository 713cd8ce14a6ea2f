"""What a law is judged by: the state of an estimator, its answers, and the error it raises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import joblib  # type: ignore[import-untyped]
import numpy as np

from streamchi2.persistence import dumped
from streamchi2.testing.front_ends import front_end_of
from streamchi2.testing.reproduction import constructor, literal


class LawError(AssertionError):
    """A law does not hold; the message says which one, for which estimator, and on what.

    Attributes
    ----------
    law : str
        Name of the law.
    code : str
        A program that shows the failure again, empty where the check cannot know it.
    """

    law: str = ""
    code: str = ""


def broken(law: str, estimator: Any, what: str, code: Callable[[], str] | None = None) -> LawError:
    """Return the error for a law that an estimator breaks; the code is written only now."""
    program = "" if code is None else code()
    again = f"\n\nTo see it again:\n\n{program}\n" if program else ""
    name = getattr(estimator, "__name__", None) or constructor(estimator)
    error = LawError(f"law {law!r} is broken by {name}: {what}{again}")
    error.law, error.code = law, program
    return error


def state_of(estimator: Any) -> Any:
    """Return something that is equal for equal states: saved bytes, or a hash of the pickle."""
    try:
        return dumped(estimator)
    except TypeError:
        return joblib.hash(estimator)


def readings(estimator: Any, rows: Any) -> dict[str, Any]:
    """Return what an estimator says about rows, by method.

    Arrays for estimators of scikit-learn's kind, lists with one answer per row for river's. An
    estimator that has no method to read is refused with a TypeError: no law can be seen on it.
    """
    front = front_end_of(estimator)
    rows, _ = front.stream(rows, None)
    found = {}
    for name in front.readers:
        # River's classifiers all have predict_proba_one, where some only say that it is missing.
        with suppress(NotImplementedError):
            if hasattr(estimator, name):
                found[name] = front.read_one_way(estimator, name, rows)
    if not found:
        raise TypeError(
            f"estimator must have one of {', '.join(front.readers)} for a law to compare, got "
            f"{type(estimator).__name__}"
        )
    return found


def compare(
    law: str,
    expected: Any,
    found: Any,
    rows: Any,
    *,
    case: str,
    code: Callable[[], str] | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
    methods: Sequence[str] | None = None,
) -> None:
    """Raise LawError unless two estimators say the same about rows, by all methods or by some."""
    ours, theirs = readings(expected, rows), readings(found, rows)
    if list(ours) != list(theirs):
        what = f"one can be read by {list(ours)}, the other by {list(theirs)}, {case}"
        raise broken(law, expected, what, code)
    if methods is not None and (unknown := sorted(set(methods) - set(ours))):
        raise ValueError(f"methods must be among {list(ours)}, got {unknown}")
    tied = _ties(ours, rtol, atol)
    for name in ours if methods is None else methods:
        wanted = ours[name]
        of_labels = name in ("predict", "predict_one")
        where = difference(wanted, theirs[name], rtol, atol, excused=tied if of_labels else ())
        if where is not None:
            raise broken(law, expected, f"{name} differs {where} {case}", code)


def difference(
    wanted: Any, found: Any, rtol: float = 0.0, atol: float = 0.0, excused: Any = ()
) -> str | None:
    """Return where two answers differ, or None; rows that are excused are passed over."""
    if isinstance(wanted, np.ndarray):
        return _difference_of_arrays(wanted, np.asarray(found), rtol, atol, excused)
    for place, (ours, theirs) in enumerate(zip(wanted, found, strict=True)):
        if place in excused:
            continue
        if isinstance(ours, dict) and isinstance(theirs, dict):
            if set(ours) != set(theirs):
                return f"in row {place} by the keys {sorted(map(str, set(ours) ^ set(theirs)))},"
            pairs = [(f"row {place}, key {key!r}", ours[key], theirs[key]) for key in ours]
        else:
            pairs = [(f"row {place}", ours, theirs)]
        for where, one, other in pairs:
            if not _equal(one, other, rtol, atol):
                return f"in {where}, {literal(one)} against {literal(other)},"
    return None


def _difference_of_arrays(
    wanted: Any, found: Any, rtol: float, atol: float, excused: Any
) -> str | None:
    if wanted.shape != found.shape:
        return f"in shape, {wanted.shape} against {found.shape},"
    if wanted.dtype.kind == found.dtype.kind == "f":
        # Also for tolerances of zero: not a number is the same answer as not a number.
        same = np.isclose(found, wanted, rtol=rtol, atol=atol, equal_nan=True)
    else:
        same = np.asarray(wanted == found)
    if len(excused):
        same[np.asarray(excused)] = True
    if same.all():
        return None
    place = tuple(int(i) for i in np.argwhere(~same)[0])
    return f"at {place}, {literal(wanted[place])} against {literal(found[place])},"


def _equal(one: Any, other: Any, rtol: float, atol: float) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return bool(np.isclose(other, one, rtol=rtol, atol=atol, equal_nan=True))
    return bool(one == other)


def _ties(found: dict[str, Any], rtol: float, atol: float) -> list[int]:
    """Return the rows whose two best scores are apart by no more than scores may differ.

    There rounding may choose the label. Without a tolerance nothing is excused.
    """
    if rtol == 0.0 and atol == 0.0:
        return []
    scores = found.get("decision_function", found.get("predict_proba"))
    if isinstance(scores, np.ndarray) and scores.ndim == 2 and scores.shape[1] > 1:
        best = np.sort(scores, axis=1)[:, -2:]
    elif isinstance(scores, np.ndarray) and scores.ndim == 1:
        best = np.column_stack([-np.abs(scores), np.abs(scores)])
    elif "predict_proba_one" in found:
        answers = [sorted([0.0, 0.0, *answer.values()]) for answer in found["predict_proba_one"]]
        best = np.array([answer[-2:] for answer in answers])
    else:
        return []
    # Each of the two may move, hence twice the tolerance.
    near = best[:, 1] - best[:, 0] <= 2 * (atol + rtol * np.abs(best).max(axis=1))
    return [int(place) for place in np.flatnonzero(near)]
