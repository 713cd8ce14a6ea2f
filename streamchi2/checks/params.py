"""Validation of constructor parameters: whole numbers, positive numbers, choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np


def as_positive_int(value: Any, *, name: str, minimum: int = 1) -> int:
    """Return ``value`` as an int of at least ``minimum``.

    >>> as_positive_int(2.5, name="n_terms")
    Traceback (most recent call last):
        ...
    TypeError: n_terms must be an integer, got 2.5
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {shown(value)}")
    return int(value)


def as_positive_float(value: Any, *, name: str) -> float:
    """Return ``value`` as a positive finite float.

    >>> as_positive_float(-1, name="beta")
    Traceback (most recent call last):
        ...
    ValueError: beta must be positive and finite, got -1
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {value!r}")
    number = _as_float(value)
    if not 0.0 < number < np.inf:
        raise ValueError(f"{name} must be positive and finite, got {shown(value)}")
    return number


def as_half_life(value: Any) -> float:
    """Return a half-life as a positive finite float.

    >>> as_half_life("auto")
    Traceback (most recent call last):
        ...
    ValueError: half_life must be a number of rows, after which a row counts half, or None, so \
that all count the same, got 'auto'; only classifiers and regressors with a feature map forget by \
themselves
    """
    if isinstance(value, str):
        raise ValueError(
            "half_life must be a number of rows, after which a row counts half, or None, so that "
            f"all count the same, got {value!r}; only classifiers and regressors with a feature "
            "map forget by themselves"
        )
    return as_positive_float(value, name="half_life")


def as_seed(value: Any, *, name: str = "seed") -> int:
    """Return a seed as a non-negative int of Python's own, which a file has a place for.

    >>> as_seed(np.int64(3))
    3
    >>> as_seed(-1, name="random_state")
    Traceback (most recent call last):
        ...
    ValueError: random_state must be at least 0, got -1
    """
    seed = as_positive_int(value, name=name, minimum=0)
    if seed >= 2**63:
        raise ValueError(f"{name} must be below 2**63, got {shown(seed)}")
    return seed


def as_number_or_choice(
    value: Any, choices: tuple[str, ...], *, name: str, zero: bool = False
) -> float | str:
    """Return ``value`` if it is one of the allowed choices, or else as a positive finite float.

    With ``zero`` the number may be 0 too.

    >>> as_number_or_choice(2, ("auto",), name="alpha")
    2.0
    >>> as_number_or_choice("best", ("auto",), name="alpha")
    Traceback (most recent call last):
        ...
    ValueError: alpha must be a positive finite number or 'auto', got 'best'
    """
    if isinstance(value, str) and value in choices:
        return str(value)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    number = _as_float(value) if is_number else np.nan
    if 0.0 < number < np.inf or (zero and number == 0.0):
        return number
    allowed = " or ".join(repr(choice) for choice in choices)
    error = ValueError if is_number or isinstance(value, str) else TypeError
    rule = f"a {'non-negative' if zero else 'positive'} finite number"
    rule = f"{rule} or {allowed}" if choices else rule
    raise error(f"{name} must be {rule}, got {shown(value)}")


def as_choice(value: Any, choices: tuple[str, ...], *, name: str) -> str:
    """Return ``value`` if it is one of the allowed choices.

    >>> as_choice("fourier", ("direct", "vz"), name="series")
    Traceback (most recent call last):
        ...
    ValueError: series must be one of 'direct', 'vz', got 'fourier'
    """
    if not isinstance(value, str) or value not in choices:
        allowed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {allowed}, got {value!r}")
    return value


def as_n_pca(value: Any, *, name: str = "n_pca") -> int | float:
    """Return a number of components, or a share of the variance, as a number of Python's own.

    >>> as_n_pca(1.5)
    Traceback (most recent call last):
        ...
    ValueError: n_pca must be None, an integer of at least 1 or a share of the variance \
between 0 and 1, got 1.5
    """
    if isinstance(value, Integral) and not isinstance(value, bool):
        return as_positive_int(value, name=name)
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < 1:
        raise ValueError(
            f"{name} must be None, an integer of at least 1 or a share of the variance "
            f"between 0 and 1, got {value!r}"
        )
    return float(value)


def divided(
    number: Any,
    names: Sequence[str] | None,
    *,
    name: str,
    check: Callable[..., Any] = as_positive_int,
) -> tuple[Any, ...]:
    """Return one number a descriptor: as given, or a total divided evenly, one at the least.

    A number that ``check`` does not make whole, a share of something, is the same for each.

    >>> divided(8, ("hog", "colour", "bow"), name="n_components")
    (3, 3, 2)
    """
    if names is None or number is None:
        return of_each(number, names, name=name)
    if isinstance(number, Mapping):
        given = of_each(number, names, name=name)
        return tuple(
            None if part is None else check(part, name=f"{name}[{one!r}]")
            for one, part in zip(names, given, strict=True)
        )
    total = check(number, name=name)
    if not isinstance(total, int):
        return (total,) * len(names)
    share, rest = divmod(max(total, len(names)), len(names))
    return tuple(share + (index < rest) for index in range(len(names)))


def of_each(value: Any, names: Sequence[str] | None, *, name: str) -> tuple[Any, ...]:
    """Return the value of a parameter for each descriptor: its own, or the one for all.

    Without descriptors it is the value alone.

    >>> of_each({"hog": 2.0, "bow": "auto"}, ("bow", "hog"), name="beta")
    ('auto', 2.0)
    >>> of_each(2.0, ("bow", "hog"), name="beta"), of_each(2.0, None, name="beta")
    ((2.0, 2.0), (2.0,))
    """
    if names is None or not isinstance(value, Mapping):
        return (value,) * (1 if names is None else len(names))
    if set(value) != set(names):
        raise ValueError(
            f"{name} must have a value for each of the descriptors {', '.join(names)}, "
            f"got {dict(value)!r}"
        )
    return tuple(value[each] for each in names)


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond every float64, of any sign
        return np.nan


def shown(value: Any) -> str:
    """Return a value for an error: Python has no text for integers of thousands of digits.

    >>> shown(3), shown(-(10**400))
    ('3', 'a negative integer of 1329 bits')
    """
    if isinstance(value, int) and value.bit_length() > 128:
        return f"{'a negative' if value < 0 else 'an'} integer of {value.bit_length()} bits"
    return repr(value)
