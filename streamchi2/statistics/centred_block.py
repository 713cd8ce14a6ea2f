"""One block of a stream about its own mean, and what pooling it with the past needs.

All moments go through these few formulas (Chan, Golub and LeVeque 1983,
doi:10.1080/00031305.1983.10483115), so that features, targets and classes are weighted, faded and
centred alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks import Floats

_FLOAT32_WEIGHTS = 1e-20, 1e20
_FLOAT32_VALUES = 1e28  # twice this times the root of the largest weight is still a float32
_CHUNK_ROWS = 128  # float64 copies of float32 rows are made in pieces that fit the cache


@dataclass(frozen=True)
class CentredBlock:
    """A block of rows about its own mean; ``scaled`` has one spare row for the between term."""

    weight: float
    squared_weight: float
    mean: NDArray[np.float64]  # (d,)
    scaled: Floats  # (n + 1, d): sqrt(w_i) (x_i - mean), then zeros


def fading(n_rows: int, half_life: float | None) -> float:
    """Return what the past counts after ``n_rows`` more rows: 2^(-n/h)."""
    return 1.0 if half_life is None else float(np.exp2(-n_rows / half_life))


def unit_weights(rows: Floats) -> NDArray[np.float64]:
    """Return a weight of one for each row."""
    return np.ones(rows.shape[0])


def faded_weights(
    n_rows: int, weights: NDArray[np.float64] | None, half_life: float | None
) -> NDArray[np.float64]:
    """Return the weights of a block at its end: row i of n counts 2^(-(n-1-i)/h).

    >>> faded_weights(3, None, 1.0)
    array([0.25, 0.5 , 1.  ])
    """
    own = np.ones(n_rows) if weights is None else weights
    if half_life is None:
        return own
    faded: NDArray[np.float64] = own * np.exp2(-np.arange(n_rows)[::-1] / half_life)
    return faded


def centred_block(rows: Floats, weights: NDArray[np.float64]) -> CentredBlock:
    """Return weight, float64 mean and the scaled deviations of a block, in O(n D).

    >>> centred_block(np.array([[1.0], [4.0]]), np.array([3.0, 0.0])).scaled.ravel()
    array([0., 0., 0.])
    """
    weight = float(weights.sum())
    if rows.dtype == np.float32 and not _within_float32(rows, weights):
        rows = rows.astype(np.float64)
    scaled = np.zeros((rows.shape[0] + 1, rows.shape[1]), rows.dtype)
    mean = np.zeros(rows.shape[1])
    if weight == 0.0:
        return CentredBlock(weight, 0.0, mean, scaled)
    shares, roots = weights / weight, np.sqrt(weights)[:, None].astype(rows.dtype)
    uniform = bool((weights == 1.0).all())
    pieces = [slice(s, min(s + _CHUNK_ROWS, len(rows))) for s in range(0, len(rows), _CHUNK_ROWS)]
    for piece in pieces:
        mean += shares[piece] @ rows[piece].astype(np.float64, copy=False)
    # In the dtype of the rows, twice as fast as in float64: first the rounded mean, which costs the
    # rows no digit that they have, then what rounding took from it.
    centre = mean.astype(rows.dtype)
    remainder = (mean - centre).astype(rows.dtype)
    for piece in pieces:
        deviations = np.subtract(rows[piece], centre, out=scaled[piece])
        if remainder.any():
            deviations -= remainder
        if not uniform:
            deviations *= roots[piece]
    return CentredBlock(weight, float(weights @ weights), mean, scaled)


def _within_float32(rows: Floats, weights: NDArray[np.float64]) -> bool:
    """Tell whether deviations times the roots of their weights neither burst nor vanish."""
    heaviest = float(weights.max(initial=0.0))
    if not _FLOAT32_WEIGHTS[0] < heaviest < _FLOAT32_WEIGHTS[1]:
        return heaviest == 0.0
    return max(float(rows.max(initial=0.0)), -float(rows.min(initial=0.0))) < _FLOAT32_VALUES


def between_row(
    n: float, mean: NDArray[np.float64], m: float, other: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return sqrt(nm/(n+m)) times the difference of two means; 0 if one side is empty."""
    if n <= 0.0 or m <= 0.0:
        return np.zeros_like(mean)
    # n/(n+m) first: the product nm of two faded weights may fall below the smallest number.
    difference: NDArray[np.float64] = np.sqrt(n / (n + m) * m) * (other - mean)
    return difference


def pooled_mean(
    n: float, mean: NDArray[np.float64], m: float, other: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the mean of both sides together; an empty side does not count."""
    if m <= 0.0 or n <= 0.0:
        return mean if m <= 0.0 else other.copy()
    return mean + (m / (n + m)) * (other - mean)
