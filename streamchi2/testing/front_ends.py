"""How laws call estimators: scikit-learn's learn arrays in batches, river's dicts one by one."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor


class FrontEnd:
    """How estimators are called: those of scikit-learn's kind, by arrays and ``partial_fit``."""

    is_river = False
    learner, weights, predictor = "partial_fit", "sample_weight", "predict"
    readers = ("transform", "decision_function", "predict_proba", "predict")

    def fresh(self, estimator: Any, **changes: Any) -> Any:
        """Return an estimator of the same parameters, but for changes, that has learnt nothing."""
        return clone(estimator).set_params(**changes)

    def rows(self, rows: Any) -> Any:
        """Return rows in the form that is learnt: an array of two dimensions, or a sparse one."""
        rows = sparse.csr_array(rows) if sparse.issparse(rows) else np.asarray(rows)
        if rows.ndim != 2 or rows.shape[0] == 0:
            raise ValueError(f"rows must be of shape (n, d) with n > 0, got shape {rows.shape}")
        return rows

    def targets(self, targets: Any) -> NDArray[Any]:
        """Return targets in the form that is learnt: an array."""
        return np.asarray(targets)

    def learn(self, model: Any, rows: Any, targets: Any, batch: bool = True, **more: Any) -> None:
        """Let a model learn rows, by one call of ``partial_fit``."""
        model.partial_fit(rows, *(() if targets is None else (targets,)), **more)

    def read(self, model: Any, name: str, rows: Any) -> dict[str, NDArray[Any]]:
        """Return what one method says about rows: a dense array under the name of the method."""
        said = getattr(model, name)(rows)
        return {name: said.toarray() if sparse.issparse(said) else np.asarray(said)}

    def forms_of_zero(self, rows: Any) -> dict[str, Any]:
        """Return rows dense, without storing their zeros, and storing them."""
        dense = rows.toarray() if sparse.issparse(rows) else rows
        everywhere = np.nonzero(np.ones(dense.shape))
        stored = sparse.coo_array((dense.ravel(), everywhere), dense.shape).tocsr()
        return {"dense": dense, "left out": sparse.csr_array(dense), "stored": stored}

    def accepts(self, estimator: Any, parameter: str) -> bool:
        """Return whether a parameter may be given when an estimator learns."""
        return parameter in inspect.signature(getattr(estimator, self.learner)).parameters

    def predicts(self, estimator: Any) -> str:
        """Return "labels", "numbers" or "nothing"."""
        if is_classifier(estimator):
            return "labels"
        return "numbers" if is_regressor(estimator) else "nothing"


class DictFrontEnd(FrontEnd):
    """Estimators of river's kind, which learn dicts with ``learn_one``, frames with ``learn_many``.

    Rows are kept as an array of dicts, so that both kinds are indexed in the same way.
    """

    is_river = True
    learner, weights, predictor = "learn_one", "w", "predict_one"
    readers = ("transform_one", "predict_proba_one", "predict_one", "score_one")

    def fresh(self, estimator: Any, **changes: Any) -> Any:
        """Return a clone, as river makes them."""
        return estimator.clone(changes)

    def rows(self, rows: Any) -> Any:
        """Return dicts; columns of an array are named x0, x1 and so on."""
        if isinstance(rows, np.ndarray) and rows.ndim == 2:
            rows = [{f"x{i}": value for i, value in enumerate(row)} for row in rows.tolist()]
        rows = self.targets(rows)
        if not rows.size or not all(isinstance(row, dict) for row in rows):
            raise ValueError(f"rows must be a list of dicts, or of shape (n, d), got {rows!r:.80}")
        return rows

    def targets(self, targets: Any) -> NDArray[Any]:
        """Return Python's scalars or dicts, as river's models are used with."""
        plain = targets.tolist() if isinstance(targets, np.ndarray) else targets
        return np.fromiter(plain, dtype=object)

    def learn(self, model: Any, rows: Any, targets: Any, batch: bool = False, **more: Any) -> None:
        """Call ``learn_one`` for every row, or ``learn_many`` with a frame without absent keys."""
        if batch:
            import pandas as pd

            kind = pd.DataFrame if isinstance(np.ravel(targets)[0], dict) else pd.Series
            target = () if targets is None else (kind(targets.tolist()),)
            model.learn_many(pd.DataFrame(rows.tolist()).fillna(0.0), *target)
            return
        for index, row in enumerate(rows):
            target = () if targets is None else (targets[index],)
            model.learn_one(row, *target, **{name: float(it[index]) for name, it in more.items()})

    def read(self, model: Any, name: str, rows: Any) -> dict[str, NDArray[Any]]:
        """Return one array, or one for each key of answers that are dicts."""
        return columns(name, [getattr(model, name)(row) for row in rows])

    def forms_of_zero(self, rows: Any) -> dict[str, Any]:
        """Return dicts with every key, without zeros, and in another order."""
        names = sorted({name for row in rows for name in row}, key=repr)
        forms = {
            "written out": [{name: row.get(name, 0.0) for name in names} for row in rows],
            "left out": [{name: value for name, value in row.items() if value} for row in rows],
            "in another order": [dict(reversed(row.items())) for row in rows],
        }
        return {form: self.targets(some) for form, some in forms.items()}

    def predicts(self, estimator: Any) -> str:
        """Ask river."""
        if isinstance(estimator, base.Classifier | base.MultiLabelClassifier):
            return "labels"
        numbers = isinstance(estimator, base.Regressor | base.MultiTargetRegressor)
        return "numbers" if numbers else "nothing"


def front_end_of(estimator: Any) -> FrontEnd:
    """Return how an estimator is called; refuse what cannot learn from a stream."""
    for kind in (DictFrontEnd, FrontEnd):
        if hasattr(estimator, kind.learner) and not isinstance(estimator, type):
            return kind()
    raise TypeError(f"estimator must be one with partial_fit or learn_one, got {estimator!r:.80}")


def columns(name: str, answers: Sequence[Any]) -> dict[str, NDArray[Any]]:
    """Return answers as one array, or dicts as one array for each key, NaN where it is absent.

    >>> columns("f", [{"a": 1.0}, {"b": 2.0}])
    {"f['a']": array([ 1., nan]), "f['b']": array([nan,  2.])}
    """
    dicts = [answer for answer in answers if isinstance(answer, dict)]
    if not dicts:
        return {name: np.array(answers)}
    table: dict[str, NDArray[Any]] = {}
    for key in sorted({key for answer in dicts for key in answer}, key=repr):
        column = [it.get(key, np.nan) if isinstance(it, dict) else np.nan for it in answers]
        table |= columns(f"{name}[{key!r}]", column)
    return table
