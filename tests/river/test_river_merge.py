"""Shards: merging equals one pass, nothing changes by nothing, and mismatches leave no trace."""

import pytest
from named_streams import (
    DESCRIPTORS,
    histograms,
    learnt,
    make,
    statistics_of,
    targets_for,
)

from streamchi2 import errors
from streamchi2.files import dumped, loaded
from streamchi2.river import ExpChi2Classifier, ExpChi2Sampler

ROWS, LABELS, NUMBERS = histograms(500)


def test_a_map_is_shared_once_it_is_planned_and_not_before():
    model = learnt(ExpChi2Classifier(40, basis="landmarks", seed=0), ROWS[:79], LABELS)
    with pytest.raises(ValueError, match="first 80 rows of a stream, got 79; learn from more"):
        model.new_shard()
    assert learnt(model, ROWS[79:80], LABELS[79:80]).new_shard().n_samples_seen_ == 0
    with pytest.raises(AttributeError, match="learn a row first"):
        ExpChi2Sampler().new_shard()


@pytest.mark.parametrize("name", ["classifier", "landmark classifier", "fading dual regressor"])
@pytest.mark.parametrize("n_large", [100, 250])  # within the first 2D rows of landmarks, and after
def test_the_rows_of_a_side_without_a_map_are_learnt(name, n_large):
    targets = targets_for(name, LABELS, NUMBERS)
    targets = [target if i % 5 else None for i, target in enumerate(targets)]  # None: observed
    large = learnt(make(name), ROWS[:n_large], targets)
    small = learnt(make(name), ROWS[n_large : n_large + 50], targets[n_large:])
    whole = learnt(make(name), ROWS[: n_large + 50], targets)
    large.merge(small)
    assert statistics_of(large) == statistics_of(whole)


def test_classes_of_both_sides_are_known():
    start = learnt(ExpChi2Classifier(64, seed=0, basis="orthogonal"), ROWS[:100], ["ash"] * 100)
    shard = learnt(start.new_shard(), ROWS[100:200], ["fir"] * 100)
    start.merge(shard)
    assert set(start.predict_proba_one(ROWS[0])) == {"ash", "fir"}
    learnt(start, ROWS[200:300], LABELS[200:300])
    assert sum(start.predict_proba_one(ROWS[0]).values()) == pytest.approx(1.0)


def test_models_that_have_only_observed_rows_merge():
    model = learnt(make("classifier"), ROWS[:100], [None] * 100)
    shard = learnt(model.new_shard(), ROWS[100:200], [None] * 100)
    model.merge(shard)
    assert model.n_samples_seen_ == 200
    assert model.predict_one(ROWS[0]) is None
    model.learn_one(ROWS[200], "ash")
    assert loaded(dumped(model)).predict_one(ROWS[0]) == "ash"


MISMATCHES = {
    "another seed": {"seed": 4},
    "another size": {"n_components": 32},
    "another penalty": {"penalty": "lasso"},
    "a map of its own": {},
    "another order of descriptors": {"descriptors": dict(reversed(DESCRIPTORS.items()))},
    "another prefix": {"descriptors": {**DESCRIPTORS, "all": "col"}},
    "no descriptors": {"descriptors": None, "basis": "orthogonal"},
}


@pytest.mark.parametrize("params", MISMATCHES.values(), ids=MISMATCHES)
def test_mismatches_are_refused_without_a_trace(params):
    model = learnt(make("descriptor classifier"), ROWS[:100], LABELS)
    other = learnt(make("descriptor classifier", **params), ROWS[100:200], LABELS)
    before = dumped(model)
    match = "|".join(f"{name} must agree to merge" for name in params)
    with pytest.raises(errors.StateMismatchError, match=match or "map"):
        model.merge(other)
    assert dumped(model) == before


def test_text_and_numbers_for_labels_do_not_merge_nor_other_classes():
    model = learnt(make("classifier"), ROWS[:100], LABELS)
    before = dumped(model)
    with pytest.raises(errors.StateMismatchError, match="classes must be all text or all numbers"):
        model.merge(learnt(make("classifier"), ROWS[:10], list(range(10))))
    with pytest.raises(TypeError, match="other must be"):
        model.merge(ExpChi2Sampler())
    assert dumped(model) == before
