"""Pending rows: the blocks of a stream are the same however its rows were cut into batches."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse

from streamchi2.files import dumped
from streamchi2.learnt import Settings
from streamchi2.statistics.buffer import Block, PendingRows, Row, as_matrix, joined
from streamchi2.statistics.targets import Targets
from streamchi2.stream import Stream

RNG = np.random.default_rng(0)
ROWS, CODES = RNG.random((260, 3)), RNG.integers(-1, 3, 260)
WEIGHTS = RNG.uniform(0.1, 3.0, 260)
NUMBERS = np.where(CODES[:, None] < 0, np.nan, RNG.normal(size=(260, 2)))
TARGETS = {
    "labels": (Targets("labels", ("a", "b", "c")), CODES),
    "numbers": (Targets.of_columns("numbers", NUMBERS), NUMBERS),
    "all labelled": (Targets("labels", ("a", "b", "c")), np.abs(CODES)),
    "none": (None, None),
}
cut_streams = st.sets(st.integers(1, 259)).map(lambda cuts: [0, *sorted(cuts), 260])


@pytest.mark.parametrize("half_life", [None, 20.0])
@pytest.mark.parametrize("kind", TARGETS)
@given(cut_streams, st.integers(0, 260), st.booleans())
def test_no_cut_changes_a_bit_of_a_stream(kind, half_life, cuts, n_rows, by_class):
    targets, values = TARGETS[kind]

    def learnt(cuts):
        by_classes = by_class and kind in ("labels", "all labelled")
        stream = Stream(Settings(3, half_life=half_life, by_class=by_classes), targets=targets)
        for start, stop in itertools.pairwise(cuts):
            part = slice(start, min(stop, n_rows))
            if start < n_rows:
                of_part = None if values is None else values[part]
                stream.learn(ROWS[part], of_part, WEIGHTS[part])
        return stream

    one, whole = learnt(cuts), learnt([0, 260])
    assert one.n_rows == n_rows
    assert dumped(one) == dumped(whole)
    if n_rows:
        assert dumped(one.settled()) == dumped(whole.settled())
        assert dumped(one) == dumped(whole)  # who reads changes nothing


@given(st.lists(st.integers(0, 4), max_size=8), st.lists(st.booleans(), min_size=8, max_size=8))
def test_rows_come_out_in_the_order_in_which_they_went_in(lengths, one_by_one):
    pending, codes, start = PendingRows(), CODES[:40], 0
    rows = [Row(np.array([n % 5]), np.array([n + 1.0])) for n in range(40)]
    for length, each in zip(lengths, one_by_one, strict=False):
        stop = start + length
        before, so_far = pending.copy(), pending.n_rows
        if each:
            for row, code in zip(rows[start:stop], codes[start:stop].tolist(), strict=True):
                pending.append(row, code, 1.0, np.zeros(2), code >= 0)
        else:
            block = Block(as_matrix(rows[start:stop]), codes[start:stop], np.ones(length))
            pending.extend(block)
            block.weights[:] = np.nan  # the caller may go on with its arrays
        assert before.n_rows == so_far
        start = stop
    assert pending.n_rows == start
    assert pending.n_labelled == np.count_nonzero(codes[:start] >= 0)
    for first, last in ((0, start), (start // 3, start // 3 + start // 2)):
        if first < last:
            block, features = pending.part(first, last, 3)
            assert_array_equal(block.rows.data, np.arange(first, last) + 1.0)
            assert_array_equal(block.targets, codes[first:last])
            assert_array_equal(block.weights, 1.0)
            assert features is None or features.shape == (last - first, 2)
            assert features is not None or not all(one_by_one)


def test_columns_that_come_late_are_zero_before_and_rows_may_be_sparse_meanwhile():
    blocks = [
        Block(np.eye(2), np.array([[1.0], [np.nan]]), np.ones(2)),
        Block(sparse.csr_array(np.eye(2)), np.array([[1.0, 2.0], [3.0, 4.0]]), np.ones(2)),
    ]
    block = joined(blocks, 3)
    assert_array_equal(block.rows.toarray(), np.tile(np.eye(2), (2, 1)))
    expected = [[1, 0, 0], [np.nan] * 3, [1, 2, 0], [3, 4, 0]]
    assert_array_equal(block.targets, expected)
    assert_array_equal(block.labelled(), [True, False, True, True])
    assert not Block(np.eye(2), None, np.ones(2)).labelled().any()


def test_named_rows_are_a_matrix_without_zeros():
    rows = [Row(np.array([1, 2**61]), np.array([0.0, 2.0])), Row(np.array([7]), np.array([3.0]))]
    matrix = as_matrix(rows)
    assert (matrix.shape, matrix.indices.tolist()) == ((2, 2**62), [2**61, 7])
    assert matrix.indptr.tolist() == [0, 1, 2]
    assert as_matrix([]).shape == (0, 2**62)
