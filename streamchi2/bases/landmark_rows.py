"""Landmarks that the user has given, as a value: validated, comparable, printable."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from streamchi2.checks import as_rows
from streamchi2.state import Kind, SavedValue, SharedRows, same_rows


@dataclass(frozen=True, eq=False)
class LandmarkRows(SavedValue):
    """Landmarks given by the user; equal where their content is.

    Parameters
    ----------
    rows : csr_array, shape (m, d)
        In canonical form, float64.
    given : object, optional
        What the user gave, so that the same object need not be read again with every batch.

    Examples
    --------
    >>> LandmarkRows.read([[0.5, 0.0, 0.5], [1.0, 0.0, 0.0]])
    <2 rows of 3 columns>
    >>> LandmarkRows.read([[0.5, 0.5]]) == LandmarkRows.read(sparse.csr_array([[0.5, 0.5]]))
    True
    """

    STATE: ClassVar[dict[str, Kind]] = {"rows": SharedRows()}

    rows: sparse.csr_array
    given: Any = field(default=None, repr=False)

    @classmethod
    def read(cls, given: Any) -> Self:
        """Return rows as they come from a user, checked as any rows are, as a copy."""
        try:
            rows = as_rows(given, name="landmarks")
        except (TypeError, ValueError) as error:
            if "landmarks" in str(error):
                raise
            # Whatever has no shape (m, d) is refused by scikit-learn, which calls it X.
            raise type(error)(f"landmarks must be rows of numbers: {error}") from error
        return cls(sparse.csr_array(rows, dtype=np.float64, copy=True), given)

    def is_read_from(self, given: Any) -> bool:
        """Tell whether these rows are known to come from that very object."""
        return given is not None and (given is self.given or given is self.rows)

    @property
    def n_rows(self) -> int:
        """Number of rows m."""
        return int(self.rows.shape[0])

    @property
    def width(self) -> int:
        """Number of columns d."""
        return int(self.rows.shape[1])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LandmarkRows):
            return NotImplemented
        return self is other or same_rows(self.rows, other.rows)

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    def __repr__(self) -> str:
        return f"<{self.n_rows} rows of {self.width} columns>"
