"""Batches: what an iterable may give, errors that name the row, and reading ahead."""

import threading
import traceback

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from streamchi2.provenance import with_rows
from streamchi2.sources import Batch, as_source, read_ahead

N, WIDTH = 50, 3
ROWS = np.random.default_rng(0).random((N, WIDTH))
LABELS = np.array(["ham", "spam"])[np.arange(N) % 2]


def readers():
    return [thread for thread in threading.enumerate() if "read-ahead" in thread.name]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(0, 20))
def test_rows_of_an_iterable_that_have_been_learnt_are_left_out(sizes, n_learnt):
    ends = np.cumsum(sizes)
    parts = [(ROWS[e - n : e], LABELS[e - n : e]) for e, n in zip(ends, sizes, strict=True)]
    n_learnt = min(n_learnt, int(ends[-1]))
    source = as_source(parts, name="parts")
    assert source.n_rows == ends[-1]
    batches = list(source.batches(with_rows({}, "parts", 0, n_learnt)))
    rows = np.concatenate([np.empty((0, WIDTH)), *(batch.rows for batch in batches)])
    labels = np.concatenate([LABELS[:0], *(batch.targets for batch in batches)])
    np.testing.assert_array_equal(rows, ROWS[n_learnt : ends[-1]])
    np.testing.assert_array_equal(labels, LABELS[n_learnt : ends[-1]])


def test_pairs_may_come_as_lists_and_rows_as_lists_of_arrays():
    pair, rows = as_source([[ROWS, LABELS], list(ROWS)]).batches({})
    assert pair.targets is LABELS
    assert rows.targets is None
    assert (pair.n_rows, rows.n_rows) == (N, N)


def test_one_weight_for_all_and_any_sparse_format_can_be_cut():
    source = as_source([(sparse.coo_array(ROWS), LABELS, 2.0)], name="a")
    (batch,) = source.batches(with_rows({}, "a", 0, 48))
    np.testing.assert_array_equal(batch.rows.toarray(), ROWS[48:])
    np.testing.assert_array_equal(batch.weights, [2.0, 2.0])


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array])
def test_a_generator_may_fill_one_buffer_again_and_again(kind):
    def refilling():
        buffer = kind(ROWS[:5])
        for start in range(0, N, 5):
            values = buffer.data if sparse.issparse(buffer) else buffer.ravel()
            values[:] = ROWS[start : start + 5].ravel()
            yield buffer

    batches = list(as_source(refilling()).batches({}))
    rows = [sparse.csr_array(batch.rows).toarray() for batch in batches]
    np.testing.assert_array_equal(np.concatenate(rows), ROWS)


class BadRowError(ValueError):
    pass


def test_an_error_names_the_row_of_the_source_and_not_of_the_batch():
    batch = Batch(ROWS, start=40, shown_as="/data/rows.csv")
    with pytest.raises(BadRowError) as caught, batch.named_in_errors():
        raise BadRowError("X must be non-negative, got 'at row 3' at row 7, column 1")
    expected = "X must be non-negative, got 'at row 3' at row 47 of /data/rows.csv, column 1"
    assert str(caught.value) == expected
    with pytest.raises(ValueError, match="without a row") as caught, batch.named_in_errors():
        raise ValueError("without a row")
    assert caught.value.__notes__ == ["in the batch that begins at row 40 of /data/rows.csv"]
    with (
        pytest.raises(ValueError, match="got none at row 40 of the source"),
        Batch(ROWS, start=40).named_in_errors(),
    ):
        Batch(ROWS).refuse_without_targets()


def numbered(n_batches, error=None):
    for number in range(n_batches):
        yield Batch([[float(number)]])
    if error is not None:
        raise error


@given(st.integers(0, 20))
def test_batches_that_are_read_ahead_arrive_once_and_in_order(n_batches):
    rows = [batch.rows for batch in read_ahead(numbered(n_batches))]
    assert rows == [[[float(number)]] for number in range(n_batches)]
    assert readers() == []


def test_an_error_arrives_after_the_batches_before_it_and_says_where_it_arose():
    batches = read_ahead(numbered(2, OSError("the disk is gone")))
    assert [next(batches).rows, next(batches).rows] == [[[0.0]], [[1.0]]]
    with pytest.raises(OSError, match="the disk is gone") as caught:
        next(batches)
    assert "numbered" in [frame.name for frame in traceback.extract_tb(caught.tb)]
    assert readers() == []


def test_one_batch_is_read_ahead_and_whoever_stops_early_ends_the_thread():
    fetched, closed = [], threading.Event()

    def endless():
        try:
            while True:
                fetched.append(1)
                yield Batch([[0.5]])
        finally:
            closed.set()

    batches = read_ahead(endless())
    next(batches)
    batches.close()
    assert closed.is_set()
    assert len(fetched) <= 2
    assert readers() == []
