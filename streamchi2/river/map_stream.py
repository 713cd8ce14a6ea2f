"""A stream of named rows and the map that follows it, from the first row on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from streamchi2.adaptive_map import AdaptiveMap
from streamchi2.feature_map import FeatureMap
from streamchi2.map_plan import MapSettings, planned_map
from streamchi2.river.dict_rows import Row, as_matrix
from streamchi2.river.positions import map_positions, provisional_positions
from streamchi2.river.row_queue import RowQueue, rows_of
from streamchi2.statistics.buffered_tracker import BufferedTracker
from streamchi2.statistics.log_histogram import LogHistogram
from streamchi2.statistics.row_buffer import Block, Boundaries

_PROVISIONAL_TERMS = 3


class MapStream:
    """Rows that wait, the tracker they go to, and the map in force.

    The tracker plans its map on the first 64 rows, or the 2D from which landmarks are drawn. Before
    that, features come from provisional maps drawn up from the first 1, 4, 16, ... rows.

    Laws: any cutting of the same rows gives the same state, bit for bit; merging shards that share
    a map equals one pass; an empty stream changes nothing.

    Parameters
    ----------
    settings : MapSettings
        All that the user chose about the map.
    recipe : FeatureMap, optional
        A map to begin with, as the shards of one stream have.
    """

    def __init__(self, settings: MapSettings, recipe: FeatureMap | None = None) -> None:
        handed_on, absorbed = map_positions(settings)
        self._begin(BufferedTracker(AdaptiveMap(settings, recipe), absorbed), handed_on)

    def _begin(self, tracker: BufferedTracker[Any], boundaries: Boundaries) -> None:
        self.tracker = tracker
        self.queue = RowQueue(boundaries)
        self._first: list[tuple[Row, Any, float]] = []  # until the tracker has its map
        self._provisional: FeatureMap | None = None

    @property
    def adaptive(self) -> AdaptiveMap:
        """The map that follows the stream."""
        adaptive: AdaptiveMap = self.tracker.tracker
        return adaptive

    @property
    def recipe(self) -> FeatureMap | None:
        """The map in force, or None before the first row."""
        return self.adaptive.recipe or self._provisional

    @property
    def n_rows(self) -> int:
        """Number of rows seen, merged ones included."""
        return self.queue.n_rows

    def push(self, row: Row, target: Any = None, weight: float = 1.0) -> None:
        """Take in one checked row without zeros, of positive weight."""
        block = self.queue.push(row, target, weight)
        if block is not None:
            self._absorb(block)

    def _absorb(self, block: Block) -> None:
        """Hand a complete block on, and draw up a map where that is due."""
        self.tracker.update(block.rows, self._tracked(block.targets), weights=block.weights)
        if self.adaptive.recipe is not None:
            self._first, self._provisional = [], None
            return
        self._first += rows_of(block)
        if block.stop in provisional_positions(self.adaptive.settings):
            self._provisional = self.drawn_up([row for row, _, _ in self._first])

    def _tracked(self, targets: Any) -> Any:
        """Return targets in the form that the tracker takes."""
        return targets

    def drawn_up(self, rows: list[Row]) -> FeatureMap:
        """Return the map for a stream of which only these rows are known."""
        matrix = as_matrix(rows)
        histogram = LogHistogram()
        histogram.absorb(matrix)
        settings = self.adaptive.settings
        if settings.n_terms == "auto":
            # Finding out how many would take as long as everything else, for a few rows.
            settings = replace(settings, n_terms=_PROVISIONAL_TERMS)
        return planned_map(settings, matrix, None, histogram)

    def merge(self, other: Self) -> None:
        """Absorb everything ``other`` has seen; ``other`` is untouched.

        Of a side that has no map of its own yet the rows are handed over, as if they arrived now.
        """
        self.adaptive.settings.check_same(other.adaptive.settings)
        if other.n_rows == 0:
            return
        if self.n_rows == 0 and (self.adaptive.recipe in (None, other.adaptive.recipe)):
            self.__dict__.update(other.copy().__dict__)
        elif other.adaptive.recipe is None:
            for row in other._all_rows():
                self.push(*row)
        elif self.adaptive.recipe is None:
            mine = self._all_rows()
            self.__dict__.update(other.copy().__dict__)
            for row in mine:
                self.push(*row)
        else:
            self._pool(other)

    def _pool(self, other: Self) -> None:
        """Merge with a stream that has a map, as this one has."""
        merged = self._flushed()
        merged.merge(other._flushed())
        self.tracker = merged
        self.queue = RowQueue(self.queue.boundaries, self.n_rows + other.n_rows)

    def _flushed(self) -> BufferedTracker[Any]:
        """Return the tracker with the rows that wait, as a copy."""
        tracker, waiting = self.tracker.copy(), self.queue.waiting()
        if waiting is not None:
            targets = self._tracked(waiting.targets)
            tracker.update(waiting.rows, targets, weights=waiting.weights)
        return tracker

    def _all_rows(self) -> list[tuple[Row, Any, float]]:
        """Return every row of a stream that has no map yet."""
        waiting = self.queue.waiting()
        return [*self._first, *([] if waiting is None else rows_of(waiting))]

    def copy(self) -> Self:
        """Return an independent stream in the same state."""
        twin = object.__new__(type(self))
        twin.__dict__.update(
            self.__dict__,
            tracker=self.tracker.copy(),
            queue=self.queue.copy(),
            _first=list(self._first),
        )
        return twin
