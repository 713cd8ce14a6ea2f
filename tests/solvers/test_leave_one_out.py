"""Ridge regression that grows row by row: the same model, whenever it was asked for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from streamchi2.solvers.dual_ridge import DualRidge, GramMatrix
from streamchi2.solvers.gram_spectrum import GramSpectrum
from streamchi2.solvers.leave_one_out import DualRows, GrowingRidge, local_minimum
from streamchi2.solvers.penalty import Path, least, penalties, reml

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(600, 40)) / np.sqrt(1.0 + np.arange(40))
TARGETS = np.column_stack([ROWS[:, 0] + RANDOM.normal(size=600), np.tanh(3 * ROWS[:, 1])])
WEIGHTS = {
    "one": np.ones(600),
    "integers": RANDOM.integers(1, 4, 600).astype(np.float64),
    "light": RANDOM.uniform(0.1, 0.9, 600),
}


def asked(cache, ridge, n_rows, weights, alpha="auto", n_features=600):
    """Return the model of the first rows, from caches that may know some of them."""
    _, gram = cache.of([ROWS[:n_rows]])
    own, places = weights[:n_rows], np.arange(n_rows)
    rows = DualRows(gram, own, TARGETS[:n_rows], cache.n_final, places, own, n_features)
    search = ridge.at(rows)
    found = search.chosen() if alpha == "auto" else search.fit(alpha)
    ridge.keep(search)
    return found


def fresh(n_rows, weights, alpha="auto", n_features=600):
    return asked(GramMatrix(), GrowingRidge(), n_rows, weights, alpha, n_features)


def assert_same_bits(left, right):
    assert left.alpha == right.alpha
    for name in ("dual", "intercept", "left_out"):
        assert_array_equal(getattr(left, name), getattr(right, name))


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("n_rows", [2, 63, 64, 200, 300])
def test_model_and_left_out_scores_are_those_of_one_decomposition(kind, n_rows):
    weights, alpha = WEIGHTS[kind][:n_rows], 0.3
    found = fresh(n_rows, WEIGHTS[kind], alpha)
    shifted, gram = GramMatrix().of([ROWS[:n_rows]])
    direct = DualRidge(shifted, gram, weights, ROWS[0])
    known, left_out = direct.tune(TARGETS[:n_rows], alpha)
    model, expected = direct.model(found), direct.solve(TARGETS[:n_rows], alpha)
    # Two ways to solve equations of this condition, with some n operations a number.
    condition = 1.0 + float(weights @ gram.diagonal()) / alpha
    rounding = 64 * n_rows * np.finfo(np.float64).eps * condition
    assert known == found.alpha
    assert_allclose(model.scores(ROWS), expected.scores(ROWS), atol=rounding, rtol=0)
    # Light rows are divided by how much others say about them.
    assert_allclose(found.left_out, left_out, atol=100 * rounding, rtol=0)


@settings(max_examples=10)  # each solves some ten equations
@given(st.lists(st.integers(1, 600), max_size=4), st.integers(130, 600))
def test_the_answer_does_not_depend_on_earlier_calls(earlier, n_rows):
    cache, ridge = GramMatrix(), GrowingRidge()
    for n_before in sorted(earlier):
        asked(cache, ridge, min(n_before, n_rows), WEIGHTS["one"])
    assert_same_bits(asked(cache, ridge, n_rows, WEIGHTS["one"]), fresh(n_rows, WEIGHTS["one"]))


def test_other_weights_are_other_rows():
    cache, ridge = GramMatrix(), GrowingRidge()
    asked(cache, ridge, 300, WEIGHTS["one"])
    for kind in ("integers", "light", "one"):
        assert_same_bits(asked(cache, ridge, 400, WEIGHTS[kind]), fresh(400, WEIGHTS[kind]))


def test_some_of_the_rows_are_other_rows():
    _, gram = GramMatrix().of([ROWS[:300]])
    ridge, ones = GrowingRidge(), np.ones(150)
    for places in (np.arange(150), np.arange(0, 300, 2)):
        part = np.tril(gram)[np.ix_(places, places)]
        some = DualRows(part, ones, TARGETS[places], 128, places, ones, 600)
        search = ridge.at(some)
        found, expected = search.chosen(), GrowingRidge().at(some).chosen()
        ridge.keep(search)
        assert_same_bits(found, expected)


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("n_rows", [100, 300, 600])
def test_no_other_penalty_of_the_grid_has_a_smaller_error(kind, n_rows):
    weights = WEIGHTS[kind][:n_rows]
    found = fresh(n_rows, WEIGHTS[kind])
    _, gram = GramMatrix().of([ROWS[:n_rows]])
    whole = np.tril(gram) + np.tril(gram, -1).T
    spectrum = GramSpectrum.of(whole, TARGETS[:n_rows], weights)
    alphas = found.alpha * 10.0 ** (np.arange(-24, 25) / 4)
    errors = spectrum.leave_one_out(alphas)
    assert errors[24] <= errors.min() + 1e-5  # what counts as equal
    assert found.error == pytest.approx(errors[24], abs=1e-8)


def path_of(spectrum, alphas):
    squares = np.square(spectrum.turned).sum(axis=1)
    rest = alphas[:, None] / (spectrum.eigenvalues + alphas[:, None])
    total, count = float(squares.sum()), spectrum.count
    return Path(alphas, rest**2 @ squares, rest @ squares, spectrum.eigenvalues, total, count)


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("n_rows", [2, 63, 64, 300])
@pytest.mark.parametrize("alpha", [1e-3, 0.3, 30.0])
def test_the_restricted_likelihood_is_that_of_eigenvalues(kind, n_rows, alpha):
    weights, targets = WEIGHTS[kind][:n_rows], TARGETS[:n_rows]
    _, gram = GramMatrix().of([ROWS[:n_rows]])
    whole = np.tril(gram) + np.tril(gram, -1).T
    spectrum = GramSpectrum.of(whole, targets, weights)
    path = path_of(spectrum, np.array([alpha]))
    (expected,) = reml(path)
    found = fresh(n_rows, WEIGHTS[kind], alpha)
    # Sums of n logarithms, and a quotient by what may be a small number of rows less one.
    condition = 1.0 + float(weights @ gram.diagonal()) / alpha
    rounding = 64 * n_rows * np.finfo(np.float64).eps * condition / min(1.0, path.count - 1.0)
    assert_allclose(found.reml, expected, atol=rounding, rtol=0)


def test_where_rows_are_a_few_more_than_features_the_larger_penalty_counts():
    """Residuals of 40 features in 42 rows have one dimension: what is left out is chance."""
    for n_rows in range(41, 46):
        by_error = fresh(n_rows, WEIGHTS["one"])
        found = fresh(n_rows, WEIGHTS["one"], n_features=40)
        _, gram = GramMatrix().of([ROWS[:n_rows]])
        whole = np.tril(gram) + np.tril(gram, -1).T
        spectrum = GramSpectrum.of(whole, TARGETS[:n_rows], np.ones(n_rows))
        alphas = penalties(float(spectrum.eigenvalues.max()))
        likeliest = least(alphas, reml(path_of(spectrum, alphas)))
        step = 10.0 ** (1 / 4)  # the two grids stand apart
        larger = max(by_error.alpha, likeliest)
        assert larger / step <= found.alpha <= larger * step


def test_lighter_weights_divide_the_penalty():
    found = fresh(300, WEIGHTS["one"])
    lighter = fresh(300, 0.37 * WEIGHTS["one"])
    assert lighter.alpha == pytest.approx(0.37 * found.alpha, rel=1e-12)


def test_rows_that_do_not_vary_have_no_penalty():
    ones = np.ones(3)
    rows = DualRows(np.zeros((3, 3)), ones, ones[:, None], 3, np.arange(3), ones, 3)
    assert GrowingRidge().at(rows).chosen() is None


@given(st.integers(-6, 6), st.integers(-5, 5), st.integers(0, 3))
def test_the_minimum_of_a_valley_is_found_from_anywhere(start, bottom, width):
    def valley(place):
        return float(max(0, abs(place - bottom) - width))

    assert local_minimum(valley, start, -6, 6) == min(bottom + width, 6)


def test_where_no_penalty_will_do_it_is_the_largest():
    assert local_minimum(lambda place: np.inf, 0, -6, 6) == 6
