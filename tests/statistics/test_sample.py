"""Samples of distinct rows against brute force over the whole stream."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from streamchi2.errors import StateMismatchError
from streamchi2.files import dumped
from streamchi2.statistics.sample import Sample, keys_of

CELLS = np.arange(1.0, 31.0)[:, None] * [1.0, 0.0, -1.0]


@st.composite
def streams(draw, max_rows=40):
    """Rows with many copies, weights, codes of labels, and where they are cut."""
    n_rows = draw(st.integers(1, max_rows))
    cells = draw(st.lists(st.integers(0, 29), min_size=n_rows, max_size=n_rows))
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    inner = draw(st.sets(st.integers(1, max_rows)))
    cuts = [0, *sorted(cut for cut in inner if cut < n_rows), n_rows]
    return np.array(cells), rng.uniform(0.1, 3.0, n_rows), rng.integers(0, 3, n_rows), cuts


def sampled(sample, cells, weights, codes, cuts):
    for start, stop in itertools.pairwise(cuts):
        part = slice(start, stop)
        sample.add(CELLS[cells[part]], weights[part], codes[part], 3)
    return sample


def assert_same(left, right):
    one, other = np.argsort(left.keys), np.argsort(right.keys)
    assert_array_equal(left.keys[one], right.keys[other])
    assert_array_equal(left.rows[one], right.rows[other])
    assert_array_equal(left.ages[one], right.ages[other])
    assert_allclose(left.weights[one], right.weights[other], rtol=1e-12)
    assert_allclose(left.targets[one], right.targets[other], atol=1e-12)
    assert left.n_rows == right.n_rows


def one_by_one(size, half_life, cells, weights, codes):
    """Return weights and targets of the sampled cells, learnt row by row in the plainest way."""
    keys = keys_of(CELLS, seed=5)
    uniform = (keys / 2.0**64).astype(float)
    rate = 0.0 if half_life is None else math.log(2.0) / half_life
    kept = {}  # of a cell: score, weight, weight of each class
    for position, (cell, weight, code) in enumerate(zip(cells, weights, codes, strict=True)):
        fade = 1.0 if half_life is None else 0.5 ** (1.0 / half_life)
        kept = {other: (score, fade * total) for other, (score, total) in kept.items()}
        score = math.log(-math.log1p(-uniform[cell])) - rate * position
        total = kept.get(cell, (None, np.zeros(3)))[1] + weight * np.eye(3)[code]
        kept[cell] = score, total
        kept = dict(sorted(kept.items(), key=lambda item: item[1][0])[:size])
    return {cell: total for cell, (_, total) in kept.items()}


@pytest.mark.parametrize("half_life", [None, 0.05, 3.0, 100.0])
@given(streams(), st.sampled_from([1, 4, 12, 64]))
def test_a_sample_is_what_brute_force_keeps_row_by_row(half_life, stream, size):
    cells, weights, codes, cuts = stream
    # With a half-life a block as a whole may hold on to a row that would have been out for a while.
    cuts = cuts if half_life is None else range(len(cells) + 1)
    sample = sampled(Sample(size, 5, half_life), cells, weights, codes, cuts)
    expected = one_by_one(size, half_life, cells, weights, codes)
    # Rows that have faded for good are no rows, wherever there is room for them.
    expected = {cell: total for cell, total in expected.items() if total.sum() > 1e-200}
    got = dict(zip((sample.rows[:, 0] - 1).astype(int).tolist(), sample.weights, strict=True))
    got = {cell: weight for cell, weight in got.items() if weight > 1e-200}
    assert got == pytest.approx({cell: total.sum() for cell, total in expected.items()})
    for cell, target in zip((sample.rows[:, 0] - 1).astype(int), sample.targets, strict=True):
        if cell in expected:
            assert_allclose(target, expected[cell] / expected[cell].sum(), atol=1e-12)
    assert sample.n_rows == len(cells)


@given(streams(), st.sampled_from([1, 4, 12, 64]))
def test_any_cutting_gives_the_same_sample(stream, size):
    cells, weights, codes, _ = stream
    whole = sampled(Sample(size, 5), cells, weights, codes, [0, len(cells)])
    assert_same(sampled(Sample(size, 5), *stream), whole)
    one_by_one = sampled(Sample(size, 5), cells, weights, codes, range(len(cells) + 1))
    assert_same(one_by_one, whole)


@pytest.mark.parametrize("half_life", [None, 5.0])
@given(streams(), streams(), st.sampled_from([2, 12, 64]))
def test_copies_go_ways_of_their_own(half_life, stream, more, size):
    sample = sampled(Sample(size, 5, half_life), *stream)
    twin, before = sample.copy(), dumped(sample)
    sampled(twin, *more)
    assert dumped(sample) == before
    copy = sample.copy()
    assert dumped(sampled(sample, *more)) == dumped(twin)
    assert dumped(copy) == before


def merged(left, right, *columns):
    both = left.copy()
    both.merge(right, *columns)
    return both


@given(streams(), streams(), st.sampled_from([2, 64]))
def test_merging_in_either_order_is_one_pass(left, right, size):
    sides = [sampled(Sample(size, 5), *side) for side in (left, right)]
    before = dumped(sides[1])
    there = merged(*sides)
    assert dumped(sides[1]) == before
    assert_same(there, merged(*sides[::-1]))
    one_pass = sampled(sides[0].copy(), *right)
    one_pass.ages, order = one_pass.ages.copy(), np.argsort(there.keys)
    one_pass.ages[np.argsort(one_pass.keys)] = there.ages[order]  # both streams end now
    assert_same(there, one_pass)
    for one in (merged(Sample(size, 5), sides[0]), merged(sides[0], Sample(size, 5))):
        assert_same(one, sides[0])


def test_columns_are_moved_and_both_streams_end_now_when_they_are_merged():
    one, other = Sample(4, 0, 2.0), Sample(4, 0, 2.0)
    one.add(np.array([[1.0]]), np.ones(1), np.array([0]), 1)
    other.add(np.array([[1.0], [2.0]]), np.ones(2), np.array([0, 1]), 2)
    both = merged(one, other, np.array([2, 0]), 3)
    order, copy = np.argsort(both.rows[:, 0]), 0.5**0.5  # the copy is one row old
    shares = [[1.0 / (1.0 + copy), 0.0, copy / (1.0 + copy)], [1.0, 0.0, 0.0]]
    assert_allclose(both.targets[order], shares)
    assert_allclose(both.weights[order], [1.0 + copy, 1.0])
    assert (both.ages.tolist(), both.n_rows) == ([0, 0], 3)
    with pytest.raises(StateMismatchError, match=r"got \(4, 0, 2.0\) and \(4, 1, 2.0\)"):
        one.merge(Sample(4, 1, 2.0))


@given(st.data(), st.sampled_from([np.float32, np.float64]))
def test_keys_depend_on_content_alone(data, dtype):
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    rows = rng.integers(-2, 3, (8, 5)).astype(dtype) / 4
    signs = np.where(rng.random(rows.shape) < 0.5, -0.0, 0.0).astype(dtype)
    keys = keys_of(rows, 3)
    stored = sparse.csr_array(np.where(rows == 0, 1, rows))
    stored.data = np.where(rows == 0, signs, rows).ravel()  # zeros of both signs are stored
    for same in (np.where(rows == 0, signs, rows), sparse.csr_array(rows), stored, rows.tolist()):
        assert_array_equal(keys_of(np.array(same) if isinstance(same, list) else same, 3), keys)
    wide = sparse.csr_array(rows)
    moved = np.array([2**62 - 1, 7, 0, 2**40, 12])
    named = sparse.csr_array((wide.data, moved[wide.indices], wide.indptr), shape=(8, 2**62))
    named_keys = keys_of(named, 3)
    equal = (rows[:, None] == rows[None]).all(axis=2)
    assert_array_equal(keys[:, None] == keys[None], equal)
    assert_array_equal(named_keys[:, None] == named_keys[None], equal)
    assert not np.isin(keys, keys_of(rows, 4)[rows.any(axis=1)]).any()


@pytest.mark.parametrize("first", ["dense", "sparse"])
def test_dense_and_sparse_rows_may_alternate(first):
    rows = np.random.default_rng(0).random((60, 4)) * (np.arange(60)[:, None] % 3 > 0)
    blocks = [rows[:30], sparse.csr_array(rows[30:])]
    blocks = blocks if first == "dense" else [sparse.csr_array(rows[:30]), rows[30:]]
    mixed = Sample(16, 0)
    for block in blocks:
        mixed.add(block, np.ones(30))
    plain = Sample(16, 0)
    plain.add(rows, np.ones(60))
    mixed.rows = mixed.rows.toarray()
    assert_same(mixed, plain)


def test_huge_weights_and_targets_stay_finite():
    rows, weights = np.array([[1.0], [1.0], [1e300]]), np.array([1e140, 1e140, 1e-150])
    sample = Sample(4, 0, 1.0)
    for _ in range(100):
        sample.add(rows, weights, np.full((3, 1), 1e140), 1)
    assert np.isfinite(sample.weights).all()
    assert_allclose(sample.targets, 1e140)


@pytest.mark.parametrize("scale", [1e-200, 1e100, -1e100, 2.0**-23, 0.5])
def test_rows_that_differ_little_or_beyond_single_precision_have_keys_of_their_own(scale):
    grid = np.array(list(itertools.product([0.0, 1.0, 2.0, 3.0, 4.0, 8.0], repeat=4)))
    rows = scale * grid + (scale == 2.0**-23)
    keys = keys_of(rows, 0)
    assert np.unique(keys).size == len(grid)
    assert_array_equal(keys_of(sparse.csr_array(rows), 0), keys)
