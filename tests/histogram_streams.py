"""Streams of awkward values for the histogram, its state bit by bit, and a slow exact reference."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from streamchi2.statistics.log_histogram import LogHistogram

TINY, HUGE = 5e-324, np.finfo(np.float64).max
EDGES = [0.0, TINY, 2.0**-1022, 2.0**-149, 2.0**-126, 0.5, 1.0, 1.5, 2.0, 2.0**100, HUGE]
BESIDE = [np.nextafter(edge, side) for edge in EDGES[1:-1] for side in (0.0, np.inf)]
HALF_LIVES = [None, 0.01, 1, 7.3, 1e12]

values = st.one_of(
    st.just(0.0), st.sampled_from(EDGES + BESIDE), st.floats(0.0, HUGE), st.floats(1e-3, 10.0)
)
row_weights = st.one_of(st.sampled_from([0.0, 1.0, 3.0]), st.floats(1e-6, 1e6))
resolutions = st.sampled_from([1, 2, 64, 256])


@st.composite
def streams(draw, max_rows=12):
    """Rows, weights or None, and the sizes of the batches they are cut into."""
    n_rows = draw(st.integers(1, max_rows))
    rows = draw(arrays(np.float64, (n_rows, draw(st.integers(1, 4))), elements=values))
    weights = draw(st.none() | arrays(np.float64, n_rows, elements=row_weights))
    inner = draw(st.sets(st.integers(1, max_rows)))
    return rows, weights, [0, *sorted(cut for cut in inner if cut < n_rows), n_rows]


def histogram_of(rows, weights=None, cuts=None, **config):
    histogram = LogHistogram(**config)
    for start, stop in itertools.pairwise(cuts or [0, rows.shape[0]]):
        histogram.update(rows[start:stop], None if weights is None else weights[start:stop])
    return histogram


def bits(histogram):
    """Everything the histogram is, with arrays as raw bytes: stricter than equality."""
    state = dict(vars(histogram))
    counts = state.pop("_counts")
    assert not ((counts > 0) & (counts < np.finfo(np.float64).tiny)).any(), "subnormal counts"
    return {**state, "counts": counts.tobytes(), "dtype": counts.dtype}


def reference_key(value, bins_per_octave):
    """Bin of a value by exact arithmetic: octave from frexp, then equal parts of the octave."""
    if value < 2.0**-1022:
        return math.floor(Fraction(value) / Fraction(2.0**-1022) * bins_per_octave)
    mantissa, exponent = math.frexp(value)
    octave = exponent - 1 + 1023
    return octave * bins_per_octave + math.floor((2 * Fraction(mantissa) - 1) * bins_per_octave)


def reference_counts(rows, weights, bins_per_octave):
    counts, zeros = Counter(), 0.0
    for row, weight in zip(rows, weights, strict=True):
        for value in row:
            if value == 0.0:
                zeros += weight
            elif weight:
                counts[reference_key(value, bins_per_octave)] += weight
    return counts, zeros
