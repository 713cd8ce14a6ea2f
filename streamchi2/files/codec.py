"""Objects as JSON and the bytes of arrays, and back; classes are declared in ``streamchi2.saving``.

JSON says by itself what it stands for: numbers, text, true, false, null and lists are themselves,
and everything else is an object with one name, such as ``{"tuple": [1, 2]}``. Annotations decide
nothing here, they are checked: what is saved before it is written, what is read before it reaches
a constructor. Arrays stand in the order of their bytes. Nothing in a file is imported or called.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Literal, NoReturn, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.errors import FormatError
from streamchi2.files.annotations import DTYPES, admits
from streamchi2.files.container import Json
from streamchi2.saving import class_named, name_of

# An empty array can have any shape, and a constructor may believe it; others have their bytes.
_LONGEST_EMPTY = 1 << 24
# What constructors may raise at values that their annotations admit.
_WRONG = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, Warning)


def encoded(thing: Any) -> tuple[Json, list[memoryview]]:
    """Return an object of a registered class as JSON and the bytes of its arrays, all copied."""
    encoder = _Encoder()
    return encoder.thing(thing, ""), encoder.arrays


def decoded(tree: Json, body: memoryview) -> Any:
    """Return the object of which ``tree`` and ``body`` are what :func:`encoded` made, or refuse."""
    decoder = _Decoder(body)
    try:
        thing = decoder.value(tree, "")
    except RecursionError:
        raise FormatError("the content is nested more deeply than objects are") from None
    if name_of(type(thing)) is None:
        raise FormatError(f"the content must be an object of streamchi2, got {_shown(thing)}")
    if decoder.start != len(body):
        raise FormatError(f"arrays have {len(body)} bytes, of which {decoder.start} are used")
    return thing


class _Encoder:
    """Writer of one object; a path, such as ".stream.params", says where something is refused."""

    def __init__(self) -> None:
        self.arrays: list[memoryview] = []
        # By address; kept alive here, so that no other object gets the same one meanwhile.
        self.things: dict[int, tuple[int, Any]] = {}

    def value(self, value: Any, path: str) -> Json:  # noqa: PLR0911  # a kind a line
        """Return JSON for a value; what is close to a kind that files hold comes back as that."""
        if name_of(type(value)) is not None:
            return self.thing(value, path)
        match value:
            case None | bool() | int() | float() | str():
                return value.item() if isinstance(value, np.generic) else value
            case bytes():
                return {"bytes": value.hex()}
            case list():
                return [self.value(item, f"{path}.{i}") for i, item in enumerate(value)]
            case tuple():
                return {"tuple": self.value(list(value), path)}
            case range() | slice():
                ends = [value.start, value.stop, value.step]
                return {type(value).__name__: self.value(ends, path)}
            case Mapping():
                pairs = [(key, f"{path}.{key!s:.80}") for key in value]
                return {"dict": [[self.value(k, at), self.value(value[k], at)] for k, at in pairs]}
            case np.ndarray() if value.dtype.newbyteorder("<").str in DTYPES:
                return self.array(value)
            case _ if sparse.issparse(value):
                return self.csr(sparse.csr_array(value))
            case _ if hasattr(value, "tolist"):  # text becomes a list
                return self.value(value.tolist(), path)
        return _refuse(path, _way_out(value), TypeError)

    def array(self, value: NDArray[Any]) -> Json:
        dtype, order = value.dtype.newbyteorder("<"), _order(value)
        stored = np.array(value, dtype, order=order)
        self.arrays.append(stored.ravel(order=order).view(np.uint8).data)
        return {"array": [dtype.str, list(value.shape), order]}

    def csr(self, rows: sparse.csr_array) -> Json:
        # One width of index for equal rows, whichever way they came about.
        index = np.int64 if max(*rows.shape, rows.nnz) >= 2**31 else np.int32
        parts = (rows.data, rows.indices.astype(index), rows.indptr.astype(index))
        return {"csr": [*map(self.array, parts), int(rows.shape[1])]}

    def thing(self, thing: Any, path: str) -> Json:
        """Return JSON for an object of a registered class."""
        cls: Any = type(thing)
        if name_of(cls) is None:
            _refuse(path, _way_out(thing), TypeError)
        if id(thing) in self.things:
            if not _is_frozen(cls):
                rule = f"is a {cls.__name__} held twice, which would become two"
                _refuse(path, rule, TypeError)
            return {"same": self.things[id(thing)][0]}
        self.things[id(thing)] = (len(self.things), thing)
        state = thing._saved_state() if hasattr(thing, "_saved_state") else vars(thing)
        tree = {"class": name_of(cls)}
        for name, hint in saved_fields(cls).items():
            tree[name] = self.field(state[name], hint, f"{path}.{name}")
        _check_state(thing, path)
        return tree

    def field(self, value: Any, hint: Any, path: str) -> Json:
        markers = getattr(hint, "__metadata__", ())
        side = next((marker for marker in markers if marker in ("upper", "lower")), None)
        if side is None or not isinstance(value, np.ndarray):
            _check(value, hint, path)
            return self.value(value, path)
        if value.ndim != 2 or value.shape[0] != value.shape[1]:
            _refuse(path, f"must be a square matrix, got {_shown(value)}")
        # The other triangle holds whatever products have left there.
        packed = value[_triangle(side, len(value))]
        _check(packed, hint, path)
        return {"triangle": [side, _order(value), self.array(packed)]}


class _Decoder:
    """Reader of one object, which takes the bytes of arrays as they come."""

    def __init__(self, body: memoryview) -> None:
        self.body = body
        self.start = 0  # of the next array
        self.things: list[Any] = []

    def value(self, tree: Json, path: str) -> Any:
        """Return the value that JSON stands for."""
        if isinstance(tree, list):
            return [self.value(item, f"{path}.{i}") for i, item in enumerate(tree)]
        if not isinstance(tree, dict):
            return tree
        if "class" in tree:
            return self.thing(tree, path)
        kind, content = next(iter(tree.items()), ("nothing", None))
        if kind not in _READERS or len(tree) > 1:
            _refuse(path, f"must be of a kind that files hold, got {_shown(kind)}")
        if isinstance(content, list) and kind != "array":
            content = self.value(content, path)
        try:
            return _READERS[kind](self, content)
        except _WRONG as error:
            return _refuse(path, f"is no valid {kind}: {str(error)[:80]}")

    def mapping(self, pairs: Any) -> dict[Any, Any]:
        values = {key: value for key, value in pairs}  # noqa: C416  # dict() unrolls a range
        if len(values) != len(pairs):
            raise ValueError("must have distinct keys")
        return values

    def array(self, content: Json) -> NDArray[Any]:
        """Return a writable copy of the next array, of which the bytes must be there."""
        name, shape, order = content
        if name not in DTYPES or order not in ("C", "F"):
            raise ValueError("must have a dtype and an order that files hold")
        # numpy compares dtype and shape with the bytes; nothing is allocated for it.
        stored = np.ndarray(shape, name, self.body, offset=self.start, order=order)
        if not stored.size and max(shape) > _LONGEST_EMPTY:
            raise ValueError(f"must have sides up to {_LONGEST_EMPTY} to be empty")
        if name == "|b1" and stored.view(np.uint8).max(initial=0) > 1:
            raise ValueError("must hold true and false as 1 and 0")
        self.start += stored.nbytes
        return np.array(stored, stored.dtype.newbyteorder("="))

    def csr(self, content: Any) -> sparse.csr_array:
        """Return sparse rows that point to nowhere beyond their bytes."""
        data, indices, indptr, width = content
        # Of arrays only: scipy would make some of a range, say, of any length.
        kinds = [part.dtype.kind for part in (data, indices, indptr)]
        if kinds[1:] != ["i", "i"] or not 0 <= width < 2**63:
            raise ValueError("must have whole numbers for columns, row ends and width")
        rows = sparse.csr_array((data, indices, indptr), shape=(indptr.size - 1, width))
        rows.check_format(full_check=True)
        return rows

    def triangle(self, content: Any) -> NDArray[Any]:
        side, order, packed = content
        width = (math.isqrt(8 * packed.size + 1) - 1) // 2
        square = np.zeros((width, width), packed.dtype, order)
        square[_triangle(side, width)] = packed
        return square

    def same(self, number: Json) -> Any:
        """Return a frozen object that came before."""
        thing = self.things[number] if type(number) is int and number >= 0 else None
        if not _is_frozen(type(thing)):
            raise ValueError("must be the number of a frozen object before this one")
        return thing

    def thing(self, tree: dict[str, Json], path: str) -> Any:
        """Return an object of a registered class."""
        name = tree["class"]
        cls: Any = class_named(name) if isinstance(name, str) else None
        if cls is None:
            rule = f"must be of a class that files hold, got {_shown(name)}"
            _refuse(path, f"{rule}; another version of streamchi2 may know it")
        hints = saved_fields(cls)
        if tree.keys() != {"class", *hints}:
            strange = ", ".join(sorted(tree.keys() ^ {"class", *hints}))[:80]
            _refuse(path, f"must have the fields of {cls.__name__} and no others, got {strange}")
        number = len(self.things)
        self.things.append(None)
        state = {}
        for name, hint in hints.items():
            state[name] = self.value(tree[name], f"{path}.{name}")
            _check(state[name], hint, f"{path}.{name}")
        try:
            thing = cls._from_saved(state) if hasattr(cls, "_from_saved") else cls(**state)
        except _WRONG as error:
            _refuse(path, f"is no valid {cls.__name__}: {error}")
        _check_state(thing, path)
        self.things[number] = thing
        return thing


_READERS: dict[str, Callable[[_Decoder, Any], Any]] = {
    "bytes": lambda _, text: bytes.fromhex(text),
    "tuple": lambda _, items: tuple(items),
    "range": lambda _, ends: range(*ends),
    "slice": lambda _, ends: slice(*ends),
    "dict": _Decoder.mapping,
    "array": _Decoder.array,
    "csr": _Decoder.csr,
    "triangle": _Decoder.triangle,
    "same": _Decoder.same,
}


@cache
def saved_fields(cls: Any) -> Mapping[str, Any]:
    """Return the fields of a class that are saved, with their annotations."""
    if hasattr(cls, "_saved_fields"):
        return dict(cls._saved_fields)
    hints = get_type_hints(cls, include_extras=True)
    return {field.name: hints[field.name] for field in fields(cls) if field.init}


def _refuse(path: str, rule: str, error: type[Exception] = FormatError) -> NoReturn:
    raise error(f"{path[1:] or 'the object'} {rule}")


def _check(value: Any, hint: Any, path: str) -> None:
    """Refuse a value that its annotation does not admit."""
    if not admits(hint, value):
        name = hint.__name__ if hint in (int, float, bool, str) else hint
        must = "have finite numbers" if admits(hint, value, finite=False) else f"be {name}"
        _refuse(path, f"must {must}, got {_shown(value)}")


def _check_state(thing: Any, path: str) -> None:
    """Let an object check that its fields agree, if it can."""
    try:
        getattr(thing, "check_state", bool)()
    except _WRONG as error:
        _refuse(path, f"is no valid {type(thing).__name__}: {error}")


def _triangle(side: str, width: int) -> NDArray[np.bool_]:
    """Return which entries of a square matrix are in one triangle, the diagonal included."""
    lower = np.tri(width, dtype=np.bool_)
    return lower if side == "lower" else lower.T


def _order(array: NDArray[Any]) -> Literal["C", "F"]:
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def _is_frozen(cls: Any) -> bool:
    return hasattr(cls, "__dataclass_params__") and bool(cls.__dataclass_params__.frozen)


def _shown(value: Any) -> str:
    """Return a value in few characters, for messages."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} of shape {value.shape}"
    if isinstance(value, bool | float | str) or (type(value) is int and abs(value) < 2**64):
        return repr(value)[:80]
    return f"a {type(value).__name__}"


def _way_out(value: Any) -> str:
    """Return why a value cannot be saved, and what can be done about it."""
    kind = type(value)
    return (
        f"cannot be saved, got a {kind.__name__} of {kind.__module__}: files hold estimators of "
        "streamchi2 with numbers, text, lists, dicts and arrays as parameters. Of a random "
        "generator set_params(random_state=None) keeps the seed that was drawn; of a callable "
        "set_params(descriptors=model.descriptor_columns_) keeps the columns; else pickle may do"
    )
