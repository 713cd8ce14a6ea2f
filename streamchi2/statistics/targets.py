"""The targets of a stream: the columns that regressions have, and the targets of a block of rows.

Columns are in order of arrival, so that nothing learnt moves when a label comes late. The targets
of a block are

* of labels, the column of each row's label: an int64 array (n,), -1 where a row has none;
* of indicators and numbers, a float64 array (n, n_columns), a row of NaN where a row has none.
  Where columns came later, earlier arrays are narrower: :func:`matrix` pads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.checks.rows import Array, Indices
from streamchi2.checks.targets import as_label
from streamchi2.errors import StateMismatchError
from streamchi2.saving import Label, saved

Kind = Literal["labels", "indicators", "numbers"]


@saved("targets")
@dataclass(frozen=True)
class Targets:
    """The columns of targets that a stream knows.

    Labels are objects of Python with Python's equality: 1, True and 1.0 are one label, which stays
    what it was at first. A new object of kind "indicators" or "numbers" is that of rows that name
    their targets; :meth:`of_columns` makes that of arrays.

    Parameters
    ----------
    kind : "labels", "indicators" or "numbers"
        One label a row, several labels that a row has or has not, or numbers.
    names : tuple, default=()
        The labels, or the names of columns; the numbers of columns where these have no names.
    complete : bool, default=False
        Whether there will be no other names, since a user has declared all classes for instance.
    flat : bool, default=False
        Whether the user gives and gets numbers as a flat array.

    Examples
    --------
    >>> targets, codes = Targets("labels").encode(np.array(["spam", "ham", "spam"]))
    >>> targets.names, codes
    (('spam', 'ham'), array([0, 1, 0]))
    >>> targets.encode(["eggs", "ham"])[1]
    array([2, 1])
    >>> targets.classes_sorted
    (array(['ham', 'spam'], dtype='<U4'), array([1, 0]))
    """

    kind: Kind
    names: tuple[Label, ...] = ()
    complete: bool = False
    flat: bool = False
    index: dict[Any, int] = field(init=False, repr=False, compare=False)  # column of each name

    def __post_init__(self) -> None:
        index = {name: column for column, name in enumerate(self.names)}
        object.__setattr__(self, "index", index)

    @classmethod
    def of_columns(cls, kind: Kind, values: Array) -> Self:
        """Return the targets whose columns are those of an array, flat or not, for good."""
        flat = values.ndim == 1
        return cls(kind, tuple(range(1 if flat else values.shape[1])), complete=True, flat=flat)

    def check_state(self) -> None:
        """Raise ValueError where two columns have one name."""
        if len(self.index) != len(self.names):
            raise ValueError("names must be distinct")

    @property
    def n_columns(self) -> int:
        """Number of columns; where they have names one, of zeros, before the first name."""
        return max(len(self.names), int(self.kind != "labels"))

    @property
    def classes_sorted(self) -> tuple[NDArray[Any], Indices]:
        """Labels as an array, sorted, and the column of each; other columns as they came.

        The array has dtype object where another one would change a label.
        """
        names: tuple[Any, ...] = self.names
        order = list(range(len(names)))
        if self.kind == "labels":
            order.sort(key=names.__getitem__)
        return label_array([names[column] for column in order]), np.array(order, dtype=np.intp)

    def declared(self, classes: Sequence[Any]) -> Self:
        """Return targets of which the user says that there are no others, or refuse.

        >>> Targets("labels").declared([0, 1]).encode([0, 3])
        Traceback (most recent call last):
            ...
        ValueError: y must be one of the declared classes [0, 1], got 3 at row 1
        """
        if self.kind != "labels":
            if tuple(classes) != self.names:
                raise ValueError(
                    "classes must be the numbers of the columns of y where it has a column for "
                    f"each label, got {list(classes)} for {self.n_columns} columns"
                )
            return self
        if self.complete and set(classes) != self.index.keys():
            raise ValueError(
                f"classes must stay the same, got {list(classes)} after {list(self.names)}"
            )
        together = self._with_labels(classes)
        if len(together.names) > len(classes):
            missing = next(label for label in self.names if label not in classes)
            raise ValueError(
                f"classes must hold every label that came before, got {list(classes)} after "
                f"{missing!r}"
            )
        return replace(together, complete=True)

    def encode(self, values: NDArray[Any] | Sequence[Any]) -> tuple[Self, NDArray[Any]]:
        """Return what is known after a batch, and its targets as those of a block, or refuse.

        Parameters
        ----------
        values : array or list
            As :func:`as_labels`, :func:`as_indicators` and :func:`as_numbers` return them.
        """
        has_columns = isinstance(values, np.ndarray) and (
            values.ndim == 2 or self.kind == "numbers"
        )
        if has_columns == (self.kind == "labels"):
            n_columns = np.shape(values)[1] if has_columns else self.n_columns
            forms = "one label a row", f"a column for each of {n_columns} labels"
            raise ValueError(
                f"y must keep its form, {forms[not has_columns]}, got {forms[has_columns]}; rows "
                "without labels that are observed first count as one label a row"
            )
        if isinstance(values, np.ndarray) and has_columns:
            if values.shape[1:] != (() if self.flat else (self.n_columns,)):
                raise ValueError(f"y must keep its shape {self._shape}, got {values.shape}")
            return self, values.reshape(len(values), self.n_columns)
        labels = values.tolist() if isinstance(values, np.ndarray) else values
        targets = self._with_labels(labels)
        codes = map(targets.index.__getitem__, labels)
        return targets, np.fromiter(codes, dtype=np.int64, count=len(labels))

    def encode_one(self, target: Any) -> tuple[Self, int | Array]:
        """Return the same for one row: of a label, a number, or a dict of names to numbers.

        Indicators that a dict does not name are zero.

        >>> targets, _ = Targets("indicators").encode_one({"red": 1.0})
        >>> targets.encode_one({"blue": 1.0})
        (Targets(kind='indicators', names=('red', 'blue'), complete=False, flat=False), \
array([0., 1.]))
        """
        if self.kind == "labels":
            targets = self if target in self.index else self._with_labels([target])
            return targets, targets.index[target]
        if self.flat:
            return self, np.array([target], dtype=np.float64)
        targets = self._with_names(target)
        values = np.zeros(targets.n_columns)
        for name, value in target.items():
            values[targets.index[name]] = value
        return targets, values

    def refuse_other_kind(self, labels: Sequence[Any], name: str) -> None:
        """Refuse labels that are text where those seen are numbers, or the other way round."""
        for label in labels if self.names else ():
            if _type_of(label) is not _type_of(self.names[0]):
                raise TypeError(
                    f"{name} must name labels of the kind that y has, got {label!r} beside "
                    f"{self.names[0]!r}"
                )

    def absent(self, n_rows: int) -> NDArray[Any]:
        """Return the targets of a block that has none."""
        if self.kind == "labels":
            return np.full(n_rows, -1, dtype=np.int64)
        return np.full((n_rows, self.n_columns), np.nan)

    def merged(self, other: Self) -> tuple[Self, Indices]:
        """Return what two streams know together, and the columns there of the other one's columns.

        Law: the names of both, in any order of merging.
        """
        together = tuple(dict.fromkeys((*self.names, *other.names)))
        short = [s.names for s in (self, other) if s.complete and len(s.names) < len(together)]
        is_other = (self.kind, self.flat) != (other.kind, other.flat)
        if is_other or (short and self.kind != "labels"):
            raise StateMismatchError(
                "targets must have the same shape to merge, got "
                f"{self.kind} {self._shape} and {other.kind} {other._shape}"
            )
        types = {_type_of(side.names[0]) for side in (self, other) if side.names}
        if self.kind == "labels" and len(types) > 1:
            raise StateMismatchError(
                "classes must be all text or all numbers to merge, got "
                f"{self.names[0]!r} and {other.names[0]!r}"
            )
        if short:
            raise StateMismatchError(
                f"classes were declared as {list(short[0])} and must agree to merge, got "
                f"{list(together)} together"
            )
        merged = replace(self, names=together, complete=self.complete or other.complete)
        # The one column without a name becomes that of the first name: it holds zeros, or NaN.
        columns = [merged.index[name] for name in other.names] or [0] * other.n_columns
        return merged, np.array(columns, dtype=np.intp)

    def _with_labels(self, labels: Sequence[Any]) -> Self:
        new = [as_label(label) for label in dict.fromkeys(labels) if label not in self.index]
        if not new:
            return self
        first = (*self.names, *new)[0]
        for label in new:
            if _type_of(label) is not _type_of(first):
                raise TypeError(
                    f"y must hold labels of one kind, got {label!r} after {first!r}; all must be "
                    "text or numbers, not both"
                )
        if self.complete:
            raise ValueError(
                f"y must be one of the declared classes {list(self.names)}, got {new[0]!r} at row "
                f"{list(labels).index(new[0])}"
            )
        return replace(self, names=(*self.names, *new))

    def _with_names(self, target: Mapping[Any, float]) -> Self:
        is_new = not target.keys() <= self.index.keys()
        if self.kind == "numbers":
            if not target:
                raise ValueError("y must hold a number for each target, got an empty dict")
            if self.names and (is_new or len(target) < len(self.names)):
                raise ValueError(
                    f"y must hold the targets {list(self.names)} as before, got {list(target)}; "
                    "leave out rows that lack one, or observe them"
                )
        if not is_new:
            return self
        names = tuple(dict.fromkeys((*self.names, *target)))
        return replace(self, names=names, complete=self.kind == "numbers")

    @property
    def _shape(self) -> str:
        if self.flat or self.kind == "labels":
            return "(n,)"
        shape = f"(n, {self.n_columns})"
        by_number = self.names == tuple(range(len(self.names)))
        return shape if by_number else f"{shape} named {list(self.names)}"


def has_target(block: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which rows of a block have a target.

    >>> has_target(np.array([2, -1])), has_target(np.array([[1.0], [np.nan]]))
    (array([ True, False]), array([ True, False]))
    """
    has: NDArray[np.bool_] = block >= 0 if block.ndim == 1 else ~np.isnan(block[:, 0])
    return has


def matrix(block: NDArray[Any], n_columns: int) -> Array | sparse.csr_array:
    """Return the targets of a block as a matrix: labels as sparse rows of one 1.

    Rows without a label have no 1; columns that came later are zero (NaN in absent rows).

    >>> matrix(np.array([1, -1, 0]), 3).toarray()
    array([[0., 1., 0.],
           [0., 0., 0.],
           [1., 0., 0.]])
    """
    if block.ndim == 1:
        has = block >= 0
        ends = np.concatenate([[0], np.cumsum(has)])
        ones = np.ones(ends[-1])
        return sparse.csr_array((ones, block[has], ends), shape=(block.size, n_columns))
    return aligned(block, n_columns)


def dense(block: NDArray[Any], n_columns: int) -> Array:
    """Return the same matrix, of labels too, as an array.

    >>> dense(np.array([1, -1]), 2)
    array([[0., 1.],
           [0., 0.]])
    """
    if block.ndim == 1:
        return np.asarray(block[:, None] == np.arange(n_columns), dtype=np.float64)
    return aligned(block, n_columns)


def aligned(block: NDArray[Any], n_columns: int) -> NDArray[Any]:
    """Return codes as they are, and columns of numbers with those that came later.

    >>> aligned(np.array([[5.0], [np.nan]]), 2)
    array([[ 5.,  0.],
           [nan, nan]])
    """
    return block if block.ndim == 1 else moved(block, np.arange(block.shape[1]), n_columns)


def moved(block: NDArray[Any], columns: Indices, n_columns: int) -> NDArray[Any]:
    """Return the targets of a block after :meth:`Targets.merged` has given their columns.

    >>> moved(np.array([0, -1, 1]), np.array([2, 0]), 3)
    array([ 2, -1,  0])
    """
    if block.ndim == 1:
        codes: NDArray[np.int64] = np.append(columns, -1)[block]
        return codes
    width = block.shape[1]
    if width == n_columns and (columns[:width] == np.arange(width)).all():
        return block
    padded = np.zeros((block.shape[0], n_columns))
    padded[:, columns[:width]] = block
    padded[np.isnan(block[:, 0])] = np.nan
    return padded


def is_given(target: int | Array | None) -> bool:
    """Tell whether the target of one row is there.

    >>> is_given(3), is_given(-1), is_given(np.array([np.nan])), is_given(None)
    (True, False, False, False)
    """
    if target is None:
        return False
    return target >= 0 if isinstance(target, int) else bool(target[0] == target[0])


def label_array(labels: Sequence[Any]) -> NDArray[Any]:
    """Return labels as an array of the type that numpy chooses, unless that changes a label.

    >>> label_array([2, 3.0]), label_array([2**70, 1])
    (array([2., 3.]), array([1180591620717411303424, 1], dtype=object))
    """
    array = np.array(labels)
    if array.tolist() != list(labels):
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
    return array


def _type_of(label: Any) -> type:
    """Return what sorts together: text, bytes or numbers."""
    return type(label) if isinstance(label, str | bytes) else float
