"""Hypothesis strategies: values and rows of realistic and nasty kinds, and bad arguments."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

# Twenty-four decades: beyond any histogram, within what float64 squares without overflow.
positive_values = st.floats(-12, 12).map(lambda exponent: 10.0**exponent)
landmarks = st.lists(positive_values, min_size=1, max_size=6)
value_arrays = hnp.arrays(np.float64, st.integers(1, 20), elements=positive_values)


def histogram_rows(max_rows: int = 8, max_columns: int = 6) -> st.SearchStrategy:
    """Rows with zeros, repeated values and far-apart scales."""
    shapes = st.tuples(st.integers(1, max_rows), st.integers(1, max_columns))
    return hnp.arrays(np.float64, shapes, elements=st.just(0.0) | positive_values)


BAD_ROWS = {
    "negative": np.array([[1.0, 2.0], [0.5, -0.25]]),
    "nan": np.array([[1.0, np.nan]]),
    "infinite": np.array([[1.0, np.inf]]),
    "object": np.array([[1.0, "one"]], dtype=object),
    "text": np.array([["1", "2"]]),
    "three-dimensional": np.ones((2, 2, 2)),
    "no rows": np.empty((0, 2)),
    "no columns": np.empty((2, 0)),
    "complex": np.array([[1.0, 2.0 + 1j]]),
    "dates": np.array([["2020-01-01"]], dtype="datetime64[D]"),
}
