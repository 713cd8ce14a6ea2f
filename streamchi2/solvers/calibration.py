"""From regression scores to comparable scores and to probabilities, out of statistics and a sample.

Least squares on one-hot targets gives scores that are neither probabilities nor comparable between
many classes. Both are mended on a small sample of the rows that were learnt, each scored as if it
had been left out, which least squares allows in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from streamchi2.batch import Floats
from streamchi2.solvers.linear_model import LinearModel
from streamchi2.trackers.labelled_moments import RegressionMoments

_LOG_SHARPNESS = np.log(0.1), np.log(1000.0)
_LEAST_OWN_SHARE = 1e-3  # a row that decides its own score alone cannot be left out


@dataclass(frozen=True, eq=False)
class Calibration:
    """Shifts of the class scores, and the sharpness of the softmax over them."""

    shifts: NDArray[np.float64]  # (c,)
    sharpness: float

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one probability per class, rows adding up to one, for scores already shifted."""
        probabilities: NDArray[np.float64] = softmax(self.sharpness * scores, axis=1)
        return probabilities


def leave_one_out_scores(
    model: LinearModel,
    moments: RegressionMoments,
    features: Floats,
    targets: NDArray[np.float64],
) -> NDArray[np.float64]:
    r"""Score rows that were learnt as if one copy of each had not been.

    .. math:: s_{-i} = \frac{s_i - h_i y_i}{1 - h_i}, \qquad
              h_i = \frac1n + \tilde z_i^\top (H + \alpha I)^{-1} \tilde z_i

    Exact for ridge, a good approximation for elastic nets.

    Parameters
    ----------
    model : LinearModel
        Fitted to the moments, in the same coordinates as the features.
    moments : RegressionMoments
        A flat ``scatter`` is a diagonal.
    features, targets : ndarray, shapes (m, d) and (m, t)
        The rows and their one-hot targets.

    References
    ----------
    Cook (1977), doi:10.1080/00401706.1977.10489493.

    Examples
    --------
    >>> from streamchi2.solvers.ridge import ridge
    >>> from streamchi2.trackers.labelled_moments import TargetMoments
    >>> rows, targets = np.array([[0.0], [1.0], [3.0]]), np.array([[0.0], [0.0], [1.0]])
    >>> moments = TargetMoments(1, 1).update(rows, targets).summary()
    >>> leave_one_out_scores(ridge(moments, 1.0), moments, rows[2:], targets[2:])
    array([[0.]])
    """
    centred = np.asarray(features, dtype=np.float64) - moments.mean
    if moments.scatter.ndim == 1:
        solved = (centred / (moments.scatter + model.alpha)).T
    else:
        raised = moments.scatter.copy(order="F")
        raised.flat[:: raised.shape[0] + 1] += model.alpha
        solved = cho_solve(cho_factor(raised, lower=True, overwrite_a=True), centred.T)
    own_share = 1.0 / moments.weight + np.einsum("ij,ji->i", centred, solved)
    scores = centred @ model.coef + moments.target_mean
    others = np.maximum(1.0 - own_share, _LEAST_OWN_SHARE)[:, None]
    left_out: NDArray[np.float64] = (scores - own_share[:, None] * targets) / others
    return left_out


def fitted_sharpness(
    scores: NDArray[np.float64], codes: NDArray[np.intp], weights: NDArray[np.float64]
) -> float:
    """Return the factor of the scores whose softmax has the least weighted log-loss.

    >>> scores = np.array([[0.7, 0.3], [0.4, 0.6], [0.6, 0.4]])
    >>> round(fitted_sharpness(scores, np.array([0, 1, 1]), np.ones(3)), 1)
    3.8
    """

    def log_loss(log_sharpness: float) -> float:
        logs = log_softmax(np.exp(log_sharpness) * scores, axis=1)
        return -float(weights @ logs[np.arange(codes.size), codes])

    found = minimize_scalar(log_loss, bounds=_LOG_SHARPNESS, method="bounded")
    return float(np.exp(found.x))


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
    return np.asarray(scores[order[places, columns], columns])
