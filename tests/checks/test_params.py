"""Parameters: seeds of any integer type, numbers or words, and integers of any length."""

import numpy as np
import pytest

from streamchi2.checks.params import (
    as_half_life,
    as_n_pca,
    as_number_or_choice,
    as_positive_float,
    as_positive_int,
    as_seed,
)
from streamchi2.hashing import mixed_bits


@pytest.mark.parametrize("seed", [np.int64(3), np.uint8(3), np.int32(3), 3])
def test_seeds_become_integers_that_cannot_overflow(seed):
    keys = np.arange(3, dtype=np.uint64)
    assert type(as_seed(seed)) is int
    np.testing.assert_array_equal(mixed_bits(keys, as_seed(seed)), mixed_bits(keys, 3))


@pytest.mark.parametrize(
    ("seed", "error", "match"),
    [
        (-1, ValueError, "seed must be at least 0, got -1"),
        (True, TypeError, "seed must be an integer, got True"),
        (1.0, TypeError, "seed must be an integer, got 1.0"),
        ("3", TypeError, "seed must be an integer, got '3'"),
        (-(10**5000), ValueError, "got a negative integer of 16610 bits"),
        (2**63, ValueError, "seed must be below 2\\*\\*63, got 9223372036854775808"),
        (10**5000, ValueError, "got an integer of 16610 bits"),
    ],
    ids=["negative", "bool", "float", "text", "long", "too large to save", "too long"],
)
def test_bad_seeds_are_refused(seed, error, match):
    with pytest.raises(error, match=match):
        as_seed(seed)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int64(2)])
def test_numbers_are_returned_as_floats(value):
    found = as_number_or_choice(value, ("auto",), name="alpha")
    assert (found, type(found)) == (float(value), float)
    assert as_number_or_choice("auto", ("auto",), name="alpha") == "auto"


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ("best", ValueError),
        (0, ValueError),
        (-1.0, ValueError),
        (np.nan, ValueError),
        (np.inf, ValueError),
        (10**400, ValueError),
        (True, TypeError),
        (None, TypeError),
        ([1.0], TypeError),
    ],
)
def test_the_error_says_that_numbers_are_allowed_too(value, error):
    with pytest.raises(error, match="alpha must be a positive finite number or 'auto'"):
        as_number_or_choice(value, ("auto",), name="alpha")


def test_zero_is_allowed_where_it_is_said():
    assert as_number_or_choice(0, ("auto",), name="alpha", zero=True) == 0.0
    with pytest.raises(ValueError, match="alpha must be a non-negative finite number or 'auto'"):
        as_number_or_choice(-1e-9, ("auto",), name="alpha", zero=True)


def test_integers_beyond_float64_are_no_positive_floats():
    with pytest.raises(ValueError, match="beta must be positive and finite, got an integer of"):
        as_positive_float(10**400, name="beta")
    assert as_positive_int(10**400, name="n") == 10**400


@pytest.mark.parametrize("half_life", [0, -1, np.nan, np.inf, "long", True, []])
def test_a_half_life_is_a_number_of_rows(half_life):
    assert as_half_life(20) == 20.0
    with pytest.raises((TypeError, ValueError), match="half_life must be"):
        as_half_life(half_life)


@pytest.mark.parametrize("n_pca", [1, 300, np.int64(3), 0.5, np.float32(0.25)])
def test_numbers_and_shares_of_components_become_those_of_python(n_pca):
    assert type(as_n_pca(n_pca)) in (int, float)
    assert as_n_pca(n_pca) == n_pca


@pytest.mark.parametrize("n_pca", [0, -3, 0.0, 1.0, 1.5, -0.5, True, "all", float("nan"), [3]])
def test_any_other_number_of_components_is_refused_by_name(n_pca):
    with pytest.raises((TypeError, ValueError), match="n_pca must be"):
        as_n_pca(n_pca)
