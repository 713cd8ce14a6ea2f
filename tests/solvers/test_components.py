"""Leading eigenpairs against numpy: their number, their signs, directions that never varied."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from streamchi2.solvers.components import Components, principal_components
from streamchi2.statistics.moments import Moments

WIDTH = 6
EPS = np.finfo(np.float64).eps


def scatter_of(seed=0, rank=WIDTH):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(60, rank)) @ rng.normal(size=(rank, WIDTH))
    rows -= rows.mean(axis=0)
    return rows.T @ rows


@given(st.integers(0, 10**6), st.integers(1, WIDTH))
def test_pairs_are_the_leading_ones_with_fixed_signs(seed, n):
    scatter = scatter_of(seed)
    pairs = principal_components(scatter, n)
    exact = np.linalg.eigvalsh(scatter)[::-1]
    atol = 64 * EPS * WIDTH * exact[0]
    assert_allclose(pairs.values, exact[:n], atol=atol)
    assert_allclose(scatter @ pairs.vectors, pairs.vectors * pairs.values, atol=atol)
    assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(n), atol=64 * EPS * WIDTH)
    largest = np.abs(pairs.vectors).argmax(axis=0)
    assert (pairs.vectors[largest, np.arange(n)] > 0).all()


@given(st.integers(0, 10**6), st.floats(0.05, 0.99))
def test_a_share_keeps_the_fewest_pairs_that_hold_it(seed, share):
    scatter = scatter_of(seed)
    kept = principal_components(scatter, share).values
    assert kept.sum() >= share * np.trace(scatter) * (1 - 1e-9)
    assert kept[:-1].sum() < share * np.trace(scatter) * (1 + 1e-9)


def test_the_whole_share_keeps_all_that_vary_and_no_number_more_than_features():
    assert principal_components(scatter_of(rank=2), 1.0).values.shape == (2,)
    assert principal_components(scatter_of(), 50).values.shape == (WIDTH,)


@pytest.mark.parametrize("rank", [0, 2])
def test_directions_without_variance_come_out_as_zeros(rank):
    pairs = principal_components(scatter_of(rank=rank))
    lengths = np.linalg.norm(pairs.vectors, axis=0)
    assert_allclose(lengths, np.arange(WIDTH) < rank, atol=1e-12)
    if rank == 0:
        assert_array_equal(principal_components(scatter_of(rank=0), 0.5).vectors, 0.0)


def test_each_descriptor_has_components_of_its_own_side_by_side():
    rows = np.random.default_rng(0).normal(size=(60, WIDTH))
    moments = Moments.empty(np.zeros(WIDTH))
    moments.add(rows, None, np.ones(60))
    components = Components.of(moments, (4, 2), (3, None))
    assert components.groups == (slice(0, 3), slice(3, 5))
    variances = np.concatenate(components.variances)
    assert_allclose(np.var(rows @ components.vectors, axis=0, ddof=1), variances, rtol=1e-9)
    assert not components.vectors[4:, :3].any()
    left = np.trace(np.cov(rows[:, :4].T)) - components.variances[0].sum()
    assert_allclose(components.noise_variances, [left, 0.0], atol=1e-12)
