"""Dict rows: names, zeros, keys that come and go, and what is refused without a trace."""

import sys
from collections import namedtuple
from decimal import Decimal
from enum import IntEnum, StrEnum
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from named_streams import histograms, learnt
from river.preprocessing import MinMaxScaler

from streamchi2.files import dumped
from streamchi2.river import ExpChi2Classifier, ExpChi2Regressor, ExpChi2Sampler
from streamchi2.river.dict_rows import DictReader
from streamchi2.river.key_columns import _column_of_text, column_of_key

ROWS, LABELS, NUMBERS = histograms(200)


def test_any_number_is_welcome():
    reader = DictReader()
    kinds = [1, 1.0, True, np.float32(1), np.int8(1), np.bool_(True), Fraction(1), np.uint64(1)]
    assert {reader.read({"a": one}).values[0] for one in kinds} == {1.0}
    assert reader.read({}).values.size == 0


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Folded(str):
    """Text whose equality is not by value."""

    __slots__ = ()

    def __eq__(self, other):
        return self.lower() == other.lower()

    def __hash__(self):
        return hash(self.lower())


Cell = namedtuple("Cell", ["name", "place"])
PLAIN_KEYS = st.recursive(
    st.text(st.characters(codec="utf-8"), max_size=3)
    | st.integers()
    | st.floats(allow_nan=False)
    | st.booleans()
    | st.binary(max_size=2)
    | st.none(),
    lambda parts: st.lists(parts, max_size=3).map(tuple),
    max_leaves=4,
)


def disguised(key):
    """Return an equal key of other types wherever there is one."""
    if isinstance(key, tuple):
        return Cell(*map(disguised, key)) if len(key) == 2 else tuple(map(disguised, key))
    if isinstance(key, str):
        return key if key.endswith("\0") else np.str_(key)  # numpy drops null characters
    if isinstance(key, bool):
        return float(key)
    if isinstance(key, int):
        return np.int64(key) if abs(key) < 2**62 else key
    return np.float64(key) if isinstance(key, float) else key


@given(PLAIN_KEYS, PLAIN_KEYS)
def test_keys_have_one_column_exactly_if_they_are_one_key_of_a_dict(left, right):
    assert disguised(left) == left
    assert column_of_key(disguised(left)) == column_of_key(left)
    assert (column_of_key(left) == column_of_key(right)) == (len({left, right}) == 1)


@pytest.mark.parametrize(
    "keys",
    [
        [("cell", 1), ("cell", np.int64(1)), ("cell", 1.0), ("cell", True), Cell("cell", 1)],
        [(1,), (1.0,), (True,), (np.uint8(1),), (Level.LOW,)],
        ["red", np.str_("red"), Colour.RED],
        [("red",), (np.str_("red"),), (Colour.RED,)],
        [1, Level.LOW, np.float32(1)],
        [((0.5, None), b"a"), ((np.float32(0.5), None), np.bytes_(b"a"))],
        [0, -0.0, False],
    ],
)
def test_equal_keys_of_any_type_have_one_column_whatever_came_before(keys):
    columns = {int(DictReader().read({key: 1.0}).columns[0]) for key in keys}
    for other in range(2**16):  # more than are remembered
        column_of_key(f"other {other}")
    columns |= {column_of_key(key) for key in reversed(keys)}
    assert len(columns) == 1


def test_values_that_numpy_calls_equal_by_rounding_stay_two_keys():
    reader = DictReader()
    single = np.float32(0.1)
    assert single == 0.1
    exact, rounded = (int(reader.read({key: 1.0}).columns[0]) for key in (0.1, single))
    assert exact != rounded == column_of_key(float(single))


DAYS = pd.date_range("2020-01-01", periods=2)


@pytest.mark.parametrize("times", [DAYS, DAYS.tz_localize("UTC"), DAYS - DAYS[0]])
@pytest.mark.parametrize("as_frame", [pd.DataFrame, pl.from_pandas])
def test_dates_in_frames_are_refused(as_frame, times):
    X = as_frame(pd.DataFrame({"a": [1.0, 2.0], "day": times}))
    with pytest.raises(TypeError, match=r"X must hold numbers, got .* in column 'day'"):
        ExpChi2Sampler(16, seed=0).learn_many(X)


CHANGES = {
    "value": lambda x: x.update(a=3.0),
    "key": lambda x: x.update(c=1.0),
    "gone": lambda x: x.pop("a"),
    "renamed": lambda x: x.update(c=x.pop("b")),
    "single precision": lambda x: x.update(b=np.float32(0.1)),  # equal to 0.1, says numpy
    "swapped": lambda x: x.update(a=x["b"], b=x["a"]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_dict_changed_between_two_readings_is_read_again(change):
    reader, x = DictReader(), {"a": 2.0, "b": 0.1}
    first = reader.read(x)
    assert reader.read(x) is first
    assert reader.read(dict(x)) is first
    change(x)
    again, expected = reader.read(x), DictReader().read(x)
    assert again is not first
    np.testing.assert_array_equal(again.columns, expected.columns)
    np.testing.assert_array_equal(again.values, expected.values)


@pytest.mark.parametrize("bad", [Decimal(2), "2", None, float("nan"), -2.0, np.ones(1) * 2])
def test_what_was_read_last_hides_no_bad_value(bad):
    reader = DictReader()
    x = {"a": 2.0}
    reader.read(x)
    x["a"] = bad
    with pytest.raises((TypeError, ValueError), match="at key 'a'"):
        reader.read(x)


@given(st.lists(st.sampled_from([0, 1, 0.1, True, 2**53 + 1, float(2**53)]), max_size=4), st.data())
def test_reading_twice_gives_the_values_of_the_second_dict(given_values, data):
    reader = DictReader()
    keys = "abcd"[: len(given_values)]
    reader.read(dict(zip(keys, given_values, strict=True)))
    kinds = st.sampled_from([float, np.float64, np.float32, int])
    other = {key: data.draw(kinds)(value) for key, value in zip(keys, given_values, strict=True)}
    found, expected = reader.read(other), DictReader().read(other)
    np.testing.assert_array_equal(found.values, expected.values)


NAN = float("nan")


@pytest.mark.parametrize(
    ("key", "error", "match"),
    [
        ((object(),), TypeError, "keys must be names"),
        (("a", (frozenset("b"),)), TypeError, "frozenset may differ"),
        (np.datetime64("2020-01-01"), TypeError, "keys must be names"),
        (1j, TypeError, "keys must be names"),
        (NAN, ValueError, "keys must not be NaN"),
        (np.float32("nan"), ValueError, "keys must not be NaN"),
        (("a", NAN), ValueError, "keys must not be NaN"),
        ("\ud800", ValueError, "lone surrogate"),
        (Folded("Red"), TypeError, "by their value"),
        ((1, Folded("Red")), TypeError, "by their value"),
    ],
)
def test_keys_without_one_value_are_refused(key, error, match):
    for _ in range(2):  # a refusal is not remembered as anything else
        with pytest.raises(error, match=match) as refusal:
            DictReader().read({"a": 1.0, key: 2.0})
        assert type(refusal.value) is error


@pytest.mark.parametrize("value", [Fraction(10**400), 10**400, -(10**400)])
def test_numbers_that_no_float_holds_are_refused(value):
    with pytest.raises(ValueError, match=r"got a number beyond 1\.8e\+308 at key 'b'"):
        DictReader().read({"a": 1.0, "b": value})


def test_the_error_after_a_min_max_scaler_names_the_ways_out():
    model = MinMaxScaler() | ExpChi2Classifier(16, seed=0)
    for row, label in zip(ROWS[:3], LABELS, strict=False):
        model.learn_one(row, label)
    below = dict.fromkeys(ROWS[0], -1.0)
    with pytest.raises(ValueError, match=r"Normalizer or MaxAbsScaler.* sum .*max\(-v, 0\)"):
        model.predict_one(below)


def test_a_reader_may_be_shared_by_threads():
    # Another thread's row between any two lines of this one's.
    reader = DictReader()
    mine = {f"mine {i}": float(i + 1) for i in range(7)}
    theirs = {f"theirs {i}": 1.0 for i in range(3)}
    expected = DictReader().read(mine)

    def interrupting(frame, event, _):
        if frame.f_code is not DictReader.read.__code__:
            return None
        if event == "line":
            sys.settrace(None)
            reader.read(theirs)
            sys.settrace(interrupting)
        return interrupting

    before = sys.gettrace()
    sys.settrace(interrupting)
    try:
        found = [reader.read(mine) for _ in range(2)]
    finally:
        sys.settrace(before)
    for row in found:
        np.testing.assert_array_equal(row.columns, expected.columns)
        np.testing.assert_array_equal(row.values, expected.values)


BAD_ROWS = [
    ({"a": 1.0, "b": None}, TypeError, "None at key 'b'"),
    ({"a": "1"}, TypeError, "'1' at key 'a'"),
    ({"a": Decimal(1)}, TypeError, "key 'a'"),
    ({"a": np.ones(2)}, TypeError, "key 'a'"),
    ({"a": 1j}, TypeError, "key 'a'"),
    ({"a": np.timedelta64(3, "s")}, TypeError, "timedelta64.* at key 'a'"),
    ({"b": 1.0, "a": float("nan")}, ValueError, "nan at key 'a'"),
    ({"a": -0.5}, ValueError, "-0.5 at key 'a'"),
    ({7: np.inf}, ValueError, "inf.* at key 7"),
    ({frozenset(): 1.0}, TypeError, "keys must be names"),
    ([1.0], TypeError, "must be a dict"),
]


@pytest.mark.parametrize(("row", "error", "match"), BAD_ROWS)
def test_bad_rows_are_refused_by_key_and_leave_no_trace(row, error, match):
    model = learnt(ExpChi2Regressor(64, seed=0), ROWS[:70], NUMBERS)
    before = dumped(model)
    for call in (model.predict_one, model.observe_one, lambda bad: model.learn_one(bad, 1)):
        with pytest.raises(error, match=match):
            call(row)
    assert dumped(model) == before
    sampler = ExpChi2Sampler(64, seed=0)
    for call in (sampler.learn_one, sampler.transform_one):
        with pytest.raises(error, match=match):
            call(row)
    assert sampler.n_samples_seen_ == 0


def test_memory_stays_constant_while_the_vocabulary_grows():
    model = ExpChi2Sampler(16, seed=0, n_terms=3)
    sizes = []
    for position in range(6 * 1024):
        model.learn_one({f"word {position}": 1.0, f"pair {position // 2}": 2.0})
        if position % 2048 == 2047:
            sizes.append(model._raw_memory_usage)
    assert sizes[-1] <= sizes[0] * 1.02
    assert _column_of_text.cache_info().maxsize == 2**16
