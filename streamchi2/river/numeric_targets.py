"""Base class of river estimators whose targets are numbers or indicators: their constructor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from streamchi2.checks.params import shown
from streamchi2.river.learner import NamedStreamModel

_HUGE = 1e140  # squares of larger values, summed, would not be finite


class NumericTargetsModel(NamedStreamModel):
    """A model of named rows with one constructor for one number a row, several, or labels."""

    def __init__(
        self,
        n_components: Any = 1024,
        descriptors: Mapping[str, Any] | None = None,
        alpha: float | str = "auto",
        penalty: str = "ridge",
        l1_ratio: float = 0.5,
        n_pca: Any = None,
        beta: Any = "auto",
        dof: Any = 2.0,
        series: Any = "direct",
        n_terms: Any = "auto",
        basis: Any = "subspace",
        landmarks: Any = None,
        n_buckets: Any = "auto",
        normalize: str | None = None,
        adapt: bool = True,
        half_life: float | None = None,
        dtype: str = "float32",
        seed: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.descriptors = descriptors
        self.alpha = alpha
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.n_pca = n_pca
        self.beta = beta
        self.dof = dof
        self.series = series
        self.n_terms = n_terms
        self.basis = basis
        self.landmarks = landmarks
        self.n_buckets = n_buckets
        self.normalize = normalize
        self.adapt = adapt
        self.half_life = half_life
        self.dtype = dtype
        self.seed = seed
        self._start()


def as_number(value: Any, where: str = "") -> float:
    """Return a target as a float, or refuse it; ``where`` is added to what was found.

    >>> as_number(True)
    1.0
    """
    is_number = isinstance(value, int | float | np.number | np.bool_)
    # numpy calls a timedelta64 an integer
    if not is_number or isinstance(value, np.timedelta64 | np.complexfloating):
        raise TypeError(f"y must be a number, got {value!r}{where}")
    if not -_HUGE < value < _HUGE:
        raise ValueError(f"y must be finite and below {_HUGE} in size, got {shown(value)}{where}")
    return float(value)
