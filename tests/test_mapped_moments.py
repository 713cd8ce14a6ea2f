"""Moments under a map against the features they stand for, and the laws of merging."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from streamchi2.adaptive_map import AdaptiveMap
from streamchi2.errors import StateMismatchError
from streamchi2.map_plan import MapSettings
from streamchi2.mapped_moments import MappedMoments, with_labels, without_labels
from streamchi2.statistics.class_moments import ClassMoments
from streamchi2.statistics.target_moments import TargetMoments

WIDTH, D = 4, 32


def map_settings(**words):
    usual = {
        "n_features": WIDTH, "n_components": D, "beta": "auto", "dof": 2, "series": "direct",
        "n_terms": 3, "basis": "orthogonal", "n_buckets": "auto", "adapt": False, "half_life": None,
        "seed": 0, "dtype": "float64",
    }  # fmt: skip
    return MapSettings(**{**usual, **words})


def tracker_of(labelled=None, recipe=None, **words):
    return MappedMoments(AdaptiveMap(map_settings(**words), recipe), labelled)


def drawn(n_rows=80, seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(0.5, size=(n_rows, WIDTH)), rng.integers(0, 3, n_rows)


def some_labels(labels, known):
    targets = with_labels(labels)
    targets[~known] = without_labels(int((~known).sum()), labels.dtype)
    return targets


def test_rows_with_and_without_labels_are_kept_apart():
    rows, labels = drawn()
    known = np.arange(80) % 3 > 0
    tracker = tracker_of(ClassMoments(D)).update(rows, some_labels(labels, known))
    features = tracker.recipe.transform(rows)
    for moments, chosen in (
        (tracker.labelled.features, known),
        (tracker.unlabelled, ~known),
        (tracker.feature_moments(), known | ~known),
    ):
        # Sums of 80 products of features of at most 1/4 in float64.
        assert moments.weight == chosen.sum()
        assert_allclose(moments.mean, features[chosen].mean(axis=0), atol=1e-14)
        exact = np.cov(features[chosen].T, bias=True) * chosen.sum()
        assert_allclose(moments.scatter(), exact, atol=1e-12)
    assert tracker.map.n_rows == 80
    assert tracker.sample.n_rows == known.sum()
    assert_array_equal(np.sort(tracker.sample.targets), np.sort(labels[known]))


def test_numeric_targets_of_nan_are_rows_without_targets():
    rows, _ = drawn()
    targets = np.random.default_rng(1).normal(size=(80, 2))
    targets[::4] = np.nan
    tracker = tracker_of(TargetMoments(D, 2)).update(rows, targets)
    known = np.isfinite(targets[:, 0])
    assert tracker.labelled.features.weight == known.sum()
    assert_allclose(tracker.labelled.target_mean, targets[known].mean(axis=0), rtol=1e-12)
    assert tracker.unlabelled.weight == (~known).sum()
    assert tracker.sample is None


@pytest.mark.parametrize("half_life", [None, 30.0])
def test_weights_and_age_count_by_the_position_among_all_rows(half_life):
    rows, labels = drawn()
    known, weights = np.arange(80) % 3 > 0, np.linspace(0.5, 2.0, 80)
    tracker = tracker_of(ClassMoments(D), half_life=half_life)
    targets = some_labels(labels, known)
    for part in (slice(0, 64), slice(64, 80)):
        tracker.update(rows[part], targets[part], weights=weights[part])
    ages = np.arange(80)[::-1]
    counted = weights * (1.0 if half_life is None else 2.0 ** (-ages / half_life))
    features = tracker.recipe.transform(rows)
    for moments, chosen in ((tracker.labelled.features, known), (tracker.unlabelled, ~known)):
        assert_allclose(moments.weight, counted[chosen].sum(), rtol=1e-12)
        mean = np.average(features[chosen], axis=0, weights=counted[chosen])
        assert_allclose(moments.mean, mean, atol=1e-14)


@given(st.permutations(range(4)), st.booleans())
@settings(max_examples=10)
def test_merging_shards_in_any_order_equals_one_pass(order, empty_first):
    rows, labels = drawn(200)
    targets = some_labels(labels, np.arange(200) % 4 > 0)
    whole = tracker_of(ClassMoments(D)).update(rows[:64], targets[:64])
    shards = [tracker_of(ClassMoments(D), whole.recipe)]  # an empty one among them
    for start in (64, 100, 150):
        part = slice(start, {64: 100, 100: 150, 150: 200}[start])
        shards.append(tracker_of(ClassMoments(D), whole.recipe).update(rows[part], targets[part]))
    merged = tracker_of(ClassMoments(D)) if empty_first else whole.copy()
    if empty_first:
        merged.merge(whole)
    for place in order:
        before = pickle.dumps(shards[place])
        merged.merge(shards[place])
        assert pickle.dumps(shards[place]) == before
    whole.update(rows[64:], targets[64:])
    for mine, theirs in (
        (merged.labelled.features, whole.labelled.features),
        (merged.unlabelled, whole.unlabelled),
    ):
        assert_allclose(mine.weight, theirs.weight)
        assert_allclose(mine.scatter(), theirs.scatter(), atol=1e-12)
    assert_array_equal(merged.labelled.classes, whole.labelled.classes)
    assert_allclose(merged.labelled.class_means, whole.labelled.class_means, atol=1e-13)
    assert merged.map.n_rows == 200
    assert merged.sample.n_rows == whole.sample.n_rows
    assert merged.map.histogram == whole.map.histogram


def test_refused_merges_leave_no_trace():
    rows, labels = drawn()
    mine = tracker_of(ClassMoments(D)).update(rows, with_labels(labels))
    words = with_labels(np.array(["a", "b"])[labels % 2])
    others = [
        tracker_of(ClassMoments(D), mine.recipe).update(rows, words),
        tracker_of(ClassMoments(D), seed=1).update(rows, with_labels(labels)),
        tracker_of(ClassMoments(D)).update(rows * [1, 9, 1, 0.1], with_labels(labels)),
    ]
    before = pickle.dumps(mine)
    for other in others:
        with pytest.raises(StateMismatchError):
            mine.merge(other)
        assert pickle.dumps(mine) == before


def test_a_copy_goes_its_own_way():
    rows, labels = drawn()
    mine = tracker_of(ClassMoments(D)).update(rows, some_labels(labels, labels > 0))
    before, twin = pickle.dumps(mine), mine.copy()
    assert pickle.dumps(twin) == before
    twin.update(rows, some_labels(labels, labels > 1))
    twin.forget_moments()
    assert pickle.dumps(mine) == before


def test_sparse_rows_give_what_dense_ones_give():
    rows, labels = drawn()
    rows = np.where(rows < 0.1, 0.0, rows)
    targets = some_labels(labels, labels > 0)
    dense = tracker_of(ClassMoments(D)).update(rows, targets)
    stored = tracker_of(ClassMoments(D)).update(sparse.csr_array(rows), targets)
    assert_allclose(
        dense.feature_moments().scatter(), stored.feature_moments().scatter(), atol=1e-12
    )


@pytest.mark.parametrize("n_rows", [1, 64])
def test_a_first_few_rows_are_multiplied_in_float64(n_rows):
    rows, labels = drawn(n_rows)
    tracker = tracker_of(ClassMoments(D), dtype="float32").update(rows, with_labels(labels))
    features = tracker.recipe.transform(rows).astype(np.float64)
    exact = np.cov(features.T, bias=True) * n_rows
    assert_allclose(tracker.feature_moments().scatter(), exact, atol=1e-13)


def test_labels_that_are_absent_share_a_form_with_those_given():
    together = np.concatenate([with_labels(np.array(["a"])), without_labels(2, np.dtype(np.int64))])
    assert together["given"].tolist() == [True, False, False]
    assert together["label"][0] == "a"


def test_deep_copies_are_equal():
    rows, labels = drawn()
    mine = tracker_of(ClassMoments(D)).update(rows, with_labels(labels))
    assert pickle.dumps(copy.deepcopy(mine)) == pickle.dumps(mine)
