"""The cut law of the row buffer, for dense and sparse rows, with and without companions."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from streamchi2.statistics.row_buffer import Boundaries, RowBuffer

boundaries = st.builds(
    Boundaries,
    positions=st.lists(st.integers(1, 40), max_size=3).map(tuple),
    periods=st.lists(st.integers(1, 30), min_size=1, max_size=2).map(tuple),
)
cuttings = st.lists(st.integers(0, 25), min_size=1, max_size=8)


def _pushed(buffer, rows, sizes, targets=None, weights=None):
    blocks, start = [], 0
    for size in sizes:
        part = slice(start, start + size)
        blocks += buffer.push(
            rows[part],
            None if targets is None else targets[part],
            None if weights is None else weights[part],
        )
        start += size
    return blocks


def _dense(rows):
    return rows.toarray() if sparse.issparse(rows) else rows


@given(boundaries, cuttings, st.booleans(), st.integers(0, 30))
@example(Boundaries(periods=(4,)), [0, 4, 0, 8, 1], True, 0)  # ends exactly on a boundary
def test_any_cutting_gives_the_same_blocks(where, sizes, use_sparse, position):
    total = sum(sizes)
    rows = np.arange(total * 3, dtype=np.float64).reshape(total, 3)
    rows[rows % 2 == 0] = 0.0
    source = sparse.csr_array(rows) if use_sparse else rows
    targets, weights = np.arange(total), np.arange(total) / 7.0
    whole, cut = RowBuffer(where, position), RowBuffer(where, position)
    once = _pushed(whole, source, [total], targets, weights)
    many = _pushed(cut, source, sizes, targets, weights)
    assert whole == cut
    assert len(once) == len(many)
    for left, right in zip(once, many, strict=True):
        assert left.start == right.start
        assert left.stop == where.after(left.start)
        assert_array_equal(_dense(left.rows), _dense(right.rows))
        assert_array_equal(left.targets, right.targets)
        assert_array_equal(left.weights, right.weights)
    rest = cut.pending()
    handed = [*many, *([rest] if rest else [])]
    assert cut.stop == position + total
    assert cut.n_pending == (0 if rest is None else rest.stop - rest.start)
    if handed:
        assert_array_equal(np.concatenate([_dense(block.rows) for block in handed]), rows)


@given(cuttings)
def test_pending_rows_survive_copies_and_pickles(sizes):
    rows = np.random.default_rng(0).normal(size=(sum(sizes), 2))
    buffer = RowBuffer(Boundaries(periods=(16,)))
    _pushed(buffer, rows, sizes)
    for twin in (buffer.copy(), copy.deepcopy(buffer), pickle.loads(pickle.dumps(buffer))):
        assert twin == buffer
        assert len(twin.push(rows)) == len(buffer.copy().push(rows))
    assert buffer.pending() is None or buffer.pending().rows.shape[0] == buffer.n_pending


def test_rows_that_wait_are_not_views_of_the_callers_array():
    rows = np.ones((3, 2))
    buffer = RowBuffer(Boundaries(periods=(4,)))
    buffer.push(rows, rows[:, 0], rows[:, 1])
    rows[:] = 9.0
    block = buffer.pending()
    assert_array_equal(block.rows, np.ones((3, 2)))
    assert_array_equal(block.targets, np.ones(3))
    assert_array_equal(block.weights, np.ones(3))


def test_rows_without_weights_weigh_one_beside_weighted_ones():
    buffer = RowBuffer(Boundaries(periods=(3,)))
    buffer.push(np.zeros((2, 1)))
    (block,) = buffer.push(np.zeros((1, 1)), None, np.array([5.0]))
    assert_array_equal(block.weights, [1.0, 1.0, 5.0])


def test_appending_one_row_does_not_touch_the_rows_that_wait():
    buffer = RowBuffer(Boundaries(periods=(100,)))
    buffer.push(np.zeros((1, 2)))
    first = buffer._waiting[0].rows
    for _ in range(50):
        buffer.push(np.zeros((1, 2)))
    assert buffer._waiting[0].rows is first


def test_targets_now_and_then_are_refused_and_leave_no_trace():
    buffer = RowBuffer(Boundaries(periods=(4,)))
    buffer.push(np.zeros((2, 1)))
    before = buffer.copy()
    with pytest.raises(ValueError, match="targets must be given with every push or with none"):
        buffer.push(np.zeros((9, 1)), np.zeros(9))
    assert buffer == before


@pytest.mark.parametrize("settings", [{"periods": ()}, {"periods": (0,)}, {"positions": (-1,)}])
def test_boundaries_that_never_come_are_refused(settings):
    with pytest.raises(ValueError, match="periods must"):
        Boundaries(**settings)
