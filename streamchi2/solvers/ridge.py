"""Ridge regression from moments, by a Cholesky factor.

``alpha`` means what it means in ``sklearn.linear_model.Ridge``: alpha times the squared norm of the
coefficients stands against the sum of squared residuals. It is added when solving, never faded.
"""

from __future__ import annotations

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from streamchi2.solvers.linear_model import LinearModel, linear_model
from streamchi2.statistics.moments import RegressionMoments


def ridge(moments: RegressionMoments, alpha: float) -> LinearModel:
    r"""Solve :math:`(H + \alpha I) W = C` for all outputs.

    Cost d^3/3 by Cholesky, or O(d t) where the scatter is diagonal. Where alpha is zero, or too
    small for a scatter without full rank, the solution of least norm.

    >>> from streamchi2.statistics.moments import Moments
    >>> moments = Moments.empty(np.zeros(1), np.zeros(1))
    >>> moments.add(np.array([[0.0], [2.0]]), np.array([[1.0], [5.0]]), np.ones(2))
    >>> ridge(moments.summary(), alpha=0.0).coef
    array([[2.]])
    """
    root = InverseRoot(moments.scatter, alpha)
    return linear_model(moments, root.transposed(root.times(moments.cross)), alpha)


class InverseRoot:
    r"""A root R of the inverse, :math:`R^\top R = (H + \alpha I)^{-1}`.

    It is the inverse of a Cholesky factor, which is not formed, or made of eigenvectors, with zeros
    for directions that never varied, where there is no factor.

    Parameters
    ----------
    scatter : ndarray, shape (d, d) or (d,)
        H, of which the lower triangle is read; a flat one is a diagonal.
    alpha : float
        At least 0.

    Examples
    --------
    >>> root = InverseRoot(np.array([3.0, 8.0]), alpha=1.0)
    >>> root.transposed(root.times(np.eye(2))).round(3)
    array([[0.25 , 0.   ],
           [0.   , 0.111]])
    """

    def __init__(self, scatter: NDArray[np.float64], alpha: float) -> None:
        self._lower: NDArray[np.float64] | None = None
        if scatter.ndim == 1:
            self._root = np.sqrt(_inverse_of(scatter, alpha))[:, None]
            self._vectors = None
            return
        if alpha > 0.0:
            raised = scatter.copy(order="F")
            raised.flat[:: raised.shape[0] + 1] += alpha
            try:
                self._lower = cholesky(raised, lower=True, overwrite_a=True, check_finite=False)
            except LinAlgError:
                pass  # alpha is below the rounding errors of the scatter
            else:
                return
        values, self._vectors = np.linalg.eigh(scatter)
        self._root = np.sqrt(_inverse_of(values, alpha))[:, None]

    def times(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return R times columns, shape (d, n)."""
        if self._lower is not None:
            return np.asarray(
                solve_triangular(self._lower, columns, lower=True, check_finite=False)
            )
        turned = columns if self._vectors is None else self._vectors.T @ columns
        return np.asarray(self._root * turned)

    def transposed(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return R' times columns."""
        if self._lower is not None:
            return np.asarray(
                solve_triangular(self._lower, columns, trans="T", lower=True, check_finite=False)
            )
        scaled = self._root * columns
        return np.asarray(scaled if self._vectors is None else self._vectors @ scaled)


def _inverse_of(eigenvalues: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """Return 1/(d + alpha), and 0 for directions that never varied where alpha is 0."""
    raised = np.maximum(eigenvalues, 0.0) + alpha
    rounding = eigenvalues.size * np.finfo(np.float64).eps * eigenvalues.max(initial=0.0)
    never = raised <= rounding
    return np.where(never, 0.0, 1.0 / np.where(never, 1.0, raised))
