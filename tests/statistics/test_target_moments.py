"""Moments with targets and with classes: oracles, and the laws both of them share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from streamchi2.errors import StateMismatchError
from streamchi2.statistics.class_moments import ClassMoments
from streamchi2.statistics.target_moments import TargetMoments

EPS = np.finfo(np.float64).eps
FIELDS = ("weight", "mean", "scatter", "target_mean", "cross", "target_scatter")

seeds = st.integers(0, 2**32 - 1)
sizes = st.lists(st.integers(0, 40), min_size=1, max_size=5)


def drawn(seed, n_rows, n_classes=4):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 3)) + 5.0
    labels = rng.integers(0, n_classes, n_rows)
    weights = rng.uniform(0.0, 2.0, n_rows) * (rng.random(n_rows) < 0.9)
    return rows, labels, weights


def one_hot(labels, classes):
    return (labels[:, None] == classes).astype(np.float64)


def assert_same_moments(left, right, n_rows):
    # Unit deviations, weights up to 2, values up to 10: n products, each rounded a few times.
    atol = 64 * EPS * (n_rows + 1) * 100
    for field in FIELDS:
        assert_allclose(getattr(left, field), getattr(right, field), atol=atol, rtol=0)


@given(seeds, sizes)
def test_both_kinds_equal_two_passes_over_weighted_rows(seed, sizes):
    n_rows = sum(sizes)
    rows, labels, weights = drawn(seed, n_rows)
    classes = np.unique(labels)
    targets = one_hot(labels, classes)
    by_class = ClassMoments(3)
    by_target = TargetMoments(3, max(classes.size, 1))
    start = 0
    for size in sizes:
        part = slice(start, start + size)
        by_class.update(rows[part], labels[part], weights=weights[part])
        if classes.size:
            by_target.update(rows[part], targets[part], weights=weights[part])
        start += size
    if not classes.size:
        return
    summary = by_target.summary()
    assert_same_moments(by_class.summary(), summary, n_rows)
    if weights.sum() > 0:
        centred = rows - np.average(rows, axis=0, weights=weights)
        deviations = targets - np.average(targets, axis=0, weights=weights)
        cross = (weights[:, None] * centred).T @ deviations
        assert_allclose(summary.cross, cross, atol=64 * EPS * n_rows * 100, rtol=0)
        scatter = (weights[:, None] * deviations**2).sum(axis=0)
        assert_allclose(summary.target_scatter, scatter, atol=64 * EPS * n_rows * 100, rtol=0)


@given(seeds, sizes)
def test_merging_shards_equals_one_pass(seed, sizes):
    n_rows = sum(sizes)
    rows, labels, weights = drawn(seed, n_rows)
    targets = one_hot(labels, np.arange(4))
    merged, whole = ClassMoments(3, classes=np.arange(4)), ClassMoments(3, classes=np.arange(4))
    numbers, whole_numbers = TargetMoments(3, 4), TargetMoments(3, 4)
    start = 0
    for size in reversed(sizes):
        part = slice(start, start + size)
        merged.merge(ClassMoments(3).update(rows[part], labels[part], weights=weights[part]))
        shard = TargetMoments(3, 4).update(rows[part], targets[part], weights=weights[part])
        before = shard.copy()
        numbers.merge(shard)
        assert shard == before
        start += size
    whole.update(rows, labels, weights=weights)
    whole_numbers.update(rows, targets, weights=weights)
    assert_array_equal(merged.classes, whole.classes)
    assert_same_moments(merged.summary(), whole.summary(), n_rows)
    assert_same_moments(numbers.summary(), whole_numbers.summary(), n_rows)


@given(seeds, sizes)
def test_a_class_that_appears_late_equals_one_announced_bit_for_bit(seed, sizes):
    rows, labels, weights = drawn(seed, sum(sizes))
    late, announced = ClassMoments(3), ClassMoments(3, classes=np.unique(labels))
    start = 0
    for size in sizes:
        part = slice(start, start + size)
        for moments in (late, announced):
            moments.update(rows[part], labels[part], weights=weights[part])
        start += size
    assert late == announced


def test_empty_moments_are_the_identity_of_merge():
    rows, labels, _ = drawn(0, 20)
    by_class = ClassMoments(3).update(rows, labels)
    assert by_class.copy().merge(ClassMoments(3)) == by_class
    assert ClassMoments(3).merge(by_class) == by_class
    by_target = TargetMoments(3, 2).update(rows, rows[:, :2])
    assert by_target.copy().merge(TargetMoments(3, 2)) == by_target
    assert TargetMoments(3, 2).merge(by_target) == by_target


def test_copies_share_no_numbers():
    rows, labels, _ = drawn(0, 20)
    for moments, answers in (
        (ClassMoments(3).update(rows, labels), labels),
        (TargetMoments(3, 1).update(rows, rows[:, :1]), rows[:, :1]),
    ):
        twin = moments.copy()
        moments.update(rows, answers)
        assert twin != moments
        assert twin.update(rows, answers) == moments


@pytest.mark.parametrize("offset", [1e6, -1e6])
def test_offsets_of_features_and_targets_cost_no_accuracy(offset):
    rng = np.random.default_rng(3)
    rows, targets = rng.normal(size=(900, 5)), rng.normal(size=(900, 2))
    plain, moved = TargetMoments(5, 2), TargetMoments(5, 2)
    for part in np.split(np.arange(900), 3):
        plain.update(rows[part], targets[part])
        moved.update(rows[part] + offset, targets[part] - offset)
    # Moving a value rounds it by at most eps*offset/2.
    atol = 900 * 8 * EPS * abs(offset)
    for field in ("scatter", "cross", "target_scatter"):
        left, right = (getattr(moments.summary(), field) for moments in (plain, moved))
        assert_allclose(left, right, atol=atol, rtol=0)


@pytest.mark.parametrize("scale", [1.0, 1e25])
def test_float32_features_lose_no_more_than_their_own_rounding(scale):
    rng = np.random.default_rng(4)
    rows = (rng.normal(size=(1500, 6)) + 10.0).astype(np.float32)
    targets = scale * (rows[:, :2].astype(np.float64) + rng.normal(size=(1500, 2)))
    single = TargetMoments(6, 2).update(rows, targets).summary()
    double = TargetMoments(6, 2).update(rows.astype(np.float64), targets).summary()
    # 1500 rounded additions, whose errors wander as the square root of their number.
    atol = np.sqrt(1500) * np.finfo(np.float32).eps * 1500
    assert_allclose(single.cross / scale, double.cross / scale, atol=atol, rtol=0)
    labels = rng.integers(0, 5, 1500)
    single = ClassMoments(6).update(rows, labels).summary()
    double = ClassMoments(6).update(rows.astype(np.float64), labels).summary()
    assert_allclose(single.cross, double.cross, atol=atol, rtol=0)


@pytest.mark.parametrize(
    ("moments", "other", "message"),
    [
        (TargetMoments(3, 1), TargetMoments(3, 2), "n_targets must agree to merge, got 1 and 2"),
        (TargetMoments(3, 1), TargetMoments(2, 1), "n_features must agree to merge, got 3 and 2"),
        (ClassMoments(3), ClassMoments(2), "n_features must agree to merge, got 3 and 2"),
        (
            ClassMoments(3, classes=np.array(["a"])),
            ClassMoments(3, classes=np.array([1])),
            "classes must be all text or all numbers",
        ),
    ],
)
def test_merging_under_other_params_is_refused_without_a_trace(moments, other, message):
    before = moments.copy()
    with pytest.raises(StateMismatchError, match=message):
        moments.merge(other)
    assert moments == before


def test_answers_of_the_wrong_shape_are_refused_without_a_trace():
    by_class, by_target = ClassMoments(3), TargetMoments(3, 1)
    with pytest.raises(ValueError, match=r"labels must have shape \(2,\), got \(3,\)"):
        by_class.update(np.ones((2, 3)), np.arange(3))
    with pytest.raises(ValueError, match=r"targets must have shape \(2, 1\), got \(2,\)"):
        by_target.update(np.ones((2, 3)), np.ones(2))
    assert by_class == ClassMoments(3)
    assert by_target == TargetMoments(3, 1)


@pytest.mark.parametrize("moments", [ClassMoments(3), TargetMoments(3, 1)])
def test_one_triangle_of_the_scatter_is_its_lower_one(moments):
    rows = np.random.default_rng(0).gamma(0.5, size=(80, 4))
    targets = np.arange(80) % 2 if isinstance(moments, ClassMoments) else rows[:, 3:4]
    moments.update(rows[:, :3], targets)
    lower = moments.summary(whole=False).scatter
    assert_array_equal(np.tril(moments.summary().scatter), np.tril(lower))
