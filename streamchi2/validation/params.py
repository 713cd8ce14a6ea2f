"""Validation of constructor parameters: whole numbers, positive numbers, choices."""

from __future__ import annotations

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
        raise ValueError(f"{name} must be at least {minimum}, got {value!r}")
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
    if not 0.0 < float(value) < np.inf:
        raise ValueError(f"{name} must be positive and finite, got {value!r}")
    return float(value)


def as_choice(value: Any, choices: tuple[str, ...], *, name: str) -> str:
    """Return ``value`` if it is one of the allowed words.

    >>> as_choice("fourier", ("direct", "vz"), name="series")
    Traceback (most recent call last):
        ...
    ValueError: series must be one of 'direct', 'vz', got 'fourier'
    """
    if not isinstance(value, str) or value not in choices:
        words = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {words}, got {value!r}")
    return value
