"""Moments of features: oracles, and the laws of cutting, merging and weighting."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from streamchi2.errors import StateMismatchError
from streamchi2.statistics.moments import Moments, add_products, pooled

EPS = np.finfo(np.float64).eps
N_FEATURES = 3

values = st.floats(-100.0, 100.0, width=32)
row_blocks = hnp.arrays(np.float64, st.tuples(st.integers(0, 12), st.just(3)), elements=values)


def reference(rows, weights):
    """Weighted mean and centred scatter, two passes in float64."""
    rows = np.asarray(rows, np.float64)
    mean = np.average(rows, axis=0, weights=weights)
    centred = rows - mean
    return mean, (weights[:, None] * centred).T @ centred


def rounding(rows, n_operations=64):
    # A sum of n squares of numbers below b errs by at most n eps b^2 a term; halves are common.
    spread = np.abs(rows).max(initial=0.0)
    return n_operations * EPS * max(rows.shape[0], 1) * spread**2 + 1e-300


def moments_of(rows, weights=None):
    return Moments(rows.shape[1]).update(rows, weights=weights)


@given(st.lists(row_blocks, min_size=1, max_size=5))
@example([np.empty((0, 3)), np.full((2, 3), 1e6)])  # an empty block; a large offset, no spread
def test_updates_in_blocks_equal_two_passes(blocks):
    moments = Moments(N_FEATURES)
    for block in blocks:
        moments.update(block)
    rows = np.vstack(blocks)
    assert moments.weight == rows.shape[0]
    if rows.shape[0]:
        mean, scatter = reference(rows, np.ones(rows.shape[0]))
        assert_allclose(moments.mean, mean, atol=64 * EPS * np.abs(rows).max(), rtol=0)
        assert_allclose(moments.scatter(), scatter, atol=rounding(rows), rtol=0)
    assert_array_equal(np.tril(moments.upper, -1), 0.0)


@given(st.lists(row_blocks, min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_merging_shards_in_any_order_equals_one_pass(blocks, random):
    rows = np.vstack(blocks)
    shuffled = random.sample(blocks, len(blocks))
    merged = Moments(N_FEATURES)
    for block in shuffled:
        shard = moments_of(block)
        before = shard.copy()
        merged.merge(shard)
        assert shard == before
    whole = moments_of(rows)
    assert merged.weight == whole.weight
    assert_allclose(merged.mean, whole.mean, atol=64 * EPS * np.abs(rows).max(initial=0), rtol=0)
    assert_allclose(merged.scatter(), whole.scatter(), atol=rounding(rows), rtol=0)


@given(row_blocks)
def test_empty_moments_are_the_identity_of_merge(rows):
    moments = moments_of(rows)
    assert moments.copy().merge(Moments(N_FEATURES)) == moments
    assert Moments(N_FEATURES).merge(moments) == moments
    assert pooled(moments, Moments(N_FEATURES)) == moments


@given(row_blocks.filter(len), st.data())
def test_a_weight_counts_like_repeated_rows(rows, data):
    counts = np.array(
        data.draw(st.lists(st.integers(0, 4), min_size=len(rows), max_size=len(rows)))
    )
    weighted = moments_of(rows, counts.astype(float))
    repeated = moments_of(np.repeat(rows, counts, axis=0))
    assert weighted.weight == repeated.weight
    many = np.repeat(rows, 4, axis=0)
    assert_allclose(weighted.mean, repeated.mean, atol=64 * EPS * np.abs(rows).max(), rtol=0)
    assert_allclose(weighted.scatter(), repeated.scatter(), atol=rounding(many), rtol=0)


def test_fading_scales_weight_and_scatter_and_keeps_the_mean():
    moments = moments_of(np.array([[1.0, 0, 0], [3.0, 0, 2.0]]))
    faded = moments.copy().fade(0.25)
    assert (faded.weight, moments.weight) == (0.5, 2.0)
    assert_array_equal(faded.mean, moments.mean)
    assert_array_equal(faded.scatter(), 0.25 * moments.scatter())


@pytest.mark.parametrize("offset", [0.0, 1e6, -1e6])
@pytest.mark.parametrize("width", [7, 300])  # one panel; several
def test_an_offset_costs_no_accuracy(offset, width):
    rows = np.random.default_rng(0).normal(size=(2500, width))
    moved = rows + offset
    moments = Moments(width)
    for start in range(0, 2500, 500):
        moments.update(moved[start : start + 500])
    _, scatter = reference(rows, np.ones(2500))
    # Moving the rows rounds each by eps*offset/2, which enters products of unit deviations.
    atol = 2500 * (4 * EPS * abs(offset) + 64 * EPS)
    assert_allclose(moments.scatter(), scatter, atol=atol, rtol=0)


@pytest.mark.parametrize("weights", [None, "some"])
def test_float32_rows_cost_no_more_than_the_rounding_of_one_block(weights):
    rng = np.random.default_rng(1)
    rows = (rng.normal(size=(6000, 40)) + 100.0).astype(np.float32)
    weights = None if weights is None else rng.uniform(0, 2, 6000)
    moments = moments_of(rows, weights)
    _, scatter = reference(rows, np.ones(6000) if weights is None else weights)
    deviations = np.sqrt(np.outer(scatter.diagonal(), scatter.diagonal()))
    # 2048 rounded additions, whose errors wander as the square root of their number.
    bound = np.sqrt(2048) * np.finfo(np.float32).eps
    assert np.max(np.abs(moments.scatter() - scatter) / deviations) < bound


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_float32_rows_near_the_ends_of_their_range_neither_burst_nor_vanish(scale):
    rows = np.random.default_rng(2).normal(size=(50, 3)).astype(np.float32)
    moments = moments_of(rows * np.float32(scale))
    _, scatter = reference(rows, np.ones(50))
    assert_allclose(moments.scatter() / scale**2, scatter, rtol=1e-5, atol=1e-4)


def test_rows_of_weight_zero_leave_the_numbers_alone():
    moments = moments_of(np.arange(6.0).reshape(2, 3))
    after = moments.copy().update(np.full((4, 3), 1e9), weights=np.zeros(4))
    assert after == moments


def test_merging_moments_of_another_width_is_refused_without_a_trace():
    moments = moments_of(np.arange(6.0).reshape(2, 3))
    before = moments.copy()
    with pytest.raises(StateMismatchError, match="n_features must agree to merge, got 3 and 4"):
        moments.merge(Moments(4))
    assert moments == before


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=20), st.floats(1e-6, 1.0))
def test_the_count_is_that_of_rows_whatever_the_unit_of_their_weights(weights, unit):
    weights = np.array(weights)
    rows = np.zeros((weights.size, 1))
    light = moments_of(rows, unit * weights / weights.max())
    # Weights of at most one: Kish's number of rows, which knows no unit. Sums of 20 terms.
    expected = weights.sum() ** 2 / np.square(weights).sum()
    assert_allclose(light.count, expected, rtol=64 * EPS)
    assert 1.0 - 64 * EPS <= light.count <= weights.size * (1.0 + 64 * EPS)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20))
def test_the_count_of_whole_weights_is_their_sum(weights):
    moments = moments_of(np.zeros((len(weights), 1)), np.array(weights, dtype=np.float64))
    assert moments.count == sum(weights)
    assert Moments(1).count == 0.0


def test_rows_of_another_width_are_refused_without_a_trace():
    moments = moments_of(np.arange(6.0).reshape(2, 3))
    before = pickle.loads(pickle.dumps(moments))
    with pytest.raises(ValueError, match=r"rows must have 3 columns, got shape \(2, 4\)"):
        moments.update(np.ones((2, 4)))
    assert moments == before


@pytest.mark.parametrize("n_rows", [3, 300])  # formed in float64, and in float32 by panels
@pytest.mark.parametrize("whole", [True, False])
def test_products_are_added_to_the_upper_triangle_wherever_it_lies(n_rows, whole, monkeypatch):
    monkeypatch.setattr("streamchi2.statistics.moments._PANEL_COLUMNS", 8)
    monkeypatch.setattr("streamchi2.statistics.moments._STRIP_ROWS", 3)
    rows = np.random.default_rng(0).normal(size=(n_rows, 20)).astype(np.float32)
    room = np.ones((24, 24))
    upper = np.ones((20, 20)) if whole else room[2:22, 4:]
    add_products(upper, rows)
    exact = rows.T.astype(np.float64) @ rows
    # A sum of n products of float32 errs by n eps of the sum of their sizes.
    size = np.abs(rows.T).astype(np.float64) @ np.abs(rows)
    error = np.abs(np.triu(upper - 1.0 - exact))
    assert (error <= n_rows * np.finfo(np.float32).eps * size).all()
    assert_array_equal(np.tril(upper, -1), np.tril(np.ones((20, 20)), -1))
    assert_array_equal(room[:2], 1.0)
