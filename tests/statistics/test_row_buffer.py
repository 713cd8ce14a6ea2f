"""The cut law of the row buffer, for dense and sparse rows, with and without targets."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from streamchi2.statistics.row_buffer import Boundaries, Row, RowBuffer, as_matrix
from streamchi2.statistics.targets import with_labels

boundaries = st.builds(
    Boundaries,
    positions=st.lists(st.integers(1, 40), max_size=3).map(tuple),
    periods=st.lists(st.integers(1, 30), min_size=1, max_size=2).map(tuple),
    growing_from=st.none() | st.integers(1, 60),
    longest=st.sampled_from([1, 2, 16]),
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
    rest = cut.pending
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
    assert buffer.pending is None or buffer.pending.rows.shape[0] == buffer.n_pending


def test_pending_rows_are_not_views_of_the_callers_array():
    rows = np.ones((3, 2))
    buffer = RowBuffer(Boundaries(periods=(4,)))
    buffer.push(rows, rows[:, 0], rows[:, 1])
    rows[:] = 9.0
    block = buffer.pending
    assert_array_equal(block.rows, np.ones((3, 2)))
    assert_array_equal(block.targets, np.ones(3))
    assert_array_equal(block.weights, np.ones(3))


def test_rows_without_weights_weigh_one_beside_weighted_ones():
    buffer = RowBuffer(Boundaries(periods=(3,)))
    buffer.push(np.zeros((2, 1)))
    (block,) = buffer.push(np.zeros((1, 1)), None, np.array([5.0]))
    assert_array_equal(block.weights, [1.0, 1.0, 5.0])


def test_pushing_one_row_does_not_touch_the_pending_rows():
    buffer = RowBuffer(Boundaries(periods=(100,)))
    buffer.push(np.zeros((1, 2)))
    first = buffer._pieces[0]
    for _ in range(50):
        buffer.push(np.zeros((1, 2)))
    assert buffer._pieces[0] is first


@pytest.mark.parametrize("first", [None, np.zeros(2)], ids=["first without", "first with"])
@pytest.mark.parametrize("n_more", [1, 9])
def test_targets_now_and_then_are_refused_and_leave_no_trace(first, n_more):
    buffer = RowBuffer(Boundaries(periods=(4,)))
    buffer.push(np.zeros((2, 1)), first)
    before = buffer.copy()
    with pytest.raises(ValueError, match="targets must be given with every push or with none"):
        buffer.push(np.zeros((n_more, 1)), np.zeros(n_more) if first is None else None)
    assert buffer == before


@pytest.mark.parametrize("params", [{"periods": ()}, {"periods": (0,)}, {"positions": (-1,)}])
def test_boundaries_that_never_come_are_refused(params):
    with pytest.raises(ValueError, match="periods must"):
        Boundaries(**params)


@given(boundaries, st.integers(0, 200))
def test_the_next_boundary_is_the_same_from_every_position_before_it(where, position):
    following = where.after(position)
    assert following > position
    assert all(where.after(between) == following for between in range(position, following))


@given(st.integers(1, 5000), st.integers(0, 20_000))
def test_growing_steps_are_an_eighth_of_the_stream_at_most(start, position):
    growing = Boundaries((start,), (2**30,), growing_from=start, longest=1024)
    following = growing.after(position)
    if position < start:
        assert following == start
    else:
        assert following - position <= max(1, min(1024, position // 8))


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.sampled_from(["labels", None]))
def test_single_rows_and_batches_make_the_same_block(sizes, kind):
    rng = np.random.default_rng(0)
    total = sum(sizes)
    columns, values = np.arange(3) << 50, rng.integers(0, 3, (total, 3)).astype(np.float64)
    targets = None if kind is None else with_labels(np.arange(total))
    rows = [Row(columns, row) for row in values]
    single, mixed = RowBuffer(Boundaries()), RowBuffer(Boundaries())
    for place, row in enumerate(rows):
        single.append(row, None if kind is None else place, 1.0)
    start = 0
    for turn, size in enumerate(sizes):
        part = slice(start, start + size)
        if turn % 2:
            mixed.push(as_matrix(rows[part]), None if targets is None else targets[part])
        else:
            for place in range(start, start + size):
                mixed.append(rows[place], None if kind is None else place, 1.0)
        start += size
    assert single == mixed
