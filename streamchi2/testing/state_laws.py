"""Laws about what may change an estimator, and what may not: refusals, reading, saving."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn.exceptions import NotFittedError

from streamchi2.errors import FormatError, StateMismatchError
from streamchi2.persistence import dumped, loaded
from streamchi2.testing.comparison import broken, compare, difference, readings, state_of
from streamchi2.testing.front_ends import front_end_of, n_rows_of
from streamchi2.testing.reproduction import reproduction

REFUSALS = (ValueError, TypeError, NotFittedError, StateMismatchError, FormatError)


def check_no_trace(
    estimator: Any,
    call: Callable[[Any], Any],
    *,
    case: str = "",
    code: Callable[[], str] | None = None,
    state: Callable[[Any], Any] = state_of,
) -> Exception:
    """Check that a bad call is refused and leaves the state bit for bit as it was.

    Parameters
    ----------
    estimator : estimator
        Fitted or not.
    call : callable
        Gets the estimator and makes the call.
    case : str, optional
        For the message: what was wrong with the call.
    code : callable, optional
        Returns a program that makes the call, for the message.
    state : callable, optional
        How to see the state; see :func:`state_of`.

    Returns
    -------
    Exception
        What the call raised, for those who want to read its message.

    Examples
    --------
    >>> from streamchi2 import ExpChi2Sampler
    >>> sampler = ExpChi2Sampler(8, random_state=0).fit([[0.5, 0.5]])
    >>> print(check_no_trace(sampler, lambda sampler: sampler.partial_fit([[0.5, -1.0]])))
    Negative values in data: X must be non-negative, got -1.0 at row 0, column 1
    """
    before = state(estimator)
    try:
        call(estimator)
    except REFUSALS as error:
        if state(estimator) != before:
            what = f"the state changed though the call was refused {case}"
            raise broken("no trace", estimator, what, code) from error
        return error
    except Exception as error:
        what = f"it raised {type(error).__name__}, which is no refusal, {case}"
        raise broken("no trace", estimator, what, code) from error
    raise broken("no trace", estimator, f"nothing was refused {case}", code)


def check_pure_reads(
    estimator: Any,
    rows: Any,
    targets: Any = None,
    *,
    classes: Any = None,
    state: Callable[[Any], Any] = state_of,
) -> None:
    """Check that reading changes neither the state nor what is read next.

    Parameters
    ----------
    estimator : estimator
        Its parameters are used.
    rows, targets : array, or dicts for river's estimators
        Learnt; then every method that reads (transform, decision_function, predict_proba and
        predict, or river's ``..._one``) reads the rows, twice.
    classes : array-like, optional
        For classifiers that must be told at the first call.
    state : callable, optional
        How to see the state; see :func:`state_of`.
    """
    front = front_end_of(estimator)
    rows, targets = front.stream(rows, targets)
    code = partial(
        reproduction, "check_pure_reads", estimator, rows=rows, targets=targets, classes=classes
    )
    model = front.learn(front.fresh(estimator), rows, targets, classes=classes)
    before, attributes = state(model), set(vars(model))
    first = readings(model, rows)
    if set(vars(model)) != attributes:
        changed = sorted(set(vars(model)) ^ attributes)
        what = f"reading changed the attributes {changed}"
        raise broken("pure reads", estimator, what, code)
    if state(model) != before:
        raise broken("pure reads", estimator, "the state changed while rows were read", code)
    for name, again in readings(model, rows).items():
        where = difference(first[name], again)
        if where is not None:
            what = f"{name} differs {where} the second time"
            raise broken("pure reads", estimator, what, code)


def check_save(
    estimator: Any,
    rows: Any,
    targets: Any = None,
    *,
    at: int | None = None,
    classes: Any = None,
    copied: Callable[[Any], Any] | None = None,
    state: Callable[[Any], Any] = state_of,
) -> None:
    """Check that a saved and loaded estimator says and learns what the original does.

    Parameters
    ----------
    estimator : estimator
        Its parameters are used.
    rows, targets : array, or dicts for river's estimators
        The stream, of two rows at least.
    at : int, optional
        Rows that are learnt before saving, half of them by default; the others are learnt by both,
        the original and the loaded one.
    classes : array-like, optional
        For classifiers that must be told at the first call.
    copied : callable, optional
        Saves and loads; by default this library's format, and pickle for foreign estimators.
    state : callable, optional
        How to see the state; see :func:`state_of`.
    """
    front = front_end_of(estimator)
    rows, targets = front.stream(rows, targets)
    n_rows = n_rows_of(rows)
    at = n_rows // 2 if at is None else at
    if not 0 < at < n_rows:
        raise ValueError(
            f"at must leave rows to learn before and after saving, so lie between 1 and "
            f"{n_rows - 1} for {n_rows} rows, got {at!r}"
        )
    words: dict[str, Any] = {"rows": rows, "targets": targets, "at": at, "classes": classes}
    code = partial(reproduction, "check_save", estimator, **words)
    before, after = slice(0, at), slice(at, n_rows)
    model = front.fresh(estimator)
    front.learn(model, front.take(rows, before), front.take(targets, before), classes=classes)
    twin = (copied or _saved_and_loaded)(model)
    compare("save", model, twin, rows, case=f"when loaded after {at} rows", code=code)
    for side in (model, twin):
        front.learn(side, front.take(rows, after), front.take(targets, after))
    case = f"when the original and the one loaded after {at} rows learn the rest"
    compare("save", model, twin, rows, case=case, code=code)
    if state(model) != state(twin):
        raise broken("save", estimator, f"the states differ {case}", code)


def _saved_and_loaded(estimator: Any) -> Any:
    try:
        data = dumped(estimator)
    except TypeError:
        return pickle.loads(pickle.dumps(estimator))
    return loaded(data)
