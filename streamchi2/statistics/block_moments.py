"""Moments of several groups of features, each group by itself: what its components need."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks import Floats
from streamchi2.errors import StateMismatchError
from streamchi2.state import Kind, Object, Saved, TupleOf, require
from streamchi2.statistics.change import Change
from streamchi2.statistics.moments import Moments, pooled


class BlockMoments(Saved):
    r"""The diagonal blocks of a scatter, :math:`8 \sum_g D_g^2` bytes instead of :math:`8 D^2`.

    Law: every block is that of :class:`Moments` on its features alone.

    Parameters
    ----------
    parts : tuple of Moments
        One a group, in the order of the features.

    Examples
    --------
    >>> blocks = BlockMoments.of_sizes((1, 2)).update(np.array([[1.0, 0.0, 2.0], [3.0, 0.0, 2.0]]))
    >>> blocks.part(slice(0, 1)).scatter()
    array([[2.]])
    """

    STATE: ClassVar[dict[str, Kind]] = {"parts": TupleOf(Object((Moments,)))}

    def __init__(self, parts: tuple[Moments, ...]) -> None:
        self.parts = parts

    @classmethod
    def of_sizes(cls, sizes: tuple[int, ...]) -> Self:
        """Return empty moments of groups of these sizes."""
        return cls(tuple(Moments(size) for size in sizes))

    @property
    def n_features(self) -> int:
        """Number of features of all groups."""
        return sum(part.n_features for part in self.parts)

    @property
    def weight(self) -> float:
        """Weight of the rows seen."""
        return self.parts[0].weight

    @property
    def count(self) -> float:
        """Number of rows that the weights stand for."""
        return self.parts[0].count

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean of all features, those of one group after those of the other."""
        return np.concatenate([part.mean for part in self.parts])

    @property
    def owns(self) -> tuple[slice, ...]:
        """Where the features of each group stand."""
        sizes = (part.n_features for part in self.parts)
        return tuple(slice(*ends) for ends in pairwise(accumulate(sizes, initial=0)))

    def part(self, own: slice) -> Moments:
        """Return the moments of one group."""
        return self.parts[self.owns.index(own)]

    def update(self, rows: Floats, *, weights: NDArray[np.float64] | None = None) -> Self:
        """Absorb rows of shape (n, n_features)."""
        for part, own in zip(self.parts, self.owns, strict=True):
            part.update(rows[:, own], weights=weights)
        return self

    def pooling_rows(self, rows: Floats, weights: NDArray[np.float64]) -> Change:
        """Return what absorbs a block once it is finished; until then nothing changes."""
        pairs = zip(self.parts, self.owns, strict=True)
        steps = [part.pooling_rows(rows[:, own], weights) for part, own in pairs]
        return Change(self, {}, tuple(steps))

    def fade(self, factor: float) -> Self:
        """Let everything seen so far count ``factor`` times as much."""
        self.parts = self.faded(factor).parts
        return self

    def faded(self, factor: float) -> Self:
        """Return moments in which everything seen so far counts ``factor`` times as much."""
        return type(self)(tuple(part.faded(factor) for part in self.parts))

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has seen; ``other`` is untouched."""
        mine, theirs = ([part.n_features for part in side.parts] for side in (self, other))
        if mine != theirs:
            raise StateMismatchError(f"sizes must agree to merge, got {mine} and {theirs}")
        for part, shard in zip(self.parts, other.parts, strict=True):
            part.merge(shard)
        return self

    def pooled(self, whole: Moments) -> BlockMoments:
        """Return the blocks of both streams together; neither changes."""
        pairs = zip(self.parts, self.owns, strict=True)
        return BlockMoments(tuple(pooled(whole.part(own), part) for part, own in pairs))

    def validate(self) -> None:
        """Require moments of the same rows in every block."""
        require(len(self.parts) > 0, "there must be a block")
        same = all(part.weight == self.parts[0].weight for part in self.parts)
        require(same, "blocks must weigh the same")

    def copy(self) -> Self:
        """Return an independent object in the same state."""
        return type(self)(tuple(part.copy() for part in self.parts))
