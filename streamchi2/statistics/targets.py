"""The targets of a stream: the classes that are known, or the shape of numbers or indicators.

Rows with and without a target share one array: labels carry a flag, numbers are NaN where absent.
Numbers may have names, and indicators with names may get more of them: columns are added then.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamchi2.checks import (
    as_declared_classes,
    refuse_other_kind,
    refuse_unknown,
    union_of_labels,
)
from streamchi2.errors import StateMismatchError
from streamchi2.state import Bool, Int, JsonList, Kind, Labels, Maybe, SavedValue, require


def _no_labels() -> NDArray[Any]:
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class ClassTargets(SavedValue):
    """Labels that a stream has shown or announced, sorted: all text or all numbers.

    Parameters
    ----------
    labels : ndarray, default=none
        Those seen or announced.
    complete : bool, default=False
        Whether the user has declared that there are no others.
    separate : bool, default=False
        Whether moments are kept of each class by itself, so that classes can be weighted.

    Examples
    --------
    >>> known = ClassTargets().with_batch(np.array(["spam", "ham"]))
    >>> known.with_batch(np.array(["eggs"])).labels
    array(['eggs', 'ham', 'spam'], dtype='<U4')
    >>> known.with_batch(np.array(["ham"]), classes=["ham", "spam"]).complete
    True
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "labels": Labels(),
        "complete": Bool(),
        "separate": Bool(),
    }

    labels: NDArray[Any] = field(default_factory=_no_labels)
    complete: bool = False
    separate: bool = False

    n_targets: ClassVar[int] = 0  # numeric ones
    have_probabilities: ClassVar[bool] = True

    @property
    def classes(self) -> NDArray[Any] | None:
        """The labels, one an output of a model."""
        return self.labels

    @cached_property
    def label_set(self) -> frozenset[Any]:
        """The labels as plain values of Python."""
        return frozenset(self.labels.tolist())

    def absent(self, n_rows: int) -> NDArray[Any]:
        """Return as many absent targets."""
        return without_labels(n_rows, self.labels.dtype)

    def with_batch(self, labels: NDArray[Any], classes: ArrayLike | None = None) -> Self:
        """Return what is known after a batch, or refuse its labels or the classes declared."""
        known = self if classes is None else self._declared(classes)
        refuse_other_kind(labels, self.labels)
        refuse_other_kind(labels, known.labels)
        if known.complete:
            refuse_unknown(labels, known.labels)
            return known
        if labels.size == 1 and known.labels.size and np.isin(labels, known.labels).all():
            return known
        return replace(known, labels=union_of_labels(known.labels, labels))

    def merged(self, other: Any) -> Self:
        """Return what two streams know together, or refuse."""
        self._check_kind(other)
        try:
            together = union_of_labels(self.labels, other.labels)
        except ValueError as error:
            raise StateMismatchError(f"classes must agree to merge: {error}") from error
        for side in (self, other):
            if side.complete and not np.array_equal(side.labels, together):
                raise StateMismatchError(
                    f"classes were declared as {side.labels.tolist()} and must agree to merge, "
                    f"got {together.tolist()} together"
                )
        return replace(self, labels=together, complete=self.complete or other.complete)

    def _check_kind(self, other: Any) -> None:
        if not isinstance(other, ClassTargets):
            raise StateMismatchError(f"targets must be labels to merge, got {other!r}")
        if self.separate != other.separate:
            raise StateMismatchError("moments must be kept of each class on both sides to merge")
        if self.labels.size and other.labels.size:
            kinds = [side.labels.dtype.kind in "UT" for side in (self, other)]
            if kinds[0] != kinds[1]:
                raise StateMismatchError(
                    "classes must be all text or all numbers to merge, got "
                    f"{self.labels[0].item()!r} and {other.labels[0].item()!r}"
                )

    def _declared(self, classes: ArrayLike) -> Self:
        declared = as_declared_classes(classes)
        refuse_other_kind(declared, self.labels)
        if self.complete and not np.array_equal(declared, self.labels):
            raise ValueError(
                f"classes must stay the same, got {declared.tolist()} after {self.labels.tolist()}"
            )
        refuse_unknown(self.labels, declared)
        return replace(self, labels=declared, complete=True)

    def validate(self) -> None:
        """Require labels that are sorted and distinct."""
        ascending = self.labels.size < 2 or (self.labels[1:] > self.labels[:-1]).all()
        require(ascending, "labels must ascend")

    def check_block(self, targets: NDArray[Any] | None, n_rows: int) -> None:
        """Require labels that are known, with a flag for each row."""
        require(targets is not None and targets.dtype.names == ("label", "given"), "no labels")
        assert targets is not None
        self.check_values(targets["label"][targets["given"]])

    def check_values(self, labels: NDArray[Any]) -> None:
        """Require labels to be among the known ones."""
        if labels.size:
            text = [side.dtype.kind == "U" for side in (labels, self.labels)]
            agree = text[0] == text[1] and np.isin(labels, self.labels).all()
            require(agree, "all labels of the stream must be known")


@dataclass(frozen=True)
class NumericTargets(SavedValue):
    """Numeric targets: how many a row, and whether the user gives them as a flat array.

    ``names`` are those of the columns where rows name their targets, in the order in which they
    came; None where columns are known by their place. Before the first name there is one column
    without a name, of zeros or absent.
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "n_targets": Int(1),
        "flat": Bool(),
        "names": Maybe(JsonList()),
    }

    n_targets: int
    flat: bool
    names: tuple[str | int, ...] | None = None

    have_probabilities: ClassVar[bool] = False
    separate: ClassVar[bool] = False  # there are no classes whose moments could be
    classes: ClassVar[NDArray[Any] | None] = None

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the value of these fields."""
        names = state["names"]
        return cls(**{**state, "names": None if names is None else tuple(names)})

    @cached_property
    def columns(self) -> dict[str | int, int]:
        """The column of each name."""
        return {name: place for place, name in enumerate(self.names or ())}

    def with_names(self, names: Iterable[str | int]) -> Self:
        """Return targets with the columns of more names behind the present ones.

        >>> IndicatorTargets(1, names=()).with_names(["red", "blue"]).with_names(["red", 3]).names
        ('red', 'blue', 3)
        """
        new = dict.fromkeys(name for name in names if name not in self.columns)
        if not new:
            return self
        together = (*(self.names or ()), *new)
        return replace(self, n_targets=len(together), names=together)

    def aligned(self, values: NDArray[np.float64], before: NumericTargets) -> NDArray[np.float64]:
        """Return values, one a column of ``before``, in these columns: zero for a name it has not.

        NaN, where a row has no target, stands in all columns.
        """
        if self.names == before.names:
            return values
        absent = np.isnan(values[..., :1])
        found = np.repeat(np.where(absent, np.nan, 0.0), self.n_targets, axis=-1)
        both = [name for name in before.columns if name in self.columns]
        mine, theirs = ([side.columns[name] for name in both] for side in (self, before))
        found[..., mine] = values[..., theirs]
        return found

    def absent(self, n_rows: int) -> NDArray[np.float64]:
        """Return as many absent targets."""
        return np.full((n_rows, self.n_targets), np.nan)

    @property
    def shape(self) -> str:
        """The shape that targets must have, for messages."""
        return "(n,)" if self.flat else f"(n, {self.n_targets})"

    def merged(self, other: Any) -> Self:
        """Return the same, or refuse targets of another shape or of other names."""
        if self._may_have_names_of(other):
            return self.with_names(other.names)
        if self != other:
            theirs = getattr(other, "shape", other)
            raise StateMismatchError(
                f"targets must have the same shape to merge, got {self.shape} and {theirs}"
            )
        return self

    def _may_have_names_of(self, other: Any) -> bool:
        if type(self) is not type(other) or self.names is None or other.names is None:
            return False
        known = self.columns.keys(), other.columns.keys()
        return known[0] == known[1] or not all(known)  # in any order, or not known yet

    def validate(self) -> None:
        """Require one target a row where they are flat."""
        require(self.n_targets == 1 or not self.flat, "flat targets are one a row")
        self._check_names()

    def _check_names(self) -> None:
        if self.names is None:
            return
        require(not self.flat, "flat targets have no names")
        require(len(self.columns) == len(self.names), "names must be distinct")
        require(self.n_targets == max(1, len(self.names)), "names must be one a column")
        plain = all(type(name) in (str, int) for name in self.names)
        require(plain, "names must be text or whole numbers")

    def check_block(self, targets: NDArray[Any] | None, n_rows: int) -> None:
        """Require numbers of the right shape."""
        shape = (n_rows, self.n_targets)
        fits = targets is not None and targets.shape == shape and targets.dtype == np.float64
        require(fits, f"targets must be float64 of shape {shape}")

    def check_values(self, targets: NDArray[Any]) -> None:
        """Any number will do."""


@dataclass(frozen=True)
class IndicatorTargets(NumericTargets):
    """Several labels that each row has or has not: columns of ones and zeros."""

    flat: bool = False

    have_probabilities: ClassVar[bool] = True

    def _may_have_names_of(self, other: Any) -> bool:
        # Labels that one side has not met are labels that its rows have not.
        return type(self) is type(other) and self.names is not None and other.names is not None

    def validate(self) -> None:
        """Require two labels or more, a column each, or names."""
        several = self.n_targets > 1 or self.names is not None
        require(several and not self.flat, "indicators are two columns or more")
        self._check_names()

    def check_block(self, targets: NDArray[Any] | None, n_rows: int) -> None:
        """Require zeros and ones, or NaN where labels are absent."""
        super().check_block(targets, n_rows)
        assert targets is not None
        self.check_values(targets)

    def check_values(self, targets: NDArray[Any]) -> None:
        """Require zeros and ones, or NaN where labels are absent."""
        known = np.isnan(targets) | (targets == 0.0) | (targets == 1.0)
        require(known.all(), "indicators must be 0 or 1")


def with_labels(labels: NDArray[Any], given: NDArray[np.bool_] | None = None) -> NDArray[Any]:
    """Return labels in the form that lets rows with and without labels share a buffer.

    ``given`` tells which rows have one, where not all have.

    >>> with_labels(np.array(["ham", "spam"]))["given"]
    array([ True,  True])
    """
    marked = without_labels(labels.size, labels.dtype)
    there = slice(None) if given is None else given
    marked["label"][there], marked["given"][there] = labels[there], True
    return marked


def without_labels(n_rows: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return as many absent labels.

    >>> without_labels(2, np.dtype(np.int64))["given"]
    array([False, False])
    """
    return np.zeros(n_rows, dtype=[("label", dtype), ("given", np.bool_)])


def has_target(targets: NDArray[Any] | None, n_rows: int) -> NDArray[np.bool_]:
    """Tell which rows have a target.

    >>> has_target(np.array([[1.0], [np.nan]]), 2)
    array([ True, False])
    """
    if targets is None:
        return np.zeros(n_rows, dtype=np.bool_)
    if targets.dtype.names is not None:
        given: NDArray[np.bool_] = targets["given"]
        return given
    numbers: NDArray[np.float64] = targets
    return np.isfinite(numbers[:, 0])
