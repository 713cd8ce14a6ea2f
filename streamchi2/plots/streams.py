"""Rows and predictions of scikit-learn's and river's estimators, for the plots of both."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

Rows = NDArray[np.float64]


def is_rivers(estimator: Any) -> bool:
    """Tell whether an estimator learns from dicts, one by one."""
    return hasattr(estimator, "learn_one") or hasattr(estimator, "transform_one")


def as_dicts(X: Any) -> list[dict[Hashable, Any]]:
    """Return rows as river takes them, from dicts, a pandas DataFrame or an array.

    >>> as_dicts(np.array([[0.5, 1.0]]))
    [{0: 0.5, 1: 1.0}]
    """
    if hasattr(X, "to_dict"):
        found: list[dict[Hashable, Any]] = X.to_dict(orient="records")
        return found
    if sparse.issparse(X):
        X = X.toarray()
    if isinstance(X, np.ndarray):
        return [dict(enumerate(row)) for row in X.tolist()]
    rows = list(X)
    for row in rows:
        if not isinstance(row, Mapping):
            raise TypeError(
                "X must hold dicts for an estimator of river's, or be an array or DataFrame, got "
                f"{row!r}"
            )
    return [dict(row) for row in rows]


def as_array(rows: list[dict[Hashable, Any]]) -> Rows:
    """Return dicts as an array with a column for each key, in the order of their appearance.

    >>> as_array([{"a": 1.0}, {"b": 2.0, "a": 0.5}])
    array([[1. , 0. ],
           [0.5, 2. ]])
    """
    places: dict[Hashable, int] = {}
    for row in rows:
        for key in row:
            places.setdefault(key, len(places))
    found = np.zeros((len(rows), len(places)))
    for own, row in zip(found, rows, strict=True):
        own[[places[key] for key in row]] = list(row.values())
    return found


def predicted_before_learning(
    estimator: Any, X: Any, y: NDArray[Any], batch_size: int
) -> tuple[Any, list[Any], int]:
    """Let a clone predict rows, then learn them; return it, its predictions and where they begin.

    An estimator of river's does so row by row, until it knows a label without a prediction; one of
    scikit-learn's batch by batch, where the first is only learnt.
    """
    if is_rivers(estimator):
        model, guesses = estimator.clone(), []
        for row, target in zip(as_dicts(X), y.tolist(), strict=True):
            guesses.append(model.predict_one(row))
            model.learn_one(row, target)
        start = next((place for place, guess in enumerate(guesses) if guess is not None), 0)
        return model, guesses[start:], start
    model = clone(estimator).partial_fit(X[:batch_size], y[:batch_size])
    found: list[Any] = []
    for begin in range(batch_size, y.shape[0], batch_size):
        batch = slice(begin, begin + batch_size)
        found.extend(model.predict(X[batch]))
        model.partial_fit(X[batch], y[batch])
    return model, found, batch_size
