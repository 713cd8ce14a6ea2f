r"""One way to choose: errors on sampled rows that are left out, each with all its copies.

Without row i, of which the stream holds copies of total weight :math:`w_i`, its residual
:math:`e_i` is :math:`e_i / (1 - w_i h_i)`, with the leverage
:math:`h_i = 1/W + \tilde z_i^\top (H + P)^{-1} \tilde z_i` under a penalty P that stays. Leaving
out one copy of several would make the smallest penalty win: the others predict it.

Candidates are powers of two times the mean weight of a sampled row, searched from a start that the
statistics give, so a choice depends on statistics and sample alone, never on the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks.rows import Array
from streamchi2.solvers.linear_model import InverseRoot
from streamchi2.statistics.moments import RegressionMoments

_ROUNDING = 64 * float(np.finfo(np.float64).eps)  # of a mean
_LEAST_REST = 1e-12  # of one less a leverage; a larger one would make the least penalty win
_PERFECT = 1e-10  # of the spread of targets: below, a penalty would fit rounding errors
_LOWEST, _HIGHEST = -27, 10  # exponents of penalties in units of the trace: 7e-9 to 1024
_USUAL = -2  # exponent of the usual penalty of kernel features, in units of their mean variance
_STEPS = (3, 1)  # of the exponent: first long ones, then short ones
TIE = 1e-5  # of an error: differences that mean nothing


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Sampled rows about the means of the moments, in which they are counted.

    Examples
    --------
    >>> rows, targets = np.array([[0.0], [1.0], [3.0]]), np.array([[1.0], [2.0], [3.0]])
    >>> sample = SampledRows.alone(rows, targets, np.ones(3))

    Each row against the mean of the other two, in units of the variance:

    >>> round(sample.error(sample.left_out(np.zeros((1, 1)), np.zeros((3, 1)))), 9)
    6.75
    """

    features: Array  # (m, d), less their mean
    targets: Array  # (m, t), less their mean
    weights: Array  # (m,), of all rows of the stream that equal this one
    total: float  # weight of the stream; infinite where there is no intercept
    units: Array  # (t,), of squared errors; infinite for targets that do not vary

    @classmethod
    def of(
        cls,
        moments: RegressionMoments,
        features: Array,
        targets: Array,
        weights: Array,
        *,
        by_variance: bool = True,
        intercept: bool = True,
    ) -> SampledRows:
        """Return the sampled rows of a stream in the coordinates of its moments.

        Squared errors are divided ``by_variance`` of their target, unless all have one unit.
        """
        variances = moments.target_scatter / moments.weight
        units = variances if by_variance else np.ones_like(variances)
        return cls(
            features - moments.mean,
            targets - moments.target_mean,
            weights,
            moments.weight if intercept else np.inf,
            np.where(constant_targets(moments), np.inf, units),
        )

    @classmethod
    def alone(
        cls, features: Array, targets: Array, weights: Array, *, by_variance: bool = True
    ) -> SampledRows:
        """Return rows that are all there is."""
        total = float(weights.sum())
        mean, target_mean = weights @ features / total, weights @ targets / total
        spread = weights @ np.square(targets - target_mean)
        nothing = np.zeros((0, 0))
        moments = RegressionMoments(total, total, mean, nothing, target_mean, nothing, spread)
        return cls.of(moments, features, targets, weights, by_variance=by_variance)

    def first(self, n_rows: int) -> SampledRows:
        """Return so many of the rows, in the same moments."""
        part = slice(n_rows)
        parts = self.features[part], self.targets[part], self.weights[part]
        return SampledRows(*parts, self.total, self.units)

    def left_out(self, coef: Array, shares: Array) -> Array:
        """Return left-out residuals of a model, shape (m, t).

        ``shares``, (m, t) or (m, 1), are the leverages without the part of the intercept.
        """
        leverages = self.weights[:, None] * (1.0 / self.total + shares)
        residuals = self.targets - self.features @ coef
        return residuals / np.maximum(1.0 - leverages, _LEAST_REST)

    def left_out_of_ridge(self, moments: RegressionMoments, alpha: float) -> Array:
        """Return left-out residuals of ridge regression, in d^3/3 + m d^2 operations."""
        root = InverseRoot(moments.scatter, alpha)
        return self.left_out(root.solved(moments.cross), root.leverages(self.features))

    def error(self, residuals: Array) -> float:
        """Return the weighted sum of squares of residuals, each target in its unit."""
        least, error = (
            float((self.weights @ values**2 / self.units).sum())
            for values in (self.targets, residuals)
        )
        return max(error, _PERFECT * least)


@dataclass(frozen=True, eq=False)
class GramSpectrum:
    r"""Eigenvectors of the Gram matrix of rows that are all there is: every penalty at once.

    With deviations from the means, :math:`\sqrt{w_i w_j}\,\tilde z_i^\top \tilde z_j = U D U^\top`,
    residuals are :math:`\sqrt{w}^{-1} U \alpha (D + \alpha)^{-1} U^\top \sqrt w \tilde y`. The
    constant direction has eigenvalue zero, but the intercept fits it: its :math:`w_i / W` is
    leverage too.

    Examples
    --------
    >>> rows, targets = np.array([[0.0], [1.0], [3.0]]), np.array([[0.0], [0.0], [1.0]])
    >>> spectrum = GramSpectrum.of(SampledRows.alone(rows, targets, np.ones(3)))
    >>> spectrum.left_out(alpha=1.0)[2].round(12)  # the other two say zero
    array([1.])
    """

    sample: SampledRows
    values: Array  # (m,), D
    vectors: Array  # (m, m), U
    turned: Array  # (m, t)

    @classmethod
    def of(cls, sample: SampledRows) -> GramSpectrum:
        """Return the spectrum, in some 10 m^3 operations."""
        roots = np.sqrt(sample.weights)[:, None]
        rows = roots * sample.features
        values, vectors = np.linalg.eigh(rows @ rows.T)
        rounding = values.size * np.finfo(np.float64).eps * values[-1]
        values = np.where(values > rounding, values, 0.0)
        return cls(sample, values, vectors, vectors.T @ (roots * sample.targets))

    def left_out(self, alpha: float) -> Array:
        """Return left-out residuals of ridge regression, in m^2 t operations; alpha above 0."""
        # From what is left of each component, not from a difference: nothing cancels.
        rest = alpha / (self.values + alpha)
        residuals = self.vectors @ (rest[:, None] * self.turned)
        weights = self.sample.weights
        others = np.square(self.vectors) @ rest - weights / self.sample.total
        safe = np.sqrt(weights) * np.maximum(others, _LEAST_REST)
        return np.asarray(residuals / safe[:, None])

    def chosen(self) -> float:
        """Return the penalty of least left-out error: the largest of those that are equal."""
        trace = float(self.values.sum())
        if trace <= 0.0:  # rows without any difference
            return 1.0
        candidates = Candidates.of(trace, self.sample.weights, self.sample.total)
        exponents = range(candidates.lowest, candidates.highest + 1)
        alphas = [candidates.alpha(exponent) for exponent in exponents]
        errors = np.array([self.sample.error(self.left_out(alpha)) for alpha in alphas])
        return alphas[int(np.flatnonzero(errors <= (1.0 + TIE) * errors.min())[-1])]


def chosen_ridge(moments: RegressionMoments, sample: SampledRows) -> float:
    """Return the penalty of least left-out error of sampled rows under the moments of all rows.

    Steps of a factor of eight, then of two, until both neighbours are worse: as a rule five to
    seven Cholesky factors.

    Examples
    --------
    >>> from streamchi2.statistics.moments import Moments
    >>> random = np.random.default_rng(0)
    >>> rows = random.normal(size=(500, 4))
    >>> noisy = rows @ np.ones((4, 1)) + 4.0 * random.normal(size=(500, 1))
    >>> moments = Moments.empty(np.zeros(4), np.zeros(1))
    >>> moments.add(rows, noisy, np.ones(500))
    >>> summary = moments.summary()
    >>> chosen_ridge(summary, SampledRows.of(summary, rows, noisy, np.ones(500)))
    16.0
    """
    trace = float(moments.scatter.trace())
    if trace <= 0.0:  # rows without any difference
        return 1.0
    candidates = Candidates.of(trace, sample.weights, moments.weight)
    return candidates.search(lambda alpha: sample.error(sample.left_out_of_ridge(moments, alpha)))


@dataclass(frozen=True)
class Candidates:
    """Penalties on a fixed grid: a unit times powers of two, and where to start among them."""

    unit: float
    lowest: int
    highest: int
    start: int

    @classmethod
    def of(cls, trace: float, weights: Array, total: float) -> Candidates:
        """Return the penalties for a scatter of this trace.

        The unit is the mean weight of a sampled row. So weights that are all multiplied by c
        multiply the penalty by c, and it is a power of two where rows have no weights.
        """
        unit = float(weights.mean())
        largest = float(np.log2(trace) - np.log2(unit))
        lowest, highest = int(np.ceil(largest)) + _LOWEST, int(np.floor(largest)) + _HIGHEST
        usual = round(float(np.log2(trace) - np.log2(total))) + _USUAL
        return cls(unit, lowest, highest, min(max(usual, lowest), highest))

    def alpha(self, exponent: int) -> float:
        """Return a penalty of the grid."""
        return float(self.unit * 2.0**exponent)

    def search(self, error: Callable[[float], float]) -> float:
        """Return the penalty next to which both neighbours are worse.

        >>> Candidates(1.0, -20, 20, 0).search(lambda alpha: abs(alpha - 600.0))
        512.0
        >>> Candidates(1.0, -20, 20, 0).search(lambda alpha: 0.0)  # the largest of equal ones
        1048576.0
        """
        at = cache(lambda exponent: error(self.alpha(exponent)))
        best = self.start
        for step in _STEPS:
            while True:
                if best + step <= self.highest and at(best + step) <= (1.0 + TIE) * at(best):
                    best += step
                elif best - step >= self.lowest and at(best - step) < (1.0 - TIE) * at(best):
                    best -= step
                else:
                    break
        return self.alpha(best)


def constant_targets(moments: RegressionMoments) -> NDArray[np.bool_]:
    r"""Tell which targets vary by rounding alone, :math:`S_t \le W (64 \epsilon \bar y_t)^2`."""
    deviations = np.sqrt(np.maximum(moments.target_scatter, 0.0))
    rounding = _ROUNDING * np.sqrt(moments.weight) * np.abs(moments.target_mean)
    return np.asarray(deviations <= rounding)
