"""Ctrl-C and failures inside river's learn_one: each row is learnt or not, and the stream goes on.

What fails is injected once; rows that have not been learnt are given again. Whatever failed, the
state can be saved at once, and the end is that of a run without failures, bit for bit.
"""

import functools
import signal
import sys

import numpy as np
import pytest
from saved_examples import named

from streamchi2 import refit, river
from streamchi2.bases import OrthogonalBasis
from streamchi2.feature_map import adaptive
from streamchi2.persistence import dumped, loaded
from streamchi2.statistics import bin_counts, class_moments, moments, target_moments
from streamchi2.statistics.reservoir import Reservoir
from streamchi2.stream import Stream

N_ROWS = 420
KINDS = np.random.default_rng(3).integers(0, 3, N_ROWS)
HUES = np.random.default_rng(4).dirichlet(np.ones(3), N_ROWS) + 4.0 * np.eye(3)[KINDS]
ROWS = named(HUES)
# Labels move on by one in the middle; one is new near the end.
LABELS = [int(label) for label in (KINDS + (np.arange(N_ROWS) >= 250)) % 3]
LABELS[400] = 7
NUMBERS = HUES[:, 0].tolist()

MODELS = {
    "sampler": (lambda: river.ExpChi2Sampler(8, n_buckets=16, seed=0), None),
    "classifier": (lambda: river.ExpChi2Classifier(8, n_buckets=16, seed=0), LABELS),
    "dual classifier": (lambda: river.ExpChi2Classifier(300, n_buckets=16, seed=0), LABELS),
    "fading regressor": (
        lambda: river.ExpChi2Regressor(8, n_buckets=16, half_life=90.0, seed=0),
        NUMBERS,
    ),
    "label classifier": (
        lambda: river.ExpChi2MultiLabelClassifier(8, n_buckets=16, seed=0),
        [{label: True} for label in LABELS],
    ),
}
POINTS = {
    "plan": (adaptive, "planned_block"),
    "series": (adaptive, "series_kernel_error"),
    "histogram": (bin_counts, "bin_keys"),
    "sample": (Reservoir, "absorb"),
    "features": (OrthogonalBasis, "features"),
    "class moments": (class_moments, "centred_block"),
    "target moments": (target_moments, "centred_block"),
    "products": (moments, "add_products"),
    "solution": (refit, "fit"),
    "block": (Stream, "learn_block"),
}
# Number of calls that succeed. A sampler solves nothing.
CASES = [
    *[("sampler", point, n) for point in ("histogram", "sample", "block") for n in (0, 1)],
    ("sampler", "plan", 0),
    ("sampler", "series", 0),
    *[
        (name, point, n)
        for name in MODELS
        if name != "sampler"
        for point in ("plan", "histogram", "sample", "features", "solution", "block")
        for n in (0, 1, 3, 6)
        if (point, n) not in (("plan", 6), ("block", 6))
    ],
    *[("fading regressor", point, n) for point in ("target moments", "products") for n in (0, 5)],
    *[("classifier", point, n) for point in ("class moments", "products") for n in (0, 5)],
]


class Fault:
    """A function that works some times, then fails once, and then works again."""

    def __init__(self, function, n_calls, fail):
        self.function, self.left, self.fail, self.fired = function, n_calls, fail, False

    def __call__(self, *arguments, **named_arguments):
        if self.left == 0 and not self.fired:
            self.fired = True
            self.fail()
        self.left -= 1
        return self.function(*arguments, **named_arguments)

    def __get__(self, instance, owner=None):
        return self if instance is None else lambda *a, **n: self(instance, *a, **n)


def interrupt():
    raise KeyboardInterrupt


def learn_row(model, targets, place):
    model.learn_one(ROWS[place], *(() if targets is None else (targets[place],)))


def learnt(name, start=0, stop=N_ROWS, model=None):
    make, targets = MODELS[name]
    model = make() if model is None else model
    for place in range(start, stop):
        learn_row(model, targets, place)
    return model


@functools.cache
def steady_states(name):
    """Return the files of a run without failures, every 60 rows."""
    model = MODELS[name][0]()
    stops = range(0, N_ROWS + 1, 60)
    return {stop: dumped(learnt(name, max(stop - 60, 0), stop, model)) for stop in stops}


@pytest.mark.parametrize(
    ("name", "point", "n_calls"), CASES, ids=lambda part: str(part).replace(" ", "_")
)
def test_a_failure_loses_no_row_and_nothing_else(monkeypatch, name, point, n_calls):
    make, targets = MODELS[name]
    owner, attribute = POINTS[point]
    fault = Fault(getattr(owner, attribute), n_calls, interrupt)
    monkeypatch.setattr(owner, attribute, fault)
    model, n_failures, stop = make(), 0, N_ROWS
    while (place := model.n_samples_seen_) < stop:
        before = None if fault.fired else (place, model._stream and model._stream.targets)
        try:
            learn_row(model, targets, place)
        except KeyboardInterrupt:
            n_failures += 1
            assert model.n_samples_seen_ in (place, place + 1)
            if model.n_samples_seen_ == place:
                assert (place, model._stream and model._stream.targets) == before
            # What was saved goes on as this one does, to a state that has been kept.
            model = loaded(dumped(model))
            stop = next(kept for kept in steady_states(name) if kept > place)
    assert fault.fired
    assert n_failures == 1
    monkeypatch.undo()
    assert dumped(model) == steady_states(name)[stop]


@pytest.mark.parametrize("n_calls", [0, 1, 4])
@pytest.mark.parametrize("name", ["classifier", "fading regressor"])
def test_a_real_signal_waits_until_its_row_is_learnt(monkeypatch, name, n_calls):
    _, targets = MODELS[name]
    fault = Fault(refit.fit, n_calls, lambda: signal.raise_signal(signal.SIGINT))
    monkeypatch.setattr(refit, "fit", fault)
    model = MODELS[name][0]()
    for place in range(N_ROWS):
        fired = fault.fired
        try:
            learn_row(model, targets, place)
            assert fault.fired == fired
        except KeyboardInterrupt:
            assert fault.fired != fired
            dumped(model)
        assert model.n_samples_seen_ == place + 1
    assert fault.fired
    monkeypatch.undo()
    assert dumped(model) == steady_states(name)[N_ROWS]


FILES = (
    "river/base.py",
    "river/learner.py",
    "row_buffer.py",
    "streamchi2/stream.py",
    "streamchi2/reading.py",
    "refit.py",
    "interrupts.py",
)


class SignalAtLine:
    """Sends Ctrl-C at one of the lines that are run in the files that keep the state."""

    def __init__(self, number):
        self.left, self.fired = number, False

    def __call__(self, frame, event, _):
        if not frame.f_code.co_filename.endswith(FILES):
            return None
        if event == "line" and not self.fired:
            self.left -= 1
            if self.left < 0:
                self.fired = True
                signal.raise_signal(signal.SIGINT)
        return self


# First row; an ordinary one; a solution in dual form; a map and a block; a block without a map.
# Every eleventh line, from another one at each place: most lines are run at several of them.
LINES = [(name, place) for place in (0, 2, 5, 63, 67) for name in ("classifier", "sampler")]
NEW_LABEL = next(place for place, label in enumerate(LABELS) if label != LABELS[0])
LINES.append(("label classifier", NEW_LABEL))


@pytest.mark.parametrize(("name", "place"), LINES)
def test_a_signal_at_any_line_leaves_the_row_learnt_or_not(name, place):
    _, targets = MODELS[name]
    start = dumped(learnt(name, 0, place))
    states = (start, dumped(learnt(name, 0, place + 1)))
    number, fired = place % 11, True
    while fired:
        model, tracer = loaded(start), SignalAtLine(number)
        before = sys.gettrace()
        try:
            sys.settrace(tracer)
            learn_row(model, targets, place)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        assert dumped(model) == states[model.n_samples_seen_ - place], f"at line {number}"
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        number, fired = number + 11, tracer.fired
    assert number > 10
