"""Group lasso: its optimality conditions, an independent oracle, its path and its choice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from solvers.regressions import moments_of, ridge

from streamchi2.solvers.components import consecutive
from streamchi2.solvers.group_lasso import GroupLasso, GroupLassoFit
from streamchi2.solvers.left_out import SampledRows


def problem(seed, sizes=(4, 3, 5), n_rows=60, n_targets=2, spread=100.0):
    """Correlated groups of features of which the first two matter."""
    random = np.random.default_rng(seed)
    width = sum(sizes)
    mixing = random.normal(size=(width, width)) * random.uniform(1 / spread, 1.0, width)
    rows = random.normal(size=(n_rows, width)) @ mixing
    effect = np.zeros((width, n_targets))
    effect[: sizes[0] + sizes[1]] = random.normal(size=(sizes[0] + sizes[1], n_targets))
    targets = rows @ effect + 0.5 * random.normal(size=(n_rows, n_targets))
    moments = moments_of(rows, targets)
    return moments, GroupLasso(moments, consecutive(sizes)), rows, targets


def scaled(moments, roots):
    scatter = moments.scatter * np.outer(roots, roots)
    cross = roots[:, None] * moments.cross
    return replace(moments, mean=moments.mean * roots, scatter=scatter, cross=cross)


def chosen_scales(moments, groups, rows, targets, weights):
    sample = SampledRows.of(moments, rows, targets, weights)
    return GroupLasso(moments, groups).chosen(sample)


@given(
    seed=st.integers(0, 10**6),
    share=st.floats(1e-4, 1.2),
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=4),
    n_rows=st.sampled_from([8, 60]),
)
@settings(max_examples=60)
def test_the_optimality_conditions_hold(seed, share, sizes, n_rows):
    moments, lasso, _, _ = problem(seed, (*sizes, 2), n_rows)
    alpha = share * lasso.strongest
    coef = lasso.fit(alpha).coef
    lambdas = alpha * lasso.penalty_weights
    residual = moments.cross - lasso.scatter @ coef
    # 1e-9 of lambda by the solver; the residual is a difference of cross scatters, of which
    # rounding leaves D eps times the condition of SHS + I, at most 1e6 at such penalties.
    slack = 1e-8 * lambdas + 1e-9 * np.abs(moments.cross).max()
    for group, limit, allowed in zip(lasso.groups, lambdas, slack, strict=True):
        assert np.linalg.norm(residual[group]) <= limit + allowed
        length = np.linalg.norm(coef[group])
        if length > 0.0:  # the residual points along the coefficients, with length lambda
            assert_allclose(residual[group], limit * coef[group] / length, atol=allowed)


def by_proximal_gradient(moments, lasso, alpha, n_steps=3000):
    """The textbook method, slow and sure: a gradient step, then every group is shortened."""
    lambdas = alpha * lasso.penalty_weights
    step = 1.0 / np.linalg.eigvalsh(moments.scatter)[-1]
    coef = np.zeros_like(moments.cross)
    ahead, momentum = coef, 1.0
    for _ in range(n_steps):
        moved = ahead + step * (moments.cross - moments.scatter @ ahead)
        for group, limit in zip(lasso.groups, lambdas, strict=True):
            length = np.linalg.norm(moved[group])
            moved[group] *= max(1.0 - step * limit / length, 0.0) if length else 0.0
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        if np.vdot(ahead - moved, moved - coef) > 0.0:
            following = 1.0  # restart: the momentum points uphill
        ahead = moved + (momentum - 1.0) / following * (moved - coef)
        coef, momentum = moved, following
    return coef


@pytest.mark.parametrize("share", [0.9, 0.3, 0.05])
def test_the_minimum_is_that_of_proximal_gradient(share):
    moments, lasso, _, _ = problem(1, spread=5.0)
    slow = by_proximal_gradient(moments, lasso, share * lasso.strongest)
    # Where the slow method has settled to 1e-12 a step, it is within 1e-12 times the condition
    # number, about 1e4 here, of the only minimum.
    assert_allclose(lasso.fit(share * lasso.strongest).coef, slow, atol=1e-7)


def test_the_strongest_penalty_is_where_the_first_group_enters():
    lasso = problem(2)[1]
    for alpha in (lasso.strongest, 1e160, 1e300):
        assert not lasso.fit(alpha).coef.any()
    assert lasso.fit(0.999 * lasso.strongest).coef.any()


def test_the_scale_of_a_group_is_irrelevant():
    moments, lasso, _, _ = problem(4)
    roots = np.repeat([1.0, 1e3, 1e-2], [4, 3, 5])
    other = GroupLasso(scaled(moments, roots), lasso.groups)
    assert_allclose(other.strongest, lasso.strongest)
    coef = lasso.fit(0.2 * lasso.strongest).coef
    back = roots[:, None] * other.fit(0.2 * lasso.strongest).coef
    assert_allclose(back, coef, atol=1e-7 * np.abs(coef).max())


@pytest.mark.parametrize("factor", [0.01, 1.0, 100.0])
def test_left_out_errors_are_those_of_refits_without_the_row_and_its_copies(factor):
    _, lasso, rows, targets = problem(9, (3, 2), 20)
    counts = np.random.default_rng(9).integers(1, 4, 20).astype(float)
    moments = moments_of(rows, targets, counts)
    scales = factor * np.array([0.3, 0.02])
    expected, roots = [], np.repeat(np.sqrt(scales), [3, 2])
    for row in range(20):
        others = np.arange(20) != row
        rest = moments_of(rows[others], targets[others], counts[others])
        model = ridge(scaled(rest, roots), 1.0)
        expected.append(targets[row] - model.scores((rows[row] * roots)[None])[0])
    fit = GroupLassoFit(GroupLasso(moments, lasso.groups), 1.0, scales)
    residuals = fit.left_out(SampledRows.of(moments, rows, targets, counts))
    assert_allclose(residuals, expected, rtol=1e-7)


@given(st.integers(0, 10**6))
@settings(max_examples=10)
def test_groups_are_out_above_the_alphas_of_entry_and_in_below(seed):
    lasso = problem(seed, (3, 2, 2), 100)[1]
    entries = lasso.entry_alphas()
    assert entries.max() == lasso.strongest
    for group, entry in enumerate(entries):
        if entry > 0.0:
            above, below = (lasso.fit(entry * factor).scales for factor in (1.0001, 0.98))
            assert above[group] == 0.0
            assert below[group] > 0.0


@pytest.mark.parametrize("copies", [1.0, 3.0])
def test_noise_is_left_out_and_what_matters_is_kept(copies):
    random = np.random.default_rng(0)
    rows = random.normal(size=(400, 40))
    targets = np.tanh(rows[:, :10] @ random.normal(size=(10, 3))) + rows[:, 10:13]
    groups = consecutive((10, 10, 10, 10))
    chosen, alone = (
        chosen_scales(moments_of(rows, targets, weights), groups, rows, targets, weights)
        for weights in (np.full(400, copies), np.ones(400))
    )
    assert_array_equal(chosen.scales > 0.0, [True, True, False, False])
    # Copies change neither alpha nor the predictions: scales are against sums over copies.
    assert chosen.alpha == alone.alpha
    assert_allclose(chosen.scales * copies, alone.scales, rtol=1e-3)


def test_a_scatter_that_rounding_has_made_indefinite_is_no_obstacle():
    moments, lasso, _, _ = problem(8, n_rows=8)
    bent = moments.scatter - 1e-9 * np.trace(moments.scatter) * np.eye(12)
    assert np.linalg.eigvalsh(bent)[0] < 0.0
    lasso = GroupLasso(replace(moments, scatter=bent), lasso.groups)
    for share in (1e-3, 1e-6, 1e-9, 1e-200):
        assert np.isfinite(lasso.fit(share * lasso.strongest).coef).all()


def test_a_group_that_varies_by_rounding_alone_stays_out():
    random = np.random.default_rng(0)
    rows = random.normal(size=(200, 6))
    targets = rows[:, :1] + 0.1 * random.normal(size=(200, 1))
    rows[:, 3:] = 0.1 + 1e-8 * rows[:, :3]  # which would explain the targets
    moments, groups = moments_of(rows, targets), consecutive((3, 3))
    assert_allclose(GroupLasso(moments, groups).entry_alphas()[1], 0.0, atol=1e-2)
    assert chosen_scales(moments, groups, rows, targets, np.ones(200)).scales[1] == 0.0


def test_nothing_to_learn_from_gives_nothing():
    rows, targets = np.ones((4, 3)), np.ones((4, 1))
    moments, groups = moments_of(rows, targets), consecutive((1, 2))
    assert not chosen_scales(moments, groups, rows, targets, np.ones(4)).scales.any()
    assert not GroupLasso(moments, groups).entry_alphas().any()
    assert not GroupLasso(moments, groups).fit(0.5).coef.any()
