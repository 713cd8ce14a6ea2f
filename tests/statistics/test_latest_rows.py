"""The latest rows against ridge regression towards a model, worked out in one go."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from streamchi2.statistics.feature_statistics import Kept
from streamchi2.statistics.latest_rows import PENALTIES, LatestRows

WIDTH = 6


def empty(size, penalties=PENALTIES, n_targets=2):
    none = np.zeros((0, WIDTH), np.float32)
    rows = Kept(none, np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.uint64))
    latest = LatestRows.of(size, penalties, rows, np.zeros(2 + len(penalties)))
    return latest.renewed(np.zeros((0, n_targets)))


def stream(seed, n_rows, spread=0.0):
    """Draw rows, the answers, what a model says of them, and weights."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n_rows, WIDTH)).astype(np.float32)
    answers, plain = random.normal(size=(2, n_rows, 2))
    return rows, answers, plain, np.exp(spread * random.normal(size=n_rows))


def after(latest, rows, answers, plain, weights):
    """Return the latest rows after some, and the scores of each before it was added."""
    said = []
    for row, answer, scores, weight in zip(rows, answers, plain, weights, strict=True):
        said.append(latest.scores(row, scores))
        squares = np.square(said[-1] - answer).sum(axis=1)
        latest = latest.after(row, 0, weight, said[-1], answer, squares)
    return latest, said


def corrections(latest, rows, residuals, weights):
    """Ridge regression of residuals, with the units of the last time that roots were made."""
    ridges = np.array(latest.penalties)[:, None] * latest.unit / weights
    products = rows.astype(np.float64) @ rows.T
    return [rows.T @ np.linalg.solve(products + np.diag(ridge), residuals) for ridge in ridges]


@given(seed=st.integers(0, 99), n_rows=st.integers(1, 60), spread=st.sampled_from([0.0, 1.0]))
def test_corrections_are_ridge_regression_towards_the_model(seed, n_rows, spread):
    rows, answers, plain, weights = stream(seed, n_rows, spread)
    latest, _ = after(empty(8), rows, answers, plain, weights)
    kept = slice(n_rows - latest.errors.size, None)
    assert 1 <= latest.errors.size <= 16
    assert_array_equal(latest.rows.features, rows[kept])
    x = np.random.default_rng(1).normal(size=WIDTH).astype(np.float32)
    expected = corrections(latest, rows[kept], (answers - plain)[kept], weights[kept])
    # Roots are float32, and matrices are as ill-conditioned as penalties and weights let them be.
    expected = np.array([x @ one for one in expected])
    assert_allclose(latest.scores(x, np.zeros(2))[1:], expected, rtol=2e-3, atol=2e-3)


def test_another_model_changes_residuals_alone():
    rows, answers, plain, weights = stream(0, 13)
    latest, _ = after(empty(8), rows, answers, plain, weights)
    renewed = latest.renewed(answers)
    assert_array_equal(renewed.roots, latest.roots)
    expected = corrections(latest, rows, answers, weights)
    for best, one in enumerate(expected, 1):
        compared = np.ones(4)
        compared[best] = 0.0
        renewed.compared = compared
        assert renewed.best == best
        assert_allclose(renewed.coefficients(), one, rtol=1e-3, atol=1e-4)


def test_the_best_correction_has_the_least_faded_error():
    rows, answers, plain, weights = stream(3, 40)
    latest, said = after(empty(8), rows, answers, plain, weights)
    squares = np.square(np.array(said) - answers[:, None]).sum(axis=2)
    fading = 0.995 ** np.arange(40)[::-1]
    assert_allclose(latest.compared, [*(fading @ squares), fading.sum()])
    assert latest.best == int((fading @ squares).argmin())
    assert_allclose(list(latest.mean_errors.values()), fading @ squares / fading.sum())
    assert_allclose(latest.errors, squares[-latest.errors.size :, 0])


@given(st.floats(1e-90, 1e90))
def test_a_common_factor_of_weights_changes_nothing(factor):
    rows, answers, plain, weights = stream(4, 20, spread=1.0)
    for scaled in (weights, factor * weights):
        latest, said = after(empty(8), rows, answers, plain, scaled)
        if scaled is weights:
            expected, scores = latest, said
    assert latest.best == expected.best
    assert_allclose(np.array(said), np.array(scores), rtol=1e-4, atol=1e-5)


def test_steps_leave_the_objects_before_as_they_were():
    rows, answers, plain, weights = stream(5, 30)
    latest, _ = after(empty(8), rows[:10], answers[:10], plain[:10], weights[:10])
    twin = latest.copy()
    before = latest.scores(rows[0], plain[0])
    one, _ = after(latest, rows[10:], answers[10:], plain[10:], weights[10:])
    other, _ = after(twin, rows[10:], answers[10:], plain[10:], weights[10:])
    assert_array_equal(latest.scores(rows[0], plain[0]), before)
    assert_array_equal(one.scores(rows[0], plain[0]), other.scores(rows[0], plain[0]))


def test_rows_that_are_kept_for_something_else_correct_nothing():
    rows, answers, plain, weights = stream(6, 30)
    latest, said = after(empty(8, ()), rows, answers, plain, weights)
    assert latest.best == 0
    assert_array_equal(np.array(said)[:, 0], plain)


def test_keys_are_those_of_the_last_block():
    rows, answers, plain, weights = stream(7, 12)
    latest, _ = after(empty(8), rows, answers, plain, weights)
    keys = np.arange(1, 6, dtype=np.uint64)
    assert latest.with_keys(keys).rows.keys.tolist() == [0] * 7 + [1, 2, 3, 4, 5]
    many = np.arange(1, 41, dtype=np.uint64)
    assert latest.with_keys(many).rows.keys.tolist() == list(range(29, 41))
