"""Errors of the latest rows beside what is to be expected of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from streamchi2.statistics.forgetting import ExpectedErrors, Forgetting, Forgotten


def expected_of(kind, residuals, answers, weights=None, units=1.0):
    weights = np.ones(len(residuals)) if weights is None else weights
    units = np.full(1, units)
    return ExpectedErrors.of(kind, residuals, answers, weights, units)


def test_errors_are_expected_by_class():
    codes = np.repeat([0, 1], [30, 20])
    residuals = np.where(codes[:, None] == 0, 0.5, 0.1) * np.ones((50, 2))
    expected = expected_of("labels", residuals, np.eye(2)[codes])
    assert_allclose(expected.errors, [0.5, 0.02])
    assert_allclose(expected.beside(0, np.array([1.0, 0.5])), (1.5, 0.5, 0.0), atol=1e-15)
    # In a run of one class left-out errors are next to nothing; the least that is expected is .1.
    assert_allclose(expected.beside(1, np.array([0.1, 0.1])), (0.2, 0.1, 0.0), atol=1e-15)
    assert expected.beside(2, np.array([1.0, 1.0])) == (0.0, 0.0, 0.0)  # came since


def test_classes_of_few_sampled_rows_are_not_compared():
    answers = np.eye(2)[np.repeat([0, 1], [30, 9])]
    expected = expected_of("labels", answers / 2, answers)
    assert expected.beside(1, np.array([1.0, 1.0])) == (0.0, 0.0, 0.0)


def test_rows_that_have_a_label_are_not_compared_with_those_that_have_not():
    answers = np.zeros((100, 2))
    answers[:20, 0] = 1.0
    residuals = np.where(answers > 0.5, 0.8, 0.4)
    expected = expected_of("indicators", residuals, answers)
    assert_allclose(expected.errors, [0.16, 0.64, 0.16, 0.0])
    squares = np.array([0.7, 0.2])
    for target, said in (([1.0, 0.0], (0.9, 0.8)), ([0.0, 1.0], (0.7, 0.16))):
        assert_allclose(expected.beside(np.array(target), squares), (*said, 0.0), atol=1e-15)
    late = expected.beside(np.array([1.0, 0.0, 1.0]), squares)
    assert_allclose(late, (0.9, 0.8, 0.0), atol=1e-15)


def test_numbers_are_capped_and_in_units_of_their_variances():
    residuals = np.random.default_rng(0).standard_t(2, size=(1000, 1))
    numbers = np.arange(1000.0)[:, None]
    expected = expected_of("numbers", residuals, numbers, units=4.0)
    largest = np.quantile(residuals**2 / 4.0, 0.99)
    assert_allclose(expected.largest, [largest])
    squares = np.minimum(residuals[:, 0] ** 2 / 4.0, largest).reshape(8, 125)
    assert_allclose(expected.errors, squares.mean(axis=1))
    assert_allclose(expected.variances, squares.var(axis=1))
    observed, mean, variance = expected.beside(np.array([130.0]), np.array([1e9]))
    assert (observed, variance) == (expected.largest[0], expected.variances[1])
    assert mean == max(expected.errors[1], 0.1)


def test_numbers_beyond_all_sampled_ones_are_news():
    random = np.random.default_rng(1)
    expected = expected_of("numbers", random.normal(size=(200, 2)), random.uniform(size=(200, 2)))
    squares = np.array([5.0, 5.0])
    assert expected.beside(np.array([-0.1, 1.1]), squares) == (0.0, 0.0, 0.0)
    assert expected.beside(np.array([0.5, 1.1]), squares)[0] == 5.0


def after(n_rows, observed, expected=0.2, forgetting=None, variance=0.01):
    forgetting = forgetting or Forgetting()
    for _ in range(n_rows):
        forgetting = forgetting.after(observed, expected, variance)
    return forgetting


@pytest.mark.parametrize(("ratio", "halves", "begins"), [(1.2, 0, 0), (1.5, 1, 0), (2.6, 1, 1)])
def test_what_is_forgotten_follows_from_the_ratio(ratio, halves, begins):
    forgetting = after(100, 0.2 * ratio)
    assert forgetting.ratio == pytest.approx(ratio)
    assert (forgetting.halves(2000.0), forgetting.begins_anew(2000)) == (halves, begins)


def test_a_difference_may_be_chance():
    # 86.6 rows, faded, and 43.4 of their variances: .1 more each is 4.4 deviations of 1.3.
    assert after(200, 0.3, variance=0.0401).halves(2000.0)
    assert not after(200, 0.3, variance=0.1).halves(2000.0)


def test_few_rows_early_rows_and_rows_soon_after_forget_nothing():
    assert not after(39, 1.0).begins_anew(2000)
    assert not after(60, 0.0, expected=0.0).begins_anew(2000)  # of classes that are not known
    enough = after(100, 1.0)
    assert not enough.halves(1000.0)
    assert not enough.begins_anew(500)
    again = after(100, 1.0, forgetting=enough.cleared(Forgotten(1000, 0.0, 128.0, 5.0)))
    assert [again.begins_anew(position) for position in (1099, 1100)] == [False, True]
    assert [past.position for past in again.history] == [1000]
