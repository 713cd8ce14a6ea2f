"""What the user chose about a map: refusals, defaults, descriptors, differences."""

import pickle

import numpy as np
import pytest
from maps import PARAMS, spec_of

from streamchi2.bases import BASES
from streamchi2.features import MapSpec
from streamchi2.series import SERIES

VIEWS = {"low": range(0, 3), "high": (5, 3)}
REGISTRIES = {"basis": BASES, "series": SERIES}


@pytest.mark.parametrize("name", REGISTRIES)
@pytest.mark.parametrize("value", ["", "fourier", "Direct", "orthogonal ", "vz2", None, 3])
def test_an_unknown_name_is_refused_with_those_that_are_known(name, value):
    with pytest.raises((ValueError, TypeError), match=f"{name} must be") as refusal:
        spec_of(6, **{name: value})
    assert all(repr(known) in str(refusal.value) for known in REGISTRIES[name])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"norm": "l2"}, "norm must be None or 'l1', got 'l2'"),
        ({"n_components": 0}, "n_components must be at least 1, got 0"),
        ({"n_components": None}, "n_components must be an integer, got None"),
        ({"beta": -1.0}, "beta must be positive and finite, got -1.0"),
        ({"beta": "best"}, "beta must be a number or 'auto', got 'best'"),
        ({"dof": 1.0, "basis": "additive"}, "dof must be 2 with basis='additive', got 1.0"),
        ({"n_buckets": 7, "basis": "additive"}, "n_buckets must be 'auto' or n_components with"),
        ({"dof": 3}, "dof must be at most 2 for features, got 3"),
        ({"n_terms": 2, "series": "vz"}, "n_terms must be odd for the vz series"),
        ({"n_terms": "few"}, "n_terms must be a number or 'auto', got 'few'"),
        ({"n_buckets": 2**31}, "n_buckets must be below"),
        ({"n_buckets": 0}, "n_buckets must be at least 1, got 0"),
        ({"n_buckets": 2.5}, "n_buckets must be an integer, got 2.5"),
        ({"dtype": "float16"}, "dtype must be one of"),
        ({"adapt": 1}, "adapt must be True or False, got 1"),
        ({"half_life": 0.0}, "half_life must be positive and finite, got 0.0"),
        ({"half_life": "auto"}, "half_life must be"),
    ],
)
def test_nonsense_is_refused_with_the_rule(params, message):
    with pytest.raises((ValueError, TypeError), match=message):
        spec_of(6, **params)


def test_learners_have_no_buckets_and_no_dtype():
    (block,) = MapSpec.of(PARAMS, 6, 0).blocks
    assert (block.n_buckets, block.dtype) == ("auto", "float32")
    assert block.buckets(3) is None


def test_descriptors_divide_what_is_for_all_and_have_their_own():
    spec = spec_of(6, columns=VIEWS, n_components=7, beta={"low": 2.0, "high": "auto"})
    assert [block.n_components for block in spec.blocks] == [4, 3]
    assert [block.beta for block in spec.blocks] == [2.0, "auto"]
    assert [block.n_features for block in spec.blocks] == [3, 2]
    assert spec.descriptors == {"low": range(0, 3), "high": (5, 3)}
    assert spec.with_seed(5).blocks[0].seed == spec.with_seed(5).shared.seed == 5
    assert spec.with_seed(0) == spec
    with pytest.raises(ValueError, match="beta must have a value for each of the descriptors"):
        spec_of(6, columns=VIEWS, beta={"low": 2.0})


def test_landmarks_of_descriptors_are_their_columns_of_whole_rows():
    whole = np.random.default_rng(0).gamma(0.5, size=(9, 6))
    spec = spec_of(
        6, columns=VIEWS, n_components=6, basis={"low": "landmarks", "high": "subspace"},
        landmarks=whole, norm="l1",
    )  # fmt: skip
    low, high = spec.blocks
    shares = whole[:, :3] / whole[:, :3].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(low.landmarks.rows.toarray(), shares, rtol=1e-15)
    assert high.landmarks is None
    assert spec.made_of_rows
    assert spec.first_rows == 64
    with pytest.raises(ValueError, match="landmarks must have as many columns as X, got 5 and 6"):
        spec_of(6, columns=VIEWS, basis="landmarks", landmarks=whole[:, :5])


def test_the_first_difference_is_named_with_both_values():
    spec = spec_of(6, columns=VIEWS)
    assert spec.difference(spec_of(6, columns=VIEWS)) is None
    assert spec == pickle.loads(pickle.dumps(spec))
    other = spec_of(6, columns=VIEWS, n_terms={"low": 3, "high": 5})
    assert spec.difference(other) == ("n_terms of descriptor 'high'", 3, 5)
    assert spec.difference(spec.with_seed(3)) == ("random_state of descriptor 'low'", 0, 3)
    turned = spec_of(6, columns=dict(reversed(VIEWS.items())))
    assert spec.difference(turned)[0] == "descriptors"


@pytest.mark.parametrize(
    ("basis", "n_components", "n_rows"),
    [("orthogonal", 4096, 64), ("subspace", 256, 256), ("subspace", 4096, 1024),
     ("landmarks", 100, 200), ("additive", None, 64)],
)  # fmt: skip
def test_so_many_rows_come_first(basis, n_components, n_rows):
    assert spec_of(6, basis=basis, n_components=n_components).first_rows == n_rows
