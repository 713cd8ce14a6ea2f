"""Parameters: integers of any type and length, numbers or words, shares of components."""

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


def as_alpha(value, zero=False):
    return as_number_or_choice(value, ("auto",), name="alpha", zero=zero)


def as_beta(value):
    return as_positive_float(value, name="beta")


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int64(2)])
def test_numbers_become_those_of_python(value):
    assert type(as_alpha(value)) is float
    assert as_alpha(value) == as_beta(value) == as_half_life(value) == as_n_pca(value) == value
    assert type(as_n_pca(value)) in (int, float)
    assert (as_alpha("auto"), as_alpha(0, zero=True)) == ("auto", 0.0)
    assert as_positive_int(10**400, name="n") == 10**400


@pytest.mark.parametrize("seed", [np.int64(3), np.uint8(3), np.int32(3), 3])
def test_seeds_become_integers_that_cannot_overflow(seed):
    assert (as_seed(seed), type(as_seed(seed))) == (3, int)


@pytest.mark.parametrize(
    ("seed", "error", "match"),
    [
        (-1, ValueError, "seed must be at least 0, got -1"),
        (True, TypeError, "seed must be an integer, got True"),
        ("3", TypeError, "seed must be an integer, got '3'"),
        (-(10**5000), ValueError, "got a negative integer of 16610 bits"),
        (2**63, ValueError, "seed must be below 2\\*\\*63, got 9223372036854775808"),
    ],
    ids=["negative", "bool", "text", "long", "too large to save"],
)
def test_bad_seeds_are_refused(seed, error, match):
    with pytest.raises(error, match=match):
        as_seed(seed)


@pytest.mark.parametrize("value", ["best", 0, -1.0, np.nan, np.inf, 10**400, True, None, [1.0]])
def test_what_is_no_number_is_refused_by_name(value):
    is_number = isinstance(value, int | float | str) and value is not True
    error = ValueError if is_number else TypeError
    with pytest.raises(error, match="alpha must be a positive finite number or 'auto'"):
        as_alpha(value)
    for check, name in ((as_beta, "beta"), (as_half_life, "half_life"), (as_n_pca, "n_pca")):
        if check is not as_n_pca or value != 10**400:
            with pytest.raises((TypeError, ValueError), match=f"{name} must be"):
                check(value)
    if value != 0:
        with pytest.raises(error, match="alpha must be a non-negative finite number or 'auto'"):
            as_alpha(value, zero=True)


@pytest.mark.parametrize("n_pca", [0.0, 1.0, 1.5, -0.5, "all"])
def test_any_other_share_of_components_is_refused(n_pca):
    with pytest.raises(ValueError, match="n_pca must be"):
        as_n_pca(n_pca)
