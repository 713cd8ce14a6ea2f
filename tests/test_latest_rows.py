"""The latest rows against ridge regression towards a model, worked out in one go."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from streamchi2.latest_rows import PENALTIES, LatestRows
from streamchi2.model import Model
from streamchi2.solvers.linear_model import LinearModel
from streamchi2.statistics.feature_statistics import Kept
from streamchi2.statistics.forgetting import ExpectedErrors, Forgetting
from streamchi2.statistics.targets import Targets

WIDTH = 6


def model_of(seed):
    """Return a model of two numbers that has nothing to do with the rows."""
    random = np.random.default_rng(seed)
    linear = LinearModel(random.normal(size=(WIDTH, 2)), np.ones(2), np.zeros(WIDTH), alpha=1.0)
    left_out = random.normal(size=(99, 2))
    expected = ExpectedErrors.of("numbers", left_out, left_out, np.ones(99), np.ones(2))
    return Model(linear, Targets.of_columns("numbers", np.zeros((1, 2))), expected)


MODEL = model_of(0)


def empty(size, penalties=PENALTIES):
    none = np.zeros((0, WIDTH), np.float32), np.zeros((0, 2))
    rows = Kept(*none, np.zeros(0), np.zeros(0, np.uint64))
    latest = LatestRows.of(size, penalties, rows, np.zeros(2 + len(penalties)), Forgetting())
    return latest.renewed(MODEL)


def stream(seed, n_rows, spread=0.0):
    """Draw rows, their targets and their weights."""
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n_rows, WIDTH)).astype(np.float32)
    return rows, random.normal(size=(n_rows, 2)), np.exp(spread * random.normal(size=n_rows))


def after(latest, rows, targets, weights):
    """Return the latest rows after some, and the scores of each before it was added."""
    said = []
    for row, target, weight in zip(rows, targets, weights, strict=True):
        said.append(latest.scores(row))
        latest = latest.after(row, target, weight)
    return latest, np.array(said)


def corrections(latest, rows, residuals, weights):
    """Ridge regression of residuals, with the units of the last time that roots were made."""
    ridges = np.array(latest.penalties)[:, None] * latest.unit / weights
    products = rows.astype(np.float64) @ rows.T
    return [rows.T @ np.linalg.solve(products + np.diag(ridge), residuals) for ridge in ridges]


@given(seed=st.integers(0, 99), n_rows=st.integers(1, 60), spread=st.sampled_from([0.0, 1.0]))
def test_corrections_are_ridge_regression_towards_the_model(seed, n_rows, spread):
    rows, targets, weights = stream(seed, n_rows, spread)
    latest, _ = after(empty(8), rows, targets, weights)
    kept = slice(n_rows - len(latest.residuals), None)
    assert 1 <= len(latest.residuals) <= 16
    assert_array_equal(latest.rows.features, rows[kept])
    residuals = targets - MODEL.linear.scores(rows.astype(np.float64))
    expected = corrections(latest, rows[kept], residuals[kept], weights[kept])
    x = np.random.default_rng(1).normal(size=WIDTH).astype(np.float32)
    plain, *corrected = latest.scores(x)
    # Roots are float32, and matrices are as ill-conditioned as penalties and weights let them be.
    assert_allclose(corrected, [plain + x @ one for one in expected], rtol=2e-3, atol=4e-3)


def test_penalties_are_in_units_of_lengths_and_weights():
    rows, targets, weights = stream(8, 12, spread=0.5)
    kept = Kept(rows, targets, weights, np.zeros(12, np.uint64))
    latest = LatestRows.of(8, PENALTIES, kept, np.zeros(4), Forgetting())
    length = np.square(rows.astype(np.float64)).sum(axis=1).mean()
    assert_allclose(latest.unit, length * weights.mean(), rtol=1e-6)
    heavy = np.where(np.arange(12) < 1, 1e9, weights)  # a row weighs a hundred times the mean
    kept = Kept(rows, targets, heavy, np.zeros(12, np.uint64))
    latest = LatestRows.of(8, PENALTIES, kept, np.zeros(4), Forgetting())
    assert_allclose(latest.most_weight, 100 * heavy.mean())


def test_another_model_changes_residuals_alone():
    rows, targets, weights = stream(0, 13)
    latest, _ = after(empty(8), rows, targets, weights)
    other = model_of(1)
    renewed = latest.renewed(other)
    assert_array_equal(renewed.roots, latest.roots)
    residuals = targets - other.linear.scores(rows.astype(np.float64))
    for best, one in enumerate(corrections(latest, rows, residuals, weights), 1):
        renewed.compared = np.ones(4)
        renewed.compared[best] = 0.0
        assert renewed.best == best
        assert_allclose(renewed.corrected().linear.coef, other.linear.coef + one, atol=1e-4)
    renewed.compared = np.zeros(4)
    assert renewed.corrected() is other


def test_the_best_correction_has_the_least_faded_error():
    rows, targets, weights = stream(3, 40)
    latest, said = after(empty(8), rows, targets, weights)
    squares = np.square(said - targets[:, None]).sum(axis=2)
    fading = 0.995 ** np.arange(40)[::-1]
    assert_allclose(latest.compared, [*(fading @ squares), fading.sum()])
    assert latest.best == int((fading @ squares).argmin())
    assert_allclose(list(latest.mean_errors.values()), fading @ squares / fading.sum())


@given(st.floats(1e-90, 1e90))
def test_a_common_factor_of_weights_changes_nothing(factor):
    rows, targets, weights = stream(4, 20, spread=1.0)
    expected, scores = after(empty(8), rows, targets, weights)
    latest, said = after(empty(8), rows, targets, factor * weights)
    assert latest.best == expected.best
    assert_allclose(said, scores, rtol=1e-4, atol=1e-4)


def test_steps_leave_the_objects_before_as_they_were():
    rows, targets, weights = stream(5, 30)
    latest, _ = after(empty(8), rows[:10], targets[:10], weights[:10])
    twin, before = latest.copy(), latest.scores(rows[0])
    one, _ = after(latest, rows[10:], targets[10:], weights[10:])
    other, _ = after(twin, rows[10:], targets[10:], weights[10:])
    assert_array_equal(latest.scores(rows[0]), before)
    assert_array_equal(latest.rows.features, rows[:10])
    assert_array_equal(one.scores(rows[0]), other.scores(rows[0]))


def test_rows_that_are_kept_for_something_else_correct_nothing():
    rows, targets, weights = stream(6, 30)
    latest, said = after(empty(8, ()), rows, targets, weights)
    assert latest.best == 0
    assert_allclose(said[:, 0], MODEL.linear.scores(rows.astype(np.float64)), rtol=1e-6)


def test_keys_are_those_of_the_last_block():
    rows, targets, weights = stream(7, 12)
    latest, _ = after(empty(8), rows, targets, weights)
    keys = np.arange(1, 6, dtype=np.uint64)
    assert latest.with_keys(keys[:0]).rows.keys.tolist() == [0] * 12
    assert latest.with_keys(keys).rows.keys.tolist() == [0] * 7 + [1, 2, 3, 4, 5]
    many = np.arange(1, 41, dtype=np.uint64)
    assert latest.with_keys(many).rows.keys.tolist() == list(range(29, 41))
    none = empty(8)
    assert none.with_keys(many).rows.keys.tolist() == []
