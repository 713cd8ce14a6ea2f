"""Validation of y: class labels and numeric targets, one per row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import column_or_1d

from streamchi2.checks.params import shown
from streamchi2.checks.rows import Array, as_float64, refuse_masked

_HUGE = 1e140  # squares of larger values, summed, would not be finite


def as_labels(estimator: Any, y: Any, n_rows: int) -> NDArray[Any]:
    """Return class labels, one per row, in an array of any type whose ``tolist`` gives labels.

    That they are all text or all numbers is for those to say who know the earlier ones, see
    :class:`streamchi2.statistics.targets.Targets`.

    >>> as_labels(None, [2**70, 1], 2).tolist() == [2**70, 1]
    True
    >>> as_labels(None, [0.5, 1.5], 2)
    Traceback (most recent call last):
        ...
    ValueError: Unknown label type: y must hold classes, not continuous values, got 0.5 at row 0
    """
    _refuse_missing(estimator, y)
    if isinstance(y, list | tuple):
        y = np.asarray(y, dtype=object)  # numpy alone would turn ["ham", 1] into text
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    _refuse_length(labels, n_rows)
    if labels.dtype.kind not in "biufUSTO":  # tolist makes integers of some dates
        raise TypeError(f"y must hold text or numbers, got dtype {labels.dtype}")
    values = labels.tolist()
    try:
        distinct = dict.fromkeys(values)
    except TypeError as error:
        raise TypeError(f"y must hold text or numbers: {error}") from None
    for given in distinct:
        try:
            label = as_label(given)
            # Not scikit-learn's check, which also warns of many classes in few rows.
            if isinstance(label, float) and not label.is_integer():
                raise ValueError(
                    f"Unknown label type: y must hold classes, not continuous values, got {label}"
                )
        except (TypeError, ValueError) as error:
            raise type(error)(f"{error} at row {values.index(given)}") from None
    return labels


def as_label(y: Any) -> str | bytes | bool | int | float:
    """Return one label as a value of Python's own, or refuse it.

    >>> as_label(np.int64(3)), as_label("spam")
    (3, 'spam')
    """
    # Of times, item() may be a whole number.
    label = y.item() if isinstance(y, np.generic) and y.dtype.kind in "biufUS" else y
    if isinstance(label, float) and not np.isfinite(label):
        raise ValueError(f"y must be finite, got {label}")
    if isinstance(label, str):
        return str.__str__(label)  # of an enum's member, its value
    plain: Any
    for plain in (bool, int, float, bytes):
        if isinstance(label, plain):
            return plain(label)  # type: ignore[no-any-return]
    raise TypeError(f"y must hold text or numbers, got {y!r}")


def as_declared_classes(classes: Any, n_rows: int | None = None) -> list[Any]:
    """Return the classes that a user announces: anything that ``np.asarray`` takes.

    >>> as_declared_classes([2, 0, 1])
    [2, 0, 1]
    """
    if not isinstance(classes, list | tuple):
        classes = np.asarray(classes)  # a Dask array may not know its length
        if classes.ndim == 0:
            raise TypeError(f"classes must be a sequence of labels, got {classes.item()!r}")
    if not len(classes):
        raise ValueError("classes must hold at least one label, got none")
    array = np.asarray(classes)
    are_numbers = array.shape == (n_rows,) and array.dtype.kind in "iuf"
    if are_numbers and (np.unique(array).size < array.size or (array != np.floor(array)).any()):
        raise ValueError(
            "classes must be distinct labels, got numbers that look like weights, one for each of "
            f"{n_rows} rows: the third argument of partial_fit is classes, weights go by name, "
            "sample_weight="
        )
    labels = [as_label(label) for label in as_labels(None, classes, len(classes)).tolist()]
    if len(set(labels)) < len(labels):
        raise ValueError(f"classes must be distinct, got {labels!r}")
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


def as_indicators(y: Any, n_rows: int) -> Array:
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


def as_numbers(estimator: Any, y: Any, n_rows: int) -> Array:
    """Return numeric targets, shape (n,) or (n, n_targets) as given, float64 and finite.

    >>> as_numbers(None, [1, 2, float("nan")], 3)
    Traceback (most recent call last):
        ...
    ValueError: y must be finite, got nan at row 2
    """
    _refuse_missing(estimator, y)
    targets = as_float64(np.asarray(y), name="y")
    if targets.ndim not in (1, 2):
        raise ValueError(f"y must have one or two dimensions, got shape {targets.shape}")
    _refuse_length(targets, n_rows)
    wrong = np.argwhere(~np.isfinite(targets))
    if wrong.size:
        row, *column = wrong[0]
        where = f"row {row}" + "".join(f", column {index}" for index in column)
        raise ValueError(f"y must be finite, got {targets[*wrong[0]]} at {where}")
    refuse_huge(targets, name="y")
    return targets


def as_number(value: Any, where: str = "") -> float:
    """Return one numeric target as a float, or refuse it, saying where it stands.

    >>> as_number(True)
    1.0
    """
    is_number = isinstance(value, int | float | np.number | np.bool_)
    # numpy calls a timedelta64 an integer
    if not is_number or isinstance(value, np.timedelta64 | np.complexfloating):
        raise TypeError(f"y must be a number, got {value!r}{where}")
    if not isinstance(value, int):
        value = float(value)
    if not -_HUGE < value < _HUGE:
        raise ValueError(f"y must be finite and below {_HUGE} in size, got {shown(value)}{where}")
    return float(value)


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


def _refuse_missing(estimator: Any, y: Any) -> None:
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    refuse_masked(y, name="y")


def _refuse_length(targets: NDArray[Any], n_rows: int) -> None:
    if targets.shape[0] != n_rows:
        raise ValueError(
            f"y must hold one target per row: got {targets.shape[0]} targets for {n_rows} rows"
        )
