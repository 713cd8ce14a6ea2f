"""Laws of the histogram: cut, merge, no trace, absent = 0, pure reads."""

from __future__ import annotations

import copy
import functools
import itertools
import pickle
from collections import Counter

import numpy as np
import pytest
from histogram_streams import (
    HALF_LIVES,
    HUGE,
    bits,
    histogram_of,
    streams,
)
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from streamchi2.errors import StateMismatchError
from streamchi2.files import dumped, loaded
from streamchi2.statistics.log_histogram import LogHistogram


def assert_same(left, right):
    """Assert that counts agree: to the bit without a half-life, else to rounding."""
    if left.half_life is None:
        assert bits(left) == bits(right)
    assert_array_equal(left.centres, right.centres)
    assert_allclose(left.weights, right.weights, rtol=1e-9)
    assert left.n_zeros == pytest.approx(right.n_zeros, rel=1e-9)
    assert left.n_rows == right.n_rows


@pytest.mark.parametrize("half_life", [None, 7.3, 1e12])
@given(streams())
def test_any_cutting_gives_the_same_counts(half_life, stream):
    rows, weights, cuts = stream
    whole = histogram_of(rows, weights, half_life=half_life)
    assert_same(histogram_of(rows, weights, cuts, half_life=half_life), whole)
    assert_same(histogram_of(rows, weights, range(len(rows) + 1), half_life=half_life), whole)


@pytest.mark.parametrize("half_life", [None, 30.0, 1e12])
@pytest.mark.parametrize("weighted", [False, True])
def test_cutting_a_long_stream_over_blocks_gives_the_same_counts(half_life, weighted):
    rng = np.random.default_rng(0)
    rows = rng.lognormal(sigma=9.0, size=(1500, 60)) * (rng.random((1500, 60)) < 0.7)
    weights = rng.random(1500) if weighted else None
    whole = histogram_of(rows, weights, half_life=half_life)
    for size in (1, 7, 256, 1499):
        cuts = [*range(0, 1500, size), 1500]
        assert_same(histogram_of(rows, weights, cuts, half_life=half_life), whole)


@given(streams(), st.sets(st.integers(0, 12)))
def test_batches_with_and_without_weights_may_alternate(stream, weighted):
    rows, weights, cuts = stream
    weights = np.ones(len(rows)) if weights is None else weights
    mixed = LogHistogram()
    for start, stop in itertools.pairwise(cuts):
        if start not in weighted:
            weights[start:stop] = 1.0
        mixed.update(rows[start:stop], weights[start:stop] if start in weighted else None)
    assert mixed == histogram_of(rows, weights)


@given(st.lists(streams(max_rows=4), min_size=1, max_size=4), st.randoms())
@example([(np.zeros((1, 2)), None, [0, 1]), (np.full((2, 1), HUGE), None, [0, 2])], None)
def test_merging_shards_in_any_order_equals_one_pass(shards, random):
    shards = [rows for rows, _, _ in shards]
    one_pass = functools.reduce(LogHistogram.update, shards, LogHistogram())
    if random is not None:
        random.shuffle(shards)
    merged = functools.reduce(LogHistogram.merge, map(histogram_of, shards))
    assert bits(merged) == bits(one_pass)


@pytest.mark.parametrize("half_life", HALF_LIVES)
@given(streams(), streams())
def test_merging_commutes_and_leaves_the_other_alone(half_life, left, right):
    first = histogram_of(*left[:2], half_life=half_life)
    second = histogram_of(*right[:2], half_life=half_life)
    before = bits(second)
    there, back = first.copy().merge(second), second.copy().merge(first)
    assert bits(there) == bits(back)
    assert bits(second) == before
    assert there.n_rows == first.n_rows + second.n_rows
    assert there.total == pytest.approx(first.total + second.total, rel=1e-14)
    assert there.n_zeros == first.n_zeros + second.n_zeros


@pytest.mark.parametrize("half_life", HALF_LIVES)
@given(streams())
def test_empty_is_the_identity_of_merging(half_life, stream):
    histogram = histogram_of(*stream[:2], half_life=half_life)
    before = bits(histogram)
    empty = LogHistogram(half_life=half_life)
    assert bits(histogram.merge(empty)) == before
    adopted = empty.merge(histogram)
    assert bits(adopted) == before
    adopted.update([3.0])
    assert bits(histogram) == before


BAD_INPUTS = {
    "negative": ([[1.0, -2.0]], None, ValueError, r"got -2.0 at row 0, column 1"),
    "nan": ([[1.0], [np.nan]], None, ValueError, r"NaN.*row 1, column 0"),
    "inf": ([[1.0, np.inf]], None, ValueError, r"finite.*row 0, column 1"),
    "negative, sparse": (sparse.csr_array([[0.0, -1.0]]), None, ValueError, "row 0, column 1"),
    "object": (np.array([[1.0, None]], dtype=object), None, TypeError, "number"),
    "text": ([["a", "b"]], None, TypeError, "number"),
    "3-D": (np.ones((2, 2, 2)), None, ValueError, "dim"),
    "scalar": (3.0, None, ValueError, "scalar"),
    "empty": ([], None, ValueError, "minimum of 1"),
    "no rows": (np.empty((0, 3)), None, ValueError, "minimum of 1"),
    "complex": (np.ones((1, 2), complex), None, (TypeError, ValueError), "omplex"),
    "too few weights": ([[1.0], [2.0]], [1.0], ValueError, "one weight per row"),
    "too many weights": ([1.0, 2.0], [1.0, 2.0], ValueError, "one weight per row"),
    "negative weight": ([[1.0], [2.0]], [1.0, -1.0], ValueError, "got -1.0 at row 1"),
    "nan weight": ([[1.0], [2.0]], [np.nan, 1.0], ValueError, "got nan at row 0"),
    "infinite weight": ([[1.0]], [np.inf], ValueError, "got inf at row 0"),
    "huge weight": ([[1.0], [2.0]], [1.0, 1e201], ValueError, "got 1e[+]201 at row 1"),
    "text weight": ([[1.0]], ["a"], TypeError, "sample_weight must hold numbers"),
}


@pytest.mark.parametrize("half_life", [None, 5.0])
@pytest.mark.parametrize("case", BAD_INPUTS)
def test_a_refused_update_leaves_no_trace(case, half_life):
    rows, weights, error, message = BAD_INPUTS[case]
    histogram = LogHistogram(half_life=half_life).update([[1.0, 0.0], [2.0, 7.0]])
    before = bits(histogram)
    with pytest.raises(error, match=message):
        histogram.update(rows, weights)
    assert bits(histogram) == before


@pytest.mark.parametrize(
    ("other", "error", "message"),
    [
        (LogHistogram(32), StateMismatchError, "bins_per_octave=64.*bins_per_octave=32"),
        (LogHistogram(half_life=3), StateMismatchError, "half_life=None.*half_life=3.0"),
        (Counter(), TypeError, "must be a LogHistogram"),
    ],
)
def test_a_refused_merge_leaves_no_trace(other, error, message):
    histogram = LogHistogram().update([1.0, 2.0])
    before = bits(histogram)
    with pytest.raises(error, match=message):
        histogram.merge(other)
    assert bits(histogram) == before


@given(streams(), st.sampled_from(HALF_LIVES))
def test_rows_of_weight_zero_leave_no_trace(stream, half_life):
    rows, weights, _ = stream
    histogram = histogram_of(rows, weights, half_life=half_life)
    before = bits(histogram)
    assert bits(histogram.update(rows, np.zeros(len(rows)))) == before
    if weights is not None and weights.any():
        kept = weights > 0.0
        assert bits(histogram_of(rows[kept], weights[kept], half_life=half_life)) == before


@given(streams(), st.sampled_from(HALF_LIVES), st.sampled_from([np.float32, np.float64]))
def test_dense_sparse_transposed_and_wider_rows_count_alike(stream, half_life, dtype):
    rows, weights, _ = stream
    with np.errstate(over="ignore"):
        rows = np.minimum(rows, np.finfo(np.float32).max).astype(dtype)
    dense = histogram_of(rows, weights, half_life=half_life)
    fortran = np.asfortranarray(rows)
    assert bits(histogram_of(sparse.csr_array(rows), weights, half_life=half_life)) == bits(dense)
    assert bits(histogram_of(fortran, weights, half_life=half_life)) == bits(dense)
    wider = histogram_of(np.pad(rows, ((0, 0), (0, 2))), weights, half_life=half_life)
    assert_array_equal(wider.centres, dense.centres)
    assert_array_equal(wider.weights, dense.weights)


@given(streams(), st.sampled_from(HALF_LIVES))
def test_reading_copying_and_pickling_change_nothing(stream, half_life):
    histogram = histogram_of(*stream[:2], half_life=half_life)
    before = bits(histogram)
    before_pickle = pickle.dumps(histogram)
    repr(histogram), histogram.density(), histogram.coarsened(2), histogram.n_zeros
    saved = loaded(dumped(histogram))
    for twin in (histogram.copy(), copy.deepcopy(histogram), pickle.loads(before_pickle), saved):
        assert twin == histogram
        assert bits(twin.update([[1.0]])) == bits(histogram.copy().update([[1.0]]))
    assert bits(histogram) == before


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("_first_key", -1, "range of floats"),
        ("_first_key", 2047 * 64, "range of floats"),
        ("_counts", np.array([1, -1]), "must not be negative"),
        ("n_zeros", -1.0, "must not be negative"),
    ],
)
def test_forged_counts_are_refused(name, value, message):
    histogram = LogHistogram().update([1.0, 0.0])
    histogram.check_state()
    setattr(histogram, name, value)
    with pytest.raises(ValueError, match=message):
        histogram.check_state()
