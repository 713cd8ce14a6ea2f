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

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from streamchi2.checks import Floats
from streamchi2.solvers.ridge import InverseRoot
from streamchi2.statistics.moments import RegressionMoments

_ROUNDING = 64 * float(np.finfo(np.float64).eps)  # of a mean
_LEAST_REST = 1e-12  # of one less a leverage; a larger one would make the least penalty win
_PERFECT = 1e-10  # of the spread of targets: below, a penalty would fit rounding errors
_RAISES = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4)  # of the trace
_LOWEST, _HIGHEST = -27, 10  # exponents of penalties in units of the trace: 7e-9 to 1024
_USUAL = -2  # exponent of the usual penalty of kernel features, in units of their mean variance
_SEARCH_ROWS = 512  # on which candidates are compared; more cost as much as their factors
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

    >>> round(sample.error(sample.left_out(np.zeros((3, 1)), np.zeros((3, 1)))), 9)
    6.75
    """

    features: NDArray[np.float64]  # (m, d), less their mean
    targets: NDArray[np.float64]  # (m, t), less their mean
    weights: NDArray[np.float64]  # (m,), of all rows of the stream that equal this one
    total: float  # weight of the stream; infinite where there is no intercept
    units: NDArray[np.float64]  # (t,), of squared errors; infinite for targets that do not vary

    @classmethod
    def of(
        cls,
        moments: RegressionMoments,
        features: Floats,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
        *,
        by_variance: bool = True,
        intercept: bool = True,
    ) -> SampledRows:
        """Return the sampled rows of a stream in the coordinates of its moments.

        Squared errors are divided ``by_variance`` of their target, unless all have one unit.
        """
        variances = np.where(constant_targets(moments), np.inf, moments.target_scatter)
        variances = variances / moments.weight
        return cls(
            features - moments.mean,
            targets - moments.target_mean,
            weights,
            moments.weight if intercept else np.inf,
            variances if by_variance else np.where(np.isinf(variances), np.inf, 1.0),
        )

    @classmethod
    def alone(
        cls,
        features: Floats,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
        *,
        by_variance: bool = True,
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
        parts = (self.features[:n_rows], self.targets[:n_rows], self.weights[:n_rows])
        return SampledRows(*parts, self.total, self.units)

    def left_out(
        self, scores: NDArray[np.float64], shares: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        r"""Return left-out residuals, shape (m, t).

        ``scores`` are about the mean of the targets, ``shares``, (m, t) or (m, 1), are the
        leverages without the part of the intercept.
        """
        leverages = self.weights[:, None] * (1.0 / self.total + shares)
        return (self.targets - scores) / np.maximum(1.0 - leverages, _LEAST_REST)

    def left_out_of_ridge(self, moments: RegressionMoments, alpha: float) -> NDArray[np.float64]:
        """Return left-out residuals of ridge regression, in d^3/3 + m d^2 operations."""
        root = InverseRoot(moments.scatter, alpha)
        rows = root.times(self.features.T)
        shares = np.einsum("ij,ij->j", rows, rows)[:, None]
        return self.left_out(rows.T @ root.times(moments.cross), shares)

    def error(self, residuals: NDArray[np.float64]) -> float:
        """Return the weighted sum of squares of residuals, each target in its unit."""
        least = _PERFECT * float((self.weights @ self.targets**2 / self.units).sum())
        return max(float((self.weights @ residuals**2 / self.units).sum()), least)


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
    values: NDArray[np.float64]  # (m,), D
    vectors: NDArray[np.float64]  # (m, m), U
    turned: NDArray[np.float64]  # (m, t)

    @classmethod
    def of(cls, sample: SampledRows) -> GramSpectrum:
        """Return the spectrum, in some 10 m^3 operations."""
        roots = np.sqrt(sample.weights)[:, None]
        rows = roots * sample.features
        values, vectors = np.linalg.eigh(rows @ rows.T)
        rounding = values.size * np.finfo(np.float64).eps * values[-1]
        values = np.where(values > rounding, values, 0.0)
        return cls(sample, values, vectors, vectors.T @ (roots * sample.targets))

    def left_out(self, alpha: float) -> NDArray[np.float64]:
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
        alphas = [candidates.alpha(e) for e in range(candidates.lowest, candidates.highest + 1)]
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
    flat = moments.scatter.ndim == 1
    trace = float(moments.scatter.sum() if flat else moments.scatter.trace())
    if trace <= 0.0:  # rows without any difference
        return 1.0
    rows = sample.first(_SEARCH_ROWS)
    candidates = Candidates.of(trace, rows.weights, moments.weight)
    return candidates.search(lambda alpha: rows.error(rows.left_out_of_ridge(moments, alpha)))


@dataclass(frozen=True)
class Candidates:
    """Penalties on a fixed grid: a unit times powers of two, and where to start among them."""

    unit: float
    lowest: int
    highest: int
    start: int

    @classmethod
    def of(cls, trace: float, weights: NDArray[np.float64], total: float) -> Candidates:
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
        errors: dict[int, float] = {}

        def at(exponent: int) -> float:
            if not self.lowest <= exponent <= self.highest:
                return float(np.inf)
            if exponent not in errors:
                errors[exponent] = error(self.alpha(exponent))
            return errors[exponent]

        best = self.start
        for step in _STEPS:
            while True:
                if best + step <= self.highest and at(best + step) <= (1.0 + TIE) * at(best):
                    best += step
                elif at(best - step) < (1.0 - TIE) * at(best):
                    best -= step
                else:
                    break
        return self.alpha(best)


def constant_targets(moments: RegressionMoments) -> NDArray[np.bool_]:
    r"""Tell which targets vary by rounding alone, :math:`S_t \le W (64 \epsilon \bar y_t)^2`."""
    deviations = np.sqrt(np.maximum(moments.target_scatter, 0.0))
    rounding = _ROUNDING * np.sqrt(moments.weight) * np.abs(moments.target_mean)
    return np.asarray(deviations <= rounding)


def squared_lengths(
    scatter: NDArray[np.float64], features: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return z' H^-1 z for each row, in d^3/3 + m d^2 operations.

    >>> squared_lengths(np.diag([1.0, 4.0]), np.array([[1.0, 2.0]])).round(12)
    array([2.])
    """
    solved = solve_triangular(definite(scatter)[1], features.T, lower=True, check_finite=False)
    return np.asarray(np.einsum("ij,ij->j", solved, solved))


def definite(scatter: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a scatter without negative eigenvalues, and its lower Cholesky factor.

    Products of float32 features leave some of 1e-8 of the largest; the diagonal is raised by as
    much as it takes, in steps of a hundred from 1e-14 of the trace.
    """
    trace = max(float(scatter.trace()), np.finfo(np.float64).tiny)
    for share in _RAISES:
        raised = scatter.copy()
        raised.flat[:: raised.shape[0] + 1] += share * trace
        try:
            return raised, cholesky(raised, lower=True, check_finite=False)
        except LinAlgError:
            continue
    raise LinAlgError(f"the scatter has eigenvalues below {-_RAISES[-1]:g} of its trace")
