"""Threads that read while one learns, processes that load while one saves, fork and spawn."""

import multiprocessing
import os
import signal
import threading
import time
import traceback

import numpy as np
import pytest
from saved_examples import ESTIMATORS, ROWS, WORDS, answers, estimator_after, learn

from streamchi2 import ExpChi2Classifier, ExpChi2Sampler
from streamchi2.bases import OrthogonalBasis
from streamchi2.files import dumped, load, loaded, save
from streamchi2.statistics.feature_statistics import FeatureStatistics
from streamchi2.threads import blas_libraries

MANY = np.random.default_rng(5).dirichlet(np.ones(5), size=600)
BATCHES = range(0, 360, 40)


def in_threads(*works):
    """Run functions in threads of their own and raise what any of them raised."""
    failures = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def learn_on(shared, targets, done):
    """Learn all batches but the first, with pauses in which others may read."""
    try:
        for start in BATCHES[1:]:
            learn(shared, targets, start, start + 40)
            time.sleep(0.002)
    finally:
        done.set()


@pytest.mark.parametrize(
    "name", ["sampler", "pca", "classifier", "fading classifier", "regressor of two", "ridge"]
)
def test_predictions_while_another_thread_learns_are_those_of_some_state(name):
    make, targets = ESTIMATORS[name]
    states, model = [], make()
    for start in BATCHES:
        learn(model, targets, start, start + 40)
        states.append(answers(model).tobytes())
    shared, done, said = learn(make(), targets, 0, 40), threading.Event(), set()

    def reader():
        while not done.is_set():
            said.add(answers(shared).tobytes())

    in_threads(lambda: learn_on(shared, targets, done), reader, reader, reader)
    assert said <= set(states)
    assert answers(shared).tobytes() == states[-1]


@pytest.mark.parametrize("name", ["river classifier", "river regressor", "river sampler"])
def test_a_model_of_river_answers_while_another_thread_learns(name):
    make, targets = ESTIMATORS[name]
    shared, done = learn(make(), targets, 0, 40), threading.Event()

    def reader():
        while not done.is_set():
            assert np.isfinite(answers(shared, ROWS[:3])).all()

    in_threads(lambda: learn_on(shared, targets, done), reader, reader)
    assert dumped(shared) == dumped(learn(make(), targets, 0, 360))


@pytest.mark.parametrize("basis", ["subspace", "landmarks"])
def test_a_prediction_elsewhere_changes_no_bit_of_what_is_learnt(basis, monkeypatch):
    other = ExpChi2Classifier(16, random_state=1).fit(MANY[:300], MANY[:300].argmax(axis=1))
    alone = ExpChi2Classifier(64, basis=basis, random_state=0)
    alone.fit(MANY, MANY.argmax(axis=1))
    add, seen = FeatureStatistics.add, []

    def disturbed(self, *arguments, **options):
        if threading.current_thread() is threading.main_thread():
            in_threads(lambda: other.predict(MANY))  # sets and lifts the limit of BLAS threads
            seen.append({library.num_threads for library in blas_libraries()})
        return add(self, *arguments, **options)

    monkeypatch.setattr(FeatureStatistics, "add", disturbed)
    model = ExpChi2Classifier(64, basis=basis, random_state=0).fit(MANY, MANY.argmax(axis=1))
    assert seen
    assert set().union(*seen) == {1}
    assert dumped(model) == dumped(alone)


@pytest.mark.parametrize("name", ["classifier", "ridge classifier", "sampler"])
def test_files_saved_while_another_thread_learns_hold_some_state(name):
    make, targets = ESTIMATORS[name]
    states, model = set(), make()
    for start in BATCHES:
        states.add(dumped(learn(model, targets, start, start + 40)))
    shared, done, files = learn(make(), targets, 0, 40), threading.Event(), set()

    def saver():
        while not done.is_set():
            files.add(dumped(shared))

    in_threads(lambda: learn_on(shared, targets, done), saver, saver)
    assert files <= states


def test_shards_learnt_and_merged_in_threads_add_up():
    params = {"alpha": 0.1, "adapt": False, "random_state": 0}
    base = ExpChi2Classifier(16, **params).partial_fit(ROWS[:64], WORDS[:64])
    shards = [base.new_shard() for _ in range(4)]
    pieces = np.array_split(np.arange(64, 360), 4)

    def work(shard, rows):
        def run():
            shard.partial_fit(ROWS[rows], WORDS[rows])
            base.merge(shard)

        return run

    in_threads(*(work(shard, rows) for shard, rows in zip(shards, pieces, strict=True)))
    whole = ExpChi2Classifier(16, **params).partial_fit(ROWS, WORDS)
    assert base.n_samples_seen_ == 360
    np.testing.assert_allclose(
        base.decision_function(ROWS), whole.decision_function(ROWS), atol=1e-5
    )


@pytest.mark.parametrize("kind", [ExpChi2Sampler, ExpChi2Classifier])
def test_two_that_merge_each_other_do_not_wait_for_each_other(kind):
    arguments = [] if kind is ExpChi2Sampler else [WORDS[:70]]
    base = kind(8, random_state=0).partial_fit(ROWS[:70], *arguments)
    pair = [base.new_shard().partial_fit(ROWS[:70], *arguments) for _ in range(2)]

    def merging(left, right):
        def run():
            for _ in range(12):
                left.merge(right)

        return run

    threads = [
        threading.Thread(target=merging(*order), daemon=True) for order in (pair, pair[::-1])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_an_exception_in_a_worker_reaches_the_caller_with_its_traceback(monkeypatch):
    sampler = ExpChi2Sampler(16, n_jobs=3, random_state=0).fit(ROWS)
    real = OrthogonalBasis.features

    def breaks_down(self, inputs, out):
        if out.shape[0] < 128:
            raise MemoryError("no room for the last block")
        real(self, inputs, out)

    monkeypatch.setattr(OrthogonalBasis, "features", breaks_down)
    before = dumped(sampler)
    with pytest.raises(MemoryError, match="last block") as caught:
        sampler.transform(MANY)
    assert "breaks_down" in "".join(traceback.format_tb(caught.value.__traceback__))
    monkeypatch.undo()
    assert dumped(sampler) == before
    assert loaded(before).transform(MANY).shape == (
        600,
        16,
    )  # without what is remembered of the patch


def predictions(data, results):
    model = loaded(data)
    results.put(model.transform(MANY).tobytes())


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_the_pool_survives_fork_and_spawn(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"{method} is not to be had here")
    sampler = ExpChi2Sampler(16, n_jobs=2, random_state=0).fit(ROWS)
    expected = sampler.transform(MANY).tobytes()  # the pool has threads by now
    context = multiprocessing.get_context(method)
    results = context.SimpleQueue()
    child = context.Process(target=predictions, args=(dumped(sampler), results))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert results.get() == expected
    assert sampler.transform(MANY).tobytes() == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("name", ["classifier", "river dual classifier"])
def test_a_forked_child_does_not_wait_for_a_thread_that_it_has_not(name):
    model, targets, done = estimator_after(name, 20), ESTIMATORS[name][1], threading.Event()

    def learn_until_done():
        while not done.is_set():
            learn(model, targets, 20, 60)

    thread = threading.Thread(target=learn_until_done)
    thread.start()
    codes = []
    for _ in range(10):
        time.sleep(0.01)
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(20)  # kills a child that waits
                learn(model, targets, 20, 30)
                np.testing.assert_array_equal(answers(loaded(dumped(model))), answers(model))
                os._exit(0)
            except BaseException:
                os._exit(2)
        codes.append(os.waitpid(child, 0)[1])
    done.set()
    thread.join()
    assert codes == [0] * 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_many_processes_load_a_file_while_another_saves_to_it(tmp_path):
    path = tmp_path / "model"
    models = [estimator_after("classifier", n_rows) for n_rows in (70, 200, 300)]
    states = {dumped(model) for model in models}
    save(models[0], path)
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            # Leave by _exit: nothing of the test's own ending belongs to the child.
            try:
                fine = all(dumped(load(path)) in states for _ in range(40))
                os._exit(0 if fine else 1)
            except BaseException:
                os._exit(2)
        children.append(child)
    codes, patience = [], time.monotonic() + 120.0
    while children:
        if time.monotonic() > patience:
            for child in children:
                os.kill(child, signal.SIGKILL)
        for model in models:
            save(model, path)
        for child in list(children):
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                children.remove(child)
                codes.append(os.waitstatus_to_exitcode(status))
    assert codes == [0, 0, 0]
    assert [entry.name for entry in tmp_path.iterdir()] == ["model"]
