"""How laws call estimators: scikit-learn's learn arrays in batches, river's dicts one by one."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor


class FrontEnd(Protocol):
    """What a law needs of a kind of estimators."""

    readers: tuple[str, ...]

    def fresh(self, estimator: Any) -> Any:
        """Return an estimator with the same parameters that has learnt nothing."""

    def stream(self, rows: Any, targets: Any) -> tuple[Any, Any]:
        """Return rows and targets in the form that the estimators take; refuse an empty stream."""

    def learn(
        self, estimator: Any, rows: Any, targets: Any, *, weights: Any = None, classes: Any = None
    ) -> Any:
        """Let an estimator learn rows, and return it."""

    def learn_in_pieces(
        self, estimator: Any, rows: Any, targets: Any, cuts: Sequence[int], classes: Any = None
    ) -> Any:
        """Let an estimator learn rows in batches cut at some positions, and return it."""

    def take(self, values: Any, index: Any) -> Any:
        """Return the rows, targets or weights at some positions, in that order."""

    def read_one_way(self, estimator: Any, name: str, rows: Any) -> Any:
        """Return what one method says about rows."""

    def takes_weights(self, estimator: Any) -> bool:
        """Return whether rows may be weighted."""

    def kind(self, estimator: Any) -> str:
        """Return "classifier", "regressor" or "transformer"."""


class ArrayFrontEnd:
    """Estimators of scikit-learn's kind, which learn arrays with ``partial_fit``."""

    readers: tuple[str, ...] = ("transform", "decision_function", "predict_proba", "predict")

    def fresh(self, estimator: Any) -> Any:
        """Return an unfitted clone."""
        return clone(estimator)

    def stream(self, rows: Any, targets: Any) -> tuple[Any, Any]:
        """Return rows as an array of two dimensions, or sparse, and targets as an array."""
        if sparse.issparse(rows):
            rows = sparse.csr_array(rows)
        elif not isinstance(rows, np.ndarray):
            rows = np.asarray(rows)
        if rows.ndim != 2 or rows.shape[0] == 0:
            raise ValueError(f"rows must be of shape (n, d) with n > 0, got shape {rows.shape}")
        return rows, _one_each(None if targets is None else np.asarray(targets), rows.shape[0])

    def learn(
        self, estimator: Any, rows: Any, targets: Any, *, weights: Any = None, classes: Any = None
    ) -> Any:
        """Call ``partial_fit`` once."""
        more = {"sample_weight": weights, "classes": classes}
        arguments = () if targets is None else (targets,)
        estimator.partial_fit(
            rows, *arguments, **{name: value for name, value in more.items() if value is not None}
        )
        return estimator

    def learn_in_pieces(
        self, estimator: Any, rows: Any, targets: Any, cuts: Sequence[int], classes: Any = None
    ) -> Any:
        """Call ``partial_fit`` for every batch; classes are announced to the first."""
        for start, stop in pairwise(ends_of_batches(cuts, rows.shape[0])):
            piece = None if targets is None else targets[start:stop]
            self.learn(estimator, rows[start:stop], piece, classes=None if start else classes)
        return estimator

    def take(self, values: Any, index: Any) -> Any:
        """Index an array."""
        return None if values is None else values[index]

    def read_one_way(self, estimator: Any, name: str, rows: Any) -> Any:
        """Return a dense array."""
        found = getattr(estimator, name)(rows)
        return found.toarray() if sparse.issparse(found) else np.asarray(found)

    def takes_weights(self, estimator: Any) -> bool:
        """Look for ``sample_weight`` in the signature of ``partial_fit``."""
        return "sample_weight" in inspect.signature(estimator.partial_fit).parameters

    def kind(self, estimator: Any) -> str:
        """Ask scikit-learn."""
        if is_classifier(estimator):
            return "classifier"
        return "regressor" if is_regressor(estimator) else "transformer"


class DictFrontEnd:
    """Estimators of river's kind, which learn dicts with ``learn_one``, frames with ``learn_many``.

    Batches of the cut law are pandas frames, so every dict is written out with all keys of the
    stream there.
    """

    readers: tuple[str, ...] = ("transform_one", "predict_proba_one", "predict_one", "score_one")

    def fresh(self, estimator: Any) -> Any:
        """Return a clone, as river makes them."""
        return estimator.clone()

    def stream(self, rows: Any, targets: Any) -> tuple[Any, Any]:
        """Return rows as a list of dicts; columns of an array are named x0, x1 and so on."""
        if isinstance(rows, np.ndarray):
            rows = [
                {f"x{place}": value for place, value in enumerate(row)} for row in rows.tolist()
            ]
        rows = list(rows)
        if not rows or not all(isinstance(row, dict) for row in rows):
            raise ValueError(
                f"rows must be an array of shape (n, d) or a list of dicts, n > 0, got {rows!r:.80}"
            )
        return rows, _one_each(None if targets is None else _plain(targets), len(rows))

    def learn(
        self, estimator: Any, rows: Any, targets: Any, *, weights: Any = None, classes: Any = None
    ) -> Any:
        """Call ``learn_one`` for every row; river's classifiers are not told their classes."""
        for place, row in enumerate(rows):
            target = () if targets is None else (targets[place],)
            weight = {} if weights is None else {"w": float(weights[place])}
            estimator.learn_one(row, *target, **weight)
        return estimator

    def learn_in_pieces(
        self, estimator: Any, rows: Any, targets: Any, cuts: Sequence[int], classes: Any = None
    ) -> Any:
        """Call ``learn_many`` with a frame for every batch."""
        import pandas as pd

        for start, stop in pairwise(ends_of_batches(cuts, len(rows))):
            places = range(start, stop)
            target = () if targets is None else (pd.Series(targets[start:stop], index=places),)
            estimator.learn_many(pd.DataFrame(rows[start:stop], index=places), *target)
        return estimator

    def take(self, values: Any, index: Any) -> Any:
        """Index a list as numpy indexes arrays."""
        if values is None:
            return None
        return [values[place] for place in np.arange(len(values))[index].tolist()]

    def read_one_way(self, estimator: Any, name: str, rows: Any) -> Any:
        """Return a list with one answer per row."""
        read = getattr(estimator, name)
        return [read(row) for row in rows]

    def takes_weights(self, estimator: Any) -> bool:
        """Look for ``w`` in the signature of ``learn_one``."""
        return "w" in inspect.signature(estimator.learn_one).parameters

    def kind(self, estimator: Any) -> str:
        """Ask river."""
        from river import base

        if isinstance(estimator, base.Classifier):
            return "classifier"
        return "regressor" if isinstance(estimator, base.Regressor) else "transformer"


def front_end_of(estimator: Any) -> FrontEnd:
    """Return how an estimator is called; refuse what cannot learn from a stream."""
    if isinstance(estimator, type):
        raise TypeError(f"estimator must be an instance, got the class {estimator.__name__}")
    if hasattr(estimator, "learn_one"):
        return DictFrontEnd()
    if hasattr(estimator, "partial_fit"):
        return ArrayFrontEnd()
    raise TypeError(
        "estimator must learn from a stream, with partial_fit or learn_one, got "
        f"{type(estimator).__name__}"
    )


def ends_of_batches(cuts: Sequence[int], n_rows: int) -> list[int]:
    """Return the ends of the batches with 0 in front; refuse cuts that are not between rows."""
    for cut in cuts:
        if not 0 < cut < n_rows:
            raise ValueError(
                f"cuts must lie between 1 and {n_rows - 1} for {n_rows} rows, got {cut!r}; "
                "elsewhere they would cut nothing"
            )
    return [0, *sorted({int(cut) for cut in cuts}), n_rows]


def written_out(rows: Sequence[dict[Any, Any]]) -> list[dict[Any, Any]]:
    """Return dicts that all have the same keys, zero where there was none."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [{name: row.get(name, 0.0) for name in names} for row in rows]


def n_rows_of(rows: Any) -> int:
    """Return the number of rows of an array, sparse or not, or list."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def _plain(values: Any) -> list[Any]:
    """Return Python's own scalars, as river's models are used with."""
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _one_each(targets: Any, n_rows: int) -> Any:
    if targets is not None and len(targets) != n_rows:
        raise ValueError(
            f"targets must be one per row, got {len(targets)} targets for {n_rows} rows"
        )
    return targets
