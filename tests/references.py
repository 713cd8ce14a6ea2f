"""Slow, obvious versions of the formulas, to check the fast ones against."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def chi2_distance_loop(x: Sequence[float], y: Sequence[float]) -> float:
    return 0.5 * sum((a - b) ** 2 / (a + b) for a, b in zip(x, y, strict=True) if a + b > 0)


def direct_coordinates_loop(x: float, k: Sequence[float]) -> list[float]:
    product, coordinates = 1.0, []
    for landmark in k:
        coordinates.append(product * 2 * np.sqrt(landmark) * x / (x + landmark))
        product *= (x - landmark) / (x + landmark)
    return coordinates


def harmonic_kernel(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum over columns of 2xy/(x+y), for all pairs of rows."""
    total = rows[:, None] + rows
    product = 2 * rows[:, None] * rows
    return np.divide(product, total, out=np.zeros_like(total), where=total > 0).sum(axis=2)
