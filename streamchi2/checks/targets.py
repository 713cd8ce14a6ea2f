"""Validation of y: class labels and numeric targets, one per row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import column_or_1d

from streamchi2.checks.params import shown
from streamchi2.checks.rows import refuse_masked

_HUGE = 1e140  # squares of larger values, summed, would not be finite
_INT64, _UINT64 = np.iinfo(np.int64), np.iinfo(np.uint64)
_TEXT_OR_INT64 = "give text labels, or integers that int64 can hold"


def as_labels(estimator: Any, y: Any, n_rows: int) -> NDArray[Any]:
    """Return class labels, one per row: all text or all numbers, each exactly as given.

    Integers are int64 or, where one of them is 2^63 or more, uint64. Refused is what an array could
    not keep apart: integers that need both, whole floats from 2^53 on, and text that ends in a null
    character, which numpy drops.

    >>> as_labels(None, [2**63, 2**63 + 1], 2)
    array([9223372036854775808, 9223372036854775809], dtype=uint64)
    >>> as_labels(None, ["ham", "spam"], 2)
    array(['ham', 'spam'], dtype='<U4')
    >>> as_labels(None, ["ham", 1], 2)
    Traceback (most recent call last):
        ...
    TypeError: y must hold text or numbers, not both, got 1 at row 1
    """
    _refuse_none(estimator, y)
    refuse_masked(y, name="y")
    if isinstance(y, list | tuple):
        y = np.asarray(y, dtype=object)  # numpy alone would turn ["ham", 1] into text
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    _refuse_length(labels, n_rows)
    if labels.dtype.kind in "OT":  # strings of any length have no place in a structured array
        labels = _labels_of_objects(labels.astype(object))
    if labels.dtype.kind == "f":
        _refuse_not_finite(labels[:, None])
        _refuse_rounded(labels)
    if labels.dtype.kind not in "biufU":
        raise TypeError(f"y must hold text or numbers, got dtype {labels.dtype}")
    _refuse_continuous(labels)
    return labels


def is_indicator(y: Any) -> bool:
    """Tell whether targets have the shape of an indicator matrix: two columns or more.

    >>> is_indicator([[0, 1], [1, 1]]), is_indicator([[0], [1]]), is_indicator(["ham", "spam"])
    (True, False, False)
    """
    try:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    except ValueError:  # ragged
        return False
    return len(shape) == 2 and shape[1] > 1


def as_indicators(y: Any, n_rows: int) -> NDArray[np.float64]:
    """Return an indicator matrix, zeros and ones of shape (n, n_labels), as float64.

    >>> as_indicators([[0, 1], [1, 2]], 2)
    Traceback (most recent call last):
        ...
    ValueError: y must hold zeros and ones where it has a column for each label, got 2 at row 1, \
    column 1
    """
    refuse_masked(y, name="y")
    given = np.asarray(y.toarray() if sparse.issparse(y) else y)
    _refuse_length(given, n_rows)
    wrong = np.argwhere((given != 0) & (given != 1))
    if given.dtype.kind not in "biufO" or wrong.size:
        row, column = wrong[0] if wrong.size else (0, 0)
        raise ValueError(
            "y must hold zeros and ones where it has a column for each label, got "
            f"{given[row, column]} at row {row}, column {column}"
        )
    return given.astype(np.float64, order="C")


def as_numbers(estimator: Any, y: Any, n_rows: int) -> NDArray[np.float64]:
    """Return numeric targets, shape (n,) or (n, n_targets) as given, float64 and finite.

    >>> as_numbers(None, [1, 2, float("nan")], 3)
    Traceback (most recent call last):
        ...
    ValueError: y must be finite, got nan at row 2
    """
    _refuse_none(estimator, y)
    refuse_masked(y, name="y")
    given = np.asarray(y)
    if given.dtype.kind == "O":
        for row, value in enumerate(given.flat):
            if isinstance(value, np.datetime64 | np.timedelta64):
                raise TypeError(f"y must hold numbers, got {value!r} at row {row}")
        try:
            given = given.astype(np.float64)
        except OverflowError:
            raise ValueError(
                f"y must be finite, got an integer beyond {np.finfo(np.float64).max:.1e}"
            ) from None
        except (TypeError, ValueError) as error:
            raise TypeError(f"y must hold numbers: {error}") from None
    if given.dtype.kind not in "biuf":
        raise TypeError(f"y must hold numbers, got dtype {given.dtype}")
    if given.ndim not in (1, 2):
        raise ValueError(f"y must have one or two dimensions, got shape {given.shape}")
    _refuse_length(given, n_rows)
    targets = given.astype(np.float64, order="C")  # one layout, so that sums round alike
    _refuse_not_finite(targets.reshape(n_rows, -1))
    return targets


def as_declared_classes(classes: Any) -> NDArray[Any]:
    """Return the classes that a user announces, sorted; anything that ``np.asarray`` takes.

    >>> as_declared_classes([2, 0, 1])
    array([0, 1, 2])
    """
    if not isinstance(classes, list | tuple):
        classes = np.asarray(classes)  # a Dask array may not know its length
        if classes.ndim == 0:
            raise TypeError(f"classes must be a sequence of labels, got {classes.item()!r}")
    if not len(classes):
        raise ValueError("classes must hold at least one label, got none")
    declared: NDArray[Any] = np.unique(as_labels(None, classes, len(classes)))
    if declared.size != len(classes):
        raise ValueError(f"classes must be distinct, got {list(classes)!r}")
    return declared


def refuse_unknown(labels: NDArray[Any], classes: NDArray[Any]) -> None:
    """Refuse labels that are not among the declared classes.

    >>> refuse_unknown(np.array([0, 3]), np.array([0, 1]))
    Traceback (most recent call last):
        ...
    ValueError: y must be one of the declared classes [0, 1], got 3 at row 1
    """
    if labels.dtype == classes.dtype or classes.dtype.kind in "UT":
        unknown = np.flatnonzero(~np.isin(labels, classes))
    else:  # numpy would compare int64 and uint64 as floats, Python compares numbers exactly
        known = set(classes.tolist())
        unknown = np.flatnonzero([label not in known for label in labels.tolist()])
    if unknown.size:
        label = labels[unknown[0]].item()
        raise ValueError(
            f"y must be one of the declared classes {classes.tolist()}, "
            f"got {label!r} at row {unknown[0]}"
        )


def refuse_other_kind(labels: NDArray[Any], known: NDArray[Any]) -> None:
    """Refuse text where numbers were learnt, and numbers where text was."""
    if known.size and (labels.dtype.kind in "UT") != (known.dtype.kind in "UT"):
        raise TypeError(
            f"y must hold labels of one kind, got {labels[0].item()!r} after {known[0].item()!r}"
        )


def union_of_labels(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """Return the labels of both, sorted and distinct, none of them rounded, or refuse.

    Integers stay integers (numpy alone makes floats of int64 and uint64 together). Integers and
    whole floats become floats if these hold all of them exactly. An empty side does not decide the
    type.

    >>> union_of_labels(np.array([7]), np.array([2**63], dtype=np.uint64))
    array([                  7, 9223372036854775808], dtype=uint64)
    >>> union_of_labels(np.array([2**53 + 1]), np.array([0.0]))
    Traceback (most recent call last):
        ...
    ValueError: labels must be told apart: float64 rounds 9007199254740993; give text labels, or \
    integers that int64 can hold
    """
    if not left.size or not right.size:
        return np.unique(right if right.size else left)
    refuse_other_kind(right, left)
    dtype = _exact_dtype(left, right)
    return np.union1d(left.astype(dtype), right.astype(dtype))


def positions_of_labels(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of each label among sorted classes that hold them all.

    >>> positions_of_labels(np.array([3, 1]), np.array([1.0, 2.0, 3.0]))
    array([2, 0])
    """
    # A label that is among the classes is exact in their type; numpy would promote both.
    alike = labels if classes.dtype.kind in "UT" else labels.astype(classes.dtype)
    return np.searchsorted(classes, alike)


def as_label(y: Any) -> str | bool | int | float:
    """Return one label as a value of Python's own: what an array of labels keeps exactly.

    >>> as_label(np.int64(3)), as_label("spam")
    (3, 'spam')
    >>> as_label(2**70)
    Traceback (most recent call last):
        ...
    ValueError: y must be an integer that int64 can hold, got 1180591620717411303424; give text \
    labels, or integers that int64 can hold
    """
    label = y.item() if isinstance(y, np.generic) else y
    if isinstance(label, str):
        _refuse_null(label, where="")
        return str(label)
    if isinstance(label, bool):
        return label
    if isinstance(label, int):
        if not _INT64.min <= label <= _INT64.max:
            raise ValueError(
                f"y must be an integer that int64 can hold, got {shown(label)}; {_TEXT_OR_INT64}"
            )
        return int(label)
    if isinstance(label, float):
        if not np.isfinite(label):
            raise ValueError(f"y must be finite, got {label}")
        _refuse_rounded(np.array([label]))
        return float(label)
    raise TypeError(f"y must be text, a boolean or a finite number, got {y!r}")


def refuse_huge(values: NDArray[Any], *, name: str) -> None:
    """Refuse finite values whose squares could not be summed.

    >>> refuse_huge(np.array([[0.0], [1e200]]), name="X")
    Traceback (most recent call last):
        ...
    ValueError: X must be below 1e+140 in size, since squares are summed, got 1e+200 at row 1
    """
    if max(float(values.max(initial=0.0)), -float(values.min(initial=0.0))) >= _HUGE:
        place = int(np.argmax(np.abs(values) >= _HUGE))
        raise ValueError(
            f"{name} must be below {_HUGE} in size, since squares are summed, got "
            f"{values.flat[place]} at row {place // values[0].size}"
        )


def _refuse_none(estimator: Any, y: Any) -> None:
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )


def _refuse_length(targets: NDArray[Any], n_rows: int) -> None:
    if targets.shape[0] != n_rows:
        raise ValueError(
            f"y must hold one target per row: got {targets.shape[0]} targets for {n_rows} rows"
        )


def _refuse_not_finite(targets: NDArray[Any]) -> None:
    wrong = np.argwhere(~np.isfinite(targets))
    if wrong.size:
        row, column = wrong[0]
        where = f"row {row}" if targets.shape[1] == 1 else f"row {row}, column {column}"
        raise ValueError(f"y must be finite, got {targets[row, column]} at {where}")


def _refuse_continuous(labels: NDArray[Any]) -> None:
    # Not scikit-learn's check: it also warns of many classes in few rows, as every stream has.
    broken = np.flatnonzero(labels != np.floor(labels)) if labels.dtype.kind == "f" else labels[:0]
    if broken.size:
        row = int(broken[0])
        raise ValueError(
            "Unknown label type: y must hold classes, not continuous values, got "
            f"{labels[row].item()} at row {row}"
        )


def _labels_of_objects(labels: NDArray[Any]) -> NDArray[Any]:
    is_text = [isinstance(label, str) for label in labels]
    if all(is_text):
        for row, label in enumerate(labels):
            _refuse_null(label, where=f" at row {row}")
        return labels.astype(str)
    for row, label in enumerate(labels):
        if not isinstance(label, int | float | np.number | np.bool_):
            if is_text[row]:
                continue
            raise TypeError(f"y must hold text or numbers, got {label!r} at row {row}")
    if any(is_text):
        row = is_text.index(not is_text[0])
        raise TypeError(f"y must hold text or numbers, not both, got {labels[row]!r} at row {row}")
    return _array_of_numbers([x.item() if isinstance(x, np.generic) else x for x in labels])


def _array_of_numbers(numbers: list[Any]) -> NDArray[Any]:
    """Return numbers as an array that holds each of them exactly, or refuse."""
    integers = [number for number in numbers if isinstance(number, int)]
    if all(isinstance(number, bool) for number in numbers) or not integers:
        return np.array(numbers)
    low, high = min(integers), max(integers)
    if len(integers) < len(numbers):
        _refuse_rounding(low, high, np.dtype(np.float64))
        return np.array(numbers, dtype=np.float64)
    return np.array(numbers, dtype=_integer_dtype(low, high))


def _exact_dtype(left: NDArray[Any], right: NDArray[Any]) -> np.dtype[Any]:
    """Return a type that holds the labels of both exactly, or refuse."""
    dtype = np.result_type(left, right)
    if dtype.kind != "f":
        return dtype
    integers = [side for side in (left, right) if side.dtype.kind in "iu"]
    if integers:
        low = min(int(side.min()) for side in integers)
        high = max(int(side.max()) for side in integers)
        if len(integers) == 2:
            return _integer_dtype(low, high)
        _refuse_rounding(low, high, dtype)
    return dtype


def _integer_dtype(low: int, high: int) -> np.dtype[Any]:
    if _INT64.min <= low and high <= _INT64.max:
        return np.dtype(np.int64)
    if low >= 0 and high <= _UINT64.max:
        return np.dtype(np.uint64)
    raise ValueError(
        "labels must be integers that int64 can hold, or non-negative ones that uint64 can hold, "
        f"got {shown(low)} and {shown(high)}; {_TEXT_OR_INT64}"
    )


def _refuse_rounding(low: int, high: int, dtype: np.dtype[Any]) -> None:
    """Refuse integers between which floats of this type leave some out."""
    largest = max(low, high, key=abs)
    if abs(largest) >= 2 ** (np.finfo(dtype).nmant + 1):
        raise ValueError(
            f"labels must be told apart: {dtype} rounds {shown(largest)}; {_TEXT_OR_INT64}"
        )


def _refuse_rounded(labels: NDArray[Any]) -> None:
    """Refuse whole floats so large that the integers beside them are the same float."""
    bound = 2.0 ** (np.finfo(labels.dtype).nmant + 1)
    rounded = np.flatnonzero(np.abs(labels) >= bound)
    if rounded.size:
        row = int(rounded[0])
        raise ValueError(
            f"y must hold labels that {labels.dtype} tells apart, below {bound:.0f} in size, got "
            f"{labels[row]} at row {row}; {_TEXT_OR_INT64}"
        )


def _refuse_null(label: str, *, where: str) -> None:
    if label.endswith("\0"):
        raise ValueError(
            "y must hold text that does not end in a null character, which numpy drops, got "
            f"{label!r}{where}; strip it, or replace it"
        )
