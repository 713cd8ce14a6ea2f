"""The provenance: what has been absorbed, and that nothing is absorbed twice."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from saved_examples import ESTIMATORS, ROWS, learn

from streamchi2 import ExpChi2Classifier
from streamchi2.errors import FormatError, StateMismatchError
from streamchi2.persistence import dumped, loaded
from streamchi2.provenance import Entry, Provenance, file_source_name

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
    provenance._levels = ({"a": Entry(((3, 2),))},)
    model._stream.provenance = provenance
    with pytest.raises(FormatError, match="provenance is no valid Provenance"):
        loaded(dumped(model))


digests = st.none() | st.binary(min_size=16, max_size=16).filter(any)


@given(pieces, st.lists(digests, min_size=8, max_size=8))
def test_the_state_of_a_provenance_is_plain_arrays_that_give_it_back(found, digests):
    provenance = Provenance()
    for number, ((name, start, length), digest) in enumerate(zip(found, digests, strict=False)):
        provenance = provenance.with_range(f"{name}é{number}", start, start + length, digest)
    state = provenance.get_state()
    assert {values.dtype.kind for values in state.values()} <= {"u", "i"}
    twin = Provenance.from_state(state)
    assert twin == provenance == pickle.loads(pickle.dumps(provenance))
    assert hash(twin) == hash(provenance)
    assert [twin.digest(name) for name in twin] == [provenance.digest(name) for name in twin]


BROKEN = {
    "names": lambda values: values[:-1],
    "name_lengths": lambda values: values - 1,
    "n_ranges": lambda values: values * 0,
    "ends": lambda values: values[:, ::-1],
    "digests": lambda values: values[:, :8],
}


@pytest.mark.parametrize("part", BROKEN)
@pytest.mark.parametrize("kind", ["values", "dtype", "shape"])
def test_a_state_that_is_none_is_refused(part, kind):
    state = Provenance().with_range("a", 0, 3).with_range("b", 2, 4, bytes(range(16))).get_state()
    state[part] = {
        "values": BROKEN[part],
        "dtype": lambda values: values.astype(np.float64),
        "shape": lambda values: values[None],
    }[kind](state[part])
    with pytest.raises(ValueError, match="must"):
        Provenance.from_state(state)


def test_a_digest_of_rows_that_were_not_absorbed_is_refused():
    state = Provenance().with_range("a", 2, 4).get_state()
    state["digests"][:] = 1
    with pytest.raises(ValueError, match="digest of 'a' must cover one range from 0"):
        Provenance.from_state(state)


def test_a_state_of_other_arrays_is_refused():
    state = Provenance().with_range("a", 2, 4).get_state()
    with pytest.raises(ValueError, match="arrays of a provenance must be"):
        Provenance.from_state({name: state[name] for name in state if name != "ends"})


def test_text_that_is_no_utf_8_is_refused():
    state = Provenance().with_range("a", 0, 3).get_state()
    state["names"] = np.array([255], np.uint8)
    with pytest.raises(ValueError, match="utf-8"):
        Provenance.from_state(state)


def test_five_thousand_files_with_long_names_take_less_than_a_megabyte():
    provenance = Provenance()
    for number in range(5000):
        path = f"/data/{'long ' * 90}{number}.parquet"
        provenance = provenance.with_range(file_source_name(path), 0, 10**6, b"x" * 16)
    assert len(provenance) == 5000
    assert sum(values.nbytes for values in provenance.get_state().values()) < 1 << 20


def test_adding_a_range_copies_little_however_many_sources_there_are():
    n, n_copied, provenance, values = 2000, 0, Provenance(), []
    for number in range(n):
        name = f"{number * 7 % n}"
        before = provenance._levels
        provenance = provenance.with_range(name, 0, 1)
        kept = {id(level) for level in before}
        n_copied += sum(len(level) for level in provenance._levels if id(level) not in kept)
        if number % 100 == 0:
            values.append((number + 1, provenance))
    assert n_copied <= n * np.log2(n)
    assert len(provenance._levels) <= np.log2(n) + 1
    assert [len(value) for _, value in values] == [count for count, _ in values]  # none has changed
    assert len(provenance) == n


def test_a_digest_is_kept_while_it_covers_what_has_been_absorbed():
    first, second = bytes(range(16)), bytes(range(1, 17))
    provenance = Provenance().with_range("a", 0, 3, first)
    assert provenance.digest("a") == first
    assert provenance.with_range("a", 3, 5, second).digest("a") == second
    assert provenance.with_range("a", 3, 5).digest("a") is None
    assert provenance.with_range("a", 4, 5, second).digest("a") is None
    assert provenance.with_range("b", 0, 1).digest("a") == first
    assert Provenance().with_range("b", 0, 1).merged(provenance).digest("a") == first
    with pytest.raises(ValueError, match="digest of 'a' must be 16 bytes"):
        Provenance().with_range("a", 0, 3, b"short")


def test_the_same_file_read_in_two_places_is_refused_by_its_digest():
    here, there = (
        Provenance().with_range(file_source_name(f"/{place}/rows.csv"), 0, 9, b"x" * 16)
        for place in ("here", "there")
    )
    for left, right in ((here, there), (there, here)):
        with pytest.raises(StateMismatchError, match="holds the rows of 'rows"):
            left.merged(right)
    other = Provenance().with_range(file_source_name("/there/rows.csv"), 0, 9, b"y" * 16)
    assert len(here.merged(other)) == 2
