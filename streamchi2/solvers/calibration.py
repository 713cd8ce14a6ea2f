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
from scipy.optimize import brentq, minimize, root
from scipy.special import softmax

from streamchi2.checks import Floats
from streamchi2.solvers.linear_model import LinearModel
from streamchi2.solvers.ridge import ridge
from streamchi2.state import Array, Float, Kind, Object, SavedValue, TupleOf, require
from streamchi2.statistics.moments import effective_count
from streamchi2.statistics.target_moments import RegressionMoments

_INVERSE_TEMPERATURE = 0.1, 1000.0  # of scores between zero and one
_LARGEST_SHARE = 0.9  # of labels that say nothing
# Rows that the prior of temperature and share is worth: among 0 to 8 the best mean log-loss on five
# sets of examples/benchmarks/probabilities.py; on seven others there the result is as good.
_PRIOR_ROWS = 4.0, 1.0
USUAL_INVERSE_TEMPERATURE = 5.0  # until two classes have been seen
_LEAST_REST = 1e-3  # a row that decides its own score alone cannot be left out


@dataclass(frozen=True, eq=False)
class Calibration(SavedValue):
    r"""Shifts of the class scores, and how the rest becomes probabilities.

    .. math:: p_k = (1 - \epsilon) \frac{e^{b s_k}}{\sum_j e^{b s_j}} + \frac{\epsilon}{c}

    b is the inverse temperature. A share :math:`\epsilon` of the labels may be wrong, one class as
    likely as the other: however far apart scores are, no probability is closer to one than that.
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "shifts": Array(),
        "inverse_temperature": Float(0.0),
        "uniform_share": Float(0.0),
    }

    shifts: NDArray[np.float64]  # (c,)
    inverse_temperature: float
    uniform_share: float = 0.0

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one probability per class, rows adding up to one, for scores already shifted.

        Scores have shape (n, c) or (c,); the class of the highest has the highest probability.
        """
        share = self.uniform_share
        probabilities: NDArray[np.float64] = softmax(self.inverse_temperature * scores, axis=-1)
        return (1.0 - share) * probabilities + share / scores.shape[-1] if share else probabilities

    def validate(self) -> None:
        """Require a share that leaves something to the scores."""
        require(self.uniform_share < 1.0, "uniform_share must be below 1")


@dataclass(frozen=True, eq=False)
class LabelCalibration(SavedValue):
    """One :class:`Calibration` for each label that a row has or has not, scores s and 1 - s."""

    STATE: ClassVar[dict[str, Kind]] = {"labels": TupleOf(Object((Calibration,)))}

    labels: tuple[Calibration, ...]

    @classmethod
    def fitted(
        cls,
        scores: NDArray[np.float64],
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
    ) -> LabelCalibration:
        """Return that of scores of left-out rows for targets 0 and 1, both of shape (m, t)."""
        codes = targets.astype(np.intp)
        found = [
            fitted_softmax(_two_classes(own), codes[:, place], weights)
            for place, own in enumerate(scores.T)
        ]
        return cls(tuple(Calibration(np.zeros(2), *softmax) for softmax in found))

    def for_labels(self, n_labels: int) -> LabelCalibration:
        """Return that of more labels, the others as sure of themselves as two classes at first."""
        rest = Calibration(np.zeros(2), USUAL_INVERSE_TEMPERATURE)
        return LabelCalibration((*self.labels, *[rest] * (n_labels - len(self.labels))))

    def validate(self) -> None:
        """Require two scores a label, and no shifts."""
        fits = all(own.shifts.shape == (2,) and not own.shifts.any() for own in self.labels)
        require(fits, "labels have two scores, and no shifts")

    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of each label, shape (n, t)."""
        columns = [
            own.probabilities(_two_classes(column))[:, 1]
            for own, column in zip(self.labels, scores.T, strict=True)
        ]
        return np.column_stack(columns)


def _two_classes(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([1.0 - scores, scores])


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


def fitted_softmax(
    scores: NDArray[np.float64], codes: NDArray[np.intp], weights: NDArray[np.float64]
) -> tuple[float, float]:
    r"""Return inverse temperature and uniform share of the least penalised log-loss.

    .. math:: -\sum_i w_i \log p_{y_i} + 4 \log^2(b / b_0) - \log(1 - \epsilon)

    with :math:`b_0` the best inverse temperature without a share, and weights that add up to the
    number of rows that they stand for: the penalty is worth a few rows. Where a small share does
    not help, there is none.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), arXiv:1706.04599, for the temperature; Zhang, Kailkhura
    and Han (2020), arXiv:2003.07329, for mixing it with the uniform distribution.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> codes = random.integers(0, 3, 2000)
    >>> scores = np.eye(3)[codes] + random.normal(scale=0.1, size=(2000, 3))
    >>> wrong = random.random(2000) < 0.3
    >>> codes[wrong] = random.integers(0, 3, wrong.sum())
    >>> round(fitted_softmax(scores, codes, np.ones(2000))[1], 1)
    0.3
    """
    alone = fitted_inverse_temperature(scores, codes, weights)
    total = float(weights.sum())
    weights = weights * (effective_count(total, float(weights @ weights)) / total)
    rows, n_classes = np.arange(codes.size), scores.shape[1]
    temperature_rows, share_rows = _PRIOR_ROWS
    own_scores, centre = scores[rows, codes], float(np.log(alone))

    def loss(params: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the penalised log-loss at (log b, share), and its gradient."""
        factor, share = np.exp(params[0]), params[1]
        shares = softmax(factor * scores, axis=1)
        own = shares[rows, codes]
        mixed = np.maximum((1.0 - share) * own + share / n_classes, 1e-100)
        gain = own * (own_scores - (shares * scores).sum(axis=1)) / mixed
        away = params[0] - centre
        value = -weights @ np.log(mixed) + temperature_rows * away**2
        by_temperature = -(1.0 - share) * factor * (weights @ gain) + 2.0 * temperature_rows * away
        by_share = -weights @ ((1.0 / n_classes - own) / mixed) + share_rows / (1.0 - share)
        return value - share_rows * np.log1p(-share), np.array([by_temperature, by_share])

    if loss(np.array([centre, 0.0]))[1][1] >= 0.0:
        return alone, 0.0
    bounds = (tuple(np.log(_INVERSE_TEMPERATURE)), (0.0, _LARGEST_SHARE))
    start = np.array([centre, _LARGEST_SHARE / 10.0])
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    # To the last digits, so that scores which differ by rounding give probabilities that do.
    with np.errstate(invalid="ignore"):  # a step may leave the domain; its end is checked
        exact = root(lambda params: loss(params)[1], found, tol=1e-13)
    if np.abs(exact.x - found).max() < 1e-2 and 0.0 <= exact.x[1] <= _LARGEST_SHARE:
        found = exact.x
    return float(np.exp(found[0])), float(found[1])


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
