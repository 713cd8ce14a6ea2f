"""Random histories of calls: files and readings in between change no bit."""

import contextlib
import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from saved_examples import ESTIMATORS, N_ROWS, ROWS, learn, named

from streamchi2.files import dumped, loaded

NAMES = [
    "sampler",
    "pca",
    "classifier",
    "fading classifier",
    "subspace classifier",
    "landmark classifier",
    "descriptor classifier",
    "regressor of two",
    "ridge",
    "balanced classifier",
    "river sampler",
    "river classifier",
    "river dual classifier",
    "additive classifier",
    "river regressor of two",
]
READERS = (
    "transform", "predict", "predict_proba", "decision_function", "transform_one", "predict_one",
    "predict_proba_one", "kernel_error", "summary", "get_feature_names_out", "__repr__",
    "_repr_html_",
)  # fmt: skip
CALLS = st.lists(
    st.tuples(
        st.sampled_from(["learn", "learn", "weighted", "observe", "read", "merge"]),
        st.sampled_from([1, 2, 9, 30, 64, 100]),
    ),
    min_size=2,
    max_size=8,
)


def new(name):
    make, _ = ESTIMATORS[name]
    model = make()
    if getattr(model, "random_state", 0) is None:
        model.set_params(random_state=0)
    return model


def observe(model, start, stop):
    """Learn rows without targets, where there is a way."""
    if hasattr(model, "observe_one"):
        for row in named(ROWS[start:stop]):
            model.observe_one(row)
    elif hasattr(model, "observe"):
        model.observe(ROWS[start:stop])
    return model


def reads(model):
    """Yield all that can be read of a model, by name."""
    rows, row = ROWS[:5], named(ROWS[:1])[0]
    for name in READERS:
        if not hasattr(type(model), name):
            continue
        arguments = {"one": (row,), "": (rows,)}["one" if name.endswith("_one") else ""]
        if name in ("kernel_error", "summary", "get_feature_names_out", "__repr__", "_repr_html_"):
            arguments = ()
        yield name, lambda name=name, arguments=arguments: getattr(model, name)(*arguments)
    for name in dir(type(model)):
        if name.endswith("_") and not name.startswith("_"):
            yield name, lambda name=name: getattr(model, name)


def read(model):
    for _, look in reads(model):
        with contextlib.suppress(AttributeError, ValueError, NotImplementedError):
            look()
    return model


def after(model, name, call, start, stop):
    """Return a model after one call."""
    targets = ESTIMATORS[name][1]
    if call == "read":
        return read(model)
    if call == "observe":
        with contextlib.suppress(ValueError):  # a regressor cannot begin with rows without targets
            observe(model, start, stop)
        return model
    if call == "merge":
        try:
            shard = model.new_shard() if hasattr(model, "new_shard") else new(name)
        except (ValueError, AttributeError):  # too young for shards
            return model
        model.merge(learn(shard, targets, start, stop))
        return model
    return learn(model, targets, start, stop, weighted=call == "weighted")


def history(calls):
    """Yield calls with the rows that they are about, consecutive ones."""
    start = 0
    for call, n_rows in calls:
        stop = min(start + (0 if call == "read" else n_rows), N_ROWS)
        if call == "read" or stop > start:
            yield call, start, stop
        start = stop


@pytest.mark.parametrize("name", NAMES)
@given(calls=CALLS)
@settings(max_examples=6)
def test_files_and_copies_after_every_call_change_no_bit(name, calls):
    left_alone, saved, pickled = new(name), new(name), new(name)
    for call, start, stop in history(calls):
        left_alone = after(left_alone, name, call, start, stop)
        saved = loaded(dumped(after(saved, name, call, start, stop)))
        pickled = pickle.loads(pickle.dumps(after(pickled, name, call, start, stop)))
        pickled = copy.deepcopy(pickled)
    assert dumped(saved) == dumped(left_alone)
    assert dumped(pickled) == dumped(left_alone)


@pytest.mark.parametrize("name", NAMES)
@given(calls=CALLS)
@settings(max_examples=6)
def test_reading_after_every_call_changes_no_bit(name, calls):
    unread, model = new(name), new(name)
    for call, start, stop in history([call for call in calls if call[0] != "read"]):
        unread = after(unread, name, call, start, stop)
        model = read(after(model, name, call, start, stop))
    assert dumped(model) == dumped(unread)


@pytest.mark.parametrize("n_rows", [0, 5, 100, 300])
@pytest.mark.parametrize("name", NAMES)
def test_no_public_read_changes_what_is_pickled(name, n_rows):
    model = learn(new(name), ESTIMATORS[name][1], 0, n_rows) if n_rows else new(name)
    before, changed = pickle.dumps(model), []
    for what, look in reads(model):
        try:
            first, second = look(), look()
        except (AttributeError, ValueError, NotImplementedError):
            continue
        finally:
            if pickle.dumps(model) != before:
                changed.append(what)
        if isinstance(first, np.ndarray):
            np.testing.assert_array_equal(first, second)
    assert changed == []
