r"""Logarithmic bins read from the bits of a float: which bin a value is in, and where a bin lies.

A positive float64 is :math:`2^{e-1023}(1 + m)` with the biased exponent e and the mantissa m in
its bits, in this order. Dropping all but the leading :math:`\log_2 B` bits of the mantissa leaves

.. math:: \mathrm{key}(x) = eB + \lfloor mB \rfloor

an integer that grows with x: each octave is cut into B bins of equal width, so the width of a bin
relative to its values lies between 1/(2B) and 1/B. No logarithm is taken and nothing is rounded:
every platform finds the same bin. The same idea, without interpolation, as the "fast" mappings
of Masson, Rim and Lee, DDSketch (2019, doi:10.14778/3352063.3352135).

Subnormal float64 values (below 2.2e-308) have e = 0 and no leading one: all of them together
share one more "octave" of B bins of equal width, the lowest from 5e-324. A float32 and
a float64 of equal value have equal keys, also where the float32 is subnormal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks import Floats

MAX_BINS_PER_OCTAVE = 4096  # 2046 octaves of 4096 bins are 64 MiB, the most a window can take
_MANTISSA_BITS = 52
_EXPONENT_BIAS_GAP = 1023 - 127  # float64 and float32 store 2^0 under these exponents


def bin_keys(values: Floats, bins_per_octave: int) -> NDArray[np.int64]:
    """Return the key of every value; all must be positive and finite. About 1 ns a value.

    >>> bin_keys(np.array([1.0, 1.2, 1.5, 2.0]), bins_per_octave=2) - 2 * 1023
    array([0, 0, 1, 2])
    """
    precision = bins_per_octave.bit_length() - 1
    if values.dtype == np.float32:
        short = values.view(np.uint32) >> np.uint32(23 - precision)
        # Below the first whole octave float32 is subnormal, which float64 is not.
        if short.size and short.min() >= bins_per_octave:
            return short.astype(np.int64) + _EXPONENT_BIAS_GAP * bins_per_octave
        values = values.astype(np.float64)
    bits: NDArray[np.uint64] = values.view(np.uint64)
    return (bits >> np.uint64(_MANTISSA_BITS - precision)).view(np.int64)


def bin_edges(
    keys: NDArray[np.int64], bins_per_octave: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return lower and upper edges; a bin holds lower <= x < upper.

    The outermost edges are the smallest and the largest float, not zero and infinity; the
    largest float is therefore the one value that may equal its upper edge.

    >>> bin_edges(np.array([2 * 1023, 2 * 1023 + 1]), bins_per_octave=2)
    (array([1. , 1.5]), array([1.5, 2. ]))
    """
    shift = _MANTISSA_BITS - (bins_per_octave.bit_length() - 1)
    lower = (keys << shift).view(np.float64)
    upper = ((keys + 1) << shift).view(np.float64)
    limits = np.finfo(np.float64)
    return np.maximum(lower, limits.smallest_subnormal), np.minimum(upper, limits.max)


def bin_centres(keys: NDArray[np.int64], bins_per_octave: int) -> NDArray[np.float64]:
    """Return the exact midpoint of each bin.

    >>> bin_centres(np.array([2 * 1023, 2 * 1023 + 1]), bins_per_octave=2)
    array([1.25, 1.75])
    """
    shift = _MANTISSA_BITS - bins_per_octave.bit_length()
    return ((2 * keys + 1) << shift).view(np.float64)


def merge_neighbours(
    keys: NDArray[np.int64],
    centres: NDArray[np.float64],
    weights: NDArray[np.float64],
    max_bins: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Halve the number of bins per octave until at most ``max_bins`` of them are occupied.

    Pairs of neighbours become one bin, then pairs of octaves; the centre of the result is the
    weighted mean of what it holds, so the sum and the mean of the values stay as they were.
    ``keys`` ascend and ``weights`` are positive.

    >>> merge_neighbours(np.array([4, 5, 9]), np.array([1.0, 2.0, 8.0]), np.array([3.0, 1, 1]), 2)
    (array([1.25, 8.  ]), array([4., 1.]))
    """
    if keys.size <= max_bins:
        return centres, weights
    coarse = keys
    while 1 + np.count_nonzero(np.diff(coarse)) > max_bins:
        coarse = coarse >> 1
    starts = np.flatnonzero(np.diff(coarse, prepend=-1))
    merged = np.add.reduceat(weights, starts)
    # Shares first: weight times centre may overflow where their mean cannot.
    shares = weights / np.repeat(merged, np.diff(starts, append=keys.size))
    return np.add.reduceat(shares * centres, starts), merged
