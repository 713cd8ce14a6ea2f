"""What learners remember: kept rows or moments, two kinds of rows, classes by themselves."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from streamchi2.errors import StateMismatchError
from streamchi2.files import dumped, loaded
from streamchi2.statistics.feature_statistics import FeatureStatistics
from streamchi2.statistics.moments import Moments, RegressionMoments
from streamchi2.statistics.targets import matrix

N_FEATURES, N_TARGETS = 4, 3
ORIGIN = np.full(N_FEATURES, 0.5)


@st.composite
def streams(draw, max_rows=30):
    """Features, codes of labels, some absent, weights, and where blocks end."""
    n_rows = draw(st.integers(1, max_rows))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    codes = rng.integers(-1, N_TARGETS, n_rows)
    inner = draw(st.sets(st.integers(1, max_rows), max_size=4))
    cuts = [0, *sorted(cut for cut in inner if cut < n_rows), n_rows]
    return rng.normal(size=(n_rows, N_FEATURES)).astype(dtype), codes, rng.random(n_rows), cuts


def empty(cap=0, half_life=None, by_class=False, target_origin=None):
    target_origin = np.zeros(N_TARGETS) if target_origin is None else target_origin
    return FeatureStatistics(
        (1, 3), ORIGIN, target_origin, cap=cap, half_life=half_life, by_class=by_class
    )


def learnt(statistics, features, codes, weights, cuts):
    for start, stop in itertools.pairwise(cuts):
        part = slice(start, stop)
        keys = np.arange(start, stop, dtype=np.uint64)
        statistics.add(features[part], codes[part], N_TARGETS, weights[part], keys)
    return statistics


def assert_same(left, right, rtol=1e-7, atol=1e-9):
    for name in RegressionMoments.__dataclass_fields__:
        one, other = getattr(left, name), getattr(right, name)
        assert_allclose(one, other, rtol=rtol, atol=atol, err_msg=name)


def reference(features, codes, weights, half_life):
    """Return moments of the labelled rows and of all, with weights that fade by kind."""
    has = codes >= 0
    if half_life is not None:
        weights = weights.copy()
        for kind in (has, ~has):
            weights[kind] *= 0.5 ** (np.arange(np.count_nonzero(kind))[::-1] / half_life)
    labelled = Moments.empty(ORIGIN, np.zeros(N_TARGETS))
    wide = features.astype(np.float64)
    labelled.add(wide[has], matrix(codes[has], N_TARGETS), weights[has])
    every = Moments.empty(ORIGIN)
    every.add(wide, None, weights)
    return labelled, every


@pytest.mark.parametrize("cap", [0, 8, 100])
@pytest.mark.parametrize("half_life", [None, 1.0, 6.0])
@pytest.mark.parametrize("by_class", [False, True])
@given(streams())
def test_statistics_are_moments_of_two_kinds_of_rows_whatever_is_kept(
    cap, half_life, by_class, stream
):
    features, codes, weights, _ = stream
    statistics = learnt(empty(cap, half_life, by_class), *stream)
    labelled, every = reference(features, codes, weights, half_life)
    assert_same(statistics.regression(), labelled.summary())
    assert_allclose(statistics.features().scatter(), every.scatter(), atol=1e-9)
    assert_allclose(statistics.features().mean, every.mean, atol=1e-9)
    n_labelled = np.count_nonzero(codes >= 0)
    assert (statistics.n_labelled, statistics.n_unlabelled) == (n_labelled, len(codes) - n_labelled)
    for counted, n_rows in (
        (statistics.counted, n_labelled),
        (statistics.counted_unlabelled, len(codes) - n_labelled),
    ):
        rate = 1.0 if half_life is None else 0.5 ** (1.0 / half_life)
        assert counted == pytest.approx(sum(rate**age for age in range(n_rows)))
    assert (statistics.kept is not None) == (0 < n_labelled <= cap)
    if statistics.kept is not None:
        assert_array_equal(statistics.kept.features, features[codes >= 0])
        assert_array_equal(statistics.kept.keys, np.flatnonzero(codes >= 0))
        assert statistics.kept.weights.min() > 0.0
    folded = statistics.folded()
    assert folded.kept is None
    assert_same(folded.regression(), statistics.regression())


@pytest.mark.parametrize("caps", [(0, 0), (100, 100), (20, 20), (0, 100), (100, 0)])
@pytest.mark.parametrize("by_class", [False, True])
@given(streams(), streams())
def test_merging_equals_having_seen_both(caps, by_class, left, right):
    mine, theirs = (
        learnt(empty(cap, by_class=by_class), *stream)
        for cap, stream in zip(caps, (left, right), strict=True)
    )
    before = pickle.dumps(theirs)
    parts = [np.concatenate(pair) for pair in zip(left[:3], right[:3], strict=True)]
    labelled, every = reference(*parts, None)
    n_labelled = mine.n_labelled + theirs.n_labelled
    mine.merge(theirs)
    assert_same(mine.regression(), labelled.summary())
    assert_allclose(mine.features().scatter(), every.scatter(), atol=1e-9)
    assert mine.n_labelled == mine.counted == n_labelled
    assert pickle.dumps(theirs) == before
    if caps[0] == caps[1]:
        assert (mine.kept is not None) == (0 < n_labelled <= caps[0])


@pytest.mark.parametrize("cap", [0, 100])
@pytest.mark.parametrize("by_class", [False, True])
@given(streams())
def test_columns_are_moved_when_streams_are_merged(cap, by_class, stream):
    features, codes, weights, _ = stream
    order = np.array([2, 0, 3])
    mine, theirs = (learnt(empty(cap, by_class=by_class), *stream) for _ in range(2))
    mine.merge(theirs, order, 4)
    moved = np.append(order, -1)[codes]
    both = empty(cap, by_class=by_class)
    for labels in (codes, moved):
        both.add(features, labels, 4, weights, np.arange(len(codes), dtype=np.uint64))
    assert_same(mine.regression(), both.regression())


@pytest.mark.parametrize("cap", [0, 5, 100])
def test_columns_of_numbers_that_come_later_have_been_zero(cap):
    rng = np.random.default_rng(0)
    features, weights = rng.normal(size=(9, N_FEATURES)), np.ones(9)
    numbers = rng.normal(size=(9, 3))
    numbers[:4, 2] = 0.0
    keys = np.arange(9, dtype=np.uint64)
    late = empty(cap, target_origin=np.ones(2))
    late.add(features[:4], numbers[:4, :2], 2, weights[:4], keys[:4])
    late.add(features[4:6], numbers[4:6], 3, weights[4:6], keys[4:6])
    late.add(features[6:], np.full((3, 2), np.nan), 3, weights[6:], keys[6:])
    announced = empty(cap, target_origin=np.array([1.0, 1.0, 0.0]))
    announced.add(features[:6], numbers[:6], 3, weights[:6], keys[:6])
    assert_same(late.regression(), announced.regression())
    assert (late.n_labelled, late.n_unlabelled) == (6, 3)


def test_copies_go_ways_of_their_own():
    rng = np.random.default_rng(0)
    features, codes = rng.normal(size=(40, N_FEATURES)), rng.integers(0, N_TARGETS, 40)
    for cap in (0, 100):
        one = learnt(empty(cap), features[:10], codes[:10], np.ones(10), [0, 4, 10])
        copies, before = [one.copy(), one.copy()], one.regression()
        for copy, part in zip(copies, (slice(10, 20), slice(20, 30)), strict=True):
            learnt(copy, features[part], codes[part], np.ones(10), [0, 10])
        assert_same(one.regression(), before, 0.0, 0.0)
        learnt(one, features[30:], codes[30:], np.ones(10), [0, 10])
        for copy, part in zip([*copies, one], np.split(np.arange(10, 40), 3), strict=True):
            rows = np.concatenate([np.arange(10), part])
            again = learnt(empty(cap), features[rows], codes[rows], np.ones(20), [0, 4, 10, 20])
            assert_same(copy.regression(), again.regression(), 0.0, 0.0)


def test_what_cannot_be_squared_is_refused_and_leaves_no_trace():
    statistics = learnt(empty(), np.ones((3, N_FEATURES)), np.zeros(3, int), np.ones(3), [0, 3])
    before = pickle.dumps(statistics)
    with pytest.raises(ValueError, match=r"must be at most 1e\+150, got 1e\+160"):
        learnt(
            statistics,
            np.full((2, N_FEATURES), 1e100),
            np.array([0, -1]),
            np.array([1.0, 1e120]),
            [0, 2],
        )
    assert pickle.dumps(statistics) == before


def test_other_settings_refuse_to_merge_and_leave_no_trace():
    statistics = learnt(empty(), np.ones((3, N_FEATURES)), np.zeros(3, int), np.ones(3), [0, 3])
    before = pickle.dumps(statistics)
    for other in (replace(empty(), sizes=(4,)), empty(half_life=3.0), empty(by_class=True)):
        with pytest.raises(StateMismatchError, match="must agree to merge"):
            statistics.merge(other)
    assert pickle.dumps(statistics) == before


@pytest.mark.parametrize("cap", [0, 12, 100])
@given(streams(), st.booleans())
def test_saving_changes_no_bit_of_what_follows(cap, stream, by_class):
    statistics = learnt(empty(cap, 9.0, by_class), *stream)
    twin = loaded(dumped(statistics))
    for one in (statistics, twin):
        learnt(one, *stream)
    assert dumped(twin) == dumped(statistics)
