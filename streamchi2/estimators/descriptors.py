"""From ``descriptors={"hog": ..., "bow": ...}`` to the columns that each of them reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

Columns: TypeAlias = tuple[int, ...]


def resolved_columns(
    descriptors: Any,
    width: int,
    names: Sequence[str] | None,
    chosen: Callable[[str, Any], Any],
) -> dict[str, Columns]:
    """Return the columns of every descriptor, in the order of the mapping, or refuse.

    A descriptor is a slice (of positions, or of names with both ends included), a list of
    positions or names, one of either, a mask, or a callable that is given the rows and returns one
    of these. A column may belong to several descriptors; one that belongs to none is not read.

    Parameters
    ----------
    descriptors : mapping of str to columns
        As the user gave them.
    width : int
        Number of columns of the rows.
    names : sequence of str or None
        Names of the columns, where they have any.
    chosen : callable
        From the name of a descriptor and its callable to what that chooses.

    Examples
    --------
    >>> resolved_columns({"a": slice(0, 2), "b": ["ink", -1]}, 4, ["x", "y", "ink", "z"], None)
    Traceback (most recent call last):
        ...
    TypeError: descriptors['b'] must hold positions or names, not both, got ['ink', -1]
    >>> resolved_columns({"a": slice(0, 2), "b": ["z", "ink"]}, 4, ["x", "y", "ink", "z"], None)
    {'a': (0, 1), 'b': (3, 2)}
    """
    if not isinstance(descriptors, Mapping):
        raise TypeError(f"descriptors must map names to columns of X, got {descriptors!r}")
    if not descriptors:
        raise ValueError(f"descriptors must name at least one descriptor, got {descriptors!r}")
    resolved = {}
    for name, columns in descriptors.items():
        if not isinstance(name, str) or not name:
            raise TypeError(f"descriptors must have words for names, got {name!r}")
        where = f"descriptors[{name!r}]"
        given = chosen(name, columns) if callable(columns) else columns
        positions = _positions(given, width, names, where)
        if not positions:
            raise ValueError(
                f"{where} must hold at least one column, got {given!r} where X has {width} "
                "feature(s)"
            )
        if len(set(positions)) < len(positions):
            twice = next(column for column in positions if positions.count(column) > 1)
            raise ValueError(f"{where} must not hold a column twice, got {twice} again")
        resolved[name] = tuple(positions)
    return resolved


def _positions(given: Any, width: int, names: Sequence[str] | None, where: str) -> list[int]:
    if isinstance(given, slice):
        return _sliced(given, width, names, where)
    if isinstance(given, str) or _is_position(given):
        given = [given]
    if isinstance(given, set | frozenset | Iterator):
        raise TypeError(f"{where} must have an order that can be read again, got {given!r}")
    try:
        entries = list(given)
    except TypeError:
        entries = [None]
    if all(isinstance(entry, str) for entry in entries):
        return [_position_of(entry, names, where) for entry in entries]
    if all(isinstance(entry, bool | np.bool_) for entry in entries):
        if len(entries) != width:
            raise ValueError(f"{where} must say of each of {width} columns, got {len(entries)}")
        return np.flatnonzero(entries).tolist()
    if all(map(_is_position, entries)):
        outside = [entry for entry in entries if not -width <= entry < width]
        if outside:
            raise ValueError(f"{where} must lie within the {width} columns of X, got {outside[0]}")
        return [int(entry) % width for entry in entries]
    if all(isinstance(entry, str) or _is_position(entry) for entry in entries):
        raise TypeError(f"{where} must hold positions or names, not both, got {given!r}")
    raise TypeError(
        f"{where} must be a slice, positions, names, a mask or a callable, got {given!r}"
    )


def _sliced(given: slice, width: int, names: Sequence[str] | None, where: str) -> list[int]:
    start, stop = given.start, given.stop
    if isinstance(start, str):
        start = _position_of(start, names, where)
    if isinstance(stop, str):
        stop = _position_of(stop, names, where) + 1  # the last name belongs to it
    try:
        return list(range(width)[slice(start, stop, given.step)])
    except (TypeError, ValueError) as error:
        raise TypeError(f"{where} must be a slice of the columns of X, got {given!r}") from error


def _position_of(name: str, names: Sequence[str] | None, where: str) -> int:
    if names is None:
        raise ValueError(f"{where} needs X to have names of columns, got {name!r}")
    positions = [position for position, column in enumerate(names) if column == name]
    if len(positions) != 1:
        raise ValueError(f"{where} must name one column of X, got {name!r} for {len(positions)}")
    return positions[0]


def _is_position(entry: Any) -> bool:
    return isinstance(entry, Integral) and not isinstance(entry, bool | np.bool_)
