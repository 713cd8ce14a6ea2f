"""A regression in the coordinates in which it is solved, and its model on the features."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks import as_choice, as_number_or_choice, as_positive_float
from streamchi2.solvers.block_vectors import BlockVectors
from streamchi2.solvers.group_gcv import chosen_by_gcv
from streamchi2.solvers.group_lasso import definite, group_scales, scaled
from streamchi2.solvers.least_squares import PENALTIES, least_squares
from streamchi2.solvers.linear_model import LinearModel
from streamchi2.solvers.ridge import ridge
from streamchi2.statistics.target_moments import RegressionMoments


@dataclass(frozen=True)
class PenaltyParams:
    """The parameters of penalised least squares."""

    penalty: str = "ridge"
    alpha: float | str = "auto"
    l1_ratio: float = 0.5

    @classmethod
    def checked(
        cls, penalty: str, alpha: float | str, l1_ratio: float, *, grouped: bool = False
    ) -> PenaltyParams:
        """Return the parameters, or refuse them.

        ``grouped`` says whether there are groups of features that a penalty can choose among.

        >>> PenaltyParams.checked("ridge", "auto", 0.5)
        PenaltyParams(penalty='ridge', alpha='auto', l1_ratio=0.5)
        """
        if penalty == "group_lasso" and not grouped:
            raise ValueError("penalty='group_lasso' needs descriptors to choose among, got None")
        as_choice(penalty, (*PENALTIES, "group_lasso") if grouped else PENALTIES, name="penalty")
        alpha = as_number_or_choice(alpha, ("auto",), name="alpha", zero=True)
        share = as_positive_float(l1_ratio, name="l1_ratio")
        if share > 1.0:
            raise ValueError(f"l1_ratio must be above 0 and at most 1, got {l1_ratio!r}")
        return cls(penalty, alpha, share)


@dataclass(frozen=True, eq=False)
class RegressionProblem:
    """Moments of the coordinates that the solver sees, and the way there from the features."""

    moments: RegressionMoments  # of the coordinates
    vectors: BlockVectors | None  # from the features to the coordinates; None where they are one
    groups: tuple[slice, ...]  # the coordinates of each descriptor
    centre: NDArray[np.float64]  # mean of the features, about which scores are taken
    origin: NDArray[np.float64] | None = None  # features whose coordinates are zero

    def coordinates(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coordinates of features."""
        shifted = features if self.origin is None else features - self.origin
        return shifted if self.vectors is None else self.vectors.coordinates(shifted)

    def scaled(self, scales: NDArray[np.float64]) -> RegressionProblem:
        """Return the problem with the coordinates of each descriptor times a root."""
        vectors = self.vectors
        if vectors is None:
            vectors = BlockVectors(tuple(np.eye(own.stop - own.start) for own in self.groups))
        moments = scaled(self.moments, self.groups, scales)
        return replace(self, moments=moments, vectors=vectors.scaled(np.sqrt(scales)))


@dataclass(frozen=True, eq=False)
class RegressionSolution:
    """A model in both kinds of coordinates; ``scales`` are those of a group lasso."""

    model: LinearModel  # on the features
    inner: LinearModel  # on the coordinates of ``problem``
    problem: RegressionProblem
    scales: NDArray[np.float64] | None = None


def solve(problem: RegressionProblem, params: PenaltyParams) -> RegressionSolution:
    """Return the model that the parameters ask for.

    Group lasso is ridge regression, penalty one, once the scales of the groups are known; from
    there on, calibration included, it is treated as such.
    """
    if params.penalty != "group_lasso":
        inner = least_squares(
            problem.moments,
            penalty=params.penalty,
            alpha=params.alpha,
            l1_ratio=params.l1_ratio,
        )
        return RegressionSolution(_on_features(problem, inner, inner.alpha), inner, problem)
    if params.alpha == 0.0:
        inner = ridge(problem.moments, 0.0)
        return RegressionSolution(_on_features(problem, inner, 0.0), inner, problem)
    problem = replace(problem, moments=definite(problem.moments))
    if isinstance(params.alpha, str):
        alpha, scales = chosen_by_gcv(problem.moments, problem.groups)
    else:
        alpha = params.alpha
        scales = group_scales(problem.moments, problem.groups, alpha)
    problem = problem.scaled(scales)
    inner = ridge(problem.moments, 1.0)
    return RegressionSolution(_on_features(problem, inner, alpha), inner, problem, scales)


def _on_features(problem: RegressionProblem, inner: LinearModel, alpha: float) -> LinearModel:
    if problem.vectors is None:
        return inner
    coef, intercept = problem.vectors.expanded(inner.coef), inner.intercept
    if problem.origin is not None:
        intercept = intercept - problem.origin @ coef
    return LinearModel(coef, intercept, problem.centre, alpha)
