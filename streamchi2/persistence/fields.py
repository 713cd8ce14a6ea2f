"""The kinds of values a saved object is made of: how each is written, and what may be read.

A field is read from JSON and arrays that a stranger may have written, so every kind says exactly
what it accepts. What it refuses it refuses with the place, as in ``_stream.tracker.weight``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from streamchi2.errors import FormatError
from streamchi2.persistence.container import Json

_MAX_INTEGER = 2**126  # zeros in rows of 2^62 named columns are many
_MAX_WORD = 1000


@dataclass
class Place:
    """Where in an object the walk is, and the arrays that belong to it, in order."""

    arrays: list[NDArray[Any]] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    n_used: int = 0
    landmarks: list[Any] = field(default_factory=list)  # which parts of an object may share

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """Walk into a part."""
        self.path.append(name)
        yield
        self.path.pop()  # after an error the walk is over, and the path still says where

    def refuse(self, rule: str, found: Any = None) -> NoReturn:
        """Raise an error that names the place."""
        got = "" if found is None else f", got {str(found)[:80]}"
        raise FormatError(f"{'.'.join(self.path) or 'the object'} {rule}{got}")

    def store(self, array: NDArray[Any]) -> int:
        """Add an array and return its number."""
        self.arrays.append(array)
        return len(self.arrays) - 1

    def next_array(self, found: Json) -> NDArray[Any]:
        """Return the next array; each is used once, in the order in which they were written."""
        if type(found) is not int or found != self.n_used or found >= len(self.arrays):
            self.refuse(f"must be array {self.n_used} of {len(self.arrays)}", found)
        self.n_used += 1
        return self.arrays[found]


class Field(Protocol):
    """How one kind of value is written and read."""

    def written(self, value: Any, place: Place) -> Json:
        """Return the value as JSON; arrays go to ``place``."""

    def read(self, found: Json, place: Place) -> Any:
        """Return the value, or refuse it."""


@dataclass(frozen=True)
class Integer:
    """A whole number."""

    low: int = 0
    high: int = 2**63 - 1

    def written(self, value: Any, place: Place) -> Json:
        """Return a plain int."""
        return int(value)

    def read(self, found: Json, place: Place) -> int:
        """Return an int in the range."""
        if type(found) is not int or not self.low <= found <= self.high:
            place.refuse(f"must be a whole number from {self.low} to {self.high}", found)
        return int(found)


@dataclass(frozen=True)
class Number:
    """A finite float of at least ``low``; with ``or_nothing``, None stands for minus infinity."""

    low: float = -math.inf
    or_nothing: bool = False

    def written(self, value: Any, place: Place) -> Json:
        """Return a plain float."""
        return None if self.or_nothing and value == -math.inf else float(value)

    def read(self, found: Json, place: Place) -> float:
        """Return a float in the range."""
        if found is None and self.or_nothing:
            return -math.inf
        if type(found) is not float or not (math.isfinite(found) and found >= self.low):
            place.refuse(f"must be a finite number of at least {self.low}", found)
        return found


@dataclass(frozen=True)
class Scalar:
    """What a constructor may be given: None, True, False, a number or a short word."""

    def written(self, value: Any, place: Place) -> Json:
        """Return the value with numpy's scalars as plain ones."""
        if isinstance(value, np.bool_ | np.integer | np.floating):
            value = value.item()
        known = value is None or isinstance(value, bool | int | float | str)
        if not known or (isinstance(value, float) and not math.isfinite(value)):
            name = ".".join(place.path)
            remedy = (
                "; set_params(random_state=None) keeps the seed that was drawn from it"
                if name.endswith("random_state")
                else ""
            )
            raise TypeError(
                f"{name} must be None, a bool, a finite number or a word to be saved, "
                f"got {value!r}{remedy}"
            )
        return self.read(value, place)

    def read(self, found: Json, place: Place) -> Any:
        """Return the value if it is of such a kind."""
        if isinstance(found, str) and len(found) <= _MAX_WORD:
            return found
        if type(found) is int and abs(found) <= _MAX_INTEGER:
            return found
        if found is None or isinstance(found, bool):
            return found
        if type(found) is not float or not math.isfinite(found):
            place.refuse("must be a setting of moderate size", found)
        return found


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def written(self, value: Any, place: Place) -> Json:
        """Return a plain bool."""
        return bool(value)

    def read(self, found: Json, place: Place) -> bool:
        """Return a bool."""
        if not isinstance(found, bool):
            place.refuse("must be true or false", found)
        return found


@dataclass(frozen=True)
class Maybe:
    """None, or a value of another kind."""

    kind: Field

    def written(self, value: Any, place: Place) -> Json:
        """Return None or the value as its kind writes it."""
        return None if value is None else self.kind.written(value, place)

    def read(self, found: Json, place: Place) -> Any:
        """Return None or the value."""
        return None if found is None else self.kind.read(found, place)


@dataclass(frozen=True)
class Later(Maybe):
    """None, or a value that came with a later version: None is not written, absent means None."""


@dataclass(frozen=True)
class Sequences:
    """A tuple of values of one kind."""

    kind: Field

    def written(self, value: Sequence[Any], place: Place) -> Json:
        """Return a list."""
        return [self.kind.written(entry, place) for entry in value]

    def read(self, found: Json, place: Place) -> tuple[Any, ...]:
        """Return a tuple."""
        if not isinstance(found, list):
            place.refuse("must be a list", found)
        return tuple(self.kind.read(entry, place) for entry in found)
