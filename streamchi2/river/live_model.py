"""The model in force between two refreshes: frozen, and quick for a single row."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from streamchi2.solvers.linear_model import LinearModel
from streamchi2.validation import Floats


@dataclass(frozen=True, eq=False)
class LiveModel:
    """A linear model with the labels of its outputs and the inverse_temperature of their probabilities.

    Examples
    --------
    >>> model = LinearModel(np.array([[1.0, -1.0]]), np.array([0.0, 1.0]), np.zeros(1), 1.0)
    >>> live = LiveModel(model, ["ham", "spam"], 5.0)
    >>> live.label(live.scores(np.ones(1)))
    'ham'
    """

    linear: LinearModel
    labels: list[Any]
    inverse_temperature: float = 1.0

    def scores(self, features: Floats) -> NDArray[np.float64]:
        """Return one score per output for one row of features, shape (D,)."""
        # No BLAS: it would wake its threads for microseconds of work. And one row at a time also
        # in batches, since a matrix product may round otherwise than its rows.
        scores: NDArray[np.float64] = np.einsum("ij,j->i", self._rows, features, dtype=np.float64)
        return scores + self.linear.intercept

    @cached_property
    def _rows(self) -> NDArray[np.float64]:
        return np.ascontiguousarray(self.linear.coef.T)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def label(self, scores: NDArray[np.float64]) -> Any:
        """Return the label with the highest score."""
        return self.labels[int(scores.argmax())]

    def probabilities(self, scores: NDArray[np.float64]) -> dict[Any, float]:
        """Return a probability for each label, adding up to one."""
        shares = softmax(self.inverse_temperature * scores)
        return dict(zip(self.labels, shares.tolist(), strict=True))
