"""The histogram: counts against exact arithmetic; laws of cutting, merging, reading, refusing."""

from __future__ import annotations

import copy
import functools
import itertools
import math
import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from streamchi2.errors import StateMismatchError
from streamchi2.files import dumped, loaded
from streamchi2.statistics.log_histogram import LogHistogram

TINY, HUGE = 5e-324, np.finfo(np.float64).max
EDGES = [0.0, TINY, 2.0**-1022, 2.0**-149, 2.0**-126, 0.5, 1.0, 1.5, 2.0, 2.0**100, HUGE]
BESIDE = [np.nextafter(edge, side) for edge in EDGES[1:-1] for side in (0.0, np.inf)]
HALF_LIVES = [None, 0.01, 7.3, 1e12]

values = st.one_of(
    st.just(0.0), st.sampled_from(EDGES + BESIDE), st.floats(0.0, HUGE), st.floats(1e-3, 10.0)
)
row_weights = st.one_of(st.sampled_from([0.0, 1.0, 3.0]), st.floats(1e-6, 1e6))
resolutions = st.sampled_from([1, 2, 64, 4096])


@st.composite
def streams(draw, max_rows=12):
    """Rows, weights or None, and the sizes of the batches they are cut into."""
    n_rows = draw(st.integers(1, max_rows))
    rows = draw(arrays(np.float64, (n_rows, draw(st.integers(1, 4))), elements=values))
    weights = draw(st.none() | arrays(np.float64, n_rows, elements=row_weights))
    inner = draw(st.sets(st.integers(1, max_rows)))
    return rows, weights, [0, *sorted(cut for cut in inner if cut < n_rows), n_rows]


def histogram_of(rows, weights=None, cuts=None, **config):
    histogram = LogHistogram(**config)
    for start, stop in itertools.pairwise(cuts or [0, rows.shape[0]]):
        histogram.update(rows[start:stop], None if weights is None else weights[start:stop])
    return histogram


def bits(histogram):
    """Everything the histogram is, with arrays as raw bytes: stricter than equality."""
    state = dict(vars(histogram))
    counts = state.pop("_counts")
    assert not ((counts > 0) & (counts < np.finfo(np.float64).tiny)).any(), "subnormal counts"
    return {**state, "counts": counts.tobytes(), "dtype": counts.dtype}


def reference_key(value, bins_per_octave):
    """Bin of a value by exact arithmetic: octave from frexp, then equal parts of the octave."""
    if value < 2.0**-1022:
        return math.floor(Fraction(value) / Fraction(2.0**-1022) * bins_per_octave)
    mantissa, exponent = math.frexp(value)
    octave = exponent - 1 + 1023
    return octave * bins_per_octave + math.floor((2 * Fraction(mantissa) - 1) * bins_per_octave)


def reference_counts(rows, weights, bins_per_octave):
    counts, zeros = Counter(), 0.0
    for row, weight in zip(rows, weights, strict=True):
        for value in row:
            if value == 0.0:
                zeros += weight
            elif weight:
                counts[reference_key(value, bins_per_octave)] += weight
    return counts, zeros


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


@pytest.mark.parametrize("half_life", [None, 30.0])
def test_cutting_a_long_stream_over_blocks_gives_the_same_counts(half_life):
    rng = np.random.default_rng(0)
    rows = rng.lognormal(sigma=9.0, size=(1500, 60)) * (rng.random((1500, 60)) < 0.7)
    weights = rng.random(1500)
    whole = histogram_of(rows, weights, half_life=half_life)
    for size in (1, 7, 256, 1499):
        cuts = [*range(0, 1500, size), 1500]
        assert_same(histogram_of(rows, weights, cuts, half_life=half_life), whole)


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
    empty = LogHistogram(half_life=half_life)
    assert bits(second) == before == bits(second.merge(empty)) == bits(empty.merge(second))
    assert there.n_rows == first.n_rows + second.n_rows
    assert there.total == pytest.approx(first.total + second.total, rel=1e-14)
    assert there.n_zeros == first.n_zeros + second.n_zeros


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda h: h.merge(LogHistogram(32)), StateMismatchError, "octave=64.*octave=32"),
        (lambda h: h.merge(LogHistogram(half_life=3)), StateMismatchError, "=None.*half_life=3.0"),
        (lambda h: h.merge(Counter()), TypeError, "must be a LogHistogram"),
        (lambda h: h.update([[1.0, -2.0]]), ValueError, "got -2.0 at row 0, column 1"),
        (lambda h: h.update([1.0, 2.0], [1.0, 2.0]), ValueError, "one weight per row"),
        (lambda h: LogHistogram(8192), ValueError, "at most 4096, got 8192"),
        (lambda h: LogHistogram(half_life=1e-9), ValueError, "at least 0.001 rows, got 1e-09"),
    ],
)
def test_what_is_refused_leaves_no_trace(call, error, message):
    histogram = LogHistogram().update([1.0, 0.0])
    before = bits(histogram)
    with pytest.raises(error, match=message):
        call(histogram)
    assert bits(histogram) == before
    for name, value in (("_first_key", 2047 * 64), ("_counts", -np.ones(1)), ("n_zeros", -1.0)):
        forged = histogram.copy()
        setattr(forged, name, value)
        with pytest.raises(ValueError, match=r"range of floats|must not be negative"):
            forged.check_state()


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
    wide = histogram_of(rows.astype(np.float64), weights, half_life=half_life)
    assert bits(wide) == bits(dense)
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


@given(streams(), resolutions)
@example((np.array([EDGES[1:] + BESIDE]), None, [0, 1]), 64)
def test_counts_agree_with_exact_arithmetic(stream, bins_per_octave):
    rows, weights, _ = stream
    histogram = histogram_of(rows, weights, bins_per_octave=bins_per_octave)
    weights = np.ones(len(rows)) if weights is None else weights
    counts, zeros = reference_counts(rows, weights, bins_per_octave)
    lower, upper = histogram.edges
    assert [reference_key(edge, bins_per_octave) for edge in lower] == sorted(counts)
    assert [reference_key(edge, bins_per_octave) for edge in histogram.centres] == sorted(counts)
    assert ((lower <= histogram.centres) & (histogram.centres <= upper)).all()
    assert_array_equal(histogram.weights, [counts[key] for key in sorted(counts)])
    assert histogram.n_zeros == pytest.approx(zeros, rel=1e-14)
    assert histogram.n_rows == np.count_nonzero(weights)


@given(streams(), st.sampled_from([0.01, 0.5, 1, 7.3, 1e12]), st.integers(0, 3000))
def test_fading_agrees_with_its_formula(stream, half_life, rows_before):
    rows, weights, _ = stream
    earlier = np.full((rows_before, 1), 1.7)
    histogram = LogHistogram(half_life=half_life)
    if rows_before:
        histogram.update(earlier)
    histogram.update(rows, weights)
    weights = np.ones(len(rows)) if weights is None else weights
    rows, weights = rows[weights > 0.0], weights[weights > 0.0]
    ages = np.arange(rows_before + len(rows))[::-1]
    shares = np.exp2(-ages / half_life)
    counts, zeros = reference_counts(rows, weights * shares[rows_before:], 64)
    if rows_before:
        counts[reference_key(1.7, 64)] += shares[:rows_before].sum()
    expected = {key: count for key, count in counts.items() if count >= np.finfo(float).tiny}
    found = dict(
        zip([reference_key(c, 64) for c in histogram.centres], histogram.weights, strict=True)
    )
    # The exponent rounds by half an ulp of at most 3e5 (h = 0.01): 4e-11 of a count.
    assert found == pytest.approx(expected, rel=1e-10)
    assert histogram.n_zeros == pytest.approx(zeros, rel=1e-10)


def test_faded_counts_flush_to_zero_and_never_linger_as_subnormals():
    histogram = LogHistogram(half_life=1.0).update([[3.0, 0.0]])
    for n_rows in range(2, 1500):
        assert bits(histogram.update([[1.0, 1.0]]))
        assert len(histogram.weights) == (2 if n_rows <= 1023 else 1)
    assert histogram.n_zeros == 0.0
    assert histogram.high == 1.015625


@given(st.integers(0, 2**32 - 1), resolutions, st.integers(1, 300))
def test_quantiles_lie_within_a_bin_of_the_sorted_data(seed, bins_per_octave, n_values):
    sample = np.random.default_rng(seed).lognormal(sigma=4.0, size=n_values)
    histogram = LogHistogram(bins_per_octave).update(sample)
    ranks = np.arange(n_values) + 0.5  # between the steps of the distribution function
    found = histogram.quantile(ranks / n_values)
    assert (np.abs(found - np.sort(sample)) <= np.sort(sample) / bins_per_octave).all()
    assert (np.diff(found) >= 0.0).all()
    assert histogram.quantile(0.0) == histogram.low
    assert histogram.quantile(1.0) == histogram.high


@given(streams(), resolutions, st.integers(1, 12))
def test_coarsening_keeps_weight_and_mean_within_the_wanted_number_of_bins(
    stream, bins_per_octave, max_bins
):
    rows, weights, _ = stream
    histogram = histogram_of(np.minimum(rows, 1e300), weights, bins_per_octave=bins_per_octave)
    centres, merged = histogram.coarsened(max_bins)
    assert len(centres) == len(merged) <= max_bins
    assert (np.diff(centres) > 0.0).all()
    assert merged.sum() == pytest.approx(histogram.total, rel=1e-14)
    assert centres @ merged == pytest.approx(histogram.centres @ histogram.weights, rel=1e-13)
    if len(histogram.centres) <= max_bins:
        assert_array_equal(centres, histogram.centres)
    lower, upper = histogram.edges
    mass = (histogram.density() * (np.log(upper) - np.log(lower))).sum()
    # Logarithms up to 745 differ by as little as 1/8192: 2 * 745 * 8192 rounding errors.
    assert mass == pytest.approx(1.0 if histogram.total else 0.0, abs=4e-9)


@pytest.mark.parametrize("read", ["low", "high", "quantile"])
@pytest.mark.parametrize("histogram", [LogHistogram(), LogHistogram().update([[0.0]])])
def test_an_empty_histogram_says_so(read, histogram):
    with pytest.raises(ValueError, match=f"{read} needs a non-zero value"):
        histogram.quantile(0.5) if read == "quantile" else getattr(histogram, read)
    with pytest.raises(ValueError, match="q must lie between 0 and 1"):
        histogram.quantile([0.5, 2.0])
    assert histogram.total == 0
    assert len(histogram.centres) == len(histogram.density()) == len(histogram.coarsened(3)[0]) == 0
