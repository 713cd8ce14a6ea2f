"""Arrays as fields: numbers, triangles, labels, names and rows, each with its own rules."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.bases.landmark_rows import LandmarkRows, same_rows
from streamchi2.errors import FormatError
from streamchi2.persistence.container import Json
from streamchi2.persistence.fields import Place
from streamchi2.validation import Rows

_LABEL_KINDS = "biufU"


@dataclass(frozen=True)
class Array:
    """An array of given dtypes and dimensions, without NaN and infinities."""

    n_dimensions: int = 1
    dtypes: tuple[str, ...] = ("<f8",)

    def written(self, value: NDArray[Any], place: Place) -> Json:
        """Return the number of the array, which is copied: trackers go on changing theirs."""
        return place.store(value.copy())

    def read(self, found: Json, place: Place) -> NDArray[Any]:
        """Return a writable copy."""
        array = place.next_array(found)
        if array.dtype.str not in self.dtypes or array.ndim != self.n_dimensions:
            described = f"{array.dtype.str} in {array.ndim} dimensions"
            rule = f"must hold {' or '.join(self.dtypes)} in {self.n_dimensions} dimensions"
            place.refuse(rule, described)
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            place.refuse("must hold finite numbers")
        return array.astype(array.dtype.newbyteorder("="))


@dataclass(frozen=True)
class UpperTriangle:
    """The upper triangle of a square matrix, packed row by row: half the file.

    >>> place = Place()
    >>> UpperTriangle().written(np.array([[1.0, 2.0], [0.0, 3.0]]), place), place.arrays
    (0, [array([1., 2., 3.])])
    """

    def written(self, value: NDArray[np.float64], place: Place) -> Json:
        """Return the number of the packed array."""
        return place.store(np.concatenate([row[i:] for i, row in enumerate(value)]))

    def read(self, found: Json, place: Place) -> NDArray[np.float64]:
        """Return the square matrix, zeros below the diagonal."""
        triangle = place.next_array(found)
        width = int(np.sqrt(2 * triangle.size))
        if triangle.dtype.str != "<f8" or triangle.shape != (width * (width + 1) // 2,):
            place.refuse("must be a packed triangle of float64", triangle.shape)
        if not np.isfinite(triangle).all():
            place.refuse("must hold finite numbers")
        square = np.zeros((width, width))
        start = 0
        for i, row in enumerate(square):
            row[i:] = triangle[start : start + width - i]
            start += width - i
        if (square.diagonal() < 0.0).any():
            place.refuse("must have a diagonal that is not negative", square.diagonal().min())
        return square


@dataclass(frozen=True)
class Labels:
    """A flat array of class labels: words or numbers of any width."""

    def written(self, value: NDArray[Any], place: Place) -> Json:
        """Return the number of the array."""
        return place.store(value)

    def read(self, found: Json, place: Place) -> NDArray[Any]:
        """Return a writable copy."""
        labels = place.next_array(found)
        if labels.ndim != 1 or labels.dtype.kind not in _LABEL_KINDS:
            place.refuse("must be a flat array of words or numbers", labels.dtype)
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            place.refuse("must hold finite numbers")
        if labels.dtype.kind == "b" and labels.view(np.uint8).max(initial=0) > 1:
            place.refuse("must hold true and false as 1 and 0")
        if labels.dtype.kind == "U" and labels.dtype.itemsize:
            characters = np.frombuffer(labels.tobytes(), "<u4")
            if characters.max(initial=0) > 0x10FFFF:
                place.refuse("must hold characters of Unicode", hex(characters.max()))
        return labels.astype(labels.dtype.newbyteorder("="))


@dataclass(frozen=True)
class Targets:
    """What belongs to rows that wait: labels, labels that may be absent, or numbers."""

    def written(self, value: NDArray[Any], place: Place) -> Json:
        """Return the numbers of the arrays under the name of their kind."""
        if value.dtype.names is not None:
            parts = [Labels().written(value[name], place) for name in ("label", "given")]
            return {"marked": parts}
        return {"labels" if value.ndim == 1 else "numbers": place.store(value)}

    def read(self, found: Json, place: Place) -> NDArray[Any]:
        """Return an array as the trackers expect it."""
        if not isinstance(found, dict) or len(found) != 1:
            place.refuse("must be targets of one kind", found)
        ((kind, numbers),) = found.items()
        if kind == "labels":
            return Labels().read(numbers, place)
        if kind == "marked" and isinstance(numbers, list) and len(numbers) == 2:
            label, given = (Labels().read(number, place) for number in numbers)
            if given.dtype != np.bool_ or given.shape != label.shape:
                place.refuse("must say of every label whether it was given")
            marked = np.empty(label.shape, dtype=[("label", label.dtype), ("given", np.bool_)])
            marked["label"], marked["given"] = label, given
            return marked
        targets = place.next_array(numbers)
        if kind != "numbers" or targets.dtype.str != "<f8" or targets.ndim != 2:
            place.refuse("must be labels or rows of float64", kind)
        absent = np.isnan(targets)  # rows without targets wait beside those with
        if np.isinf(targets).any() or (absent.any(axis=1) != absent.all(axis=1)).any():
            place.refuse("must be finite, or NaN for a whole row")
        return targets.astype(np.float64)


@dataclass(frozen=True)
class Names:
    """Names of columns, as JSON in ASCII: a long one must not lengthen all."""

    def written(self, value: NDArray[Any], place: Place) -> Json:
        """Return the number of the array of bytes."""
        return _written_list([str(name) for name in value], place)

    def read(self, found: Json, place: Place) -> NDArray[np.object_]:
        """Return the names as objects, as scikit-learn keeps them."""
        names = _read_list(found, place)
        if not all(isinstance(name, str) for name in names):
            place.refuse("must be a list of names")
        return np.array(names, dtype=object)


@dataclass(frozen=True)
class PlainLabels:
    """A list of distinct labels that are words, booleans or finite numbers of Python's.

    >>> place = Place()
    >>> PlainLabels().read(PlainLabels().written([2, True, 0.5], place), place)
    [2, True, 0.5]
    """

    def written(self, value: list[Any], place: Place) -> Json:
        """Return the number of the array of bytes."""
        return _written_list(value, place)

    def read(self, found: Json, place: Place) -> list[Any]:
        """Return the labels, all words or none."""
        labels = _read_list(found, place)
        known = all(
            isinstance(label, str | bool)
            or (type(label) is int and -(2**63) <= label < 2**63)
            or (type(label) is float and np.isfinite(label))
            for label in labels
        )
        if not known or len(set(labels)) < len(labels):
            place.refuse("must be distinct words, booleans or finite numbers")
        if len({isinstance(label, str) for label in labels}) > 1:
            place.refuse("must be all words or all numbers")
        return labels


def _written_list(values: list[Any], place: Place) -> Json:
    text = json.dumps(values, separators=(",", ":"))
    return place.store(np.frombuffer(text.encode("ascii"), np.uint8))


def _read_list(found: Json, place: Place) -> list[Any]:
    text = Array(dtypes=("|u1",)).read(found, place).tobytes()
    try:
        values = json.loads(text.decode("ascii"))
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list):
        place.refuse("must be a list in JSON")
    return values


@dataclass(frozen=True)
class StoredRows:
    """Dense rows, or sparse ones as ``data``, ``indices``, ``indptr`` and a shape."""

    def written(self, value: Rows, place: Place) -> Json:
        """Return the number of the dense array, or four things for sparse rows."""
        if not isinstance(value, sparse.csr_array):
            return place.store(np.asarray(value))
        # One width of index for equal rows, whichever way they came about.
        wide = max(*value.shape, value.nnz) >= 2**31
        index = np.int64 if wide else np.int32
        parts = (value.data, value.indices.astype(index), value.indptr.astype(index))
        return {"csr": [place.store(part) for part in parts], "width": int(value.shape[1])}

    def read(self, found: Json, place: Place) -> Rows:
        """Return rows in canonical form."""
        if type(found) is int:
            return Array(2, ("<f4", "<f8")).read(found, place)
        if not isinstance(found, dict) or found.keys() != {"csr", "width"}:
            place.refuse("must be dense or sparse rows", found)
        parts, width = found["csr"], found["width"]
        if not (isinstance(parts, list) and len(parts) == 3 and type(width) is int):
            place.refuse("must hold three arrays and a width", found)
        data = Array(1, ("<f4", "<f8")).read(parts[0], place)
        indices = Array(1, ("<i4", "<i8")).read(parts[1], place)
        indptr = Array(1, ("<i4", "<i8")).read(parts[2], place)
        try:
            check_canonical(data, indices, indptr, width)
        except FormatError as error:
            place.refuse(str(error))
        return sparse.csr_array((data, indices, indptr), shape=(indptr.size - 1, width))


@dataclass(frozen=True)
class Landmarks(StoredRows):
    """Rows of a landmark basis, which settings may hold too: the second time by their number."""

    def written(self, value: Any, place: Place) -> Json:
        """Return sparse rows as such, or the number of equal ones written before."""
        rows = value if isinstance(value, sparse.csr_array) else LandmarkRows.read(value).rows
        for number, known in enumerate(place.landmarks):
            if same_rows(rows, known):
                return {"same": number}
        place.landmarks.append(rows)
        return super().written(rows, place)

    def read(self, found: Json, place: Place) -> sparse.csr_array:
        """Return sparse rows, at least one."""
        if isinstance(found, dict) and found.keys() == {"same"}:
            number = found["same"]
            if type(number) is not int or not 0 <= number < len(place.landmarks):
                place.refuse("must repeat landmarks that came before", number)
            return place.landmarks[number]
        rows = super().read(found, place)
        if not isinstance(rows, sparse.csr_array) or rows.shape[0] == 0:
            place.refuse("must be sparse rows, at least one")
        place.landmarks.append(rows)
        return rows


def check_canonical(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], width: int
) -> None:
    """Refuse sparse rows that are not canonical: sorted columns in range, no zeros, no gaps.

    >>> check_canonical(np.ones(2), np.array([1, 0]), np.array([0, 2]), width=2)
    Traceback (most recent call last):
        ...
    streamchi2.errors.FormatError: must have columns that ascend within a row
    """
    if not 1 <= width < 2**63 or indices.shape != data.shape or indices.dtype != indptr.dtype:
        raise FormatError("must have as many columns as values, and a positive width")
    if indptr.size < 1 or indptr[0] != 0 or indptr[-1] != data.size or (np.diff(indptr) < 0).any():
        raise FormatError("must have row ends that ascend from 0 to the number of values")
    if data.size and not (indices.min() >= 0 and int(indices.max()) < width):
        raise FormatError(f"must have columns from 0 to {width - 1}")
    within_row = np.ones(max(data.size - 1, 0), dtype=np.bool_)
    starts = indptr[1:-1]
    within_row[starts[(starts > 0) & (starts < data.size)] - 1] = False
    if (np.diff(indices)[within_row] <= 0).any():
        raise FormatError("must have columns that ascend within a row")
    if not (data > 0.0).all():
        raise FormatError("must hold positive values")
