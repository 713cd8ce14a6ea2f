"""Principal components from moments against numpy, and the number that is kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from streamchi2.solvers.principal import check_n_pca, principal_components
from streamchi2.statistics.moments import Moments

WIDTH = 6


def moments_of(seed=0, n_rows=60, rank=WIDTH):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, rank)) @ rng.normal(size=(rank, WIDTH)) + 3.0
    return Moments(WIDTH).update(rows)


@given(st.integers(0, 10**6), st.integers(1, WIDTH))
def test_pairs_are_the_leading_ones_of_the_scatter(seed, n_kept):
    moments = moments_of(seed)
    pairs = principal_components(moments, n_kept)
    exact = np.linalg.eigvalsh(moments.scatter())[::-1]
    rounding = 100 * np.finfo(float).eps * exact[0]
    assert_allclose(pairs.values, exact[:n_kept], atol=rounding)
    images = moments.scatter() @ pairs.vectors
    assert_allclose(images, pairs.vectors * pairs.values, atol=10 * rounding)


@given(st.integers(0, 10**6), st.floats(0.05, 0.99))
def test_a_share_keeps_the_fewest_pairs_that_hold_it(seed, share):
    moments = moments_of(seed)
    kept = principal_components(moments, share).values
    total = np.trace(moments.scatter())
    assert kept.sum() >= share * total * (1 - 1e-9)
    assert kept[:-1].sum() < share * total * (1 + 1e-9)


def test_no_more_pairs_than_features_come_out():
    assert principal_components(moments_of(), 50).values.shape == (WIDTH,)


def test_directions_without_variance_come_out_as_zeros():
    pairs = principal_components(moments_of(rank=2), WIDTH)
    lengths = np.linalg.norm(pairs.vectors, axis=0)
    assert_allclose(lengths, [1, 1, 0, 0, 0, 0], atol=1e-12)


@pytest.mark.parametrize("n_pca", [2, 0.5])
def test_features_that_never_varied_have_no_components(n_pca):
    pairs = principal_components(Moments(WIDTH).update(np.ones((5, WIDTH))), n_pca)
    assert not pairs.values.any()
    assert not pairs.vectors.any()


@pytest.mark.parametrize("n_pca", [None, 1, 300, np.int64(3), 0.5, np.float32(0.25)])
def test_numbers_and_shares_are_welcome(n_pca):
    check_n_pca(n_pca)


@pytest.mark.parametrize("n_pca", [0, -3, 0.0, 1.0, 1.5, -0.5, True, "all", float("nan"), [3]])
def test_anything_else_is_refused_by_name(n_pca):
    with pytest.raises((TypeError, ValueError), match="n_pca must be"):
        check_n_pca(n_pca)
