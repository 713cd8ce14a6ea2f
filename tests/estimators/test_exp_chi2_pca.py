"""ExpChi2PCA against scikit-learn's PCA on the same features, and kernel PCA itself."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA, KernelPCA
from sklearn.pipeline import make_pipeline

from streamchi2.estimators.pca import ExpChi2PCA
from streamchi2.estimators.sampler import ExpChi2Sampler
from streamchi2.estimators.streaming_ridge import StreamingRidgeClassifier
from streamchi2.kernels import exp_chi2_kernel

# One map from first to last row: features of a map that is re-estimated are those of their time.
STILL = {"adapt": False, "n_terms": 3, "random_state": 0}


def streamed(model, rows, step=170):
    for start in range(0, len(rows), step):
        model.partial_fit(rows[start : start + step])
    return model


@pytest.mark.parametrize("n_pca", [6, 0.5])
def test_components_equal_those_of_scikit_learn_on_the_same_features(digits, n_pca):
    rows, tolerance = digits[0][:700], 1e-4
    ours = streamed(ExpChi2PCA(128, n_pca=n_pca, **STILL, basis="orthogonal"), rows)
    features = streamed(ExpChi2Sampler(128, **STILL), rows).transform(rows).astype(np.float64)
    theirs = PCA(n_pca, svd_solver="full").fit(features)
    assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=tolerance)
    assert_allclose(
        ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=tolerance
    )
    assert_allclose(ours.mean_, theirs.mean_, atol=tolerance)
    cosines = np.linalg.svd(ours.components_ @ theirs.components_.T, compute_uv=False)
    assert cosines.min() > 1 - tolerance
    signs = np.sign(np.einsum("ij,ij->i", ours.components_, theirs.components_))
    expected = theirs.transform(features) * signs
    assert_allclose(ours.transform(rows), expected, atol=10 * tolerance * np.abs(expected).max())
    assert ours.transform(rows).dtype == np.float32


def test_the_map_is_that_of_a_sampler_with_the_same_seed(digits):
    rows = digits[0][:1200]
    params = {"n_components": 64, "basis": "orthogonal", "random_state": 3}
    pca, sampler = (streamed(kind(**params), rows) for kind in (ExpChi2PCA, ExpChi2Sampler))
    assert_array_equal(pca.k_, sampler.k_)
    assert pca.beta_ == sampler.beta_
    assert pca.transports_ == sampler.transports_
    centred = sampler.transform(rows[:50]) - pca.mean_
    assert_allclose(pca.transform(rows[:50]), centred @ pca.components_.T, atol=1e-6)


def test_variances_approach_those_of_exact_kernel_pca(digits):
    rows = digits[0][:300]
    ours = ExpChi2PCA(2048, n_pca=5, **STILL, basis="orthogonal").fit(rows)
    exact = KernelPCA(5, kernel="precomputed").fit(exp_chi2_kernel(rows, beta=ours.beta_))
    # Random features err by about 1/sqrt(D) = 2 % in each value of the kernel.
    assert_allclose(ours.explained_variance_ * 299, exact.eigenvalues_, rtol=0.05)


def test_components_of_all_features_are_a_rotation(digits):
    rows = digits[0][:200]
    pca = ExpChi2PCA(32, n_pca=None, **STILL, basis="orthogonal").fit(rows)
    assert_allclose(pca.components_ @ pca.components_.T, np.eye(32), atol=1e-10)
    assert_allclose(pca.explained_variance_ratio_.sum(), 1.0, rtol=1e-10)


def test_a_learner_in_a_pipeline_reads_digits_from_few_components(digits):
    rows, labels = digits
    model = make_pipeline(
        ExpChi2PCA(512, n_pca=64, n_terms=3, random_state=0, basis="orthogonal"),
        StreamingRidgeClassifier(1e-2),
    ).fit(rows[:1200], labels[:1200])
    # .94 when written; one standard error on 597 rows is .01.
    assert model.score(rows[1200:], labels[1200:]) > 0.91


@pytest.mark.parametrize("rows", [np.zeros((70, 3)), np.ones((1, 3)), np.full((90, 3), 2.5)])
@pytest.mark.parametrize("n_pca", [2, 0.9, None])
def test_rows_that_do_not_vary_have_components_of_zero(rows, n_pca):
    pca = ExpChi2PCA(16, n_pca=n_pca, n_terms=2, random_state=0, basis="orthogonal").fit(rows)
    assert_allclose(pca.transform(rows), 0.0, atol=1e-6)
    assert_allclose(pca.explained_variance_, 0.0, atol=1e-12)
    assert np.isfinite(pca.explained_variance_ratio_).all()


def test_the_past_fades(digits):
    rows = digits[0][:600]
    fading = ExpChi2PCA(32, n_pca=3, half_life=30.0, **STILL, basis="orthogonal")
    fading.partial_fit(rows[:64]).partial_fit(np.tile(rows[:1], (600, 1)))
    # Twenty half-lives of one and the same row: a millionth of the variance is left.
    steady = ExpChi2PCA(32, n_pca=3, **STILL, basis="orthogonal").fit(rows[:64])
    assert fading.explained_variance_[0] < 1e-3 * steady.explained_variance_[0]
