"""Randomness as a function of a counter: equal in every process, on every platform, for ever."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: steps that never fall into a pattern


def mixed_bits(keys: NDArray[np.unsignedinteger], seed: int) -> NDArray[np.uint64]:
    """Return 64 well-mixed bits for each key: SplitMix64 at the position that key and seed give.

    References
    ----------
    Steele, Lea and Flood (2014), doi:10.1145/2660193.2660195.

    Examples
    --------
    >>> [hex(bits) for bits in mixed_bits(np.array([0, 1], dtype=np.uint64), seed=0)]
    ['0xe220a8397b1dcdaf', '0x6e789e6aa1b965f4']
    """
    start = np.uint64((seed * 0xD1B54A32D192ED03 + _GOLDEN) % 2**64)
    mixed = keys.astype(np.uint64) * np.uint64(_GOLDEN) + start
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def gumbel_noise(keys: NDArray[np.unsignedinteger], seed: int) -> NDArray[np.float64]:
    """Return one Gumbel variate for each key, the same in every process and for ever.

    >>> gumbel_noise(np.array([0, 1, 2]), seed=0).round(3)
    array([ 2.087,  0.174, -1.29 ])
    """
    mixed = mixed_bits(keys, seed)
    uniform = ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    noise: NDArray[np.float64] = -np.log(-np.log(uniform))
    return noise
