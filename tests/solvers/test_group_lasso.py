"""Group lasso: its optimality conditions, an independent oracle, its path and its choice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from solvers.regressions import moments_of

from streamchi2.solvers.block_vectors import BlockVectors, consecutive
from streamchi2.solvers.group_lasso import (
    Fit,
    chosen_group_scales,
    definite,
    entry_alphas,
    fitted,
    group_lasso,
    group_scales,
    penalty_weights,
    scaled,
    strongest_alpha,
)
from streamchi2.solvers.left_out import SampledRows
from streamchi2.solvers.ridge import ridge


def problem(seed, sizes=(4, 3, 5), n_rows=60, n_targets=2, spread=100.0):
    """Correlated groups of features of which the first two matter."""
    random = np.random.default_rng(seed)
    width = sum(sizes)
    mixing = random.normal(size=(width, width)) * random.uniform(1 / spread, 1.0, width)
    rows = random.normal(size=(n_rows, width)) @ mixing
    effect = np.zeros((width, n_targets))
    effect[: sizes[0] + sizes[1]] = random.normal(size=(sizes[0] + sizes[1], n_targets))
    targets = rows @ effect + 0.5 * random.normal(size=(n_rows, n_targets))
    moments = definite(moments_of(rows, targets))
    return moments, consecutive(sizes), rows, targets


def residual_norms(moments, groups, coef):
    residual = moments.cross - moments.scatter @ coef
    return residual, np.array([np.linalg.norm(residual[group]) for group in groups])


@given(
    seed=st.integers(0, 10**6),
    share=st.floats(1e-4, 1.2),
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    n_rows=st.sampled_from([8, 60]),
)
@settings(max_examples=60)
def test_the_optimality_conditions_hold(seed, share, sizes, n_rows):
    moments, groups, _, _ = problem(seed, (*sizes, 2), n_rows)
    alpha = share * strongest_alpha(moments, groups)
    coef = group_lasso(moments, groups, alpha).coef
    lambdas = alpha * penalty_weights(moments, groups)
    residual, norms = residual_norms(moments, groups, coef)
    # 1e-9 of lambda by the solver; the residual is a difference of cross scatters, of which
    # rounding leaves D eps times the condition of SHS + I, at most 1e6 at such penalties.
    slack = 1e-8 * lambdas + 1e-9 * np.abs(moments.cross).max()
    for group, own, norm, allowed in zip(groups, lambdas, norms, slack, strict=True):
        assert norm <= own + allowed
        length = np.linalg.norm(coef[group])
        if length > 0.0:  # the residual points along the coefficients, with length lambda
            assert_allclose(residual[group], own * coef[group] / length, atol=allowed)


def by_proximal_gradient(moments, groups, alpha, n_steps=3000):
    """The textbook method, slow and sure: a gradient step, then every group is shortened."""
    lambdas = alpha * penalty_weights(moments, groups)
    step = 1.0 / np.linalg.eigvalsh(moments.scatter)[-1]
    coef = np.zeros_like(moments.cross)
    ahead, momentum = coef, 1.0
    for _ in range(n_steps):
        moved = ahead + step * (moments.cross - moments.scatter @ ahead)
        for group, own in zip(groups, lambdas, strict=True):
            length = np.linalg.norm(moved[group])
            moved[group] *= max(1.0 - step * own / length, 0.0) if length else 0.0
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        if np.vdot(ahead - moved, moved - coef) > 0.0:
            following = 1.0  # restart: the momentum points uphill
        ahead = moved + (momentum - 1.0) / following * (moved - coef)
        coef, momentum = moved, following
    return coef


@pytest.mark.parametrize("share", [0.9, 0.3, 0.05])
def test_the_minimum_is_that_of_proximal_gradient(share):
    moments, groups, _, _ = problem(1, spread=5.0)
    alpha = share * strongest_alpha(moments, groups)
    slow = by_proximal_gradient(moments, groups, alpha)
    # Where the slow method has settled to 1e-12 a step, it is within 1e-12 times the condition
    # number, about 1e4 here, of the only minimum.
    assert_allclose(group_lasso(moments, groups, alpha).coef, slow, atol=1e-7)


def test_the_strongest_penalty_is_where_the_first_group_enters():
    moments, groups, _, _ = problem(2)
    strongest = strongest_alpha(moments, groups)
    assert not group_lasso(moments, groups, strongest).coef.any()
    assert group_lasso(moments, groups, 0.999 * strongest).coef.any()


@pytest.mark.parametrize("alpha", [1e160, 1e300])
def test_a_penalty_beyond_all_measure_leaves_everything_out(alpha):
    moments, groups = problem(0)[:2]
    assert not group_lasso(moments, groups, alpha).coef.any()


def test_the_scale_of_a_group_is_irrelevant():
    moments, groups, _, _ = problem(4)
    other = scaled(moments, groups, np.array([1.0, 1e6, 1e-4]))
    alpha = 0.2 * strongest_alpha(moments, groups)
    assert_allclose(strongest_alpha(other, groups), strongest_alpha(moments, groups))
    coef, changed = (group_lasso(m, groups, alpha).coef for m in (moments, other))
    back = np.repeat([1.0, 1e3, 1e-2], [4, 3, 5])[:, None] * changed
    assert_allclose(back, coef, atol=1e-7 * np.abs(coef).max())


def test_a_diagonal_may_be_flat():
    moments, groups, _, _ = problem(5)
    diagonal = moments.scatter.diagonal().copy()
    square = BlockVectors((np.eye(12),)).moments(moments)
    flat = BlockVectors((np.eye(12),)).moments(moments, diagonal)
    square.scatter[:] = np.diag(diagonal)
    coefs = [group_lasso(m, groups, 0.1).coef for m in (square, flat)]
    assert_allclose(*coefs, rtol=1e-12)
    entries = [entry_alphas(definite(m), groups) for m in (square, flat)]
    assert_allclose(*entries, rtol=1e-12)


def test_leverages_are_those_of_ridge_regression_in_the_scales():
    moments, groups, rows, _ = problem(7)
    fit = fitted(moments, groups, 0.05 * strongest_alpha(moments, groups))
    centred, scales = rows - rows.mean(axis=0), np.repeat(fit.scales, [4, 3, 5])
    hat = centred * scales @ np.linalg.inv(np.eye(12) + moments.scatter * scales) @ centred.T
    assert_allclose(fit.leverages(centred), hat.diagonal(), rtol=1e-8)


@pytest.mark.parametrize("factor", [0.01, 1.0, 100.0])
def test_left_out_errors_are_those_of_refits_without_the_row_and_its_copies(factor):
    _, groups, rows, targets = problem(9, (3, 2), 20)
    counts = np.random.default_rng(9).integers(1, 4, 20).astype(float)
    moments = moments_of(rows, targets, counts)
    scales = factor * np.array([0.3, 0.02])
    fit = Fit(moments, groups, 1.0, np.ones(2), scales)
    total, roots = 0.0, np.repeat(np.sqrt(scales), [3, 2])
    for row in range(20):
        others = np.arange(20) != row
        rest = moments_of(rows[others], targets[others], counts[others])
        model = ridge(scaled(rest, groups, scales), 1.0)
        errors = targets[row] - model.scores((rows[row] * roots)[None])[0]
        total += counts[row] * (errors**2 / (moments.target_scatter / moments.weight)).sum()
    sample = SampledRows.of(moments, rows, targets, counts)
    error = sample.error(
        sample.left_out(sample.features @ fit.coef, fit.leverages(sample.features)[:, None])
    )
    assert_allclose(error, total, rtol=1e-8)


@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_groups_are_out_above_the_alphas_of_entry_and_in_below(seed):
    moments, groups, _, _ = problem(seed, (3, 2, 2), 100)
    entries = entry_alphas(moments, groups)
    assert entries.max() == strongest_alpha(moments, groups)
    for group, entry in enumerate(entries):
        if entry > 0.0:
            above, below = (group_scales(moments, groups, entry * f) for f in (1.0001, 0.98))
            assert above[group] == 0.0
            assert below[group] > 0.0


@pytest.mark.parametrize("copies", [1.0, 3.0])
def test_noise_is_left_out_and_what_matters_is_kept(copies):
    random = np.random.default_rng(0)
    rows = random.normal(size=(400, 40))
    targets = np.tanh(rows[:, :10] @ random.normal(size=(10, 3))) + rows[:, 10:13]
    weights = np.full(400, copies)
    moments = moments_of(rows, targets, weights)
    groups = consecutive((10, 10, 10, 10))
    chosen = chosen_group_scales(moments, groups, SampledRows.of(moments, rows, targets, weights))
    assert_array_equal(chosen.scales > 0.0, [True, True, False, False])
    once = moments_of(rows, targets)
    alone = chosen_group_scales(once, groups, SampledRows.of(once, rows, targets, np.ones(400)))
    # Copies change neither alpha nor the predictions: scales are against sums over copies.
    assert chosen.alpha == alone.alpha
    assert_allclose(chosen.scales * copies, alone.scales, rtol=1e-3)


def test_a_scatter_that_rounding_has_made_indefinite_is_no_obstacle():
    moments, groups, _, _ = problem(8, n_rows=8)
    bent = moments.scatter - 1e-9 * np.trace(moments.scatter) * np.eye(12)
    assert np.linalg.eigvalsh(bent)[0] < 0.0
    bent = replace(moments, scatter=bent)
    for share in (1e-3, 1e-6, 1e-9, 1e-200):
        coef = group_lasso(bent, groups, share * strongest_alpha(bent, groups)).coef
        assert np.isfinite(coef).all()


def test_a_group_that_varies_by_rounding_alone_stays_out():
    random = np.random.default_rng(0)
    rows = random.normal(size=(200, 6))
    targets = rows[:, :1] + 0.1 * random.normal(size=(200, 1))
    rows[:, 3:] = 0.1 + 1e-8 * rows[:, :3]  # which would explain the targets
    moments = definite(moments_of(rows, targets))
    groups = consecutive((3, 3))
    assert_allclose(entry_alphas(moments, groups)[1], 0.0, atol=1e-2)
    chosen = chosen_group_scales(
        moments, groups, SampledRows.of(moments, rows, targets, np.ones(200))
    )
    assert chosen.scales[1] == 0.0


def test_nothing_to_learn_from_gives_nothing():
    rows, targets = np.ones((4, 3)), np.ones((4, 1))
    moments = moments_of(rows, targets)
    groups = consecutive((1, 2))
    assert not chosen_group_scales(
        moments, groups, SampledRows.of(moments, rows, targets, np.ones(4))
    ).scales.any()
    assert not entry_alphas(moments, groups).any()
    assert not group_lasso(moments, groups, 0.5).coef.any()


@given(st.integers(0, 10**6), st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1))
@settings(max_examples=20)
def test_block_vectors_equal_the_dense_formulas(seed, shapes):
    random = np.random.default_rng(seed)
    vectors = BlockVectors(tuple(random.normal(size=shape) for shape in shapes))
    dense = vectors.dense()
    rows, targets = random.normal(size=(9, dense.shape[0])), random.normal(size=(9, 2))
    moments = moments_of(rows, targets)
    found = vectors.moments(moments)
    # Sums of at most 40 products of numbers of order ten.
    assert_allclose(found.scatter, dense.T @ moments.scatter @ dense, atol=1e-10)
    assert_allclose(found.cross, dense.T @ moments.cross, atol=1e-11)
    assert_allclose(found.mean, moments.mean @ dense, atol=1e-12)
    assert_allclose(vectors.coordinates(rows), rows @ dense, atol=1e-12)
    coef = random.normal(size=(dense.shape[1], 2))
    assert_allclose(vectors.expanded(coef), dense @ coef, atol=1e-12)
