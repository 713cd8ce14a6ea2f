"""load(save(x)) is x: for every annotation, every kind of value, and objects within objects."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, is_dataclass, make_dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.errors import FormatError
from streamchi2.files import dumped, loaded, save
from streamchi2.saving import Label, Params, register, saved


@saved("test.box")
@dataclass
class Box:
    """One field that takes everything; the tests of annotations have classes of their own."""

    content: Any


class Shape:
    """A base class that is not in files itself."""


@saved("test.circle")
@dataclass(frozen=True)
class Circle(Shape):
    radius: float
    area: float = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "area", math.pi * self.radius**2)

    def check_state(self):
        if self.radius < 0.0:
            raise ValueError("radius must not be negative")


@saved("test.square")
@dataclass
class Square(Shape):
    side: float
    cache: Any = field(default=None, init=False)

    @cached_property
    def area(self):
        return self.side**2


def arrays(dtype, elements=None):
    shapes = npst.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=4)
    return npst.arrays(dtype, shapes, elements=elements)


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
DOUBLES = arrays(np.float64, FLOATS)
SINGLES = arrays(np.float32, st.floats(0, 1, width=32))
LABELS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.just(2**70)
)
SPARSE = arrays(np.float32, st.sampled_from([0.0, 0.0, 1.5])).map(
    lambda dense: sparse.csr_array(np.atleast_2d(dense))
)
SHAPES = st.one_of(st.builds(Circle, st.floats(0, 9)), st.builds(Square, st.integers(0, 9)))
PARAMS = st.recursive(
    LABELS | DOUBLES | SPARSE | st.just(slice(1, None, 2)) | st.just(range(3, 9, 2)),
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)
# Every annotation that the codec knows, with what it admits.
ANNOTATED = [
    (int, st.integers()),
    (float, FLOATS),
    (Annotated[float, "any"], st.floats()),
    (bool, st.booleans()),
    (str, st.text()),
    (bytes, st.binary()),
    (Literal["ridge", "lasso"] | None, st.sampled_from(["ridge", "lasso", None])),
    (NDArray[np.float64], DOUBLES),
    (Annotated[NDArray[np.float64], "any"], arrays(np.float64)),
    (NDArray[np.floating], DOUBLES | SINGLES),
    (NDArray[np.int64 | np.uint64], arrays(np.int64) | arrays(np.uint64)),
    (NDArray[np.bool_], arrays(np.bool_)),
    (NDArray[np.uint8 | np.int8] | None, st.none() | arrays(np.uint8) | arrays(np.int8)),
    (NDArray[np.intp], arrays(np.intp)),
    (NDArray[np.floating] | sparse.csr_array, DOUBLES | SPARSE),
    (tuple[int, ...], st.lists(st.integers()).map(tuple)),
    (tuple[str, float | None], st.tuples(st.text(), st.none() | FLOATS)),
    (list[str], st.lists(st.text())),
    (range | tuple[int, ...], st.just(range(2, 7)) | st.just((5, 3))),
    (dict[str, NDArray[np.float32]], st.dictionaries(st.text(), SINGLES, max_size=2)),
    (list[Label], st.lists(LABELS)),
    (dict[Label, int], st.dictionaries(LABELS, st.integers())),
    (Params, st.dictionaries(st.text(), PARAMS, max_size=3)),
    (Shape, SHAPES),
    (tuple[Shape, ...] | None, st.none() | st.tuples(SHAPES, SHAPES)),
]
Everything = make_dataclass(
    "Everything", [(f"f{i}", hint) for i, (hint, _) in enumerate(ANNOTATED)]
)
register(Everything, name="test.everything")


def assert_same(left, right):
    """Compare values and their types, arrays with their order, floats by their bits."""
    assert type(left) is type(right)
    match left:
        case np.ndarray():
            assert (left.dtype, left.shape) == (right.dtype, right.shape)
            assert left.tobytes() == right.tobytes()
            if left.size > 1:
                assert left.flags.f_contiguous == right.flags.f_contiguous
            assert right.flags.writeable
            assert right.flags.owndata
        case sparse.csr_array():
            assert left.shape == right.shape
            assert (left != right).nnz == 0
        case float():
            assert repr(left) == repr(right)
        case list() | tuple():
            assert len(left) == len(right)
            for pair in zip(left, right, strict=True):
                assert_same(*pair)
        case dict():
            assert_same(list(left.items()), list(right.items()))
        case _ if is_dataclass(left):
            assert_same(vars(left), vars(right))
        case _:
            assert left == right


@given(st.builds(Everything, *(values for _, values in ANNOTATED)))
def test_every_annotation_comes_back_with_its_type(thing):
    data = dumped(thing)
    twin = loaded(data)
    assert_same(thing, twin)
    assert dumped(twin) == data


@pytest.mark.parametrize(("hint", "values"), ANNOTATED, ids=lambda part: str(part)[:40])
def test_what_an_annotation_does_not_admit_is_not_saved(hint, values):
    One = make_dataclass("One", [("value", hint)])
    register(One, name=f"test.one.{hint}")
    tuples = [(1, "x", 2), ("x",), ("x", 1.0, 2.0)]
    for wrong in (object(), np.zeros(1, np.int32), *tuples, {1: b"x"}, [{}], Box(1)):
        with pytest.raises((FormatError, TypeError), match=r"value (must|cannot)"):
            dumped(One(wrong))


@pytest.mark.parametrize(
    ("hint", "value", "message"),
    [
        (Mapping[str, int], {"a": 1}, "must not be annotated with .*Mapping"),
        (NDArray[np.str_], np.array(["text"]), "value must be .*str_"),
        (sparse.csr_array, sparse.csr_array([[np.nan]]), "value must have finite numbers"),
        (float, math.inf, "value must have finite numbers, got inf"),
        (float, "1", "value must be float, got '1'"),
        (float, True, "value must be float, got True"),
    ],
)
def test_what_could_not_be_checked_is_not_saved(hint, value, message):
    One = make_dataclass("One", [("value", hint)])
    register(One, name=f"test.one.{hint}")
    with pytest.raises((FormatError, TypeError), match=message):
        dumped(One(value))


@given(PARAMS)
def test_parameters_come_back_nested_as_they_were(value):
    assert_same(value, loaded(dumped(Box(value))).content)


def test_labels_keep_their_types_where_python_finds_them_equal():
    labels = [1, True, 1.0, 0, False, -0.0, 2**70, -(2**100), math.nan, "1", b"1", None]
    twin = loaded(dumped(Box(labels))).content
    assert [type(label) for label in twin] == [type(label) for label in labels]
    assert [repr(label) for label in twin if type(label) is float] == ["1.0", "-0.0", "nan"]
    assert twin[6:8] == labels[6:8]


@pytest.mark.parametrize("order", ["C", "F"])
def test_the_order_in_memory_survives_and_so_do_products_in_place(order):
    scatter = np.array(np.arange(12.0).reshape(3, 4), order=order)
    twin = loaded(dumped(Box(scatter))).content
    assert twin.flags.f_contiguous == (order == "F")
    strided = np.arange(24.0).reshape(4, 6)[::2, ::3]
    assert_same(np.ascontiguousarray(strided), loaded(dumped(Box(strided))).content)
    assert_same(strided, loaded(dumped(Box(strided.view(np.memmap)))).content)
    big_endian = np.arange(3, dtype=">i4")
    assert_same(np.arange(3, dtype=np.int32), loaded(dumped(Box(big_endian))).content)


@saved("test.scatter")
@dataclass
class Scatter:
    upper: Annotated[NDArray[np.float64] | None, "upper"]
    lower: Annotated[NDArray[np.float64], "lower"]


@pytest.mark.parametrize("width", [0, 1, 5])
@pytest.mark.parametrize("order", ["C", "F"])
def test_of_a_triangle_half_is_saved_and_the_rest_is_zero(width, order):
    square = np.array(np.arange(1.0, width**2 + 1).reshape(width, width), order=order)
    upper = square.copy(order)
    upper[np.tril_indices(width, -1)] = np.nan  # left there by some product
    data = dumped(Scatter(upper, square))
    assert_same(np.array(np.triu(square), order=order), loaded(data).upper)
    assert_same(np.array(np.tril(square), order=order), loaded(data).lower)
    assert loaded(dumped(Scatter(None, square))).upper is None
    assert len(dumped(Scatter(None, square))) - len(data) <= -4 * width * (width + 1)


def test_numbers_and_containers_of_others_become_plain_ones():
    given = {"a": np.float32(0.5), "b": np.int64(3), "c": np.array(["x", "yz"]), "d": np.True_}
    assert_same({"a": 0.5, "b": 3, "c": ["x", "yz"], "d": True}, loaded(dumped(Box(given))).content)
    assert_same(
        sparse.csr_array(np.eye(3)), loaded(dumped(Box(sparse.coo_matrix(np.eye(3))))).content
    )
    wide = sparse.csr_array(([1.0], ([0], [2**39])), shape=(1, 2**40))
    assert_same(wide, loaded(dumped(Box(wide))).content)


def test_a_frozen_object_in_two_places_is_one_object_again():
    circle = Circle(2.0)
    twin = loaded(dumped(Box([circle, (circle, Circle(3.0), circle)]))).content
    assert twin[0] is twin[1][0] is twin[1][2]
    square = Square(1)
    with pytest.raises(TypeError, match=r"content\.1 is a Square held twice"):
        dumped(Box([square, square]))
    box = Box(None)
    box.content = [box]
    with pytest.raises(TypeError, match="held twice"):
        dumped(box)


def test_caches_are_made_again():
    square = Square(3)
    assert square.area == 9
    square.cache = object()
    twin = loaded(dumped(square))
    assert (vars(twin), twin.cache) == ({"side": 3}, None)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.random.default_rng(0), r"content cannot be .*set_params\(random_state=None\)"),
        (np.random.RandomState(0), r"set_params\(random_state=None\) keeps the seed"),
        (len, r"set_params\(descriptors=model\.descriptor_columns_\)"),
        ([{1, 2}], r"content\.0 cannot be saved, got a set"),
        (1j, "got a complex"),
        (np.zeros(2, np.complex64), "got a complex"),
        (np.datetime64("2020-01-01"), "got a date"),
    ],
)
def test_what_files_do_not_hold_is_refused_with_a_way_out(tmp_path, value, message):
    with pytest.raises(TypeError, match=message):
        save(Box(value), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_unregistered_classes_and_contradictory_registrations_are_refused():
    @dataclass
    class Special(Square):
        pass

    for thing in (Special(1), object(), {"a": 1}, None, np.ones(3)):
        with pytest.raises(TypeError, match="cannot be saved"):
            dumped(thing)
    with pytest.raises(ValueError, match="must be of one class"):
        register(Special, name="test.square")
    with pytest.raises(TypeError, match="must be a dataclass"):
        register(Shape, name="test.shape")


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (Circle(-1.0), "is no valid Circle: radius must not be negative"),
        (Scatter(None, np.full((1, 1), np.nan)), "lower must have finite numbers, got an array"),
        (Scatter(None, np.ones((2, 3))), "lower must be a square matrix, got an array of float64"),
        (Scatter(None, np.ones((1, 1), int)), "lower must be .*float64.*, got an array of int64"),
    ],
)
def test_a_state_that_could_not_be_loaded_is_not_saved(thing, message):
    with pytest.raises(FormatError, match=message):
        dumped(thing)
