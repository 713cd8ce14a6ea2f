"""Laws about what may change an estimator, and what may not: refusals, reading, saving."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

from streamchi2.files import dumped, loaded
from streamchi2.testing.laws import BrokenError, Trial, law, readings, state_of


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
        twin = _saved_and_loaded(trial.learn(twin, piece))
        case = f"after {piece.stop} rows, when saved and loaded after {list(cuts)[:20]}"
        trial.compare(model, twin, case)
        if state_of(model) != state_of(twin):
            raise BrokenError(f"the states differ {case}")


def _saved_and_loaded(estimator: Any) -> Any:
    try:
        return loaded(dumped(estimator))
    except TypeError:  # none of this library's
        return pickle.loads(pickle.dumps(estimator))


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
