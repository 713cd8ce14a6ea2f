"""The parts of a memory that finds its own length: sums, confidence, fixed share, history."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamchi2.memory.confidence import ClassConfidence, NumberConfidence
from streamchi2.memory.faded_sums import FadedSums
from streamchi2.memory.fixed_share import fixed_share
from streamchi2.memory.weight_history import WeightHistory
from streamchi2.solvers.calibration import fitted_inverse_temperature
from streamchi2.statistics.target_moments import TargetMoments

RANDOM = np.random.default_rng(0)
HALF_LIVES = (8.0, 40.0)
BLOCKS = (32, 5, 1, 32)
N_ROWS = sum(BLOCKS)
FEATURES = RANDOM.normal(3.0, 1.0, (N_ROWS, 150))  # more columns than a panel of products
TARGETS = RANDOM.normal(-2.0, 1.0, (N_ROWS, 2))
WEIGHTS = RANDOM.uniform(0.0, 2.0, N_ROWS)
WEIGHTS[::9] = 0.0


def learnt(dtype, blocks=BLOCKS):
    sums = FadedSums(HALF_LIVES, FEATURES[:4].mean(axis=0), TARGETS[:4].mean(axis=0))
    start = 0
    for n_rows in blocks:
        own = slice(start, start + n_rows)
        sums.absorb(FEATURES[own].astype(dtype), TARGETS[own], WEIGHTS[own])
        start += n_rows
    return sums


def staircase(half_life):
    """Return the weights of all rows at the end: rows of a block fade together."""
    after = N_ROWS - np.cumsum(BLOCKS)
    return WEIGHTS * np.repeat(np.exp2(-after / half_life), BLOCKS)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("place", [0, 1])
def test_moments_are_those_of_faded_rows(dtype, place):
    found = learnt(dtype).moments(place)
    weights = staircase(HALF_LIVES[place])
    expected = TargetMoments(FEATURES.shape[1], 2).update(FEATURES, TARGETS, weights=weights)
    expected = expected.summary()
    # Deviations from the origin are some units large; a product of n of them, each rounded, is
    # wrong by at most n eps times the sum of their sizes, and so is what is taken from it.
    eps = N_ROWS * np.finfo(dtype).eps
    sizes = weights.sum() * max(np.abs(FEATURES - FEATURES[:4].mean(axis=0)).max() ** 2, 1.0)
    lower = np.tril_indices(FEATURES.shape[1])
    np.testing.assert_allclose(found.scatter[lower], expected.scatter[lower], atol=4 * eps * sizes)
    for name in ("mean", "cross", "target_mean", "target_scatter"):
        ours, theirs = getattr(found, name), getattr(expected, name)
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=4 * eps * sizes)
    assert found.weight == pytest.approx(expected.weight, rel=1e-12)
    assert found.count == pytest.approx(expected.count, rel=1e-12)


def test_a_late_output_equals_one_that_was_there():
    one_hot = np.eye(3)[RANDOM.integers(0, 3, 20)]
    one_hot[:10] = [1.0, 0.0, 0.0]
    rows, ones = FEATURES[:20, :4], np.ones(10)
    early, late = (FadedSums(HALF_LIVES, np.zeros(4), np.zeros(t)) for t in (3, 1))
    late.absorb(rows[:10], one_hot[:10, :1], ones)
    late = late.with_outputs(np.array([0]), 3)
    early.absorb(rows[:10], one_hot[:10], ones)
    for sums in (early, late):
        sums.absorb(rows[10:], one_hot[10:], ones)
    for name in ("cross", "target_sums", "target_squares", "sums"):
        # Products with more columns may be added in another order.
        np.testing.assert_allclose(getattr(early, name), getattr(late, name), rtol=1e-14)


def test_a_copy_is_independent_and_fading_is_a_weight():
    sums = learnt(np.float64)
    twin = sums.copy()
    twin.fade(0.5)
    assert (twin.scatter[0] == 0.5 * sums.scatter[0]).all()
    assert (twin.weight == 0.5 * sums.weight).all()
    assert twin.moments(1).count == sums.moments(1).count or sums.moments(1).count > 1.0
    np.testing.assert_allclose(twin.moments(0).mean, sums.moments(0).mean, rtol=1e-12)


@given(st.integers(1, 4), st.integers(1, 12), st.floats(0.001, 0.5), st.integers(0, 2**32 - 1))
def test_fixed_share_keeps_the_bound_of_herbster_and_warmuth(n_experts, n_rows, share, seed):
    random = np.random.default_rng(seed)
    logs = np.log(random.uniform(0.001, 1.0, (n_rows, n_experts)))
    weights, loss = np.full(n_experts, 1.0 / n_experts), 0.0
    for row in logs:
        loss -= np.log(weights @ np.exp(row))
        weights = fixed_share(weights, row[None, :], share)
        assert weights.sum() == pytest.approx(1.0, rel=1e-12)
        assert weights.min() >= share / n_experts * (1 - 1e-12)
    # best[m][k]: least loss of a sequence with m changes that ends in expert k.
    best = np.full((n_rows, n_experts), np.inf)
    best[0] = -logs[0]
    for row in logs[1:]:
        changed = np.full_like(best, np.inf)
        for k in range(n_experts):
            others = np.delete(best, k, axis=1)
            if others.size:
                changed[1:, k] = others.min(axis=1)[:-1]
        best = np.minimum(best, changed) - row
    changes = np.arange(n_rows)
    regret = (changes + 1) * np.log(n_experts) - changes * np.log(share)
    regret -= (n_rows - 1 - changes) * np.log1p(-share)
    assert loss <= (best.min(axis=1) + regret).min() + 1e-9


def test_many_rows_at_once_are_one_after_another():
    logs = RANDOM.normal(size=(20, 3)) * 300.0
    weights = np.full(3, 1 / 3)
    for row in logs:
        weights = fixed_share(weights, row[None, :])
    np.testing.assert_array_equal(weights, fixed_share(np.full(3, 1 / 3), logs))


def test_the_temperature_tends_to_that_of_least_log_loss():
    codes = RANDOM.integers(0, 4, 4000)
    scores = 0.2 * RANDOM.normal(size=(4000, 4))
    scores[np.arange(4000), codes] += 0.3
    confidence = ClassConfidence()
    for start in range(0, 4000, 40):
        own = slice(start, start + 40)
        confidence = confidence.after(scores[own], codes[own], np.ones(40))
    best = fitted_inverse_temperature(scores, codes, np.ones(4000))
    # The last 256 / log(2) = 369 rows count; the deviation of log tau is one over the root of
    # their curvature, which is some tenth of a row's: three of them.
    assert abs(np.log(confidence.inverse_temperature / best)) < 3 / np.sqrt(confidence.curvature)
    assert confidence.curvature > 30.0


def test_the_variance_is_that_of_late_errors():
    errors = RANDOM.normal(size=(3000, 1)) * np.repeat([5.0, 0.5], 1500)[:, None]
    confidence = NumberConfidence(np.ones(1), 1.0)
    for start in range(0, 3000, 30):
        own = slice(start, start + 30)
        confidence = confidence.after(np.zeros((30, 1)), errors[own], np.ones(30))
    # The first half fades to 25 * 2^(-1500 / 256) = .43 of weight; rows left: some 369.
    spread = 0.25 * np.sqrt(2 / 369)
    expected = 0.25 + 25 * np.exp2(-1500 / 256)
    assert confidence.variances[0] == pytest.approx(expected, abs=4 * spread)


def test_a_history_stays_small_and_evenly_spaced():
    history = WeightHistory.of_none(2)
    for block in range(5000):
        history = history.after(32 * (block + 1), np.array([0.25, 0.75]))
        history.validate()
    assert 256 <= history.positions.size < 512
    assert len(set(np.diff(history.positions).tolist())) == 1
    assert history.positions[-1] > 5000 * 32 - 2 * np.diff(history.positions)[0]
