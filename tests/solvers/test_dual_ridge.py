"""The dual form against moments, brute force and itself grown in portions."""

import numpy as np
import pytest

from streamchi2.solvers.dual_ridge import DualRidge
from streamchi2.solvers.ridge import ridge, tuned_ridge
from streamchi2.statistics.target_moments import TargetMoments

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.standard_normal((40, 60)) / np.sqrt(1.0 + np.arange(60)) + 0.3
TARGETS = np.column_stack([np.sin(3 * ROWS[:, 0]), ROWS[:, 1] + 0.1 * RANDOM.random(40)])
WEIGHTS = RANDOM.uniform(0.2, 3.0, 40)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("alpha", [1e-6, 0.01, 10.0])
def test_the_dual_model_is_that_of_the_moments(weights, alpha):
    dual = DualRidge(60).append(ROWS, weights).solve(TARGETS, alpha)
    moments = TargetMoments(60, 2).update(ROWS, TARGETS, weights=weights).summary()
    primal = ridge(moments, alpha)
    np.testing.assert_allclose(dual.coef, primal.coef, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(dual.intercept, primal.intercept, rtol=1e-6, atol=1e-8)


def test_growing_in_portions_gives_the_model_of_one_go():
    grown = DualRidge(60)
    for start, stop in ((0, 1), (1, 9), (9, 10), (10, 33), (33, 40)):
        grown.append(ROWS[start:stop], WEIGHTS[start:stop])
        model = grown.solve(TARGETS[:stop], 0.1)
    at_once = DualRidge(60).append(ROWS, WEIGHTS).solve(TARGETS, 0.1)
    np.testing.assert_allclose(model.coef, at_once.coef, atol=1e-12)
    other = grown.solve(TARGETS, 5.0)  # another penalty begins afresh
    fresh = DualRidge(60).append(ROWS, WEIGHTS).solve(TARGETS, 5.0)
    np.testing.assert_allclose(other.coef, fresh.coef, atol=1e-12)


def test_fading_all_rows_is_raising_the_penalty():
    faded = DualRidge(60).append(ROWS, None).fade(0.25).solve(TARGETS, 0.1)
    np.testing.assert_allclose(
        faded.coef, DualRidge(60).append(ROWS, None).solve(TARGETS, 0.4).coef, atol=1e-10
    )


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_the_audit_chooses_the_penalty_of_the_moments(weights):
    moments = TargetMoments(60, 2).update(ROWS, TARGETS, weights=weights).summary()
    for criterion in ("gcv", "reml"):
        alpha, _ = DualRidge(60).append(ROWS, weights).audit(TARGETS, None, criterion)
        assert alpha == pytest.approx(tuned_ridge(moments, criterion).alpha, rel=1e-6)


def test_left_out_scores_are_those_of_models_without_the_row():
    alpha, left_out = DualRidge(60).append(ROWS, None).audit(TARGETS, 0.3)
    assert alpha == 0.3
    for row in (0, 17, 39):
        rest = np.delete(np.arange(40), row)
        model = DualRidge(60).append(ROWS[rest], None).solve(TARGETS[rest], 0.3)
        np.testing.assert_allclose(left_out[row], model.scores(ROWS[row : row + 1])[0], atol=1e-9)


def test_equal_rows_and_a_vanishing_penalty_still_have_a_model():
    dual = DualRidge(2).append(np.ones((5, 2)), None)
    model = dual.solve(np.arange(5.0)[:, None], 1e-30)
    np.testing.assert_allclose(model.scores(np.ones((1, 2))), [[2.0]], atol=1e-6)
