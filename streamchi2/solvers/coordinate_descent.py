r"""Coordinate descent on a scatter matrix, for all outputs at once.

For each column of C, minimises
:math:`\tfrac12 w^\top H w - C^\top w + \lambda_1\|w\|_1 + \tfrac12\lambda_2\|w\|^2`. One
coordinate has a closed form, soft-thresholding, and sweeps over the coordinates soon find which
are non-zero and of which sign. Given these the rest is a linear system, so Newton steps between
the sweeps spare the thousands of sweeps that correlated features would need.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from streamchi2.validation import ConvergenceWarning

TOLERANCE = 1e-9  # of the largest cross scatter: how far the optimality conditions may be missed
_SWEEPS = 5  # between Newton steps
_MAX_STEPS = 200  # of sweeps and a Newton step, in one call: a bound on the work
_FLAT = 1e-10  # of the largest curvature: added where a scatter is singular


@dataclass(frozen=True)
class Penalty:
    """Weights of the absolute values and of half the squares, against half the sum of squares."""

    absolutes: float  # lambda_1
    squares: float  # lambda_2

    @classmethod
    def of(cls, weight: float, alpha: float, l1_ratio: float) -> Self:
        """Return the weights for ``alpha`` and ``l1_ratio`` as scikit-learn defines them."""
        return cls(weight * alpha * l1_ratio, weight * alpha * (1.0 - l1_ratio))


def soft_threshold(values: NDArray[np.float64], threshold: float) -> NDArray[np.float64]:
    """Move every value towards zero by ``threshold``, but not across.

    >>> soft_threshold(np.array([-3.0, 0.5, 2.0]), 1.0)
    array([-2.,  0.,  1.])
    """
    shrunk: NDArray[np.float64] = values - np.clip(values, -threshold, threshold)
    return shrunk


def diagonal_solution(
    diagonal: NDArray[np.float64], cross: NDArray[np.float64], penalty: Penalty
) -> NDArray[np.float64]:
    """Return the minimum for a diagonal scatter, in closed form.

    >>> diagonal_solution(np.array([2.0, 0.0]), np.array([[3.0], [0.0]]), Penalty(1.0, 0.0))
    array([[1.],
           [0.]])
    """
    curvature = diagonal + penalty.squares
    shrunk = soft_threshold(cross, penalty.absolutes)
    return shrunk / np.where(curvature > 0.0, curvature, np.inf)[:, None]


def coordinate_descent(
    scatter: NDArray[np.float64],
    cross: NDArray[np.float64],
    penalty: Penalty,
    start: NDArray[np.float64] | None = None,
    tolerance: float = TOLERANCE,
) -> NDArray[np.float64]:
    r"""Return the minimum for every column of ``cross``, shape (d, t).

    Only coordinates that are non-zero or violate the optimality conditions

    .. math:: |C - Hw| \le \lambda_1 \text{ where } w = 0, \qquad
              C - Hw - \lambda_2 w = \lambda_1 \mathrm{sign}(w) \text{ elsewhere}

    are swept, until they are settled among themselves; then all are looked at again. It ends when
    no violation exceeds ``tolerance`` times the largest entry of C, or after 200 Newton steps with
    a ``ConvergenceWarning``; a tolerance above 1e-9, enough to compare penalties, does not warn.

    Parameters
    ----------
    scatter, cross : ndarray, shapes (d, d) and (d, t)
        H and C.
    penalty : Penalty
        The two weights.
    start : ndarray, shape (d, t), optional
        Coefficients to begin with; zeros by default.
    tolerance : float, default=1e-9
        Largest violation allowed, in units of the largest entry of C.

    Notes
    -----
    A sweep over a coordinates costs O(a^2 t), a Newton step O(a^3) an output. Violations below the
    rounding of Hw count as none.

    References
    ----------
    Friedman, Hastie and Tibshirani (2010), section 2.2, doi:10.18637/jss.v033.i01; Lee et al.
    (2007), Efficient sparse coding algorithms (feature-sign search), NIPS 19.

    Examples
    --------
    >>> coordinate_descent(np.eye(2), np.array([[3.0], [0.5]]), Penalty(1.0, 0.0))
    array([[2.],
           [0.]])
    """
    coef = np.zeros_like(cross) if start is None else start.copy()
    steps = 0
    while True:
        gradient = cross - scatter @ coef
        allowed = _allowed(scatter, cross, coef, tolerance)
        wrong = violations(coef, gradient, penalty).max(axis=1, initial=0.0)
        if wrong.max(initial=0.0) <= allowed:
            return coef
        if steps >= _MAX_STEPS:
            break
        working = np.flatnonzero((coef != 0.0).any(axis=1) | (wrong > allowed))
        square = np.ascontiguousarray(scatter[np.ix_(working, working)])
        coef[working], done = _settled(
            square, cross[working], coef[working], penalty, tolerance, _MAX_STEPS - steps
        )
        steps += done
    if tolerance <= TOLERANCE:
        warnings.warn(
            f"coordinate descent missed the optimality conditions by {wrong.max():.1e} after "
            f"{steps} Newton steps, more than {allowed:.1e}; a larger alpha or some squares "
            "(l1_ratio below 1) will help",
            ConvergenceWarning,
            stacklevel=2,
        )
    return coef


def _allowed(
    scatter: NDArray[np.float64],
    cross: NDArray[np.float64],
    coef: NDArray[np.float64],
    tolerance: float,
) -> float:
    """Return the largest violation that is none: by tolerance, or by the rounding of Hw."""
    largest = float(np.abs(cross).max(initial=0.0))
    terms = float(scatter.diagonal().max(initial=0.0) * np.abs(coef).sum(axis=0).max(initial=0.0))
    return max(tolerance * largest, float(np.finfo(np.float64).eps) * terms)


def violations(
    coef: NDArray[np.float64], gradient: NDArray[np.float64], penalty: Penalty
) -> NDArray[np.float64]:
    """Return by how much each coordinate misses its optimality condition, shape (d, t)."""
    slope = gradient - penalty.squares * coef
    at_zero = np.abs(soft_threshold(slope, penalty.absolutes))
    elsewhere = np.abs(slope - penalty.absolutes * np.sign(coef))
    return np.where(coef == 0.0, at_zero, elsewhere)


def _settled(
    scatter: NDArray[np.float64],
    cross: NDArray[np.float64],
    coef: NDArray[np.float64],
    penalty: Penalty,
    tolerance: float,
    max_steps: int,
) -> tuple[NDArray[np.float64], int]:
    """Settle all coordinates among themselves; return them and the number of steps it took."""
    for step in range(1, max_steps + 1):
        gradient = cross - scatter @ coef
        for _ in range(_SWEEPS):
            _sweep(scatter, coef, gradient, penalty)
        if violations(coef, gradient, penalty).max() <= _allowed(scatter, cross, coef, tolerance):
            return coef, step
        for output in range(coef.shape[1]):
            _newton_step(scatter, cross[:, output], coef[:, output], penalty)
    return coef, max_steps


def _sweep(
    scatter: NDArray[np.float64],
    coef: NDArray[np.float64],
    gradient: NDArray[np.float64],
    penalty: Penalty,
) -> None:
    """Minimise over each coordinate in turn, in place."""
    curvature = scatter.diagonal() + penalty.squares
    for place in np.flatnonzero(curvature > 0.0):
        before = coef[place].copy()
        pull = gradient[place] + scatter[place, place] * before
        coef[place] = soft_threshold(pull, penalty.absolutes) / curvature[place]
        change = coef[place] - before
        if change.any():
            gradient -= scatter[:, place, None] * change


def _newton_step(
    scatter: NDArray[np.float64],
    cross: NDArray[np.float64],
    coef: NDArray[np.float64],
    penalty: Penalty,
) -> None:
    """Move one output, in place, towards the minimum for the present signs, to the first zero."""
    active = np.flatnonzero(coef)
    present = coef[active]
    curvature = scatter[np.ix_(active, active)]
    slope = cross[active] - curvature @ present - penalty.squares * present
    slope -= penalty.absolutes * np.sign(present)
    curvature.flat[:: active.size + 1] += penalty.squares
    try:
        factor = cho_factor(curvature, lower=True, check_finite=False)
    except LinAlgError:
        # Flat directions, as wherever features outnumber rows: a little more curvature bounds the
        # objective from above, so that a step to its minimum still goes down.
        curvature.flat[:: active.size + 1] += _FLAT * curvature.diagonal().max()
        try:
            factor = cho_factor(curvature, lower=True, check_finite=False)
        except LinAlgError:
            return  # sweeps alone
    target = present + cho_solve(factor, slope)
    if not np.isfinite(target).all():
        return
    crossing = target * present < 0.0
    if not crossing.any():
        coef[active] = target
        return
    # Within the signs the objective is convex, so it falls all the way to the first zero.
    shares = present[crossing] / (present[crossing] - target[crossing])
    reached = present + shares.min() * (target - present)
    reached[np.flatnonzero(crossing)[np.argmin(shares)]] = 0.0
    coef[active] = reached
