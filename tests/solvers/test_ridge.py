"""Ridge from moments and in dual form, with and without an intercept, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge
from solvers.regressions import drawn, moments_of, ridge

from streamchi2.solvers.dual import DualFactor

ROWS, TARGETS = drawn(0, n_rows=300, width=40)
WEIGHTS = np.random.default_rng(1).uniform(0.01, 3.0, 300)


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


def test_float32_features_with_an_offset_are_scored_about_their_mean():
    rows, targets = drawn(1)
    rows = (rows + 4096.0).astype(np.float32)
    model = ridge(moments_of(rows.astype(np.float64), targets), 0.1)
    exact = model.scores(rows.astype(np.float64))
    eps = np.finfo(np.float32).eps
    spread = np.abs(rows - rows.mean(axis=0)).max() * np.abs(model.coef).sum(axis=0).max()
    assert_allclose(model.scores(rows), exact, atol=16 * eps * spread + 4096 * 1e-9)


def solved(alpha, weights=WEIGHTS, cuts=()):
    factor = DualFactor(alpha)
    for part in np.split(np.arange(300), cuts):
        factor.add(ROWS[part], weights[part])
    return factor.solve(TARGETS)


@pytest.mark.parametrize("weights", [np.ones(300), WEIGHTS])
@given(
    cuts=st.sets(st.integers(1, 299), max_size=6),
    alpha=st.sampled_from([1e-3, 0.1, 10.0]),
)
def test_the_model_is_that_of_the_moments_however_the_factor_grew(weights, cuts, alpha):
    model = solved(alpha, weights, sorted(cuts))
    expected = ridge(moments_of(ROWS, TARGETS, weights), alpha).scores(ROWS)
    # The Gram matrix has a condition of 1e7 at the least penalty.
    assert_allclose(model.scores(ROWS), expected, atol=1e-5)


def test_rows_that_have_faded_to_nothing_do_not_count():
    weights = np.append(np.full(100, 1e-310), WEIGHTS[100:])
    expected = ridge(moments_of(ROWS[100:], TARGETS[100:], WEIGHTS[100:]), 0.1).scores(ROWS)
    assert_allclose(solved(0.1, weights).scores(ROWS), expected, atol=1e-6)


def test_a_penalty_below_the_rounding_errors_has_no_factor():
    factor = DualFactor(0.0)
    factor.add(np.repeat(ROWS[:3], 2, axis=0), np.ones(6))
    assert not factor.is_definite
    factor.add(ROWS, WEIGHTS)  # no error: the model comes from moments
    assert not factor.is_definite


def test_offsets_cost_the_dual_form_no_accuracy():
    factor = DualFactor(0.1)
    factor.add((ROWS + 1e4).astype(np.float32), np.ones(300))
    moved = (ROWS + 1e4).astype(np.float32).astype(np.float64)
    expected = ridge(moments_of(moved, TARGETS), 0.1).scores(moved)
    assert_allclose(factor.solve(TARGETS).scores(moved), expected, atol=1e-5)
