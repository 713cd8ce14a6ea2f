"""Moments: oracles in exact arithmetic and in float64, and the laws of adding and merging."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from streamchi2.errors import StateMismatchError
from streamchi2.statistics import moments as module
from streamchi2.statistics.moments import Moments, RegressionMoments, of_classes

EPS = np.finfo(np.float64).eps
FIELDS = [name for name in RegressionMoments.__dataclass_fields__ if name != "count"]


def exact(rows, targets, weights):
    """Return the moments in exact arithmetic, rounded at the end."""
    rows, targets, weights = (
        np.vectorize(Fraction, otypes=[object])(part) for part in (rows, targets, weights)
    )
    total = weights.sum()
    mean, target_mean = weights @ rows / total, weights @ targets / total
    centred, numbers = rows - mean, targets - target_mean
    weighted = weights[:, None] * centred
    answers = {
        "weight": total,
        "mean": mean,
        "scatter": weighted.T @ centred,
        "target_mean": target_mean,
        "cross": weighted.T @ numbers,
        "target_scatter": weights @ numbers**2,
    }
    return {name: np.asarray(value, dtype=np.float64) for name, value in answers.items()}


def moments_of(rows, targets, weights=None, *, origin=None, sizes=()):
    """Return moments of rows that are added in blocks of these sizes, then the rest."""
    weights = np.ones(len(rows)) if weights is None else weights
    origin = np.zeros(rows.shape[1]) if origin is None else origin
    n_targets = 0 if targets is None else targets.shape[1]
    moments = Moments.empty(origin, np.zeros(n_targets))
    ends = [*np.cumsum(sizes).astype(int).tolist(), len(rows)]
    for start, stop in zip([0, *ends], ends, strict=False):
        part = slice(start, stop)
        moments.add(rows[part], None if targets is None else targets[part], weights[part])
    return moments


def assert_same(left, right, rtol=1e-10, atol=0.0):
    for name in FIELDS:
        assert_allclose(
            getattr(left, name), getattr(right, name), rtol=rtol, atol=atol, err_msg=name
        )


@st.composite
def weighted_rows(draw, n_targets=2):
    n_rows = draw(st.integers(1, 20))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    rows = rng.integers(-64, 64, (n_rows, 3)) / 8.0 + draw(st.sampled_from([0.0, 100.0]))
    weights = rng.integers(1, 16, n_rows) / 4.0
    sizes = draw(st.lists(st.integers(0, 5), max_size=3))
    return rows, rng.integers(-9, 9, (n_rows, n_targets)) / 2.0, weights, sizes


@given(weighted_rows(), st.sampled_from([0.0, 3.0, -1e3]))
def test_moments_agree_with_exact_arithmetic(stream, origin):
    rows, targets, weights, sizes = stream
    sizes = [size for size, end in zip(sizes, np.cumsum(sizes), strict=True) if end <= len(rows)]
    moments = moments_of(rows, targets, weights, origin=np.full(3, origin), sizes=sizes)
    summary, size = moments.summary(), weights.sum() * (np.abs(rows).max() + abs(origin)) ** 2
    for name, value in exact(rows, targets, weights).items():
        assert_allclose(getattr(summary, name), value, rtol=64 * EPS, atol=64 * EPS * size)
    assert_array_equal(np.tril(moments.upper, -1), 0.0)
    assert_array_equal(summary.scatter, summary.scatter.T)
    assert_array_equal(np.tril(summary.scatter), np.tril(moments.scatter(whole=False)))
    assert (summary.scatter.diagonal() >= 0.0).all()


@given(weighted_rows(), weighted_rows(), st.booleans())
def test_merging_equals_one_pass_whatever_the_origins(left, right, same_origin):
    other_origin = np.zeros(3) if same_origin else np.array([5.0, -2.0, 0.5])
    mine = moments_of(*left[:3])
    theirs = Moments.empty(other_origin, np.array([1.0, -3.0]))
    theirs.add(*right[:3])
    before = {name: np.copy(value) for name, value in vars(theirs).items()}
    one_pass = moments_of(*(np.concatenate(pair) for pair in zip(left[:3], right[:3], strict=True)))
    mine.merge(theirs)
    assert_same(mine.summary(), one_pass.summary(), atol=1e-8)
    adopted = Moments.empty(np.zeros(3), np.zeros(2))
    adopted.merge(theirs)
    adopted.merge(Moments.empty(np.ones(3), np.zeros(2)))
    assert_same(adopted.summary(), theirs.summary(), atol=1e-8)
    for name, value in before.items():
        assert_array_equal(getattr(theirs, name), value)


@pytest.mark.parametrize("n_rows", [5, 200])
def test_fading_while_adding_is_fading_before(n_rows):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2 * n_rows, 6)).astype(np.float32)
    targets, weights = rng.normal(size=(2 * n_rows, 2)), rng.random(2 * n_rows)
    one = moments_of(rows[:n_rows], targets[:n_rows], weights[:n_rows])
    other = one.copy()
    one.add(rows[n_rows:], targets[n_rows:], weights[n_rows:], fading=0.25)
    other.fade(0.25)
    other.add(rows[n_rows:], targets[n_rows:], weights[n_rows:])
    assert_same(one.summary(), other.summary())
    lighter = np.concatenate([0.25 * weights[:n_rows], weights[n_rows:]])
    assert_same(one.summary(), moments_of(rows, targets, lighter).summary(), 1e-5, 1e-4)
    assert one.count == pytest.approx(other.count)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("jump", [0.0, 10.0, 100.0, 1000.0])
def test_rows_may_jump_far_away_from_the_origin(dtype, jump):
    """As of rows that jump to and fro, so that blocks lie on both sides of what is remembered."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1088, 24)) @ np.diag(np.geomspace(1, 1e-2, 24))
    rows[64:] += jump * np.geomspace(1, 1e-2, 24)
    rows = rows.astype(dtype)
    targets = rows[:, :1].astype(np.float64) + rng.normal(size=(1088, 1))
    origin = rows[:64].mean(axis=0, dtype=np.float64)
    moments = Moments.empty(origin, targets[:64].mean(axis=0))
    for start, stop in ((64, 576), (576, 1088)):
        moments.add(rows[start:stop], targets[start:stop], np.ones(stop - start))
    wide = rows[64:].astype(np.float64)
    centred, numbers = wide - wide.mean(axis=0), targets[64:] - targets[64:].mean(axis=0)
    summary, spread = moments.summary(), np.linalg.norm(centred, axis=0)
    error = np.abs(summary.scatter - centred.T @ centred) / np.outer(spread, spread)
    crossed = np.abs(summary.cross - centred.T @ numbers).ravel() / spread / np.linalg.norm(numbers)
    # Products in float32 err as a walk of 512 steps; what is subtracted has J^2 times the size.
    rounding = np.finfo(dtype).eps * (np.sqrt(512) if dtype == np.float32 else 64.0)
    assert error.max() < (1.0 if dtype == np.float32 else 0.0) * rounding + 64 * EPS * (1 + jump**2)
    assert crossed.max() < 64 * EPS * (1 + jump**2)
    assert_allclose(summary.mean, wide.mean(axis=0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("weight", [1e-140, 1e-30, 1.0, 1e30, 1e140])
@pytest.mark.parametrize("scale", [1e-37, 1e-13, 1.0, 1e13, 1e37])
def test_any_size_of_weights_and_of_float32_features_gives_the_same_shape(weight, scale):
    rows = np.random.default_rng(2).normal(size=(300, 3))
    scatter = (rows - rows.mean(axis=0)).T @ (rows - rows.mean(axis=0))
    rows = (scale * rows).astype(np.float32)
    moments = moments_of(rows, None, np.full(300, weight))
    shape = moments.scatter() / weight / scale / scale
    assert_allclose(shape, scatter, rtol=1e-4, atol=1e-3)


@given(weighted_rows())
def test_labels_are_one_hot_columns(stream):
    rows, _, weights, _ = stream
    codes = np.arange(len(rows)) % 3
    one_hot = sparse.csr_array(
        (np.ones(len(rows)), codes, np.arange(len(rows) + 1)), (len(rows), 5)
    )
    labels = moments_of(rows, one_hot, weights)
    assert_same(labels.summary(), moments_of(rows, one_hot.toarray(), weights).summary(), atol=1e-9)
    # A class that comes late gives the same as one announced; blocks and merges may be narrower.
    late = Moments.empty(np.zeros(3), np.zeros(0))
    for n_columns, part in ((1, codes == 0), (2, codes == 1), (5, codes == 2)):
        late.grow(n_columns)
        late.add(rows[part], sparse.csr_array(one_hot[part][:, :n_columns]), weights[part])
    assert_same(late.summary(), labels.summary(), atol=1e-9)
    merged = moments_of(rows[:0], one_hot[:0, :1])
    order = np.array([2, 0, 1])
    other = moments_of(rows, sparse.csr_array(one_hot[:, order]), weights)
    merged.merge(other, order)
    expected = labels.summary()
    assert_allclose(merged.summary().cross, expected.cross[:, :3], atol=1e-9)


@given(weighted_rows(), st.lists(st.floats(0.1, 9.0), min_size=3, max_size=3))
def test_classes_are_put_together_with_any_factors(stream, factors):
    rows, _, weights, _ = stream
    codes, factors = np.arange(len(rows)) % 3, np.array(factors)
    parts = [Moments.empty(np.ones(3)) for _ in range(3)]
    for label, part in enumerate(parts):
        part.add(rows[codes == label], None, weights[codes == label])
    together = of_classes(parts, factors)
    one_hot = np.eye(3)[codes]
    weighted = moments_of(rows, one_hot, factors[codes] * weights, origin=np.ones(3))
    assert_same(together.summary(), weighted.summary(), atol=1e-8)
    assert together.count == pytest.approx(weighted.count)


@pytest.mark.parametrize("n_rows", [3, 300])  # formed in float64, and in float32 by strips
def test_strips_add_up_to_the_upper_triangle(n_rows, monkeypatch):
    monkeypatch.setattr(module, "_STRIP_ROWS", 3)
    rows = np.random.default_rng(0).normal(size=(n_rows, 21)).astype(np.float32)
    moments = moments_of(rows, None)
    wide = rows.astype(np.float64)
    assert_allclose(moments.scatter(), n_rows * np.cov(wide.T, bias=True), atol=2e-3)
    assert_array_equal(np.tril(moments.upper, -1), 0.0)


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=20), st.floats(1e-6, 1.0))
def test_the_count_is_that_of_rows_whatever_the_unit_of_their_weights(weights, unit):
    weights = np.array(weights)
    light = moments_of(np.zeros((weights.size, 1)), None, unit * weights / weights.max())
    # Weights of at most one: Kish's number of rows, which knows no unit. Sums of 20 terms.
    expected = weights.sum() ** 2 / np.square(weights).sum()
    assert_allclose(light.count, expected, rtol=64 * EPS)
    whole = np.ceil(weights)
    assert moments_of(np.zeros((weights.size, 1)), None, whole).count == whole.sum()


def test_moments_of_another_width_refuse_to_merge():
    moments = moments_of(np.arange(6.0).reshape(2, 3), None)
    with pytest.raises(StateMismatchError, match="n_features must agree to merge, got 3 and 4"):
        moments.merge(Moments.empty(np.zeros(4)))
