"""The strategies of the public test kit, under the names that the tests know them by."""

import numpy as np

from streamchi2.testing import (
    bad_rows,
    histogram_rows,
    nodes,
    positive_values,
    value_arrays,
)

__all__ = ["BAD_ROWS", "histogram_rows", "nodes", "positive_values", "value_arrays"]

# Arrays that must be refused everywhere, also where any width or a flat row is welcome.
_WELCOME_SOMEWHERE = {"one dimension", "one column more", "one column less"}
BAD_ROWS = {
    name: rows
    for name, rows in bad_rows(2).items()
    if isinstance(rows, np.ndarray) and name not in _WELCOME_SOMEWHERE
} | {"negative": np.array([[1.0, 2.0], [0.5, -0.25]])}
