"""Leave-one-out in closed form against models that were fitted without the row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from streamchi2.solvers.gram_spectrum import GramSpectrum
from streamchi2.solvers.penalty import penalties
from streamchi2.solvers.ridge import ridge
from streamchi2.statistics.target_moments import TargetMoments

KINDS = ("none", "copies", "light")


def drawn(seed, kind, n_rows=18, width=24):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, width)) / np.sqrt(1.0 + np.arange(width)) + 0.3
    targets = np.column_stack([np.sin(rows[:, 0]), rng.normal(size=n_rows)])
    weights = {
        "none": np.ones(n_rows),
        "copies": rng.integers(1, 4, n_rows).astype(float),
        "light": rng.uniform(0.02, 0.9, n_rows),
    }[kind]
    return rows, targets, weights


def brute_force(rows, targets, weights, alpha, kind):
    """Refit without one copy of each row, or without all of it where weights are no copies."""
    scores = np.empty_like(targets)
    for row in range(len(rows)):
        rest = weights.copy()
        rest[row] -= 1.0 if kind == "copies" else weights[row]
        kept = rest > 0.0
        moments = TargetMoments(rows.shape[1], targets.shape[1]).update(
            rows[kept], targets[kept], weights=rest[kept]
        )
        scores[row] = ridge(moments.summary(), alpha).scores(rows[row : row + 1])[0]
    return scores


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=5, deadline=None)
def test_leave_one_out_equals_refitting_without_the_row(kind, seed):
    rows, targets, weights = drawn(seed, kind)
    spectrum = GramSpectrum.of(rows @ rows.T, targets, weights)
    # From 1e-5 of the largest eigenvalue, where refitting has a condition of 1e5.
    alphas = penalties(spectrum.eigenvalues[-1])[12::6]
    errors = []
    for alpha in alphas:
        expected = brute_force(rows, targets, weights, alpha, kind)
        assert_allclose(spectrum.left_out_scores(targets, alpha), expected, atol=1e-8)
        errors.append(float(weights @ np.square(targets - expected).sum(axis=1)))
    assert_allclose(spectrum.leave_one_out(alphas), np.log(errors), atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_auto_takes_the_penalty_of_least_leave_one_out(kind):
    rows, targets, weights = drawn(0, kind)
    spectrum = GramSpectrum.of(rows @ rows.T, targets, weights)
    alphas = penalties(spectrum.eigenvalues[-1])[4:]  # refitting has a condition of 1e7
    errors = [
        weights @ np.square(targets - brute_force(rows, targets, weights, a, kind)).sum(axis=1)
        for a in alphas
    ]
    assert spectrum.chosen() == pytest.approx(alphas[int(np.argmin(errors))], rel=1e-9)


def test_rows_that_have_faded_to_nothing_are_scored_like_new_ones():
    rows, targets, _ = drawn(1, "none")
    weights = 2.0 ** -np.arange(18.0)[::-1]
    weights[:3] = 1e-40, 1e-300, 0.0
    spectrum = GramSpectrum.of(rows @ rows.T, targets, weights)
    kept = slice(3, None)
    moments = TargetMoments(24, 2).update(rows[kept], targets[kept], weights=weights[kept])
    expected = ridge(moments.summary(), 0.1).scores(rows[:3])
    assert_allclose(spectrum.left_out_scores(targets, 0.1)[:3], expected, atol=1e-9)
    assert np.isfinite(spectrum.leave_one_out(np.array([1e-6, 1.0]))).all()


def test_one_row_alone_is_scored_by_the_mean():
    spectrum = GramSpectrum.of(np.ones((1, 1)), np.array([[3.0]]), np.ones(1))
    assert spectrum.left_out_scores(np.array([[3.0]]), 0.5) == 3.0
    assert spectrum.chosen() == 1.0


def test_without_a_penalty_rows_that_nothing_else_determines_score_the_mean():
    """Centred rows always have an eigenvalue of zero, which was divided by: scores were NaN."""
    random = np.random.default_rng(0)
    rows, targets = random.normal(size=(6, 9)), np.eye(2)[[0, 1, 0, 1, 1, 1]]
    spectrum = GramSpectrum.of(rows @ rows.T, targets, np.ones(6))
    scores = spectrum.left_out_scores(targets, alpha=0.0)
    assert_allclose(scores, np.tile(targets.mean(axis=0), (6, 1)))


def test_without_a_penalty_left_out_scores_are_those_of_least_squares():
    random = np.random.default_rng(1)
    rows, targets = random.normal(size=(9, 3)), random.normal(size=(9, 1))
    found = GramSpectrum.of(rows @ rows.T, targets, np.ones(9)).left_out_scores(targets, alpha=0.0)
    design = np.column_stack([np.ones(9), rows])
    for left, score in enumerate(found):
        others = np.arange(9) != left
        coef, *_ = np.linalg.lstsq(design[others], targets[others], rcond=None)
        assert_allclose(score, design[left] @ coef, rtol=1e-9)
