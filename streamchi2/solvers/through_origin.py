"""Regression without an intercept, from centred moments."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from streamchi2.statistics.moments import RegressionMoments


def through_origin(moments: RegressionMoments, *, signed: bool = False) -> RegressionMoments:
    r"""Return moments about the origin, from which solvers find models without an intercept.

    .. math:: H + n \mu \mu^\top, \qquad C + n \mu \bar y^\top, \qquad S + n \bar y^2

    Parameters
    ----------
    moments : RegressionMoments
        About the means.
    signed : bool, default=False
        Whether targets 0 and 1 are to be -1 and 1: without an intercept that is another model.

    Examples
    --------
    >>> from streamchi2.solvers.ridge import ridge
    >>> from streamchi2.statistics.moments import Moments
    >>> moments = Moments.empty(np.zeros(1), np.zeros(1))
    >>> moments.add(np.array([[1.0], [2.0]]), np.array([[3.0], [6.0]]), np.ones(2))
    >>> model = ridge(through_origin(moments.summary()), 0.0)
    >>> model.coef.round(12), model.intercept
    (array([[3.]]), array([0.]))
    """
    weight, mean, target_mean = moments.weight, moments.mean, moments.target_mean
    sums = weight * mean
    cross = moments.cross + np.outer(sums, target_mean)
    squares = moments.target_scatter + weight * target_mean**2
    if signed:
        cross = 2.0 * cross - sums[:, None]
        squares = np.full_like(target_mean, weight)
    return replace(
        moments,
        mean=np.zeros_like(mean),
        scatter=moments.scatter + np.outer(sums, mean),
        target_mean=np.zeros_like(target_mean),
        cross=cross,
        target_scatter=squares,
    )
