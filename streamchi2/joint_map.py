"""Several descriptors of the same things, each with a map of its own, as one map."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.adaptive_map import AdaptiveMap, Schedule
from streamchi2.errors import StateMismatchError
from streamchi2.feature_map import FeatureMap
from streamchi2.hashing import mixed_bits
from streamchi2.map_plan import MapSettings
from streamchi2.validation import Floats, Rows


def descriptor_seed(seed: int, place: int) -> int:
    """Return the seed of the descriptor at a place; the first one has the seed itself.

    >>> descriptor_seed(7, 0), descriptor_seed(7, 1), descriptor_seed(7, 2)
    (7, 1281163295, 1271108697)
    """
    if place == 0:
        return seed
    return int(mixed_bits(np.array([place], dtype=np.uint64), seed)[0] >> np.uint64(33))


@dataclass(frozen=True)
class JointSettings:
    """The settings of every descriptor, and the columns that it reads."""

    n_features: int  # of whole rows
    names: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...]
    parts: tuple[MapSettings, ...]

    @property
    def n_components(self) -> int:
        """Number of features of all descriptors together."""
        return sum(part.n_components for part in self.parts)

    @property
    def half_life(self) -> float | None:
        """One for all: descriptors are of the same rows."""
        return self.parts[0].half_life

    @property
    def seed(self) -> int:
        """The one that all others follow from."""
        return self.parts[0].seed

    @property
    def first_rows(self) -> int:
        """Rows that are kept before the maps are planned, all at once."""
        return max(part.first_rows for part in self.parts)

    def with_seed(self, seed: int) -> JointSettings:
        """Return the same with the seeds that follow from another one."""
        places = enumerate(self.parts)
        parts = tuple(part.with_seed(descriptor_seed(seed, place)) for place, part in places)
        return replace(self, parts=parts)

    def check_same(self, other: Any) -> None:
        """Refuse to merge with settings that differ, naming the first difference."""
        if (difference := self.first_difference(other)) is not None:
            name, mine, theirs = difference
            raise StateMismatchError(f"{name} must agree to merge, got {mine!r} and {theirs!r}")

    def first_difference(self, other: Any) -> tuple[str, Any, Any] | None:
        """Return the first word in which two settings differ, with both values, or None."""
        if not isinstance(other, JointSettings):
            return "descriptors", self.names, None
        chosen = [dict(zip(one.names, one.columns, strict=True)) for one in (self, other)]
        if list(chosen[0].items()) != list(chosen[1].items()):
            return "descriptors", chosen[0], chosen[1]
        for name, mine, theirs in zip(self.names, self.parts, other.parts, strict=True):
            if (difference := mine.first_difference(theirs)) is not None:
                word, *values = difference
                return f"{word} of descriptor {name!r}", *values
        return None


@dataclass(frozen=True)
class JointRecipe:
    r"""Features of every descriptor side by side: their kernels add up.

    .. math:: z(x)^\top z(y) = \sum_g z_g(x_g)^\top z_g(y_g)
              \approx \sum_g \exp(-\beta_g\,\chi^2(x_g, y_g))

    Law: a map is a value, as each :class:`FeatureMap` in it is.
    """

    names: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...]
    maps: tuple[FeatureMap, ...]

    @property
    def n_components(self) -> int:
        """Number of features of all descriptors together."""
        return sum(part.n_components for part in self.maps)

    def transform(self, rows: Rows, *, n_jobs: int | None = None) -> Floats:
        """Return the features of checked rows, shape (n, D), descriptors in their order."""
        pairs = zip(self.maps, self.columns, strict=True)
        return np.hstack([part.transform(read(rows, own), n_jobs=n_jobs) for part, own in pairs])


class JointMap:
    """One :class:`AdaptiveMap` a descriptor; what is learnt on them sees one map.

    Law: with a single descriptor of all columns, bit for bit what its only map does; merging
    shards that share a map equals one pass; an empty shard changes nothing.

    Parameters
    ----------
    settings : JointSettings
        All that the user chose.
    recipe : JointRecipe, optional
        A map to begin with, as the shards of one stream have.
    """

    def __init__(self, settings: JointSettings, recipe: JointRecipe | None = None) -> None:
        self.settings = settings
        self.n_rows = 0
        maps = (None,) * len(settings.parts) if recipe is None else recipe.maps
        self.parts = tuple(map(AdaptiveMap, settings.parts, maps))

    @property
    def recipe(self) -> JointRecipe | None:
        """The maps of all descriptors, None before they are planned."""
        maps = tuple(part.recipe for part in self.parts if part.recipe is not None)
        if len(maps) < len(self.parts):
            return None
        return JointRecipe(self.settings.names, self.settings.columns, maps)

    @property
    def n_components(self) -> int:
        """Number of features of all descriptors together."""
        return self.settings.n_components

    @property
    def schedule(self) -> Schedule:
        """When blocks end and when all series are fitted again."""
        return Schedule(self.settings.half_life, self.settings.first_rows)

    def absorb(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> JointRecipe:
        """Absorb one block and return the map under which it is to be learnt."""
        for part, columns in zip(self.parts, self.settings.columns, strict=True):
            part.absorb(read(rows, columns), weights)
        self.n_rows += rows.shape[0]
        recipe = self.recipe
        assert recipe is not None
        return recipe

    def reconsider(self) -> None:
        """Fit every series again where the position is due and it pays."""
        if self.schedule.is_due(self.n_rows):
            self.reestimate()

    def reestimate(self) -> None:
        """Fit every series again, at whatever position, if it is to adapt and that pays."""
        for part in self.parts:
            part.reestimate()

    def fade(self, factor: float) -> Self:
        """Let the inputs seen so far count ``factor`` times as much; the maps stay."""
        for part in self.parts:
            part.fade(factor)
        return self

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has seen; ``other`` is untouched."""
        if not isinstance(other, JointMap):
            raise StateMismatchError(
                "shards must all have learnt in one pass or all in two to merge; make them with "
                "new_shard() of one estimator"
            )
        self.settings.check_same(other.settings)
        pairs = zip(self.parts, other.parts, strict=True)
        self.parts = tuple(mine.copy().merge(theirs) for mine, theirs in pairs)
        self.n_rows += other.n_rows
        return self

    def copy(self) -> Self:
        """Return an independent map in the same state."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, parts=tuple(part.copy() for part in self.parts))
        return twin


def read(rows: Rows, columns: tuple[int, ...]) -> Rows:
    """Return some columns of checked rows, without a copy where they follow one another.

    >>> read(np.arange(6.0).reshape(2, 3), (2, 0))
    array([[2., 0.],
           [5., 3.]])
    """
    first = columns[0]
    if columns == tuple(range(first, first + len(columns))):
        return rows[:, first : first + len(columns)]
    chosen: Rows = rows[:, list(columns)]
    if isinstance(chosen, sparse.csr_array):
        chosen.sort_indices()  # sparse rows are canonical from the door on
    return chosen


def map_of(settings: MapSettings | JointSettings) -> AdaptiveMap | JointMap:
    """Return an empty map under some settings."""
    return AdaptiveMap(settings) if isinstance(settings, MapSettings) else JointMap(settings)
