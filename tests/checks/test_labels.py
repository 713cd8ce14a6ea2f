"""Labels and numbers of one batch: what is accepted as it is, and what is refused."""

import enum
import time

import dask.array as da
import numpy as np
import pytest

from streamchi2.checks.targets import (
    as_declared_classes,
    as_label,
    as_labels,
    as_number,
    as_numbers,
)


class Colour(enum.StrEnum):
    RED = "red"


@pytest.mark.parametrize(
    "labels",
    [
        ["ham", "spam\0"],
        [b"ham", b"spam"],
        [2**70, -1, 2**53 + 1],
        [True, False],
        [1.0, 2, True],
        np.array([2**63, 1], np.uint64),
        np.array([2.0**25, 1.0], np.float32),
        np.array(["ham", "eggs"], np.dtypes.StringDType()),
    ],
)
def test_labels_are_kept_exactly(labels):
    plain = list(labels) if isinstance(labels, list) else labels.tolist()
    assert as_labels(None, labels, len(labels)).tolist() == plain
    assert as_declared_classes(labels[:2]) == plain[:2]


@pytest.mark.parametrize(
    ("labels", "error", "match"),
    [
        (None, ValueError, "requires y to be passed"),
        ([0.5, 1.5], ValueError, "Unknown label type: .* got 0.5 at row 0"),
        ([1, None], TypeError, "text or numbers, got None at row 1"),
        ([1.0, np.inf], ValueError, "finite, got inf at row 1"),
        ([[1], [2, 3]], TypeError, "unhashable type: 'list'"),
        ([1j, 1], TypeError, r"got 1j at row 0"),
        (np.array(["2020", "2021"], "M8[ns]"), TypeError, "got dtype datetime64"),
        ([1], ValueError, "got 1 targets for 2 rows"),
    ],
)
def test_what_is_no_label_is_refused(labels, error, match):
    with pytest.raises(error, match=match):
        as_labels(None, labels, 2)


def test_many_distinct_labels_are_checked_in_linear_time():
    labels, start = [f"word {number}" for number in range(50_000)], time.perf_counter()
    as_labels(None, labels, len(labels))
    assert time.perf_counter() - start < 5.0  # 30 ms; 12 s where each looks for its row


@pytest.mark.parametrize(
    ("given", "label"),
    [(np.int8(3), 3), (np.str_("a"), "a"), (np.True_, True), (np.float32(0.5), 0.5)]
    + [(label, label) for label in (b"a", 10**400, -2, True, 0.5, "a\0")]
    + [(Colour.RED, "red")],
)
def test_single_labels_become_plain_objects(given, label):
    assert as_label(given) == label
    assert type(as_label(given)) is type(label)


def test_classes_may_be_declared_by_whatever_is_an_array():
    unknown_length = da.from_array(np.array([3, 1, 2, 0]))
    assert as_declared_classes(unknown_length[unknown_length > 0]) == [3, 1, 2]
    assert as_declared_classes(range(2), 2) == [0, 1]


@pytest.mark.parametrize(
    ("classes", "error", "match"),
    [
        ([], ValueError, "at least one label"),
        (3, TypeError, "a sequence of labels, got 3"),
        ([1, True], ValueError, "must be distinct"),
        ([1.0, 1.0, 1.0], ValueError, "weights go by name"),
        (np.array([0.5, 2.0, 3.0]), ValueError, "weights go by name"),
    ],
)
def test_classes_that_are_none_are_refused(classes, error, match):
    with pytest.raises(error, match=match):
        as_declared_classes(classes, 3)


@pytest.mark.parametrize(
    ("targets", "error", "match"),
    [
        ([1, 10**400], ValueError, "y must be finite, got an integer beyond"),
        ([1.0, np.nan], ValueError, "y must be finite, got nan at row 1"),
        ([[1.0, 2.0], [1.0, np.inf]], ValueError, "got inf at row 1, column 1"),
        ([1.0, 1e200], ValueError, r"below 1e\+140 in size"),
        (np.array([1, "2"], object), TypeError, "must hold numbers, got '2' at row 1"),
    ],
)
def test_what_is_no_numeric_target_is_refused(targets, error, match):
    with pytest.raises(error, match=match):
        as_numbers(None, targets, 2)


@pytest.mark.parametrize("value", ["3", None, 1j, np.timedelta64(3, "s"), np.nan, 10**400])
def test_a_single_number_is_refused_where_it_is_none(value):
    with pytest.raises((TypeError, ValueError), match=r"y must be .* for 'a'"):
        as_number(value, " for 'a'")
