"""Shards: merging equals one pass, nothing changes by nothing, and mismatches leave no trace."""

import pickle

import numpy as np
import pytest
from named_streams import MODELS, histograms, learnt, state_of

from streamchi2 import errors
from streamchi2.river import ExpChi2Classifier, ExpChi2Regressor, ExpChi2Sampler

ROWS, LABELS, NUMBERS = histograms(500)


@pytest.mark.parametrize("n_components", [64, 800])
def test_merged_shards_equal_one_pass(n_components):
    start = learnt(
        ExpChi2Regressor(n_components, alpha=0.1, seed=0, basis="orthogonal"), ROWS[:100], NUMBERS
    )
    shards = [start.new_shard(), start.new_shard()]
    learnt(shards[0], ROWS[:301], NUMBERS)
    learnt(shards[1], ROWS[301:], NUMBERS[301:])
    whole = learnt(start.new_shard(), ROWS, NUMBERS)
    # The merged one is solved at row 500, a single stream at 480 and 512.
    whole._schedule.refit(whole._stream, whole._model_params())
    merged = start.new_shard()
    for shard in shards:
        merged.merge(shard)
    assert merged.n_samples_seen_ == 500
    for row in ROWS[:20]:
        assert merged.predict_one(row) == pytest.approx(whole.predict_one(row), abs=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_an_empty_side_changes_nothing(name):
    targets = {"sampler": None}.get(name, NUMBERS if "regressor" in name else LABELS)
    model = learnt(MODELS[name](), ROWS[:320], targets)
    before = state_of(model)
    model.merge(MODELS[name]())
    model.merge(model.new_shard())
    assert state_of(model) == before
    fresh = MODELS[name]()
    fresh.merge(model)
    assert state_of(fresh) == before
    learnt(fresh, ROWS[320:420], None if targets is None else targets[320:420])
    assert state_of(model) == before  # nothing is shared
    assert state_of(learnt(model, ROWS[320:420], targets and targets[320:420])) == state_of(fresh)


def test_a_map_is_shared_once_it_is_planned_and_not_before():
    model = learnt(ExpChi2Classifier(40, basis="landmarks", seed=0), ROWS[:79], LABELS)
    with pytest.raises(ValueError, match="first 80 rows of a stream, got 79; learn from more"):
        model.new_shard()
    assert learnt(model, ROWS[79:80], LABELS[79:80]).new_shard().n_samples_seen_ == 0


def test_a_side_without_a_map_hands_its_rows_over():
    large = learnt(ExpChi2Classifier(64, seed=0, basis="orthogonal"), ROWS[:200], LABELS)
    small = learnt(
        ExpChi2Classifier(64, seed=0, basis="orthogonal"), ROWS[200:250], LABELS[200:250]
    )
    whole = learnt(ExpChi2Classifier(64, seed=0, basis="orthogonal"), ROWS[:250], LABELS)
    small_first = pickle.loads(pickle.dumps(small))
    small_first.merge(large)
    large.merge(small)
    assert state_of(large) == state_of(whole) == state_of(small_first)


def test_classes_of_both_sides_are_known():
    start = learnt(ExpChi2Classifier(64, seed=0, basis="orthogonal"), ROWS[:100], ["ash"] * 100)
    shard = learnt(start.new_shard(), ROWS[100:200], ["fir"] * 100)
    start.merge(shard)
    assert set(start.predict_proba_one(ROWS[0])) == {"ash", "fir"}
    learnt(start, ROWS[200:300], LABELS[200:300])
    assert sum(start.predict_proba_one(ROWS[0]).values()) == pytest.approx(1.0)


def test_mismatches_are_refused_without_a_trace():
    model = learnt(ExpChi2Classifier(64, seed=0, basis="orthogonal"), ROWS[:100], LABELS)
    others = [
        learnt(ExpChi2Classifier(64, seed=1, basis="orthogonal"), ROWS[:100], LABELS),
        learnt(ExpChi2Classifier(32, seed=0, basis="orthogonal"), ROWS[:100], LABELS),
        learnt(
            ExpChi2Classifier(64, seed=0, basis="orthogonal"), ROWS[100:200], LABELS
        ),  # planned a map of its own
        learnt(
            ExpChi2Classifier(64, seed=0, basis="orthogonal"), ROWS[:10], list(range(10))
        ),  # numbers for labels
    ]
    before = pickle.dumps(model)
    for other in others:
        with pytest.raises((errors.StateMismatchError, TypeError)):
            model.merge(other)
        assert pickle.dumps(model) == before
    with pytest.raises(TypeError, match="other must be"):
        model.merge(ExpChi2Sampler())


def test_a_sampler_merges_its_shards():
    start = learnt(ExpChi2Sampler(32, seed=0), ROWS[:70])
    shard = learnt(start.new_shard(), ROWS[70:300])
    start.merge(shard)
    whole = learnt(ExpChi2Sampler(32, seed=0), ROWS[:300])
    assert start.input_histogram_ == whole.input_histogram_
    np.testing.assert_allclose(start.k_, whole.k_, rtol=0.5)
