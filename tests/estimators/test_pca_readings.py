"""What scikit-learn's PCA tells of its components, told of a stream's."""

from __future__ import annotations

import numpy as np
import pytest
from mapped_models import features_of
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA, IncrementalPCA

from streamchi2 import ExpChi2PCA, StreamingPCA

_rng = np.random.default_rng(0)
ROWS = _rng.normal(size=(150, 6)) * [5.0, 3.0, 2.0, 1.0, 0.5, 0.1] + 10.0
# Eigenvalues of a scatter of condition 2500, twice, in float64.
ROUNDING = {"rtol": 1e-9, "atol": 1e-9}


def streamed(model, rows=ROWS):
    for part in np.array_split(rows, 4):
        model.partial_fit(part)
    return model


@pytest.mark.parametrize("n_rows", [150, 5])  # 5: fewer than columns
@pytest.mark.parametrize("n_components", [2, 4])
def test_readings_are_those_of_scikit_learn(n_rows, n_components):
    rows = ROWS[:n_rows]
    model = streamed(StreamingPCA(n_components), rows)
    peer = PCA(n_components, svd_solver="full").fit(rows)
    for name in ("singular_values_", "explained_variance_", "noise_variance_", "mean_"):
        assert_allclose(getattr(model, name), getattr(peer, name), err_msg=name, **ROUNDING)
    assert_allclose(model.get_covariance(), peer.get_covariance(), **ROUNDING)
    if peer.noise_variance_ > 1e-12:
        assert_allclose(model.get_precision(), peer.get_precision(), rtol=1e-6, atol=1e-7)


def test_all_components_leave_no_noise_and_hold_the_covariance():
    model = streamed(StreamingPCA())
    assert model.noise_variance_ == 0.0
    assert_allclose(model.get_covariance(), np.cov(ROWS.T), **ROUNDING)
    assert_allclose(model.get_precision() @ np.cov(ROWS.T), np.eye(6), atol=1e-8)
    exact = IncrementalPCA().fit(ROWS)  # one batch of all rows
    assert_allclose(model.singular_values_, exact.singular_values_, **ROUNDING)


def test_whitened_components_are_those_of_scikit_learn_and_turn_back():
    model = streamed(StreamingPCA(3, whiten=True))
    peer = PCA(3, whiten=True, svd_solver="full").fit(ROWS)
    ours, theirs = model.transform(ROWS), peer.transform(ROWS)
    assert_allclose(ours, theirs * np.sign((ours * theirs).sum(axis=0)), **ROUNDING)
    assert_allclose(ours.var(axis=0, ddof=1), np.ones(3), **ROUNDING)
    plain = streamed(StreamingPCA(3))
    expected = plain.inverse_transform(plain.transform(ROWS))
    assert_allclose(model.inverse_transform(ours), expected, **ROUNDING)
    constant = StreamingPCA(1, whiten=True).fit(np.ones((5, 2)))
    assert np.isfinite(constant.transform(np.ones((2, 2)))).all()


def test_features_of_a_map_have_the_same_readings():
    rows = np.abs(ROWS)
    model = streamed(ExpChi2PCA(16, n_pca=4, random_state=0), rows)
    features = features_of(model, rows)
    peer = PCA(4, svd_solver="full").fit(features)
    # The map is planned on some rows and learnt from all of them, without transport here.
    for name in ("singular_values_", "noise_variance_", "explained_variance_"):
        assert_allclose(getattr(model, name), getattr(peer, name), rtol=1e-6, err_msg=name)
    each = ExpChi2PCA(16, n_pca=4, descriptors={"a": [0, 1], "b": [2, 3]}).fit(rows)
    assert each.noise_variance_.keys() == each.singular_values_.keys() == {"a", "b"}


@pytest.mark.parametrize("n_pca", [16, 99])
def test_no_more_components_than_features(n_pca):
    rows = np.abs(ROWS)
    assert ExpChi2PCA(16, n_pca=n_pca).fit(rows).transform(rows).shape == (150, 16)
