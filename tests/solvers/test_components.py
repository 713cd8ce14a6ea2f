"""Leading eigenpairs against numpy: their number, their signs, directions that never varied."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from streamchi2.solvers.components import check_n_pca, leading_eigenpairs, principal_components

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
    pairs = leading_eigenpairs(scatter, n)
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


def test_the_whole_share_keeps_all_that_vary():
    assert leading_eigenpairs(scatter_of(rank=2), 1.0).values.shape == (2,)


def test_no_more_components_than_features_come_out():
    assert principal_components(scatter_of(), 50).values.shape == (WIDTH,)


@pytest.mark.parametrize("rank", [0, 2])
def test_directions_without_variance_come_out_as_zeros(rank):
    pairs = principal_components(scatter_of(rank=rank), WIDTH)
    lengths = np.linalg.norm(pairs.vectors, axis=0)
    assert_allclose(lengths, np.arange(WIDTH) < rank, atol=1e-12)
    if rank == 0:
        assert_array_equal(principal_components(scatter_of(rank=0), 0.5).vectors, 0.0)


@pytest.mark.parametrize(
    ("n", "message"),
    [(0, "n must be at least 1, got 0"), (7, "n must be at most the width 6, got 7")],
)
def test_impossible_numbers_of_pairs_are_refused(n, message):
    with pytest.raises(ValueError, match=message):
        leading_eigenpairs(scatter_of(), n)


@pytest.mark.parametrize("n_pca", [None, 1, 300, np.int64(3), 0.5, np.float32(0.25)])
def test_numbers_and_shares_are_welcome(n_pca):
    check_n_pca(n_pca)


@pytest.mark.parametrize("n_pca", [0, -3, 0.0, 1.0, 1.5, -0.5, True, "all", float("nan"), [3]])
def test_anything_else_is_refused_by_name(n_pca):
    with pytest.raises((TypeError, ValueError), match="n_pca must be"):
        check_n_pca(n_pca)
