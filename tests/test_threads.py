import multiprocessing
import os
import signal
import sys
import threading
import traceback

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from streamchi2 import threads as row_blocks
from streamchi2.threads import (
    BLOCK_ROWS,
    OneBlasThread,
    checkpoint,
    deferred_interrupts,
    for_each_block,
    n_workers,
    one_blas_thread,
)


def blas_threads():
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


@pytest.fixture
def _two_blas_threads():
    # Tests run on one, on which a limit that is never lifted would not show, such as one left by
    # a test of faults on the way in.
    one_blas_thread.start_afresh()
    with threadpool_limits(2, user_api="blas"):
        yield


def recorded(n_rows, n_jobs):
    """Blocks in order, and the names of the threads that worked on them."""
    blocks, names, lock = [], set(), threading.Lock()

    def work(start, stop):
        with lock:
            blocks.append((start, stop))
            names.add(threading.current_thread().name)

    for_each_block(work, n_rows, n_jobs=n_jobs)
    return sorted(blocks), names


@pytest.mark.parametrize("n_jobs", [None, 1, 2, 7, -1])
@pytest.mark.parametrize("n_rows", [0, 1, BLOCK_ROWS, BLOCK_ROWS + 1, 5 * BLOCK_ROWS - 1])
def test_blocks_cover_the_rows_once_and_do_not_depend_on_workers(n_rows, n_jobs):
    blocks, _ = recorded(n_rows, n_jobs)
    expected = [(s, min(s + BLOCK_ROWS, n_rows)) for s in range(0, n_rows, BLOCK_ROWS)]
    assert blocks == expected


def test_small_batches_and_single_workers_skip_the_pool():
    here = {threading.current_thread().name}
    assert recorded(BLOCK_ROWS, 4)[1] == here
    assert recorded(9 * BLOCK_ROWS, None)[1] == here
    assert all(name.startswith("streamchi2") for name in recorded(9 * BLOCK_ROWS, 2)[1])


def test_an_exception_in_a_worker_reaches_the_caller_with_its_traceback():
    running, finished = threading.Event(), []

    def failing_work(start, stop):
        if start == 0:
            running.wait(10)
            raise LookupError("block 0")
        running.set()
        finished.append(start)

    with pytest.raises(LookupError, match="block 0") as failure:
        for_each_block(failing_work, 6 * BLOCK_ROWS, n_jobs=2)
    frames = [frame.name for frame in traceback.extract_tb(failure.value.__traceback__)]
    assert frames[-1] == "failing_work"
    count = len(finished)
    for_each_block(lambda start, stop: None, 3 * BLOCK_ROWS, n_jobs=2)  # the pool still serves
    assert len(finished) == count  # nobody was still at work


@pytest.mark.usefixtures("_two_blas_threads")
def test_blas_runs_on_one_thread_inside_and_is_given_back():
    before, inside = blas_threads(), []
    for n_jobs in (1, 2):
        for_each_block(lambda start, stop: inside.append(blas_threads()), 300, n_jobs=n_jobs)
    assert {count for counts in inside for count in counts} == {1}
    with one_blas_thread:
        with one_blas_thread:
            pass
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


@pytest.mark.usefixtures("_two_blas_threads")
@pytest.mark.parametrize("ends", [True, False], ids=["that ends", "that lives on"])
def test_blas_is_given_back_however_it_overlaps_with_a_thread(ends):
    before, after_first = blas_threads(), []
    first_in, second_in, first_out, second_out = (threading.Event() for _ in range(4))

    def first():
        with one_blas_thread:
            first_in.set()
            second_in.wait(10)
        after_first.extend(blas_threads())
        first_out.set()
        if not ends:
            second_out.wait(10)

    thread = threading.Thread(target=first)
    thread.start()
    first_in.wait(10)
    with one_blas_thread:
        second_in.set()
        first_out.wait(10)
        if ends:
            thread.join()
    assert set(after_first) == {1}  # the second is still inside
    assert blas_threads() == before
    second_out.set()
    thread.join()


def test_an_exception_on_the_way_in_does_not_let_others_in_without_the_limit(monkeypatch):
    limit = OneBlasThread()

    def interrupted(numbers):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(row_blocks, "_set_blas_threads", interrupted)
        with pytest.raises(KeyboardInterrupt), limit:
            pass
    with limit:
        assert set(blas_threads()) == {1}


def _works_in_a_child(queue):
    queue.put(recorded(3 * BLOCK_ROWS, 2)[0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
# Python warns that forking with threads may deadlock: that it does not is what is tested.
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_makes_its_own_pool():
    expected = recorded(3 * BLOCK_ROWS, 2)[0]  # the parent's pool has threads now
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_works_in_a_child, args=(queue,))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    assert queue.get() == expected


def test_n_jobs_is_read_as_scikit_learn_reads_it(monkeypatch):
    if sys.platform == "linux":
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(6)))
    else:
        monkeypatch.setattr(row_blocks, "_n_cores", lambda: 6)
    assert [n_workers(n) for n in (None, 1, 9, -1, -2, -6, -99)] == [1, 1, 9, 6, 5, 1, 1]
    assert n_workers(np.int64(-1)) == 6


@pytest.mark.parametrize(
    ("n_jobs", "error"), [(0, ValueError), (1.5, TypeError), ("2", TypeError), (True, TypeError)]
)
def test_a_senseless_n_jobs_is_refused(n_jobs, error):
    with pytest.raises(error, match="n_jobs must be"):
        n_workers(n_jobs)


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
def test_signals_that_are_ignored_or_left_to_the_system_are_not_touched(handler, monkeypatch):
    monkeypatch.setattr(signal, "getsignal", lambda number: handler)
    monkeypatch.setattr(signal, "signal", None)  # whose call would fail
    with deferred_interrupts():
        pass


def test_other_threads_have_nothing_to_defer():
    seen = []

    def work():
        with deferred_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
