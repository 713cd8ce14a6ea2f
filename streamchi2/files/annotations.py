"""What the annotation of a saved field admits."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import numpy as np
from scipy import sparse

DTYPES = frozenset(
    ["|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"]
)


def admits(hint: Any, value: Any, finite: bool = True) -> bool:
    """Tell whether an annotation admits a value; scalars of numpy count as those of Python.

    >>> admits(tuple[int, ...] | None, (1, 2)), admits(int, True), admits(float, np.inf)
    (True, False, False)
    """
    kind, parts = _parts(hint)
    value = value.item() if isinstance(value, np.generic) else value
    if kind in _TESTS:
        return _TESTS[kind](value, finite, *parts)
    if parts or not isinstance(kind, type):
        raise TypeError(f"a field that is saved must not be annotated with {hint}")
    return isinstance(value, kind)


@cache
def _parts(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    return get_origin(hint) or hint, get_args(hint)


def _exactly(kind: type) -> Callable[[Any, bool], bool]:
    """Return the test of a type without its subclasses: True is no int, nor an enum's member."""
    return lambda value, finite: type(value) is kind


def _number(value: Any, finite: bool) -> bool:
    """Tell whether a value is a float or, as everywhere in Python, an int, which stays one."""
    return type(value) in (int, float) and (not finite or abs(value) <= sys.float_info.max)


def _marked(value: Any, finite: bool, hint: Any, *markers: Any) -> bool:
    return admits(hint, value, finite and "any" not in markers)


def _any_of(value: Any, finite: bool, *hints: Any) -> bool:
    return any(admits(hint, value, finite) for hint in hints)


def _one_of(value: Any, finite: bool, *choices: Any) -> bool:
    return any(type(value) is type(choice) and value == choice for choice in choices)


def _all(values: Iterable[Any], hint: Any, finite: bool) -> bool:
    return all(admits(hint, value, finite) for value in values)


def _tuple_of(value: Any, finite: bool, *hints: Any) -> bool:
    if not isinstance(value, tuple):
        return False
    hints = hints[:1] * len(value) if hints[-1] is Ellipsis else hints
    return len(hints) == len(value) and all(
        admits(hint, item, finite) for hint, item in zip(hints, value, strict=True)
    )


def _list_of(value: Any, finite: bool, hint: Any) -> bool:
    return isinstance(value, list) and _all(value, hint, finite)


def _dict_of(value: Any, finite: bool, key_hint: Any, hint: Any) -> bool:
    is_mapping = isinstance(value, Mapping)
    return is_mapping and _all(value, key_hint, finite) and _all(value.values(), hint, finite)


def _array_of(value: Any, finite: bool, _: Any, dtype: Any) -> bool:
    """Test ``NDArray[...]``; ``NDArray[np.floating]`` admits all kinds of floats."""
    if not isinstance(value, np.ndarray) or value.dtype.newbyteorder("<").str not in DTYPES:
        return False
    (scalar,) = get_args(dtype)
    several = get_origin(scalar) in (Union, types.UnionType)
    kinds = [get_origin(part) or part for part in (get_args(scalar) if several else (scalar,))]
    is_of_kind = Any in kinds or any(np.issubdtype(value.dtype, kind) for kind in kinds)
    return is_of_kind and (not finite or bool(np.isfinite(value).all()))


def _sparse(value: Any, finite: bool) -> bool:
    is_csr = isinstance(value, sparse.csr_array)
    return is_csr and (not finite or bool(np.isfinite(value.data).all()))


# By what an annotation is, or is made of; other annotations are classes.
_TESTS: dict[Any, Callable[..., bool]] = {
    Any: lambda value, finite: True,
    Annotated: _marked,
    Union: _any_of,
    types.UnionType: _any_of,
    Literal: _one_of,
    bool: _exactly(bool),
    int: _exactly(int),
    str: _exactly(str),
    bytes: _exactly(bytes),
    float: _number,
    tuple: _tuple_of,
    list: _list_of,
    dict: _dict_of,
    np.ndarray: _array_of,
    sparse.csr_array: _sparse,
}
