"""A regression in the coordinates in which it is solved: chosen, solved, and back on features."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from streamchi2.checks.rows import Array
from streamchi2.solvers.choice import LearnerSpec
from streamchi2.solvers.components import Components, consecutive
from streamchi2.solvers.group_lasso import GroupLasso, GroupLassoFit
from streamchi2.solvers.lasso import ElasticNet
from streamchi2.solvers.left_out import SampledRows, chosen_ridge
from streamchi2.solvers.linear_model import InverseRoot, LinearModel
from streamchi2.statistics.feature_statistics import FeatureStatistics
from streamchi2.statistics.moments import RegressionMoments

_SEARCH_ROWS = 512  # on which candidates are compared; more cost as much as their factors


@dataclass(frozen=True, eq=False)
class RegressionProblem:
    """Moments of the coordinates that the solver sees, and the way there from the features."""

    spec: LearnerSpec
    moments: RegressionMoments  # of the coordinates
    groups: tuple[slice, ...]  # the coordinates of each descriptor
    vectors: Array | None  # from the features to the coordinates; None where they are one
    centre: Array  # mean of the features, about which scores are taken

    @classmethod
    def of(
        cls, statistics: FeatureStatistics, spec: LearnerSpec, factors: Array | None
    ) -> RegressionProblem:
        """Return the regression of labelled rows; ``factors``, where given, are those of classes.

        Without an intercept it is about the origin, and for signed targets about one half.
        """
        statistics = statistics.folded()
        # Ridge regression reads one triangle of the scatter, of which no copy is needed.
        whole = spec.n_pca is not None or spec.penalty != "ridge"
        moments = statistics.regression(factors, whole=whole)
        if not spec.fit_intercept:
            moments = through_origin(moments, 0.5 if spec.signed else 0.0)
        if spec.n_pca is None:
            return cls(spec, moments, consecutive(statistics.sizes), None, moments.mean)
        components = Components.of(statistics.features(), statistics.sizes, spec.n_pca)
        vectors = components.vectors
        inside = replace(
            moments,
            mean=moments.mean @ vectors,
            scatter=vectors.T @ moments.scatter @ vectors,
            cross=vectors.T @ moments.cross,
        )
        return cls(spec, inside, components.groups, vectors, moments.mean)

    def sampled(
        self, features: Array, targets: Array, weights: Array, *, by_variance: bool
    ) -> SampledRows:
        """Return sampled rows in the coordinates."""
        inside = features if self.vectors is None else features @ self.vectors
        intercept = self.spec.fit_intercept
        rows = inside, targets, weights
        return SampledRows.of(self.moments, *rows, by_variance=by_variance, intercept=intercept)

    def decide(self, sample: SampledRows) -> tuple[float, Array | None, Array]:
        """Return a penalty, scales of a group lasso, and the residuals of rows left out by it."""
        alpha, moments, search = self.spec.alpha, self.moments, sample.first(_SEARCH_ROWS)
        if self._penalty == "group_lasso":
            lasso = GroupLasso(moments, self.groups)
            fit = lasso.chosen(search) if isinstance(alpha, str) else lasso.fit(alpha)
            return fit.alpha, fit.scales, fit.left_out(sample)
        if self._penalty == "ridge":
            alpha = chosen_ridge(moments, search) if isinstance(alpha, str) else alpha
            return alpha, None, sample.left_out_of_ridge(moments, alpha)
        net = self._elastic_net()
        alpha = net.chosen(search) if isinstance(alpha, str) else alpha
        return alpha, None, net.left_out(alpha, net.coef(alpha), sample)

    def solve(self, alpha: float, scales: Array | None) -> tuple[LinearModel, Array | None]:
        """Return the model on the features under a decision, and the scales of the groups.

        Scales that came with a penalty that the user gave are worked out anew.
        """
        if self._penalty == "group_lasso":
            lasso = GroupLasso(self.moments, self.groups)
            if scales is None or not isinstance(self.spec.alpha, str):
                fit = lasso.fit(alpha)
            else:
                fit = GroupLassoFit(lasso, alpha, scales)
            coef, scales = fit.coef, fit.scales
        elif self._penalty == "ridge":
            coef = InverseRoot(self.moments.scatter, alpha).solved(self.moments.cross)
        else:
            coef = self._elastic_net().coef(alpha)
        coef = coef if self.vectors is None else self.vectors @ coef
        intercept = self.moments.target_mean - self.centre @ coef
        return LinearModel(coef, intercept, self.centre, alpha), scales

    @property
    def _penalty(self) -> str:
        # Without a penalty all are least squares, for which descent would take minutes.
        return "ridge" if self.spec.alpha == 0.0 else self.spec.penalty

    def _elastic_net(self) -> ElasticNet:
        return ElasticNet(self.moments, 1.0 if self._penalty == "lasso" else self.spec.l1_ratio)


def through_origin(moments: RegressionMoments, target: float = 0.0) -> RegressionMoments:
    r"""Return moments about the origin, from which solvers find models without an intercept.

    Targets are about a number c: 0, or 1/2 where targets 0 and 1 are to be -1 and 1 instead, which
    without an intercept is another model, :math:`2 (y - 1/2)`.

    .. math:: H + n \mu \mu^\top, \qquad C + n \mu (\bar y - c)^\top, \qquad S + n (\bar y - c)^2

    Examples
    --------
    >>> from streamchi2.statistics.moments import Moments
    >>> moments = Moments.empty(np.zeros(1), np.zeros(1))
    >>> moments.add(np.array([[1.0], [2.0]]), np.array([[3.0], [6.0]]), np.ones(2))
    >>> about_origin = through_origin(moments.summary())
    >>> about_origin.cross / about_origin.scatter
    array([[3.]])
    """
    sums, target_mean = moments.weight * moments.mean, moments.target_mean - target
    return replace(
        moments,
        mean=np.zeros_like(sums),
        scatter=moments.scatter + np.outer(sums, moments.mean),
        target_mean=np.full_like(target_mean, target),
        cross=moments.cross + np.outer(sums, target_mean),
        target_scatter=moments.target_scatter + moments.weight * target_mean**2,
    )
