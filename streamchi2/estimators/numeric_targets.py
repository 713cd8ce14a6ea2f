"""Numeric targets of a batch, validated against those that came before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks import as_numbers, refuse_huge
from streamchi2.statistics.targets import NumericTargets


def numeric_batch(estimator: Any, y: Any, given: NDArray[np.bool_] | None = None) -> Any:
    """Return a function that validates targets where something is known of earlier ones.

    ``given`` tells which rows have a target, where not all have.
    """

    def validated(
        known: Any, n_rows: int, heavy: Any
    ) -> tuple[NumericTargets, NDArray[np.float64]]:
        targets = as_numbers(estimator, y, n_rows)
        refuse_huge(targets, name="y")
        flat = targets.ndim == 1
        targets = targets.reshape(targets.shape[0], -1)
        if given is not None:
            targets[~given] = np.nan
        found = NumericTargets(targets.shape[1], flat)
        if known is not None and found != known:
            raise ValueError(f"y must keep its shape {known.shape}, got {np.shape(y)}")
        return found, targets

    return validated
