"""Counts and readings of the histogram against slow, exact or sorted references."""

from __future__ import annotations

import numpy as np
import pytest
from histogram_streams import (
    BESIDE,
    EDGES,
    bits,
    histogram_of,
    reference_counts,
    reference_key,
    resolutions,
    streams,
)
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from streamchi2.statistics.log_histogram import LogHistogram


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


def test_merging_faded_histograms_adds_their_present_counts():
    left = LogHistogram(half_life=2.0).update([[4.0], [1.0], [1.0]])
    right = LogHistogram(half_life=2.0).update([[4.0]])
    merged = left.merge(right)
    assert_allclose(merged.weights, [1.0 + 2.0**-0.5, 0.5 + 1.0], rtol=1e-15)
    merged.update([[0.0], [0.0]])
    assert_allclose(merged.weights, [(1.0 + 2.0**-0.5) / 2.0, 0.75], rtol=1e-15)


@given(
    arrays(np.float32, st.integers(1, 20), elements=st.floats(0, width=32, allow_infinity=False))
)
@example(np.array([2.0**-149, 2.0**-126, 1.0, 3e38], np.float32))
def test_float32_and_float64_fall_into_the_same_bins(short):
    for bins_per_octave in (1, 64, 512):
        histogram = LogHistogram(bins_per_octave)
        wide = histogram.copy().update(short.astype(np.float64))
        assert bits(histogram.update(short)) == bits(wide)


def test_the_finest_bins_are_exact_too():
    edges = 1.0 + np.arange(4096) / 4096
    sample = np.concatenate([edges, np.nextafter(edges, 0.0)[1:], [np.nextafter(2.0, 0.0)]])
    histogram = LogHistogram(4096).update(sample)
    assert_array_equal(histogram.edges[0], edges)
    assert_array_equal(histogram.weights, 2.0)
    assert LogHistogram(4096).update(edges.astype(np.float32)).total == 4096


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


@given(streams(), resolutions)
def test_density_integrates_to_one(stream, bins_per_octave):
    histogram = histogram_of(*stream[:2], bins_per_octave=bins_per_octave)
    lower, upper = histogram.edges
    mass = (histogram.density() * (np.log(upper) - np.log(lower))).sum()
    # Logarithms up to 745 differ by as little as 1/512: 2 * 745 * 512 rounding errors.
    assert mass == pytest.approx(1.0 if histogram.total else 0.0, abs=2e-10)


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


def test_negative_zero_is_a_zero():
    assert LogHistogram().update([-0.0, 1.0]) == LogHistogram().update([0.0, 1.0])


def test_very_wide_sparse_rows_cost_what_they_store():
    wide = sparse.csr_array(([1.0, 2.0], ([0, 1], [5, 2**62 - 1])), shape=(2, 2**62))
    assert LogHistogram().update(wide).n_zeros == 2.0**63
    assert LogHistogram().update(wide, [0.5, 0.5]).n_zeros == 2.0**62


def test_weights_of_one_change_nothing_and_of_two_count_twice():
    rows = np.array([[1.0, 0.0, 3.0], [2.0, 2.0, 0.0]])
    assert histogram_of(rows, np.ones(2)) == histogram_of(rows)
    assert_array_equal(histogram_of(rows, [2, 2]).weights, 2.0 * histogram_of(rows).weights)


def test_equality_sees_settings_rows_zeros_and_counts():
    histogram = LogHistogram().update([1.0, 0.0])
    others = [LogHistogram(32), LogHistogram(half_life=2)]
    assert all(histogram != other.update([1.0, 0.0]) for other in others)
    assert histogram != LogHistogram().update([1.0])
    assert histogram != LogHistogram().update([1.5, 0.0])
    assert histogram != LogHistogram().update([[1.0], [0.0]])
    assert histogram != "histogram"
    with pytest.raises(TypeError, match="unhashable"):
        hash(histogram)


@pytest.mark.parametrize("read", ["low", "high", "quantile"])
@pytest.mark.parametrize("histogram", [LogHistogram(), LogHistogram().update([[0.0]])])
def test_an_empty_histogram_says_so(read, histogram):
    with pytest.raises(ValueError, match=f"{read} needs a non-zero value"):
        histogram.quantile(0.5) if read == "quantile" else getattr(histogram, read)
    assert histogram.total == 0
    assert len(histogram.centres) == len(histogram.density()) == len(histogram.coarsened(3)[0]) == 0


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"bins_per_octave": 48}, ValueError, "power of two.*got 48"),
        ({"bins_per_octave": 8192}, ValueError, "at most 4096, got 8192"),
        ({"bins_per_octave": 0}, ValueError, "at least 1, got 0"),
        ({"bins_per_octave": 2.0}, TypeError, "integer, got 2.0"),
        ({"half_life": 0}, ValueError, "half_life must be positive"),
        ({"half_life": 1e-9}, ValueError, "at least 0.001 rows, got 1e-09"),
        ({"half_life": "long"}, ValueError, "half_life must be a number"),
    ],
)
def test_impossible_settings_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        LogHistogram(**arguments)


@pytest.mark.parametrize("q", [-0.1, 1.1, np.nan, [0.5, 2.0]])
def test_impossible_quantiles_are_refused(q):
    with pytest.raises(ValueError, match="q must lie between 0 and 1"):
        LogHistogram().update([1.0]).quantile(q)
