r"""Ridge regression while rows are not many more than features: n equations instead of D.

.. math:: (K + \alpha\,\mathrm{diag}(1/w))\,A = Y - 1 b^\top, \qquad 1^\top A = 0, \qquad
          W = \tilde Z^\top A

with K the inner products of rows about an origin. It is the model of ridge regression from centred
moments, intercept unpenalised, whatever the origin.
"""

from __future__ import annotations

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import cho_solve, cholesky, solve_triangular

from streamchi2.checks.rows import Array, Floats
from streamchi2.solvers.linear_model import LinearModel

# Products of float32 take half the time, where there are many; smaller penalties than this share of
# the mean squared length of rows would fit their rounding.
_FEW_FEATURES = 256
_LEAST_OF_SINGLE = 1e-3
_LIGHTEST = 1e-100  # a row that has faded to this weight counts as nothing


class DualFactor:
    """The Cholesky factor of a Gram matrix with a penalty, which grows by blocks of rows.

    The origin is the first row, which keeps the digits of rows that are much alike. Where alpha is
    below the rounding errors of the Gram matrix there is no factor, ``is_definite`` says so, and
    the model must come from moments.

    Parameters
    ----------
    alpha : float
        The penalty, at least 0.

    Notes
    -----
    A row costs n D + n^2 operations.

    Examples
    --------
    >>> factor = DualFactor(alpha=1.0)
    >>> factor.add(np.array([[0.0], [1.0]]), np.ones(2))
    >>> factor.add(np.array([[3.0]]), np.ones(1))
    >>> model = factor.solve(np.array([[0.0], [1.0], [2.0]]))
    >>> model.coef.round(3), model.intercept.round(3)
    (array([[0.529]]), array([0.294]))
    """

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self.n_rows = 0
        self.is_definite = True
        # About the first of them; arrays are replaced, never changed, so that copies share them.
        self._rows = np.empty((0, 0))
        self._lower = np.empty((0, 0))
        self._origin = np.empty(0)

    def add(self, features: Floats, weights: Array) -> None:
        """Grow by some rows of positive weight, as they came before."""
        if not self.is_definite:
            return
        if not self.n_rows:
            length = np.square(features - features[0]).sum(axis=1).mean()
            single = features.shape[1] > _FEW_FEATURES and self.alpha >= _LEAST_OF_SINGLE * length
            self._origin = features[0].astype(features.dtype if single else np.float64)
            self._rows = np.empty((0, self._origin.size), self._origin.dtype)
        rows = features - self._origin
        corner = (rows @ rows.T).astype(np.float64, copy=False)
        corner.flat[:: len(rows) + 1] += self.alpha / np.maximum(weights, _LIGHTEST)
        products = (self._rows @ rows.T).astype(np.float64, copy=False)
        below = solve_triangular(self._lower, products, lower=True, check_finite=False)
        corner -= below.T @ below
        # By columns and without gaps, as LAPACK reads it without a copy.
        n_before, self.n_rows = self.n_rows, self.n_rows + len(rows)
        lower = np.zeros((self.n_rows, self.n_rows), order="F")
        lower[:n_before, :n_before] = self._lower
        lower[n_before:, :n_before] = below.T
        try:
            lower[n_before:, n_before:] = cholesky(corner, lower=True, check_finite=False)
        except LinAlgError:
            self.is_definite = False
        self._rows, self._lower = np.concatenate([self._rows, rows]), lower

    def solve(self, targets: Array) -> LinearModel:
        """Return the model of all rows for targets of shape (n, t)."""
        columns = np.column_stack([targets, np.ones(self.n_rows)])
        solved = cho_solve((self._lower, True), columns, check_finite=False)
        intercept = solved[:, :-1].sum(axis=0) / solved[:, -1].sum()
        dual = solved[:, :-1] - np.outer(solved[:, -1], intercept)
        # Not rows.T @ dual, which takes twice as long for few targets.
        coef = (dual.T @ self._rows).T
        origin = self._origin.astype(np.float64)
        return LinearModel(coef, intercept - origin @ coef, origin, self.alpha)
