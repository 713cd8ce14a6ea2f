"""Validation of rows with names: dicts and frames to columns and values.

Every key is given a column of its own among 2^62 by a digest of its name, equal in every process,
so that keys may come and go in any order: a missing key and a zero are the same row.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from functools import lru_cache
from math import isnan
from numbers import Real
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray
from river.utils.dataframe import to_numpy

from streamchi2.bases.hash_buckets import column_of_name
from streamchi2.statistics.row_buffer import Row

_PLAIN = frozenset({float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_})
_REMEDY = (
    "scale with river's Normalizer or MaxAbsScaler, or divide by the sum of the row (MinMaxScaler "
    "and StandardScaler give NaN and negative values); split a signed feature v in two, max(v, 0) "
    "and max(-v, 0)"
)


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
    >>> rows.read({"red": -1})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: x must be finite and non-negative, got -1 at key 'red'; scale with ...
    """

    def __init__(self) -> None:
        # One tuple, replaced in one assignment: threads that share a reader never see the keys of
        # one row with the columns of another.
        self._last = _Reading(hash(()), (), np.empty(0, np.int64), np.empty(0, np.intp))

    def read(self, x: Mapping[Hashable, Any]) -> Row:
        """Return a checked row; equal keys in equal order give the same array of columns."""
        if not isinstance(x, Mapping):
            raise TypeError(f"x must be a dict of features, got {x!r}")
        if not _PLAIN.issuperset(map(type, x.values())):
            _refuse_other_than_numbers(x)
        try:
            values = np.fromiter(x.values(), np.float64, len(x))
        except OverflowError:  # an integer beyond every float64
            _refuse_value(x)
        # NaN propagates through min and max, so that both comparisons fail.
        if not (values.min(initial=0.0) >= 0.0 and values.max(initial=0.0) < np.inf):
            _refuse_value(x)
        keys, last = tuple(x), self._last
        # As in a dict: np.float32(0.1) == 0.1 in numpy, but the hashes tell the two values apart.
        if hash(keys) != last.hash or keys != last.keys:
            columns = _columns_of_keys(keys)
            order = columns.argsort()
            last = self._last = _Reading(hash(keys), keys, columns[order], order)
        return Row(last.columns, values[last.order])

    def __getstate__(self) -> dict[str, Any]:
        return DictReader().__dict__  # what is remembered only saves time


class _Reading(NamedTuple):
    """The keys of a row, and what follows from them."""

    hash: int
    keys: tuple[Hashable, ...]
    columns: NDArray[np.int64]
    order: NDArray[np.intp]


def column_of_key(key: Hashable) -> int:
    """Return the column of a key: that of its name, or of its value if it is no name.

    Keys that are equal in a dict have the same column whatever their types: 1, 1.0, True and
    ``np.int64(1)``, alone or in tuples, and the members of string and integer enums. 1 and "1" have
    not. Refused are keys whose text may differ from process to process, NaN, which equals no key,
    and text that UTF-8 cannot encode.

    >>> column_of_key((1, "a")) == column_of_key((np.int64(1), "a"))
    True
    >>> column_of_key(1) == column_of_key(1.0), column_of_key(1) == column_of_key("1")
    (True, False)
    """
    return _column_of_text(key if type(key) is str else _text_of_key(key))


def _columns_of_keys(keys: Collection[Hashable]) -> NDArray[np.int64]:
    # Plain text, as almost always, needs no Python call of its own: a third of the time.
    column = _column_of_text if {str}.issuperset(map(type, keys)) else column_of_key
    return np.fromiter(map(column, keys), np.int64, len(keys))


@lru_cache(maxsize=2**16)
def _column_of_text(text: str) -> int:
    # By text and not by key: a cache looks up by equality, which need not keep values apart.
    try:
        return column_of_name(text)
    except UnicodeEncodeError:
        raise ValueError(
            f"keys must be text that UTF-8 can encode, got {text!r}, which has a lone surrogate; "
            "decode names with errors='replace'"
        ) from None


def _text_of_key(key: Hashable) -> str:
    """Return a text that is equal for equal keys, and for no others."""
    value = _plain_value(key)
    if hash(value) != hash(key):
        raise TypeError(
            f"keys must be equal to other keys by their value, got {key!r}, whose type "
            f"{type(key).__name__} has a hash of its own; use {value!r} instead"
        )
    # No name of a feature begins with a null character in practice.
    return value if isinstance(value, str) else "\0" + _text_of_value(value)


def _plain_value(key: Hashable) -> Any:
    """Return the equal value of Python's own types: str, bytes, int, float, None, or a tuple."""
    if isinstance(key, np.generic):
        key = key.item()
    if isinstance(key, str):
        return str.__str__(key)
    if isinstance(key, int):
        return int.__int__(key)
    if isinstance(key, float):
        number = float.__float__(key)
        if isnan(number):
            raise ValueError(f"keys must not be NaN, which equals no other key, got {key!r}")
        return int(number) if number.is_integer() else number
    if isinstance(key, tuple):
        return tuple(map(_plain_value, key))
    if isinstance(key, bytes):
        return bytes(key)
    if key is not None:
        raise TypeError(
            f"keys must be names, numbers or tuples of them, got {key!r}: the text of a "
            f"{type(key).__name__} may differ from process to process"
        )
    return None


def _text_of_value(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({','.join(map(_text_of_value, value))},)"
    if isinstance(value, int):
        return hex(value)  # str() has a limit of 4300 digits
    if isinstance(value, float):
        return value.hex()
    # Not repr: which characters it escapes depends on the version of Python. With the length in
    # front no quote need be escaped.
    return f"{len(value)}'{value}'" if isinstance(value, str) else repr(value)


def frame_rows(frame: Any) -> list[Row]:
    """Return the rows of a narwhals frame without their zeros, checked as those of dicts are."""
    names = list(
        frame.to_native().columns if frame.implementation.is_pandas_like() else frame.columns
    )
    if len(set(names)) < len(names):
        raise ValueError(f"X must have distinct columns, got {names!r}")
    try:
        _refuse_text_and_times(frame, names)
        values = np.asarray(to_numpy(frame), dtype=np.float64)
    except (TypeError, ValueError) as error:
        _refuse_column(frame, names, error)
    allowed = (values >= 0.0) & (values < np.inf)
    if not allowed.all():
        row, column = np.argwhere(~allowed)[0]
        raise ValueError(
            f"X must be finite and non-negative, without missing values, "
            f"got {values[row, column]} at row {row}, column {names[column]!r}; {_REMEDY}"
        )
    columns = _columns_of_keys(names)
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
    for place, (name, dtype) in enumerate(zip(names, frame.schema.values(), strict=True)):
        if dtype.is_numeric() or str(dtype) == "Boolean":
            continue
        if dtype.is_temporal() or any(
            isinstance(value, str | bytes) for value in frame[:, place].to_list()
        ):
            raise TypeError(f"X must hold numbers, got {dtype} in column {name!r}")


def _refuse_column(frame: Any, names: list[Any], error: Exception) -> NoReturn:
    for name, dtype in zip(names, frame.schema.values(), strict=True):
        if not (dtype.is_numeric() or str(dtype) == "Boolean"):
            raise TypeError(f"X must hold numbers, got {dtype} in column {name!r}") from error
    raise TypeError(f"X must hold numbers: {error}") from error
