"""How constructor parameters are saved: scalars, values for each descriptor, columns, landmarks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamchi2.bases import LandmarkRows
from streamchi2.checks import as_label
from streamchi2.state import Archive, Json, JsonList, Maybe, Param, SharedRows

_PARAM = Param()


@dataclass(frozen=True)
class ConstructorParams:
    """All constructor parameters of an estimator, by name."""

    def dump(self, value: Mapping[str, Any], archive: Archive) -> Json:
        """Return pairs of names and values."""
        found = {}
        for name in sorted(value):
            with archive.inside(name):
                found[name] = _kind(name).dump(value[name], archive)
        return found

    def load(self, found: Json, archive: Archive) -> dict[str, Any]:
        """Return the parameters; the constructor refuses names that it does not know."""
        if not isinstance(found, dict):
            archive.refuse("must be a group of parameters", found)
        values = {}
        # Arrays are numbered in the order of the names.
        for name in sorted(found):
            with archive.inside(name):
                values[name] = _kind(name).load(found[name], archive)
        return values


def _kind(name: str) -> Any:
    if name == "landmarks":
        return Maybe(_LandmarksParam())
    if name == "class_weight":
        return _ClassWeightParam()
    return _DescriptorsParam() if name == "descriptors" else _ParamOrEach()


@dataclass(frozen=True)
class _LandmarksParam(SharedRows):
    """Landmarks as the user gave them, as sparse rows."""

    def dump(self, value: Any, archive: Archive) -> Json:
        return super().dump(LandmarkRows.read(value).rows, archive)


@dataclass(frozen=True)
class _ParamOrEach:
    """One value, or a dict with one for each descriptor.

    >>> _ParamOrEach().dump({"hog": 2.0, "bow": "auto"}, Archive())
    {'each': [['hog', 2.0], ['bow', 'auto']]}
    """

    def dump(self, value: Any, archive: Archive) -> Json:
        if not isinstance(value, Mapping):
            return _PARAM.dump(value, archive)
        return {"each": [[str(name), self.entry(own, archive)] for name, own in value.items()]}

    def load(self, found: Json, archive: Archive) -> Any:
        if not isinstance(found, dict) or "each" not in found:
            return _PARAM.load(found, archive)
        pairs = found["each"]
        if found.keys() != {"each"} or not isinstance(pairs, list):
            archive.refuse("must be one value or pairs of names and values", found)
        values = {}
        for pair in pairs:
            named = isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)
            if not named or pair[0] in values:
                archive.refuse("must be pairs of distinct names and values", pair)
            values[pair[0]] = self.found_entry(pair[1], archive)
        return values

    def entry(self, value: Any, archive: Archive) -> Json:
        return _PARAM.dump(value, archive)

    def found_entry(self, found: Json, archive: Archive) -> Any:
        return _PARAM.load(found, archive)


@dataclass(frozen=True)
class _ClassWeightParam:
    """The parameter ``class_weight``: a text, None, or a dict whose keys are labels.

    >>> _ClassWeightParam().dump({0: 1.0, 1: 2.5}, Archive())
    {'weights': [[0, 1.0], [1, 2.5]]}
    """

    def dump(self, value: Any, archive: Archive) -> Json:
        if not isinstance(value, Mapping):
            return _PARAM.dump(value, archive)
        pairs = [[as_label(label), weight] for label, weight in value.items()]
        return {"weights": [[_PARAM.dump(own, archive) for own in pair] for pair in pairs]}

    def load(self, found: Json, archive: Archive) -> Any:
        if not isinstance(found, dict):
            return _PARAM.load(found, archive)
        pairs = found.get("weights")
        if found.keys() != {"weights"} or not isinstance(pairs, list):
            archive.refuse("must be one value or pairs of labels and weights", found)
        weights = {}
        for pair in pairs:
            if not isinstance(pair, list) or len(pair) != 2:
                archive.refuse("must be pairs of labels and weights", pair)
            label, weight = (_PARAM.load(own, archive) for own in pair)
            if not _is_label(label) or label in weights:
                archive.refuse("must be pairs of distinct labels and weights", pair)
            weights[label] = weight
        return weights


def _is_label(value: Any) -> bool:
    try:
        as_label(value)
    except (TypeError, ValueError):
        return False
    return True


@dataclass(frozen=True)
class _DescriptorsParam(_ParamOrEach):
    """The parameter ``descriptors``: slices, or lists of positions, names or flags.

    >>> _DescriptorsParam().dump({"hog": slice(0, 9), "bow": [9, 10]}, Archive())
    {'each': [['hog', {'slice': [0, 9, None]}], ['bow', {'columns': 0}]]}
    """

    def entry(self, value: Any, archive: Archive) -> Json:
        if callable(value):
            raise TypeError(
                f"{'.'.join(archive.path)} must not hold a callable to be saved, got {value!r}; "
                "pickle may do, and on matrices set_params(descriptors=model.descriptor_columns_) "
                "keeps the columns it chose"
            )
        if isinstance(value, slice):
            ends = (value.start, value.stop, value.step)
            return {"slice": [_PARAM.dump(end, archive) for end in ends]}
        if isinstance(value, str | int | np.integer):
            return _PARAM.dump(value, archive)
        plain = [_PARAM.dump(column, archive) for column in value]
        for column in plain:
            if not isinstance(column, str | bool | int | float):
                raise TypeError(
                    f"{'.'.join(archive.path)} must hold text and numbers to be saved, "
                    f"got {value!r}; pickle may do"
                )
        return {"columns": JsonList().dump(plain, archive)}

    def found_entry(self, found: Json, archive: Archive) -> Any:
        if not isinstance(found, dict):
            return _PARAM.load(found, archive)
        kind, values = next(iter(found.items()), (None, None))
        if len(found) != 1 or kind not in ("slice", "columns"):
            archive.refuse("must be a slice or a list of columns", found)
        if kind == "columns":
            return JsonList().load(values, archive)
        if not isinstance(values, list) or len(values) != 3:
            archive.refuse("must be a slice of three", values)
        return slice(*(_PARAM.load(value, archive) for value in values))
