"""Validation of rows with names: dicts and frames to columns and values.

Every key is given a column of its own among 2^62 by a digest of its name, equal in every process,
so that keys may come and go in any order: a missing key and a zero are the same row.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import lru_cache
from numbers import Real
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from river.utils.dataframe import to_numpy

from streamchi2.bases.hash_buckets import column_of_name
from streamchi2.statistics.row_buffer import Row

_PLAIN = frozenset({float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_})


class DictReader:
    """Reads dicts, and remembers the order of the keys of the last one.

    Streams tend to repeat their keys, and then neither hashing nor sorting is needed again. The
    columns of up to 65536 keys are remembered by the process, so that a vocabulary that grows
    without end takes no more memory than that.

    Examples
    --------
    >>> rows = DictReader()
    >>> rows.read({"red": 2, "green": 0.5}).values.tolist()
    [2.0, 0.5]
    >>> rows.read({"green": 0.5, "red": 2}).values.tolist()
    [2.0, 0.5]
    >>> rows.read({"red": -1})
    Traceback (most recent call last):
        ...
    ValueError: x must be finite and non-negative, got -1 at key 'red'
    """

    def __init__(self) -> None:
        self._keys: tuple[Hashable, ...] = ()
        self._columns: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._order: NDArray[np.intp] = np.empty(0, dtype=np.intp)

    def read(self, x: Mapping[Hashable, Any]) -> Row:
        """Return a checked row; equal keys in equal order give the same array of columns."""
        if not isinstance(x, Mapping):
            raise TypeError(f"x must be a dict of features, got {x!r}")
        if not _PLAIN.issuperset(map(type, x.values())):
            _refuse_other_than_numbers(x)
        values = np.fromiter(x.values(), np.float64, len(x))
        # NaN propagates through min and max, so that both comparisons fail.
        if not (values.min(initial=0.0) >= 0.0 and values.max(initial=0.0) < np.inf):
            _refuse_value(x)
        keys = tuple(x)
        if keys != self._keys:
            columns = np.fromiter(map(column_of_key, keys), np.int64, len(keys))
            self._order = columns.argsort()
            self._columns = columns[self._order]
            self._keys = keys
        return Row(self._columns, values[self._order])

    def __getstate__(self) -> dict[str, Any]:
        return DictReader().__dict__  # what is remembered only saves time


@lru_cache(maxsize=2**16)
def column_of_key(key: Hashable) -> int:
    """Return the column of a key: that of its name, or of its type and text if it is no name.

    Keys that are equal in a dict have the same column, 1 and 1.0 say; 1 and "1" have not.

    >>> column_of_key(1) == column_of_key(1.0), column_of_key(1) == column_of_key("1")
    (True, False)
    """
    if isinstance(key, np.generic):
        key = key.item()
    if isinstance(key, str):
        return column_of_name(str(key))
    if isinstance(key, float) and key.is_integer():
        key = int(key)
    if isinstance(key, bool):
        key = int(key)
    if not isinstance(key, int | float | tuple | bytes | None):
        raise TypeError(
            f"keys must be names, numbers or tuples of them, got {key!r}: the text of a "
            f"{type(key).__name__} may differ from process to process"
        )
    # No name of a feature begins with a null character in practice.
    return column_of_name(f"\0{type(key).__name__} {key!r}")


def frame_rows(frame: Any) -> list[Row]:
    """Return the rows of a narwhals frame without their zeros, checked as those of dicts are."""
    names = list(
        frame.to_native().columns if frame.implementation.is_pandas_like() else frame.columns
    )
    if len(set(names)) < len(names):
        raise ValueError(f"X must have distinct columns, got {names!r}")
    try:
        _refuse_text(frame, names)
        values = np.asarray(to_numpy(frame), dtype=np.float64)
    except (TypeError, ValueError) as error:
        _refuse_column(frame, names, error)
    allowed = (values >= 0.0) & (values < np.inf)
    if not allowed.all():
        row, column = np.argwhere(~allowed)[0]
        raise ValueError(
            f"X must be finite and non-negative, without missing values, "
            f"got {values[row, column]} at row {row}, column {names[column]!r}"
        )
    columns = np.fromiter(map(column_of_key, names), np.int64, len(names))
    order = columns.argsort()
    columns, values = columns[order], values[:, order]
    rows, places = np.nonzero(values)
    ends = np.cumsum(np.bincount(rows, minlength=values.shape[0]))[:-1]
    parts = zip(np.split(columns[places], ends), np.split(values[rows, places], ends), strict=True)
    # Copies: a row that waits must not keep its whole frame alive.
    return [Row(row_columns.copy(), row_values.copy()) for row_columns, row_values in parts][
        : values.shape[0]
    ]


def _refuse_other_than_numbers(x: Mapping[Hashable, Any]) -> None:
    for key, value in x.items():
        if not isinstance(value, Real | np.bool_):
            raise TypeError(f"x must hold numbers, got {value!r} at key {key!r}")


def _refuse_value(x: Mapping[Hashable, Any]) -> NoReturn:
    key, value = next((k, v) for k, v in x.items() if not 0.0 <= float(v) < np.inf)
    raise ValueError(f"x must be finite and non-negative, got {value!r} at key {key!r}")


def _refuse_text(frame: Any, names: list[Any]) -> None:
    """Refuse columns that hold text: "1" is no number, though numpy would read it as one."""
    for place, (name, dtype) in enumerate(zip(names, frame.schema.values(), strict=True)):
        if dtype.is_numeric() or str(dtype) == "Boolean":
            continue
        if any(isinstance(value, str | bytes) for value in frame[:, place].to_list()):
            raise TypeError(f"X must hold numbers, got {dtype} in column {name!r}")


def _refuse_column(frame: Any, names: list[Any], error: Exception) -> NoReturn:
    for name, dtype in zip(names, frame.schema.values(), strict=True):
        if not (dtype.is_numeric() or str(dtype) == "Boolean"):
            raise TypeError(f"X must hold numbers, got {dtype} in column {name!r}") from error
    raise TypeError(f"X must hold numbers: {error}") from error
