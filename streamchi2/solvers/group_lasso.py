r"""Group lasso from moments: whole groups of features enter together, or stay out together.

.. math:: \min_W \tfrac1{2n}\|Y - ZW\|_F^2 + \alpha \sum_g \omega_g \|W_g\|_F, \qquad
          \omega_g = \sqrt{\mathrm{tr}(H_{gg}) / n}

The weights make the scale of a group irrelevant: they are :math:`\sqrt{p_g}` where the p features
of a group have unit variance, and about one for the features of a kernel, however many. So with
one group a kernel this is multiple kernel learning (Bach 2008).

Since :math:`\lambda\|w\| = \min_{d>0} \tfrac12(\|w\|^2/d + \lambda^2 d)`, the minimum is ridge
regression, penalty one, on features times :math:`\sqrt{d_g}`, and the :math:`d_g \ge 0`, as few as
there are groups, minimise a convex function. With :math:`R = C - HW` and
:math:`\lambda_g = n\alpha\omega_g`,

.. math:: F(d) = \tfrac12 \sum_g \lambda_g^2 d_g - \tfrac12 \mathrm{tr}\, C^\top W(d), \qquad
          \frac{\partial F}{\partial d_g} = \tfrac12 (\lambda_g^2 - \|R_g\|^2), \qquad
          W_g = d_g R_g

Ridge regression is repeated with other scales until :math:`\|R_g\| = \lambda_g` where a group is
in, and at most that where it is out: by a Newton step where that goes down, and by
:math:`d_g = \|W_g\| / \lambda_g`, which always does, elsewhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular
from scipy.optimize import nnls

from streamchi2.solvers import left_out
from streamchi2.solvers.left_out import TIE, SampledRows
from streamchi2.solvers.linear_model import LinearModel, linear_model
from streamchi2.solvers.ridge import ridge
from streamchi2.statistics.moments import RegressionMoments

Groups = tuple[slice, ...]

_TOLERANCE = 1e-9  # of lambda: how far the optimality conditions may be missed
_ROUGH = 1e-4  # tolerance that is enough to compare penalties
_ENOUGH = 1e-4  # what rounding may leave without a warning, where scales are huge
_CONSTANT = 1e-12  # of the largest variance: what float32 makes of features that do not vary
_FLAT = 1e-10  # least curvature, of one
_LEAST_ALPHA = 1e-10  # of the strongest: below, a penalty is less than the rounding of C
_MAX_STEPS = 100
_N_HALVINGS = 17  # candidates, five decades
_PATIENCE = 4  # halvings, more than a decade, that must bring something
_WORTH = 1.01  # of the least error: what a smaller choice of groups may cost
_ENTRY = 1.01  # alphas of entry are worked out to a hundredth


def group_lasso(moments: RegressionMoments, groups: Groups, alpha: float) -> LinearModel:
    """Return the model in which groups of features are chosen, for all outputs together.

    Parameters
    ----------
    moments : RegressionMoments
        Of features and targets; a flat ``scatter`` is a diagonal.
    groups : tuple of slice
        Consecutive features that belong together; each feature in one group.
    alpha : float
        Strength of the penalty, at least 0; against half the mean squared residual.

    Notes
    -----
    A step costs D^3/3 + O(D^2 t g) operations for t outputs and g groups.

    References
    ----------
    Yuan and Lin (2006), doi:10.1111/j.1467-9868.2005.00532.x; Bach (2008), Consistency of the
    group lasso and multiple kernel learning, JMLR 9.

    Examples
    --------
    >>> from streamchi2.statistics.moments import Moments
    >>> rows = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    >>> moments = Moments.empty(np.zeros(2), np.zeros(1))
    >>> moments.add(rows, 2 * rows[:, :1], np.ones(4))
    >>> group_lasso(moments.summary(), (slice(0, 1), slice(1, 2)), alpha=1.0).coef.round(3)
    array([[1.106],
           [0.   ]])
    """
    if alpha == 0.0:
        return ridge(moments, 0.0)
    moments = definite(moments)
    return linear_model(moments, fitted(moments, groups, alpha).coef, alpha)


def group_scales(moments: RegressionMoments, groups: Groups, alpha: float) -> NDArray[np.float64]:
    r"""Return the numbers d, one a group, zero for groups that stay out.

    For :func:`definite` moments and a positive alpha.

    The kernel in use is then :math:`\sum_g d_g k_g`, under a ridge penalty of one.
    """
    return fitted(moments, groups, alpha).scales


def scaled(
    moments: RegressionMoments, groups: Groups, scales: NDArray[np.float64]
) -> RegressionMoments:
    """Return the moments of features times the square roots of the scales of their groups."""
    root = _spread(groups, np.sqrt(scales))
    scatter = moments.scatter
    scatter = scatter * root**2 if scatter.ndim == 1 else scatter * root * root[:, None]
    return replace(
        moments, mean=moments.mean * root, scatter=scatter, cross=moments.cross * root[:, None]
    )


def definite(moments: RegressionMoments) -> RegressionMoments:
    """Return moments whose scatter is a square matrix without negative eigenvalues."""
    scatter = np.diag(moments.scatter) if moments.scatter.ndim == 1 else moments.scatter
    return replace(moments, scatter=left_out.definite(scatter)[0])


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
    cross = _norms(groups, moments.cross)
    return float((cross / penalty_weights(moments, groups)).max(initial=0.0))


class Chosen(NamedTuple):
    """A penalty of the group lasso, and the scales with which to predict."""

    alpha: float
    scales: NDArray[np.float64]


def chosen_group_scales(moments: RegressionMoments, groups: Groups, sample: SampledRows) -> Chosen:
    r"""Choose groups by the group lasso, and how much to shrink, by rows that are left out.

    One alpha cannot do both: strong enough to leave out noise it shrinks the rest too much, and
    what predicts best lets noise in. So the lasso gives relative scales of the groups, and ridge
    regression in these scales has a penalty of its own (as in the relaxed lasso). The error is that
    of :class:`~streamchi2.solvers.left_out.SampledRows`, with ridge's leverages
    :math:`1/W + z^\top (H + D^{-1})^{-1} z`.

    Alphas are powers of two below the largest at which a group enters, downwards until four have
    brought nothing. Candidates are the best of these and, for every smaller choice of groups met on
    the way, its last, each with the power of two times its scales that has the least error. Of
    these the sparsest within 1 % of the least error answers: a group has to earn its place.

    Parameters
    ----------
    moments : RegressionMoments
        Of all rows, :func:`definite`.
    groups : tuple of slice
        As in :func:`group_lasso`.
    sample : SampledRows
        In the coordinates of the moments.

    Notes
    -----
    Some fifty Cholesky factors, each with m D^2 operations for the leverages.

    References
    ----------
    Meinshausen (2007), Relaxed lasso, doi:10.1016/j.csda.2006.12.019.

    Examples
    --------
    >>> from streamchi2.statistics.moments import Moments
    >>> random = np.random.default_rng(0)
    >>> rows = random.normal(size=(200, 4))
    >>> targets = rows[:, :1] + 0.5 * random.normal(size=(200, 1))
    >>> moments = Moments.empty(np.zeros(4), np.zeros(1))
    >>> moments.add(rows, targets, np.ones(200))
    >>> groups = slice(0, 2), slice(2, 4)
    >>> sample = SampledRows.of(moments.summary(), rows, targets, np.ones(200))
    >>> chosen_group_scales(moments.summary(), groups, sample).scales > 0
    array([ True, False])
    """
    strongest = strongest_alpha(moments, groups)
    if strongest == 0.0 or moments.weight <= 0.0:
        return Chosen(1.0, np.zeros(len(groups)))

    def error(fit: Fit) -> float:
        try:
            shares = fit.leverages(sample.features)[:, None]
            return sample.error(sample.left_out(sample.features @ fit.coef, shares))
        except LinAlgError:  # scales beyond what the rounding of the scatter allows
            return np.inf

    path: list[Fit] = []
    errors: list[float] = []
    for alpha in np.exp2(np.ceil(np.log2(strongest)) - 1.0 - np.arange(_N_HALVINGS)).tolist():
        start = path[-1].scales if path else None
        path.append(fitted(moments, groups, alpha, start, _ROUGH))
        errors.append(error(path[-1]))
        best = int(np.argmin(errors))
        if len(path) > best + _PATIENCE:
            break
    last = {tuple(fit.scales > 0.0): fit for fit in path[: best + 1]}
    relaxed = [_relaxed(fit, error) for fit in last.values()]
    least = min(error(fit) for fit in relaxed)
    fit = next(fit for fit in relaxed if error(fit) <= _WORTH * least)
    return Chosen(fit.alpha, fit.scales)


def _relaxed(fit: Fit, error: Callable[[Fit], float]) -> Fit:
    """Return the fit whose scales are multiplied by the power of two of least error."""
    least = error(fit)
    for factor in (2.0, 0.5):
        while (there := error(other := fit.at(factor * fit.scales))) < least * (1.0 - TIE):
            fit, least = other, there
    return fit


def entry_alphas(moments: RegressionMoments, groups: Groups) -> NDArray[np.float64]:
    """Return the largest alpha at which each group is in, zero where that is below 1e-5.

    In units of the largest; to a hundredth, by walking down from there and bisection, for
    :func:`definite` moments.

    Examples
    --------
    >>> from streamchi2.statistics.moments import Moments
    >>> rows = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    >>> moments = Moments.empty(np.zeros(2), np.zeros(1))
    >>> moments.add(rows, rows @ [[3.0], [1.0]], np.ones(4))
    >>> entry_alphas(moments.summary(), (slice(0, 1), slice(1, 2))).round(1)
    array([3., 1.])
    """
    strongest = strongest_alpha(moments, groups)
    entries = np.zeros(len(groups))
    if strongest == 0.0:
        return entries
    above, scales = strongest, entries
    for below in (strongest * np.exp2(-1.0 - np.arange(_N_HALVINGS))).tolist():
        fit = fitted(moments, groups, below, scales, _ROUGH)
        for group in np.flatnonzero((fit.scales > 0.0) & (entries == 0.0)):
            outside, inside = above, below
            while outside > _ENTRY * inside:
                middle = float(np.sqrt(outside * inside))
                enters = fitted(moments, groups, middle, scales, _ROUGH).scales[group] > 0.0
                outside, inside = (outside, middle) if enters else (middle, inside)
            entries[group] = outside
        above, scales = below, fit.scales
        if entries.all():
            break
    return entries


def fitted(
    moments: RegressionMoments,
    groups: Groups,
    alpha: float,
    start: NDArray[np.float64] | None = None,
    tolerance: float = _TOLERANCE,
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
    fit = Fit(moments, groups, alpha, lambdas, np.zeros(len(groups)) if start is None else start)
    for _ in range(_MAX_STEPS):
        if fit.violation <= tolerance or (better := _better(fit)) is None:
            break
        fit = better
    # Whoever asks for little, to compare penalties to a hundredth, can do nothing about it either.
    if fit.violation > max(100.0 * tolerance, _ENOUGH):
        warnings.warn(
            f"group lasso missed its optimality conditions by {fit.violation:.1e} of lambda, more "
            f"than {tolerance:.1e}; a larger alpha will help",
            RuntimeWarning,
            stacklevel=2,
        )
    return fit


@dataclass(frozen=True, eq=False)
class Fit:
    """Ridge regression, penalty one, on features in the scales of their groups."""

    moments: RegressionMoments
    groups: Groups
    alpha: float
    lambdas: NDArray[np.float64]  # (g,)
    scales: NDArray[np.float64]  # (g,)

    @cached_property
    def _each(self) -> NDArray[np.float64]:
        """The scale of each feature."""
        return _spread(self.groups, self.scales)

    @cached_property
    def active(self) -> NDArray[np.intp]:
        """Features of the groups that are in."""
        return np.flatnonzero(self._each)

    @cached_property
    def factor(self) -> NDArray[np.float64]:
        """Lower Cholesky factor of SHS + I for the features that are in, S the root of D."""
        root = np.sqrt(self._each[self.active])
        raised = self.moments.scatter[np.ix_(self.active, self.active)] * root * root[:, None]
        raised.flat[:: self.active.size + 1] += 1.0
        return np.asarray(cholesky(raised, lower=True, check_finite=False))

    @cached_property
    def coef(self) -> NDArray[np.float64]:
        """W, shape (d, t)."""
        coef = np.zeros_like(self.moments.cross)
        root = np.sqrt(self._each[self.active])[:, None]
        inside = root * self.moments.cross[self.active]
        coef[self.active] = root * cho_solve((self.factor, True), inside, check_finite=False)
        return coef

    @cached_property
    def residual(self) -> NDArray[np.float64]:
        """R = C - HW, as W / d where a group is in, so that nothing cancels."""
        residual = (
            self.moments.cross - self.moments.scatter[:, self.active] @ self.coef[self.active]
        )
        residual[self.active] = self.coef[self.active] / self._each[self.active, None]
        return residual

    @cached_property
    def norms(self) -> NDArray[np.float64]:
        """Lengths of the residuals of each group."""
        return _norms(self.groups, self.residual)

    @property
    def gain(self) -> float:
        """Trace of C'W."""
        return float(np.vdot(self.moments.cross, self.coef))

    @property
    def objective(self) -> float:
        """F(d)."""
        return 0.5 * (float(self.lambdas**2 @ self.scales) - self.gain)

    @property
    def violation(self) -> float:
        """By how much the optimality conditions are missed, in units of lambda."""
        excess = self.norms / self.lambdas - 1.0
        return float(np.where(self.scales > 0.0, np.abs(excess), excess).max(initial=0.0))

    def at(self, scales: NDArray[np.float64]) -> Fit:
        """Return the same at other scales."""
        return replace(self, scales=scales)

    def leverages(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return z' (H + D^-1)^-1 z for each of some centred rows."""
        inside = np.sqrt(self._each[self.active])[:, None] * features[:, self.active].T
        solved = solve_triangular(self.factor, inside, lower=True, check_finite=False)
        return np.asarray(np.einsum("ij,ij->j", solved, solved))

    def curvature(self) -> NDArray[np.float64]:
        r"""Return the derivatives :math:`\mathrm{tr}\,R_g^\top (I + HD)^{-1} H R_h` of F'."""
        images = np.stack(
            [self.moments.scatter[:, group] @ self.residual[group] for group in self.groups]
        )
        direct = [
            np.einsum("it,hit->h", self.residual[group], images[:, group]) for group in self.groups
        ]
        root = np.sqrt(self._each[self.active])[:, None]
        inside = np.concatenate(list(root * images[:, self.active]), axis=1)
        solved = solve_triangular(self.factor, inside, lower=True, check_finite=False)
        parts = solved.reshape(self.active.size, len(self.groups), self.coef.shape[1])
        return np.asarray(np.array(direct) - np.einsum("igt,iht->gh", parts, parts))


def _better(fit: Fit) -> Fit | None:
    """Return a fit whose objective is lower; None where there is none but for rounding."""
    rounding = 1e-14 * abs(fit.gain)
    for step in (_newton_step, _fixed_point_step):
        try:
            other = fit.at(step(fit))
            change = other.objective - fit.objective
        except LinAlgError:
            continue  # beyond what the rounding of the scatter allows
        closer = other.violation < fit.violation or fit.violation > _ENOUGH
        if change < -rounding or (closer and change <= rounding):
            return other
    return None


def _newton_step(fit: Fit) -> NDArray[np.float64]:
    """Return the scales at which 1/|R| is 1/lambda if it is linear, which it nearly is in d."""
    slope = fit.norms**2 * (fit.norms - fit.lambdas) / fit.lambdas
    curvature = fit.curvature()
    # In units in which the diagonal is one; directions that rounding makes flat get a floor.
    units = np.sqrt(np.maximum(curvature.diagonal(), np.finfo(np.float64).tiny))
    matrix = curvature / units / units[:, None]
    matrix.flat[:: units.size + 1] = 1.0 + _FLAT
    upper = cholesky(matrix)
    pull = matrix @ (fit.scales * units) + slope / units
    return np.asarray(nnls(upper, solve_triangular(upper, pull, trans="T"))[0] / units)


def _fixed_point_step(fit: Fit) -> NDArray[np.float64]:
    """Return |W| / lambda; a group that is out and should be in gets its own Newton step."""
    ratio = fit.norms / fit.lambdas
    scales = fit.scales * ratio
    for group in np.flatnonzero((fit.scales == 0.0) & (ratio > 1.0)):
        columns, part = fit.groups[group], fit.residual[fit.groups[group]]
        curvature = float(np.vdot(part, fit.moments.scatter[columns, columns] @ part))
        scales[group] = fit.norms[group] ** 2 * (ratio[group] - 1.0) / curvature
    return scales


def _spread(groups: Groups, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one value a feature from one a group."""
    return np.repeat(values, [group.stop - group.start for group in groups])


def _norms(groups: Groups, values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([np.linalg.norm(values[group]) for group in groups])
