"""A linear model of features: coefficients, intercepts, and scores taken about the mean."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks import Floats
from streamchi2.state import Array, Float, Kind, SavedValue, require
from streamchi2.statistics.target_moments import RegressionMoments


@dataclass(frozen=True, eq=False)
class LinearModel(SavedValue):
    """Coefficients, intercepts and the strength of the penalty that led to them.

    ``centre`` is the mean of the features: scores are taken about it, so that float32 features
    with a large offset keep their digits.
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "coef": Array(2),
        "intercept": Array(),
        "centre": Array(),
        "alpha": Float(0.0),
    }

    coef: NDArray[np.float64]  # (d, t)
    intercept: NDArray[np.float64]  # (t,)
    centre: NDArray[np.float64]  # (d,)
    alpha: float

    def validate(self) -> None:
        """Require arrays of one width and one number of outputs."""
        shape = (self.centre.size, self.intercept.size)
        require(self.coef.shape == shape, f"coef must have shape {shape}")
        require(shape[1] > 0, "there must be an output")

    def scores(self, features: Floats) -> NDArray[np.float64]:
        """Return one float64 score per row and output, shape (n, t), in O(n d t).

        The product is formed in the precision of the features.
        """
        if features.dtype == np.float64:
            return (features - self.centre) @ self.coef + self._at_centre
        centre = self.centre.astype(features.dtype)
        at_centre = self.intercept + centre.astype(np.float64) @ self.coef
        scores: NDArray[np.float64] = (features - centre) @ self.coef.astype(features.dtype)
        return scores + at_centre

    @cached_property
    def _at_centre(self) -> NDArray[np.float64]:
        """Scores at the centre, which take as long as those of a row."""
        scores: NDArray[np.float64] = self.intercept + self.centre @ self.coef
        return scores

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def linear_model(
    moments: RegressionMoments, coef: NDArray[np.float64], alpha: float
) -> LinearModel:
    r"""Complete coefficients by their intercept :math:`\bar y - w^\top \bar z`."""
    intercept = moments.target_mean - moments.mean @ coef
    return LinearModel(coef, intercept, moments.mean, alpha)
