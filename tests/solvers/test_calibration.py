"""Left-out scores against brute force, and the laws of inverse_temperature and shifts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import log_softmax
from sklearn.linear_model import Ridge

from streamchi2.solvers.block_vectors import BlockVectors
from streamchi2.solvers.calibration import (
    Calibration,
    fitted_inverse_temperature,
    fitted_softmax,
    left_out_scores,
    own_shares,
    quantile_shifts,
)
from streamchi2.solvers.lasso import elastic_net
from streamchi2.solvers.ridge import ridge
from streamchi2.statistics.target_moments import TargetMoments


def drawn(n_rows=40, width=5, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, width)) + 2.0
    targets = np.eye(n_classes)[rng.integers(0, n_classes, n_rows)]
    return rows, targets, TargetMoments(width, n_classes).update(rows, targets).summary()


def scored_without(rows, targets, alpha):
    """Each row scored by scikit-learn's ridge on all the others."""
    everyone = np.arange(len(rows))
    return np.vstack(
        [
            Ridge(alpha).fit(rows[everyone != i], targets[everyone != i]).predict(rows[i : i + 1])
            for i in everyone
        ]
    )


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 50.0])
def test_left_out_scores_equal_refits_without_the_row(alpha):
    rows, targets, moments = drawn()
    model = ridge(moments, alpha)
    shares = own_shares(model, moments, rows, exact=True)
    found = left_out_scores(model.scores(rows), targets, shares)
    # The identity is exact: what is left is the rounding of a 5 x 5 solve.
    assert_allclose(found, scored_without(rows, targets, alpha), atol=1e-10)


def test_left_out_scores_in_principal_coordinates_equal_those_of_the_features():
    rows, targets, moments = drawn()
    values, vectors = np.linalg.eigh(moments.scatter)
    inside = BlockVectors((vectors,)).moments(moments, values)
    found = [
        left_out_scores(model.scores(seen), targets, own_shares(model, stats, seen, exact=True))
        for model, stats, seen in (
            (ridge(moments, 0.7), moments, rows),
            (ridge(inside, 0.7), inside, rows @ vectors),
        )
    ]
    assert_allclose(*found, atol=1e-10)


def test_without_penalty_a_direction_that_never_varied_is_no_division_by_zero():
    rows, targets, _ = drawn()
    rows[:, 0] = 1.0
    moments = TargetMoments(5, 3).update(rows, targets).summary()
    model = ridge(moments, 0.0)
    shares = own_shares(model, moments, rows, exact=True)
    # Least squares spends one degree of freedom per direction, and one on the intercept.
    assert_allclose(shares.sum(), 5.0, rtol=1e-9)


def test_a_row_that_decides_its_score_alone_gives_finite_scores():
    rows, targets, moments = drawn(n_rows=4, width=6)
    model = ridge(moments, 1e-9)
    shares = own_shares(model, moments, rows, exact=True)
    assert np.isfinite(left_out_scores(model.scores(rows), targets, shares)).all()


def test_own_shares_of_an_elastic_net_are_its_degrees_of_freedom():
    rows, _, moments = drawn(n_rows=200)
    model = elastic_net(moments, 0.05, 1.0)
    shares = own_shares(model, moments, rows, exact=False)
    counted = [1 + sum(column != 0) for column in model.coef.T]
    assert len(set(counted)) > 1  # or the test would say little
    assert_allclose(shares, [np.array(counted) / 200])


sample_scores = st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).normal(size=(60, 3))
)


@given(sample_scores)
def test_no_other_inverse_temperature_has_less_log_loss(scores):
    codes = np.random.default_rng(1).integers(0, 3, 60)
    codes[:40] = scores[:40].argmax(axis=1)  # better than chance
    weights = np.linspace(0.5, 2.0, 60)

    def loss(inverse_temperature):
        return -weights @ log_softmax(inverse_temperature * scores, axis=1)[np.arange(60), codes]

    best = fitted_inverse_temperature(scores, codes, weights)
    # The bounded search ends at 1e-5 in the logarithm; about a minimum that costs its square.
    assert loss(best) <= min(loss(best * 1.02), loss(best / 1.02)) + 1e-8 * 60


def test_inverse_temperature_follows_the_scale_of_the_scores():
    rng = np.random.default_rng(0)
    scores, weights = rng.normal(size=(300, 4)), np.ones(300)
    codes = (scores + rng.normal(size=scores.shape)).argmax(axis=1)
    plain, stretched = (fitted_inverse_temperature(c * scores, codes, weights) for c in (1.0, 10.0))
    assert_allclose(plain, 10.0 * stretched, rtol=1e-3)  # a search in the logarithm, to 1e-5


def noisy(n_rows, share, seed=0, n_classes=3):
    """Scores that tell the class, and labels of which a share says nothing."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n_rows)
    scores = np.eye(n_classes)[codes] + rng.normal(scale=0.3, size=(n_rows, n_classes))
    wrong = rng.random(n_rows) < share
    return scores, np.where(wrong, rng.integers(0, n_classes, n_rows), codes)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
def test_the_share_of_labels_that_say_nothing_is_found(share):
    scores, codes = noisy(4000, share)
    found = fitted_softmax(scores, codes, np.ones(4000))[1]
    # Overlapping classes are told apart by the temperature: what is left is a binomial share, and
    # the prior of one row.
    assert abs(found - share) < 4.0 * np.sqrt(share * (1.0 - share) / 4000) + 1e-3


@given(st.integers(0, 99), st.sampled_from([0.0, 0.1, 0.4]))
def test_no_other_temperature_and_share_have_less_penalised_log_loss(seed, share):
    scores, codes = noisy(150, share, seed)
    weights = np.linspace(1.0, 2.0, 150)
    alone = fitted_inverse_temperature(scores, codes, weights)

    def loss(factor, share):
        own = Calibration(np.zeros(3), factor, share).probabilities(scores)[np.arange(150), codes]
        return -weights @ np.log(own) + 4.0 * np.log(factor / alone) ** 2 - np.log(1.0 - share)

    factor, share = fitted_softmax(scores, codes, weights)
    steps = [(1.01, 0.0), (1 / 1.01, 0.0), (1.0, 0.002), (1.01, 0.002), (1 / 1.01, 0.002)]
    steps += [(1.0, -0.002), (1.01, -0.002), (1 / 1.01, -0.002)] if share > 0.002 else []
    others = [loss(factor * times, share + more) for times, more in steps]
    assert loss(factor, share) <= min(others) + 1e-9 * 150


def test_where_labels_are_right_there_is_no_share_and_the_temperature_stays():
    scores, codes = noisy(500, 0.0)
    alone = fitted_inverse_temperature(scores, codes, np.ones(500))
    assert fitted_softmax(scores, codes, np.ones(500)) == (alone, 0.0)


def test_weights_of_the_softmax_count_like_repeated_rows_and_not_by_their_scale():
    scores, codes = noisy(200, 0.2)
    counts = np.random.default_rng(1).integers(1, 4, 200)
    weighted = fitted_softmax(scores, codes, counts.astype(float))
    again = np.repeat(scores, counts, axis=0), np.repeat(codes, counts), np.ones(counts.sum())
    # Sums of some 400 terms in another order, about a minimum of curvature above one.
    assert_allclose(weighted, fitted_softmax(*again), rtol=1e-9)
    light = fitted_softmax(scores, codes, np.full(200, 1e-3))
    assert_allclose(light, fitted_softmax(scores, codes, np.ones(200)), rtol=1e-9)


@given(sample_scores, st.floats(-5, 5))
def test_probabilities_are_a_distribution_and_ignore_a_common_offset(scores, offset):
    calibration = Calibration(np.zeros(3), 4.0, 0.2)
    found = calibration.probabilities(scores)
    assert (found >= 0).all()
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert (found.argmax(axis=1) == scores.argmax(axis=1)).all()
    assert_allclose(calibration.probabilities(scores + offset), found, atol=1e-12)


@given(sample_scores, st.lists(st.floats(0.05, 0.9), min_size=3, max_size=3))
def test_half_as_many_rows_exceed_a_shift_as_the_class_has_members(scores, shares):
    weights = np.linspace(0.5, 2.0, 60)
    shifts = quantile_shifts(scores, weights, np.array(shares))
    above = weights @ (scores > shifts) / weights.sum()
    # The next row below would be one too many; the heaviest row weighs 2 of 75.
    assert (above <= np.array(shares) / 2 + 1e-9).all()
    assert (above >= np.array(shares) / 2 - 2.0 / weights.sum() - 1e-9).all()


@given(sample_scores)
def test_shifts_move_with_the_scores_whatever_their_offset_and_scale(scores):
    weights, shares = np.ones(60), np.array([0.1, 0.3, 0.6])
    offsets, scales = np.array([5.0, -2.0, 0.0]), np.array([1.0, 3.0, 0.5])
    moved = quantile_shifts(scores * scales + offsets, weights, shares)
    assert_allclose(moved, quantile_shifts(scores, weights, shares) * scales + offsets)


def test_a_class_without_rows_does_not_win_by_being_shifted_least():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 100)
    scores = np.column_stack([np.eye(2)[codes] * 0.6 + rng.normal(0, 0.2, (100, 2)), np.zeros(100)])
    shifts = quantile_shifts(scores, np.ones(100), np.array([0.5, 0.5, 0.0]))
    assert not ((scores - shifts).argmax(axis=1) == 2).any()


def test_weights_of_the_sample_count_like_repeated_rows():
    rng = np.random.default_rng(0)
    scores, codes = rng.normal(size=(50, 3)), rng.integers(0, 3, 50)
    counts = rng.integers(1, 4, 50)
    again = (np.repeat(scores, counts, axis=0), np.repeat(codes, counts))
    weighted = fitted_inverse_temperature(scores, codes, counts.astype(float))
    # Two searches to 1e-5 in the logarithm, on losses that differ by rounding.
    assert_allclose(weighted, fitted_inverse_temperature(*again, np.ones(counts.sum())), rtol=1e-3)
    shares = np.array([0.2, 0.3, 0.5])
    assert_allclose(
        quantile_shifts(scores, counts.astype(float), shares),
        quantile_shifts(again[0], np.ones(counts.sum()), shares),
    )


def test_moments_of_left_out_scores_are_not_touched():
    rows, _, moments = drawn()
    before = replace(moments, scatter=moments.scatter.copy(), cross=moments.cross.copy())
    own_shares(ridge(moments, 1.0), moments, rows, exact=True)
    assert (moments.scatter == before.scatter).all()
    assert (moments.cross == before.cross).all()
