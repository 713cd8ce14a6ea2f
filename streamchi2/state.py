"""Declared state: which fields a class has, of which kinds, and what must hold between them.

A class that can be saved lists its fields in ``STATE`` and checks its invariants in ``validate``.
Fields are read from JSON and arrays that a stranger may have written, so every kind says exactly
what it accepts, and refuses with the path, as in ``stream.statistics.labelled.weight``. Nothing in
a file is imported or called: a class is looked up among those that the field allows.

A general codec (msgspec, say) was considered: nearly all fields here are arrays (packed triangles,
canonical CSR rows, labels), for which it would need as many hooks as there are kinds below.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.errors import FormatError

Json: TypeAlias = Any

_MAX_INTEGER = 2**126  # zeros in rows of 2^62 named columns are many
_MAX_TEXT = 1000
_LABEL_KINDS = "biufU"


@dataclass
class Archive:
    """The arrays of an object in order, and the path of the field that is written or read."""

    arrays: list[NDArray[Any]] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    n_used: int = 0
    landmarks: list[Any] = field(default_factory=list)  # rows that several fields may share

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """Go into a field."""
        self.path.append(name)
        yield
        self.path.pop()  # after an error the path still says where

    def refuse(self, rule: str, found: Any = None) -> NoReturn:
        """Raise an error that names the field."""
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


class Kind(Protocol):
    """How one kind of value is written and read."""

    def dump(self, value: Any, archive: Archive) -> Json:
        """Return the value as JSON; arrays go to the archive."""

    def load(self, found: Json, archive: Archive) -> Any:
        """Return the value, or refuse it."""


class Saved:
    """A class whose state can be saved: its fields, and the invariants between them."""

    STATE: ClassVar[Mapping[str, Kind]] = {}

    def get_state(self) -> dict[str, Any]:
        """Return the fields by name; refuse state that is not declared."""
        if vars(self).keys() != self.STATE.keys():
            strange = ", ".join(sorted(vars(self).keys() ^ self.STATE.keys()))
            raise TypeError(f"a {type(self).__name__} has state that is not declared: {strange}")
        return dict(vars(self))

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return an object with these fields, past the constructor."""
        thing = object.__new__(cls)
        thing.__dict__.update(state)
        return thing

    def validate(self) -> None:
        """Raise ValueError where fields contradict each other."""

    @classmethod
    def saved_name(cls) -> str:
        """Return the name of the class in files."""
        return cls.__name__

    def standing_still(self) -> AbstractContextManager[Any]:
        """Return a context in which no other thread changes the state."""
        return nullcontext()


class SavedValue(Saved):
    """A frozen dataclass that can be saved; its constructor checks what it is given."""

    def get_state(self) -> dict[str, Any]:
        """Return the declared fields; caches beside them are no state."""
        return {name: getattr(self, name) for name in self.STATE}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the value that the constructor makes of these fields."""
        return cls(**state)


def refuse_undeclared(thing: Any, declared: Iterable[str]) -> None:
    """Refuse an object with attributes that its class does not declare, which would be lost."""
    strange = ", ".join(sorted(vars(thing).keys() - set(declared)))
    if strange:
        raise TypeError(f"a {type(thing).__name__} has state that is not declared: {strange}")


def require(holds: bool | np.bool_, rule: str) -> None:
    """Refuse unless a rule holds.

    >>> require(False, "weight must not be negative")
    Traceback (most recent call last):
        ...
    ValueError: weight must not be negative
    """
    if not holds:
        raise ValueError(rule)


def dump_fields(values: Mapping[str, Any], kinds: Mapping[str, Kind], archive: Archive) -> Json:
    """Return values by name as JSON, each as its kind writes it."""
    found = {}
    for name, kind in kinds.items():
        with archive.inside(name):
            found[name] = kind.dump(values[name], archive)
    return found


def load_fields(found: Json, kinds: Mapping[str, Kind], archive: Archive) -> dict[str, Any]:
    """Return values by name, exactly these, or refuse."""
    if not isinstance(found, dict):
        archive.refuse("must be a group of fields", found)
    if found.keys() != kinds.keys():
        strange = min(found.keys() ^ kinds.keys())
        archive.refuse("must have its own fields and no others", strange)
    values = {}
    for name, kind in kinds.items():
        with archive.inside(name):
            values[name] = kind.load(found[name], archive)
    return values


@dataclass(frozen=True, eq=False)
class Object:
    """An object of one of some classes, by the name of its class."""

    classes: tuple[type[Saved], ...]

    def dump(self, value: Any, archive: Archive) -> Json:
        """Return class and fields; invariants are checked, so that what is saved can be loaded."""
        kind = type(value)
        if kind not in self.classes:
            names = ", ".join(known.saved_name() for known in self.classes)
            raise TypeError(
                f"a {kind.__name__} of {kind.__module__} cannot be saved here, only one of "
                f"{names}; pickle may do"
            )
        with value.standing_still():
            found = dump_fields(value.get_state(), value.STATE, archive)
            self._check(value, archive)
        return {"class": kind.saved_name(), **found}

    def load(self, found: Json, archive: Archive) -> Any:
        """Return the object, or refuse."""
        names = {known.saved_name(): known for known in self.classes}
        name = found.get("class") if isinstance(found, dict) else None
        kind = names.get(name) if isinstance(name, str) else None
        if kind is None:
            archive.refuse(f"must be one of {', '.join(names)}", name)
        fields = {key: value for key, value in found.items() if key != "class"}
        state = load_fields(fields, kind.STATE, archive)
        try:
            thing = kind.from_state(state)
        except FormatError:
            raise
        except (ValueError, TypeError, OverflowError) as error:
            archive.refuse(f"is no valid {kind.__name__}: {error}")
        self._check(thing, archive)
        return thing

    @staticmethod
    def _check(thing: Saved, archive: Archive) -> None:
        try:
            thing.validate()
        except (ValueError, TypeError, OverflowError) as error:
            archive.refuse(f"is no valid {type(thing).__name__}: {error}")


@dataclass(frozen=True)
class Int:
    """A whole number."""

    low: int = 0
    high: int = 2**63 - 1

    def dump(self, value: Any, archive: Archive) -> Json:
        """Return a plain int, of which the range is checked: what is saved can be loaded."""
        return self.load(int(value), archive)

    def load(self, found: Json, archive: Archive) -> int:
        """Return an int in the range."""
        if type(found) is not int or not self.low <= found <= self.high:
            archive.refuse(f"must be a whole number from {self.low} to {self.high}", found)
        return int(found)


@dataclass(frozen=True)
class Float:
    """A finite float of at least ``low``; None stands for minus infinity, if that is allowed."""

    low: float = -math.inf
    or_minus_infinity: bool = False

    def dump(self, value: Any, archive: Archive) -> Json:
        """Return a plain float."""
        if self.or_minus_infinity and value == -math.inf:
            return None
        return self.load(float(value), archive)

    def load(self, found: Json, archive: Archive) -> float:
        """Return a float in the range."""
        if found is None and self.or_minus_infinity:
            return -math.inf
        if type(found) is not float or not (math.isfinite(found) and found >= self.low):
            archive.refuse(f"must be a finite number of at least {self.low}", found)
        return found


@dataclass(frozen=True)
class Bool:
    """True or False."""

    def dump(self, value: Any, archive: Archive) -> Json:
        """Return a plain bool."""
        return bool(value)

    def load(self, found: Json, archive: Archive) -> bool:
        """Return a bool."""
        if not isinstance(found, bool):
            archive.refuse("must be true or false", found)
        return found


@dataclass(frozen=True)
class Param:
    """A constructor parameter: None, a bool, a number, a short text, or a tuple of these."""

    def dump(self, value: Any, archive: Archive) -> Json:
        """Return the value with numpy's scalars as plain ones."""
        if isinstance(value, tuple):
            return {"tuple": [self.dump(entry, archive) for entry in value]}
        if isinstance(value, np.bool_ | np.integer | np.floating):
            value = value.item()
        known = value is None or isinstance(value, bool | int | float | str)
        if not known or (isinstance(value, float) and not math.isfinite(value)):
            name = ".".join(archive.path)
            remedy = (
                "; set_params(random_state=None) keeps the seed that was drawn from it"
                if name.endswith("random_state")
                else ""
            )
            raise TypeError(
                f"{name} must be None, a bool, a finite number or a text to be saved, "
                f"got {value!r}{remedy}"
            )
        return self.load(value, archive)

    def load(self, found: Json, archive: Archive) -> Any:
        """Return the value if it is of such a kind."""
        if isinstance(found, dict) and found.keys() == {"tuple"}:
            entries = found["tuple"]
            if not isinstance(entries, list):
                archive.refuse("must be a list", entries)
            return tuple(self.load(entry, archive) for entry in entries)
        if isinstance(found, str) and len(found) <= _MAX_TEXT:
            return found
        if type(found) is int and abs(found) <= _MAX_INTEGER:
            return found
        if found is None or isinstance(found, bool):
            return found
        if type(found) is not float or not math.isfinite(found):
            archive.refuse("must be a parameter of moderate size", found)
        return found


@dataclass(frozen=True)
class Maybe:
    """None, or a value of another kind."""

    kind: Kind

    def dump(self, value: Any, archive: Archive) -> Json:
        """Return None or the value as its kind writes it."""
        return None if value is None else self.kind.dump(value, archive)

    def load(self, found: Json, archive: Archive) -> Any:
        """Return None or the value."""
        return None if found is None else self.kind.load(found, archive)


@dataclass(frozen=True)
class TupleOf:
    """A tuple of values of one kind."""

    kind: Kind

    def dump(self, value: Sequence[Any], archive: Archive) -> Json:
        """Return a list."""
        return [self.kind.dump(entry, archive) for entry in value]

    def load(self, found: Json, archive: Archive) -> tuple[Any, ...]:
        """Return a tuple."""
        if not isinstance(found, list):
            archive.refuse("must be a list", found)
        return tuple(self.kind.load(entry, archive) for entry in found)


@dataclass(frozen=True)
class Columns:
    """Column numbers: a tuple of them as an array, or a range by its ends.

    >>> Columns().dump(range(3, 9), Archive()), Columns().dump((5, 3), Archive())
    ({'range': [3, 9]}, 0)
    """

    def dump(self, value: Sequence[int], archive: Archive) -> Json:
        """Return the ends of a range of step one, or the number of the array."""
        if isinstance(value, range):
            return {"range": [value.start, value.stop]}
        return archive.store(np.array(value, dtype=np.int64))

    def load(self, found: Json, archive: Archive) -> tuple[int, ...] | range:
        """Return numbers of at least zero, at least one of them."""
        if isinstance(found, dict):
            ends: Any = found.get("range")
            two = found.keys() == {"range"} and isinstance(ends, list) and len(ends) == 2
            if not two or not all(type(end) is int for end in ends):
                archive.refuse("must be a range of two whole numbers", found)
            if not 0 <= ends[0] < ends[1] < 2**63:
                archive.refuse("must ascend from zero or more, below 2^63", ends)
            return range(*ends)
        columns = Array(1, ("<i8",)).load(found, archive)
        if columns.size == 0 or columns.min() < 0:
            archive.refuse("must hold column numbers, at least one")
        return tuple(columns.tolist())


@dataclass(frozen=True)
class Array:
    """An array of given dtypes and dimensions, without NaN and infinities."""

    n_dimensions: int = 1
    dtypes: tuple[str, ...] = ("<f8",)

    def dump(self, value: NDArray[Any], archive: Archive) -> Json:
        """Return the number of the array, which is copied: statistics go on changing theirs."""
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            archive.refuse("must hold finite numbers to be saved")
        return archive.store(value.copy())

    def load(self, found: Json, archive: Archive) -> NDArray[Any]:
        """Return a writable copy."""
        array = archive.next_array(found)
        if array.dtype.str not in self.dtypes or array.ndim != self.n_dimensions:
            described = f"{array.dtype.str} in {array.ndim} dimensions"
            rule = f"must hold {' or '.join(self.dtypes)} in {self.n_dimensions} dimensions"
            archive.refuse(rule, described)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            archive.refuse("must hold finite numbers")
        return array.astype(array.dtype.newbyteorder("="))


@dataclass(frozen=True)
class UpperTriangle:
    """The upper triangle of a square matrix, packed row by row: half the file.

    >>> archive = Archive()
    >>> UpperTriangle().dump(np.array([[1.0, 2.0], [0.0, 3.0]]), archive), archive.arrays
    (0, [array([1., 2., 3.])])
    """

    def dump(self, value: NDArray[np.float64], archive: Archive) -> Json:
        """Return the number of the packed array."""
        packed = np.concatenate([row[i:] for i, row in enumerate(value)])
        if not np.isfinite(packed).all():
            archive.refuse("must hold finite numbers to be saved")
        return archive.store(packed)

    def load(self, found: Json, archive: Archive) -> NDArray[np.float64]:
        """Return the square matrix, zeros below the diagonal."""
        triangle = archive.next_array(found)
        width = int(np.sqrt(2 * triangle.size))
        if triangle.dtype.str != "<f8" or triangle.shape != (width * (width + 1) // 2,):
            archive.refuse("must be a packed triangle of float64", triangle.shape)
        if not np.isfinite(triangle).all():
            archive.refuse("must hold finite numbers")
        square = np.zeros((width, width))
        start = 0
        for i, row in enumerate(square):
            row[i:] = triangle[start : start + width - i]
            start += width - i
        if (square.diagonal() < 0.0).any():
            archive.refuse("must have a diagonal that is not negative", square.diagonal().min())
        return square


@dataclass(frozen=True)
class Labels:
    """A flat array of class labels: text or numbers of any width."""

    def dump(self, value: NDArray[Any], archive: Archive) -> Json:
        """Return the number of the array."""
        return archive.store(value.copy())

    def load(self, found: Json, archive: Archive) -> NDArray[Any]:
        """Return a writable copy."""
        labels = archive.next_array(found)
        if labels.ndim != 1 or labels.dtype.kind not in _LABEL_KINDS:
            archive.refuse("must be a flat array of text or numbers", labels.dtype)
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            archive.refuse("must hold finite numbers")
        if labels.dtype.kind == "b" and labels.view(np.uint8).max(initial=0) > 1:
            archive.refuse("must hold true and false as 1 and 0")
        if labels.dtype.kind == "U" and labels.dtype.itemsize:
            characters = np.frombuffer(labels.tobytes(), "<u4")
            if characters.max(initial=0) > 0x10FFFF:
                archive.refuse("must hold characters of Unicode", hex(characters.max()))
        return labels.astype(labels.dtype.newbyteorder("="))


@dataclass(frozen=True)
class Targets:
    """Targets of rows: labels that may be absent, or rows of float64, NaN where absent."""

    def dump(self, value: NDArray[Any], archive: Archive) -> Json:
        """Return the numbers of the arrays under the name of their kind."""
        if value.dtype.names is not None:
            return {"labels": [Labels().dump(value[name], archive) for name in ("label", "given")]}
        return {"numbers": archive.store(value.copy())}

    def load(self, found: Json, archive: Archive) -> NDArray[Any]:
        """Return an array as the statistics expect it."""
        if not isinstance(found, dict) or len(found) != 1:
            archive.refuse("must be targets of one kind", found)
        ((kind, numbers),) = found.items()
        if kind == "labels" and isinstance(numbers, list) and len(numbers) == 2:
            label, given = (Labels().load(number, archive) for number in numbers)
            if given.dtype != np.bool_ or given.shape != label.shape:
                archive.refuse("must say of every label whether it was given")
            marked = np.empty(label.shape, dtype=[("label", label.dtype), ("given", np.bool_)])
            marked["label"], marked["given"] = label, given
            return marked
        targets = archive.next_array(numbers)
        if kind != "numbers" or targets.dtype.str != "<f8" or targets.ndim != 2:
            archive.refuse("must be labels or rows of float64", kind)
        absent = np.isnan(targets)
        if np.isinf(targets).any() or (absent.any(axis=1) != absent.all(axis=1)).any():
            archive.refuse("must be finite, or NaN for a whole row")
        return targets.astype(np.float64)


@dataclass(frozen=True)
class SampledTargets:
    """Targets of sampled rows, none absent: a flat array of labels, or rows of float64."""

    def dump(self, value: NDArray[Any], archive: Archive) -> Json:
        """Return the number of the array, under a name where it holds rows."""
        if value.ndim == 1:
            return Labels().dump(value, archive)
        return {"numbers": archive.store(value.copy())}

    def load(self, found: Json, archive: Archive) -> NDArray[Any]:
        """Return a writable copy."""
        if not isinstance(found, dict):
            return Labels().load(found, archive)
        if found.keys() != {"numbers"}:
            archive.refuse("must be labels or rows of float64", sorted(found))
        return Array(2).load(found["numbers"], archive)


@dataclass(frozen=True)
class JsonList:
    """A list of text, booleans and numbers of any length, as JSON in ASCII in an array of bytes.

    >>> archive = Archive()
    >>> JsonList().load(JsonList().dump([2, True, 0.5, "ham"], archive), archive)
    [2, True, 0.5, 'ham']
    """

    def dump(self, value: Sequence[Any], archive: Archive) -> Json:
        """Return the number of the array of bytes."""
        text = json.dumps(list(value), separators=(",", ":"), allow_nan=False)
        return archive.store(np.frombuffer(text.encode("ascii"), np.uint8))

    def load(self, found: Json, archive: Archive) -> list[Any]:
        """Return the list."""
        text = Array(dtypes=("|u1",)).load(found, archive).tobytes()
        try:
            values = json.loads(text.decode("ascii"))
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, list) or not all(map(_is_plain, values)):
            archive.refuse("must be a list of text, booleans and finite numbers in JSON")
        return values


def _is_plain(value: Any) -> bool:
    if isinstance(value, str | bool):
        return True
    if type(value) is int:
        return abs(value) < 2**64
    return type(value) is float and math.isfinite(value)


@dataclass(frozen=True)
class Rows:
    """Dense rows, or sparse ones as ``data``, ``indices``, ``indptr`` and a width."""

    def dump(self, value: Any, archive: Archive) -> Json:
        """Return the number of the dense array, or three numbers and a width for sparse rows."""
        if not isinstance(value, sparse.csr_array):
            return archive.store(np.asarray(value))
        # One width of index for equal rows, whichever way they came about.
        wide = max(*value.shape, value.nnz) >= 2**31
        index = np.int64 if wide else np.int32
        parts = (value.data, value.indices.astype(index), value.indptr.astype(index))
        return {"csr": [archive.store(part) for part in parts], "width": int(value.shape[1])}

    def load(self, found: Json, archive: Archive) -> Any:
        """Return rows in canonical form."""
        if type(found) is int:
            return Array(2, ("<f4", "<f8")).load(found, archive)
        if not isinstance(found, dict) or found.keys() != {"csr", "width"}:
            archive.refuse("must be dense or sparse rows", found)
        parts, width = found["csr"], found["width"]
        if not (isinstance(parts, list) and len(parts) == 3 and type(width) is int):
            archive.refuse("must hold three arrays and a width", found)
        data = Array(1, ("<f4", "<f8")).load(parts[0], archive)
        indices = Array(1, ("<i4", "<i8")).load(parts[1], archive)
        indptr = Array(1, ("<i4", "<i8")).load(parts[2], archive)
        try:
            check_canonical(data, indices, indptr, width)
        except ValueError as error:
            archive.refuse(str(error))
        return sparse.csr_array((data, indices, indptr), shape=(indptr.size - 1, width))


@dataclass(frozen=True)
class SharedRows(Rows):
    """Sparse rows, at least one, that several fields may hold: written once."""

    def dump(self, value: sparse.csr_array, archive: Archive) -> Json:
        """Return the rows, or the number of equal ones that were written before."""
        for number, known in enumerate(archive.landmarks):
            if same_rows(value, known):
                return {"same": number}
        archive.landmarks.append(value)
        return super().dump(value, archive)

    def load(self, found: Json, archive: Archive) -> sparse.csr_array:
        """Return sparse rows."""
        if isinstance(found, dict) and found.keys() == {"same"}:
            number = found["same"]
            if type(number) is not int or not 0 <= number < len(archive.landmarks):
                archive.refuse("must repeat rows that came before", number)
            return archive.landmarks[number]
        rows = super().load(found, archive)
        if not isinstance(rows, sparse.csr_array) or rows.shape[0] == 0:
            archive.refuse("must be sparse rows, at least one")
        archive.landmarks.append(rows)
        return rows


def same_rows(left: sparse.csr_array, right: sparse.csr_array) -> bool:
    """Tell whether canonical sparse rows have the same content.

    >>> same_rows(sparse.csr_array([[1.0, 0.0]]), sparse.csr_array([[1.0, 2.0]]))
    False
    """
    return left.shape == right.shape and all(
        np.array_equal(getattr(left, part), getattr(right, part))
        for part in ("indptr", "indices", "data")
    )


def check_canonical(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], width: int
) -> None:
    """Refuse sparse rows that are not canonical: sorted columns in range, no zeros, no gaps.

    >>> check_canonical(np.ones(2), np.array([1, 0]), np.array([0, 2]), width=2)
    Traceback (most recent call last):
        ...
    ValueError: must have columns that ascend within a row
    """
    shapes = indices.shape == data.shape and indices.dtype == indptr.dtype
    require(1 <= width < 2**63 and shapes, "must have as many columns as values, a positive width")
    ends = indptr.size >= 1 and indptr[0] == 0 and indptr[-1] == data.size
    require(
        ends and not (np.diff(indptr) < 0).any(),
        "must have row ends that ascend from 0 to the number of values",
    )
    inside = not data.size or (indices.min() >= 0 and int(indices.max()) < width)
    require(inside, f"must have columns from 0 to {width - 1}")
    within_row = np.ones(max(data.size - 1, 0), dtype=np.bool_)
    starts = indptr[1:-1]
    within_row[starts[(starts > 0) & (starts < data.size)] - 1] = False
    ascend = not (np.diff(indices)[within_row] <= 0).any()
    require(ascend, "must have columns that ascend within a row")
    require((data > 0.0).all(), "must hold positive values")


def same_state(left: Mapping[str, Any], right: Mapping[str, Any]) -> bool:
    """Compare two plain states bit for bit."""
    return left.keys() == right.keys() and all(
        np.array_equal(value, right[name]) for name, value in left.items()
    )
