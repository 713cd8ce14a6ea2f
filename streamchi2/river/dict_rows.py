"""Validation of rows with names: dicts and frames to columns and values.

Keys may come and go in any order: a missing key and a zero are the same row.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from numbers import Real
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from river.utils.dataframe import to_numpy

from streamchi2.river.key_columns import KeyColumns
from streamchi2.statistics.buffer import Row

_PLAIN = frozenset({float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_})
# Types of which equal values are equal as float64 too: np.float32(0.1) == 0.1, but is not that.
_EXACT = frozenset({float, int, bool, np.float64})
_REMEDY = (
    "scale with river's Normalizer or MaxAbsScaler, or divide by the sum of the row (MinMaxScaler "
    "and StandardScaler give NaN and negative values); split a signed feature v in two, max(v, 0) "
    "and max(-v, 0)"
)


class DictReader:
    """Reads dicts, and remembers the last one: the order of its keys, and its values.

    Streams tend to repeat their keys, and then neither hashing nor sorting is needed again; and
    each row is read twice, to predict and to learn. A dict is the last one if its keys and values
    are equal, whether it is the same object or not: one that was changed in place is another. The
    process remembers the columns of up to 65536 keys, however many a vocabulary grows to.

    Parameters
    ----------
    keys
        Which columns keys have.

    Examples
    --------
    >>> rows = DictReader()
    >>> rows.read({"red": 2, "green": 0.5}).values.tolist()
    [2.0, 0.5]
    >>> rows.read({"green": 0.5, "red": 2}).values.tolist()
    [2.0, 0.5]
    >>> rows.read({"red": -1})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: x must be finite and non-negative, got -1 at key 'red'; scale with ...
    """

    def __init__(self, keys: KeyColumns | None = None) -> None:
        self.keys = KeyColumns() if keys is None else keys
        # One tuple, replaced in one assignment: threads that share a reader never see the keys of
        # one row with the columns of another.
        self._last: _Last | None = None

    def read(self, x: Mapping[Hashable, Any]) -> Row:
        """Return a checked row, zeros included, not to be written to.

        Equal keys in equal order give the same array of columns, an equal dict the same row.
        """
        if not isinstance(x, Mapping):
            raise TypeError(f"x must be a dict of features, got {x!r}")
        keys, given, last = tuple(x), tuple(x.values()), self._last
        exact = _EXACT.issuperset(map(type, given))
        # As in a dict: np.float32(0.1) == 0.1 in numpy, but the hashes tell the two keys apart.
        if last is not None and not (hash(keys) == last.hash and keys == last.keys):
            last = None
        if exact and last is not None and last.given == given:
            return last.row
        if not exact and not _PLAIN.issuperset(map(type, given)):
            _refuse_other_than_numbers(x)
        try:
            values = np.fromiter(given, np.float64, len(given))
        except OverflowError:  # an integer beyond every float64
            _refuse_value(x)
        # NaN propagates through min and max, so that both comparisons fail.
        if not (values.min(initial=0.0) >= 0.0 and values.max(initial=0.0) < np.inf):
            _refuse_value(x)
        columns, order = (last.columns, last.order) if last else self.keys.assign(keys)
        row = _added_up(columns, values[order])
        self._last = _Last(hash(keys), keys, given if exact else None, columns, order, row)
        return row


class _Last(NamedTuple):
    """The keys and values of a row, and what follows from them."""

    hash: int
    keys: tuple[Hashable, ...]
    given: tuple[Any, ...] | None  # None where equal values need not be the same number
    columns: NDArray[np.int64]
    order: NDArray[np.intp]
    row: Row


def frame_rows(frame: Any, keys: KeyColumns) -> list[Row]:
    """Return the rows of a narwhals frame without their zeros, checked as those of dicts are."""
    names = column_names(frame, "X")
    _refuse_text_and_times(frame, names)
    try:
        values = np.asarray(to_numpy(frame), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"X must hold numbers: {error}") from error
    allowed = (values >= 0.0) & (values < np.inf)
    if not allowed.all():
        row, column = np.argwhere(~allowed)[0]
        raise ValueError(
            f"X must be finite and non-negative, without missing values, "
            f"got {values[row, column]} at row {row}, column {names[column]!r}; {_REMEDY}"
        )
    columns, order = keys.assign(names)
    # Copies: a row that is pending must not keep its whole frame alive.
    return [_added_up(columns[row > 0.0], row[row > 0.0]) for row in values[:, order]]


def _added_up(columns: NDArray[np.int64], values: NDArray[np.float64]) -> Row:
    """Return a row in which keys that share a column, as digests may have it, are one."""
    if (columns[1:] != columns[:-1]).all():
        return Row(columns, values)
    distinct, first = np.unique(columns, return_index=True)
    return Row(distinct, np.add.reduceat(values, first))


def column_names(frame: Any, name: str) -> list[Any]:
    """Return the names of a narwhals frame's columns; those of pandas need not be text."""
    like_pandas = frame.implementation.is_pandas_like()
    names = list(frame.to_native().columns if like_pandas else frame.columns)
    if len(set(names)) < len(names):
        raise ValueError(f"{name} must have distinct columns, got {names!r}")
    return names


def _refuse_other_than_numbers(x: Mapping[Hashable, Any]) -> None:
    for key, value in x.items():
        # numpy calls a timedelta64 an integer
        if not isinstance(value, Real | np.bool_) or isinstance(value, np.timedelta64):
            raise TypeError(f"x must hold numbers, got {value!r} at key {key!r}")


def _refuse_value(x: Mapping[Hashable, Any]) -> NoReturn:
    key, fault = next((key, fault) for key, value in x.items() if (fault := _fault(value)))
    raise ValueError(f"x must be finite and non-negative, got {fault} at key {key!r}; {_REMEDY}")


def _fault(value: Any) -> str:
    """Return how an error shows a value, or nothing where the value is allowed."""
    try:
        return "" if 0.0 <= float(value) < np.inf else repr(value)
    except OverflowError:
        return f"a number beyond {np.finfo(np.float64).max:.1e}"


def _refuse_text_and_times(frame: Any, names: list[Any]) -> None:
    """Refuse text and dates: they are no numbers, though numpy would read them as such."""
    for index, (name, dtype) in enumerate(zip(names, frame.schema.values(), strict=True)):
        if dtype.is_numeric() or str(dtype) == "Boolean":
            continue
        if dtype.is_temporal() or any(
            not isinstance(value, Real | np.bool_ | None) for value in frame[:, index].to_list()
        ):
            raise TypeError(f"X must hold numbers, got {dtype} in column {name!r}")
