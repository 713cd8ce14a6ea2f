"""ExpChi2Regressor: validation of targets, oracles on the same features, strange streams."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mapped_models import features_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from streamchi2.errors import StateMismatchError
from streamchi2.estimators.regressor import ExpChi2Regressor
from streamchi2.solvers.choice import PENALTIES

_rng = np.random.default_rng(0)
ROWS = _rng.dirichlet(np.ones(6), size=500)
TARGETS = np.column_stack([np.sin(8 * ROWS[:, 0]), ROWS[:, 1] - 3 * ROWS[:, 2] ** 2])
TARGETS += 0.05 * _rng.normal(size=TARGETS.shape)
# One map from first to last row: features of a map that is re-estimated are those of their time.
STILL = {"adapt": False, "n_terms": 3, "random_state": 0}


@pytest.mark.parametrize("targets", [TARGETS[:, 0], TARGETS[:, :1], TARGETS])
def test_ridge_equals_scikit_learn_on_the_same_features(targets):
    model = ExpChi2Regressor(64, alpha=0.1, **STILL)
    for start in range(0, 500, 130):
        model.partial_fit(ROWS[start : start + 130], targets[start : start + 130])
    features = features_of(model, ROWS)
    oracle = Ridge(0.1).fit(features, targets)
    shape = (64,) if targets.ndim == 1 else (targets.shape[1], 64)
    assert model.coef_.shape == shape
    # Products of float32 features are off by 1e-8 of their variance; condition at most 1e3.
    assert_allclose(model.coef_, oracle.coef_.reshape(shape), atol=1e-5)
    assert_allclose(model.intercept_, oracle.intercept_, atol=1e-5)
    expected = oracle.predict(features).reshape(targets.shape)
    assert_allclose(model.predict(ROWS), expected, atol=1e-6)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_smooth_function_is_learnt_with_every_penalty(penalty):
    model = ExpChi2Regressor(128, n_pca=64, penalty=penalty, **STILL).fit(ROWS[:400], TARGETS[:400])
    # The noise alone leaves .99 of the variance; .93 to .96 when written.
    assert model.score(ROWS[400:], TARGETS[400:]) > 0.85


@given(st.floats(-1e6, 1e6))
@settings(max_examples=5)
def test_an_offset_of_the_targets_costs_no_accuracy(offset):
    plain = ExpChi2Regressor(32, alpha=0.1, **STILL).fit(ROWS, TARGETS)
    moved = ExpChi2Regressor(32, alpha=0.1, **STILL).fit(ROWS, TARGETS + offset)
    # Targets keep eps times the offset, 1e-10; coefficients of a hundred or so add up.
    assert_allclose(moved.predict(ROWS) - offset, plain.predict(ROWS), atol=1e-7)
    assert_allclose(moved.coef_, plain.coef_, atol=1e-6)


def test_a_constant_target_is_predicted():
    for targets in (np.full(500, 7.0), np.zeros(500)):
        model = ExpChi2Regressor(32, **STILL).fit(ROWS, targets)
        assert_allclose(model.predict(ROWS), targets, atol=1e-12)


@pytest.mark.parametrize("n_rows", [1, 2, 5])
@pytest.mark.parametrize("n_pca", [None, 4, 0.9])
def test_a_few_rows_are_enough_for_an_answer(n_rows, n_pca):
    model = ExpChi2Regressor(16, n_pca=n_pca, n_terms=2, random_state=0)
    model.fit(ROWS[:n_rows], TARGETS[:n_rows, 0])
    predicted = model.predict(ROWS)
    assert np.isfinite(predicted).all()
    if n_rows == 1:
        assert_allclose(predicted, TARGETS[0, 0])


def test_rows_of_zeros_are_rows():
    model = ExpChi2Regressor(32, random_state=0).fit(np.zeros((80, 6)), TARGETS[:80])
    # All features are equal, so that the mean is all there is to know.
    assert_allclose(model.predict(np.zeros((1, 6)))[0], TARGETS[:80].mean(axis=0), atol=1e-6)


BAD_TARGETS = {
    "fewer targets": (TARGETS[:4], "one target per row: got 4 targets for 5 rows"),
    "no targets": (None, "requires y"),
    "nan": ([[1, 2]] * 4 + [[1, np.nan]], "must be finite, got nan at row 4, column 1"),
    "infinite": ([[np.inf, 2]] * 5, "must be finite"),
    "huge": ([[1e200, 2]] * 5, r"y must be below 1e\+140"),
    "text": ([["a", "b"]] * 5, "must hold numbers"),
    "flat": (TARGETS[:5, 0], r"y must keep its shape \(n, 2\), got \(5,\)"),
    "another width": (np.ones((5, 3)), r"y must keep its shape \(n, 2\), got \(5, 3\)"),
}


@pytest.mark.parametrize("kind", BAD_TARGETS)
def test_bad_targets_leave_no_trace(kind):
    targets, message = BAD_TARGETS[kind]
    model = ExpChi2Regressor(32, **STILL).fit(ROWS[:100], TARGETS[:100])
    before = pickle.dumps(model)
    with pytest.raises((TypeError, ValueError), match=message):
        model.partial_fit(ROWS[:5], targets)
    assert pickle.dumps(model) == before


def test_rows_without_targets_need_to_know_how_many_targets_there_are():
    model = ExpChi2Regressor(32, **STILL)
    with pytest.raises(NotFittedError):
        model.observe(ROWS)
    assert not hasattr(model, "n_features_in_")
    model.fit(ROWS[:100], TARGETS[:100])
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="5 features"):
        model.observe(ROWS[:, :5])
    assert pickle.dumps(model) == before


def test_rows_without_targets_change_nothing_but_map_and_components():
    model = ExpChi2Regressor(32, alpha=0.1, **STILL).fit(ROWS[:300], TARGETS[:300])
    coef = model.coef_
    model.observe(ROWS[300:])
    assert model.n_samples_seen_ == 500
    # The rows that waited are now summed in a block with others.
    assert_allclose(model.coef_, coef, rtol=1e-8, atol=1e-8)


def test_shards_with_other_targets_are_refused_without_a_trace():
    base = ExpChi2Regressor(32, **STILL).fit(ROWS[:100], TARGETS[:100])
    before = pickle.dumps(base)
    for targets in (TARGETS[:100, 0], TARGETS[:100, :1]):
        other = ExpChi2Regressor(32, **STILL).fit(ROWS[:100], targets)
        with pytest.raises(StateMismatchError, match="targets must have the same shape"):
            base.merge(other)
    assert pickle.dumps(base) == before


def test_the_latest_rows_count_most_under_a_half_life():
    model = ExpChi2Regressor(64, half_life=50.0, **STILL)
    model.fit(ROWS, TARGETS[:, 0]).partial_fit(ROWS, 10.0 - TARGETS[:, 0])
    # 500 rows are ten half-lives: what was learnt first counts a thousandth.
    assert_allclose(model.predict(ROWS).mean(), 10.0 - TARGETS[:, 0].mean(), atol=0.1)
    assert_array_equal(np.sign(np.corrcoef(model.predict(ROWS), TARGETS[:, 0])[0, 1]), -1)
