"""Every byte flipped, every length cut, and thousands of forgeries under a right digest."""

import copy
import itertools
import sys
import time
import tracemalloc
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from file_bytes import file_of
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.errors import FormatError
from streamchi2.files import dumped, loaded
from streamchi2.files.container import packed, unpacked
from streamchi2.saving import Label, Params, saved


@saved("forged.map")
@dataclass(frozen=True)
class Map:
    beta: float
    nodes: NDArray[np.float64]
    squares: NDArray[np.float64] = field(init=False)

    def __post_init__(self):
        if self.beta <= 0.0:
            raise ValueError("beta must be positive")
        object.__setattr__(self, "squares", self.nodes**2)


@saved("forged.stream")
@dataclass
class Stream:
    n_rows: int
    kind: Literal["ridge", "lasso"]
    scatter: Annotated[NDArray[np.float64], "upper"]
    rows: tuple[NDArray[np.floating] | sparse.csr_array, ...]
    flags: NDArray[np.bool_]
    labels: dict[Label, int]
    params: Params
    maps: tuple[Map | None, ...]

    def check_state(self):
        if len(self.flags) != self.n_rows:
            raise ValueError("flags must be as many as rows")


@saved("forged.anything")
@dataclass
class Anything:
    content: Any


def stream():
    one = Map(0.5, np.array([0.1, 0.2]))
    params = {"columns": {"hog": slice(0, 9), "bow": range(9, 12)}, "weights": np.ones((2, 2))}
    labels = {"a": 0, 2**70: 1, np.nan: 2, b"c": 3, None: 4}
    flags = np.array([True, False, True])
    dense = np.asfortranarray([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]])
    rows = (dense, sparse.csr_array(dense))
    return Stream(3, "ridge", np.eye(3), rows, flags, labels, params, (one, None, one))


def test_every_flipped_byte_and_every_truncation_is_refused():
    original = dumped(stream())
    flips = np.random.default_rng(0).integers(1, 256, len(original))
    for position, flip in enumerate(flips):
        damaged = bytearray(original)
        damaged[position] ^= int(flip)
        for data in (bytes(damaged), original[:position]):
            with pytest.raises(FormatError):
                loaded(data)


def forged(tree, body=b""):
    """Return a file with a right digest."""
    return b"".join(packed(tree, [memoryview(body)]))


def parts(thing):
    tree, body = unpacked(dumped(thing))
    return tree, bytes(body)


def leaves(tree, path=()):
    """Yield the path of every value in a tree."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))


def replaced(tree, path, value):
    tree = copy.deepcopy(tree)
    inner = tree
    for key in path[:-1]:
        inner = inner[key]
    if value is KeyError:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return tree


NASTY = [
    KeyError, None, True, -1, 0, 2**40, 2**62, -1.5, 1e308, "x", "", [], [[]], {},
    {"same": 0}, {"same": -1}, {"same": 10**6}, {"same": True}, {"tuple": [1]}, {"tuple": 3},
    {"nothing": 5}, 10**30, float("nan"), {"bytes": "0g"}, {"bytes": 3}, {"slice": [1]},
    {"range": [0, 2**62, 1]}, {"range": [0, 1, 0]}, {"dict": [[[], 1]]}, {"dict": [[1, 1], [1, 2]]},
    {"array": ["<f8", [2**40, 2**40], "C"]}, {"array": ["<f8", [-1], "C"]},
    {"array": ["<f8", [1, 0], "K"]}, {"array": ["|O", [1], "C"]}, {"array": ["<f8", 3, "C"]},
    {"array": ["<U9", [1], "C"]}, {"array": [["<f8"], [1], "C"]}, {"array": ["<f8", ["1"], "C"]},
    {"csr": [[], [], [], 3]}, {"triangle": ["upper", "C", 3]}, {"class": "forged.map"},
    {"class": ["forged.map"]}, {"class": "os.system"}, {"class": "forged.anything", "content": 1},
]  # fmt: skip


def test_forged_headers_are_refused_or_load_to_something_that_can_be_saved():
    tree, body = parts(stream())
    n_refused = n_loaded = 0
    for path, value in itertools.product(leaves(tree), NASTY):
        try:
            dumped(loaded(forged(replaced(tree, path, value), body)))
            n_loaded += 1
        except FormatError:
            n_refused += 1
    assert n_refused > 5 * n_loaded


def test_forged_bytes_of_arrays_are_refused_or_load_to_something_that_can_be_saved():
    tree, body = parts(stream())
    random = np.random.default_rng(0)
    n_refused = 0
    for _ in range(700):
        changed = bytearray(body)
        for place in random.integers(len(body), size=random.integers(1, 4)):
            changed[place] = random.choice([0, 1, 2, 127, 128, 240, 255])
        try:
            dumped(loaded(forged(tree, bytes(changed))))
        except FormatError:
            n_refused += 1
    assert n_refused > 35
    for wrong in (body[:-1], body + b"\0", b""):
        with pytest.raises(FormatError):
            loaded(forged(tree, wrong))


def array(dtype, *shape):
    return {"array": [dtype, list(shape), "C"]}


def csr(columns, ends, width, data=None, index="<i4"):
    """Return sparse rows of ones, and their bytes."""
    parts = [
        data or array("<f8", len(columns)),
        array(index, len(columns)),
        array("<i4", len(ends)),
    ]
    ones = np.ones(0 if data else len(columns))
    bodies = ones, np.array(columns, index), np.array(ends, np.int32)
    return {"csr": [*parts, width]}, b"".join(body.tobytes() for body in bodies)


REFUSED = {
    "matrix": (array("<f8", 2**20, 2**20), b"", "buffer is too small"),
    "overflow": (array("<f8", 2**62, 2**62), b"", "too big"),
    "empty": (array("<f8", 0, 2**40), b"", "sides up to"),
    "many sides": (array("<f8", *[1] * 1000), bytes(8), "dimension"),
    "flags": (array("|b1", 2), b"\1\2", "true and false"),
    "objects": (array("|O", 1), bytes(8), "dtype"),
    "longdouble": (array("<f16", 1), bytes(16), "dtype"),
    "long ends": ({"csr": [array("<f8", 0), array("<i8", 0), array("<i8", 2**40), 3]}, b"",
        "small"),
    "column": (*csr([3], [0, 1], 3), "no valid csr"),
    "negative column": (*csr([-1], [0, 1], 3), "no valid csr"),
    "descending": (*csr([0, 1], [0, 2, 1, 2], 3), "no valid csr"),
    "no ends": (*csr([], [], 3), "no valid csr"),
    "fractions": (*csr([0], [0, 1], 3, index="<f4"), "whole numbers"),
    "wide": (*csr([], [0], 2**63), "whole numbers"),
    "values": (*csr([0], [0, 1], 3, data={"range": [0, 2**62, 1]}), "no valid csr"),
    "triangle": ({"triangle": ["upper", "C", array("<f8", 2**40)]}, b"", "small"),
    "keys": ({"dict": [[1, 2], [1, 3]]}, b"", "distinct keys"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "body", "message"), REFUSED.values(), ids=REFUSED)
def test_nothing_is_allocated_for_a_size_that_is_only_claimed(content, body, message):
    data = forged({"class": "forged.anything", "content": content}, body)
    tracemalloc.start()
    start = time.process_time()
    with pytest.raises(FormatError, match=message):
        loaded(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000 + 3 * len(data)
    assert time.process_time() - start < 2.0


def test_a_file_nested_to_the_limit_of_the_stack_is_refused():
    text = b'{"tuple":[' * 5000 + b"]}" * 5000
    header = b'{"class":"forged.anything","content":' + text + b"}"
    with pytest.raises(FormatError, match=r"nested|cannot be read"):
        loaded(file_of(header))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("n_rows",), 4, "the object is no valid Stream: flags must be as many as rows"),
        (("n_rows",), 3.0, "n_rows must be int, got 3.0"),
        (("kind",), "Ridge", "kind must be .*Literal.*, got 'Ridge'"),
        (("maps", "tuple", 0, "beta"), -1.0, r"maps\.0 is no valid Map: beta must be positive"),
        (("maps", "tuple", 0, "beta"), float("inf"), "beta must have finite numbers, got inf"),
        (("maps", "tuple", 2), {"same": 0}, r"maps\.2 is no valid same: must be .* frozen"),
        (("maps", "tuple", 2), {"same": -1}, r"maps\.2 is no valid same: must be .* frozen"),
        (("class",), "forged.streams", "got 'forged.streams'; another version of streamchi2 may"),
        (("params",), KeyError, "must have the fields of Stream and no others, got params"),
    ],
)
def test_the_message_names_the_field_and_the_rule(path, value, message):
    tree, body = parts(stream())
    with pytest.raises(FormatError, match=message):
        loaded(forged(replaced(tree, path, value), body))


def test_only_an_object_is_a_content():
    for tree in (None, [1, 2], 1.5):
        with pytest.raises(FormatError, match="the content must"):
            loaded(forged(tree))


def test_only_a_file_of_river_imports_river(monkeypatch):
    monkeypatch.setitem(sys.modules, "streamchi2.river", None)  # an import would fail
    loaded(dumped(stream()))
    with pytest.raises(ImportError):
        loaded(forged({"class": "river.ExpChi2Classifier"}))
