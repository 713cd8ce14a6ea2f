"""The choice of the ridge penalty: dense formulas, weights as counts, no dip where n = D."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from streamchi2.solvers.calibration import left_out_scores, own_shares
from streamchi2.solvers.gram_spectrum import GramSpectrum
from streamchi2.solvers.lasso import elastic_net_by_gcv
from streamchi2.solvers.least_squares import least_squares
from streamchi2.solvers.penalty import Path, penalties, reml
from streamchi2.solvers.ridge import ridge, tuned_ridge
from streamchi2.statistics.target_moments import TargetMoments


def drawn(seed, n_rows=50, width=12, noise=1.0):
    """Rows whose variances fall, targets that depend on the first ones."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, width)) / np.sqrt(1.0 + np.arange(width)) + 0.5
    signal = np.column_stack([np.sin(2.0 * rows[:, 0]), rows[:, 1] - rows[:, 0]])
    return rows, signal + noise * rng.normal(size=(n_rows, 2))


def moments_of(rows, targets, weights=None):
    moments = TargetMoments(rows.shape[1], targets.shape[1])
    return moments.update(rows, targets, weights=weights).summary()


def primal_alpha(rows, targets, weights):
    return tuned_ridge(moments_of(rows, targets, weights)).alpha


def dual_alpha(rows, targets, weights):
    return GramSpectrum.of(rows @ rows.T, targets, weights).chosen()


def spectral_path(rows, targets):
    centred, answers = rows - rows.mean(axis=0), targets - targets.mean(axis=0)
    vectors, roots, _ = np.linalg.svd(centred, full_matrices=False)
    squares, total = np.square(vectors.T @ answers).sum(axis=1), float(np.square(answers).sum())
    alphas = penalties(float(roots[0] ** 2))
    rest, outside = alphas[:, None] / (roots**2 + alphas[:, None]), total - squares.sum()
    residuals, objectives = rest**2 @ squares + outside, rest @ squares + outside
    return Path(alphas, residuals, objectives, roots**2, total, len(rows))


@given(st.integers(0, 10_000), st.sampled_from([(30, 8), (20, 40)]))
@settings(max_examples=20, deadline=None)
def test_reml_is_the_restricted_likelihood_of_the_mixed_model(seed, shape):
    rows, targets = drawn(seed, *shape)
    n, path = len(rows), spectral_path(rows, targets)
    chosen = slice(12, 40, 3)  # from 1e-5 of the largest eigenvalue: V has a condition below 1e6
    expected = []
    for alpha in path.alphas[chosen]:
        covariance = np.eye(n) + rows @ rows.T / alpha
        inverse = np.linalg.inv(covariance)
        ones = inverse.sum()
        projected = inverse - np.outer(inverse.sum(axis=1), inverse.sum(axis=0)) / ones
        error = np.einsum("it,ij,jt->", targets, projected, targets)
        determinants = np.linalg.slogdet(covariance)[1] + np.log(ones)
        expected.append(np.log(error) + determinants / (n - 1.0))
    expected = np.array(expected)
    found = reml(path)[chosen]
    # Restricted likelihoods are defined up to a constant.
    assert_allclose(found - found[0], expected - expected[0], atol=1e-7)


@given(st.integers(0, 10_000), st.sampled_from([(30, 8), (60, 40)]))
@settings(max_examples=20, deadline=None)
def test_a_tridiagonal_form_gives_the_path_of_singular_values(seed, shape):
    rows, targets = drawn(seed, *shape)
    chosen = spectral_path(rows, targets).chosen()
    assert primal_alpha(rows, targets, np.ones(len(rows))) == pytest.approx(chosen, rel=1e-9)


@pytest.mark.parametrize("form", [primal_alpha, dual_alpha])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=10, deadline=None)
def test_integer_weights_are_repeated_rows(form, seed):
    rows, targets = drawn(seed, n_rows=30)
    counts = np.random.default_rng(seed).integers(1, 4, len(rows))
    repeated = np.repeat(rows, counts, axis=0), np.repeat(targets, counts, axis=0)
    weighted = form(rows, targets, counts.astype(float))
    assert weighted == pytest.approx(form(*repeated, np.ones(counts.sum())), rel=1e-9)


@pytest.mark.parametrize("form", [primal_alpha, dual_alpha])
@given(seed=st.integers(0, 10_000), scale=st.floats(1e-9, 1.0), even=st.booleans())
@settings(max_examples=10, deadline=None)
def test_weights_scaled_down_scale_the_penalty_and_change_no_prediction(form, seed, scale, even):
    rows, targets = drawn(seed)
    weights = np.ones(len(rows)) if even else np.random.default_rng(seed).uniform(0.01, 1.0, 50)
    whole, light = (form(rows, targets, w) for w in (weights, scale * weights))
    assert light == pytest.approx(scale * whole, rel=1e-9)
    expected = ridge(moments_of(rows, targets, weights), whole).scores(rows)
    found = ridge(moments_of(rows, targets, scale * weights), light).scores(rows)
    assert_allclose(found, expected, atol=1e-6)


def test_light_rows_are_not_few_rows():
    rows, targets = drawn(0, n_rows=400)
    moments = moments_of(rows, targets, np.full(400, 0.01))
    assert moments.count == pytest.approx(400.0, rel=1e-12)
    model = tuned_ridge(moments)
    by_sum = tuned_ridge(replace(moments, count=moments.weight))  # as if there had been four rows
    answers = targets - targets.mean(axis=0)
    explained = [np.square(m.scores(rows) - targets.mean(axis=0)).sum() for m in (model, by_sum)]
    assert explained[0] > 0.1 * np.square(answers).sum()
    assert explained[1] < 0.5 * explained[0]


@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_lasso_and_elastic_net_count_light_rows_too(l1_ratio):
    rows, targets = drawn(1)
    light = np.full(len(rows), 0.01)
    whole = elastic_net_by_gcv(moments_of(rows, targets), l1_ratio)
    found = elastic_net_by_gcv(moments_of(rows, targets, light), l1_ratio)
    assert found.alpha == pytest.approx(whole.alpha, rel=1e-9)
    assert_allclose(found.coef, whole.coef, atol=1e-7)


def test_shares_of_light_rows_are_those_of_whole_ones():
    rows, targets = drawn(2)
    light = np.full(len(rows), 0.01)
    whole, faded = moments_of(rows, targets), moments_of(rows, targets, light)
    expected = own_shares(ridge(whole, 1.0), whole, rows, exact=True)
    model = ridge(faded, 0.01)
    found = own_shares(model, faded, rows, exact=True)
    assert_allclose(found, expected, atol=1e-10)
    left_out = left_out_scores(model.scores(rows), targets, found)
    rest = np.arange(1, len(rows))
    brute = ridge(moments_of(rows[rest], targets[rest], light[rest]), 0.01)
    assert_allclose(left_out[0], brute.scores(rows[:1])[0], atol=1e-9)


def with_near_copies(seed, n_rows, width, share):
    """Rows a share of which are almost another row, with the same target; then 500 without."""
    rows, targets = drawn(seed, n_rows + 500, width, noise=0.2)
    rng = np.random.default_rng(seed)
    for row in 1 + np.flatnonzero(rng.random(n_rows - 1) < share):
        other = rng.integers(row)
        rows[row] = rows[other] + 0.01 * rng.normal(size=width)
        targets[row] = targets[other]
    return rows, targets


def learning_curve(sizes, width, seed, share):
    """Squared errors on 500 new rows: all rows below n = D, moments from there."""
    rows, targets = with_near_copies(seed, max(sizes), width, share)
    errors = []
    for n in sizes:
        seen, answers = rows[:n], targets[:n]
        moments = moments_of(seen, answers)
        chosen = dual_alpha if n < width else primal_alpha
        alpha = chosen(seen, answers, np.ones(n))
        scores = ridge(moments, alpha).scores(rows[-500:])
        errors.append(np.square(scores - targets[-500:]).sum(axis=1).mean())
    return errors


SIZES = [8, 16, 32, 48, 62, 64, 65, 68, 80, 128, 640]


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_no_dip_where_rows_are_as_many_as_features(share):
    n_seeds = 10
    curves = np.array([learning_curve(SIZES, 64, seed, share) for seed in range(n_seeds)])
    for later in range(1, len(SIZES)):
        rise = curves[:, later, None] - curves[:, :later]
        standard_error = rise.std(axis=0, ddof=1) / np.sqrt(n_seeds)
        assert (rise.mean(axis=0) <= standard_error).all(), SIZES[later]


@pytest.mark.parametrize("form", [primal_alpha, dual_alpha])
def test_targets_without_any_difference_take_the_strongest_penalty(form):
    rows, _ = drawn(3)
    alpha = form(rows, np.ones((len(rows), 1)), np.ones(len(rows)))
    largest = np.linalg.norm(rows - rows.mean(axis=0), 2) ** 2
    assert alpha == pytest.approx(penalties(largest)[-1], rel=1e-9)


@pytest.mark.parametrize("form", [primal_alpha, dual_alpha])
@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_few_rows_still_have_a_penalty(form, n_rows):
    rows, targets = drawn(4, n_rows=n_rows)
    alpha = form(rows, targets, np.ones(n_rows))
    assert 0.0 < alpha < np.inf


@pytest.mark.parametrize("form", [primal_alpha, dual_alpha])
def test_rows_without_any_difference_take_the_penalty_one(form):
    assert form(np.ones((5, 3)), np.arange(5.0)[:, None], np.ones(5)) == 1.0


def test_differences_by_rounding_are_none():
    assert dual_alpha(np.full((7, 3), 0.1), np.arange(7.0)[:, None], np.ones(7)) == 1.0


@pytest.mark.parametrize("alpha", ["loo", "gcv", "reml"])
@pytest.mark.parametrize("penalty", ["ridge", "lasso"])
def test_other_ways_to_choose_are_refused(penalty, alpha):
    with pytest.raises(ValueError, match=f"alpha must be a number or 'auto', got '{alpha}'"):
        least_squares(moments_of(*drawn(5)), penalty=penalty, alpha=alpha)
