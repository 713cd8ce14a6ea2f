"""Landmarks as a value: validated, comparable, printable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from streamchi2.checks import as_rows
from streamchi2.saving import Value, saved


@saved("landmark_rows")
@dataclass(frozen=True, eq=False, repr=False)
class LandmarkRows(Value):
    """Rows that are landmarks, in canonical form; equal where their content is.

    Examples
    --------
    >>> LandmarkRows.read([[0.5, 0.0, 0.5], [1.0, 0.0, 0.0]])
    <2 rows of 3 columns>
    >>> LandmarkRows.read([[0.5, 0.5]]) == LandmarkRows.read(sparse.csr_array([[0.5, 0.5]]))
    True
    """

    rows: sparse.csr_array

    @classmethod
    def read(cls, given: Any) -> Self:
        """Return rows as they come from a user, checked as any rows are, as a copy."""
        if isinstance(given, cls):
            return given
        try:
            rows = as_rows(given, name="landmarks")
        except (TypeError, ValueError) as error:
            if "landmarks" in str(error):
                raise
            # Whatever has no shape (m, d) is refused by scikit-learn, which calls it X.
            raise type(error)(f"landmarks must be rows of numbers: {error}") from error
        return cls(sparse.csr_array(rows, dtype=np.float64, copy=True))

    @property
    def n_rows(self) -> int:
        """Number of rows m."""
        return int(self.rows.shape[0])

    @property
    def width(self) -> int:
        """Number of columns d."""
        return int(self.rows.shape[1])

    def __repr__(self) -> str:
        return f"<{self.n_rows} rows of {self.width} columns>"
