"""Ridge regression from moments: a Cholesky factor for a given penalty, or a penalty by GCV.

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

from streamchi2.runtime.blas import one_blas_thread
from streamchi2.solvers.linear_model import LinearModel, linear_model
from streamchi2.statistics.target_moments import RegressionMoments

# In units of the largest eigenvalue: below 1e-8 a penalty would fit the rounding of float32.
_GRID = np.logspace(-8, 3, 45)
_PERFECT = 1e-10  # residuals, squared and relative, below which a penalty would fit rounding errors
_MIN_FREEDOM = 1e-4  # share of n that must remain: below, residuals are rounding errors


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


def ridge_by_gcv(moments: RegressionMoments) -> LinearModel:
    r"""Ridge with the one penalty for all outputs that minimises generalised cross-validation.

    With d the eigenvalues of H, v' the cross scatter in its eigenvectors and sums over outputs,

    .. math:: \mathrm{GCV}(\lambda) = \frac{n\,\mathrm{RSS}(\lambda)}{(n - \mathrm{df})^2},
              \quad \mathrm{RSS} = S - \sum v'^2 \frac{d + 2\lambda}{(d + \lambda)^2},
              \quad \mathrm{df} = 1 + \sum \frac{d}{d + \lambda}

    The minimum is taken on a grid of four penalties a decade, from 1e-8 to 1e3 times the largest
    eigenvalue: GCV is flat about its minimum, and a grid keeps rounding out of the choice.
    Penalties that leave less than 1e-4 of n as degrees of freedom are not considered; if none is
    left, the largest one answers.

    Notes
    -----
    No eigenvectors: H is reduced to a tridiagonal T once (4/3 d^3 operations), its eigenvalues give
    df, and with :math:`x = (T + \lambda)^{-1} b` in O(d t) a penalty,
    :math:`\mathrm{RSS} = S - b^\top x - \lambda x^\top x`.

    References
    ----------
    Golub, Heath and Wahba (1979), doi:10.1080/00401706.1979.10489751.

    Examples
    --------
    >>> from streamchi2.statistics.target_moments import TargetMoments
    >>> line = np.arange(6.0)[:, None]
    >>> noisy = 2.0 * line + np.array([[0.1], [-0.1], [0.1], [-0.1], [0.1], [-0.1]])
    >>> ridge_by_gcv(TargetMoments(1, 1).update(line, noisy).summary()).coef.round(2)
    array([[1.98]])
    """
    reduced = _reduced(moments)
    largest = float(reduced.eigenvalues.max())
    if largest <= 0.0:  # features that never varied
        return ridge(moments, 1.0)
    log_alphas = np.log(_GRID * largest)
    scores = [reduced.log_gcv(log_alpha) for log_alpha in log_alphas]
    if not np.isfinite(scores).any():
        best = float(log_alphas[-1])
    else:
        best = float(log_alphas[int(np.argmin(scores))])
    alpha = float(np.exp(best))
    return linear_model(moments, reduced.coefficients(alpha), alpha)


@dataclass(frozen=True, eq=False)
class _Reduced:
    """H = Q T Q' with T tridiagonal, and the cross scatter b = Q'C in these coordinates."""

    bands: NDArray[np.float64]  # (2, d): diagonal and subdiagonal of T, as LAPACK wants them
    eigenvalues: NDArray[np.float64]  # (d,)
    cross: NDArray[np.float64]  # (d, t), b
    reflectors: tuple[NDArray[np.float64], NDArray[np.float64]] | None
    weight: float
    total: float  # S, summed over outputs

    def log_gcv(self, log_alpha: float) -> float:
        alpha = np.exp(log_alpha)
        freedom = self.weight - 1.0 - float((self.eigenvalues / (self.eigenvalues + alpha)).sum())
        if freedom <= _MIN_FREEDOM * self.weight:
            return np.inf
        try:
            solved = self._solved(alpha)
        except LinAlgError:
            return np.inf  # alpha is below the rounding errors of the scatter
        explained = np.vdot(self.cross, solved) + alpha * np.vdot(solved, solved)
        residual = max(self.total - explained, _PERFECT * self.total)
        return float(np.log(max(residual, np.finfo(np.float64).tiny)) - 2.0 * np.log(freedom))

    def coefficients(self, alpha: float) -> NDArray[np.float64]:
        return _reflected(self._solved(alpha), self.reflectors, transposed=False)

    def _solved(self, alpha: float) -> NDArray[np.float64]:
        if self.reflectors is None:  # T is diagonal
            divided: NDArray[np.float64] = self.cross / (self.bands[0] + alpha)[:, None]
            return divided
        bands = self.bands.copy()
        bands[0] += alpha
        solved: NDArray[np.float64] = solveh_banded(bands, self.cross, lower=True)
        return solved


def _reduced(moments: RegressionMoments) -> _Reduced:
    total = float(moments.target_scatter.sum())
    if moments.scatter.ndim == 1 or moments.scatter.size == 1:
        eigenvalues = np.maximum(moments.scatter.ravel(), 0.0)
        bands = np.vstack([eigenvalues, np.zeros_like(eigenvalues)])
        return _Reduced(bands, eigenvalues, moments.cross, None, moments.weight, total)
    width = moments.scatter.shape[0]
    work = int(dsytrd_lwork(width, lower=1)[0])
    with one_blas_thread:
        reduced, diagonal, below, factors, _ = dsytrd(moments.scatter, lower=1, lwork=work)
    bands = np.vstack([diagonal, np.append(below, 0.0)])
    eigenvalues = np.maximum(eigvalsh_tridiagonal(diagonal, below), 0.0)
    reflectors = (np.asfortranarray(reduced[1:, :-1]), factors)
    cross = _reflected(moments.cross, reflectors, transposed=True)
    return _Reduced(bands, eigenvalues, cross, reflectors, moments.weight, total)


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
