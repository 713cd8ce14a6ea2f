"""Moments of features together with numeric targets: all that linear regression needs.

What a least-squares learner asks of a stream is the same for numbers and for classes, so both
statistics answer with one :class:`RegressionMoments`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks import Floats, as_positive_int
from streamchi2.errors import StateMismatchError
from streamchi2.state import Array, Int, Kind, Object, Saved, require, same_state
from streamchi2.statistics.centred_block import (
    between_row,
    centred_block,
    pooled_mean,
    unit_weights,
)
from streamchi2.statistics.change import Change
from streamchi2.statistics.moments import Moments, is_moderate, safe_to_multiply
from streamchi2.statistics.targets import NumericTargets

_BLOCK_ROWS = 2048  # as in the moments of the features


@dataclass(frozen=True, eq=False)
class RegressionMoments:
    r"""Everything that least squares needs to know of a stream.

    With deviations :math:`\tilde z, \tilde y` from the means,

    .. math:: H = \sum w\,\tilde z \tilde z^\top, \quad C = \sum w\,\tilde z \tilde y^\top,
              \quad S_t = \sum w\,\tilde y_t^2
    """

    weight: float
    count: float  # of rows that the weights stand for
    mean: NDArray[np.float64]  # (d,)
    scatter: NDArray[np.float64]  # (d, d), H
    target_mean: NDArray[np.float64]  # (t,)
    cross: NDArray[np.float64]  # (d, t), C
    target_scatter: NDArray[np.float64]  # (t,), S


class TargetMoments(Saved):
    """Moments of features and of numeric targets; merging equals having seen both streams.

    Parameters
    ----------
    n_features, n_targets : int
        Widths D and T of rows and targets.

    Notes
    -----
    A block of n rows costs n D (D + T) operations; the state is D (D + T) numbers. Targets are
    pooled by the same formulas as the features (see :class:`Moments`).

    Examples
    --------
    >>> moments = TargetMoments(1, 1).update(np.array([[0.0], [2.0]]), np.array([[1.0], [5.0]]))
    >>> moments.summary().cross, moments.summary().target_mean
    (array([[4.]]), array([3.]))
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "features": Object((Moments,)),
        "n_targets": Int(1),
        "target_mean": Array(),
        "target_scatter": Array(),
        "cross": Array(2),
    }

    def __init__(self, n_features: int, n_targets: int) -> None:
        self.features = Moments(n_features)
        self.n_targets = as_positive_int(n_targets, name="n_targets")
        self.target_mean = np.zeros(n_targets)
        self.target_scatter = np.zeros(n_targets)
        self.cross = np.zeros((n_features, n_targets))

    def update(
        self,
        rows: Floats,
        targets: NDArray[np.float64],
        *,
        weights: NDArray[np.float64] | None = None,
    ) -> Self:
        """Absorb rows of shape (n, n_features) with targets of shape (n, n_targets)."""
        self.features.check_width(rows)
        if targets.shape != (rows.shape[0], self.n_targets):
            raise ValueError(
                f"targets must have shape {(rows.shape[0], self.n_targets)}, got {targets.shape}"
            )
        for start in range(0, rows.shape[0], _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            share = unit_weights(rows[part]) if weights is None else weights[part]
            self.pooling(rows[part], targets[part], share).finish()
        return self

    def fade(self, factor: float) -> Self:
        """Let everything seen so far count ``factor`` times as much; means stay."""
        self.__dict__.update(vars(self.faded(factor)))
        return self

    def faded(self, factor: float) -> Self:
        """Return moments in which everything seen so far counts ``factor`` times as much."""
        twin = object.__new__(type(self))
        twin.__dict__.update(
            self.__dict__,
            features=self.features.faded(factor),
            cross=factor * self.cross,
            target_scatter=factor * self.target_scatter,
        )
        return twin

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has seen; ``other`` is untouched."""
        self.features.check_same_width(other.features)
        if other.n_targets != self.n_targets:
            raise StateMismatchError(
                f"n_targets must agree to merge, got {self.n_targets} and {other.n_targets}"
            )
        if other.features.weight > 0.0:
            n, m = self.features.weight, other.features.weight
            features = between_row(n, self.features.mean, m, other.features.mean)
            targets = between_row(n, self.target_mean, m, other.target_mean)
            self.cross = self.cross + other.cross + np.outer(features, targets)
            self.target_scatter = self.target_scatter + other.target_scatter + targets**2
            self.target_mean = pooled_mean(n, self.target_mean, m, other.target_mean)
            self.features.merge(other.features)
        return self

    def summary(self, *, whole: bool = True) -> RegressionMoments:
        """Return what the solvers read, as independent arrays.

        With ``whole=False`` the scatter is a view of which only the lower triangle is filled: all
        that ridge regression reads, and no copy.
        """
        return RegressionMoments(
            self.features.weight,
            self.features.count,
            self.features.mean.copy(),
            self.features.scatter() if whole else self.features.upper.T,
            self.target_mean.copy(),
            self.cross.copy(),
            self.target_scatter.copy(),
        )

    def copy(self) -> Self:
        """Return an independent object in the same state."""
        twin = object.__new__(type(self))
        # Arrays of targets are replaced, never changed in place, so the twins may share them.
        twin.__dict__.update(self.__dict__, features=self.features.copy())
        return twin

    def pooling(
        self, rows: Floats, answers: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> Change:
        """Return what absorbs a block once it is finished; until then nothing changes."""
        block, targets = centred_block(rows, weights), centred_block(answers, weights)
        before, weight = self.features.weight, targets.weight
        targets.scaled[-1] = between_row(before, self.target_mean, weight, targets.mean)
        own = self.features
        block.scaled[-1] = between_row(before, own.mean, weight, block.mean)
        # float32 times float64 is a float64 product: one careful side is enough.
        features, deviations = safe_to_multiply(block.scaled), targets.scaled
        if features.dtype == np.float32 and is_moderate(deviations):
            deviations = deviations.astype(np.float32)
        squares = np.einsum("ij,ij->j", targets.scaled, targets.scaled)
        values = {
            "cross": self.cross + features.T @ deviations,
            "target_mean": pooled_mean(before, self.target_mean, weight, targets.mean),
            "target_scatter": self.target_scatter + squares,
        }
        return Change(self, values, (own.pooling(block),))

    def aligning(self, before: NumericTargets, after: NumericTargets) -> Change:
        """Return what gives the targets other columns; those that are new have been zero so far."""
        names = ("target_mean", "target_scatter", "cross")
        values = {name: after.aligned(getattr(self, name), before) for name in names}
        return Change(self, {**values, "n_targets": after.n_targets})

    def validate(self) -> None:
        """Require arrays of the widths that features and targets imply."""
        width, n_targets = self.features.n_features, self.n_targets
        for name in ("target_mean", "target_scatter"):
            require(getattr(self, name).shape == (n_targets,), f"{name} must have {n_targets}")
        require(self.cross.shape == (width, n_targets), f"cross must be {width} x {n_targets}")
        require((self.target_scatter >= 0.0).all(), "target_scatter must not be negative")

    def __eq__(self, other: Any) -> bool:
        return type(self) is type(other) and same_state(self.__dict__, other.__dict__)

    __hash__ = None  # type: ignore[assignment]  # it changes with every block

    def __repr__(self) -> str:
        return f"TargetMoments(n_targets={self.n_targets}, features={self.features!r})"
