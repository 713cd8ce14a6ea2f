"""The choice among groups of features by generalised cross-validation."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dtrtri

from streamchi2.solvers.group_lasso import Chosen, Fit, Groups, fitted, scaled, strongest_alpha
from streamchi2.solvers.ridge import tuned_ridge
from streamchi2.statistics.target_moments import RegressionMoments

_STEP = 10.0**-0.25  # four penalties a decade
_N_STEPS = 20
_PATIENCE = 4  # points of the grid, a decade
_ROUGH = 1e-4  # tolerance that is enough to compare penalties
_WORTH = 1.01  # of the least GCV: what a smaller choice of groups may cost


def chosen_by_gcv(moments: RegressionMoments, groups: Groups) -> Chosen:
    r"""Choose groups by the group lasso, and how much to shrink by generalised cross-validation.

    For moments that are :func:`~streamchi2.solvers.group_lasso.definite`. The lasso gives relative
    scales of the groups, and ridge regression in these scales has a penalty of its own,

    .. math:: \mathrm{GCV} = \frac{n\,\mathrm{RSS}}{(n - \mathrm{df})^2}, \qquad
              \mathrm{df} = 1 + \mathrm{tr}\,H (H + D^{-1})^{-1}

    with D the scales and n the number of rows that the weights stand for. That penalty is the
    "auto" of :func:`~streamchi2.solvers.ridge.tuned_ridge`. The lasso's alpha goes down four steps
    a decade from the smallest that leaves nothing until a decade has brought nothing; candidates
    are the best of these and, for every smaller choice of groups met on the way, its last. Of these
    the sparsest within 1 % of the least GCV answers.

    References
    ----------
    Golub, Heath and Wahba (1979), doi:10.1080/00401706.1979.10489751.

    Examples
    --------
    >>> from streamchi2.statistics.target_moments import TargetMoments
    >>> random = np.random.default_rng(0)
    >>> rows = random.normal(size=(200, 4))
    >>> targets = rows[:, :1] + 0.5 * random.normal(size=(200, 1))
    >>> moments = TargetMoments(4, 1).update(rows, targets).summary()
    >>> chosen_by_gcv(moments, (slice(0, 2), slice(2, 4))).scales > 0
    array([ True, False])
    """
    strongest = strongest_alpha(moments, groups)
    if strongest == 0.0 or moments.weight <= 0.0:
        return Chosen(1.0, np.zeros(len(groups)))
    path: list[Fit] = []
    scores: list[float] = []
    for step in range(1, _N_STEPS + 1):
        start = path[-1].scales if path else None
        path.append(fitted(moments, groups, strongest * _STEP**step, start, _ROUGH))
        scores.append(_gcv(path[-1]))
        if step - 1 - int(np.argmin(scores)) == _PATIENCE:
            break
    last = {tuple(fit.scales > 0.0): fit for fit in path[: int(np.argmin(scores)) + 1]}
    candidates = []
    for fit in last.values():
        penalty = tuned_ridge(scaled(moments, groups, fit.scales)).alpha
        candidates.append(fit.at(fit.scales / penalty))
    final = np.array([_gcv(fit) for fit in candidates])
    best = candidates[int(np.argmax(final <= _WORTH * final.min()))]
    return Chosen(best.alpha, best.scales)


def _gcv(fit: Fit) -> float:
    moments = fit.moments
    inverse, _ = dtrtri(fit.factor, lower=1)
    degrees = inverse.shape[0] - float((np.tril(inverse) ** 2).sum())
    freedom = moments.count - 1.0 - degrees
    if freedom <= 0.0:
        return np.inf
    explained = fit.gain + float(fit.scales @ fit.norms**2)
    residuals = max(float(moments.target_scatter.sum()) - explained, 0.0)
    return float(moments.count * residuals / freedom**2)
