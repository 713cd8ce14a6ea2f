"""A linear model of features, and ridge regression from moments, by a Cholesky factor.

``alpha`` means what it means in ``sklearn.linear_model.Ridge``: alpha times the squared norm of the
coefficients stands against the sum of squared residuals. It is added when solving, never faded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular

from streamchi2.checks.rows import Array, Floats
from streamchi2.saving import Value, saved

_RAISES = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4)  # of the trace


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

    coef: Array  # (d, t)
    intercept: Array  # (t,)
    centre: Array  # (d,)
    alpha: float

    def check_state(self) -> None:
        """Refuse arrays of which predictions would make nonsense."""
        if self.coef.shape != (self.centre.size, self.intercept.size):
            raise ValueError(f"coef must have a row a feature, got shape {self.coef.shape}")

    def scores(self, features: Floats) -> Array:
        """Return one float64 score per row and output, shape (n, t), in O(n d t).

        The product is formed in the precision of the features.
        """
        centre = self.centre.astype(features.dtype)
        at_centre = self.intercept + centre.astype(np.float64) @ self.coef
        scores: Array = (features - centre) @ self.coef.astype(features.dtype)
        return scores + at_centre

    def scores_of_row(self, features: Floats) -> Array:
        """Return one score per output for one row of features, shape (d,)."""
        # No BLAS: it would wake its threads for microseconds of work. And one row at a time also
        # in batches, since a matrix product may round otherwise than its rows.
        scores: Array = np.einsum("ij,j->i", self._rows, features - self.centre)
        return scores + self._at_centre

    @cached_property
    def _rows(self) -> Array:
        return np.ascontiguousarray(self.coef.T)

    @cached_property
    def _at_centre(self) -> Array:
        # Of one layout, whichever way the coefficients came about: sums depend on it.
        at_centre: Array = np.einsum("ij,j->i", self._rows, self.centre)
        return self.intercept + at_centre

    def ordered(self, outputs: NDArray[np.intp]) -> Self:
        """Return the model with its outputs in another order."""
        coef = np.ascontiguousarray(self.coef[:, outputs])
        return replace(self, coef=coef, intercept=self.intercept[outputs])


class InverseRoot:
    r"""A root R of the inverse, :math:`R^\top R = (H + \alpha I)^{-1}`; cost d^3/3.

    It is the inverse of a Cholesky factor, which is not formed. Where alpha is zero, or too small
    for a scatter without full rank, it is made of eigenvectors, with zeros for directions that
    never varied: solutions are those of least norm.

    Parameters
    ----------
    scatter : ndarray, shape (d, d)
        H, of which the lower triangle is read.
    alpha : float
        At least 0.

    Examples
    --------
    >>> InverseRoot(np.diag([3.0, 8.0]), alpha=1.0).solved(np.eye(2)).round(3)
    array([[0.25 , 0.   ],
           [0.   , 0.111]])
    """

    def __init__(self, scatter: Array, alpha: float) -> None:
        self._lower: Array | None = None
        if alpha > 0.0:
            try:
                raised = _raised(scatter, alpha)
                self._lower = cholesky(raised, lower=True, overwrite_a=True, check_finite=False)
            except LinAlgError:
                pass  # alpha is below the rounding errors of the scatter
            else:
                return
        values, vectors = np.linalg.eigh(scatter)
        raised = np.maximum(values, 0.0) + alpha
        rounding = values.size * np.finfo(np.float64).eps * values.max(initial=0.0)
        varies = raised > rounding
        self._root: Array = vectors.T[varies] / np.sqrt(raised[varies, None])

    def times(self, columns: Array) -> Array:
        """Return R times columns, shape (d, n)."""
        if self._lower is None:
            return self._root @ columns
        solved: Array = solve_triangular(self._lower, columns, lower=True, check_finite=False)
        return solved

    def solved(self, columns: Array) -> Array:
        """Return the inverse times columns: for the cross scatter coefficients of ridge."""
        if self._lower is None:
            return self._root.T @ (self._root @ columns)
        solved: Array = cho_solve((self._lower, True), columns, check_finite=False)
        return solved

    def leverages(self, features: Array) -> Array:
        r"""Return :math:`z^\top (H + \alpha I)^{-1} z` for each row, shape (m, 1)."""
        lengths: Array = np.square(self.times(features.T)).sum(axis=0)
        return lengths[:, None]


def definite(scatter: Array) -> tuple[Array, Array]:
    """Return a scatter without negative eigenvalues, and its lower Cholesky factor.

    Products of float32 features leave some of 1e-8 of the largest; the diagonal is raised by as
    much as it takes, in steps of a hundred from 1e-14 of the trace.
    """
    trace = max(float(scatter.trace()), np.finfo(np.float64).tiny)
    for share in _RAISES:
        raised = _raised(scatter, share * trace)
        try:
            return raised, cholesky(raised, lower=True, check_finite=False)
        except LinAlgError:
            continue
    raise LinAlgError(f"the scatter has eigenvalues below {-_RAISES[-1]:g} of its trace")


def _raised(scatter: Array, more: float) -> Array:
    """Return a copy with a raised diagonal, by columns as LAPACK reads it."""
    raised = scatter.copy(order="F")
    raised.flat[:: len(raised) + 1] += more
    return raised
