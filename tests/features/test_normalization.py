"""Rows divided by their sums, as part of the map."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from maps import plan, spec_of, tracker_of
from numpy.testing import assert_allclose
from scipy import sparse
from strategies import histogram_rows

from streamchi2.features.feature_map import normalized

EPS = np.finfo(np.float64).eps


@given(histogram_rows(), st.sampled_from([np.float32, np.float64]))
def test_rows_sum_to_one_or_stay_zero(rows, dtype):
    rows = rows.astype(dtype)
    found = normalized(rows, "l1")
    assert found.dtype == dtype
    sums = found.astype(np.float64).sum(axis=1)
    # Each of d shares is rounded once to its dtype, and d of them are added.
    rounding = 2 * rows.shape[1] * np.finfo(dtype).eps
    assert_allclose(sums[rows.any(axis=1)], 1.0, atol=rounding)
    assert not found[~rows.any(axis=1)].any()


@given(histogram_rows())
def test_absent_values_and_zeros_give_the_same_bits(rows):
    dense, stored = normalized(rows, "l1"), normalized(sparse.csr_array(rows), "l1")
    assert np.array_equal(dense, stored.toarray())
    for row, expected in zip(rows, dense, strict=True):
        kept = row != 0.0
        if kept.any():
            assert np.array_equal(normalized(row[kept][None, :], "l1")[0], expected[kept])


def test_sums_beyond_the_range_of_floats_are_taken():
    rows = np.full((1, 4), 1e308)
    assert_allclose(normalized(rows, "l1"), 0.25)
    assert_allclose(normalized(sparse.csr_array(rows), "l1").toarray(), 0.25)


@pytest.mark.parametrize("basis", ["orthogonal", "subspace", "landmarks", "additive"])
def test_the_map_is_that_of_rows_divided_before(digits, basis):
    rows = digits[0][:300]
    scaled = rows * np.random.default_rng(0).uniform(1.0, 50.0, (len(rows), 1))
    params = {"basis": basis, "n_components": 96}
    inside = tracker_of(spec_of(64, norm="l1", **params), scaled)
    outside = tracker_of(spec_of(64, **params), rows)
    # Rows differ by rounding of float64; features are float32.
    features = inside.feature_map.transform(scaled), outside.feature_map.transform(rows)
    products = [each @ each.T for each in features]
    assert np.abs(products[0] - products[1]).max() < 1e-4
    assert_allclose(inside.parts[0].kernel_error(), outside.parts[0].kernel_error(), atol=1e-2)


def test_given_landmarks_are_divided_too(digits):
    rows = digits[0]
    params = {"n_components": 40, "basis": "landmarks", "norm": "l1"}
    one, other = (spec_of(64, landmarks=factor * rows[:50], **params) for factor in (1.0, 16.0))
    assert one == other  # sixteen is a power of two: the same bits


def test_descriptors_are_divided_by_their_own_sums(digits):
    rows = digits[0]
    feature_map = plan(
        spec_of(64, norm="l1", columns={"top": range(32), "bottom": range(32, 64)}), rows[:64]
    )
    scaled = rows * np.repeat([2.0, 8.0], 32)
    assert np.array_equal(feature_map.transform(scaled), feature_map.transform(rows))
