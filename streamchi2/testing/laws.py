"""What all laws share: a stream that is learnt, what is compared, and the error of a broken law.

The error ends with a program that can be pasted into a Python prompt and shows the failure again.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import joblib  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from streamchi2.files import dumped
from streamchi2.testing.front_ends import FrontEnd, front_end_of

Readings = dict[str, NDArray[Any]]

_MOST_VALUES = 50_000  # of an array in a program; larger ones are left to the one who passed them

# Names under which scikit-learn's estimators show statistics of all rows.
_STATISTICS = ("n_samples_seen_", "mean_", "var_", "explained_variance_")
_SOLUTION = ("coef_", "intercept_")


def state_of(estimator: Any) -> Any:
    """Return something that is equal for equal states: saved bytes, or a hash of the pickle."""
    try:
        return dumped(estimator)
    except TypeError:  # none of this library's
        return joblib.hash(estimator)


def readings(estimator: Any, rows: Any) -> Readings:
    """Return what an estimator says about rows, by method.

    For river's estimators, a method that answers with dicts has one entry for each key. An
    estimator that has no method to read is refused with a TypeError: no law can be seen on it.
    """
    front = front_end_of(estimator)
    rows = front.rows(rows)
    said: Readings = {}
    for name in front.readers:
        # River's classifiers all have predict_proba_one, where some only say that it is missing.
        with suppress(NotImplementedError):
            said |= front.read(estimator, name, rows) if hasattr(estimator, name) else {}
    if not said:
        raise TypeError(f"estimator must have one of {front.readers}, got {estimator!r:.80}")
    return said


def difference(expected: Readings, actual: Readings, rtol: float = 0.0) -> str:
    """Return where two readings differ by more than rtol times one plus their size, or nothing.

    With a tolerance, labels are compared where there are no scores: those may tie, and then
    rounding chooses.
    """
    if set(expected) != set(actual):
        return f"one can be read by {list(expected)}, the other by {list(actual)}"
    scored = any(name.startswith(("decision_function", "predict_proba")) for name in expected)
    for name, ours in expected.items():
        if rtol and scored and name in ("predict", "predict_one"):
            continue
        theirs = actual[name]
        if ours.shape != theirs.shape:
            return f"{name} differs in shape, {ours.shape} against {theirs.shape},"
        if ours.dtype.kind == theirs.dtype.kind == "f":
            # Also for a tolerance of zero: not a number is the same answer as not a number.
            same = np.isclose(theirs, ours, rtol=rtol, atol=rtol, equal_nan=True)
        else:
            same = np.asarray(ours == theirs)
        if not same.all():
            index = tuple(np.argwhere(~same)[0].tolist())
            return f"{name} differs at {index}, {ours[index]!r} against {theirs[index]!r},"
    return ""


class LawError(AssertionError):
    """A law does not hold; the message says which one, for which estimator, and on what.

    Attributes
    ----------
    law : str
        Name of the law.
    code : str
        A program that shows the failure again.
    """

    law: str = ""
    code: str = ""


class BrokenError(AssertionError):
    """What is wrong; the check of a law makes a :class:`LawError` of it."""


@dataclass(frozen=True)
class Trial:
    """An estimator, the stream that it learns, and how far its answers may differ."""

    front: FrontEnd
    estimator: Any
    rows: Any
    targets: Any
    rtol: float

    @property
    def alpha(self) -> Any:
        """Penalty: "auto", a number, which weighs against the sum of the weights, or None."""
        return getattr(self.estimator, "alpha", None)

    def fresh(self, **changes: Any) -> Any:
        """Return an estimator that has learnt nothing."""
        return self.front.fresh(self.estimator, **changes)

    def learn(self, model: Any, index: Any = slice(None), **more: Any) -> Any:
        """Let a model learn the rows at an index, and return it."""
        targets = None if self.targets is None else self.targets[index]
        try:
            self.front.learn(model, self.rows[index], targets, **more)
        except ValueError as error:
            # Scikit-learn's own classifiers must be told all classes at the first call.
            if "classes must be passed" not in str(error):
                raise
            more["classes"] = np.unique(self.targets)
            self.front.learn(model, self.rows[index], targets, **more)
        return model

    def pieces(self, cuts: Sequence[int]) -> list[slice]:
        """Return the pieces of the stream between cuts, of which there must be one at least."""
        inner, n_rows = sorted({int(cut) for cut in cuts}), self.rows.shape[0]
        if not inner or inner[0] < 1 or inner[-1] >= n_rows:
            raise ValueError(f"cuts must be one or more from 1 to {n_rows - 1}, got {list(cuts)}")
        return [slice(*ends) for ends in pairwise([0, *inner, n_rows])]

    def compare(self, expected: Any, actual: Any, case: str) -> None:
        """See that two models say the same about all rows."""
        self._compare(readings(expected, self.rows), readings(actual, self.rows), case)

    def compare_statistics(
        self, expected: Any, actual: Any, case: str, names: Sequence[str] = _STATISTICS
    ) -> None:
        """See that two models have the same statistics, and say the same that follows from them.

        Probabilities of linear models do not: how sharp they are is chosen at some rows only.
        """

        def said(model: Any) -> Readings:
            some = readings(model, self.rows)
            some |= {name: np.asarray(getattr(model, name, None)) for name in (*names, *_SOLUTION)}
            linear = hasattr(model, "coef_")
            return {name: it for name, it in some.items() if not (linear and "proba" in name)}

        self._compare(said(expected), said(actual), case)

    def _compare(self, expected: Readings, actual: Readings, case: str) -> None:
        if where := difference(expected, actual, self.rtol):
            raise BrokenError(f"{where} {case}")


LAWS: dict[str, Callable[..., Any]] = {}


def law(name: str, *, rtol: float = 0.0) -> Callable[[Callable[..., Any]], Any]:
    """Make a function of a trial the check of a law, which takes an estimator, rows and targets.

    The check refuses estimators on which it could see nothing with a TypeError. Its readings may
    differ by rtol where the caller says nothing.
    """

    def listed(check: Callable[..., Any]) -> Any:
        @functools.wraps(check)
        def checked(
            estimator: Any, rows: Any, targets: Any = None, *, rtol: float = rtol, **more: Any
        ) -> Any:
            front = front_end_of(estimator)
            if why := reasons(front, estimator).get(name):
                raise TypeError(f"law {name!r} does not apply to {constructor(estimator)}: {why}")
            stream = front.rows(rows), None if targets is None else front.targets(targets)
            if targets is not None and len(targets) != stream[0].shape[0]:
                raise ValueError(f"targets must be one per row, got {len(targets)} for them")
            try:
                return check(Trial(front, estimator, *stream, rtol), **more)
            except BrokenError as failure:
                given = {"estimator": estimator, "rows": rows, "targets": targets, "rtol": rtol}
                code = program(check.__name__, given | more)
                what = f"law {name!r} is broken by {constructor(estimator)}: {failure}"
                error = LawError(f"{what}\n\nTo see it again:\n\n{code}\n")
                error.law, error.code = name, code
                raise error from failure.__cause__

        # What help() shows: the arguments of all checks, then those of this one.
        of_this_one = list(inspect.signature(check).parameters.values())[1:]
        of_all = list(inspect.signature(checked, follow_wrapped=False).parameters.values())[:-1]
        checked.__signature__ = inspect.Signature([*of_all, *of_this_one])  # type: ignore[attr-defined]
        LAWS[name] = checked
        return checked

    return listed


def reasons(front: FrontEnd, estimator: Any) -> dict[str, str]:
    """Return the laws that do not apply to an estimator, each with the reason."""
    by_rows = front.is_river and not hasattr(estimator, "learn_many")
    predicts = front.predicts(estimator)
    by_itself = repr(getattr(estimator, "half_life", None)) == "'auto'"
    dense = not front.is_river and not get_tags(estimator).input_tags.sparse
    rules = [
        ("cut", by_rows, "the estimator has no learn_many"),
        ("merge", not hasattr(estimator, "merge"), "the estimator has no merge"),
        ("merge", forgets(estimator), "it forgets by the order of rows, which shards do not share"),
        ("threads", not hasattr(estimator, "n_jobs"), "the estimator has no n_jobs"),
        ("absent = 0", dense, "the estimator takes no sparse rows"),
        ("late classes", predicts != "labels", "the estimator is no classifier"),
        ("late classes", not front.accepts(estimator, "classes"), "it is not told its classes"),
        ("weights", not front.accepts(estimator, front.weights), "the estimator takes no weights"),
        ("no dip", predicts == "nothing", "the estimator predicts no target"),
        ("no dip", forgets(estimator), "it forgets rows, so that more are not learnt"),
        ("any order", not by_itself, "it does not forget by itself"),
    ]
    return {law: why for law, holds, why in reversed(rules) if holds}


def forgets(estimator: Any) -> bool:
    """Return whether old rows count less than new ones."""
    return any(getattr(estimator, name, None) for name in ("half_life", "latest_rows"))


def program(check: str, arguments: dict[str, Any]) -> str:
    """Return a program that runs a check again.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> print(program("check_cut", {"estimator": GaussianNB(), "rows": np.eye(2), "cuts": [1]}))
    import numpy as np
    from numpy import array, inf, nan
    from sklearn.naive_bayes import GaussianNB
    from streamchi2.testing import *
    <BLANKLINE>
    estimator = GaussianNB()
    rows = array([[1.0, 0.0], [0.0, 1.0]], dtype='<f8')
    cuts = [1]
    check_cut(estimator=estimator, rows=rows, cuts=cuts)
    """
    arguments = {name: value for name, value in arguments.items() if value is not None}
    lines = [f"{name} = {literal(value)}" for name, value in arguments.items()]
    call = f"{check}({', '.join(f'{name}={name}' for name in arguments)})"
    imports = ["import numpy as np", "from numpy import array, inf, nan"]
    imports += [*sorted(_imports(arguments["estimator"])), "from streamchi2.testing import *"]
    return "\n".join([*imports, "", *lines, call])


def literal(value: Any) -> str:
    """Return a value as Python source.

    Examples
    --------
    >>> print(literal({"x": np.float32(0.5), "y": np.array([1, 2])}))
    {'x': np.float32(0.5), 'y': array([1, 2], dtype='<i8')}
    """
    if isinstance(value, np.ndarray):
        if value.size > _MOST_VALUES:
            return f"...  # {value.size} values, too many to print: those that the check was given"
        shape = "" if value.size else f".reshape{value.shape}"
        return f"array({value.tolist()!r}, dtype={value.dtype.str!r}){shape}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {literal(it)}' for key, it in value.items())}}}"
    return constructor(value) if _has_parameters(value) else repr(value)


def constructor(value: Any) -> str:
    """Return the call that makes an object, with what differs from the defaults.

    Examples
    --------
    >>> from streamchi2 import ExpChi2Sampler
    >>> constructor(ExpChi2Sampler(8, random_state=0))
    'ExpChi2Sampler(n_components=8, random_state=0)'
    """
    words = [
        f"{name}={literal(getattr(value, name))}"
        for name, parameter in inspect.signature(type(value)).parameters.items()
        if repr(getattr(value, name, parameter.default)) != repr(parameter.default)
    ]
    return f"{type(value).__name__}({', '.join(words)})"


def _has_parameters(value: Any) -> bool:
    return any(hasattr(value, name) for name in ("get_params", "learn_one"))


def _imports(value: Any) -> set[str]:
    """Return the imports of the class of an estimator, and of those among its parameters."""
    kind = type(value)
    inner = [getattr(value, name, None) for name in inspect.signature(kind).parameters]
    outer = f"from {kind.__module__} import {kind.__name__}"
    return {outer}.union(*(_imports(it) for it in inner if _has_parameters(it)))
