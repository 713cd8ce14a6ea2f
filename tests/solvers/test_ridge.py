"""Ridge from moments against scikit-learn, with and without an intercept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from solvers.regressions import drawn, in_directions, model_of, moments_of, ridge

from streamchi2.solvers.components import principal_components
from streamchi2.solvers.problem import through_origin


@given(st.integers(0, 10_000), st.floats(1e-6, 1e6), st.booleans())
@settings(max_examples=40)
def test_ridge_equals_scikit_learn(seed, alpha, weighted):
    rows, targets = drawn(seed)
    weights = np.random.default_rng(seed).uniform(0.1, 2.0, len(rows)) if weighted else None
    model = ridge(moments_of(rows, targets, weights), alpha)
    oracle = Ridge(alpha=alpha, solver="cholesky").fit(rows, targets, sample_weight=weights)
    scale = max(1.0, np.abs(oracle.coef_).max())
    assert_allclose(model.coef.T, oracle.coef_, atol=1e-6 * scale)
    assert_allclose(model.scores(rows), oracle.predict(rows), atol=1e-6 * np.abs(targets).max())


@pytest.mark.parametrize("offset", [1e6, -1e6])
def test_offsets_cost_no_accuracy(offset):
    rows, targets = drawn(0)
    moved = ridge(moments_of(rows + offset, targets - offset), 0.1)
    plain = ridge(moments_of(rows, targets), 0.1)
    # Rounding of the moved rows is 1e-10 of their spread; the condition of H + 0.1 is below 1e4.
    assert_allclose(moved.coef, plain.coef, atol=1e-6)
    assert_allclose(moved.scores(rows + offset) + offset, plain.scores(rows), atol=1e-6)


def test_float32_features_with_an_offset_are_scored_about_their_mean():
    rows, targets = drawn(1)
    rows = (rows + 4096.0).astype(np.float32)
    model = ridge(moments_of(rows.astype(np.float64), targets), 0.1)
    exact = model.scores(rows.astype(np.float64))
    eps = np.finfo(np.float32).eps
    spread = np.abs(rows - rows.mean(axis=0)).max() * np.abs(model.coef).sum(axis=0).max()
    assert_allclose(model.scores(rows), exact, atol=16 * eps * spread + 4096 * 1e-9)


@pytest.mark.parametrize("alpha", [0.0, 1e-30])
def test_without_a_penalty_the_solution_of_least_norm_comes_back(alpha):
    rows, targets = drawn(2)
    doubled = np.hstack([rows, rows])
    model = ridge(moments_of(doubled, targets), alpha)
    centred = doubled - doubled.mean(axis=0)
    expected = np.linalg.pinv(centred) @ (targets - targets.mean(axis=0))
    assert_allclose(model.coef, expected, atol=1e-8)


def test_pca_then_ridge_folded_back_equals_explicit_projection():
    rows, targets = drawn(4, width=6)
    moments = moments_of(rows, targets)
    vectors = principal_components(moments.scatter, 3).vectors
    for alpha in (0.0, 2.0):
        expected = ridge(moments_of(rows @ vectors, targets), alpha).scores(rows @ vectors)
        small = ridge(in_directions(moments, vectors), alpha)
        model = model_of(moments, vectors @ small.coef)
        assert_allclose(model.scores(rows), expected, atol=1e-6)


@pytest.mark.parametrize("n_rows", [60, 4])  # 4: fewer than features
@pytest.mark.parametrize("signed", [False, True])
def test_ridge_without_an_intercept_is_that_of_scikit_learn(n_rows, signed):
    rows, targets = drawn(5, n_rows)
    targets = (targets > targets.mean(axis=0)).astype(float) if signed else targets
    weights = np.random.default_rng(5).uniform(0.5, 2.0, n_rows)
    origin = 0.5 if signed else 0.0
    model = ridge(through_origin(moments_of(rows, targets, weights), origin), 0.3)
    oracle = Ridge(0.3, fit_intercept=False)
    oracle.fit(rows, targets - origin, sample_weight=weights)
    assert_allclose(model.coef.T, oracle.coef_, atol=1e-9)
    assert_allclose(model.intercept, origin)


def test_scores_of_a_row_are_those_of_a_batch():
    rows, targets = drawn(6)
    model = ridge(moments_of(rows, targets), 0.1).ordered(np.array([1, 0]))
    assert_allclose([model.scores_of_row(row) for row in rows], model.scores(rows), rtol=1e-12)
    plain = ridge(moments_of(rows, targets[:, ::-1]), 0.1)
    assert_allclose(model.scores(rows), plain.scores(rows), rtol=1e-9)
