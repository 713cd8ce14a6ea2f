"""An array of counts over an open-ended range of integer keys: only the occupied span is stored.

A window is a pair (first_key, counts): bin ``first_key + i`` holds ``counts[i]``, every other bin
holds zero. It spans exactly the keys that were ever asked for, so the same keys in any order and
any number of steps give the same window.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Window: TypeAlias = tuple[int, NDArray[Any]]


def widened(window: Window, low: int, high: int) -> Window:
    """Return a window that spans the keys from ``low`` to ``high`` too; itself if it did.

    >>> widened((5, np.array([7, 8])), 3, 5)
    (3, array([0, 0, 7, 8]))
    """
    first, counts = window
    if counts.size == 0:
        return low, np.zeros(high - low + 1, counts.dtype)
    below, above = max(0, first - low), max(0, high - (first + counts.size - 1))
    if not below and not above:
        return window
    return first - below, np.pad(counts, (below, above))


def trimmed(window: Window) -> Window:
    """Return the window without the empty bins at its ends.

    >>> trimmed((3, np.array([0, 7, 0, 8, 0])))
    (4, array([7, 0, 8]))
    """
    first, counts = window
    occupied = np.flatnonzero(counts)
    if occupied.size == 0:
        return 0, counts[:0].copy()
    start, stop = int(occupied[0]), int(occupied[-1]) + 1
    return first + start, counts[start:stop].copy()


def added(left: Window, right: Window) -> Window:
    """Return the bin-by-bin sum of two windows, a new array; the order does not matter.

    >>> added((3, np.array([1, 2])), (4, np.array([0.5, 4.0])))
    (3, array([1. , 2.5, 4. ]))
    """
    windows = [window for window in (left, right) if window[1].size]
    total: Window = 0, np.zeros(0, np.result_type(left[1], right[1]))
    for first, counts in windows:
        total = widened(total, first, first + counts.size - 1)
        start = first - total[0]
        total[1][start : start + counts.size] += counts
    return total
