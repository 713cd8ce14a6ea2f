"""Objects as trees of JSON and arrays, through an explicit list of classes and their fields.

Reading never imports, calls or opens anything that a file names: a class is looked up among the
records below, its fields are read by their kinds, its rules are checked, and only then is it built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from streamchi2.errors import FormatError
from streamchi2.persistence.container import Json
from streamchi2.persistence.fields import Field, Later, Place

Values = dict[str, Any]


def _attributes(thing: Any) -> Values:
    return dict(vars(thing))


def _no_rules(values: Values) -> None:
    """Nothing to check beyond the kinds of the fields."""


@dataclass(frozen=True)
class Group:
    """A dict of named values, exactly these; arrays are numbered in the order of the fields."""

    fields: Mapping[str, Field]

    def written(self, values: Values, place: Place) -> Json:
        """Return the dict with every value as its kind writes it."""
        if values.keys() != self.fields.keys():
            strange = ", ".join(sorted(values.keys() ^ self.fields.keys()))
            where = ".".join(place.path) or "an object"
            raise TypeError(f"{where} cannot be saved: unexpected or missing state {strange}")
        stored = [name for name in self.fields if name not in self._later(values)]
        return {name: self._inside(place, name, values[name], write=True) for name in stored}

    def read(self, found: Json, place: Place) -> Values:
        """Return the dict of values, or refuse."""
        if not isinstance(found, dict):
            place.refuse("must be a group of values", found)
        found = dict.fromkeys(self._later(found)) | found
        if found.keys() != self.fields.keys():
            strange = min(found.keys() ^ self.fields.keys())
            place.refuse("must have the keys that belong to it and no others", strange)
        return {name: self._inside(place, name, found[name], write=False) for name in self.fields}

    def _later(self, values: Mapping[str, Any]) -> list[str]:
        """Return the names that may be left out and are absent or None."""
        return [
            name
            for name, kind in self.fields.items()
            if isinstance(kind, Later) and values.get(name) is None
        ]

    def _inside(self, place: Place, name: str, value: Any, *, write: bool) -> Any:
        kind = self.fields[name]
        with place.inside(name):
            return kind.written(value, place) if write else kind.read(value, place)


@dataclass(frozen=True, eq=False)
class Record:
    """How one class is saved.

    Parameters
    ----------
    kind : type
        The class itself; subclasses are other classes.
    fields : mapping
        Name and kind of every value that makes up the state.
    build : callable
        From a dict of values to the object; its ValueError and TypeError mean a bad file.
    taken : callable, optional
        From the object to a dict of values; by default its attributes.
    rules : callable, optional
        Raises FormatError where values contradict each other; applied when saving too, so that
        nothing is ever written that could not be read.
    guard : callable, optional
        From the object to the lock under which its state stands still.
    called : str, optional
        Name of the class in a file; by default its own, which another class may share.
    """

    kind: type
    fields: Mapping[str, Field]
    build: Callable[[Values], Any]
    taken: Callable[[Any], Values] = _attributes
    rules: Callable[[Values], None] = _no_rules
    guard: Callable[[Any], AbstractContextManager[Any]] = nullcontext
    called: str | None = None

    @property
    def name(self) -> str:
        """Name of the class in a file."""
        return self.called or self.kind.__name__

    def written(self, value: Any, place: Place) -> Json:
        """Return the object as JSON; arrays go to ``place``."""
        with self.guard(value):
            values = self.taken(value)
            tree = Group(self.fields).written(values, place)
            self._check(values, place)
        return {"class": self.name, **tree}

    def read(self, found: Json, place: Place) -> Any:
        """Return the object, or refuse."""
        if not isinstance(found, dict) or found.get("class") != self.name:
            place.refuse(f"must be a {self.name}", found)
        tree = {name: value for name, value in found.items() if name != "class"}
        values = Group(self.fields).read(tree, place)
        self._check(values, place)
        try:
            return self.build(values)
        except (ValueError, TypeError, OverflowError) as error:
            place.refuse(f"is no valid {self.name}: {error}")

    def _check(self, values: Values, place: Place) -> None:
        try:
            self.rules(values)
        except FormatError as error:
            place.refuse(f"is no valid {self.name}: {error}")


@dataclass(frozen=True, eq=False)
class OneOf:
    """An object of one of several classes."""

    records: tuple[Record, ...]
    _by_kind: dict[type, Record] = field(init=False)
    _by_name: dict[str, Record] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_kind", {record.kind: record for record in self.records})
        object.__setattr__(self, "_by_name", {record.name: record for record in self.records})

    def written(self, value: Any, place: Place) -> Json:
        """Return the object as its class writes it."""
        record = self._by_kind.get(type(value))
        if record is None:
            kind = type(value)
            raise TypeError(
                f"a {kind.__name__} of {kind.__module__} cannot be saved here, only one of "
                f"{', '.join(self._by_name)}; pickle may do"
            )
        return record.written(value, place)

    def read(self, found: Json, place: Place) -> Any:
        """Return the object, or refuse."""
        name = found.get("class") if isinstance(found, dict) else None
        record = self._by_name.get(name) if isinstance(name, str) else None
        if record is None:
            place.refuse(f"must be one of {', '.join(self._by_name)}", name)
        return record.read(found, place)


def direct(kind: type) -> Callable[[Values], Any]:
    """Return a builder that sets attributes as they were saved, past the constructor."""

    def build(values: Values) -> Any:
        thing: Any = object.__new__(kind)
        thing.__dict__.update(values)
        return thing

    return build
