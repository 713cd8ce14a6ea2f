"""Lasso and elastic net: optimality conditions, scikit-learn, closed forms, GCV."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet

from streamchi2.solvers import coordinate_descent as descent
from streamchi2.solvers.block_vectors import BlockVectors
from streamchi2.solvers.components import leading_eigenpairs
from streamchi2.solvers.coordinate_descent import Penalty, coordinate_descent, violations
from streamchi2.solvers.lasso import elastic_net, elastic_net_by_gcv
from streamchi2.statistics.target_moments import TargetMoments


def drawn(seed, n_rows=80, width=8, n_targets=3, noise=1.0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, width)) @ rng.normal(size=(width, width)) + 3.0
    weights = rng.normal(size=(width, n_targets)) * (rng.random((width, n_targets)) < 0.4)
    return rows, rows @ weights + noise * rng.normal(size=(n_rows, n_targets))


def moments_of(rows, targets, weights=None):
    moments = TargetMoments(rows.shape[1], targets.shape[1])
    return moments.update(rows, targets, weights=weights).summary()


@pytest.mark.parametrize("n_rows", [20, 80])
def test_without_a_penalty_the_answer_is_that_of_least_squares(n_rows):
    """Also with fewer rows than features, where descent did not end in a minute."""
    rows, targets = drawn(0, n_rows=n_rows, width=40)
    found = elastic_net(moments_of(rows, targets), 0.0, 0.5)
    centred = rows - rows.mean(axis=0), targets - targets.mean(axis=0)
    expected = np.linalg.lstsq(*centred, rcond=None)[0]
    assert found.alpha == 0.0
    # Moments square the condition of the rows, which is below 1e4.
    assert_allclose(centred[0] @ found.coef, centred[0] @ expected, atol=1e-6)
    if n_rows > 40:
        assert_allclose(found.coef, expected, rtol=1e-5, atol=1e-6)


@given(st.integers(0, 10_000), st.floats(1e-4, 10.0), st.floats(0.05, 1.0))
@settings(max_examples=40, deadline=None)
def test_the_optimality_conditions_hold(seed, alpha, l1_ratio):
    moments = moments_of(*drawn(seed))
    coef = elastic_net(moments, alpha, l1_ratio).coef
    penalty = Penalty.of(moments.weight, alpha, l1_ratio)
    missed = violations(coef, moments.cross - moments.scatter @ coef, penalty)
    assert missed.max() <= 1e-9 * np.abs(moments.cross).max()


@given(st.integers(0, 10_000), st.sampled_from([0.01, 0.1, 1.0]), st.sampled_from([0.3, 1.0]))
@settings(max_examples=25, deadline=None)
def test_elastic_net_equals_scikit_learn(seed, alpha, l1_ratio):
    rows, targets = drawn(seed)
    model = elastic_net(moments_of(rows, targets), alpha, l1_ratio)
    oracle = ElasticNet(alpha=alpha, l1_ratio=l1_ratio, tol=1e-13, max_iter=10**6)
    oracle.fit(rows, targets)
    assert_allclose(model.scores(rows), oracle.predict(rows), atol=1e-5)

    def objective(coef):
        residuals = targets - targets.mean(axis=0) - (rows - rows.mean(axis=0)) @ coef
        absolutes, squares = np.abs(coef).sum(), (coef**2).sum()
        return (residuals**2).sum() / (2 * len(rows)) + alpha * (
            l1_ratio * absolutes + (1 - l1_ratio) / 2 * squares
        )

    assert objective(model.coef) <= objective(oracle.coef_.T) * (1 + 1e-9)


def test_weights_count_like_repeated_rows():
    rows, targets = drawn(0)
    counts = np.random.default_rng(0).integers(0, 3, len(rows))
    weighted = elastic_net(moments_of(rows, targets, counts.astype(float)), 0.1)
    repeated = elastic_net(
        moments_of(np.repeat(rows, counts, axis=0), np.repeat(targets, counts, axis=0)), 0.1
    )
    assert_allclose(weighted.coef, repeated.coef, atol=1e-7)


@pytest.mark.parametrize("l1_ratio", [0.4, 1.0])
def test_after_pca_the_closed_form_equals_coordinate_descent(l1_ratio):
    moments = moments_of(*drawn(1))
    pairs = leading_eigenpairs(moments.scatter, 4)
    vectors = BlockVectors((pairs.vectors,))
    closed = elastic_net(vectors.moments(moments, pairs.values), 0.3, l1_ratio)
    swept = elastic_net(vectors.moments(moments), 0.3, l1_ratio)
    assert_allclose(closed.coef, swept.coef, atol=1e-7)


def test_a_strong_penalty_leaves_nothing_and_none_leaves_least_squares():
    rows, targets = drawn(2)
    moments = moments_of(rows, targets)
    strongest = np.abs(moments.cross).max() / moments.weight
    assert_array_equal(elastic_net(moments, 1.0001 * strongest).coef, 0.0)
    expected = np.linalg.lstsq(rows - rows.mean(0), targets - targets.mean(0), rcond=None)[0]
    assert_allclose(elastic_net(moments, 0.0).coef, expected, atol=1e-6)


def test_features_that_never_vary_get_no_coefficient():
    rows, targets = drawn(3)
    rows[:, 2] = 7.0
    assert_array_equal(elastic_net(moments_of(rows, targets), 1e-3).coef[2], 0.0)


def test_a_start_at_the_solution_stays_there():
    moments = moments_of(*drawn(4))
    penalty = Penalty.of(moments.weight, 0.1, 1.0)
    once = coordinate_descent(moments.scatter, moments.cross, penalty)
    assert_array_equal(coordinate_descent(moments.scatter, moments.cross, penalty, once), once)


@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
@pytest.mark.parametrize("diagonal", [False, True])
def test_gcv_chooses_the_best_of_its_grid(l1_ratio, diagonal):
    rows, targets = drawn(5, noise=5.0)
    moments = moments_of(rows, targets)
    if diagonal:
        pairs = leading_eigenpairs(moments.scatter, moments.scatter.shape[0])
        moments = BlockVectors((pairs.vectors,)).moments(moments, pairs.values)
        rows = rows @ pairs.vectors
    chosen = elastic_net_by_gcv(moments, l1_ratio)
    n = len(rows)

    def gcv(alpha):
        coef = elastic_net(moments, alpha, l1_ratio).coef
        centred, answers = rows - rows.mean(axis=0), targets - targets.mean(axis=0)
        total = 0.0
        for output in range(targets.shape[1]):
            active = centred[:, coef[:, output] != 0.0]
            raised = active.T @ active + n * alpha * (1 - l1_ratio) * np.eye(active.shape[1])
            df = 1.0 + np.trace(active @ np.linalg.solve(raised, active.T))
            total += n * ((answers - centred @ coef)[:, output] ** 2).sum() / (n - df) ** 2
        return total

    strongest = np.abs(moments.cross).max() / (n * l1_ratio)
    best = min(gcv(alpha) for alpha in strongest * np.logspace(0, -4, 25))
    assert gcv(chosen.alpha) <= best * (1 + 1e-6)


def test_gcv_stays_sensible_without_signal_or_with_one_row():
    rows, targets = drawn(6, n_rows=1)
    for moments in (moments_of(rows, targets), moments_of(rows[[0, 0, 0]], targets[[0, 0, 0]])):
        model = elastic_net_by_gcv(moments)
        assert_array_equal(model.coef, 0.0)
        assert_allclose(model.scores(rows), targets)


@pytest.fixture
def counted_sweeps(monkeypatch):
    """Count the sweeps, and fail instead of hanging."""
    counts = []

    def counted(*arguments, sweep=descent._sweep):
        counts.append(1)
        assert len(counts) <= 25_000, "coordinate descent does not end"
        return sweep(*arguments)

    monkeypatch.setattr(descent, "_sweep", counted)
    return counts


@pytest.mark.parametrize("value", [0.1, -3.3e7, 1e-9])
@pytest.mark.parametrize("shape", [(10, 10), (10, 7), (20, 40), (120, 100), (2048, 5)])
@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_constant_targets_have_the_constant_model_at_once(shape, value, l1_ratio, counted_sweeps):
    rows = np.random.default_rng(1).random(shape)
    targets = np.full((shape[0], 2), value)
    moments = moments_of(rows, targets)
    for model in (
        elastic_net_by_gcv(moments, l1_ratio),
        elastic_net(moments, 0.0, l1_ratio),
        elastic_net(moments, 1e-40, l1_ratio),
    ):
        assert_array_equal(model.coef, 0.0)
        assert_allclose(model.intercept, value, rtol=shape[0] * np.finfo(float).eps)
    assert not counted_sweeps


def test_a_constant_output_does_not_disturb_the_others(counted_sweeps):
    rows, targets = drawn(7)
    alone = elastic_net(moments_of(rows, targets[:, :1]), 0.1).coef
    both = np.column_stack([targets[:, 0], np.full(len(rows), 0.1)])
    coef = elastic_net(moments_of(rows, both), 0.1).coef
    assert_allclose(coef[:, 0], alone[:, 0], atol=1e-7)
    assert_array_equal(coef[:, 1], 0.0)


def test_targets_that_are_orthogonal_to_all_features_have_no_coefficients(counted_sweeps):
    rng = np.random.default_rng(8)
    orthogonal = np.linalg.qr(np.column_stack([np.ones(30), rng.normal(size=(30, 11))]))[0]
    rows = 5.0 + orthogonal[:, 1:11] @ rng.normal(size=(10, 10))
    moments = moments_of(rows, orthogonal[:, 11:])
    for model in (elastic_net_by_gcv(moments), elastic_net(moments, 0.0)):
        assert_array_equal(model.coef, 0.0)
    assert not counted_sweeps


@pytest.mark.parametrize("alpha", [0.0, 1e-9, 1e-3])
def test_equal_features_and_more_features_than_rows_come_to_an_end(alpha, counted_sweeps):
    rng = np.random.default_rng(9)
    line = rng.random((12, 1))
    targets = 2.0 * line + 0.01 * rng.normal(size=(12, 1))
    for rows in (np.repeat(line, 15, axis=1), rng.random((12, 15))):
        moments = moments_of(rows, targets)
        coef = elastic_net(moments, alpha).coef
        penalty = Penalty.of(moments.weight, alpha, 1.0)
        missed = violations(coef, moments.cross - moments.scatter @ coef, penalty).max()
        # Sums of d products of scatter and coefficients round by at most d times their size.
        rounding = 15 * np.finfo(float).eps * moments.scatter.max() * np.abs(coef).sum()
        assert missed <= max(1e-9 * np.abs(moments.cross).max(), rounding)


def test_work_is_bounded_and_a_miss_is_said(monkeypatch, counted_sweeps):
    monkeypatch.setattr(descent, "_MAX_STEPS", 3)
    rows, targets = drawn(10, n_rows=40, width=60)
    moments = moments_of(rows, targets)
    with pytest.warns(ConvergenceWarning, match=r"missed the optimality conditions by .* 3 Newton"):
        elastic_net(moments, 1e-6)
    assert len(counted_sweeps) <= 3 * descent._SWEEPS
    # Rough solutions, which only compare penalties, say nothing.
    penalty = Penalty.of(moments.weight, 1e-6, 1.0)
    coordinate_descent(moments.scatter, moments.cross, penalty, tolerance=1e-5)
