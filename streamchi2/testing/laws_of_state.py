"""Laws about what may change an estimator, and what may not: refusals, reading, saving."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from sklearn.exceptions import NotFittedError

from streamchi2.errors import FormatError, StateMismatchError
from streamchi2.persistence import dumped, loaded
from streamchi2.testing.evidence import broken, compare, learnt, readings, shown, state_of

REFUSALS = (ValueError, TypeError, NotFittedError, StateMismatchError, FormatError)


def check_no_trace(
    estimator: Any,
    call: Callable[[Any], Any],
    *,
    case: str = "",
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
            raise broken(
                "no trace", estimator, f"the state changed though the call was refused {case}"
            ) from error
        return error
    except Exception as error:
        kind = type(error).__name__
        raise broken("no trace", estimator, f"it raised {kind}, no refusal, {case}") from error
    raise broken("no trace", estimator, f"nothing was refused {case}")


def check_pure_reads(estimator: Any, rows: Any, *, state: Callable[[Any], Any] = state_of) -> None:
    """Check that reading changes neither the state nor what is read next.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    rows : array-like
        Rows to read: all of transform, decision_function, predict_proba and predict that exist.
    state : callable, optional
        How to see the state; see :func:`state_of`.
    """
    before, attributes = state(estimator), set(vars(estimator))
    first = readings(estimator, rows)
    if set(vars(estimator)) != attributes:
        added = sorted(set(vars(estimator)) ^ attributes)
        raise broken("pure reads", estimator, f"reading changed the attributes {added}")
    if state(estimator) != before:
        raise broken("pure reads", estimator, f"the state changed while reading {shown(rows)}")
    for name, again in readings(estimator, rows).items():
        if not (again == first[name]).all():
            raise broken("pure reads", estimator, f"{name} said something else the second time")


def check_save(
    estimator: Any,
    rows: Any,
    targets: Any = None,
    *,
    copied: Callable[[Any], Any] | None = None,
    state: Callable[[Any], Any] = state_of,
) -> None:
    """Check that a saved and loaded estimator says and learns what the original does.

    Parameters
    ----------
    estimator : estimator
        Fitted; it learns the rows.
    rows, targets : array-like
        To be read, then learnt, by both.
    copied : callable, optional
        Saves and loads; by default this library's format, and pickle for foreign estimators.
    state : callable, optional
        How to see the state; see :func:`state_of`.
    """
    twin = (copied or _saved_and_loaded)(estimator)
    compare("save", estimator, twin, rows, case="after loading")
    for side in (estimator, twin):
        learnt(side, rows, targets)
    compare("save", estimator, twin, rows, case=f"after both have learnt {shown(rows)}")
    if state(estimator) != state(twin):
        raise broken("save", estimator, f"states differ after both have learnt {shown(rows)}")


def _saved_and_loaded(estimator: Any) -> Any:
    try:
        data = dumped(estimator)
    except TypeError:
        return pickle.loads(pickle.dumps(estimator))
    return loaded(data)
