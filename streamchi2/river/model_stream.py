"""A stream that is learnt as it passes: map, statistics, and a model solved at fixed positions."""

from __future__ import annotations

import copy
import logging
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.adaptive_map import AdaptiveMap
from streamchi2.feature_map import FeatureMap
from streamchi2.map_plan import MapSettings
from streamchi2.mapped_moments import MappedMoments, with_labels
from streamchi2.river.drift import DriftEvent, as_detector, first_alarm
from streamchi2.river.live_model import LiveModel
from streamchi2.river.map_stream import MapStream
from streamchi2.river.positions import maturity, model_positions
from streamchi2.river.refresh import Refresher
from streamchi2.river.young_stream import YoungStream
from streamchi2.runtime.blas import one_blas_thread
from streamchi2.statistics.buffered_tracker import BufferedTracker
from streamchi2.statistics.class_moments import ClassMoments
from streamchi2.statistics.reservoir import Reservoir
from streamchi2.statistics.row_buffer import Block, RowBuffer
from streamchi2.statistics.target_moments import TargetMoments

CALIBRATION_ROWS = 128  # one number is fitted to them

_log = logging.getLogger("streamchi2.river")


class ModelStream(MapStream):
    """Rows with targets, what is remembered of them, and the model in force.

    While rows are fewer than features the model is solved in dual form from the rows themselves,
    then from the moments of their features; either way at the same positions of every stream.

    Laws: those of :class:`MapStream`, for the model too.

    Parameters
    ----------
    settings : MapSettings
        All that the user chose about the map.
    labels : bool
        Whether targets are class labels; otherwise numbers.
    detector : object
        See :func:`streamchi2.river.drift.as_detector`.
    memory : float, default=0.1
        What the past counts once the detector has raised an alarm.
    recipe : FeatureMap, optional
        A map to begin with, as the shards of one stream have.
    """

    def __init__(
        self,
        settings: MapSettings,
        *,
        labels: bool,
        detector: Any = None,
        memory: float = 0.1,
        recipe: FeatureMap | None = None,
    ) -> None:
        self.detector = as_detector(detector)
        self.memory = memory
        refreshes, moments = model_positions(settings, watched=self.detector is not None)
        width = settings.n_components
        tracker = MappedMoments(
            AdaptiveMap(settings, recipe),
            ClassMoments(width) if labels else TargetMoments(width, 1),
        )
        if labels:
            tracker.sample = Reservoir(CALIBRATION_ROWS, settings.seed + 1, settings.half_life)
        self._begin(BufferedTracker(tracker, moments), refreshes)
        self.young: YoungStream | None = YoungStream(width, settings.half_life, maturity(settings))
        self.refresher = Refresher(labels=labels)
        self.events: tuple[DriftEvent, ...] = ()

    @property
    def adaptive(self) -> AdaptiveMap:
        """The map that follows the stream."""
        adaptive: AdaptiveMap = self.tracker.tracker.map
        return adaptive

    @property
    def model(self) -> LiveModel | None:
        """The model in force, or None before the first row."""
        return self.refresher.model

    def _tracked(self, targets: NDArray[Any]) -> NDArray[Any]:
        return with_labels(targets) if self.refresher.labels else targets[:, None]

    def _absorb(self, block: Block) -> None:
        # Blocks are short: more threads would wait for each other longer than they work.
        with one_blas_thread:
            self._learn(block)

    def _learn(self, block: Block) -> None:
        settled = self.adaptive.recipe
        alarm = None if settled is None else self._alarm(block, settled)
        if alarm is not None:
            self._shorten_memory(DriftEvent(block.start + alarm, block.stop, self.memory))
        super()._absorb(block)
        if alarm is not None:
            self._settle()
            self.adaptive.reestimate()
        if self.young is not None:
            self._grow(block, settled)
        self.refresh()

    def _grow(self, block: Block, settled: FeatureMap | None) -> None:
        """Let the young stream take the block, or leave it where there are rows enough."""
        assert self.young is not None
        recipe = settled or self.recipe
        if block.stop >= self.young.mature_at:
            self.young = None
        elif recipe is not None:
            self.young.take(block, recipe, settled=settled is not None)

    def refresh(self) -> None:
        """Solve the model from everything that has been absorbed."""
        if self.young is not None:
            self.refresher.solve_young(self.young, self.queue.start)
            return
        stream = self.tracker
        moments = stream.snapshot() if stream.buffer.n_pending else stream.tracker
        self.refresher.solve(moments, self.queue.start)

    def _alarm(self, block: Block, recipe: FeatureMap) -> int | None:
        """Return how many rows of a block passed until the detector found a change, or None."""
        if self.detector is None or self.model is None:
            return None
        model = self.model
        scores = [model.scores(features) for features in recipe.transform(block.rows)]
        assert block.targets is not None
        guesses = np.array([model.label(score) for score in scores])
        return first_alarm(self.detector, guesses != block.targets)

    def _shorten_memory(self, event: DriftEvent) -> None:
        self._settle()
        self.tracker.tracker.fade(self.memory)
        if self.young is not None:
            self.young.fade(self.memory)
        self.refresher.audit_next()
        self.events = (*self.events, event)
        _log.info("change at row %d: the past counts %g from row %d on", *_in_order(event))

    def _settle(self) -> None:
        """Let the tracker absorb the rows that wait in its own buffer."""
        stream = self.tracker
        if stream.buffer.n_pending:
            boundaries, position = stream.buffer.boundaries, stream.n_rows
            self.tracker = BufferedTracker(stream.snapshot(), boundaries)
            self.tracker.buffer = RowBuffer(boundaries, position)

    def _pool(self, other: Self) -> None:
        super()._pool(other)
        self.young = None  # rows of two streams are not in one order
        self.refresher = self.refresher.copy()
        self.refresher.audit_next()
        self.refresh()

    def copy(self) -> Self:
        """Return an independent stream in the same state."""
        twin = super().copy()
        twin.young = None if self.young is None else self.young.copy()
        twin.refresher = self.refresher.copy()
        twin.detector = copy.deepcopy(self.detector)
        return twin


def _in_order(event: DriftEvent) -> tuple[int, float, int]:
    return event.found_at, event.memory, event.acted_at
