r"""Exponential forgetting that no cutting of the stream can change by a single bit.

Fading all counts after every row would round them at every row. Instead later rows weigh more:
row i enters with

.. math:: g(i) = 2^{i/h - E(i)}, \qquad E(i) = 64 \lfloor i / (64 h) \rfloor

in the unit :math:`2^{E}`. A row that crosses into the next epoch first changes the unit of all
that is there, by an exact power of two. Epochs begin at absolute positions, whatever the batches.
As of row n - 1 a count is what is stored, divided by g(n - 1).
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

_EPOCH = 64.0  # half-lives; 2^64 times the largest weight and target is still a finite float

Numbers: TypeAlias = NDArray[np.float64] | np.float64


def epoch(positions: Numbers, half_life: float | None) -> NDArray[np.float64]:
    """Return E: the binary logarithm of the unit in which a row is counted.

    >>> epoch(np.array([0.0, 63.0, 64.0, 150.0]), half_life=1.0)
    array([  0.,   0.,  64., 128.])
    """
    if half_life is None:
        return np.zeros_like(positions)
    began: NDArray[np.float64] = np.floor(positions / half_life / _EPOCH)
    return began * _EPOCH


def growth(positions: Numbers, half_life: float | None) -> NDArray[np.float64]:
    """Return g: what a row of weight one counts in the unit of its epoch; 1 <= g < 2^64.

    >>> growth(np.array([0.0, 2.0, 4.0, 128.0]), half_life=2.0)
    array([1., 2., 4., 1.])
    """
    if half_life is None:
        return np.ones_like(positions)
    grown: NDArray[np.float64] = np.exp2(positions / half_life - epoch(positions, half_life))
    return grown


def flushed(counts: Numbers) -> NDArray[np.float64]:
    """Return ``counts`` with zero for the subnormal: slow to compute with, and long faded.

    >>> flushed(np.array([1.0, 1e-310]))
    array([1., 0.])
    """
    return np.where(counts < np.finfo(np.float64).tiny, 0.0, counts)


def faded_to_end(n_rows: int, half_life: float | None) -> tuple[NDArray[np.float64], float]:
    """Return what each of some rows counts when the last has come, and what all before do.

    >>> faded_to_end(3, 1.0)
    (array([0.25, 0.5 , 1.  ]), 0.125)
    """
    if half_life is None:
        return np.ones(n_rows), 1.0
    return np.exp2(-np.arange(n_rows)[::-1] / half_life), float(np.exp2(-n_rows / half_life))
