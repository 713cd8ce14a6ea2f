"""The choice by rows that are left out, against refits without them and all their copies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from solvers.regressions import drawn, moments_of, refitted_residuals

from streamchi2.solvers.left_out import Candidates, GramSpectrum, SampledRows, chosen_ridge

WEIGHTS = {
    "alike": np.ones,
    "counts": lambda n: np.random.default_rng(0).integers(1, 5, n).astype(float),
    "faded": lambda n: 2.0 ** (-np.arange(n)[::-1] / 3.0),
    "light": lambda n: 1e-3 * np.random.default_rng(0).uniform(0.5, 2.0, n),
}


def sampled(rows, targets, weights):
    moments = moments_of(rows, targets, weights)
    return moments, SampledRows.of(moments, rows, targets, weights)


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("n_rows", [8, 40])  # fewer rows than features, and more
@given(seed=st.integers(0, 10_000), exponent=st.integers(-6, 6))
def test_both_forms_equal_refits_without_the_row(kind, n_rows, seed, exponent):
    rows, targets = drawn(seed, n_rows, width=12)
    weights = WEIGHTS[kind](n_rows)
    alpha = weights.mean() * 2.0**exponent
    expected = refitted_residuals(rows, targets, weights, alpha)
    moments, sample = sampled(rows, targets, weights)
    spectrum = GramSpectrum.of(SampledRows.alone(rows, targets, weights))
    # The identities are exact; conditions are up to 1e6, of moments 1e7, residuals up to 1e2.
    assert_allclose(spectrum.left_out(alpha), expected, atol=1e-6)
    assert_allclose(sample.left_out_of_ridge(moments, alpha), expected, atol=1e-5)
    assert_allclose(sample.error(expected), spectrum.sample.error(expected), rtol=1e-9)


@pytest.mark.parametrize("kind", WEIGHTS)
@given(seed=st.integers(0, 10_000), noise=st.sampled_from([0.3, 3.0, 30.0]))
def test_both_forms_choose_a_penalty_of_least_error(kind, seed, noise):
    rows, targets = drawn(seed, 40, noise=noise)
    weights = WEIGHTS[kind](40)
    moments, sample = sampled(rows, targets, weights)
    grid = Candidates.of(moments.scatter.trace(), weights, weights.sum())
    errors = {
        alpha: sample.error(sample.left_out_of_ridge(moments, alpha))
        for alpha in map(grid.alpha, range(grid.lowest, grid.highest + 1))
    }
    by_spectrum = GramSpectrum.of(SampledRows.alone(rows, targets, weights)).chosen()
    assert errors[by_spectrum] <= min(errors.values()) * (1 + 2e-5)
    by_moments = chosen_ridge(moments, sample)
    neighbours = [errors.get(by_moments * factor, np.inf) for factor in (0.5, 2.0)]
    assert errors[by_moments] <= min(neighbours) * (1 + 2e-5)
    assert errors[by_moments] <= min(errors.values()) * 1.05  # there may be several valleys


@given(st.integers(0, 10_000), st.floats(1e-9, 1e9))
def test_weights_times_a_number_are_the_penalty_times_the_number(seed, scale):
    rows, targets = drawn(seed, 30, noise=5.0)
    weights = WEIGHTS["counts"](30)
    for choose in (
        lambda w: chosen_ridge(*sampled(rows, targets, w)),
        lambda w: GramSpectrum.of(SampledRows.alone(rows, targets, w)).chosen(),
    ):
        assert choose(scale * weights) == pytest.approx(scale * choose(weights), rel=1e-12)


def test_a_loud_target_of_noise_changes_the_penalty_of_another_little():
    rows, targets = drawn(4, 200, n_targets=1, noise=5.0)
    noise = np.random.default_rng(0).normal(size=(200, 1))
    alphas = [
        chosen_ridge(*sampled(rows, np.hstack([targets, scale * noise]), np.ones(200)))
        for scale in (1.0, 1000.0)
    ]
    assert alphas[0] == alphas[1]
    raw = SampledRows.of(moments_of(rows, targets), rows, targets, np.ones(200), by_variance=False)
    assert raw.error(np.ones((200, 1))) == pytest.approx(200.0)


def test_rows_that_are_their_own_only_neighbours_do_not_choose_the_least_penalty():
    rows = np.eye(60) + 1e-3 * np.random.default_rng(0).normal(size=(60, 60))
    noise = np.random.default_rng(1).normal(size=(60, 1))
    for alpha in (
        chosen_ridge(*sampled(rows, noise, np.ones(60))),
        GramSpectrum.of(SampledRows.alone(rows, noise, np.ones(60))).chosen(),
    ):
        assert alpha >= 1.0


def test_a_perfect_fit_does_not_drive_the_penalty_into_the_rounding_errors():
    rows, targets = drawn(5, 12, width=40, noise=0.0)
    spectrum = GramSpectrum.of(SampledRows.alone(rows, targets[:, :0] + rows[:, :1], np.ones(12)))
    assert spectrum.chosen() > 1e-8 * spectrum.values.sum()


@pytest.mark.parametrize(
    ("rows", "targets"),
    [(np.ones((4, 3)), np.arange(4.0)[:, None]), (np.ones((1, 3)), np.ones((1, 1)))],
)
def test_rows_without_any_difference_take_the_penalty_one(rows, targets):
    weights = np.ones(len(rows))
    assert chosen_ridge(*sampled(rows, targets, weights)) == 1.0
    spectrum = GramSpectrum.of(SampledRows.alone(rows, targets, weights))
    assert spectrum.chosen() == 1.0
    assert np.isfinite(spectrum.left_out(1.0)).all()


@given(st.integers(-12, 12), st.integers(-12, 12), st.integers(0, 3))
def test_the_bottom_of_a_valley_is_reached_from_anywhere(start, bottom, width):
    asked = []

    def error(alpha):
        asked.append(alpha)
        return max(abs(np.log2(alpha) - bottom) - width, 0.0) + 1.0

    chosen = Candidates(1.0, -12, 12, start).search(error)
    assert abs(np.log2(chosen) - bottom) <= width or abs(bottom) + width > 12
    assert len(asked) == len(set(asked)) <= 6 + abs(start - bottom) // 3 + width
