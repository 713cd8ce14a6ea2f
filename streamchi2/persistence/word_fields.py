"""Constructor words that name descriptors: columns of each, and values for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamchi2.persistence.container import Json
from streamchi2.persistence.fields import Place, Scalar

_SCALAR = Scalar()


@dataclass(frozen=True)
class OneOrEach:
    """One setting, or a tuple with one for each descriptor."""

    def written(self, value: Any, place: Place) -> Json:
        """Return the setting, or a list of them."""
        if isinstance(value, tuple):
            return [_SCALAR.written(entry, place) for entry in value]
        return _SCALAR.written(value, place)

    def read(self, found: Json, place: Place) -> Any:
        """Return the setting or the tuple."""
        if isinstance(found, list):
            return tuple(_SCALAR.read(entry, place) for entry in found)
        return _SCALAR.read(found, place)


@dataclass(frozen=True)
class Word:
    """A constructor word: one setting, or a dict with one for each descriptor.

    >>> Word().written({"hog": 2.0, "bow": "auto"}, Place())
    {'each': [['hog', 2.0], ['bow', 'auto']]}
    """

    def written(self, value: Any, place: Place) -> Json:
        """Return the setting, or pairs in their order."""
        if not isinstance(value, Mapping):
            return _SCALAR.written(value, place)
        return {"each": [[str(name), self.entry(own, place)] for name, own in value.items()]}

    def read(self, found: Json, place: Place) -> Any:
        """Return the setting or the dict."""
        if not isinstance(found, dict):
            return _SCALAR.read(found, place)
        pairs = found.get("each")
        if found.keys() != {"each"} or not isinstance(pairs, list):
            place.refuse("must be one setting or pairs of names and settings", found)
        values = {}
        for pair in pairs:
            named = isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)
            if not named or pair[0] in values:
                place.refuse("must be pairs of distinct names and settings", pair)
            values[pair[0]] = self.found_entry(pair[1], place)
        return values

    def entry(self, value: Any, place: Place) -> Json:
        """Return what belongs to one descriptor."""
        return _SCALAR.written(value, place)

    def found_entry(self, found: Json, place: Place) -> Any:
        """Return the same from a file."""
        return _SCALAR.read(found, place)


@dataclass(frozen=True)
class DescriptorColumns(Word):
    """The word ``descriptors``: slices, or lists of positions, names or flags.

    >>> DescriptorColumns().written({"hog": slice(0, 9), "bow": [9, 10]}, Place())
    {'each': [['hog', {'slice': [0, 9, None]}], ['bow', {'columns': [9, 10]}]]}
    """

    def entry(self, value: Any, place: Place) -> Json:
        """Return columns as they were given; what a callable chooses is not known here."""
        if callable(value):
            raise TypeError(
                f"{'.'.join(place.path)} must not hold a callable to be saved, got {value!r}; "
                "set_params(descriptors=model.descriptor_columns_) keeps the columns it chose"
            )
        if isinstance(value, slice):
            ends = (value.start, value.stop, value.step)
            return {"slice": [_SCALAR.written(end, place) for end in ends]}
        if isinstance(value, str | int | np.integer):
            return _SCALAR.written(value, place)
        return {"columns": [_SCALAR.written(column, place) for column in value]}

    def found_entry(self, found: Json, place: Place) -> Any:
        """Return a slice, a list or a single column."""
        if not isinstance(found, dict):
            return _SCALAR.read(found, place)
        kind, values = next(iter(found.items()), (None, None))
        if len(found) != 1 or kind not in ("slice", "columns") or not isinstance(values, list):
            place.refuse("must be a slice or a list of columns", found)
        entries = [_SCALAR.read(value, place) for value in values]
        if kind == "columns":
            return entries
        if len(entries) != 3:
            place.refuse("must be a slice of three", values)
        return slice(*entries)
