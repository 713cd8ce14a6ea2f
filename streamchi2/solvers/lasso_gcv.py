"""The penalty of a lasso or elastic net by generalised cross-validation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamchi2.solvers.lasso import ElasticNetPath, elastic_net, entry_alphas, without_rounding
from streamchi2.solvers.linear_model import LinearModel, linear_model
from streamchi2.statistics.target_moments import RegressionMoments

_GRID = np.logspace(0, -4, 25)  # in units of the smallest alpha that leaves nothing
_ROUGH = 1e-6  # a duality gap that is enough to compare penalties
_IDLE = 10.0  # penalties so much smaller than the best one must have brought something


def elastic_net_by_gcv(moments: RegressionMoments, l1_ratio: float = 1.0) -> LinearModel:
    r"""Lasso or elastic net with the penalty that minimises generalised cross-validation.

    .. math:: \mathrm{GCV}(\alpha) = \sum_t \frac{n\,\mathrm{RSS}_t}{(n - \mathrm{df}_t)^2}, \qquad
              \mathrm{df} = 1 + \mathrm{tr}\,H_A (H_A + \lambda_2)^{-1}

    with A the non-zero coefficients of an output: for the lasso, their number. The grid has six
    penalties a decade over four decades, from the smallest one that leaves no coefficient; the
    search ends when a decade has brought nothing. Penalties that leave no degrees of freedom
    are not considered. n is the number of rows that the weights stand for.

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
    moments = without_rounding(moments)
    strongest = float(entry_alphas(moments, l1_ratio).max(initial=0.0))
    if strongest == 0.0:
        return elastic_net(moments, 1.0, l1_ratio)
    path = ElasticNetPath.of(moments, l1_ratio)
    best, least, coef = strongest, np.inf, np.zeros_like(moments.cross)
    for alpha in (strongest * _GRID).tolist():
        coef = path.descended(alpha, coef, _ROUGH)
        score = _gcv(moments, coef, moments.weight * alpha * (1.0 - l1_ratio))
        if score < least:
            best, least = alpha, score
        elif alpha < best / _IDLE:
            break
    return linear_model(moments, path.solution(best), best)


def _gcv(moments: RegressionMoments, coef: NDArray[np.float64], squares: float) -> float:
    scatter = moments.scatter
    image = scatter[:, None] * coef if scatter.ndim == 1 else scatter @ coef
    fitted = np.einsum("ij,ij->j", coef, 2.0 * moments.cross - image)
    residuals = np.maximum(moments.target_scatter - fitted, 0.0)
    degrees = [_degrees(scatter, np.flatnonzero(column), squares) for column in coef.T]
    freedom = moments.count - 1.0 - np.array(degrees)
    if (freedom <= 0.0).any():
        return np.inf
    return float((moments.count * residuals / freedom**2).sum())


def _degrees(scatter: NDArray[np.float64], active: NDArray[np.intp], squares: float) -> float:
    if squares == 0.0:
        return float(active.size)
    part = np.diag(scatter[active]) if scatter.ndim == 1 else scatter[np.ix_(active, active)]
    values = np.linalg.eigvalsh(part)
    return float((values / (values + squares)).sum())
