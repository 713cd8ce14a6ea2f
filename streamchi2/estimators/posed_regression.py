"""A regression in the coordinates in which it is solved, and its model on the features."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from streamchi2.estimators.linear_words import LinearWords
from streamchi2.solvers.block_vectors import BlockVectors
from streamchi2.solvers.group_lasso import definite, group_scales, scaled
from streamchi2.solvers.group_path import chosen_by_gcv
from streamchi2.solvers.least_squares import least_squares
from streamchi2.solvers.linear_model import LinearModel
from streamchi2.solvers.ridge import ridge
from streamchi2.statistics.target_moments import RegressionMoments


@dataclass(frozen=True, eq=False)
class Posed:
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

    def scaled(self, scales: NDArray[np.float64]) -> Posed:
        """Return the regression with the coordinates of each descriptor times a root."""
        vectors = self.vectors
        if vectors is None:
            vectors = BlockVectors(tuple(np.eye(own.stop - own.start) for own in self.groups))
        moments = scaled(self.moments, self.groups, scales)
        return replace(self, moments=moments, vectors=vectors.scaled(np.sqrt(scales)))


@dataclass(frozen=True, eq=False)
class Solved:
    """A model in both kinds of coordinates; ``scales`` are those of a group lasso."""

    model: LinearModel  # on the features
    inner: LinearModel  # on the coordinates of ``posed``
    posed: Posed
    scales: NDArray[np.float64] | None = None


def solved(posed: Posed, words: LinearWords) -> Solved:
    """Return the model that the words ask for.

    Group lasso is ridge regression, penalty one, once the scales of the groups are known; from
    there on, calibration included, it is treated as such.
    """
    if words.penalty != "group_lasso":
        inner = least_squares(
            posed.moments, penalty=words.penalty, alpha=words.alpha, l1_ratio=words.l1_ratio
        )
        return Solved(_on_features(posed, inner, inner.alpha), inner, posed)
    if words.alpha == 0.0:
        inner = ridge(posed.moments, 0.0)
        return Solved(_on_features(posed, inner, 0.0), inner, posed)
    posed = replace(posed, moments=definite(posed.moments))
    if words.alpha == "gcv":
        alpha, scales = chosen_by_gcv(posed.moments, posed.groups)
    else:
        alpha, scales = words.alpha, group_scales(posed.moments, posed.groups, words.alpha)
    posed = posed.scaled(scales)
    inner = ridge(posed.moments, 1.0)
    return Solved(_on_features(posed, inner, alpha), inner, posed, scales)


def _on_features(posed: Posed, inner: LinearModel, alpha: float) -> LinearModel:
    if posed.vectors is None:
        return inner
    coef, intercept = posed.vectors.expanded(inner.coef), inner.intercept
    if posed.origin is not None:
        intercept = intercept - posed.origin @ coef
    return LinearModel(coef, intercept, posed.centre, alpha)
