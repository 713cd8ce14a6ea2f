"""Lasso and elastic net: scikit-learn on the rows, optimality conditions, closed forms, choice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import linear_model
from solvers.regressions import drawn, model_of, moments_of

from streamchi2.solvers.lasso import ElasticNet
from streamchi2.solvers.left_out import SampledRows


def chosen_elastic_net(moments, rows, targets, weights, l1_ratio=1.0):
    sample = SampledRows.of(moments, rows, targets, weights)
    alpha = ElasticNet(moments, l1_ratio).chosen(sample)
    return alpha, elastic_net(moments, alpha, l1_ratio)


def elastic_net(moments, alpha, l1_ratio=1.0):
    return model_of(moments, ElasticNet(moments, l1_ratio).coef(alpha))


def missed(moments, coef, alpha, l1_ratio):
    """By how much the optimality conditions are missed, of the largest cross scatter."""
    absolutes, squares = moments.weight * alpha * np.array([l1_ratio, 1.0 - l1_ratio])
    slope = moments.cross - moments.scatter @ coef - squares * coef
    at_zero = np.maximum(np.abs(slope) - absolutes, 0.0)
    elsewhere = np.abs(slope - absolutes * np.sign(coef))
    return np.where(coef == 0.0, at_zero, elsewhere).max() / np.abs(moments.cross).max()


@given(st.integers(0, 10_000), st.sampled_from([0.01, 0.1, 1.0]), st.sampled_from([0.3, 1.0]))
@settings(max_examples=25, deadline=None)
def test_elastic_net_equals_scikit_learn_on_weighted_rows(seed, alpha, l1_ratio):
    rows, targets = drawn(seed, 80, 8, share=0.4)
    weights = np.random.default_rng(seed).random(len(rows))
    model = elastic_net(moments_of(rows, targets, weights), alpha, l1_ratio)
    oracle = linear_model.ElasticNet(alpha=alpha, l1_ratio=l1_ratio, tol=1e-13, max_iter=10**6)
    oracle.fit(rows, targets, sample_weight=weights)
    # Its duality gap of 1e-13 leaves the square root of that of the predictions.
    size = np.abs(targets).max()
    assert_allclose(model.scores(rows), oracle.predict(rows), atol=1e-6 * size)


@given(st.integers(0, 10_000), st.floats(1e-4, 10.0), st.floats(0.05, 1.0))
@settings(max_examples=40, deadline=None)
def test_the_optimality_conditions_hold(seed, alpha, l1_ratio):
    moments = moments_of(*drawn(seed, 80, 8, share=0.4))
    assert missed(moments, elastic_net(moments, alpha, l1_ratio).coef, alpha, l1_ratio) <= 1e-9


@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_more_features_than_rows_are_no_obstacle(l1_ratio, dtype):
    rows, targets = drawn(9, 300, 512, share=0.4)
    rows = (rows / 20.0).astype(dtype)
    moments = moments_of(rows, targets)
    strongest = np.abs(moments.cross).max() / moments.weight
    coef = elastic_net(moments, 0.01 * strongest, l1_ratio).coef
    # Products in float32 leave eigenvalues of -1e-8 of the trace: the diagonal is raised by that.
    rounding = 1e-5 if dtype == np.float32 else 1e-9
    assert missed(moments, coef, 0.01 * strongest, l1_ratio) <= rounding
    assert (np.count_nonzero(coef, axis=0) <= 300).all() or l1_ratio < 1.0


@pytest.mark.parametrize("alpha", [1e-9, 1e-3])
def test_equal_features_come_to_an_end(alpha):
    rng = np.random.default_rng(9)
    rows = np.repeat(rng.random((12, 1)), 15, axis=1)
    targets = 2.0 * rows[:, :1] + 0.01 * rng.normal(size=(12, 1))
    moments = moments_of(rows, targets)
    assert missed(moments, elastic_net(moments, alpha).coef, alpha, 1.0) <= 1e-9


@pytest.mark.parametrize("value", [0.1, -3.3e7, 1e-9])
@pytest.mark.parametrize("shape", [(10, 10), (20, 40), (2048, 5)])
def test_constant_targets_have_the_constant_model(shape, value):
    rows = np.random.default_rng(1).random(shape)
    targets = np.full((shape[0], 2), value)
    moments = moments_of(rows, targets)
    for model in (
        chosen_elastic_net(moments, rows, targets, np.ones(len(rows)))[1],
        elastic_net(moments, 1e-40),
    ):
        assert_array_equal(model.coef, 0.0)
        assert_allclose(model.intercept, value, rtol=shape[0] * np.finfo(float).eps)


def refitted_error(rows, targets, counts, alpha, l1_ratio):
    """Left-out errors with the same active columns and signs, by refitting without each row."""
    moments = moments_of(rows, targets, counts)
    coef = elastic_net(moments, alpha, l1_ratio).coef
    total = 0.0
    for output in range(targets.shape[1]):
        active = np.flatnonzero(coef[:, output])
        signs = np.sign(coef[active, output])
        for left_out in range(len(rows)):
            others = np.delete(np.arange(len(rows)), left_out)
            rest = moments_of(rows[others], targets[others], counts[others])
            scatter = rest.scatter[np.ix_(active, active)]
            scatter = scatter + moments.weight * alpha * (1 - l1_ratio) * np.eye(active.size)
            slope = rest.cross[active, output] - moments.weight * alpha * l1_ratio * signs
            deviation = rows[left_out, active] - rest.mean[active]
            predicted = rest.target_mean[output] + deviation @ np.linalg.solve(scatter, slope)
            error = targets[left_out, output] - predicted
            total += counts[left_out] * error**2 / moments.target_scatter[output]
    return total


@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_the_choice_has_the_least_error_when_rows_are_left_out_with_their_copies(l1_ratio):
    rows, targets = drawn(5, 30, 8, noise=5.0, share=0.4)
    counts = np.random.default_rng(5).integers(1, 4, len(rows)).astype(float)
    moments = moments_of(rows, targets, counts)
    alpha, _ = chosen_elastic_net(moments, rows, targets, counts, l1_ratio)
    strongest = np.abs(moments.cross).max() / (moments.weight * l1_ratio)
    alphas = 2.0 ** (np.ceil(np.log2(strongest)) - np.arange(16))
    errors = [refitted_error(rows, targets, counts, alpha, l1_ratio) for alpha in alphas]
    assert alpha == alphas[np.argmin(errors)]


def test_a_loud_output_of_noise_does_not_decide_for_the_others():
    rows, targets = drawn(6, 80, 8, 3, noise=5.0, share=0.4)
    loud = targets.copy()
    loud[:, 2] = 1e6 * np.random.default_rng(0).normal(size=len(rows))
    plain, both = (
        chosen_elastic_net(moments_of(rows, some), rows, some, np.ones(len(rows)))
        for some in (targets[:, :2], loud)
    )
    # The penalty is one for all, and noise asks for a stronger one; the others keep their fit.
    assert plain[0] <= both[0] <= 2.0 * plain[0]
    assert both[1].coef[:, :2].any(axis=0).all()
