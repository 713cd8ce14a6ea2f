"""Ridge from moments against scikit-learn, and its penalty against the hat matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import Ridge

from streamchi2.solvers.block_vectors import BlockVectors
from streamchi2.solvers.components import leading_eigenpairs
from streamchi2.solvers.least_squares import least_squares
from streamchi2.solvers.linear_model import linear_model
from streamchi2.solvers.penalty import TIE
from streamchi2.solvers.ridge import ridge, tuned_ridge
from streamchi2.statistics.target_moments import TargetMoments


def drawn(seed, n_rows=60, width=5, n_targets=2, noise=1.0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, width)) @ rng.normal(size=(width, width)) + 3.0
    targets = rows @ rng.normal(size=(width, n_targets)) + noise * rng.normal(
        size=(n_rows, n_targets)
    )
    return rows, targets


def moments_of(rows, targets, weights=None):
    moments = TargetMoments(rows.shape[1], targets.shape[1])
    return moments.update(rows, targets, weights=weights).summary()


def gcv_by_hat_matrix(rows, targets, alpha):
    """The definition: residuals and trace of the smoother, intercept included."""
    n = len(rows)
    centred, answers = rows - rows.mean(axis=0), targets - targets.mean(axis=0)
    inner = np.linalg.inv(centred.T @ centred + alpha * np.eye(rows.shape[1]))
    hat = centred @ inner @ centred.T
    return n * ((answers - hat @ answers) ** 2).sum() / (n - 1.0 - np.trace(hat)) ** 2


def reml_by_singular_values(rows, targets, alpha):
    """The definition, per degree of freedom: least objective, and determinants."""
    centred, answers = rows - rows.mean(axis=0), targets - targets.mean(axis=0)
    vectors, roots, _ = np.linalg.svd(centred, full_matrices=False)
    fitted = np.square(vectors.T @ answers).sum(axis=1)
    objective = np.square(answers).sum() - roots**2 / (roots**2 + alpha) @ fitted
    return np.log(objective) + np.log1p(roots**2 / alpha).sum() / (len(rows) - 1.0)


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


@given(st.integers(0, 10_000), st.sampled_from([0.1, 3.0, 30.0]), st.sampled_from([1, 2, 6]))
@settings(max_examples=30, deadline=None)
def test_the_penalty_is_the_least_of_cross_validation_that_likelihood_allows(seed, noise, width):
    rows, targets = drawn(seed, width=width, noise=noise)
    model = tuned_ridge(moments_of(rows, targets))
    largest = np.linalg.norm(rows - rows.mean(axis=0), 2) ** 2
    grid = largest * np.logspace(-8, 3, 45)
    likelihoods = np.array([reml_by_singular_values(rows, targets, alpha) for alpha in grid])
    # What counts as equal: scores whose logarithms differ by less, the largest penalty of them.
    surely, perhaps = (
        grid[likelihoods <= likelihoods.min() + TIE * (1 + rounding)][-1]
        for rounding in (-1e-3, 1e-3)
    )
    assert model.alpha >= surely * (1 - 1e-9)
    found = gcv_by_hat_matrix(rows, targets, model.alpha)
    allowed = np.exp(TIE) * (1 + 1e-6)  # and the rounding of the hat matrix
    least = min(gcv_by_hat_matrix(rows, targets, alpha) for alpha in grid[grid >= perhaps])
    assert found <= least * allowed
    assert_allclose(model.coef, ridge(moments_of(rows, targets), model.alpha).coef, atol=1e-8)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 5, 8])
def test_the_choice_stays_sensible_with_fewer_rows_than_features(n_rows):
    rows, targets = drawn(3, n_rows=n_rows, width=8)
    model = tuned_ridge(moments_of(rows, targets))
    assert np.isfinite(model.coef).all()
    assert model.alpha > 0.0
    inside = np.abs(model.scores(rows) - targets.mean(axis=0))
    assert inside.max() <= 2.0 * np.abs(targets - targets.mean(axis=0)).max() + 1e-9


def test_pca_then_ridge_folded_back_equals_explicit_projection():
    rows, targets = drawn(4, width=6)
    moments = moments_of(rows, targets)
    pairs = leading_eigenpairs(moments.scatter, 3)
    vectors = BlockVectors((pairs.vectors,))
    reduced = moments_of(rows @ pairs.vectors, targets)
    for alpha in (0.0, 2.0, "auto"):
        explicit = least_squares(reduced, alpha=alpha)
        expected = explicit.scores(rows @ pairs.vectors)
        for values in (None, pairs.values):
            small = least_squares(vectors.moments(moments, values), alpha=alpha)
            model = linear_model(moments, vectors.expanded(small.coef), small.alpha)
            assert_allclose(model.scores(rows), expected, atol=1e-6)


def test_an_unknown_penalty_is_refused():
    with pytest.raises(ValueError, match="penalty must be one of 'ridge', 'lasso'"):
        least_squares(moments_of(*drawn(0)), penalty="bridge")


def test_a_perfect_fit_does_not_drive_the_penalty_into_the_rounding_errors():
    rng = np.random.default_rng(0)
    rows, targets = rng.normal(size=(12, 40)), rng.normal(size=(12, 1))
    twice = TargetMoments(40, 1).update(np.repeat(rows, 2, axis=0), np.repeat(targets, 2, axis=0))
    found = tuned_ridge(twice.summary())
    largest = np.linalg.eigvalsh(twice.summary().scatter)[-1]
    # Residuals fall with the square of alpha; five digits of a fit ask for about 1e-5 of H.
    assert 1e-7 * largest < found.alpha < 1e-4 * largest
    assert_allclose(found.scores(rows), targets, atol=1e-4)
