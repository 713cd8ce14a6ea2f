"""Rows divided by their sums, alike for dense, sparse and single rows."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from streamchi2.checks import Floats, Rows

NORMS = (None, "l1")


def l1_normalized(rows: Rows) -> Rows:
    """Return rows divided by their sums, in their dtype; rows of zeros stay as they are.

    Values are first taken in units of the largest of their row, so that no sum overflows. Sums are
    taken one value after the other, in the order of the columns: a zero between two values
    changes no bit, so that an absent value and a zero are the same input.

    >>> l1_normalized(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[0.25, 0.75],
           [0.  , 0.  ]])
    """
    if isinstance(rows, sparse.csr_array):
        row_of_value = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        largest = np.zeros(rows.shape[0], dtype=rows.dtype)
        np.maximum.at(largest, row_of_value, rows.data)
        shares = rows.data.astype(np.float64) / largest[row_of_value]
        shares /= np.bincount(row_of_value, shares, rows.shape[0])[row_of_value]
        values = shares.astype(rows.dtype, copy=False)
        return sparse.csr_array((values, rows.indices, rows.indptr), shape=rows.shape)
    largest = rows.max(axis=1, keepdims=True, initial=0.0)
    shares = rows.astype(np.float64) / np.where(largest > 0.0, largest, 1.0)
    sums = np.add.accumulate(shares, axis=1)[:, -1:]
    dense: Floats = (shares / np.where(sums > 0.0, sums, 1.0)).astype(rows.dtype, copy=False)
    return dense
