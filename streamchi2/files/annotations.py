"""What the annotation of a saved field admits: a test of values, made once for each annotation."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import numpy as np
from scipy import sparse

# Of a value, and of whether its numbers must be finite.
Rule: TypeAlias = Callable[[Any, bool], bool]

DTYPES = frozenset(
    ["|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8"]
)
_LARGEST = np.finfo(np.float64).max


@cache
def rule_of(hint: Any) -> Rule:
    """Return the test of an annotation; scalars of numpy count as those of Python.

    >>> rule_of(tuple[int, ...] | None)((1, 2), True), rule_of(int)(True, True)
    (True, False)
    """
    kind, parts = get_origin(hint) or hint, get_args(hint)
    make = _MAKERS.get(kind)
    if make is not None:
        return make(*parts)
    if parts or not isinstance(kind, type):
        raise TypeError(f"a field that is saved must not be annotated with {hint}")
    return lambda value, _: isinstance(value, kind)


def _exactly(kind: type[Any]) -> Rule:
    """Return the rule of a type without its subclasses: True is no int, nor an enum's member."""
    return lambda value, _: (
        type(value) is kind or (isinstance(value, np.generic) and type(value.item()) is kind)
    )


def _is_number(value: Any, finite: bool) -> bool:
    """Tell whether a value is a float or, as everywhere in Python, an int, which stays one."""
    value = value.item() if isinstance(value, np.generic) else value
    return type(value) in (int, float) and (not finite or abs(value) <= _LARGEST)


def _marked(hint: Any, *markers: Any) -> Rule:
    rule = rule_of(hint)
    return (lambda value, _: rule(value, False)) if "any" in markers else rule


def _any_of(*hints: Any) -> Rule:
    rules = [rule_of(hint) for hint in hints]
    return lambda value, finite: any(rule(value, finite) for rule in rules)


def _one_of(*values: Any) -> Rule:
    return lambda value, _: any(type(value) is type(one) and value == one for one in values)


def _tuple_of(*hints: Any) -> Rule:
    if hints[-1] is Ellipsis:
        each = rule_of(hints[0])
        return lambda value, finite: (
            isinstance(value, tuple) and all(each(item, finite) for item in value)
        )
    rules = [rule_of(hint) for hint in hints]
    return lambda value, finite: (
        isinstance(value, tuple)
        and len(value) == len(rules)
        and all(rule(item, finite) for rule, item in zip(rules, value, strict=True))
    )


def _list_of(hint: Any) -> Rule:
    each = rule_of(hint)
    return lambda value, finite: (
        isinstance(value, list) and all(each(item, finite) for item in value)
    )


def _dict_of(*hints: Any) -> Rule:
    key_rule, value_rule = map(rule_of, hints)
    return lambda value, finite: (
        isinstance(value, Mapping)
        and all(key_rule(key, finite) for key in value)
        and all(value_rule(item, finite) for item in value.values())
    )


def _array_of(_: Any, dtype: Any) -> Rule:
    """Return the rule of ``NDArray[...]``; ``NDArray[np.floating]`` admits all kinds of floats."""
    (scalar,) = get_args(dtype)
    parts = get_args(scalar) if get_origin(scalar) in (Union, types.UnionType) else (scalar,)
    kinds = [np.generic if part is Any else get_origin(part) or part for part in parts]
    return lambda value, finite: (
        isinstance(value, np.ndarray)
        and value.dtype.newbyteorder("<").str in DTYPES
        and any(np.issubdtype(value.dtype, kind) for kind in kinds)
        and (not finite or bool(np.isfinite(value).all()))
    )


def _is_sparse(value: Any, finite: bool) -> bool:
    return isinstance(value, sparse.csr_array) and (
        not finite or bool(np.isfinite(value.data).all())
    )


# By what an annotation is, or is made of; other annotations are classes.
_MAKERS: dict[Any, Callable[..., Rule]] = {
    Any: lambda: lambda *_: True,
    Annotated: _marked,
    Union: _any_of,
    types.UnionType: _any_of,
    Literal: _one_of,
    **{kind: partial(_exactly, kind) for kind in (bool, int, str, bytes)},
    float: lambda: _is_number,
    tuple: _tuple_of,
    list: _list_of,
    dict: _dict_of,
    np.ndarray: _array_of,
    sparse.csr_array: lambda: _is_sparse,
}
