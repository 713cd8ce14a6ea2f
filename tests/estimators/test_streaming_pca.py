"""StreamingPCA against scikit-learn's PCA, and what is particular to it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA

from streamchi2.estimators.streaming_pca import StreamingPCA


def drawn(n_rows=1500, width=20, offset=3.0, seed=0):
    rng = np.random.default_rng(seed)
    scales = 0.8 ** np.arange(width)
    turn, _ = np.linalg.qr(rng.normal(size=(width, width)))
    return (rng.normal(size=(n_rows, width)) * scales) @ turn + offset


def streamed(model, rows, step=170):
    for start in range(0, len(rows), step):
        model.partial_fit(rows[start : start + step])
    return model


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-5), (np.float32, 1e-3)])
@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_variances_and_subspace_equal_those_of_scikit_learn(dtype, tolerance, offset):
    rows = drawn(offset=offset).astype(dtype)
    ours = streamed(StreamingPCA(n_components=6), rows)
    theirs = PCA(n_components=6, svd_solver="full").fit(rows.astype(np.float64))
    assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=tolerance)
    assert_allclose(
        ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=tolerance
    )
    assert_allclose(ours.mean_, theirs.mean_, rtol=tolerance, atol=tolerance)
    cosines = np.linalg.svd(ours.components_ @ theirs.components_.T, compute_uv=False)
    assert cosines.min() > 1 - tolerance
    signs = np.sign(np.einsum("ij,ij->i", ours.components_, theirs.components_))
    gap = 50 * tolerance  # a vector turns by its error over the relative gap, here above 1/5
    assert_allclose(ours.transform(rows), theirs.transform(rows) * signs, atol=gap)
    assert ours.transform(rows).dtype == dtype


def test_float32_rows_far_from_zero_are_projected_about_their_mean():
    rows = (drawn(offset=0.0) + 2048.0).astype(np.float32)
    model = streamed(StreamingPCA(n_components=4), rows)
    exact = (rows.astype(np.float64) - model.mean_) @ model.components_.T
    assert_allclose(model.transform(rows), exact, atol=1e-5)


def test_a_share_of_variance_keeps_the_fewest_sufficient_components():
    rows = drawn()
    for share in (0.3, 0.8, 0.999):
        ours = streamed(StreamingPCA(n_components=share), rows)
        assert (
            ours.n_components_ == PCA(n_components=share, svd_solver="full").fit(rows).n_components_
        )
        assert ours.explained_variance_ratio_.sum() >= share
        assert ours.explained_variance_ratio_[:-1].sum() < share


def test_none_keeps_every_direction_in_which_rows_vary():
    rows = drawn(width=6)
    rows[:, 2] = rows[:, 0] + rows[:, 1]
    model = streamed(StreamingPCA(), rows)
    assert model.n_components_ == 5
    assert_allclose(model.inverse_transform(model.transform(rows)), rows, atol=1e-10)
    assert StreamingPCA().fit(np.ones((3, 4))).transform(np.ones((2, 4))).shape == (2, 1)


def test_a_half_life_follows_what_changes():
    before, after = drawn(seed=1) * 3.0, drawn(seed=2)
    model = streamed(streamed(StreamingPCA(n_components=3, half_life=100.0), before), after)
    weights = np.exp2(-np.arange(3000)[::-1] / 100.0)
    oracle = StreamingPCA(n_components=3).fit(np.vstack([before, after]), sample_weight=weights)
    assert_allclose(model.explained_variance_, oracle.explained_variance_, rtol=1e-9)
    assert_allclose(model.mean_, oracle.mean_, atol=1e-9)


@pytest.mark.parametrize("n_components", [0, -1, 1.5, 0.0, "all", True, 21])
def test_impossible_numbers_of_components_are_refused(n_components):
    with pytest.raises((ValueError, TypeError), match="n_components must"):
        StreamingPCA(n_components).fit(drawn())


def test_scores_of_another_width_cannot_be_inverted():
    with pytest.raises(ValueError, match="X must have 3 columns, one a component"):
        StreamingPCA(3).fit(drawn()).inverse_transform(np.ones((2, 4)))


@pytest.mark.parametrize("seed", range(10))
def test_rows_that_sum_to_one_have_a_component_less_than_columns(seed):
    rows = np.random.default_rng(seed).dirichlet(np.ones(6), 200)
    weights = np.arange(200) % 4
    assert StreamingPCA().fit(rows, sample_weight=weights).n_components_ == 5
    assert StreamingPCA().fit(np.repeat(rows, weights, axis=0)).n_components_ == 5
