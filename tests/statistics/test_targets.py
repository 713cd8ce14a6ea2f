"""Columns of targets: in order of arrival, the same however a stream was cut or merged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamchi2.errors import StateMismatchError
from streamchi2.files import dumped, loaded
from streamchi2.statistics.targets import Targets, has_target, is_given, label_array, matrix, moved

TEXT = st.sampled_from(["ham", "spam", "eggs", "a", "a\0", ""])
NUMBERS = st.sampled_from([0, 1, True, False, 1.0, -2.5, 2**53, 2**53 + 1, 2.0**53, 2**63, 10**30])
BATCHES = st.one_of(
    *(st.lists(st.lists(kind, max_size=6), max_size=4) for kind in (TEXT, NUMBERS, st.binary()))
)


@given(BATCHES)
def test_labels_are_objects_with_the_equality_of_python(batches):
    targets, codes = Targets("labels"), []
    for batch in batches:
        targets, block = targets.encode(batch)
        codes += block.tolist()
    labels = [label for batch in batches for label in batch]
    firsts = list(dict.fromkeys(labels))
    assert [targets.names[code] for code in codes] == labels
    assert list(map(repr, targets.names)) == list(map(repr, firsts))  # as first seen
    assert targets == Targets("labels").encode(labels)[0]
    classes, order = targets.classes_sorted
    assert classes.tolist() == sorted(firsts) == [targets.names[column] for column in order]
    assert loaded(dumped(targets)) == targets


@given(BATCHES)
def test_merging_is_a_union_and_moves_the_codes_of_the_other_side(batches):
    merged = Targets("labels")
    for batch in batches:
        theirs, block = Targets("labels").encode(batch)
        merged, columns = merged.merged(theirs)
        codes = moved(block, columns, merged.n_columns)
        assert [merged.names[code] for code in codes] == batch
    assert set(merged.names) == {label for batch in batches for label in batch}


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (["a", "bc"], "<U2"),
        ([1, 2.5], "float64"),
        ([2**70, 1], "object"),
        ([2**53 + 1, 0.5], "object"),
        (["a\0", "b"], "object"),
    ],
)
def test_arrays_of_labels_have_the_type_of_numpy_unless_it_changes_one(labels, dtype):
    array = label_array(labels)
    assert array.dtype == dtype
    assert array.tolist() == labels


def test_declared_classes_are_all_there_will_be():
    declared = Targets("labels").encode(["b"])[0].declared(["a", "b", "c"])
    assert declared.names == ("b", "a", "c")
    assert declared.declared(["c", "b", "a"]) is not None
    assert declared.merged(Targets("labels").encode(["c"])[0])[1].tolist() == [2]
    with pytest.raises(ValueError, match=r"one of the declared classes .* got 'd' at row 1"):
        declared.encode(["a", "d"])
    with pytest.raises(ValueError, match="classes must stay the same"):
        declared.declared(["a", "b"])
    with pytest.raises(ValueError, match=r"every label that came before, .* after 'b'"):
        Targets("labels").encode(["b"])[0].declared(["a"])
    for other in (Targets("labels", ("d",)), Targets("labels", ("a", "b"), complete=True)):
        for sides in ((declared, other), (other, declared)):
            with pytest.raises(StateMismatchError, match="classes were declared as"):
                sides[0].merged(sides[1])


@pytest.mark.parametrize("labels", [[1, "a"], ["a", 1], ["a", b"a"], [b"a", 0.0]])
def test_text_and_numbers_are_refused_in_one_batch_and_over_time(labels):
    first, second = (Targets("labels").encode([label])[0] for label in labels)
    for targets, batch in ((Targets("labels"), labels), (first, labels[1:])):
        with pytest.raises(TypeError, match=f"of one kind, got {labels[1]!r} after {labels[0]!r}"):
            targets.encode(batch)
    with pytest.raises(StateMismatchError, match="all text or all numbers"):
        first.merged(second)


def test_arrays_keep_their_form():
    flat = Targets.of_columns("numbers", np.zeros(2))
    two = Targets.of_columns("numbers", np.zeros((2, 2)))
    marks = Targets.of_columns("indicators", np.zeros((2, 2)))
    assert [t.n_columns for t in (flat, two, marks)] == [1, 2, 2]
    assert flat.encode(np.ones(3))[1].shape == (3, 1)
    assert two.encode(np.ones((3, 2)))[0] is two
    assert marks.classes_sorted[0].tolist() == [0, 1]
    for targets, values in ((flat, np.ones((3, 1))), (two, np.ones(3)), (two, np.ones((3, 3)))):
        with pytest.raises(ValueError, match="y must keep its shape"):
            targets.encode(values)
    with pytest.raises(ValueError, match="must keep its form, a column for each of 2 labels"):
        marks.encode([0, 1])
    with pytest.raises(ValueError, match="must keep its form, one label a row"):
        Targets("labels").encode(np.ones((3, 2)))
    with pytest.raises(ValueError, match="classes must be the numbers of the columns"):
        marks.declared([0, 2])
    for other in (two, marks, Targets("labels")):
        with pytest.raises(StateMismatchError, match="same shape to merge"):
            flat.merged(other)


def test_named_indicators_get_more_columns():
    targets, blocks = Targets("indicators"), []
    assert targets.n_columns == 1
    for row in ({}, {"red": 1.0}, {"blue": 1.0, "red": 0.0}):
        targets, values = targets.encode_one(row)
        blocks.append(values[None, :])
    blocks.append(targets.absent(1))
    table = np.vstack([matrix(block, targets.n_columns) for block in blocks])
    np.testing.assert_array_equal(table, [[0, 0], [1, 0], [0, 1], [np.nan, np.nan]])
    other, values = Targets("indicators").encode_one({"blue": 1.0, "green": 1.0})
    merged, columns = targets.merged(other)
    assert merged.names == ("red", "blue", "green")
    np.testing.assert_array_equal(moved(values[None, :], columns, 3), [[0, 1, 1]])
    nameless = Targets("indicators")
    assert nameless.merged(other)[0] == other
    merged, columns = other.merged(nameless)
    np.testing.assert_array_equal(moved(np.zeros((1, 1)), columns, 2), [[0, 0]])


def test_named_numbers_have_the_names_of_the_first_row():
    targets, values = Targets("numbers").encode_one({"plain": 2.0, "squared": 4.0})
    assert values.tolist() == [2.0, 4.0]
    assert targets.encode_one({"squared": 9.0, "plain": 3.0})[1].tolist() == [3.0, 9.0]
    for row in ({"plain": 1.0}, {"plain": 1.0, "cubed": 1.0}, {"plain": 1, "squared": 1, "x": 1}):
        with pytest.raises(ValueError, match=r"\['plain', 'squared'\] as before"):
            targets.encode_one(row)
    with pytest.raises(ValueError, match="an empty dict"):
        Targets("numbers").encode_one({})
    turned = Targets("numbers").encode_one({"squared": 4.0, "plain": 2.0})[0]
    assert targets.merged(turned)[1].tolist() == [1, 0]
    assert Targets("numbers").merged(targets)[0] == targets
    assert targets.merged(Targets("numbers"))[0] == targets
    with pytest.raises(StateMismatchError, match="targets must have the same"):
        targets.merged(Targets("numbers").encode_one({"other": 4.0})[0])


@given(st.lists(st.integers(-1, 3), max_size=9))
def test_blocks_of_labels_are_rows_of_one_1_and_empty_where_absent(codes):
    block = np.array(codes, dtype=np.int64)
    dense = matrix(block, 5).toarray()
    np.testing.assert_array_equal(
        dense, np.vstack([np.zeros((0, 5)), *np.eye(6)[block][:, None, :5]])
    )
    with pytest.raises(ValueError, match="distinct"):
        Targets("labels", (1, True)).check_state()
    assert has_target(block).tolist() == [is_given(code) for code in codes]
