"""The provenance: how much of which source was learnt, and that nothing is learnt twice."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from saved_examples import ESTIMATORS, ROWS, learn

from streamchi2 import ExpChi2Classifier
from streamchi2.errors import StateMismatchError
from streamchi2.files import dumped, loaded
from streamchi2.provenance import (
    LearntRows,
    merged_provenance,
    with_rows,
)

digests = st.none() | st.binary(min_size=16, max_size=16)
entries = st.builds(LearntRows, st.integers(1, 2**62), digests)
provenances = st.dictionaries(st.text(min_size=1, max_size=9), entries, max_size=5)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.integers(0, 9))))
def test_rows_are_recorded_once_in_order_and_without_gaps(pieces):
    provenance, counts = {}, {"a": 0, "b": 0}
    for name, start, length in pieces:
        stop, before = start + length, provenance
        if length == 0 or start == counts[name]:
            provenance = with_rows(provenance, name, start, stop)
            counts[name] = stop if length else counts[name]
        else:
            with pytest.raises(StateMismatchError, match="once" if start < counts[name] else "gap"):
                with_rows(provenance, name, start, stop)
        assert before is provenance or length
        assert {name: entry.n_rows for name, entry in provenance.items()} == {
            name: count for name, count in counts.items() if count
        }


@given(provenances, provenances)
def test_merging_is_a_union_in_any_order_of_sources_that_one_side_alone_has_learnt(mine, theirs):
    if mine.keys() & theirs.keys():
        for sides in ((mine, theirs), (theirs, mine)):
            with pytest.raises(StateMismatchError, match="both sides have learnt the first"):
                merged_provenance(*sides)
    else:
        together = merged_provenance(mine, theirs)
        assert together == merged_provenance(theirs, mine) == mine | theirs


@pytest.mark.parametrize("name", ["sampler", "classifier", "ridge"])
def test_estimators_that_have_learnt_the_same_source_refuse_to_merge_and_keep_no_trace(name):
    make, targets = ESTIMATORS[name]
    base = learn(make(), targets, 0, 100)
    shards = [base.new_shard() if hasattr(base, "new_shard") else make() for _ in range(2)]
    for shard, start in zip(shards, (100, 150), strict=True):
        learn(shard, targets, start, start + 80)
        shard._stream.provenance = {"rows": LearntRows(start)}
    before = dumped(shards[0])
    with pytest.raises(StateMismatchError, match="first 100 rows of 'rows'"):
        shards[0].merge(shards[1])
    assert dumped(shards[0]) == before
    shards[1]._stream.provenance = {"others": LearntRows(80)}
    assert shards[0].merge(shards[1]).provenance_ == {"others": 80, "rows": 100}


def test_a_provenance_is_saved_pickled_and_forgotten_with_its_stream():
    model = ExpChi2Classifier(8, random_state=0).fit(ROWS[:90], np.arange(90) % 2)
    plain = dumped(model)
    model._stream.provenance = {"b": LearntRows(5), "a": LearntRows(3, bytes(range(16)))}
    for twin in (loaded(dumped(model)), pickle.loads(pickle.dumps(model))):
        assert twin._stream.provenance == model._stream.provenance
    assert model.new_shard().provenance_ == {}
    assert dumped(model.fit(ROWS[:90], np.arange(90) % 2)) == plain
