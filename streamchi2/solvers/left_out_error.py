r"""Error on sampled rows that are left out, each with all its copies and its whole weight.

Without row i, of which the stream holds copies of total weight :math:`w_i`, its residual
:math:`e_i` is :math:`e_i / (1 - w_i h_i)`, with the leverage
:math:`h_i = 1/W + \tilde z_i^\top (H + P)^{-1} \tilde z_i` under a penalty P that stays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from streamchi2.checks import Floats
from streamchi2.statistics.target_moments import RegressionMoments

_ROUNDING = 64 * float(np.finfo(np.float64).eps)  # of a mean
_LEAST_REST = 1e-12  # of one less a leverage; a larger one would make the least penalty win
_RAISES = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4)  # of the trace


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Sampled rows about the means of the moments, in which they are counted.

    Examples
    --------
    >>> from streamchi2.statistics.target_moments import TargetMoments
    >>> rows, targets = np.array([[0.0], [1.0], [3.0]]), np.array([[1.0], [2.0], [3.0]])
    >>> moments = TargetMoments(1, 1).update(rows, targets).summary()
    >>> sample = SampledRows.of(moments, rows, targets, np.ones(3))

    Each row against the mean of the other two, in units of the variance:

    >>> round(sample.left_out_error(np.zeros((1, 1)), np.zeros((3, 1))), 9)
    6.75
    """

    features: NDArray[np.float64]  # (m, d), less their mean
    targets: NDArray[np.float64]  # (m, t), less their mean
    weights: NDArray[np.float64]  # (m,), of all rows of the stream that equal this one
    total: float  # weight of the stream
    variances: NDArray[np.float64]  # (t,), infinite for outputs that do not vary

    @classmethod
    def of(
        cls,
        moments: RegressionMoments,
        features: Floats,
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
    ) -> SampledRows:
        """Return the sampled rows of a stream in the coordinates of its moments."""
        spread = np.where(constant_outputs(moments), np.inf, moments.target_scatter)
        return cls(
            features - moments.mean,
            targets - moments.target_mean,
            weights,
            moments.weight,
            spread / moments.weight,
        )

    def left_out_error(self, coef: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
        r"""Return the weighted sum of squares of left-out residuals, each output by its variance.

        ``shares``, (m, t) or (m, 1), are the leverages without the part of the intercept.
        """
        residuals = self.targets - self.features @ coef
        leverages = self.weights[:, None] * (1.0 / self.total + shares)
        left_out = residuals / np.maximum(1.0 - leverages, _LEAST_REST)
        return float((self.weights @ left_out**2 / self.variances).sum())


def constant_outputs(moments: RegressionMoments) -> NDArray[np.bool_]:
    r"""Tell which outputs vary by rounding alone, :math:`S_t \le W (64 \epsilon \bar y_t)^2`."""
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
