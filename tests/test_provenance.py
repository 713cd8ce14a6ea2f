"""The provenance: what has been absorbed, and that nothing is absorbed twice."""

import pickle

import numpy as np
import pytest
from estimator_zoo import ESTIMATORS, ROWS, learn
from hypothesis import given
from hypothesis import strategies as st

from streamchi2 import ExpChi2Classifier
from streamchi2.errors import FormatError, StateMismatchError
from streamchi2.persistence import dumped, loaded
from streamchi2.provenance import Provenance

NAMES = ("a.csv", "b.csv")
pieces = st.lists(
    st.tuples(st.sampled_from(NAMES), st.integers(0, 30), st.integers(0, 6)), max_size=8
)


def positions(provenance):
    """The plain truth: every position, one by one."""
    return {
        (name, position)
        for name, ranges in provenance.entries
        for start, stop in ranges
        for position in range(start, stop)
    }


@given(pieces)
def test_a_provenance_is_a_set_of_positions_that_refuses_what_it_holds(found):
    provenance, held = Provenance(), set()
    for name, start, length in found:
        new = {(name, position) for position in range(start, start + length)}
        if new & held:
            with pytest.raises(StateMismatchError, match=f"of '{name}' have been absorbed"):
                provenance.with_range(name, start, start + length)
        else:
            provenance, held = provenance.with_range(name, start, start + length), held | new
        assert positions(provenance) == held


@given(pieces, pieces)
def test_merging_is_a_disjoint_union_in_any_order(left, right):
    sides = []
    for found in (left, right):
        held = {(name, start + i) for name, start, length in found for i in range(length)}
        provenance = Provenance()
        for name, position in held:
            provenance = provenance.with_range(name, position, position + 1)
        sides.append(provenance)
    mine, theirs = sides
    if positions(mine) & positions(theirs):
        for side, other in (sides, sides[::-1]):
            with pytest.raises(StateMismatchError):
                side.merged(other)
    else:
        assert mine.merged(theirs) == theirs.merged(mine)
        assert positions(mine.merged(theirs)) == positions(mine) | positions(theirs)


@pytest.mark.parametrize(
    "entries",
    [
        (("b", ((0, 1),)), ("a", ((0, 1),))),
        (("a", ((0, 1),)), ("a", ((1, 2),))),
        (("a", ()),),
        (("a", ((3, 3),)),),
        (("a", ((-1, 3),)),),
        (("a", ((0, 3), (3, 4))),),
        (("", ((0, 3),)),),
    ],
)
def test_only_one_spelling_of_a_provenance_is_allowed(entries):
    with pytest.raises(ValueError, match="must"):
        Provenance(entries)


def test_a_source_is_gone_on_with_from_its_beginning_alone():
    assert Provenance().beginning("a") == 0
    assert Provenance().with_range("a", 0, 7).beginning("a") == 7
    with pytest.raises(StateMismatchError, match="must be its beginning"):
        Provenance().with_range("a", 2, 7).beginning("a")


@pytest.mark.parametrize("name", ["sampler", "classifier", "ridge"])
def test_estimators_that_have_learnt_the_same_rows_refuse_to_merge_and_keep_no_trace(name):
    make, targets = ESTIMATORS[name]
    base = learn(make(), targets, 0, 100)
    shards = [base.new_shard() if hasattr(base, "new_shard") else make() for _ in range(2)]
    for shard, start in zip(shards, (100, 150), strict=True):
        learn(shard, targets, start, start + 80)
        shard._stream.provenance = Provenance().with_range("rows", start, start + 80)
    before = dumped(shards[0])
    with pytest.raises(StateMismatchError, match="150 to 180 of 'rows'"):
        shards[0].merge(shards[1])
    assert dumped(shards[0]) == before
    shards[1]._stream.provenance = Provenance().with_range("rows", 180, 230)
    assert shards[0].merge(shards[1]).provenance_ == {"rows": ((100, 230),)}


def test_a_provenance_is_saved_pickled_and_forgotten_with_its_stream():
    model = ExpChi2Classifier(8, random_state=0).fit(ROWS[:90], np.arange(90) % 2)
    plain = dumped(model)
    model._stream.provenance = Provenance().with_range("b", 0, 5).with_range("a", 2, 3)
    absorbed = {"a": ((2, 3),), "b": ((0, 5),)}
    for twin in (loaded(dumped(model)), pickle.loads(pickle.dumps(model)), model.new_shard()):
        expected = {} if twin._stream.n_rows == 0 else absorbed
        assert twin.provenance_ == expected
    assert dumped(model.fit(ROWS[:90], np.arange(90) % 2)) == plain


def test_a_file_with_a_broken_provenance_is_refused():
    model = ExpChi2Classifier(8, random_state=0).fit(ROWS[:9], np.arange(9) % 2)
    provenance = Provenance().with_range("a", 2, 3)
    object.__setattr__(provenance, "entries", (("a", ((3, 2),)),))
    model._stream.provenance = provenance
    with pytest.raises(FormatError, match="provenance is no valid Provenance"):
        loaded(dumped(model))
