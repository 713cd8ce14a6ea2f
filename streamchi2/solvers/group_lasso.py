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

References
----------
Yuan and Lin (2006), doi:10.1111/j.1467-9868.2005.00532.x; Bach (2008), Consistency of the group
lasso and multiple kernel learning, JMLR 9.
"""

from __future__ import annotations

import warnings
from bisect import bisect_left
from collections.abc import Iterator

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import nnls

from streamchi2.checks.rows import Array
from streamchi2.solvers.left_out import Candidates, SampledRows
from streamchi2.solvers.linear_model import InverseRoot, definite
from streamchi2.statistics.moments import RegressionMoments

_TOLERANCE = 1e-9  # of lambda: how far the optimality conditions may be missed
_ROUGH = 1e-4  # enough to compare penalties; what rounding may leave where scales are huge
_CONSTANT = 1e-12  # of the largest variance: what float32 makes of features that do not vary
_LEAST_ALPHA = 1e-10  # of the strongest: below, a penalty is less than the rounding of C
_MAX_STEPS = 100
_N_HALVINGS = 17  # candidates, five decades
_PATIENCE = 4  # halvings, more than a decade, that must bring something
_SHRINKING = Candidates(1.0, -20, 20, 0)  # what scales may be divided by
_WORTH = 1.01  # of the least error: what a smaller choice of groups may cost
_N_FINER = 71  # alphas of entry are worked out to a hundredth
_TINY = float(np.finfo(np.float64).tiny)


class GroupLasso:
    """Group lasso of all outputs together, under any penalty above zero.

    Parameters
    ----------
    moments : RegressionMoments
        Of features and targets.
    groups : tuple of slice
        Consecutive features that belong together; each feature in one group.

    Attributes
    ----------
    penalty_weights : ndarray
        For every group n times its weight. Groups that vary by no more than rounding count as if
        they varied a little more: their scale is no matter of units, and they stay out.
    strongest : float
        The smallest alpha that leaves every group out.

    Notes
    -----
    A step costs D^3/3 + O(D^2 t g) operations for t outputs and g groups.

    Examples
    --------
    >>> from streamchi2.statistics.moments import Moments
    >>> rows = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    >>> moments = Moments.empty(np.zeros(2), np.zeros(1))
    >>> moments.add(rows, 2 * rows[:, :1], np.ones(4))
    >>> lasso = GroupLasso(moments.summary(), (slice(0, 1), slice(1, 2)))
    >>> lasso.fit(alpha=1.0).coef.round(3)
    array([[1.106],
           [0.   ]])
    """

    def __init__(self, moments: RegressionMoments, groups: tuple[slice, ...]) -> None:
        self.cross, self.groups = moments.cross, groups
        self.scatter = definite(moments.scatter)[0]
        self.sizes = [group.stop - group.start for group in groups]
        diagonal = self.scatter.diagonal()
        traces = np.array([diagonal[group].sum() for group in groups])
        traces = np.maximum(traces, _CONSTANT * traces.max())
        self.penalty_weights = np.maximum(np.sqrt(moments.weight * traces), _TINY)
        # Of targets that are all equal there is only rounding in the cross scatter.
        varies = moments.target_scatter.sum() > 0.0
        ratios = self.norms(self.cross) / self.penalty_weights
        self.strongest = float(ratios.max()) if varies else 0.0

    def norms(self, values: Array) -> Array:
        """Return the lengths of the parts of values in each group."""
        return np.array([np.linalg.norm(values[group]) for group in self.groups])

    def fit(
        self, alpha: float, start: Array | None = None, tolerance: float = _TOLERANCE
    ) -> GroupLassoFit:
        """Return the model for a positive alpha.

        Parameters
        ----------
        alpha : float
            Strength of the penalty; against half the mean squared residual.
        start : ndarray, optional
            Scales to begin with; zeros by default.
        tolerance : float, default=1e-9
            Largest violation of the optimality conditions, in units of lambda.
        """
        scales = np.zeros(len(self.groups)) if start is None else start
        fit = GroupLassoFit(self, alpha, scales)
        for _ in range(_MAX_STEPS):
            better = fit.better() if fit.violation > tolerance else None
            if better is None:
                break
            fit = better
        # Whoever asks for little, to compare penalties to a hundredth, can do nothing about it.
        if fit.violation > max(100.0 * tolerance, _ROUGH):
            warnings.warn(
                f"group lasso missed its optimality conditions by {fit.violation:.1e} of lambda, "
                f"more than {tolerance:.1e}; a larger alpha will help",
                RuntimeWarning,
                stacklevel=2,
            )
        return fit

    def path(self) -> Iterator[GroupLassoFit]:
        """Yield models for powers of two, from the first below the strongest alpha downwards."""
        if self.strongest == 0.0:
            return
        scales, largest = None, np.ceil(np.log2(self.strongest)) - 1.0
        for alpha in np.exp2(largest - np.arange(_N_HALVINGS)).tolist():
            fit = self.fit(alpha, scales, _ROUGH)
            scales = fit.scales
            yield fit

    def chosen(self, sample: SampledRows) -> GroupLassoFit:
        """Choose groups by the group lasso, and how much to shrink, by rows that are left out.

        One alpha cannot do both: strong enough to leave out noise it shrinks the rest too much, and
        what predicts best lets noise in. So the lasso gives relative scales of the groups, and
        ridge regression in these scales has a penalty of its own, as in the relaxed lasso.

        The path is walked until four halvings have brought nothing. Candidates are the best model
        and, for every smaller choice of groups met on the way, its last, each with the power of two
        times its scales that has the least error. Of these the sparsest within 1 % of the least
        error answers: a group has to earn its place.

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
        >>> lasso = GroupLasso(moments.summary(), (slice(0, 2), slice(2, 4)))
        >>> sample = SampledRows.of(moments.summary(), rows, targets, np.ones(200))
        >>> lasso.chosen(sample).scales > 0
        array([ True, False])
        """

        def error(fit: GroupLassoFit) -> float:
            return sample.error(fit.left_out(sample))

        def relaxed(fit: GroupLassoFit) -> GroupLassoFit:
            factor = _SHRINKING.search(lambda factor: error(fit.at(fit.scales / factor)))
            return fit.at(fit.scales / factor)

        fits: list[GroupLassoFit] = []
        errors: list[float] = []
        best = 0
        for fit in self.path():
            fits.append(fit)
            errors.append(error(fit))
            best = int(np.argmin(errors))
            if len(fits) > best + _PATIENCE:
                break
        if not fits:
            return GroupLassoFit(self, 1.0, np.zeros(len(self.groups)))
        last = {tuple(fit.scales > 0.0): fit for fit in fits[: best + 1]}
        fits = [relaxed(fit) for fit in last.values()]
        errors = [error(fit) for fit in fits]
        worth = [index for index, each in enumerate(errors) if each <= _WORTH * min(errors)]
        return fits[worth[0]]

    def entry_alphas(self) -> Array:
        """Return the largest alpha at which each group is in, zero where that is below 1e-5.

        In units of the largest; to a hundredth, by bisection between two models of the path.

        Examples
        --------
        >>> from streamchi2.statistics.moments import Moments
        >>> rows = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
        >>> moments = Moments.empty(np.zeros(2), np.zeros(1))
        >>> moments.add(rows, rows @ [[3.0], [1.0]], np.ones(4))
        >>> GroupLasso(moments.summary(), (slice(0, 1), slice(1, 2))).entry_alphas().round(1)
        array([3., 1.])
        """
        entries = np.zeros(len(self.groups))
        above, scales = self.strongest, entries.copy()
        for fit in self.path():
            finer = np.geomspace(above, fit.alpha, _N_FINER).tolist()
            for group in np.flatnonzero((fit.scales > 0.0) & (entries == 0.0)).tolist():

                def enters(alpha: float, group: int = group, start: Array = scales) -> bool:
                    return bool(self.fit(alpha, start, _ROUGH).scales[group] > 0.0)

                entries[group] = finer[bisect_left(finer, True, lo=1, key=enters) - 1]
            above, scales = fit.alpha, fit.scales
            if entries.all():
                break
        return entries


class GroupLassoFit:
    r"""Ridge regression, penalty one, on features times the roots of the scales of their groups.

    Parameters
    ----------
    lasso : GroupLasso
        What is to be solved.
    alpha : float
        For which penalty.
    scales : ndarray, shape (g,)
        The numbers d, zero for groups that stay out. The kernel in use is then
        :math:`\sum_g d_g k_g`.
    """

    def __init__(self, lasso: GroupLasso, alpha: float, scales: Array) -> None:
        self.lasso, self.alpha, self.scales = lasso, alpha, scales
        # A penalty below the rounding of the cross scatter is as good as one at it; one far above
        # the strongest leaves out as much as that, and its square may be infinite.
        ends = _LEAST_ALPHA * lasso.strongest, max(1.0, 2.0 * lasso.strongest)
        self.lambdas = np.clip(alpha, *ends) * lasso.penalty_weights
        each = np.repeat(scales, lasso.sizes)
        self._active = np.flatnonzero(each)
        self._roots = np.sqrt(each[self._active])[:, None]
        scatter = lasso.scatter[:, self._active]
        inside = scatter[self._active] * self._roots * self._roots.T
        self._inverse = InverseRoot(inside, 1.0)
        solved = self._inverse.solved(self._roots * lasso.cross[self._active])
        self.coef = np.zeros_like(lasso.cross)
        self.coef[self._active] = self._roots * solved
        # C - HW is W / d where a group is in, so that nothing cancels.
        self.residual = lasso.cross - scatter @ self.coef[self._active]
        self.residual[self._active] = solved / self._roots
        self.norms = lasso.norms(self.residual)
        self.gain = float(np.vdot(lasso.cross, self.coef))
        self.objective = 0.5 * (float(self.lambdas**2 @ scales) - self.gain)
        excess = self.norms / self.lambdas - 1.0
        # Of the optimality conditions, in units of lambda.
        self.violation = float(np.where(scales > 0.0, np.abs(excess), excess).max())

    def at(self, scales: Array) -> GroupLassoFit:
        """Return the same at other scales."""
        return GroupLassoFit(self.lasso, self.alpha, scales)

    def left_out(self, sample: SampledRows) -> Array:
        """Return residuals of sampled rows that are left out, shape (m, t)."""
        inside = sample.features[:, self._active] * self._roots.T
        return sample.left_out(self.coef, self._inverse.leverages(inside))

    def better(self) -> GroupLassoFit | None:
        """Return a fit whose objective is lower; None where there is none but for rounding."""
        rounding = 1e-14 * abs(self.gain)
        for scales in self._steps():
            other = self.at(scales)
            change = other.objective - self.objective
            closer = other.violation < self.violation or self.violation > _ROUGH
            if change < -rounding or (closer and change <= rounding):
                return other
        return None

    def _steps(self) -> Iterator[Array]:
        r"""Yield scales to go on with, from the derivatives of F'.

        .. math:: \mathrm{tr}\,R_g^\top (I + HD)^{-1} H R_h
        """
        scatter, groups = self.lasso.scatter, self.lasso.groups
        images = [scatter[:, group] @ self.residual[group] for group in groups]
        direct = np.array(
            [[np.vdot(self.residual[group], image[group]) for image in images] for group in groups]
        )
        inside = [self._inverse.times(self._roots * image[self._active]) for image in images]
        flat = np.reshape(inside, (len(groups), -1))
        curvature = direct - flat @ flat.T
        # The scales at which 1/|R| is 1/lambda if it is linear, which it nearly is in d; in units
        # in which the diagonal is one.
        slope = self.norms**2 * (self.norms / self.lambdas - 1.0)
        units = np.sqrt(np.maximum(curvature.diagonal(), _TINY))
        lower = definite(curvature / np.outer(units, units))[1]
        pull = solve_triangular(lower, slope / units, lower=True)
        yield nnls(lower.T, lower.T @ (units * self.scales) + pull)[0] / units
        # |W| / lambda; a group that is out and should be in gets its own Newton step.
        entering = np.maximum(slope, 0.0) / np.maximum(direct.diagonal(), _TINY)
        staying = self.scales * self.norms / self.lambdas
        yield np.where(self.scales > 0.0, staying, entering)
