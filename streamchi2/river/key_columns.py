"""Columns of keys: one of 2^62 for each, or one in every descriptor that reads the key.

The column is a digest of the key's name, equal in every process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from functools import lru_cache
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamchi2.bases.hash_buckets import column_of_name

_BITS, _BITS_OF_DESCRIPTOR = 62, 56
_TAG = "\0"  # before the text of keys that are no text
MOST_DESCRIPTORS = 2 ** (_BITS - _BITS_OF_DESCRIPTOR)


class KeyColumns:
    """Which columns keys have.

    Without descriptors a key has one column of 2^62. Descriptor number g has the columns from
    :math:`2^{56} g` to :math:`2^{56} (g + 1)`; a key has one in each descriptor that reads it, and
    none where no descriptor does.

    Law: the columns of a key depend on the key and the descriptors alone, and keys that are equal
    in a dict have the same.

    Parameters
    ----------
    descriptors
        For each name a list of keys, a prefix of keys that are text, or a callable that says of a
        key whether it belongs. Checked when they are first used.

    Examples
    --------
    >>> keys = KeyColumns({"colour": "colour ", "red": ["colour red"]})
    >>> columns, order = keys.assign(["size", "colour red", "colour blue"])
    >>> (columns >> 56).tolist(), sorted(order.tolist())
    ([0, 0, 1], [1, 1, 2])
    """

    def __init__(self, descriptors: Mapping[str, Any] | None = None) -> None:
        self._descriptors = descriptors
        self._tests: list[Callable[[Hashable], bool]] | None = None

    def ranges(self) -> dict[str, range] | None:
        """Return the columns of each descriptor; None without descriptors."""
        if self._descriptors is None:
            return None
        self._checked()
        size = 2**_BITS_OF_DESCRIPTOR
        return {
            name: range(number * size, (number + 1) * size)
            for number, name in enumerate(self._descriptors)
        }

    def assign(self, keys: Collection[Hashable]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
        """Return the columns in ascending order, and for each the index of its key."""
        # Plain text, as almost always, needs no Python call of its own: a third of the time.
        column = _column_of_text if {str}.issuperset(map(type, keys)) else column_of_key
        columns = np.fromiter(map(column, keys), np.int64, len(keys))
        order = columns.argsort()
        if self._descriptors is None:
            return columns[order], order
        columns >>= _BITS - _BITS_OF_DESCRIPTOR
        columns, listed = columns[order], list(keys)
        parts, orders = [], []
        for number, belongs in enumerate(self._checked()):
            flags = (belongs(listed[index]) for index in order.tolist())
            chosen = np.fromiter(flags, np.bool_, order.size)
            parts.append(columns[chosen] + (number << _BITS_OF_DESCRIPTOR))
            orders.append(order[chosen])
        return np.concatenate(parts), np.concatenate(orders)

    def _checked(self) -> list[Callable[[Hashable], bool]]:
        """Return a test for each descriptor, or refuse."""
        if self._tests is None:
            self._tests = _tests(self._descriptors)
        return self._tests

    def __getstate__(self) -> dict[str, Any]:
        return KeyColumns(self._descriptors).__dict__  # the tests follow from them


def _tests(descriptors: Any) -> list[Callable[[Hashable], bool]]:
    if not isinstance(descriptors, Mapping):
        raise TypeError(
            f"descriptors must map names to keys, a prefix or a callable, got {descriptors!r}"
        )
    if not 1 <= len(descriptors) <= MOST_DESCRIPTORS:
        raise ValueError(
            f"descriptors must be from 1 to {MOST_DESCRIPTORS}, got {len(descriptors)}"
        )
    tests = []
    for name, given in descriptors.items():
        if not isinstance(name, str) or not name:
            raise TypeError(f"descriptors must have text for names, got {name!r}")
        tests.append(_test(given, f"descriptors[{name!r}]"))
    return tests


def _test(given: Any, name: str) -> Callable[[Hashable], bool]:
    if isinstance(given, str):
        return lambda key: isinstance(key, str) and key.startswith(given)
    if callable(given):
        return lambda key: _answer(given, key, name)
    if not isinstance(given, list | tuple):
        raise TypeError(f"{name} must be a list of keys, a prefix or a callable, got {given!r}")
    if not given:
        raise ValueError(f"{name} must hold at least one key, got {given!r}")
    columns = frozenset(map(column_of_key, given))
    return lambda key: column_of_key(key) in columns


def _answer(belongs: Callable[[Hashable], Any], key: Hashable, name: str) -> bool:
    answer = belongs(key)
    if not isinstance(answer, bool | np.bool_):
        raise TypeError(f"{name} must return True or False, got {answer!r} for key {key!r}")
    return bool(answer)


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
    return _column_of_text(key) if type(key) is str else _column_of_text(*_text_of_key(key))


@lru_cache(maxsize=2**16)
def _column_of_text(text: str, tag: str = "") -> int:
    # By text and not by key: a cache looks up by equality, which need not keep values apart.
    if not tag and text.startswith(_TAG):
        tag = _TAG  # of two: what is no text has one, and never one in its own
    try:
        return column_of_name(tag + text)
    except UnicodeEncodeError:
        raise ValueError(
            f"keys must be text that UTF-8 can encode, got {text!r}, which has a lone surrogate; "
            "decode names with errors='replace'"
        ) from None


def _text_of_key(key: Hashable) -> tuple[str, str]:
    """Return a text that is equal for equal keys, and a tag where the key is no text."""
    value = _plain_value(key)
    if hash(value) != hash(key):
        raise TypeError(
            f"keys must be equal to other keys by their value, got {key!r}, whose type "
            f"{type(key).__name__} has a hash of its own; use {value!r} instead"
        )
    # Not repr: which characters it escapes depends on the version of Python.
    return (value, "") if isinstance(value, str) else (ascii(value), _TAG)


def _plain_value(key: Hashable) -> Any:
    """Return the equal value of Python's own types: str, bytes, int, float, None, or a tuple."""
    value = key.item() if isinstance(key, np.generic) else key
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        if isnan(value):
            raise ValueError(f"keys must not be NaN, which equals no other key, got {key!r}")
        return int(value) if value.is_integer() else float.__float__(value)
    if isinstance(value, tuple):
        return tuple(map(_plain_value, value))
    if value is None or type(value) is bytes:
        return value
    raise TypeError(
        f"keys must be names, numbers or tuples of them, got {key!r}: the text of a "
        f"{type(key).__name__} may differ from process to process"
    )
