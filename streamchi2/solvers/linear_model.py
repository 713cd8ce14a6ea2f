"""A linear model of features: coefficients, intercepts, and scores taken about the mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamchi2.statistics.target_moments import RegressionMoments
from streamchi2.validation import Floats


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Coefficients, intercepts and the strength of the penalty that led to them.

    ``centre`` is the mean of the features: scores are taken about it, so that float32 features
    with a large offset keep their digits.
    """

    coef: NDArray[np.float64]  # (d, t)
    intercept: NDArray[np.float64]  # (t,)
    centre: NDArray[np.float64]  # (d,)
    alpha: float

    def scores(self, features: Floats) -> NDArray[np.float64]:
        """Return one float64 score per row and output, shape (n, t), in O(n d t).

        The product is formed in the precision of the features.
        """
        coef = self.coef.astype(features.dtype, copy=False)
        centre = self.centre.astype(features.dtype)
        at_centre = self.intercept + centre.astype(np.float64) @ self.coef
        scores: NDArray[np.float64] = (features - centre) @ coef + at_centre
        return scores


def linear_model(
    moments: RegressionMoments, coef: NDArray[np.float64], alpha: float
) -> LinearModel:
    r"""Complete coefficients by their intercept :math:`\bar y - w^\top \bar z`."""
    intercept = moments.target_mean - moments.mean @ coef
    return LinearModel(coef, intercept, moments.mean, alpha)
