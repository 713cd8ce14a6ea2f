"""A map whose features are projected as soon as they are made: the second of two passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.adaptive_map import Schedule
from streamchi2.errors import StateMismatchError
from streamchi2.joint_map import JointMap, JointRecipe, JointSettings
from streamchi2.solvers.block_vectors import BlockVectors
from streamchi2.validation import Floats, Rows


@dataclass(frozen=True, eq=False)
class Projection:
    """Principal components of each descriptor, as a first pass has found them."""

    vectors: BlockVectors
    mean: NDArray[np.float64]  # (D,), about which features are projected
    variance_shares: tuple[NDArray[np.float64], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of components of each descriptor."""
        return tuple(block.shape[1] for block in self.vectors.blocks)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Projection):
            return NotImplemented
        pairs = zip(self.vectors.blocks, other.vectors.blocks, strict=False)
        if self.sizes != other.sizes or not np.array_equal(self.mean, other.mean):
            return False
        return all(np.array_equal(*pair) for pair in pairs)

    __hash__ = None  # type: ignore[assignment]  # arrays have none


@dataclass(frozen=True)
class ProjectedRecipe:
    r"""Rows to principal components of features, :math:`U^\top (z(x) - m)`, P numbers each."""

    joint: JointRecipe
    projection: Projection

    @property
    def n_components(self) -> int:
        """Number of components of all descriptors together."""
        return sum(self.projection.sizes)

    def transform(self, rows: Rows, *, n_jobs: int | None = None) -> Floats:
        """Return the components of checked rows, shape (n, P), in the precision of the maps."""
        features = self.joint.transform(rows, n_jobs=n_jobs)
        features -= self.projection.mean.astype(features.dtype)
        vectors = self.projection.vectors
        pairs = zip(vectors.inputs, vectors.blocks, strict=True)
        parts = [features[:, own] @ block.astype(features.dtype) for own, block in pairs]
        return np.hstack(parts)


class ProjectedMap:
    """A joint map that has seen all rows, and the components of its features.

    While the rows of the first pass are read again nothing about the map changes; afterwards it
    follows its stream as a :class:`JointMap` does, and the components stay.

    Parameters
    ----------
    settings : JointSettings
        All that the user chose.
    recipe : ProjectedRecipe
        A map to begin with, as the shards of one stream have.
    """

    def __init__(self, settings: JointSettings, recipe: ProjectedRecipe) -> None:
        self.inner = JointMap(settings, recipe.joint)
        self.projection = recipe.projection
        self.n_reread: int | None = None  # rows of the second pass so far; None without one

    @classmethod
    def to_reread(cls, inner: JointMap, projection: Projection) -> Self:
        """Return the map for a second pass, from what the first has left."""
        twin = object.__new__(cls)
        twin.inner, twin.projection, twin.n_reread = inner, projection, 0
        return twin

    def reread(self) -> Self:
        """Return the map after the second pass: from now on it learns again."""
        twin = self.copy()
        twin.n_reread = None
        return twin

    @property
    def settings(self) -> JointSettings:
        """All that the user chose."""
        return self.inner.settings

    @property
    def schedule(self) -> Schedule:
        """When blocks end and when all series are fitted again."""
        return self.inner.schedule

    @property
    def n_components(self) -> int:
        """Number of components of all descriptors together."""
        return sum(self.projection.sizes)

    @property
    def n_rows(self) -> int:
        """Number of rows seen, in the second pass while that lasts."""
        return self.inner.n_rows if self.n_reread is None else self.n_reread

    @property
    def recipe(self) -> ProjectedRecipe:
        """The map under which rows are learnt."""
        joint = self.inner.recipe
        assert joint is not None
        return ProjectedRecipe(joint, self.projection)

    def absorb(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> ProjectedRecipe:
        """Absorb one block, unless that is a second reading, and return the map for it."""
        if self.n_reread is None:
            self.inner.absorb(rows, weights)
        else:
            self.n_reread += int(rows.shape[0])
        return self.recipe

    def reconsider(self) -> None:
        """Fit every series again where the position is due and it pays."""
        if self.n_reread is None:
            self.inner.reconsider()

    def fade(self, factor: float) -> Self:
        """Let the inputs seen so far count ``factor`` times as much; the maps stay."""
        self.inner.fade(factor)
        return self

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has seen; ``other`` is untouched."""
        if not isinstance(other, ProjectedMap) or self.projection != other.projection:
            raise StateMismatchError(
                "components must be those of the same first pass to merge; make shards with "
                "new_shard() of one estimator"
            )
        self.inner.merge(other.inner)
        return self

    def copy(self) -> Self:
        """Return an independent map in the same state."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, inner=self.inner.copy())
        return twin
