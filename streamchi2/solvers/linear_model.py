"""A linear model on the original features, and the way there through fewer coordinates.

Solvers see moments, in whatever coordinates; what they return is folded back, so that prediction
needs no projection.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamchi2.batch import Floats
from streamchi2.trackers.labelled_moments import RegressionMoments


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


def projected(
    moments: RegressionMoments,
    components: NDArray[np.float64],
    eigenvalues: NDArray[np.float64] | None = None,
) -> RegressionMoments:
    r"""Return the moments of :math:`U^\top z`: :math:`U^\top H U` and :math:`U^\top C`.

    Parameters
    ----------
    moments : RegressionMoments
        Of the features z, width d.
    components : ndarray, shape (d, p)
        The columns of U, orthonormal.
    eigenvalues : ndarray, shape (p,), optional
        Where the columns are eigenvectors of this very scatter, its eigenvalues: the scatter of the
        result is then kept as a diagonal, a flat array, and every solver has a closed form.
    """
    if eigenvalues is None:
        scatter = components.T @ (moments.scatter @ components)
        scatter = (scatter + scatter.T) / 2.0
    else:
        scatter = eigenvalues
    return replace(
        moments,
        mean=moments.mean @ components,
        scatter=scatter,
        cross=components.T @ moments.cross,
    )


def folded_back(
    model: LinearModel, components: NDArray[np.float64], moments: RegressionMoments
) -> LinearModel:
    r"""Return a model of projected features as one of the features: :math:`w = U w_p`.

    >>> two = RegressionMoments(
    ...     2.0, np.array([1.0, 0.0]), np.diag([2.0, 0.0]), np.array([3.0]),
    ...     np.array([[4.0], [0.0]]), np.array([8.0]))
    >>> direction = np.array([[1.0], [0.0]])
    >>> small = linear_model(projected(two, direction), np.array([[2.0]]), 0.0)
    >>> folded_back(small, direction, two).coef.ravel()
    array([2., 0.])
    """
    return linear_model(moments, components @ model.coef, model.alpha)
