"""Arguments that every method must refuse, by name, so that a test's id reads like a call."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def bad_rows(width: int, *, signed: bool = False) -> dict[str, Any]:
    """Return rows that no estimator of histograms accepts.

    Parameters
    ----------
    width : int
        Number of columns the estimator has learnt, at least 2.
    signed : bool, default=False
        Whether negative values are welcome, as they are where any features are learnt; sparse
        rows are then refused instead.

    Examples
    --------
    >>> bad_rows(2)["nan"]
    array([[ 1., nan]])
    """
    good = np.ones((1, width))
    rows: dict[str, Any] = {
        "nan": _with_last(good, np.nan),
        "infinite": _with_last(good, np.inf),
        "minus infinite": _with_last(good, -np.inf),
        "objects": good.astype(object) + np.array([*[0] * (width - 1), 1j], dtype=object),
        "words among objects": np.array([[1.0] * (width - 1) + ["one"]], dtype=object),
        "words": np.array([["1"] * width]),
        "bytes": np.array([[b"1"] * width]),
        "complex": good + 1j,
        "dates": np.full((1, width), "2020-01-01", dtype="datetime64[D]"),
        "no rows": np.empty((0, width)),
        "no columns": np.empty((2, 0)),
        "one dimension": np.ones(width),
        "three dimensions": np.ones((2, width, 2)),
        "a number": 3.0,
        "a word": "rows",
        "nothing": None,
        "a dict": {"a": 1.0},
        "ragged": [[1.0] * width, [1.0]],
        "one column more": np.ones((2, width + 1)),
        "one column less": np.ones((2, width - 1)),
    }
    if signed:
        return rows | {"sparse": sparse.csr_array(good), "huge": 1e200 * good}
    return rows | {
        "negative": _with_last(good, -0.25),
        "hardly negative": _with_last(good, -5e-324),
        "sparse and negative": sparse.csr_array(_with_last(good, -1.0)),
        "sparse and nan": sparse.coo_array(_with_last(good, np.nan)),
        "sparse and complex": sparse.csr_array(good + 1j),
    }


def bad_labels(n_rows: int) -> dict[str, Any]:
    """Return labels that no classifier accepts for ``n_rows`` rows, at least 2."""
    return {
        "nothing": None,
        "too few": [0] * (n_rows - 1),
        "too many": [0] * (n_rows + 1),
        "continuous": np.linspace(0.25, 0.75, n_rows),
        "nan": [np.nan] * n_rows,
        "infinite": np.full(n_rows, np.inf),
        "words and numbers": ["a", *[1] * (n_rows - 1)],
        "objects": [object()] * n_rows,
        "tuples": [(1, 2)] * n_rows,
        "complex": np.full(n_rows, 1j),
        "dates": np.full(n_rows, "2020-01-01", dtype="datetime64[D]"),
        "two columns": np.full((n_rows, 2), 3),
        "a number": 1,
    }


def bad_numbers(n_rows: int) -> dict[str, Any]:
    """Return targets that no regressor accepts for ``n_rows`` rows, at least 2."""
    return {
        "nothing": None,
        "too few": [0.0] * (n_rows - 1),
        "too many": [0.0] * (n_rows + 1),
        "nan": [*[0.0] * (n_rows - 1), np.nan],
        "infinite": [*[0.0] * (n_rows - 1), -np.inf],
        "huge": np.full(n_rows, 1e200),
        "words": ["a"] * n_rows,
        "objects": [object()] * n_rows,
        "complex": np.full(n_rows, 1j),
        "dates": np.full(n_rows, "2020-01-01", dtype="datetime64[D]"),
        "three dimensions": np.zeros((n_rows, 1, 1)),
        "a number": 1.0,
    }


def bad_weights(n_rows: int) -> dict[str, Any]:
    """Return weights that nobody accepts for ``n_rows`` rows, at least 2."""
    return {
        "too few": [1.0] * (n_rows - 1),
        "too many": [1.0] * (n_rows + 1),
        "negative": [*[1.0] * (n_rows - 1), -1.0],
        "nan": [*[1.0] * (n_rows - 1), np.nan],
        "infinite": [*[1.0] * (n_rows - 1), np.inf],
        "huge": [1e300] * n_rows,
        "words": ["heavy"] * n_rows,
        "a word": "heavy",
        "complex": np.full(n_rows, 1j),
        "two dimensions": np.ones((n_rows, 1)),
        "objects": [object()] * n_rows,
        "a dict": {"a": 1.0},
    }


def _with_last(rows: Any, value: float) -> Any:
    changed = rows.copy()
    changed[-1, -1] = value
    return changed
