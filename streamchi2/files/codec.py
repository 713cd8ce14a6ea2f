"""Objects as JSON and the bytes of arrays, and back; classes are declared in ``streamchi2.saving``.

JSON says by itself what it stands for: numbers, text, true, false, null and lists are themselves,
and everything else is an object with one name, such as ``{"tuple": [1, 2]}``. Annotations decide
nothing here, they are checked: what is saved before it is written, what is read before it reaches
a constructor. Arrays stand in the order of their bytes. Nothing in a file is imported or called.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Literal, NoReturn, get_type_hints

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.errors import FormatError
from streamchi2.files.annotations import DTYPES, rule_of
from streamchi2.files.container import Json
from streamchi2.saving import class_named, name_of

_NON_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
# An empty array can have any shape, and a constructor may believe it; others have their bytes.
_LONGEST_EMPTY = 1 << 24
# What constructors may raise at values that their annotations admit.
_WRONG = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, Warning)


def encoded(thing: Any) -> tuple[Json, list[memoryview]]:
    """Return an object of a registered class as JSON and the bytes of its arrays, all copied."""
    encoder = _Encoder()
    return encoder.thing(thing), encoder.arrays


def decoded(tree: Json, body: memoryview) -> Any:
    """Return the object of which ``tree`` and ``body`` are what :func:`encoded` made, or refuse."""
    decoder = _Decoder(body)
    try:
        thing = decoder.value(tree)
    except RecursionError:
        raise FormatError("the content is nested more deeply than objects are") from None
    if name_of(type(thing)) is None:
        raise FormatError(f"the content must be an object of streamchi2, got {_shown(thing)}")
    if decoder.start != len(body):
        raise FormatError(f"arrays have {len(body)} bytes, of which {decoder.start} are used")
    return thing


class _Way:
    """A way through an object: its path says where something was refused."""

    def __init__(self) -> None:
        self.path: list[str] = []

    def refuse(self, rule: str, error: type[Exception] = FormatError) -> NoReturn:
        raise error(f"{'.'.join(self.path) or 'the object'} {rule}")

    def each(self, visit: Callable[..., Any], items: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Visit parts, each of which begins with its name."""
        results = []
        for name, *part in items:
            self.path.append(name)
            results.append(visit(*part))
            self.path.pop()  # after an error the path still says where
        return results

    def check(self, value: Any, hint: Any) -> None:
        """Refuse a value that its annotation does not admit."""
        rule = rule_of(hint)
        if not rule(value, True):
            name = hint.__name__ if hint in (int, float, bool, str) else hint
            must = "have finite numbers" if rule(value, False) else f"be {name}"
            self.refuse(f"must {must}, got {_shown(value)}")

    def check_state(self, thing: Any) -> None:
        """Let an object check that its fields agree, if it can."""
        try:
            getattr(thing, "check_state", bool)()
        except _WRONG as error:
            self.refuse(f"is no valid {type(thing).__name__}: {error}")


class _Encoder(_Way):
    def __init__(self) -> None:
        super().__init__()
        self.arrays: list[memoryview] = []
        # By address; kept alive here, so that no other object gets the same one meanwhile.
        self.things: dict[int, tuple[int, Any]] = {}

    def value(self, value: Any) -> Json:
        """Return JSON for a value of any kind."""
        if isinstance(value, np.generic):
            value = value.item()
        elif isinstance(value, np.ndarray):
            value = np.asarray(value)  # one that maps a file, say
        write = _WRITERS.get(type(value))
        if write is None:
            write = _Encoder.thing if name_of(type(value)) else _Encoder.other
        return write(self, value)

    def number(self, value: Any) -> Json:
        return value if math.isfinite(value) else {"float": repr(value)}

    def items(self, values: Any) -> Json:
        return self.each(self.value, ((str(i), value) for i, value in enumerate(values)))

    def mapping(self, values: Any) -> Json:
        steps = (_shown(key).strip("'") for key in values)
        pairs = zip(steps, values.items(), strict=True)
        return {"dict": self.each(lambda pair: [*map(self.value, pair)], pairs)}

    def other(self, value: Any) -> Json:
        """Return JSON for what is close to a kind that files hold, and comes back as that."""
        if isinstance(value, Mapping):
            return self.mapping(value)
        if sparse.issparse(value):
            return self.csr(sparse.csr_array(value))
        if hasattr(value, "tolist"):
            return self.value(value.tolist())
        return self.refuse(_way_out(value), TypeError)

    def array(self, value: NDArray[Any]) -> Json:
        dtype, order = value.dtype.newbyteorder("<"), _order(value)
        if dtype.str not in DTYPES:
            return self.other(value)  # text becomes a list
        stored = np.array(value, dtype, order=order)
        self.arrays.append(stored.ravel(order=order).view(np.uint8).data)
        return {"array": [dtype.str, list(value.shape), order]}

    def csr(self, rows: sparse.csr_array) -> Json:
        # One width of index for equal rows, whichever way they came about.
        index = np.int64 if max(*rows.shape, rows.nnz) >= 2**31 else np.int32
        parts = (rows.data, rows.indices.astype(index), rows.indptr.astype(index))
        return {"csr": [*map(self.array, parts), int(rows.shape[1])]}

    def thing(self, thing: Any) -> Json:
        """Return JSON for an object of a registered class."""
        cls: Any = type(thing)
        name = name_of(cls)
        if name is None:
            self.refuse(_way_out(thing), TypeError)
        if id(thing) in self.things:
            if not _is_frozen(cls):
                self.refuse(f"is a {cls.__name__} held twice, which would become two", TypeError)
            return {"same": self.things[id(thing)][0]}
        self.things[id(thing)] = (len(self.things), thing)
        hints, state = saved_fields(cls), _state(thing)
        parts = self.each(self.field, ((name, state[name], hints[name]) for name in hints))
        self.check_state(thing)
        return {"class": name, **dict(zip(hints, parts, strict=True))}

    def field(self, value: Any, hint: Any) -> Json:
        side = next(iter({"upper", "lower"}.intersection(getattr(hint, "__metadata__", ()))), None)
        if side is None or not isinstance(value, np.ndarray):
            self.check(value, hint)
            return self.value(value)
        if value.ndim != 2 or value.shape[0] != value.shape[1]:
            self.refuse(f"must be a square matrix, got {_shown(value)}")
        # The other triangle holds whatever products have left there.
        packed = value[_triangle(side, len(value))]
        self.check(packed, hint)
        return {"triangle": [side, _order(value), self.array(packed)]}


class _Decoder(_Way):
    def __init__(self, body: memoryview) -> None:
        super().__init__()
        self.body = body
        self.start = 0  # of the next array
        self.things: list[Any] = []

    def value(self, tree: Json) -> Any:
        """Return the value that JSON stands for."""
        if isinstance(tree, list):
            return [self.value(item) for item in tree]
        if not isinstance(tree, dict):
            return tree
        if "class" in tree:
            return self.thing(tree)
        kind, content = next(iter(tree.items()), ("nothing", None))
        read = _READERS.get(kind) if len(tree) == 1 else None
        if read is None:
            self.refuse(f"must be of a kind that files hold, got {_shown(kind)}")
        try:
            return read(self, content)
        except FormatError:
            raise
        except _WRONG as error:
            self.refuse(f"is no valid {kind}: {str(error)[:80]}")

    def mapping(self, pairs: Json) -> dict[Any, Any]:
        values = {self.value(key): self.value(value) for key, value in pairs}
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

    def csr(self, content: Json) -> sparse.csr_array:
        """Return sparse rows that point to nowhere beyond their bytes."""
        *parts, width = map(self.value, content)
        data, indices, indptr = parts
        # Of arrays only: scipy would make some of a range, say, of any length.
        kinds = [part.dtype.kind for part in parts]
        if kinds[1:] != ["i", "i"] or not 0 <= width < 2**63:
            raise ValueError("must have whole numbers for columns, row ends and width")
        rows = sparse.csr_array((data, indices, indptr), shape=(indptr.size - 1, width))
        rows.check_format(full_check=True)
        return rows

    def triangle(self, content: Json) -> NDArray[Any]:
        side, order, tree = content
        packed = self.value(tree)
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

    def thing(self, tree: dict[str, Json]) -> Any:
        """Return an object of a registered class."""
        name = tree["class"]
        cls: Any = class_named(name) if isinstance(name, str) else None
        if cls is None:
            self.refuse(
                f"must be of a class that files hold, got {_shown(name)}; another version of "
                "streamchi2 may know it"
            )
        hints = saved_fields(cls)
        if tree.keys() != {"class", *hints}:
            strange = ", ".join(sorted(tree.keys() ^ {"class", *hints}))[:80]
            self.refuse(f"must have the fields of {cls.__name__} and no others, got {strange}")
        number = len(self.things)
        self.things.append(None)
        parts = self.each(self.field, ((name, tree[name], hints[name]) for name in hints))
        state = dict(zip(hints, parts, strict=True))
        try:
            thing = cls._from_saved(state) if hasattr(cls, "_from_saved") else cls(**state)
        except _WRONG as error:
            self.refuse(f"is no valid {cls.__name__}: {error}")
        self.check_state(thing)
        self.things[number] = thing
        return thing

    def field(self, tree: Json, hint: Any) -> Any:
        value = self.value(tree)
        self.check(value, hint)
        return value


_WRITERS: dict[type[Any], Callable[[_Encoder, Any], Json]] = {
    **dict.fromkeys((bool, str, types.NoneType), lambda _, value: value),
    # Hexadecimal digits take time by their number, decimal ones by its square.
    int: lambda _, value: value if abs(value) < 2**63 else {"int": hex(value)},
    float: _Encoder.number,
    bytes: lambda _, value: {"bytes": value.hex()},
    list: _Encoder.items,
    tuple: lambda self, value: {"tuple": self.items(value)},
    range: lambda self, value: {"range": self.items((value.start, value.stop, value.step))},
    slice: lambda self, value: {"slice": self.items((value.start, value.stop, value.step))},
    dict: _Encoder.mapping,
    np.ndarray: _Encoder.array,
    sparse.csr_array: _Encoder.csr,
}
_READERS: dict[str, Callable[[_Decoder, Json], Any]] = {
    "int": lambda _, text: int(text, 16),
    "float": lambda _, text: _NON_FINITE[text],
    "bytes": lambda _, text: bytes.fromhex(text),
    "tuple": lambda self, items: tuple(self.value(item) for item in items),
    "range": lambda _, ends: range(*ends),
    "slice": lambda self, ends: slice(*map(self.value, ends)),
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


def _state(thing: Any) -> dict[str, Any]:
    cls: Any = type(thing)
    if hasattr(cls, "_saved_state"):
        return dict(thing._saved_state())
    return {name: getattr(thing, name) for name in saved_fields(cls)}


def _triangle(side: str, width: int) -> NDArray[np.bool_]:
    """Return which entries of a square matrix are in one triangle, the diagonal included."""
    lower = np.tri(width, dtype=np.bool_)
    return lower if side == "lower" else lower.T


def _order(array: NDArray[Any]) -> Literal["C", "F"]:
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def _is_frozen(cls: type[Any]) -> bool:
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
