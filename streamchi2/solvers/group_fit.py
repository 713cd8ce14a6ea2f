"""Newton's method for the scales of the groups in a group lasso; see :mod:`.group_lasso`."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dtrtri
from scipy.optimize import nnls

from streamchi2.statistics.target_moments import RegressionMoments

Groups = tuple[slice, ...]

TOLERANCE = 1e-9  # of lambda: how far the optimality conditions may be missed
_ENOUGH = 1e-4  # what rounding may leave without a warning, where scales are huge
_CONSTANT = 1e-12  # of the largest variance: what float32 makes of features that do not vary
_FLAT = 1e-10  # least curvature, of one
_LEAST_ALPHA = 1e-10  # of the strongest
_MAX_STEPS = 100
_HALVINGS = 30


def penalty_weights(moments: RegressionMoments, groups: Groups) -> NDArray[np.float64]:
    r"""Return :math:`n\omega_g = \sqrt{n\,\mathrm{tr} H_{gg}}` for every group.

    Groups that vary by no more than rounding count as if they varied a little more: their scale
    is no matter of units, and they stay out.
    """
    diagonal = moments.scatter if moments.scatter.ndim == 1 else moments.scatter.diagonal()
    traces = np.array([max(float(diagonal[group].sum()), 0.0) for group in groups])
    traces = np.maximum(traces, _CONSTANT * traces.max(initial=0.0))
    weights: NDArray[np.float64] = np.sqrt(moments.weight * traces)
    return np.maximum(weights, np.finfo(np.float64).tiny)


def strongest_alpha(moments: RegressionMoments, groups: Groups) -> float:
    """Return the smallest alpha that leaves every group out."""
    if not moments.target_scatter.sum() > 0.0:
        return 0.0  # targets that are all equal: what there is of a cross scatter is rounding
    cross = np.array([np.linalg.norm(moments.cross[group]) for group in groups])
    return float((cross / penalty_weights(moments, groups)).max(initial=0.0))


def fitted(
    moments: RegressionMoments,
    groups: Groups,
    alpha: float,
    start: NDArray[np.float64] | None = None,
    tolerance: float = TOLERANCE,
) -> Fit:
    """Return the scales for a positive alpha, with what follows from them.

    Parameters
    ----------
    moments, groups, alpha
        As in :func:`group_lasso`, the moments :func:`definite`.
    start : ndarray, optional
        Scales to begin with; zeros by default.
    tolerance : float, default=1e-9
        Largest violation of the optimality conditions, in units of lambda.
    """
    # A penalty below the rounding of the cross scatter is as good as one at it; one far above
    # the strongest leaves out as much as that, and its square may be infinite.
    strongest = strongest_alpha(moments, groups)
    effective = min(max(alpha, _LEAST_ALPHA * strongest), max(1.0, 2.0 * strongest))
    lambdas = effective * penalty_weights(moments, groups)
    start = np.zeros(len(groups)) if start is None else start
    fit = Fit(moments, groups, alpha, lambdas, start)
    for _ in range(_MAX_STEPS):
        if fit.violation <= tolerance or (there := _stepped(fit)) is None:
            break
        fit = there
    # Whoever asks for little, to compare penalties to a hundredth, can do nothing about it either.
    if fit.violation > max(100.0 * tolerance, _ENOUGH):
        warnings.warn(
            f"group lasso missed its optimality conditions by {fit.violation:.1e} of lambda, more "
            f"than {tolerance:.1e}; a larger alpha will help",
            RuntimeWarning,
            stacklevel=2,
        )
    return fit


class Fit:
    """Scales and what follows from them; one Cholesky factor."""

    def __init__(
        self,
        moments: RegressionMoments,
        groups: Groups,
        alpha: float,
        lambdas: NDArray[np.float64],
        scales: NDArray[np.float64],
    ) -> None:
        self.moments, self.groups = moments, groups
        self.alpha, self.lambdas, self.scales = alpha, lambdas, scales
        self._root = spread(groups, np.sqrt(scales))
        raised = moments.scatter * self._root * self._root[:, None]
        raised.flat[:: raised.shape[0] + 1] += 1.0
        self._factor = cho_factor(raised, lower=True, overwrite_a=True, check_finite=False)
        solved = cho_solve(self._factor, self._root[:, None] * moments.cross, check_finite=False)
        coef = self._root[:, None] * solved
        self.residual = moments.cross - moments.scatter @ coef  # R
        for group, root in zip(groups, np.sqrt(scales), strict=True):
            if self._is_large(group):
                self.residual[group] = solved[group] / root  # the same, and nothing cancels
        self.norms = np.array([np.linalg.norm(self.residual[group]) for group in groups])
        self._gain = float(np.vdot(moments.cross, coef))  # tr C'W
        self.objective = 0.5 * (float(lambdas**2 @ scales) - self._gain)

    @property
    def violation(self) -> float:
        """By how much the optimality conditions are missed, in units of lambda."""
        excess = self.norms / self.lambdas - 1.0
        return float(np.where(self.scales > 0.0, np.abs(excess), excess).max(initial=0.0))

    @property
    def explained(self) -> float:
        """Part of the targets' scatter that is fitted: tr (2C - HW)'W, with W'R = d |R|^2."""
        return self._gain + float(self.scales @ self.norms**2)

    @property
    def rounding(self) -> float:
        """Differences of the objective that mean nothing."""
        return 1e-14 * abs(self._gain)

    def at(self, scales: NDArray[np.float64]) -> Fit:
        """Return the same at other scales."""
        return Fit(self.moments, self.groups, self.alpha, self.lambdas, scales)

    def degrees_of_freedom(self) -> float:
        """Return tr SHS (SHS + I)^-1, from the inverse of the factor."""
        inverse, _ = dtrtri(self._factor[0], lower=1)
        return float(inverse.shape[0] - (np.tril(inverse) ** 2).sum())

    def curvature(self) -> NDArray[np.float64]:
        r"""Return the second derivatives :math:`\mathrm{tr}\,R_g^\top (I + HD)^{-1} H R_h`.

        With K = (SHS + I)^-1 the matrix is H - H S K S H, which is good while SHS is small, and
        also S^-1 K S H and S^-1 (I - K) S^-1, which are good where it is large.
        """
        images, turned = [], []
        for group in self.groups:
            part = self.residual[group]
            images.append(self.moments.scatter[:, group] @ part)
            if self._is_large(group):
                own = np.zeros_like(self.residual)
                own[group] = part / self._root[group][:, None]
                turned.append(own - cho_solve(self._factor, own, check_finite=False))
            else:
                inside = self._root[:, None] * images[-1]
                turned.append(cho_solve(self._factor, inside, check_finite=False))
        found = np.empty((len(self.groups), len(self.groups)))
        for g, group in enumerate(self.groups):
            part, root = self.residual[group], self._root[group][:, None]
            for h in range(len(self.groups)):
                if self._is_large(group):
                    found[g, h] = np.vdot(part / root, turned[h][group])
                    found[h, g] = found[g, h]
                elif not self._is_large(self.groups[h]):
                    direct = np.vdot(part, images[h][group])
                    found[g, h] = direct - np.vdot(self._root[:, None] * images[g], turned[h])
        return (found + found.T) / 2.0

    def _is_large(self, group: slice) -> bool:
        """Tell whether SHS exceeds I in a group."""
        diagonal = self.moments.scatter.diagonal()[group]
        return bool((self._root[group] ** 2 * diagonal).sum() > 1.0)


def _stepped(fit: Fit) -> Fit | None:
    """Take a Newton step that lowers the objective; None where there is none."""
    norms, lambdas, curvature = fit.norms, fit.lambdas, fit.curvature()
    # 1/|R| is nearly linear in d where |R| is not: far from the end its step reaches further.
    further = norms**2 * (norms - lambdas) / lambdas
    downhill = 0.5 * (norms**2 - lambdas**2)
    for slope, n_tries in ((further, 1), (downhill, _HALVINGS)):
        step = _nonnegative_minimum(curvature, slope, fit.scales) - fit.scales
        for halving in range(n_tries):
            try:
                there = fit.at(np.maximum(fit.scales + step / 2.0**halving, 0.0))
            except LinAlgError:
                continue  # beyond what the rounding of the scatter allows
            change = there.objective - fit.objective
            closer = there.violation < fit.violation
            if change < -fit.rounding or (closer and change <= fit.rounding):
                return there
    return None


def _nonnegative_minimum(
    curvature: NDArray[np.float64], slope: NDArray[np.float64], present: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the d >= 0 that minimises the parabola about the present ones."""
    # In units in which the diagonal is one; directions that rounding makes flat get a floor.
    units = np.sqrt(np.maximum(curvature.diagonal(), np.finfo(np.float64).tiny))
    matrix = curvature / units / units[:, None]
    matrix.flat[:: matrix.shape[0] + 1] = 1.0
    values, vectors = np.linalg.eigh(matrix)
    root = np.sqrt(np.maximum(values, _FLAT))[:, None] * vectors.T
    target = root @ (present * units) + np.linalg.solve(root.T, slope / units)
    found, _ = nnls(root, target)
    minimum: NDArray[np.float64] = found / units
    return minimum


def spread(groups: Groups, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one value a feature from one a group."""
    sizes = [group.stop - group.start for group in groups]
    return np.repeat(values, sizes)
