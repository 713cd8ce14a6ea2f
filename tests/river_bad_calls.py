"""The table of bad calls for the estimators of river: dicts, frames, targets, weights, merges."""

from __future__ import annotations

from functools import cache, partial

import pandas as pd
from bad_parameters import BAD_PARAMETERS
from saved_examples import CODES, NUMBERS, ROWS, WORDS, learn, named

from streamchi2 import ExpChi2Sampler, river

N = 70  # beyond the 64 rows that set the map

KINDS = {
    "river sampler": (river.ExpChi2Sampler, None, "sampler"),
    "river classifier": (river.ExpChi2Classifier, WORDS, "classifier"),
    "river regressor": (river.ExpChi2Regressor, NUMBERS, "regressor"),
}
GOOD = named(ROWS)[0]
BAD_DICTS = {
    "nan": GOOD | {"cell 0": float("nan")},
    "infinite": GOOD | {"cell 0": float("inf")},
    "negative": GOOD | {"cell 0": -0.25},
    "hardly negative": GOOD | {"new": -5e-324},
    "a word": GOOD | {"cell 0": "1"},
    "nothing inside": GOOD | {"cell 0": None},
    "complex": GOOD | {"cell 0": 1j},
    "a list inside": GOOD | {"cell 0": [1.0]},
    "an odd key": GOOD | {frozenset("ab"): 1.0},
    "a list": [1.0, 2.0],
    "a number": 3.0,
    "nothing": None,
    "text": "rows",
}
BAD_LABELS = [None, float("nan"), float("inf"), 1j, [1], object(), b"a", 3]
BAD_NUMBERS = [None, "a", float("nan"), float("-inf"), 1j, [1.0], object(), 1e200]
BAD_WEIGHTS = [-1.0, float("nan"), float("inf"), "heavy", 1e300, [1.0, 2.0], object(), 1j]
PARAMS_OF_RIVER = {
    "n_components", "norm", "beta", "dof", "series", "n_terms", "basis", "adapt", "half_life",
    "alpha",
}  # fmt: skip


@cache  # a refused call leaves no trace, so one object will do for all
def fitted(name, n_rows=N, n_components=8, **params):
    kind, targets, _ = KINDS[name]
    return learn(kind(n_components, seed=0, **params), targets, 0, n_rows)


def _call(method, *arguments, **more):
    return lambda model: getattr(model, method)(*arguments, **more)


def _frames(name):
    frame = pd.DataFrame(ROWS[:3], columns=list("abcde"))
    yield "negative", frame - 1.0
    yield "nan", frame.replace(frame.loc[1, "a"], float("nan"))
    yield "words", frame.astype(str)
    yield "twice the same column", pd.DataFrame(ROWS[:3, :2], columns=["a", "a"])
    yield "an array", ROWS[:3]
    yield "nothing", None


def learning_calls(name):
    """Bad rows, targets and weights, for a new estimator and for one that has learnt."""
    kind, targets, _ = KINDS[name]
    states = {
        "new": lambda: kind(8, seed=0),
        "young": partial(fitted, name, 5),
        "fitted": partial(fitted, name),
    }
    first = () if targets is None else (targets[0].item(),)
    column = () if targets is None else (pd.Series(targets[:3]),)
    for state, make in states.items():
        for case, row in BAD_DICTS.items():
            yield f"{state} learn_one(x={case})", make, _call("learn_one", row, *first)
        for case, frame in _frames(name):
            yield f"{state} learn_many(X={case})", make, _call("learn_many", frame, *column)
        if targets is None:
            continue
        # Bytes and numbers are good first labels, and bad ones after words.
        bad = BAD_NUMBERS if targets is NUMBERS else BAD_LABELS[: -2 if state == "new" else None]
        for index, target in enumerate(bad):
            yield f"{state} learn_one(y={index})", make, _call("learn_one", GOOD, target)
        for index, weight in enumerate(BAD_WEIGHTS):
            yield f"{state} learn_one(w={index})", make, _call("learn_one", GOOD, *first, weight)
        few = pd.DataFrame(ROWS[:2])
        yield f"{state} learn_many(too many y)", make, _call("learn_many", few, *column)


def reading_calls(name):
    """Bad rows for everything that reads."""
    methods = ("transform_one", "predict_one", "predict_proba_one")
    for method in methods:
        if hasattr(KINDS[name][0], method):
            for case, row in BAD_DICTS.items():
                yield f"{method}(x={case})", partial(fitted, name), _call(method, row)
    for method in ("transform_many", "predict_many", "predict_proba_many"):
        if hasattr(KINDS[name][0], method):
            for case, frame in _frames(name):
                yield f"{method}(X={case})", partial(fitted, name), _call(method, frame)


def merging_calls(name):
    """Others that do not belong."""
    strangers = {"nothing": None, "a number": 3, "another library's": ExpChi2Sampler(8)}
    strangers |= {other: fitted(other) for other in KINDS if other != name}
    strangers["another width"] = fitted(name, n_components=6)
    strangers["another half-life"] = fitted(name, half_life=9.0)
    if name == "river classifier":
        numbers = river.ExpChi2Classifier(8, seed=0)
        strangers["numbers for labels"] = learn(numbers, CODES, 0, N)
    for case, other in strangers.items():
        yield f"merge({case})", partial(fitted, name), _call("merge", other)


def parameter_calls(name):
    """Constructor parameters that make no sense."""
    kind, targets, plain = KINDS[name]
    first = () if targets is None else (targets[0].item(),)
    for param in sorted(PARAMS_OF_RIVER & BAD_PARAMETERS[plain].keys()):
        for index, value in enumerate(BAD_PARAMETERS[plain][param]):
            make = partial(kind, **{"seed": 0, "n_components": 8, param: value})
            yield f"new learn_one after {param} {index}", make, _call("learn_one", GOOD, *first)


RIVER_TABLE = {
    f"{name}, {calls.__name__.replace('_', ' ')}": partial(calls, name)
    for name in KINDS
    for calls in (learning_calls, reading_calls, merging_calls, parameter_calls)
}
