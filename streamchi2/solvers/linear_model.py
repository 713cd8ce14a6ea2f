"""A linear model of features: coefficients, intercepts, and scores taken about the mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks import Floats
from streamchi2.saving import Value, saved
from streamchi2.statistics.moments import RegressionMoments


@saved("linear_model")
@dataclass(frozen=True, eq=False)
class LinearModel(Value):
    """Coefficients, intercepts and the strength of the penalty that led to them.

    ``centre`` is a point amid the features: scores are taken about it, so that float32 features
    with a large offset keep their digits.

    Examples
    --------
    >>> model = LinearModel(np.array([[2.0, 0.0]]), np.array([1.0, 3.0]), np.zeros(1), alpha=0.0)
    >>> model.scores(np.array([[5.0]]))
    array([[11.,  3.]])
    """

    coef: NDArray[np.float64]  # (d, t)
    intercept: NDArray[np.float64]  # (t,)
    centre: NDArray[np.float64]  # (d,)
    alpha: float

    def check_state(self) -> None:
        """Refuse arrays of which predictions would make nonsense."""
        if self.coef.shape != (self.centre.size, self.intercept.size):
            raise ValueError(f"coef must have a row a feature, got shape {self.coef.shape}")

    def scores(self, features: Floats) -> NDArray[np.float64]:
        """Return one float64 score per row and output, shape (n, t), in O(n d t).

        The product is formed in the precision of the features.
        """
        centre = self.centre.astype(features.dtype)
        at_centre = self.intercept + centre.astype(np.float64) @ self.coef
        scores: NDArray[np.float64] = (features - centre) @ self.coef.astype(features.dtype)
        return scores + at_centre

    def scores_of_row(self, features: Floats) -> NDArray[np.float64]:
        """Return one score per output for one row of features, shape (d,)."""
        # No BLAS: it would wake its threads for microseconds of work. And one row at a time also
        # in batches, since a matrix product may round otherwise than its rows.
        scores: NDArray[np.float64] = np.einsum("ij,j->i", self._rows, features - self.centre)
        return scores + self._at_centre

    @cached_property
    def _rows(self) -> NDArray[np.float64]:
        return np.ascontiguousarray(self.coef.T)

    @cached_property
    def _at_centre(self) -> NDArray[np.float64]:
        # Of one layout, whichever way the coefficients came about: sums depend on it.
        at_centre: NDArray[np.float64] = np.einsum("ij,j->i", self._rows, self.centre)
        return self.intercept + at_centre

    def ordered(self, outputs: NDArray[np.intp]) -> Self:
        """Return the model with its outputs in another order."""
        coef = np.ascontiguousarray(self.coef[:, outputs])
        return replace(self, coef=coef, intercept=self.intercept[outputs])


def linear_model(
    moments: RegressionMoments, coef: NDArray[np.float64], alpha: float
) -> LinearModel:
    r"""Complete coefficients by their intercept :math:`\bar y - w^\top \bar z`."""
    intercept = moments.target_mean - moments.mean @ coef
    return LinearModel(coef, intercept, moments.mean, alpha)
