"""From regression scores to comparable scores and to probabilities, out of left-out scores.

Least squares on one-hot targets gives scores that are neither probabilities nor comparable between
many classes. Both are mended on the left-out scores of sampled rows, each row with the share of its
copies that had each class as a label.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize, root
from scipy.special import expit, softmax

from streamchi2.checks.rows import Array
from streamchi2.saving import Value, saved

_INVERSE_TEMPERATURE = 0.1, 1000.0  # of scores between zero and one
_LARGEST_SHARE = 0.9  # of labels that say nothing
# Rows that the prior of temperature and share is worth: among 0 to 8 the best mean log-loss on five
# sets of examples/benchmarks/probabilities.py; on seven others there the result is as good.
_PRIOR_ROWS = 4.0, 1.0
_USUAL = 5.0, 0.0  # inverse temperature and share until two classes have been seen


@saved("calibration")
@dataclass(frozen=True, eq=False)
class Calibration(Value):
    r"""Shifts of the class scores, and how the rest becomes probabilities.

    .. math:: p_k = (1 - \epsilon) \frac{e^{b s_k}}{\sum_j e^{b s_j}} + \frac{\epsilon}{c}

    b is the inverse temperature. A share :math:`\epsilon` of the labels may be wrong, one class as
    likely as the other: however far apart scores are, no probability is closer to one than that.
    Labels of which a row may have several have b and share each, and two scores, s and 1 - s.

    Parameters
    ----------
    shifts : ndarray, shape (c,)
        To be subtracted from scores.
    inverse_temperature, uniform_share : ndarray, shape (1,) or (c,)
        Of all classes together, or of each label.
    of_labels : bool
        Whether a row may have several.
    """

    shifts: Array
    inverse_temperature: Array
    uniform_share: Array
    of_labels: bool

    @classmethod
    def of_classes(
        cls,
        scores: Array,
        targets: Array,
        weights: Array,
        shares: Array,
        class_shift: str | None = None,
    ) -> Self:
        """Fit to scores of left-out rows, shape (m, c).

        Parameters
        ----------
        scores, targets : ndarray, shape (m, c)
            Of sampled rows; the targets of a row are shares of classes.
        weights : ndarray, shape (m,)
            How much of the stream each row stands for.
        shares : ndarray, shape (c,)
            Of the classes in the stream; a class without rows changes nothing for the others.
        class_shift : "quantile" or None, default=None
            Whether classes are shifted.
        """
        seen = shares > 0.0
        shifts = np.zeros(shares.size)
        if class_shift is not None:
            shifts = quantile_shifts(scores, weights, shares)
        b, share = fitted_softmax((scores - shifts)[:, seen], targets[:, seen], weights)
        return cls(shifts, np.array([b]), np.array([share]), of_labels=False)

    @classmethod
    def of_indicators(
        cls,
        scores: Array,
        targets: Array,
        weights: Array,
    ) -> Self:
        """Fit to scores of left-out rows, for labels of which a row may have several."""
        n_labels = scores.shape[1]
        fitted = np.empty((2, n_labels))
        for label in range(n_labels):
            yes, is_label = scores[:, label], targets[:, label]
            outcomes = np.stack([1.0 - yes, yes], axis=1)
            members = np.stack([1.0 - is_label, is_label], axis=1)
            fitted[:, label] = fitted_softmax(outcomes, members, weights)
        return cls(np.zeros(n_labels), fitted[0], fitted[1], of_labels=True)

    def probabilities(self, scores: Array) -> Array:
        """Return a probability per class or label, for scores already shifted.

        Scores have shape (n, c) or (c,); the class of the highest has the highest probability.
        """
        b, share = self.inverse_temperature, self.uniform_share
        if self.of_labels:
            n_outcomes, plain = 2, expit(b * (2.0 * scores - 1.0))
        else:
            n_outcomes, plain = scores.shape[-1], softmax(b * scores, axis=-1)
        return np.asarray((1.0 - share) * plain + share / n_outcomes)

    def ordered(self, columns: NDArray[np.intp]) -> Self:
        """Return that of scores whose columns stand in another order, new ones among them.

        What was not there is a class without rows, a label as sure of itself as two classes are at
        first.
        """
        n_new = max(columns.size - self.shifts.size, 0)

        def moved(values: Array, usual: float) -> Array:
            return np.append(values, np.full(n_new, usual))[columns]

        shifts = moved(self.shifts, 1.0 if self.shifts.any() else 0.0)
        temperature, share = self.inverse_temperature, self.uniform_share
        if self.of_labels:
            temperature, share = moved(temperature, _USUAL[0]), moved(share, _USUAL[1])
        return replace(self, shifts=shifts, inverse_temperature=temperature, uniform_share=share)


def fitted_inverse_temperature(scores: Array, members: Array) -> float:
    """Return the factor of the scores whose softmax has the least weighted log-loss.

    ``members``, shape (m, c), is the weight of each row's copies in each class.

    >>> scores = np.array([[0.7, 0.3], [0.4, 0.6], [0.6, 0.4]])
    >>> round(fitted_inverse_temperature(scores, np.eye(2)[[0, 1, 1]]), 1)
    3.8
    """
    weights, target = members.sum(axis=1), float((members * scores).sum())

    def slope(inverse_temperature: float) -> float:
        """Return the derivative of the log-loss, which grows: the loss is convex."""
        expected = (softmax(inverse_temperature * scores, axis=1) * scores).sum(axis=1)
        return float(weights @ expected) - target

    low, high = _INVERSE_TEMPERATURE
    if slope(low) >= 0.0:
        return low
    if slope(high) <= 0.0:
        return high
    return float(brentq(slope, low, high, rtol=1e-14))


def fitted_softmax(scores: Array, targets: Array, weights: Array) -> tuple[float, float]:
    r"""Return inverse temperature and uniform share of the least penalised log-loss.

    .. math:: -\sum_{ik} w_i y_{ik} \log p_{ik} + 4 \log^2(b / b_0) - \log(1 - \epsilon)

    with :math:`b_0` the best inverse temperature without a share, and weights that add up to the
    number of rows that they stand for: the penalty is worth a few rows. Where a small share does
    not help, there is none; where only one class has rows, 5 and none.

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
    >>> round(fitted_softmax(scores, np.eye(3)[codes], np.ones(2000))[1], 1)
    0.3
    """
    # Kish's number of rows that such weights stand for.
    n_rows_each = weights * (weights.sum() / (weights @ weights))
    members = n_rows_each[:, None] * targets
    if np.count_nonzero(members.any(axis=0)) < 2:
        return _USUAL
    alone = fitted_inverse_temperature(scores, members)
    n_classes = scores.shape[1]
    temperature_rows, share_rows = _PRIOR_ROWS
    centre = float(np.log(alone))

    def loss(params: Array) -> tuple[float, Array]:
        """Return the penalised log-loss at (log b, share), and its gradient."""
        factor, share = np.exp(params[0]), params[1]
        plain = softmax(factor * scores, axis=1)
        mixed = np.maximum((1.0 - share) * plain + share / n_classes, 1e-100)
        per_mixed = members / mixed
        expected = (plain * scores).sum(axis=1, keepdims=True)
        gain = plain * (scores - expected)
        away = params[0] - centre
        value = -(members * np.log(mixed)).sum() + temperature_rows * away**2
        by_temperature = -(1.0 - share) * factor * (per_mixed * gain).sum()
        by_temperature += 2.0 * temperature_rows * away
        by_share = -(per_mixed * (1.0 / n_classes - plain)).sum() + share_rows / (1.0 - share)
        return value - share_rows * np.log1p(-share), np.array([by_temperature, by_share])

    slope = loss(np.array([centre, 0.0]))[1]
    if slope[1] >= 0.0:
        return alone, 0.0
    bounds = (tuple(np.log(_INVERSE_TEMPERATURE)), (0.0, _LARGEST_SHARE))
    start = np.array([centre, _LARGEST_SHARE / 10.0])
    params = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    # To the last digits, so that scores which differ by rounding give probabilities that do.
    with np.errstate(invalid="ignore"):  # a step may leave the domain; its end is checked
        exact = root(lambda params: loss(params)[1], params, tol=1e-13)
    is_near = np.abs(exact.x - params).max() < 1e-2
    if is_near and 0.0 <= exact.x[1] <= _LARGEST_SHARE:
        params = exact.x
    return float(np.exp(params[0])), float(params[1])


def quantile_shifts(
    scores: Array,
    weights: Array,
    shares: Array,
) -> Array:
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
    sorted_weights = weights[order] / weights.sum()
    from_here = np.cumsum(sorted_weights[::-1], axis=0)[::-1]
    above = from_here - sorted_weights
    rows = np.argmax(above <= shares / 2.0 + 1e-12, axis=0)
    columns = np.arange(scores.shape[1])
    # A class without rows scores zero everywhere; its members would be taught to score one.
    return np.where(shares > 0.0, scores[order[rows, columns], columns], 1.0)
