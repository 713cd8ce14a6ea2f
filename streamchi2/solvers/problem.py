"""A regression in the coordinates in which it is solved: chosen, solved, and back on features."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamchi2.solvers.block_vectors import BlockVectors
from streamchi2.solvers.choice import LearnerSpec
from streamchi2.solvers.group_lasso import chosen_group_scales, definite, group_scales, scaled
from streamchi2.solvers.lasso import ElasticNetPath, elastic_net
from streamchi2.solvers.left_out import SampledRows, chosen_ridge
from streamchi2.solvers.linear_model import LinearModel
from streamchi2.solvers.ridge import ridge
from streamchi2.statistics.moments import RegressionMoments


@dataclass(frozen=True, eq=False)
class Decision:
    """A penalty, and what it leaves of sampled rows that are left out."""

    alpha: float
    scales: NDArray[np.float64] | None  # of the groups of a group lasso
    residuals: NDArray[np.float64]  # (m, t)


@dataclass(frozen=True, eq=False)
class RegressionProblem:
    """Moments of the coordinates that the solver sees, and the way there from the features."""

    moments: RegressionMoments  # of the coordinates
    vectors: BlockVectors | None  # from the features to the coordinates; None where they are one
    groups: tuple[slice, ...]  # the coordinates of each descriptor
    centre: NDArray[np.float64]  # mean of the features, about which scores are taken

    def coordinates(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coordinates of features."""
        return features if self.vectors is None else self.vectors.coordinates(features)

    def decide(self, spec: LearnerSpec, sample: SampledRows) -> Decision:
        """Choose what the parameters leave open by sampled rows, given in the coordinates."""
        alpha, moments = spec.alpha, self.moments
        if spec.penalty == "group_lasso" and alpha != 0.0:
            moments = definite(moments)
            if isinstance(alpha, str):
                alpha, scales = chosen_group_scales(moments, self.groups, sample)
            else:
                scales = group_scales(moments, self.groups, alpha)
            roots = np.repeat(np.sqrt(scales), [part.stop - part.start for part in self.groups])
            inside = replace(sample, features=sample.features * roots)
            residuals = inside.left_out_of_ridge(scaled(moments, self.groups, scales), 1.0)
            return Decision(alpha, scales, residuals)
        if spec.penalty in ("ridge", "group_lasso") or alpha == 0.0:
            alpha = chosen_ridge(moments, sample) if isinstance(alpha, str) else alpha
            return Decision(alpha, None, sample.left_out_of_ridge(moments, alpha))
        path = ElasticNetPath.of(moments, _l1_ratio(spec))
        alpha = path.chosen(sample) if isinstance(alpha, str) else alpha
        return Decision(alpha, None, path.left_out(alpha, path.solution(alpha), sample))

    def solve(
        self, spec: LearnerSpec, alpha: float, scales: NDArray[np.float64] | None
    ) -> tuple[LinearModel, NDArray[np.float64] | None]:
        """Return the model on the features under a decision, and the scales of the groups.

        Group lasso is ridge regression, penalty one, in the scales of the groups.
        """
        moments = self.moments
        if spec.penalty == "group_lasso" and alpha != 0.0:
            moments = definite(moments)
            if scales is None or not isinstance(spec.alpha, str):
                scales = group_scales(moments, self.groups, alpha)
            roots = np.repeat(np.sqrt(scales), [part.stop - part.start for part in self.groups])
            inner = ridge(scaled(moments, self.groups, scales), 1.0)
            inner = replace(inner, coef=roots[:, None] * inner.coef, alpha=alpha)
            return self._on_features(inner), scales
        if spec.penalty in ("ridge", "group_lasso"):
            return self._on_features(ridge(moments, alpha)), None
        return self._on_features(elastic_net(moments, alpha, _l1_ratio(spec))), None

    def _on_features(self, inner: LinearModel) -> LinearModel:
        coef = inner.coef if self.vectors is None else self.vectors.expanded(inner.coef)
        return LinearModel(coef, inner.intercept, self.centre, inner.alpha)


def _l1_ratio(spec: LearnerSpec) -> float:
    return 1.0 if spec.penalty == "lasso" else spec.l1_ratio
