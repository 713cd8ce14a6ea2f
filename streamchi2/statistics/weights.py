"""How much rows count: by their age, with a half-life, and by their class, with class_weight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks.params import as_number_or_choice
from streamchi2.checks.rows import Array
from streamchi2.checks.targets import as_label

LEAST_WEIGHT = np.finfo(np.float64).tiny  # rows fade, but solvers divide by their weights
# None, "balanced", or pairs of label and weight: a value that can be compared and hashed.
ClassWeight = str | tuple[tuple[Any, float], ...] | None


def as_class_weight(given: Any) -> ClassWeight:
    """Return the parameter as a value, or refuse it.

    >>> as_class_weight({"spam": 2, "ham": 1})
    (('spam', 2.0), ('ham', 1.0))
    >>> as_class_weight("equal")
    Traceback (most recent call last):
        ...
    ValueError: class_weight must be None, 'balanced' or a dict from labels to weights, got 'equal'
    """
    if given is None or (isinstance(given, str) and given == "balanced"):
        return given
    if not isinstance(given, Mapping):
        error = ValueError if isinstance(given, str) else TypeError
        raise error(
            f"class_weight must be None, 'balanced' or a dict from labels to weights, got {given!r}"
        )
    return tuple(
        (as_label(label), float(as_number_or_choice(weight, (), name="class_weight", zero=True)))
        for label, weight in given.items()
    )


def class_factors(class_weight: ClassWeight, classes: NDArray[Any], weights: Array) -> Array:
    r"""Return how many times as much the rows of each class count.

    "balanced" is :math:`n / (c\, n_k)` for the weight :math:`n_k` of class k among c classes that
    have any, n in all, as in scikit-learn; a class that a dict does not name counts once.

    Parameters
    ----------
    class_weight : "balanced", pairs or None
        As :func:`as_class_weight` returns it.
    classes : ndarray, shape (c,)
        Labels, sorted.
    weights : ndarray, shape (c,)
        The weight of each class, zero before its first row.

    Examples
    --------
    >>> class_factors("balanced", np.array([0, 1]), np.array([30.0, 10.0])).round(3)
    array([0.667, 2.   ])
    >>> class_factors(((1, 5.0),), np.array([0, 1]), np.array([30.0, 10.0]))
    array([1., 5.])
    """
    if class_weight is None:
        return np.ones(classes.size)
    if isinstance(class_weight, str):
        seen = weights > 0.0
        shares = seen.sum() * weights / (weights.sum() or 1.0)
        return np.asarray(1.0 / np.where(seen, shares, 1.0))
    given = dict(class_weight)
    return np.array([given.get(label, 1.0) for label in classes.tolist()])


def faded_to_end(n_rows: int, half_life: float | None) -> tuple[Array, float]:
    r"""Return what each of some rows counts when the last has come, and what all before do.

    Row i of n counts :math:`2^{-(n-1-i)/h}`. Blocks end where a stream's state alone decides, so
    fading as of their ends rounds alike however rows were cut into batches.

    >>> faded_to_end(3, 1.0)
    (array([0.25, 0.5 , 1.  ]), 0.125)
    """
    if half_life is None:
        return np.ones(n_rows), 1.0
    ages = np.arange(n_rows, -1, -1)
    shares = np.exp2(-ages / half_life)
    return shares[1:], float(shares[0])
