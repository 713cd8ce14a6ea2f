"""Validation of y: class labels and numeric targets, one per row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

_HUGE = 1e140  # squares of larger values, summed, would not be finite


def as_labels(estimator: Any, y: Any, n_rows: int) -> NDArray[Any]:
    """Return class labels, one per row: all words or all numbers.

    >>> as_labels(None, ["ham", "spam"], 2)
    array(['ham', 'spam'], dtype='<U4')
    >>> as_labels(None, ["ham", 1], 2)
    Traceback (most recent call last):
        ...
    TypeError: y must hold words or numbers, not both, got 1 at row 1
    """
    _refuse_none(estimator, y)
    if isinstance(y, list | tuple):
        y = np.asarray(y, dtype=object)  # numpy alone would turn ["ham", 1] into words
    labels: NDArray[Any] = column_or_1d(y, warn=True)
    _refuse_length(labels, n_rows)
    if labels.dtype.kind in "OT":  # strings of any length have no place in a structured array
        labels = _labels_of_objects(labels.astype(object))
    if labels.dtype.kind == "f":
        _refuse_not_finite(labels[:, None])
    if labels.dtype.kind not in "biufU":
        raise TypeError(f"y must hold words or numbers, got dtype {labels.dtype}")
    _refuse_continuous(labels)
    return labels


def as_numbers(estimator: Any, y: Any, n_rows: int) -> NDArray[np.float64]:
    """Return numeric targets, shape (n,) or (n, n_targets) as given, float64 and finite.

    >>> as_numbers(None, [1, 2, float("nan")], 3)
    Traceback (most recent call last):
        ...
    ValueError: y must be finite, got nan at row 2
    """
    _refuse_none(estimator, y)
    given = np.asarray(y)
    if given.dtype.kind == "O":
        try:
            given = given.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"y must hold numbers: {error}") from None
    if given.dtype.kind not in "biuf":
        raise TypeError(f"y must hold numbers, got dtype {given.dtype}")
    if given.ndim not in (1, 2):
        raise ValueError(f"y must have one or two dimensions, got shape {given.shape}")
    _refuse_length(given, n_rows)
    targets = given.astype(np.float64)
    _refuse_not_finite(targets.reshape(n_rows, -1))
    return targets


def as_declared_classes(classes: Any) -> NDArray[Any]:
    """Return the classes that a user announces, sorted.

    >>> as_declared_classes([2, 0, 1])
    array([0, 1, 2])
    """
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
    unknown = np.flatnonzero(~np.isin(labels, classes))
    if unknown.size:
        label = labels[unknown[0]].item()
        raise ValueError(
            f"y must be one of the declared classes {classes.tolist()}, "
            f"got {label!r} at row {unknown[0]}"
        )


def refuse_other_kind(labels: NDArray[Any], known: NDArray[Any]) -> None:
    """Refuse words where numbers were learnt, and numbers where words were."""
    if known.size and (labels.dtype.kind in "UT") != (known.dtype.kind in "UT"):
        raise TypeError(
            f"y must hold labels of one kind, got {labels[0].item()!r} after {known[0].item()!r}"
        )


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
    words = [isinstance(label, str) for label in labels]
    if all(words):
        return labels.astype(str)
    for row, label in enumerate(labels):
        if not isinstance(label, int | float | np.number | np.bool_):
            if words[row]:
                continue
            raise TypeError(f"y must hold words or numbers, got {label!r} at row {row}")
    if any(words):
        row = words.index(not words[0])
        raise TypeError(f"y must hold words or numbers, not both, got {labels[row]!r} at row {row}")
    return np.array(labels.tolist())
