"""Labels stay exactly what they were given as, in one batch and across batches, or are refused."""

import dask.array as da
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamchi2.checks import (
    as_declared_classes,
    as_label,
    as_labels,
    as_numbers,
    positions_of_labels,
    refuse_unknown,
    union_of_labels,
)

NUMBERS = st.integers(-(2**66), 2**66) | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 2.0**53])
LABELS = st.lists(NUMBERS, min_size=1, max_size=6)


def have_an_exact_array(labels):
    if any(isinstance(label, float) for label in labels):
        return max(map(abs, labels)) < 2**53
    low, high = min(labels), max(labels)
    return -(2**63) <= low <= high < 2**63 or 0 <= low <= high < 2**64


@given(LABELS)
def test_labels_are_kept_exactly_or_refused(labels):
    if have_an_exact_array(labels):
        assert as_labels(None, labels, len(labels)).tolist() == labels  # exact in Python
    else:
        with pytest.raises(ValueError, match="labels"):
            as_labels(None, labels, len(labels))


@given(LABELS.filter(have_an_exact_array), LABELS.filter(have_an_exact_array))
def test_unions_of_labels_are_exact_or_refused_and_symmetric(left, right):
    sides = [as_labels(None, labels, len(labels)) for labels in (left, right)]
    for pair in (sides, sides[::-1]):
        if have_an_exact_array(left + right):
            found = union_of_labels(*pair)
            assert found.tolist() == sorted({*left, *right})
            for labels in sides:
                assert found[positions_of_labels(labels, found)].tolist() == labels.tolist()
        else:
            with pytest.raises(ValueError, match="labels must be"):
                union_of_labels(*pair)


@pytest.mark.parametrize(
    "labels",
    [
        [2**63, 2**63 + 1, 1],
        [2**64 - 1, 2**64 - 2],
        [2**53, 2**53 + 1],
        [np.uint64(2**63), np.int64(1)],
    ],
)
def test_large_integers_do_not_collapse(labels):
    assert as_labels(None, labels, len(labels)).tolist() == labels
    assert as_declared_classes(labels).tolist() == sorted(labels)


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        ([2**63, -1], "got -1 and 9223372036854775808"),
        ([2**64], "int64 can hold"),
        ([10**5000, 1], "an integer of 16610 bits"),
        ([2**53 + 1, 1.0], "float64 rounds 9007199254740993"),
        (np.array([2**63, 1, 2]).astype(float), "float64 tells apart"),
        (np.array([2**25, 1], np.float32), "float32 tells apart"),
        (["a", "a\0"], "null character"),
        (np.array(["a\0"], dtype=np.dtypes.StringDType()), "null character"),
    ],
)
def test_labels_that_an_array_would_merge_are_refused(labels, match):
    with pytest.raises(ValueError, match=match):
        as_labels(None, labels, len(labels))


def test_uint64_and_int64_stay_integers():
    large, small = np.array([2**63, 2**63 + 1], np.uint64), np.array([3, 1])
    assert union_of_labels(large, small).tolist() == [1, 3, 2**63, 2**63 + 1]
    assert union_of_labels(np.array([5], np.uint64), -small).tolist() == [-3, -1, 5]
    with pytest.raises(ValueError, match="got -3 and 9223372036854775809"):
        union_of_labels(large, -small)
    with pytest.raises(ValueError, match=r"one of the declared classes .* got 9223372036854775809"):
        refuse_unknown(large, np.array([2**63, 2**62], np.uint64))
    with pytest.raises(ValueError, match="got 9223372036854775807 at row 0"):
        refuse_unknown(np.array([2**63 - 1]), np.array([2**63], np.uint64))


def test_unions_of_text_keep_the_longest_and_refuse_numbers():
    words, longer = np.array(["ham", "eggs"]), np.array(["spam and eggs"])
    assert union_of_labels(words, longer).tolist() == ["eggs", "ham", "spam and eggs"]
    with pytest.raises(TypeError, match="one kind"):
        union_of_labels(words, np.array([1]))
    assert union_of_labels(np.empty(0, np.int64), words).tolist() == ["eggs", "ham"]


def test_small_whole_floats_and_integers_are_the_same_classes():
    assert union_of_labels(np.array([0, 1]), np.array([1.0, 2.0])).tolist() == [0.0, 1.0, 2.0]
    assert union_of_labels(np.array([False]), np.array([1.0])).tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="float64 rounds"):
        union_of_labels(np.array([2**60]), np.array([1.0]))


def test_classes_may_be_declared_by_whatever_is_an_array():
    unknown_length = da.from_array(np.array([3, 1, 2]))
    unknown_length = unknown_length[unknown_length > 0]
    assert as_declared_classes(unknown_length).tolist() == [1, 2, 3]
    assert as_declared_classes(range(2)).tolist() == [0, 1]


@pytest.mark.parametrize("label", ["ham", True, -3, 2**63 - 1, 2.0])
def test_single_labels_are_returned_as_they_are(label):
    assert as_label(label) == label
    assert type(as_label(label)) is type(label)


@pytest.mark.parametrize(
    ("label", "error", "match"),
    [
        ("a\0", ValueError, "null character"),
        (2**63, ValueError, "int64 can hold, got 9223372036854775808"),
        (2.0**53, ValueError, "float64 tells apart"),
        (float("nan"), ValueError, "finite"),
        (None, TypeError, "got None"),
        (1j, TypeError, "got 1j"),
    ],
)
def test_single_labels_without_an_exact_place_are_refused(label, error, match):
    with pytest.raises(error, match=match):
        as_label(label)


def test_masked_targets_are_refused():
    masked = np.ma.array([1, 2, 3], mask=[False, True, False])
    for check in (as_labels, as_numbers):
        with pytest.raises(TypeError, match="y must be a plain array, got a masked one with 1"):
            check(None, masked, 3)


def test_targets_beyond_float64_are_refused():
    with pytest.raises(ValueError, match="y must be finite, got an integer beyond"):
        as_numbers(None, [1, 10**400], 2)
