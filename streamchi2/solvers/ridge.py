"""Ridge regression from moments: a Cholesky factor for a given penalty, or a tuned penalty.

``alpha`` means what it means in ``sklearn.linear_model.Ridge``: alpha times the squared norm of the
coefficients stands against the sum of squared residuals. It is added when solving, never faded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigvalsh_tridiagonal, solveh_banded
from scipy.linalg.lapack import dormqr, dsytrd, dsytrd_lwork

from streamchi2.solvers.linear_model import LinearModel, linear_model
from streamchi2.solvers.penalty import Path, penalties
from streamchi2.statistics.target_moments import RegressionMoments
from streamchi2.threads import one_blas_thread


def ridge(moments: RegressionMoments, alpha: float) -> LinearModel:
    r"""Solve :math:`(H + \alpha I) W = C` for all outputs.

    Cost d^3/3 by Cholesky, or O(d t) where the scatter is diagonal. Where alpha is zero, or too
    small for a scatter without full rank, the solution of least norm.

    >>> rows, targets = np.array([[0.0], [2.0]]), np.array([[1.0], [5.0]])
    >>> from streamchi2.statistics.target_moments import TargetMoments
    >>> ridge(TargetMoments(1, 1).update(rows, targets).summary(), alpha=0.0).coef
    array([[2.]])
    """
    return linear_model(moments, _coefficients(moments, alpha), alpha)


def tuned_ridge(moments: RegressionMoments) -> LinearModel:
    r"""Ridge with one penalty for all outputs, chosen from a grid.

    It is that of least generalised cross-validation among those that are not below the penalty of
    restricted maximum likelihood. See :mod:`~streamchi2.solvers.penalty`.

    Parameters
    ----------
    moments : RegressionMoments
        Of features and targets; a flat ``scatter`` is a diagonal.

    Notes
    -----
    No eigenvectors: H is reduced to a tridiagonal T once (4/3 d^3 operations), its eigenvalues give
    degrees of freedom and determinants, and with :math:`x = (T + \lambda)^{-1} b` in O(d t) a
    penalty, :math:`\mathrm{RSS} = S - b^\top x - \lambda x^\top x`.

    Examples
    --------
    >>> from streamchi2.statistics.target_moments import TargetMoments
    >>> line = np.arange(6.0)[:, None]
    >>> noisy = 2.0 * line + np.array([[0.1], [-0.1], [0.1], [-0.1], [0.1], [-0.1]])
    >>> tuned_ridge(TargetMoments(1, 1).update(line, noisy).summary()).coef.round(2)
    array([[1.98]])
    """
    reduced = _reduced(moments)
    if reduced.eigenvalues.max() <= 0.0:  # features that never varied
        return ridge(moments, 1.0)
    alpha = reduced.path(moments.count).chosen()
    return linear_model(moments, reduced.coefficients(alpha), alpha)


@dataclass(frozen=True, eq=False)
class _Reduced:
    """H = Q T Q' with T tridiagonal, and the cross scatter b = Q'C in these coordinates."""

    bands: NDArray[np.float64]  # (2, d): diagonal and subdiagonal of T, as LAPACK wants them
    eigenvalues: NDArray[np.float64]  # (d,)
    cross: NDArray[np.float64]  # (d, t), b
    reflectors: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    total: float  # S, summed over outputs

    def path(self, count: float) -> Path:
        alphas = penalties(float(self.eigenvalues.max()))
        errors = np.array([self._errors(alpha) for alpha in alphas])
        return Path(alphas, errors[:, 0], errors[:, 1], self.eigenvalues, self.total, count)

    def _errors(self, alpha: float) -> tuple[float, float]:
        """Return the residual sum of squares, and the same with the penalty."""
        try:
            solved = self.solved(alpha, self.cross)
        except LinAlgError:
            return np.inf, np.inf  # alpha is below the rounding errors of the scatter
        objective = self.total - float(np.vdot(self.cross, solved))
        return objective - alpha * float(np.vdot(solved, solved)), objective

    def coefficients(self, alpha: float) -> NDArray[np.float64]:
        return _reflected(self.solved(alpha, self.cross), self.reflectors, transposed=False)

    def solved(self, alpha: float, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (T + alpha I)^-1 times the columns."""
        if self.reflectors is None:  # T is diagonal
            divided: NDArray[np.float64] = columns / (self.bands[0] + alpha)[:, None]
            return divided
        bands = self.bands.copy()
        bands[0] += alpha
        solved: NDArray[np.float64] = solveh_banded(bands, columns, lower=True)
        return solved


def _reduced(moments: RegressionMoments) -> _Reduced:
    total = float(moments.target_scatter.sum())
    if moments.scatter.ndim == 1 or moments.scatter.size == 1:
        eigenvalues = np.maximum(moments.scatter.ravel(), 0.0)
        bands = np.vstack([eigenvalues, np.zeros_like(eigenvalues)])
        return _Reduced(bands, eigenvalues, moments.cross, None, total)
    width = moments.scatter.shape[0]
    work = int(dsytrd_lwork(width, lower=1)[0])
    with one_blas_thread:
        reduced, diagonal, below, factors, _ = dsytrd(moments.scatter, lower=1, lwork=work)
    bands = np.vstack([diagonal, np.append(below, 0.0)])
    eigenvalues = np.maximum(eigvalsh_tridiagonal(diagonal, below), 0.0)
    reflectors = (np.asfortranarray(reduced[1:, :-1]), factors)
    cross = _reflected(moments.cross, reflectors, transposed=True)
    return _Reduced(bands, eigenvalues, cross, reflectors, total)


def _reflected(
    columns: NDArray[np.float64],
    reflectors: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
    *,
    transposed: bool,
) -> NDArray[np.float64]:
    """Return Q times the columns, or its transpose; Q leaves the first coordinate alone."""
    if reflectors is None:
        return columns
    side = "T" if transposed else "N"
    work = int(dormqr("L", side, *reflectors, columns[1:], -1)[1][0])
    turned = dormqr("L", side, *reflectors, columns[1:], work)[0]
    return np.vstack([columns[:1], turned])


def _coefficients(moments: RegressionMoments, alpha: float) -> NDArray[np.float64]:
    if moments.scatter.ndim == 1:
        return _inverse_of(moments.scatter, alpha)[:, None] * moments.cross
    if alpha > 0.0:
        raised = moments.scatter.copy(order="F")
        raised.flat[:: raised.shape[0] + 1] += alpha
        try:
            factor = cho_factor(raised, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            pass  # alpha is below the rounding errors of the scatter
        else:
            solved: NDArray[np.float64] = cho_solve(factor, moments.cross, check_finite=False)
            return solved
    values, vectors = np.linalg.eigh(moments.scatter)
    return vectors @ (_inverse_of(values, alpha)[:, None] * (vectors.T @ moments.cross))


def _inverse_of(eigenvalues: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
    """Return 1/(d + alpha), and 0 for directions that never varied where alpha is 0."""
    raised = np.maximum(eigenvalues, 0.0) + alpha
    rounding = eigenvalues.size * np.finfo(np.float64).eps * eigenvalues.max(initial=0.0)
    never = raised <= rounding
    return np.where(never, 0.0, 1.0 / np.where(never, 1.0, raised))
