"""Ctrl-C and failing blocks leave an estimator that has learnt whole blocks, and goes on."""

import functools
import signal
import threading

import numpy as np
import pytest
from saved_examples import ESTIMATORS, answers
from sklearn.base import clone

from streamchi2.bases import OrthogonalBasis
from streamchi2.estimators.streaming_ridge import StreamingRidge
from streamchi2.feature_map import adaptive
from streamchi2.persistence import dumped, loaded
from streamchi2.statistics import (
    bin_counts,
    class_moments,
    feature_statistics,
    moments,
    target_moments,
)
from streamchi2.statistics.reservoir import Reservoir
from streamchi2.threads import checkpoint, deferred_interrupts

N_ROWS = 2500
ROWS = np.random.default_rng(0).dirichlet(np.ones(5), size=N_ROWS)
ROWS[1500:] *= 1e-3  # a drift of scale, so that k is estimated again
TARGETS = {
    "sampler": None,
    "pca": None,
    "classifier": np.array(["ham", "spam", "eggs"])[np.arange(N_ROWS) % 3],
    "fading classifier": np.arange(N_ROWS) % 3,
    "regressor": ROWS[:, 0],
    "regressor of two": ROWS[:, :2],
    "descriptor classifier": np.arange(N_ROWS) % 3,
    "streaming pca": None,
    "ridge": ROWS[:, 0],
    "ridge classifier": np.arange(N_ROWS) % 2,
}
HALF_LIVES = {"fading classifier": 300.0, "regressor of two": 500.0}


def new(name):
    """Return an estimator with a seed, so that two of them draw the same."""
    estimator = clone(ESTIMATORS[name][0]())
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    return estimator.set_params(half_life=HALF_LIVES.get(name))


def learn(estimator, name, start, stop):
    targets = TARGETS[name]
    arguments = [] if targets is None else [targets[start:stop]]
    return estimator.partial_fit(ROWS[start:stop], *arguments)


class Fault:
    """A function that works some times and then fails, once."""

    def __init__(self, function, n_calls, error):
        self.function, self.left, self.error = function, n_calls, error
        self.fired = False

    def __call__(self, *arguments, **named):
        if self.left == 0 and not self.fired:
            self.fired = True
            raise self.error
        self.left -= 1
        return self.function(*arguments, **named)

    def __get__(self, instance, owner=None):
        return self if instance is None else lambda *a, **n: self(instance, *a, **n)


@functools.cache
def steady_state(name, n_rows):
    """Return the file of a run without failures."""
    return dumped(learn(new(name), name, 0, n_rows))


def injected(monkeypatch, point, n_calls, error=None):
    """Let a function fail after some calls."""
    owner, attribute = POINTS[point]
    fault = Fault(getattr(owner, attribute), n_calls, error or KeyboardInterrupt())
    monkeypatch.setattr(owner, attribute, fault)
    return fault


MAPPED = [name for name in TARGETS if name not in ("streaming pca", "ridge", "ridge classifier")]
LEARNING = [name for name in TARGETS if name != "sampler"]
CLASSES = ["classifier", "descriptor classifier", "ridge classifier"]
NUMBERS = ["regressor", "regressor of two", "ridge"]
POINTS = {
    "plan": (adaptive, "planned_block"),
    "series": (adaptive, "series_kernel_error"),
    "histogram": (bin_counts, "bin_keys"),
    "features": (OrthogonalBasis, "features"),
    "sample": (Reservoir, "absorb"),
    "targets": (feature_statistics, "has_target"),
    "weights": (feature_statistics, "faded_weights"),
    "moments": (moments, "centred_block"),
    "products": (moments, "add_products"),
    "class moments": (class_moments, "centred_block"),
    "target moments": (target_moments, "centred_block"),
}
# Who reaches which point after 40 or 100 rows: a sampler featurises nothing when it learns, maps
# are planned once, and k is looked at again at rows 256 and 1024 (more often with a half-life).
REACHING = {
    "series": MAPPED,
    "histogram": MAPPED,
    "features": [name for name in MAPPED if name != "sampler"],
    "sample": MAPPED,
    "targets": LEARNING,
    "weights": LEARNING,
    "moments": ["pca", "streaming pca", "fading classifier"],  # the last has weights of classes
    "products": LEARNING,
    "class moments": CLASSES,
    "target moments": NUMBERS,
}
CASES = [
    *[("plan", name, 40, 0) for name in MAPPED],
    ("plan", "descriptor classifier", 40, 1),  # the second of two blocks
    *[(point, name, 100, n) for point, names in REACHING.items() for name in names for n in (0, 1)],
    # Late in the stream; with a half-life blocks are short, and many.
    *[
        (point, name, 100, n)
        for point in ("histogram", "features", "sample", "targets", "weights", "products")
        for name, n in (("classifier", 2), ("fading classifier", 12), ("regressor of two", 7))
    ],
]


@pytest.mark.filterwarnings("ignore::streamchi2.errors.PrecisionWarning")
@pytest.mark.parametrize(
    ("point", "name", "start", "n_calls"), CASES, ids=lambda part: str(part).replace(" ", "_")
)
def test_a_failure_inside_a_block_leaves_whole_blocks(monkeypatch, point, name, start, n_calls):
    estimator = learn(new(name), name, 0, start)
    fault = injected(monkeypatch, point, n_calls)
    with pytest.raises(KeyboardInterrupt):
        learn(estimator, name, start, N_ROWS)
    assert fault.fired
    monkeypatch.undo()
    stream = estimator._stream
    n_seen = stream.n_rows
    assert n_seen == start or stream.buffer.position == n_seen
    assert n_seen < N_ROWS
    assert dumped(estimator) == steady_state(name, n_seen)
    np.testing.assert_array_equal(answers(estimator), answers(loaded(steady_state(name, n_seen))))
    learn(estimator, name, n_seen, N_ROWS)
    assert dumped(estimator) == steady_state(name, N_ROWS)


@pytest.mark.parametrize("name", TARGETS)
def test_an_interrupted_first_batch_leaves_an_estimator_that_was_never_fitted(monkeypatch, name):
    estimator = new(name)
    fault = injected(monkeypatch, "histogram" if name in MAPPED else "products", 0)
    with pytest.raises(KeyboardInterrupt):
        learn(estimator, name, 0, N_ROWS)
    assert fault.fired
    monkeypatch.undo()
    assert dumped(estimator) == dumped(new(name))


def test_a_real_signal_waits_for_the_end_of_its_block(monkeypatch):
    calls = []
    real = moments.add_products

    def interrupted(upper, block, **named):
        calls.append(None)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        real(upper, block, **named)

    monkeypatch.setattr(moments, "add_products", interrupted)
    model = StreamingRidge().partial_fit(ROWS[:10], TARGETS["ridge"][:10])
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(np.tile(ROWS, (2, 1))[10:], np.tile(TARGETS["ridge"], 2)[10:])
    assert model.n_samples_seen_ == 2048
    assert len(calls) == 2
    monkeypatch.undo()
    assert dumped(model) == dumped(learn(StreamingRidge(), "ridge", 0, 2048))


@pytest.mark.filterwarnings("ignore::streamchi2.errors.PrecisionWarning")
def test_signals_at_any_instant_leave_whole_blocks():
    n_interrupted = 0
    for trial in range(20):
        model, stop = learn(new("classifier"), "classifier", 0, 70), threading.Event()
        timer = threading.Timer(
            0.0005 * trial, lambda s=stop: s.is_set() or signal.raise_signal(signal.SIGINT)
        )
        try:
            timer.start()
            learn(model, "classifier", 70, N_ROWS)
            stop.set()
            timer.join()
            checkpoint()  # a call, at which a signal that came last is raised
        except KeyboardInterrupt:
            timer.join()
            n_interrupted += 1
        n_seen = model._stream.n_rows
        assert n_seen in (70, N_ROWS) or model._stream.buffer.position == n_seen
        assert dumped(model) == steady_state("classifier", n_seen)
    assert n_interrupted > 0


def test_a_signal_that_comes_last_is_delivered_at_the_end():
    done = []

    def work():
        with deferred_interrupts(), deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
            done.append("inner")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["inner"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    checkpoint()  # nothing waits any more


def test_a_handler_of_the_user_gets_the_signal_and_may_let_it_pass():
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with deferred_interrupts():
            signal.raise_signal(signal.SIGINT)
            assert heard == []
            checkpoint()
            assert heard == [signal.SIGINT]
        assert heard == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_signals_that_are_ignored_or_left_to_the_system_are_not_touched(handler):
    before = signal.signal(signal.SIGINT, handler)
    try:
        with deferred_interrupts():
            assert signal.getsignal(signal.SIGINT) == handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_have_nothing_to_defer():
    seen = []

    def work():
        with deferred_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
