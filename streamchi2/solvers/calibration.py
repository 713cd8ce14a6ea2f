"""From regression scores to comparable scores and to probabilities, out of statistics and a sample.

Least squares on one-hot targets gives scores that are neither probabilities nor comparable between
many classes. Both are mended on a small sample of the rows that were learnt, each scored as if it
had been left out, which least squares allows in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import softmax

from streamchi2.solvers.linear_model import LinearModel
from streamchi2.solvers.ridge import ridge
from streamchi2.state import Array, Float, Kind, SavedValue
from streamchi2.statistics.target_moments import RegressionMoments
from streamchi2.validation import Floats

_INVERSE_TEMPERATURE = 0.1, 1000.0  # of scores between zero and one
_LEAST_REST = 1e-3  # a row that decides its own score alone cannot be left out


@dataclass(frozen=True, eq=False)
class Calibration(SavedValue):
    """Shifts of the class scores, and the inverse_temperature of the softmax over them."""

    STATE: ClassVar[dict[str, Kind]] = {"shifts": Array(), "inverse_temperature": Float(0.0)}

    shifts: NDArray[np.float64]  # (c,)
    inverse_temperature: float

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one probability per class, rows adding up to one, for scores already shifted."""
        probabilities: NDArray[np.float64] = softmax(self.inverse_temperature * scores, axis=1)
        return probabilities


def own_shares(
    model: LinearModel, moments: RegressionMoments, features: Floats, *, exact: bool
) -> NDArray[np.float64]:
    r"""Return how much of its own target each row that was learnt finds in its score.

    .. math:: h_i = \frac1n + \frac{\sum w}{n} \tilde z_i^\top (H + \alpha I)^{-1} \tilde z_i

    for ridge, which is exact for rows of the mean weight :math:`\sum w / n`: one copy where
    weights are numbers of copies. Elastic nets take the mean of all rows for each output: one more
    than the number of its non-zero coefficients, over n, as generalised cross-validation does.

    Parameters
    ----------
    model : LinearModel
        Fitted to the moments, in the same coordinates as the features.
    moments : RegressionMoments
        A flat ``scatter`` is a diagonal.
    features : ndarray, shape (m, d)
        Rows that were learnt.
    exact : bool
        Whether the model is a ridge regression.

    Returns
    -------
    ndarray, shape (m, 1) or (1, t)

    References
    ----------
    Cook (1977), doi:10.1080/00401706.1977.10489493; Zou, Hastie and Tibshirani (2007),
    doi:10.1214/009053607000000127.
    """
    if not exact:
        shares: NDArray[np.float64] = (1.0 + np.count_nonzero(model.coef, axis=0)) / moments.count
        return shares[None, :]
    centred = np.asarray(features, dtype=np.float64) - moments.mean
    # Ridge regression with the rows themselves as cross scatter: robust where alpha is tiny.
    problem = replace(moments, cross=centred.T, target_mean=np.zeros(centred.shape[0]))
    solved = ridge(problem, model.alpha).coef
    own = 1.0 + moments.weight * np.einsum("ij,ji->i", centred, solved)
    return np.asarray(own)[:, None] / moments.count


def left_out_scores(
    scores: NDArray[np.float64], targets: NDArray[np.float64], shares: NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""Return the scores that rows would have had, had one copy of each not been learnt.

    .. math:: s_{-i} = \frac{s_i - h_i y_i}{1 - h_i}

    >>> from streamchi2.statistics.target_moments import TargetMoments
    >>> rows, targets = np.array([[0.0], [1.0], [3.0]]), np.array([[0.0], [0.0], [1.0]])
    >>> moments = TargetMoments(1, 1).update(rows, targets).summary()
    >>> model = ridge(moments, 1.0)
    >>> shares = own_shares(model, moments, rows, exact=True)
    >>> bool(np.isclose(left_out_scores(model.scores(rows), targets, shares)[2, 0], 0.0))
    True
    """
    rest = np.maximum(1.0 - shares, _LEAST_REST)
    left_out: NDArray[np.float64] = (scores - shares * targets) / rest
    return left_out


def fitted_inverse_temperature(
    scores: NDArray[np.float64], codes: NDArray[np.intp], weights: NDArray[np.float64]
) -> float:
    """Return the factor of the scores whose softmax has the least weighted log-loss.

    >>> scores = np.array([[0.7, 0.3], [0.4, 0.6], [0.6, 0.4]])
    >>> round(fitted_inverse_temperature(scores, np.array([0, 1, 1]), np.ones(3)), 1)
    3.8
    """
    rows = np.arange(codes.size)

    def slope(inverse_temperature: float) -> float:
        """Return the derivative of the log-loss, which grows: the loss is convex."""
        expected = (softmax(inverse_temperature * scores, axis=1) * scores).sum(axis=1)
        return float(weights @ (expected - scores[rows, codes]))

    low, high = _INVERSE_TEMPERATURE
    if slope(low) >= 0.0:
        return low
    if slope(high) <= 0.0:
        return high
    return float(brentq(slope, low, high, rtol=1e-14))


def quantile_shifts(
    scores: NDArray[np.float64],
    weights: NDArray[np.float64],
    shares: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return for each class the score that half as many rows exceed as the class has members.

    Subtracting it makes the classes comparable, whatever their sizes: the paper's "500th highest
    score" for classes of about a thousand rows, as a quantile.

    Parameters
    ----------
    scores : ndarray, shape (m, c)
        Scores of sampled rows.
    weights : ndarray, shape (m,)
        How much of the stream each row stands for.
    shares : ndarray, shape (c,)
        Share of each class in the stream.

    References
    ----------
    Li, Lebanon and Sminchisescu (2013), section 7, arXiv:1206.4074.

    Examples
    --------
    >>> scores = np.linspace(0.0, 1.0, 11)[:, None] * [1.0, 2.0]
    >>> quantile_shifts(scores, np.ones(11), np.array([0.4, 0.4]))
    array([0.8, 1.6])
    """
    order = np.argsort(scores, axis=0)
    above = np.cumsum(weights[order[::-1]], axis=0)[::-1] - weights[order]
    above = above / weights.sum()
    places = np.argmax(above <= shares / 2.0 + 1e-12, axis=0)
    columns = np.arange(scores.shape[1])
    # A class without rows scores zero everywhere; its members would be taught to score one.
    return np.where(shares > 0.0, scores[order[places, columns], columns], 1.0)
