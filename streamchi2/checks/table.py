"""Rows with the names of their columns: what a table of numbers is to an estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Table:
    """Dense rows and their column names, for readers of tables: a DataFrame without pandas.

    Parameters
    ----------
    rows : ndarray, shape (n, d)
        Numbers.
    columns : ndarray of str, shape (d,)
        With dtype object, as scikit-learn keeps names.

    Examples
    --------
    >>> table = Table(np.eye(3), np.array(["red", "green", "blue"], dtype=object))
    >>> table[:2].shape
    (2, 3)
    """

    rows: NDArray[Any]
    columns: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and columns."""
        return self.rows.shape

    def __getitem__(self, chosen: slice) -> Self:
        return type(self)(self.rows[chosen], self.columns)

    def check_same_columns(self, estimator: Any) -> None:
        """Refuse rows of another width than the estimator's, or of other names if it has some."""
        width, known = estimator.n_features_in_, getattr(estimator, "feature_names_in_", None)
        if self.shape[1] != width:
            raise ValueError(f"X must have {width} columns, got {self.shape[1]}")
        if known is not None and not np.array_equal(known, self.columns):
            place = int(np.argmax(known != self.columns))
            raise ValueError(
                "X must have the column names it had at first, in that order: "
                f"got {self.columns[place]!r} for {known[place]!r} in column {place}"
            )
