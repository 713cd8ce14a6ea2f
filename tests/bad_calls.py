"""The table of bad calls: every public method times every kind of argument it must refuse.

Each entry is a name, a function that makes an object, and a function that makes the call.
"""

from __future__ import annotations

from functools import cache, partial

import pandas as pd
from bad_arguments import bad_labels, bad_numbers, bad_rows, bad_weights
from bad_parameters import BAD_PARAMETERS
from saved_examples import CODES, NUMBERS, ROWS, WIDTH, WORDS
from sklearn.base import clone

from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    ExpChi2Sampler,
    LogHistogram,
)
from streamchi2.estimators.streaming_pca import StreamingPCA
from streamchi2.estimators.streaming_ridge import StreamingRidge, StreamingRidgeClassifier

N = 70  # beyond the 64 rows that set the map

# Unfitted estimator, targets to learn, bad targets.
SUBJECTS = {
    "sampler": (ExpChi2Sampler(8, random_state=0), None, None),
    "pca": (ExpChi2PCA(8, n_pca=2, random_state=0), None, None),
    "classifier": (ExpChi2Classifier(8, random_state=0), WORDS, bad_labels),
    "regressor": (ExpChi2Regressor(8, random_state=0), NUMBERS, bad_numbers),
    "streaming pca": (StreamingPCA(2), None, None),
    "ridge": (StreamingRidge(), NUMBERS, bad_numbers),
    "ridge classifier": (StreamingRidgeClassifier(), CODES, bad_labels),
}
READERS = ("transform", "predict", "decision_function", "predict_proba")


@cache  # a refused call leaves no trace, so one object will do for all
def fitted(name, n_rows=N, **parameters):
    estimator, targets, _ = SUBJECTS[name]
    estimator = clone(estimator).set_params(**parameters)
    return estimator.partial_fit(ROWS[:n_rows], *_part(targets, n_rows))


def _part(targets, n_rows, start=0):
    return () if targets is None else (targets[start : start + n_rows],)


def _call(method, *arguments, **named):
    return lambda estimator: getattr(estimator, method)(*arguments, **named)


def learning_calls(name):
    """Bad rows, targets and weights for fit, partial_fit and observe, fitted and not."""
    estimator, targets, bad_targets = SUBJECTS[name]
    signed = name in ("streaming pca", "ridge", "ridge classifier")
    methods = [m for m in ("fit", "partial_fit", "observe") if hasattr(estimator, m)]
    for state, make in (("fitted", partial(fitted, name)), ("new", lambda: clone(estimator))):
        for method in methods:
            labelled = method != "observe" and targets is not None
            good = _part(targets, 3) if labelled else ()
            for kind, rows in bad_rows(WIDTH, signed=signed).items():
                any_width = state == "new" or method == "fit"
                if kind.startswith("one column") and any_width:
                    continue
                n_rows = rows.shape[0] if getattr(rows, "ndim", 0) else 1
                answers = _part(targets, n_rows) if labelled else ()
                yield f"{state} {method}(X={kind})", make, _call(method, rows, *answers)
            if labelled:
                for kind, bad in bad_targets(3).items():
                    yield f"{state} {method}(y={kind})", make, _call(method, ROWS[:3], bad)
            for kind, bad in bad_weights(3).items():
                call = _call(method, ROWS[:3], *good, sample_weight=bad)
                yield f"{state} {method}(sample_weight={kind})", make, call
            if state == "new" or method == "fit":
                call = _call(method, ROWS[:3], *good, sample_weight=[0.0] * 3)
                yield f"{state} {method}(sample_weight=zeros)", make, call
    yield from _name_calls(name, targets)


def _name_calls(name, targets):
    frame = pd.DataFrame(ROWS, columns=list("abcde"))

    @cache
    def make():
        learner = clone(SUBJECTS[name][0])
        return learner.partial_fit(frame[:N], *_part(targets, N))

    for method in ("partial_fit", *READERS):
        if hasattr(SUBJECTS[name][0], method):
            answers = _part(targets, 5) if method == "partial_fit" else ()
            yield (
                f"{method}(X=other names)",
                make,
                _call(method, frame[:5][list("edcba")], *answers),
            )


def reading_calls(name):
    """Bad rows for everything that reads, and reading what has learnt nothing."""
    estimator, _, _ = SUBJECTS[name]
    signed = name in ("streaming pca", "ridge", "ridge classifier")
    for method in (*READERS, "inverse_transform"):
        if not hasattr(estimator, method):
            continue
        width = 2 if method == "inverse_transform" else WIDTH
        for kind, rows in bad_rows(width, signed=signed).items():
            if method == "inverse_transform" and kind == "huge":
                continue
            yield f"{method}(X={kind})", partial(fitted, name), _call(method, rows)
        yield f"new {method}", lambda: clone(estimator), _call(method, ROWS[:3])
    for attribute in ("k_", "beta_", "coef_", "components_", "classes_", "predicted_kernel_error_"):
        if hasattr(type(estimator), attribute):
            yield f"new {attribute}", lambda: clone(estimator), lambda e, a=attribute: getattr(e, a)
    for method in ("new_shard", "kernel_error"):
        if hasattr(estimator, method):
            yield f"new {method}", lambda: clone(estimator), _call(method)


def merging_calls(name):
    """Others that do not belong: of another kind, width, parameters or map."""
    estimator, targets, _ = SUBJECTS[name]
    make = partial(fitted, name)
    narrow = clone(estimator).partial_fit(ROWS[:N, :3], *_part(targets, N))
    strangers = {"nothing": None, "a number": 3, "itself as a class": type(estimator)}
    strangers |= {other: fitted(other) for other in SUBJECTS if other != name}
    strangers["narrow"] = narrow
    changes = {"half_life": 9.0}
    if "random_state" in estimator.get_params():
        changes |= {"random_state": 1, "n_components": 6, "beta": 3.0, "norm": "l1"}
        strangers["another map"] = _with_other_map(name, targets)
    if "alpha" in estimator.get_params():
        changes |= {"alpha": 7.0, "penalty": "lasso"}
    for parameter, value in changes.items():
        strangers[f"another {parameter}"] = fitted(name, **{parameter: value})
    if name == "classifier":
        other = clone(estimator).partial_fit(ROWS[:N], CODES[:N])
        strangers["numbers for labels"] = other
    if targets is NUMBERS:
        strangers["two targets"] = clone(estimator).partial_fit(ROWS[:N], ROWS[:N, :2])
    for kind, other in strangers.items():
        yield f"merge({kind})", make, _call("merge", other)


def _with_other_map(name, targets):
    # Beta is one over the mean distance of the first rows, so other rows give another map.
    return clone(SUBJECTS[name][0]).partial_fit(5 * ROWS[::-1][:N], *_part(targets, N))


def parameter_calls(name):
    """Constructor parameters that make no sense, for a first batch and for a later one."""
    estimator, targets, _ = SUBJECTS[name]
    answers = _part(targets, 5)
    for parameter, values in BAD_PARAMETERS[name].items():
        for number, value in enumerate(values):
            case = f"{parameter}={type(value).__name__} {number}"

            def first(_, parameter=parameter, value=value):
                clone(estimator).set_params(**{parameter: value}).partial_fit(ROWS[:5], *answers)

            yield f"new partial_fit after {case}", lambda: clone(estimator), first

            def later(e, parameter=parameter, value=value):
                before = e.get_params()[parameter]
                try:
                    e.set_params(**{parameter: value}).partial_fit(ROWS[:5], *answers)
                finally:
                    e.set_params(**{parameter: before})

            yield f"partial_fit after {case}", partial(fitted, name), later


def class_calls():
    """Declared classes that contradict themselves or what was seen."""
    for name, labels in (("classifier", WORDS), ("ridge classifier", CODES)):
        is_text = labels is WORDS
        known = ["ham", "spam", "eggs"] if is_text else [0, 1, 2]
        bad = {
            "twice": [*known, known[0]],
            "mixed": ["a", 1],
            "fewer than seen": known[:2],
            "other kind": [0, 1, 2] if is_text else ["ham"],
            "a number": 3,
            "empty": [],
            "nan": [float("nan")],
            "objects": [object()],
        }
        for kind, classes in bad.items():
            call = _call("partial_fit", ROWS[:3], labels[:3], classes)
            yield f"{name} partial_fit(classes={kind})", partial(fitted, name), call
            if kind not in ("fewer than seen",):
                yield (
                    f"{name} new partial_fit(classes={kind})",
                    lambda n=name: clone(SUBJECTS[n][0]),
                    call,
                )
        other = ["a", "b", "c"] if not is_text else [0, 1, 2]
        yield (
            f"{name} partial_fit(y=other kind)",
            partial(fitted, name),
            _call("partial_fit", ROWS[:3], other),
        )

        def declared(name=name, labels=labels, known=known):
            return clone(SUBJECTS[name][0]).partial_fit(ROWS[:5], labels[:5], known)

        strange = ["toast"] * 3 if is_text else [9] * 3
        yield (
            f"{name} declared partial_fit(y=unknown)",
            declared,
            _call("partial_fit", ROWS[:3], strange),
        )
        yield (
            f"{name} declared partial_fit(classes=more)",
            declared,
            _call("partial_fit", ROWS[:3], labels[:3], [*known, strange[0]]),
        )


def regression_calls():
    """Targets that change their shape."""
    for name in ("regressor", "ridge"):
        for kind, y in (("column", NUMBERS[:3, None]), ("two columns", ROWS[:3, :2])):
            yield (
                f"{name} partial_fit(y={kind})",
                partial(fitted, name),
                _call("partial_fit", ROWS[:3], y),
            )
    yield (
        "new regressor observe",
        lambda: clone(SUBJECTS["regressor"][0]),
        _call("observe", ROWS[:3]),
    )


def histogram_calls():
    """The histogram's own methods."""

    def make():
        return LogHistogram().update(ROWS)

    for kind, rows in bad_rows(WIDTH).items():
        if not kind.startswith("one "):  # any width is welcome, and so is one row
            yield f"histogram update(X={kind})", make, _call("update", rows)
    for kind, weights in bad_weights(3).items():
        yield f"histogram update(sample_weight={kind})", make, _call("update", ROWS[:3], weights)
    for q in (-0.1, 1.1, float("nan"), "half", None, [0.5, 2.0], object()):
        yield f"histogram quantile({q!r:.9})", make, _call("quantile", q)
        yield f"empty histogram quantile({q!r:.9})", LogHistogram, _call("quantile", q)
    for number in (0, -1, 1.5, "few", None, True):
        yield f"histogram coarsened({number!r})", make, _call("coarsened", number)
    for other in (None, 3, ROWS, LogHistogram(32), LogHistogram(half_life=3), ExpChi2Sampler()):
        yield f"histogram merge({type(other).__name__})", make, _call("merge", other)
    for attribute in ("low", "high"):
        yield f"empty histogram {attribute}", LogHistogram, lambda h, a=attribute: getattr(h, a)
    for bins in (0, -1, 3, 8192, 2.5, "many", None, True):
        yield f"LogHistogram({bins!r})", make, lambda _, b=bins: LogHistogram(b)
    for half_life in (0, -1, float("nan"), float("inf"), 1e-9, "long", True, []):
        yield (
            f"LogHistogram(half_life={half_life!r})",
            make,
            lambda _, h=half_life: LogHistogram(half_life=h),
        )


TABLE = {
    f"{name}, {calls.__name__.replace('_', ' ')}": partial(calls, name)
    for name in SUBJECTS
    for calls in (learning_calls, reading_calls, merging_calls, parameter_calls)
} | {
    calls.__name__.replace("_", " "): calls
    for calls in (class_calls, regression_calls, histogram_calls)
}
