"""The dual form against moments, brute force and itself grown in portions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamchi2.solvers.dual_ridge import DualRidge, GramMatrix
from streamchi2.solvers.ridge import ridge
from streamchi2.statistics.target_moments import TargetMoments

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.standard_normal((40, 60)) / np.sqrt(1.0 + np.arange(60)) + 0.3
TARGETS = np.column_stack([np.sin(3 * ROWS[:, 0]), ROWS[:, 1] + 0.1 * RANDOM.random(40)])
WEIGHTS = RANDOM.uniform(0.2, 3.0, 40)
UNIT = np.ones(40)


def dual_of(rows, weights):
    shifted, gram = GramMatrix().of([rows])
    return DualRidge(shifted, gram, weights, rows[0])


@pytest.mark.parametrize("weights", [UNIT, WEIGHTS])
@pytest.mark.parametrize("alpha", [1e-6, 0.01, 10.0])
def test_the_dual_model_is_that_of_the_moments(weights, alpha):
    dual = dual_of(ROWS, weights).solve(TARGETS, alpha)
    moments = TargetMoments(60, 2).update(ROWS, TARGETS, weights=weights).summary()
    primal = ridge(moments, alpha)
    np.testing.assert_allclose(dual.coef, primal.coef, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(dual.intercept, primal.intercept, rtol=1e-6, atol=1e-8)


@given(st.lists(st.integers(1, 299), max_size=6), st.lists(st.integers(1, 300), max_size=4))
def test_a_gram_matrix_grown_in_portions_has_the_bits_of_one_made_at_once(edges, asked):
    rows = np.random.default_rng(1).standard_normal((300, 5)).astype(np.float32)
    blocks = np.split(rows, sorted(set(edges)))
    grown = GramMatrix()
    for n_rows in sorted(asked):  # blocks that are complete by then, and the part of the next
        cut = [block for block in np.split(rows[:n_rows], sorted(set(edges))) if len(block)]
        grown.of(cut)
    for found, expected in zip(grown.of(blocks), GramMatrix().of(blocks), strict=True):
        np.testing.assert_array_equal(np.tril(found), np.tril(expected))
    deviations = rows.astype(np.float64) - rows[0]
    _, gram = grown.of(blocks)
    # Sums of five products of numbers below ten.
    np.testing.assert_allclose(np.tril(gram), np.tril(deviations @ deviations.T), atol=1e-12)


def test_rows_under_another_map_are_worked_out_afresh():
    gram = GramMatrix()
    gram.of([ROWS], token="first")
    shifted, products = gram.of([2.0 * ROWS], token="second")
    expected = GramMatrix().of([2.0 * ROWS])
    np.testing.assert_array_equal(shifted, expected[0])
    np.testing.assert_array_equal(products, expected[1])


def test_some_of_the_rows_give_the_model_of_these_rows():
    chosen = np.arange(40) % 3 > 0
    part = dual_of(ROWS, WEIGHTS).only(chosen).solve(TARGETS[chosen], 0.1)
    alone = dual_of(ROWS[chosen], WEIGHTS[chosen]).solve(TARGETS[chosen], 0.1)
    np.testing.assert_allclose(part.coef, alone.coef, atol=1e-10)
    np.testing.assert_allclose(part.intercept, alone.intercept, atol=1e-10)


def test_lighter_rows_are_a_stronger_penalty():
    faded = dual_of(ROWS, 0.25 * UNIT).solve(TARGETS, 0.1)
    np.testing.assert_allclose(faded.coef, dual_of(ROWS, UNIT).solve(TARGETS, 0.4).coef, atol=1e-10)


def test_left_out_scores_are_those_of_models_without_the_row():
    alpha, left_out = dual_of(ROWS, UNIT).tune(TARGETS, 0.3)
    assert alpha == 0.3
    for row in (0, 17, 39):
        rest = np.delete(np.arange(40), row)
        model = dual_of(ROWS[rest], UNIT[rest]).solve(TARGETS[rest], 0.3)
        np.testing.assert_allclose(left_out[row], model.scores(ROWS[row : row + 1])[0], atol=1e-9)


def test_equal_rows_and_a_vanishing_penalty_still_have_a_model():
    model = dual_of(np.ones((5, 2)), np.ones(5)).solve(np.arange(5.0)[:, None], 1e-30)
    np.testing.assert_allclose(model.scores(np.ones((1, 2))), [[2.0]], atol=1e-6)
