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
    found = {}
    for name, columns in descriptors.items():
        if not isinstance(name, str) or not name:
            raise TypeError(f"descriptors must have words for names, got {name!r}")
        place = f"descriptors[{name!r}]"
        given = chosen(name, columns) if callable(columns) else columns
        found[name] = _checked(_positions(given, width, names, place), given, width, place)
    return found


def _positions(given: Any, width: int, names: Sequence[str] | None, place: str) -> list[int]:
    if isinstance(given, slice):
        return _sliced(given, width, names, place)
    if isinstance(given, str | Integral) and not isinstance(given, bool | np.bool_):
        given = [given]
    if isinstance(given, set | frozenset | Iterator):
        raise TypeError(f"{place} must have an order that can be read again, got {given!r}")
    try:
        entries = list(given)
    except TypeError:
        entries = [None]
    if all(isinstance(entry, str) for entry in entries):
        return [_position_of(entry, names, place) for entry in entries]
    if all(isinstance(entry, bool | np.bool_) for entry in entries):
        if len(entries) != width:
            raise ValueError(f"{place} must say of each of {width} columns, got {len(entries)}")
        return np.flatnonzero(entries).tolist()
    if all(_is_position(entry) for entry in entries):
        for entry in entries:
            if not -width <= entry < width:
                raise ValueError(f"{place} must lie within the {width} columns of X, got {entry}")
        return [int(entry) % width for entry in entries]
    if all(isinstance(entry, str) or _is_position(entry) for entry in entries):
        raise TypeError(f"{place} must hold positions or names, not both, got {given!r}")
    raise TypeError(
        f"{place} must be a slice, positions, names, a mask or a callable, got {given!r}"
    )


def _sliced(given: slice, width: int, names: Sequence[str] | None, place: str) -> list[int]:
    start, stop = given.start, given.stop
    if isinstance(start, str):
        start = _position_of(start, names, place)
    if isinstance(stop, str):
        stop = _position_of(stop, names, place) + 1  # the last name belongs to it
    try:
        return list(range(width)[slice(start, stop, given.step)])
    except (TypeError, ValueError) as error:
        raise TypeError(f"{place} must be a slice of the columns of X, got {given!r}") from error


def _position_of(name: str, names: Sequence[str] | None, place: str) -> int:
    if names is None:
        raise ValueError(f"{place} needs X to have names of columns, got {name!r}")
    places = [position for position, known in enumerate(names) if known == name]
    if len(places) != 1:
        raise ValueError(f"{place} must name one column of X, got {name!r} for {len(places)}")
    return places[0]


def _is_position(entry: Any) -> bool:
    return isinstance(entry, Integral) and not isinstance(entry, bool | np.bool_)


def _checked(positions: list[int], given: Any, width: int, place: str) -> Columns:
    if not positions:
        raise ValueError(
            f"{place} must hold at least one column, got {given!r} where X has {width} feature(s)"
        )
    if len(set(positions)) < len(positions):
        twice = next(column for column in positions if positions.count(column) > 1)
        raise ValueError(f"{place} must not hold a column twice, got {twice} again")
    return tuple(positions)


def names_of(X: Any) -> list[str] | None:
    """Return the names of the columns of a DataFrame, or None where there are none.

    >>> names_of(np.ones((2, 2))) is None
    True
    """
    columns = getattr(X, "columns", None)
    names = [] if columns is None else list(columns)
    return names if names and all(isinstance(name, str) for name in names) else None


def same_descriptors(mine: Any, theirs: Any) -> bool:
    """Tell whether two mappings choose alike; of callables the columns must tell.

    >>> same_descriptors({"a": np.array([0, 1])}, {"a": [0, 1]})
    True
    """
    if not (isinstance(mine, Mapping) and isinstance(theirs, Mapping)):
        return mine is None and theirs is None
    if list(mine) != list(theirs):
        return False
    pairs = [(mine[name], theirs[name]) for name in mine]
    return all(_alike(left) == _alike(right) for left, right in pairs)


def _alike(columns: Any) -> Any:
    if callable(columns):
        return callable
    return columns if isinstance(columns, slice | str) else np.asarray(columns).tolist()
