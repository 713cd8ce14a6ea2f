"""Which groups enter the group lasso when, and the choice among them that predicts best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamchi2.solvers.group_fit import Fit, Groups, fitted, strongest_alpha
from streamchi2.solvers.group_lasso import scaled
from streamchi2.solvers.ridge import tuned_ridge
from streamchi2.statistics.target_moments import RegressionMoments

_STEP = 10.0**-0.25  # four penalties a decade
_N_STEPS = 20
_PATIENCE = 4  # points of the grid, a decade
_ROUGH = 1e-4  # tolerance that is enough to compare penalties
_WORTH = 1.01  # of the least GCV: what a smaller choice of groups may cost
_ENTRY = 1.01  # alphas of entry are found to a hundredth


class Chosen(NamedTuple):
    """A penalty of the group lasso, and the scales with which to predict."""

    alpha: float
    scales: NDArray[np.float64]


def chosen_by_gcv(moments: RegressionMoments, groups: Groups) -> Chosen:
    r"""Choose groups by the group lasso, and how much to shrink by generalised cross-validation.

    For moments that are :func:`~streamchi2.solvers.group_lasso.definite`.

    One alpha cannot do both: strong enough to leave out noise it shrinks the rest too much, and
    what predicts best lets noise in. So the lasso gives relative weights of the groups, and ridge
    regression with these weights has a penalty of its own (as in the relaxed lasso),

    .. math:: \mathrm{GCV} = \frac{n\,\mathrm{RSS}}{(n - \mathrm{df})^2}, \qquad
              \mathrm{df} = 1 + \mathrm{tr}\,H (H + D^{-1})^{-1}

    with D the scales and n the number of rows that the weights stand for. That penalty is the
    "auto" of :func:`~streamchi2.solvers.ridge.tuned_ridge`. The lasso's alpha goes down four steps
    a decade from the smallest that leaves nothing, each started from the one before, until a decade
    has brought nothing; candidates are the best of these and, for every smaller choice of groups
    met on the way, its last. Of these the sparsest within 1 % of the least GCV answers: a group has
    to earn its place.

    Notes
    -----
    Some fifty Cholesky factors of the scatter, where ridge regression takes one reduction: at
    D = 3000, learning 5000 rows included, four to five times as long. A smaller ``n_pca`` helps.

    References
    ----------
    Golub, Heath and Wahba (1979), doi:10.1080/00401706.1979.10489751; Meinshausen (2007), Relaxed
    lasso, doi:10.1016/j.csda.2006.12.019.

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
    walked = _candidates(moments, groups, strongest)
    candidates = [_relaxed(moments, groups, fit) for fit in walked]
    scores = np.array([_gcv(fit) for fit in candidates])
    if not np.isfinite(scores).any():
        best = candidates[0]
    else:
        best = candidates[int(np.argmax(scores <= _WORTH * scores.min()))]
    return Chosen(best.alpha, best.scales)


def _candidates(moments: RegressionMoments, groups: Groups, strongest: float) -> list[Fit]:
    """Return the last fit of every choice of groups down to the best one, sparsest first."""
    walked: list[Fit] = []
    least, idle = np.inf, 0
    for step in range(1, _N_STEPS + 1):
        start = walked[-1].scales if walked else None
        walked.append(fitted(moments, groups, strongest * _STEP**step, start, _ROUGH))
        score, idle = _gcv(walked[-1]), idle + 1
        if score < least:
            least, idle = score, 0
        if idle == _PATIENCE:
            break
    walked = walked[: len(walked) - idle] or walked[:1]
    chosen = [tuple(fit.scales > 0.0) for fit in walked]
    last = dict(zip(chosen, walked, strict=True))
    return sorted(last.values(), key=lambda fit: -fit.alpha)


def _relaxed(moments: RegressionMoments, groups: Groups, fit: Fit) -> Fit:
    """Return the fit whose scales are multiplied by whatever predicts best."""
    penalty = tuned_ridge(scaled(moments, groups, fit.scales)).alpha
    return fit.at(fit.scales / penalty)


def entry_alphas(moments: RegressionMoments, groups: Groups) -> NDArray[np.float64]:
    """Return the largest alpha at which each group is in, zero where that is below 1e-5.

    In units of the largest; found to a hundredth by walking down from there and bisection, for
    moments that are :func:`~streamchi2.solvers.group_lasso.definite`.

    Examples
    --------
    >>> from streamchi2.statistics.target_moments import TargetMoments
    >>> rows = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> moments = TargetMoments(2, 1).update(rows, rows @ [[3.0], [1.0]]).summary()
    >>> entry_alphas(moments, (slice(0, 1), slice(1, 2))).round(1)
    array([3., 1.])
    """
    strongest = strongest_alpha(moments, groups)
    found = np.zeros(len(groups))
    if strongest == 0.0:
        return found
    above = fitted(moments, groups, strongest, None, _ROUGH)
    for step in range(1, _N_STEPS + 1):
        below = fitted(moments, groups, strongest * _STEP**step, above.scales, _ROUGH)
        for group in np.flatnonzero((below.scales > 0.0) & (found == 0.0)):
            found[group] = _entry(moments, groups, int(group), (above, below))
        above = below
        if found.all():
            break
    return np.minimum(found, strongest)


def _entry(moments: RegressionMoments, groups: Groups, group: int, between: Sequence[Fit]) -> float:
    above, below = between
    while above.alpha > _ENTRY * below.alpha:
        middle = float(np.sqrt(above.alpha * below.alpha))
        fit = fitted(moments, groups, middle, above.scales, _ROUGH)
        above, below = (above, fit) if fit.scales[group] > 0.0 else (fit, below)
    return above.alpha


def _gcv(fit: Fit) -> float:
    moments = fit.moments
    freedom = moments.count - 1.0 - fit.degrees_of_freedom()
    if freedom <= 0.0:
        return np.inf
    total = float(moments.target_scatter.sum())
    return moments.count * max(total - fit.explained, 0.0) / freedom**2
