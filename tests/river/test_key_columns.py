"""Columns of keys: their own, or one in every descriptor that reads them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river.utils.dataframe import into_frame

from streamchi2 import river
from streamchi2.bases.hash_buckets import column_of_name
from streamchi2.files import dumped
from streamchi2.river import key_columns
from streamchi2.river.dict_rows import DictReader, frame_rows
from streamchi2.river.key_columns import MOST_DESCRIPTORS, KeyColumns, column_of_key

SIZE = 2**56
NAMES = st.text(alphabet="abc", min_size=1, max_size=3)


def has_a(key):
    return "a" in key


@given(st.lists(NAMES, unique=True), st.lists(NAMES, min_size=1), NAMES)
def test_a_key_has_a_column_in_each_descriptor_that_reads_it(keys, listed, prefix):
    known = KeyColumns({"listed": listed, "prefix": prefix, "called": has_a})
    columns, order = known.assign(keys)
    expected = [
        (number * SIZE + (column_of_key(key) >> 6), place)
        for place, key in enumerate(keys)
        for number, reads in enumerate((key in listed, key.startswith(prefix), has_a(key)))
        if reads
    ]
    assert list(zip(columns.tolist(), order.tolist(), strict=True)) == sorted(expected)


@given(st.lists(NAMES, unique=True))
def test_without_descriptors_each_key_has_its_own_column(keys):
    columns, order = KeyColumns().assign(keys)
    assert columns.tolist() == sorted(map(column_of_key, keys))
    assert [column_of_key(keys[place]) for place in order] == columns.tolist()


def test_ranges_are_those_of_the_columns():
    ranges = KeyColumns({str(number): "" for number in range(MOST_DESCRIPTORS)}).ranges()
    assert [own.start for own in ranges.values()] == [g * SIZE for g in range(MOST_DESCRIPTORS)]
    assert ranges["63"].stop == 2**62
    assert KeyColumns().ranges() is None


def test_equal_keys_belong_alike_and_prefixes_are_of_text():
    known = KeyColumns({"one": [1], "text": ""})
    for key in (1, 1.0, True, np.int64(1)):
        assert (known.assign([key])[0] // SIZE).tolist() == [0]
    assert (known.assign(["1"])[0] // SIZE).tolist() == [1]
    assert known.assign([(1, "a")])[0].size == 0


def test_frames_and_dicts_give_the_same_rows():
    known = KeyColumns({"a": "a", "both": ["a1", "b"]})
    values = {"b": 2.0, "a1": 1.0, "a2": 0.0, "c": 4.0}
    (row,) = frame_rows(into_frame(pd.DataFrame([values])), known)
    one = DictReader(known).read(values)
    kept = one.values != 0.0
    np.testing.assert_array_equal(row.columns, one.columns[kept])
    np.testing.assert_array_equal(row.values, one.values[kept])
    assert sorted(row.values) == [1.0, 1.0, 2.0]


def test_pickles_hold_descriptors_and_nothing_that_follows_from_them():
    known = KeyColumns({"called": has_a})
    before = pickle.dumps(known)
    known.assign(["a", "b"])
    assert pickle.dumps(known) == before
    assert pickle.loads(before).assign(["a"])[0].tolist() == known.assign(["a"])[0].tolist()


@pytest.mark.parametrize(
    ("descriptors", "error", "match"),
    [
        ([], TypeError, "descriptors must map names"),
        ({}, ValueError, "from 1 to 64, got 0"),
        ({str(number): "" for number in range(65)}, ValueError, "from 1 to 64, got 65"),
        ({"": "a"}, TypeError, "text for names"),
        ({1: "a"}, TypeError, "text for names, got 1"),
        ({"a": []}, ValueError, r"descriptors\['a'\] must hold at least one key"),
        ({"a": 3}, TypeError, r"descriptors\['a'\] must be a list of keys, a prefix or a callable"),
        ({"a": slice(0, 3)}, TypeError, "a list of keys"),
        ({"a": [object()]}, TypeError, "keys must be names"),
        ({"a": lambda key: "yes"}, TypeError, r"\['a'\] must return True or False, got 'yes'"),
    ],
)
def test_descriptors_that_make_no_sense_are_refused(descriptors, error, match):
    with pytest.raises(error, match=match):
        KeyColumns(descriptors).assign(["a"])


@pytest.mark.parametrize("n_rows", [3, 40, 200])
def test_keys_that_share_a_column_are_added_up(monkeypatch, n_rows):
    """Digests of 62 bits collide where somebody looks for it; no row with both is an error."""

    def colliding(name):
        return column_of_name("a" if name == "b" else name)

    monkeypatch.setattr(key_columns, "column_of_name", colliding)
    key_columns._column_of_text.cache_clear()
    random = np.random.default_rng(0)
    values = random.uniform(size=(n_rows, 3)).tolist()
    model, twin = (river.ExpChi2Classifier(16, seed=0) for _ in range(2))
    for a, b, c in values:
        model.learn_one({"a": a, "b": b, "c": c}, a > b)
        twin.learn_one({"c": c, "a": a + b}, a > b)
    key_columns._column_of_text.cache_clear()
    assert dumped(model) == dumped(twin)
    frame = pd.DataFrame(values, columns=["a", "b", "c"])
    monkeypatch.setattr(key_columns, "column_of_name", colliding)
    many = river.ExpChi2Classifier(16, seed=0)
    many.learn_many(frame, frame["a"] > frame["b"])
    key_columns._column_of_text.cache_clear()
    assert many.predict_proba_one({"a": 0.5}) == model.predict_proba_one({"a": 0.5})


def test_text_and_what_is_no_text_never_share_a_column():
    keys = [1, "1", "\x001", "\x00\x001", (1,), "\x00(1,)", b"1", None, "\0None"]
    assert len({column_of_key(key) for key in keys}) == len(keys)
