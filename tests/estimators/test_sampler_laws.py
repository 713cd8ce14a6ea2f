"""The laws of the sampler: cuttings, shards, refusals."""

import pickle
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sampler_streams import SEEDED, WAYS, assert_same_state, feature_map_of, fed, sampled, stream
from strategies import BAD_ROWS

from streamchi2 import ExpChi2Sampler


@cache
def fed_whole(way, weighted):
    rows = stream(1200, growth=20.0)
    weights = np.random.default_rng(1).gamma(1.0, size=1200) if weighted else None
    return rows, weights, fed(rows, weights=weights, **WAYS[way])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("weighted", [False, True])
@settings(max_examples=5)
@given(st.lists(st.integers(1, 1199), max_size=6).map(sorted))
def test_cutting_the_stream_does_not_change_a_bit(way, weighted, cuts):
    rows, weights, whole = fed_whole(way, weighted)
    cut = fed(rows, cuts, weights, **WAYS[way])
    assert_same_state(cut, whole)
    assert_array_equal(cut.transform(rows[:9]), whole.transform(rows[:9]))


@pytest.mark.parametrize("way", WAYS)
def test_single_rows_give_the_map_of_the_whole(way):
    rows = stream(300, growth=20.0)
    assert_same_state(fed(rows, range(1, 300), **WAYS[way]), fed(rows, **WAYS[way]))


def test_k_does_follow_in_the_laws_above():
    assert fed_whole("narrow", False)[2].transports_
    assert fed_whole("fading", False)[2].transports_


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_shards", [1, 3])
def test_shards_under_one_map_merge_to_one_pass(weighted, n_shards):
    rows = stream(1500)
    weights = np.random.default_rng(1).integers(1, 4, size=1500) * 1.0 if weighted else None
    first = fed(rows[:64], weights=None if weights is None else weights[:64], adapt=False)
    whole = fed(rows, weights=weights, adapt=False)
    parts = np.array_split(np.arange(64, 1500), n_shards)
    shards = [
        first.new_shard().partial_fit(
            rows[part], sample_weight=None if weights is None else weights[part]
        )
        for part in parts
    ]
    forward, backward = pickle.loads(pickle.dumps(first)), shards[-1]
    for shard in shards:
        forward.merge(shard)
    for shard in [*reversed(shards[:-1]), first]:
        backward.merge(shard)
    for merged in (forward, backward):
        assert feature_map_of(merged) == feature_map_of(whole)
        assert merged.input_histogram_ == whole.input_histogram_  # weights are whole numbers
        assert merged._stream.n_rows == 1500
    assert_array_equal(
        np.sort(sampled(forward).rows.toarray(), axis=0),
        np.sort(sampled(backward).rows.toarray(), axis=0),
    )


def test_an_empty_shard_is_the_identity_of_merge():
    full = fed(stream(700))
    same = pickle.loads(pickle.dumps(full))
    assert_same_state(same.merge(full.new_shard()), full)
    assert_same_state(same.merge(ExpChi2Sampler(**SEEDED)), full)
    assert_same_state(full.new_shard().merge(full), full)
    blank = ExpChi2Sampler(**SEEDED).merge(full)
    assert_same_state(blank, full)
    assert blank.n_features_in_ == 5


def bad_calls():
    rows = stream(80)
    wide = fed(stream(80, width=6))
    calls = {
        f"rows: {kind}": lambda s, bad=bad: s.partial_fit(bad) for kind, bad in BAD_ROWS.items()
    }
    calls |= {
        "width": lambda s: s.partial_fit(np.ones((2, 6))),
        "transform width": lambda s: s.transform(np.ones((2, 4))),
        "transform negative": lambda s: s.transform(-np.ones((2, 5))),
        "weights short": lambda s: s.partial_fit(rows, sample_weight=[1.0]),
        "weights negative": lambda s: s.partial_fit(rows, sample_weight=np.full(80, -1.0)),
        "weights too large": lambda s: s.partial_fit(rows, sample_weight=np.full(80, 1e201)),
        "refit without weight": lambda s: s.fit(rows, sample_weight=np.zeros(80)),
        "refit with bad rows": lambda s: s.fit(-rows),
        "merge width": lambda s: s.merge(wide),
        "merge seed": lambda s: s.merge(fed(rows, random_state=1)),
        "merge dof": lambda s: s.merge(fed(rows, dof=1)),
        "merge other stream": lambda s: s.merge(fed(stream(80, seed=9))),
        "merge type": lambda s: s.merge("sampler"),
    }
    return calls


@pytest.mark.parametrize("name", bad_calls())
def test_a_refused_call_leaves_no_trace(name):
    sampler = fed(stream(300))
    sampler.transform(stream(2))
    before, names = pickle.dumps(sampler), set(vars(sampler))
    with pytest.raises((ValueError, TypeError)):
        bad_calls()[name](sampler)
    assert set(vars(sampler)) == names
    assert pickle.dumps(sampler) == before
    assert_same_state(
        sampler.partial_fit(stream(30, seed=2)), fed(np.vstack([stream(300), stream(30, seed=2)]))
    )
