"""The beginning of a stream: fewer rows than features, all of them kept."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.feature_map import FeatureMap
from streamchi2.solvers.dual_ridge import DualRidge
from streamchi2.statistics.centred_block import faded_weights, fading
from streamchi2.statistics.row_buffer import Block


class YoungStream:
    """Features and targets of every row so far, for a model in dual form.

    While the map is provisional the rows themselves are kept too, and a new map featurises them
    all again. Afterwards transport keeps features valid, and only new rows are featurised.

    Parameters
    ----------
    n_components : int
        Number of features D.
    half_life : float or None
        Rows after which a row counts half.
    mature_at : int
        Position from which moments take over.
    """

    def __init__(self, n_components: int, half_life: float | None, mature_at: int) -> None:
        self.half_life = half_life
        self.mature_at = mature_at
        self.ridge = DualRidge(n_components)
        self._targets: list[NDArray[Any]] = []
        self._recipe: FeatureMap | None = None
        self._raw: list[Block] = []

    def take(self, block: Block, recipe: FeatureMap, *, settled: bool) -> None:
        """Take in a block under the map in force; ``settled`` maps change by transport alone."""
        assert block.targets is not None
        self._targets.append(block.targets)
        self._raw = [] if settled else [*self._raw, block]
        if not settled and recipe is not self._recipe:
            self.ridge = DualRidge(recipe.n_components)
            for known in self._raw:
                self._append(known, recipe)
        else:
            self._append(block, recipe)
        self._recipe = recipe

    def _append(self, block: Block, recipe: FeatureMap) -> None:
        n_rows = block.stop - block.start
        weights = block.weights
        if self.half_life is not None:
            self.ridge.fade(fading(n_rows, self.half_life))
            weights = faded_weights(n_rows, weights, self.half_life)
        self.ridge.append(recipe.transform(block.rows), weights)

    def targets(self) -> NDArray[Any]:
        """Return the targets of all rows, in order."""
        self._targets = [np.concatenate(self._targets)]
        return self._targets[0]

    def fade(self, factor: float) -> None:
        """Let the rows so far count ``factor`` times as much."""
        self.ridge.fade(factor)

    def copy(self) -> Self:
        """Return an independent object in the same state."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, ridge=self.ridge.copy(), _targets=list(self._targets))
        return twin
