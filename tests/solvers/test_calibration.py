"""Shifts and probabilities from scores of left-out rows: laws of the fits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax

from streamchi2.solvers.calibration import (
    Calibration,
    fitted_inverse_temperature,
    fitted_softmax,
    quantile_shifts,
)

sample_scores = st.integers(0, 2**32 - 1).map(
    lambda seed: np.random.default_rng(seed).normal(size=(60, 3))
)


def softmax_of(b, share=0.0, n_classes=3):
    return Calibration(np.zeros(n_classes), np.array([b]), np.array([share]), of_labels=False)


def noisy(n_rows, share, seed=0, n_classes=3):
    """Scores that tell the class, and labels of which a share says nothing, as columns."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n_rows)
    scores = np.eye(n_classes)[codes] + rng.normal(scale=0.3, size=(n_rows, n_classes))
    wrong = rng.random(n_rows) < share
    return scores, np.eye(n_classes)[np.where(wrong, rng.integers(0, n_classes, n_rows), codes)]


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
def test_the_share_of_labels_that_say_nothing_is_found(share):
    scores, targets = noisy(4000, share)
    fitted = fitted_softmax(scores, targets, np.ones(4000))[1]
    # Overlapping classes are told apart by the temperature: what is left is a binomial share, and
    # the prior of one row.
    assert abs(fitted - share) < 4.0 * np.sqrt(share * (1.0 - share) / 4000) + 1e-3


@given(st.integers(0, 99), st.sampled_from([0.0, 0.1, 0.4]))
def test_no_other_temperature_and_share_have_less_penalised_log_loss(seed, share):
    scores, targets = noisy(150, share, seed)
    weights = np.linspace(1.0, 2.0, 150)
    weights *= weights.sum() / (weights @ weights)  # adding up to Kish's number of rows
    members = weights[:, None] * targets
    alone = fitted_inverse_temperature(scores, members)

    def loss(factor, share):
        probabilities = softmax_of(min(factor, 1000.0), share).probabilities(scores)
        logarithms = np.log(np.maximum(probabilities, 1e-100))
        prior = 4.0 * np.log(factor / alone) ** 2 - np.log(1.0 - share)
        return prior - (members * logarithms).sum()

    def loss_alone(factor):
        return -(members * log_softmax(factor * scores, axis=1)).sum()

    assert loss_alone(alone) <= min(loss_alone(alone * 1.02), loss_alone(alone / 1.02)) + 1e-7
    factor, share = fitted_softmax(scores, targets, weights)
    steps = [(1.01, 0.0), (1 / 1.01, 0.0), (1.0, 0.002), (1.01, 0.002), (1 / 1.01, 0.002)]
    steps += [(1.0, -0.002), (1.01, -0.002), (1 / 1.01, -0.002)] if share > 0.002 else []
    others = [loss(factor * times, share + more) for times, more in steps]
    assert loss(factor, share) <= min(others) + 1e-9 * 150


def test_weights_count_by_their_ratios_and_two_labels_of_a_row_as_two_halves():
    scores, targets = noisy(200, 0.2)
    ratios = np.random.default_rng(1).integers(1, 4, 200).astype(float)
    heavy = fitted_softmax(scores, targets, ratios)
    assert_allclose(fitted_softmax(scores, targets, 1e-3 * ratios), heavy, rtol=1e-9)
    targets[:100] = targets[100:] = (targets[:100] + targets[100:]) / 2
    scores[:100] = scores[100:]
    once = fitted_inverse_temperature(scores[:100], 2.0 * targets[:100])
    assert_allclose(fitted_inverse_temperature(scores, targets), once, rtol=1e-9)


def test_one_class_is_as_sure_as_two_are_at_first():
    single = np.ones((3, 1))
    fitted = Calibration.of_classes(single, single, np.ones(3), np.ones(1))
    assert fitted.inverse_temperature == 5.0
    assert_array_equal(fitted.probabilities(np.array([0.3])), [1.0])
    of_labels = Calibration.of_indicators(single, single, np.ones(3))
    assert_array_equal(of_labels.ordered(np.array([0, 1])).inverse_temperature, [5.0, 5.0])


@given(sample_scores, st.floats(-5, 5))
def test_probabilities_are_a_distribution_and_ignore_a_common_offset(scores, offset):
    calibration = softmax_of(4.0, 0.2)
    probabilities = calibration.probabilities(scores)
    assert (probabilities >= 0).all()
    assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert (probabilities.argmax(axis=1) == scores.argmax(axis=1)).all()
    assert_allclose(calibration.probabilities(scores + offset), probabilities, atol=1e-12)


@given(sample_scores)
def test_labels_are_calibrated_as_two_classes_each(scores):
    targets = (scores + np.random.default_rng(0).normal(size=scores.shape) > 0.5).astype(float)
    calibration = Calibration.of_indicators(scores, targets, np.ones(60))
    for column in range(3):
        both, members = (
            np.stack([1 - x[:, column], x[:, column]], axis=1) for x in (scores, targets)
        )
        b, share = fitted_softmax(both, members, np.ones(60))
        expected = softmax_of(b, share, 2).probabilities(both)[:, 1]
        assert_allclose(calibration.probabilities(scores)[:, column], expected, rtol=1e-9)


@given(sample_scores, st.lists(st.floats(0.05, 0.9), min_size=3, max_size=3))
def test_half_as_many_rows_exceed_a_shift_as_the_class_has_members(scores, shares):
    weights = np.linspace(0.5, 2.0, 60)
    shifts = quantile_shifts(scores, weights, np.array(shares))
    above = weights @ (scores > shifts) / weights.sum()
    # The next row below would be one too many; the heaviest row weighs 2 of 75.
    assert (above <= np.array(shares) / 2 + 1e-9).all()
    assert (above >= np.array(shares) / 2 - 2.0 / weights.sum() - 1e-9).all()


def test_a_class_without_rows_does_not_win_by_being_shifted_least():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 100)
    scores = np.column_stack([np.eye(2)[codes] * 0.6 + rng.normal(0, 0.2, (100, 2)), np.zeros(100)])
    shifts = quantile_shifts(scores, np.ones(100), np.array([0.5, 0.5, 0.0]))
    assert not ((scores - shifts).argmax(axis=1) == 2).any()
