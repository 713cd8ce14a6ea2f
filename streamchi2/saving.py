"""Which classes a file may hold, and under which names; :mod:`streamchi2.files` does the rest.

A class is saved by its fields, under their annotations::

    @saved("histogram")
    @dataclass
    class Histogram:
        counts: NDArray[np.int64]
        half_life: float | None
        cache: NDArray[np.float64] | None = field(default=None, init=False)

Fields of the constructor are the state; those with ``init=False`` are caches and never saved. What
a file holds is checked against the annotations, then the constructor is called, then
``check_state(self)``, if there is such a method, which raises ValueError where fields contradict
each other. An annotation that names a base class admits all its registered subclasses. Arrays are
only as large as their bytes in the file, but a number or the ends of a range can be anything: a
constructor must not take memory by them alone.

Markers, in ``Annotated[..., marker]``: ``"any"`` admits NaN and infinities, which are refused
elsewhere; ``"upper"`` and ``"lower"`` save one triangle of a square matrix only, and the other one
comes back as zeros; these two stand outermost.

A frozen object that is held in several places is written once and is one object again. Others must
be held in one place only. Arrays come back writable, in the order in memory that they had.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Annotated, Any, ClassVar, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from scipy import sparse

__all__ = [
    "Label",
    "Params",
    "SavedByHooks",
    "Value",
    "class_named",
    "name_of",
    "register",
    "same",
    "saved",
]

# A class label or the name of a column: 1, True and 1.0 come back as what they are.
Label: TypeAlias = Annotated[int | float | str | bool | bytes | None, "any"]
# Constructor parameters: whatever files can hold, nested as the user nested it.
Params: TypeAlias = Annotated[dict[str, Any], "any"]

_Class = TypeVar("_Class", bound=type[Any])


class SavedByHooks(Protocol):
    """A class that is no dataclass, as estimators are: it hands out its state and is made of it."""

    _saved_fields: ClassVar[Mapping[str, Any]]  # names of the state, with their annotations

    def _saved_state(self) -> dict[str, Any]:
        """Return the values of all these fields."""

    @classmethod
    def _from_saved(cls, state: dict[str, Any]) -> Self:
        """Return the object that has this state."""


_NAMES: dict[type[Any], str] = {}
_CLASSES: dict[str, type[Any]] = {}


def saved(name: str) -> Callable[[_Class], _Class]:
    """Return a class decorator, to stand above ``@dataclass``, that lets files hold a class.

    >>> from dataclasses import dataclass
    >>> @saved("example.point")
    ... @dataclass
    ... class Point:
    ...     x: float
    >>> name_of(Point), class_named("example.point") is Point
    ('example.point', True)
    """

    def decorate(cls: _Class) -> _Class:
        register(cls, name=name)
        return cls

    return decorate


def register(cls: type[Any], *, name: str) -> None:
    """Let files hold a class under a name, which must be its own for ever.

    >>> register(dict, name="dict")
    Traceback (most recent call last):
        ...
    TypeError: dict must be a dataclass, with @saved above @dataclass, or have the hooks of \
SavedByHooks
    """
    if "__dataclass_fields__" not in vars(cls) and not hasattr(cls, "_saved_state"):
        raise TypeError(
            f"{cls.__name__} must be a dataclass, with @saved above @dataclass, or have the hooks "
            "of SavedByHooks"
        )
    other = _CLASSES.get(name, cls)
    # A module that is loaded again replaces its classes.
    if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"the name {name!r} must be of one class, got {cls} beside {other}")
    _CLASSES[name] = cls
    _NAMES[cls] = name


def class_named(name: str) -> type[Any] | None:
    """Return the class of a name; None where there is none."""
    return _CLASSES.get(name)


def name_of(cls: type[Any]) -> str | None:
    """Return the name of a class in files; None for others, subclasses of registered ones too."""
    return _NAMES.get(cls)


class Value:
    """Base of frozen dataclasses: equal where their fields are, whose pickles hold no caches.

    With ``dataclass(eq=False)`` fields may be arrays; there is no hash then.
    """

    def __getstate__(self) -> dict[str, Any]:
        return self._fields()

    def _fields(self) -> dict[str, Any]:
        cls: Any = type(self)
        return {field.name: getattr(self, field.name) for field in fields(cls) if field.init}

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Value) or type(other) is not type(self):
            return NotImplemented
        theirs = other._fields()
        return all(same(value, theirs[name]) for name, value in self._fields().items())

    __hash__ = None  # type: ignore[assignment]


def same(left: Any, right: Any) -> bool:
    """Tell whether two values are equal: in every entry and the dtype, if they are arrays.

    >>> same(np.array([1.0, 2.0]), np.array([1.0, 2.0])), same((1, 2), (1, 3))
    (True, False)
    """
    if type(left) is not type(right):
        return bool(left == right)
    if isinstance(left, sparse.csr_array):
        parts = [(side.indptr, side.indices, side.data) for side in (left, right)]
        return left.shape == right.shape and all(map(np.array_equal, *parts))
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and np.array_equal(left, right)
    return bool(left == right)
