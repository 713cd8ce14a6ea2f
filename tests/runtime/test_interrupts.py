"""Ctrl-C and failing blocks leave an estimator that has learnt whole blocks, and goes on."""

import contextlib
import signal
import threading

import numpy as np
import pytest
from saved_examples import ESTIMATORS, answers
from sklearn.base import clone

from streamchi2 import adaptive_map, mapped_moments
from streamchi2.bases import OrthogonalBasis
from streamchi2.estimators.streaming_ridge import StreamingRidge
from streamchi2.persistence import dumped
from streamchi2.runtime.interrupts import checkpoint, deferred_interrupts
from streamchi2.statistics import bin_counts, class_moments, moments, target_moments
from streamchi2.statistics.reservoir import Reservoir

N_ROWS = 2500
ROWS = np.random.default_rng(0).dirichlet(np.ones(5), size=N_ROWS)
TARGETS = {
    "sampler": None,
    "pca": None,
    "classifier": np.array(["ham", "spam", "eggs"])[np.arange(N_ROWS) % 3],
    "regressor": ROWS[:, 0],
    "streaming pca": None,
    "ridge": ROWS[:, 0],
    "ridge classifier": np.arange(N_ROWS) % 2,
}
# The ends of blocks at which a batch may be left off, beside its own end.
BLOCK_ENDS = {64, 256, 1024, 2048}


def new(name):
    """Return an estimator with a seed, so that two of them draw the same."""
    estimator = clone(ESTIMATORS[name][0]())
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=0)
    return estimator.set_params(half_life=None)


def learn(estimator, name, start, stop):
    targets = TARGETS[name]
    arguments = [] if targets is None else [targets[start:stop]]
    return estimator.partial_fit(ROWS[start:stop], *arguments)


def fail_after(function, n_calls, error):
    """Return a function that works some times and then fails."""
    left = iter(range(n_calls))

    def work(*arguments, **named):
        if next(left, None) is None:
            raise error
        return function(*arguments, **named)

    return work


POINTS = {
    "series": (adaptive_map, "series_kernel_error"),
    "plan": (adaptive_map, "planned_map"),
    "histogram": (bin_counts, "bin_keys"),
    "features": (OrthogonalBasis, "features"),
    "sample": (Reservoir, "absorb"),
    "fading": (mapped_moments, "_has_target"),
    "moments": (moments, "centred_block"),
    "class moments": (class_moments, "centred_block"),
    "target moments": (target_moments, "centred_block"),
}


@pytest.mark.parametrize("n_calls", [0, 2])
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("name", TARGETS)
def test_a_failure_inside_a_block_leaves_whole_blocks(monkeypatch, name, point, n_calls):
    estimator = learn(new(name), name, 0, 100)
    owner, attribute = POINTS[point]
    monkeypatch.setattr(
        owner, attribute, fail_after(getattr(owner, attribute), n_calls, KeyboardInterrupt())
    )
    with contextlib.suppress(KeyboardInterrupt):
        learn(estimator, name, 100, N_ROWS)
    monkeypatch.undo()
    n_seen = estimator._stream.n_rows
    assert n_seen in {100, N_ROWS} | BLOCK_ENDS
    expected = learn(new(name), name, 0, n_seen)
    assert dumped(estimator) == dumped(expected)
    np.testing.assert_array_equal(answers(estimator), answers(expected))
    if n_seen < N_ROWS:
        learn(estimator, name, n_seen, N_ROWS)
        assert dumped(estimator) == dumped(learn(new(name), name, 0, N_ROWS))


@pytest.mark.parametrize("name", TARGETS)
def test_an_interrupted_first_batch_leaves_an_estimator_that_was_never_fitted(monkeypatch, name):
    estimator = new(name)
    owner = moments if name in ("streaming pca", "pca") else bin_counts
    attribute = "centred_block" if owner is moments else "bin_keys"
    if name.startswith("ridge"):
        owner, attribute = moments, "add_products"
    monkeypatch.setattr(owner, attribute, fail_after(None, 0, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        learn(estimator, name, 0, N_ROWS)
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


def test_signals_at_any_instant_leave_whole_blocks():
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
        n_seen = model._stream.n_rows
        assert n_seen in {70, 256, 1024, 2048, N_ROWS}
        assert dumped(model) == dumped(learn(new("classifier"), "classifier", 0, n_seen))


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
