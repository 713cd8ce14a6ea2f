"""Statistics of features against the features themselves, and the laws of merging and fading."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from streamchi2.errors import StateMismatchError
from streamchi2.statistics.feature_statistics import FeatureStatistics
from streamchi2.statistics.targets import with_labels, without_labels

D = 6
EPS = np.finfo(np.float64).eps


def statistics_of(n_targets=0, *, sizes=(D,), seed=7, **params):
    """Return empty statistics of labels by default, with a sample as classifiers have."""
    return FeatureStatistics(
        sizes, n_targets, sample_seed=seed if n_targets == 0 else None, **params
    )


def drawn(n_rows=80, seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(0.5, size=(n_rows, D)) / 4.0, rng.integers(0, 3, n_rows)


def fed(statistics, features, targets, edges, weights=None):
    for start, stop in pairwise(edges):
        part = slice(start, stop)
        own = None if weights is None else weights[part]
        statistics.update(
            features[part], features[part], None if targets is None else targets[part], own
        )
    return statistics


def moments_bits(statistics):
    """Return the moments as raw bytes."""
    return pickle.dumps((statistics.labelled, statistics.unlabelled))


def scatter_of(features, weights=None):
    weights = np.ones(len(features)) if weights is None else weights
    centred = features - np.average(features, axis=0, weights=weights)
    return (weights[:, None] * centred).T @ centred


def test_rows_with_and_without_labels_are_kept_apart():
    features, labels = drawn()
    known = np.arange(80) % 3 > 0
    found = fed(statistics_of(), features, with_labels(labels, known), [0, 64, 80])
    for moments, chosen in (
        (found.labelled.features, known),
        (found.unlabelled, ~known),
        (found.feature_moments(), known | ~known),
    ):
        # Sums of 80 products of features of about one in float64.
        assert moments.weight == chosen.sum()
        assert_allclose(moments.mean, features[chosen].mean(axis=0), atol=1e-14)
        assert_allclose(moments.scatter(), scatter_of(features[chosen]), atol=1e-12)
    assert found.n_rows == 80
    assert found.sample.n_rows == known.sum()
    assert_array_equal(np.sort(found.sample.targets), np.sort(labels[known]))


def test_descriptors_without_labels_keep_the_blocks_of_their_scatter():
    features, labels = drawn()
    known = np.arange(80) % 3 > 0
    found = fed(statistics_of(sizes=(2, 4)), features, with_labels(labels, known), [0, 80])
    moments, whole = found.feature_moments(), scatter_of(features)
    for own in (slice(0, 2), slice(2, 6)):
        assert_allclose(moments.part(own).scatter(), whole[own, own], atol=1e-12)


def test_numeric_targets_of_nan_are_rows_without_targets():
    features, _ = drawn()
    targets = np.random.default_rng(1).normal(size=(80, 2))
    targets[::4] = np.nan
    found = fed(statistics_of(2), features, targets, [0, 80])
    known = np.isfinite(targets[:, 0])
    assert found.labelled.features.weight == known.sum()
    assert_allclose(found.labelled.target_mean, targets[known].mean(axis=0), rtol=1e-12)
    assert found.unlabelled.weight == (~known).sum()
    assert found.sample is None


@pytest.mark.parametrize("half_life", [None, 30.0])
@pytest.mark.parametrize("dual_rows", [0, 1000])
def test_weights_and_age_count_by_the_position_among_all_rows(half_life, dual_rows):
    features, labels = drawn()
    known, weights = np.arange(80) % 3 > 0, np.linspace(0.5, 2.0, 80)
    found = statistics_of(half_life=half_life, dual_rows=dual_rows)
    fed(found, features, with_labels(labels, known), [0, 64, 70, 80], weights)
    assert found.is_dual == (dual_rows > 0)
    found.fold()
    ages = np.arange(80)[::-1]
    counted = weights * (1.0 if half_life is None else 2.0 ** (-ages / half_life))
    for moments, chosen in ((found.labelled.features, known), (found.unlabelled, ~known)):
        assert_allclose(moments.weight, counted[chosen].sum(), rtol=1e-12)
        mean = np.average(features[chosen], axis=0, weights=counted[chosen])
        assert_allclose(moments.mean, mean, atol=1e-14)


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=4),
    st.floats(0.5, 50.0),
    st.integers(0, 10_000),
)
@example([5000], 0.5, 0)  # the past fades below the smallest number
def test_a_half_life_is_a_weight_per_row(sizes, half_life, seed):
    n_rows = sum(sizes)
    features = np.random.default_rng(seed).uniform(-100.0, 100.0, (n_rows, D))
    edges = np.cumsum([0, *sizes])
    found = fed(statistics_of(None, half_life=half_life), features, None, edges)
    weights = np.exp2(-np.arange(n_rows)[::-1] / half_life)
    moments = found.feature_moments()
    assert_allclose(moments.weight, weights.sum(), rtol=64 * EPS)
    mean = np.average(features, axis=0, weights=weights)
    assert_allclose(moments.mean, mean, atol=256 * EPS * 100.0, rtol=0)
    # A sum of n squares of numbers below b errs by at most n eps b^2 a term; halves are common.
    atol = 4 * 64 * EPS * n_rows * 200.0**2
    assert_allclose(moments.scatter(), scatter_of(features, weights), atol=atol, rtol=0)


@given(st.lists(st.integers(1, 199), max_size=6), st.integers(1, 300), st.booleans())
def test_keeping_rows_first_changes_no_bit_of_the_moments(cuts, dual_rows, narrow):
    features, labels = drawn(200)
    features = features.astype(np.float32) if narrow else features
    targets, weights = with_labels(labels, labels > 0), np.linspace(0.5, 2.0, 200)
    edges = [0, *sorted(set(cuts)), 200]
    kept = fed(statistics_of(dual_rows=dual_rows), features, targets, edges, weights)
    plain = fed(statistics_of(), features, targets, edges, weights)
    assert kept.is_dual == (dual_rows > 200)
    assert kept.n_kept == (200 if dual_rows > 200 else 0)
    before = pickle.dumps(kept)
    assert moments_bits(kept.folded()) == moments_bits(plain)
    assert pickle.dumps(kept) == before  # folding is for those who read


@given(st.permutations(range(4)), st.booleans(), st.sampled_from([0, 90, 1000]))
@settings(max_examples=20)
def test_merging_shards_in_any_order_equals_one_pass(order, empty_first, dual_rows):
    features, labels = drawn(200)
    targets = with_labels(labels, np.arange(200) % 4 > 0)
    whole = fed(statistics_of(dual_rows=dual_rows), features, targets, [0, 64])
    shards = [statistics_of(dual_rows=dual_rows)]  # an empty one among them
    for edges in ([64, 100], [100, 150], [150, 200]):
        shards.append(fed(statistics_of(dual_rows=dual_rows), features, targets, edges))
    merged = statistics_of(dual_rows=dual_rows).merge(whole) if empty_first else whole.copy()
    for place in order:
        before = pickle.dumps(shards[place])
        merged.merge(shards[place])
        assert pickle.dumps(shards[place]) == before
    fed(whole, features, targets, [64, 200])
    assert merged.is_dual == whole.is_dual == (dual_rows > 200)
    found, expected = merged.folded(), whole.folded()
    for mine, theirs in (
        (found.labelled.features, expected.labelled.features),
        (found.unlabelled, expected.unlabelled),
    ):
        assert_allclose(mine.weight, theirs.weight)
        assert_allclose(mine.scatter(), theirs.scatter(), atol=1e-12)
    assert_array_equal(found.labelled.classes, expected.labelled.classes)
    assert_allclose(found.labelled.class_means, expected.labelled.class_means, atol=1e-13)
    assert merged.n_rows == 200
    assert merged.sample.n_rows == whole.sample.n_rows


@pytest.mark.parametrize("dual_rows", [0, 1000])
def test_an_empty_side_changes_no_bit(dual_rows):
    features, labels = drawn()
    mine = fed(statistics_of(dual_rows=dual_rows), features, with_labels(labels), [0, 30, 80])
    empty = statistics_of(dual_rows=dual_rows)
    before = pickle.dumps(mine.get_state())
    assert pickle.dumps(mine.copy().merge(empty).get_state()) == before
    merged = statistics_of(dual_rows=dual_rows).merge(mine)
    assert moments_bits(merged.folded()) == moments_bits(mine.folded())
    assert merged.n_kept == mine.n_kept


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (statistics_of(sizes=(2, 4)), r"features must agree to merge, got \(6,\) and \(2, 4\)"),
        (statistics_of(2), "targets must agree to merge, got 0 and 2 a row"),
        (statistics_of(half_life=5.0), "half_life must agree to merge, got None and 5.0"),
    ],
)
def test_refused_merges_leave_no_trace(other, message):
    features, labels = drawn()
    mine = fed(statistics_of(), features, with_labels(labels), [0, 80])
    before = pickle.dumps(mine)
    with pytest.raises(StateMismatchError, match=message):
        mine.merge(other)
    assert pickle.dumps(mine) == before


@pytest.mark.parametrize("dual_rows", [0, 100])
def test_a_copy_goes_its_own_way(dual_rows):
    features, labels = drawn()
    mine = fed(
        statistics_of(dual_rows=dual_rows), features, with_labels(labels, labels > 0), [0, 80]
    )
    before, twin = pickle.dumps(mine), mine.copy()
    assert pickle.dumps(twin) == before
    fed(twin, features, with_labels(labels, labels > 1), [0, 80])
    twin.fade(0.5)
    assert pickle.dumps(mine) == before
    assert pickle.dumps(copy.deepcopy(mine)) == before


@pytest.mark.parametrize("n_rows", [1, 64])
def test_blocks_of_few_rows_are_multiplied_in_float64(n_rows):
    features, labels = drawn(n_rows)
    features = features.astype(np.float32)
    found = fed(statistics_of(), features, with_labels(labels), [0, n_rows])
    exact = scatter_of(features.astype(np.float64))
    assert_allclose(found.feature_moments().scatter(), exact, atol=1e-13)


@pytest.mark.parametrize("dual_rows", [0, 1000])
def test_faded_statistics_are_those_of_lighter_rows(dual_rows):
    features, labels = drawn()
    targets = with_labels(labels, labels > 0)
    faded, lighter = (statistics_of(dual_rows=dual_rows) for _ in range(2))
    fed(faded, features, targets, [0, 40]).fade(0.5)
    fed(faded, features, targets, [40, 80])
    fed(lighter, features, targets, [0, 40, 80], np.repeat([0.5, 1.0], 40))
    ours, theirs = faded.folded(), lighter.folded()
    assert_allclose(ours.labelled.summary().scatter, theirs.labelled.summary().scatter, atol=1e-12)
    assert_allclose(ours.labelled.summary().cross, theirs.labelled.summary().cross, atol=1e-12)
    assert_allclose(ours.unlabelled.scatter(), theirs.unlabelled.scatter(), atol=1e-12)
    assert_allclose(faded.sample.importance(), lighter.sample.importance(), rtol=1e-12)


def test_labels_that_are_absent_share_a_form_with_those_given():
    together = np.concatenate([with_labels(np.array(["a"])), without_labels(2, np.dtype(np.int64))])
    assert together["given"].tolist() == [True, False, False]
    assert together["label"][0] == "a"
