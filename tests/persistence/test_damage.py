"""Every byte flipped, every length cut, and thousands of forgeries under a right digest."""

import copy
import itertools
import tracemalloc

import numpy as np
import pytest
from saved_examples import CODES, PARTS, estimator_after, learn

from streamchi2 import river
from streamchi2.errors import FormatError
from streamchi2.persistence import dumped, loaded
from streamchi2.persistence.container import packed, unpacked

SMALL = {
    "histogram": PARTS["weighted histogram"](),
    "classifier": estimator_after("fading classifier", 5),
    "ridge": estimator_after("ridge", 3),
    "sampler": estimator_after("gaussian sampler", 70),
    "river classifier": learn(river.ExpChi2Classifier(3), CODES, 0, 5),
}


def verdict(data, original):
    """Tell whether bytes are refused or load to an equal object; anything else is an error."""
    try:
        twin = loaded(data)
    except FormatError:
        return "refused"
    assert dumped(twin) == original
    return "equal"


@pytest.mark.parametrize("name", SMALL)
def test_every_flipped_byte_and_every_truncation_is_refused(name):
    original = dumped(SMALL[name])
    tracemalloc.start()
    flips = np.random.default_rng(0).integers(1, 256, len(original))
    verdicts = {"refused": 0, "equal": 0}
    for position, flip in enumerate(flips):
        damaged = bytearray(original)
        damaged[position] ^= int(flip)
        verdicts[verdict(bytes(damaged), original)] += 1
    for length in range(len(original)):
        verdicts[verdict(original[:length], original)] += 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert verdicts == {"refused": 2 * len(original), "equal": 0}
    assert peak < 20_000_000


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


NASTY = [KeyError, None, True, -1, 0, 2**40, 10**400, -1.5, 1e308, "x", [], {}]


@pytest.mark.parametrize("name", SMALL)
def test_forged_headers_are_refused_or_load_to_something_that_can_be_saved(name):
    header, arrays = unpacked(dumped(SMALL[name]))
    n_refused = n_loaded = 0
    for path, value in itertools.product(leaves(header), NASTY):
        data = b"".join(packed(replaced(header, path, value), arrays))
        try:
            dumped(loaded(data))
            n_loaded += 1
        except FormatError:
            n_refused += 1
    assert n_refused > 2 * n_loaded


@pytest.mark.parametrize("name", SMALL)
def test_forged_arrays_are_refused_or_load_to_something_that_can_be_saved(name):
    header, arrays = unpacked(dumped(SMALL[name]))
    n_refused = 0
    for number, array in enumerate(arrays):
        for forged in forgeries(array):
            changed = [*arrays[:number], forged, *arrays[number + 1 :]]
            try:
                dumped(loaded(b"".join(packed(header, changed))))
            except FormatError:
                n_refused += 1
    assert n_refused > 5 * len(arrays)


def forgeries(array):
    yield from (array[:0], array[:-1], np.concatenate([array, array]), array[None][..., :0])
    yield array.reshape(1, -1) if array.ndim == 1 else array.ravel()
    yield np.array(["words"] * array.size)
    if array.dtype.kind in "iuf" and array.size:
        values = [-1, 0, 1] if array.dtype.kind == "u" else [-1, 0, np.iinfo(np.int32).max]
        values += [np.nan, np.inf, -np.inf, 1e300] if array.dtype.kind == "f" else []
        for place, value in itertools.product((0, -1), values):
            forged = array.copy()
            with np.errstate(all="ignore"):
                forged.flat[place] = np.array(value).astype(array.dtype)
            yield forged
        yield array.astype(np.float32)
        yield array[::-1].copy()


def test_the_message_names_the_field():
    header, arrays = unpacked(dumped(PARTS["stream of numbers"]()))
    arrays = [array[::-1] for array in arrays]
    header["object"]["statistics"]["labelled"]["features"]["weight"] = -1.0
    with pytest.raises(FormatError, match=r"statistics\.labelled\.features\.weight must be"):
        loaded(b"".join(packed(header, arrays)))


def test_sparse_rows_that_point_beyond_their_columns_are_refused():
    reservoir = PARTS["reservoir"]()
    header, arrays = unpacked(dumped(reservoir))
    columns = next(i for i, array in enumerate(arrays) if array.dtype == np.int32)
    for wrong in (-1, 5, 2**31 - 1):
        forged = [array.copy() for array in arrays]
        forged[columns][0] = wrong
        with pytest.raises(FormatError, match="columns"):
            loaded(b"".join(packed(header, forged)))


@pytest.mark.parametrize(("kind", "bad", "width"), [("U", 0x110000, np.uint32), ("b", 2, np.uint8)])
def test_invalid_characters_and_booleans_are_refused(kind, bad, width):
    header, arrays = unpacked(dumped(PARTS["stream of labels"]()))
    place = next(i for i, array in enumerate(arrays) if array.dtype.kind == kind)
    raw = np.frombuffer(arrays[place].tobytes(), width).copy()
    raw[-1] = bad
    forged = np.frombuffer(raw.tobytes(), arrays[place].dtype)
    with pytest.raises(FormatError, match="must hold"):
        loaded(b"".join(packed(header, [*arrays[:place], forged, *arrays[place + 1 :]])))
