"""Reading ahead: the same items in the same order, errors that arrive, a thread that ends."""

import threading
import traceback

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamchi2.sources import ReadAhead


def readers():
    return [thread for thread in threading.enumerate() if "read-ahead" in thread.name]


@given(st.integers(0, 20), st.integers(1, 4))
def test_items_arrive_once_and_in_order(n_items, depth):
    with ReadAhead((str(i) for i in range(n_items)), depth) as items:
        assert list(items) == [str(i) for i in range(n_items)]
    assert readers() == []


def test_no_more_is_fetched_than_may_wait():
    fetched, asked = [], threading.Semaphore(0)

    def source():
        for i in range(10):
            fetched.append(i)
            asked.release()
            yield i

    with ReadAhead(source(), depth=2) as items:
        for _ in range(3):  # two wait, the third has been fetched and finds no place
            asked.acquire()
        assert fetched == [0, 1, 2]
        assert next(iter(items)) == 0
        asked.acquire()
        assert fetched == [0, 1, 2, 3]
    assert readers() == []


def test_an_error_arrives_after_the_items_before_it_and_says_where_it_arose():
    def source():
        yield 1
        raise OSError("the disk is gone")

    seen = []

    def read():
        with ReadAhead(source()) as items:
            for item in items:
                seen.append(item)

    with pytest.raises(OSError, match="the disk is gone") as caught:
        read()
    assert seen == [1]
    assert "source" in [frame.name for frame in traceback.extract_tb(caught.tb)]
    assert readers() == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_whoever_stops_early_closes_the_generator_and_ends_the_thread(error):
    closed = threading.Event()

    def endless():
        try:
            while True:
                yield 0
        finally:
            closed.set()

    def stop_early():
        with ReadAhead(endless()) as items:
            next(iter(items))
            raise error

    with pytest.raises(error):
        stop_early()
    assert closed.is_set()
    assert readers() == []
