r"""Lasso and elastic net from moments, in scikit-learn's parametrisation.

.. math:: \min_w \tfrac{1}{2n} \|y - Zw\|^2 + \alpha\rho\|w\|_1 + \tfrac12\alpha(1-\rho)\|w\|^2

with :math:`\rho` the ``l1_ratio``. In moments, n times this is, up to a constant,
:math:`\tfrac12 w^\top H w - C^\top w + \lambda_1\|w\|_1 + \tfrac12\lambda_2\|w\|^2`
with :math:`\lambda_1 = n\alpha\rho` and :math:`\lambda_2 = n\alpha(1-\rho)`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from streamchi2.solvers.coordinate_descent import (
    TOLERANCE,
    Penalty,
    coordinate_descent,
    diagonal_solution,
)
from streamchi2.solvers.linear_model import LinearModel, linear_model
from streamchi2.solvers.ridge import ridge
from streamchi2.statistics.target_moments import RegressionMoments

_GRID = np.logspace(0, -4, 25)  # in units of the smallest alpha that leaves nothing
_PATIENCE = 6  # points of the grid, a decade
_ROUGH = 1e-5  # tolerance that is enough to compare penalties
_ROUNDING = 64 * float(np.finfo(np.float64).eps)  # of a mean, or of a correlation


def elastic_net(moments: RegressionMoments, alpha: float, l1_ratio: float = 1.0) -> LinearModel:
    """Lasso (``l1_ratio=1``) or elastic net for all outputs, each on its own.

    Closed form where the scatter is diagonal, coordinate descent on the scatter otherwise, until
    the optimality conditions hold to 1e-9 of the largest cross scatter; a ``ConvergenceWarning``
    says that they do not. Targets that are constant, or correlated with no feature, up to rounding
    have no coefficients.

    Parameters
    ----------
    moments : RegressionMoments
        Of features and targets; a flat ``scatter`` is a diagonal.
    alpha : float
        Strength of the penalty, at least 0.
    l1_ratio : float, default=1.0
        Share of the absolute values in the penalty, in (0, 1].

    See Also
    --------
    sklearn.linear_model.ElasticNet : the same minimum from the rows.

    References
    ----------
    Friedman, Hastie and Tibshirani (2010), section 2.2, doi:10.18637/jss.v033.i01.

    Examples
    --------
    >>> from streamchi2.statistics.target_moments import TargetMoments
    >>> rows, targets = np.array([[0.0], [2.0]]), np.array([[1.0], [5.0]])
    >>> elastic_net(TargetMoments(1, 1).update(rows, targets).summary(), alpha=0.5).coef
    array([[1.5]])
    """
    moments = _without_rounding(moments)
    if alpha == 0.0:  # least squares, for which descent would take minutes
        return ridge(moments, 0.0)
    penalty = Penalty.of(moments.weight, alpha, l1_ratio)
    return linear_model(moments, _solved(moments, penalty), alpha)


def elastic_net_by_gcv(moments: RegressionMoments, l1_ratio: float = 1.0) -> LinearModel:
    r"""Lasso or elastic net with the penalty that minimises generalised cross-validation.

    .. math:: \mathrm{GCV}(\alpha) = \sum_t \frac{n\,\mathrm{RSS}_t}{(n - \mathrm{df}_t)^2}, \qquad
              \mathrm{df} = 1 + \mathrm{tr}\,H_A (H_A + \lambda_2)^{-1}

    with A the non-zero coefficients of an output: for the lasso, their number. The grid has six
    penalties a decade over four decades, from the smallest one that leaves no coefficient; each is
    started from the one before, and the search ends when a whole decade has brought nothing.
    Penalties that leave no degrees of freedom are not considered. n is the number of rows that the
    weights stand for.

    References
    ----------
    Zou, Hastie and Tibshirani (2007), doi:10.1214/009053607000000127.

    Examples
    --------
    >>> from streamchi2.statistics.target_moments import TargetMoments
    >>> line = np.arange(6.0)[:, None]
    >>> noisy = 2.0 * line + np.array([[0.1], [-0.1], [0.1], [-0.1], [0.1], [-0.1]])
    >>> elastic_net_by_gcv(TargetMoments(1, 1).update(line, noisy).summary()).coef.round(2)
    array([[1.98]])
    """
    moments = _without_rounding(moments)
    largest = float(np.abs(moments.cross).max(initial=0.0))
    if largest == 0.0 or moments.weight <= 0.0:
        return elastic_net(moments, 1.0, l1_ratio)
    strongest = largest / (moments.weight * l1_ratio)
    coef = np.zeros_like(moments.cross)
    best, best_score, idle = (strongest, coef), np.inf, 0
    for alpha in strongest * _GRID:
        penalty = Penalty.of(moments.weight, alpha, l1_ratio)
        coef = _solved(moments, penalty, coef, tolerance=_ROUGH)
        score, idle = _gcv(moments, coef, penalty), idle + 1
        if score < best_score:
            best, best_score, idle = (float(alpha), coef), score, 0
        if idle == _PATIENCE:
            break
    alpha, coef = best
    penalty = Penalty.of(moments.weight, alpha, l1_ratio)
    return linear_model(moments, _solved(moments, penalty, coef), alpha)


def _without_rounding(moments: RegressionMoments) -> RegressionMoments:
    r"""Return moments whose cross scatter is zero for outputs where it is rounding alone.

    Else the tolerance, relative to the largest cross scatter, would be far below rounding, and
    the coefficients found would explain nothing. An output is constant where
    :math:`S_t \le n (64 \epsilon \bar y_t)^2`, and correlated with nothing where
    :math:`|C_{it}| \le 64 \epsilon \sqrt{H_{ii} S_t}` for all i.
    """
    spread = np.sqrt(np.maximum(moments.target_scatter, 0.0))
    constant = spread <= _ROUNDING * np.sqrt(moments.weight) * np.abs(moments.target_mean)
    diagonal = moments.scatter if moments.scatter.ndim == 1 else moments.scatter.diagonal()
    bounds = _ROUNDING * np.sqrt(np.maximum(diagonal, 0.0))[:, None] * spread
    nothing = constant | (np.abs(moments.cross) <= bounds).all(axis=0)
    if not nothing.any():
        return moments
    return replace(moments, cross=np.where(nothing, 0.0, moments.cross))


def _solved(
    moments: RegressionMoments,
    penalty: Penalty,
    start: NDArray[np.float64] | None = None,
    tolerance: float = TOLERANCE,
) -> NDArray[np.float64]:
    if moments.scatter.ndim == 1:
        return diagonal_solution(moments.scatter, moments.cross, penalty)
    return coordinate_descent(moments.scatter, moments.cross, penalty, start, tolerance)


def _gcv(moments: RegressionMoments, coef: NDArray[np.float64], penalty: Penalty) -> float:
    image = moments.scatter[:, None] * coef if moments.scatter.ndim == 1 else moments.scatter @ coef
    fitted = np.einsum("ij,ij->j", coef, 2.0 * moments.cross - image)
    residuals = np.maximum(moments.target_scatter - fitted, 0.0)
    freedom = moments.count - 1.0 - _degrees(moments.scatter, coef, penalty)
    if (freedom <= 0.0).any():
        return np.inf
    return float((moments.count * residuals / freedom**2).sum())


def _degrees(
    scatter: NDArray[np.float64], coef: NDArray[np.float64], penalty: Penalty
) -> NDArray[np.float64]:
    active = coef != 0.0
    if penalty.squares == 0.0:
        return np.asarray(np.count_nonzero(active, axis=0), dtype=np.float64)
    if scatter.ndim == 1:
        shares = scatter / (scatter + penalty.squares)
        return np.asarray(shares @ active, dtype=np.float64)
    degrees = np.empty(coef.shape[1])
    for output, chosen in enumerate(active.T):
        values = np.linalg.eigvalsh(scatter[np.ix_(chosen, chosen)])
        degrees[output] = (values / (values + penalty.squares)).sum()
    return degrees
