"""Hypothesis strategies and tables of values that several tests share."""

import numpy as np
from bad_arguments import bad_rows
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

# Twenty-four decades: beyond any histogram, within what float64 squares without overflow.
positive_values = st.floats(-12, 12).map(lambda exponent: 10.0**exponent)
nodes = st.lists(positive_values, min_size=1, max_size=6)
value_arrays = hnp.arrays(np.float64, st.integers(1, 20), elements=positive_values)

# Arrays that must be refused everywhere, also where any width or a flat row is welcome.
_WELCOME_SOMEWHERE = {"one dimension", "one column more", "one column less"}
BAD_ROWS = {
    name: rows
    for name, rows in bad_rows(2).items()
    if isinstance(rows, np.ndarray) and name not in _WELCOME_SOMEWHERE
} | {"negative": np.array([[1.0, 2.0], [0.5, -0.25]])}


def histogram_rows(max_rows=8, max_columns=6, *, min_rows=1):
    """Return nasty rows: zeros, repeated values and far-apart scales, shape (n, d)."""
    shapes = st.tuples(st.integers(min_rows, max_rows), st.integers(1, max_columns))
    return hnp.arrays(np.float64, shapes, elements=st.just(0.0) | positive_values)
