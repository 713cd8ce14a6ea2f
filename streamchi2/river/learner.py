"""The base class of river learners: a stream of named rows, and a model solved as it grows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from river.utils.dataframe import into_frame, into_series
from scipy import sparse

from streamchi2.checks import Floats, as_choice, as_weights
from streamchi2.errors import NoTargetError
from streamchi2.estimators.map_params import (
    n_pca_of_each,
)
from streamchi2.feature_map import FeatureMap
from streamchi2.feature_map.adaptive import check_planned
from streamchi2.model import FittedModel, ModelParams
from streamchi2.refit import RefitSchedule
from streamchi2.river.base import NamedStreamEstimator
from streamchi2.river.dict_rows import frame_rows
from streamchi2.river.model_readings import ModelReadings
from streamchi2.river.row_features import features_of
from streamchi2.runtime.warnings import deferred_warnings
from streamchi2.solvers.components import check_n_pca
from streamchi2.solvers.problem import PenaltyParams
from streamchi2.state import (
    Kind,
    Maybe,
    Object,
    Param,
    require,
)
from streamchi2.statistics.row_buffer import Block, Row, RowBuffer
from streamchi2.statistics.targets import has_target
from streamchi2.stream import Stream
from streamchi2.threads import deferred_interrupts, one_blas_thread

_CALIBRATION_ROWS = 128  # one number is fitted to them, again and again


class NamedStreamModel(ModelReadings, NamedStreamEstimator):
    """A stream of named rows with a model that is solved at growing positions."""

    STATE: ClassVar[dict[str, Kind]] = {
        **NamedStreamEstimator.STATE,
        "schedule": Object((RefitSchedule,)),
        "model_map": Maybe(Object((FeatureMap,))),
        "target_name": Param(),
    }
    _ATTRIBUTES = (
        *NamedStreamEstimator._ATTRIBUTES,
        "_schedule",
        "_target_name",
        "_checked",
    )
    _learns = True
    _counts_errors: ClassVar[bool] = False  # whether predictions are right or wrong

    alpha: float | str
    penalty: str
    l1_ratio: float
    n_pca: Any
    calibrate: str | None = None
    class_weight: Any = None

    def _start(self) -> None:
        super()._start()
        self._schedule = RefitSchedule()
        self._target_name: str | None = None
        self._checked: tuple[Any, ModelParams] | None = None  # parameters, as they were last

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"alpha"}

    def _known_alpha(self, stream: Stream) -> float | None:
        return None if self._schedule.model is None else self._schedule.model.linear.alpha

    def _model_params(self) -> ModelParams:
        """Validate the parameters that decide how statistics become a model, and return them."""
        weight = self.class_weight
        given = (self.n_pca, self.penalty, self.alpha, self.l1_ratio, self.calibrate, weight)
        if self._checked is None or self._checked[0] != given:
            self._checked = given, self._validated_params()
        return self._checked[1]

    def _validated_params(self) -> ModelParams:
        grouped = self.descriptors is not None
        n_pca = self.n_pca
        if grouped:
            n_pca = n_pca_of_each(n_pca, tuple(self._reader.keys.ranges() or ()))
        else:
            check_n_pca(n_pca)
        penalty = PenaltyParams.checked(self.penalty, self.alpha, self.l1_ratio, grouped=grouped)
        if self.calibrate is not None:
            as_choice(self.calibrate, ("quantile",), name="calibrate")
        return ModelParams(n_pca, penalty, self.calibrate, _CALIBRATION_ROWS)

    def _new_stream(self) -> Stream:
        self._model_params()
        return super()._new_stream()

    def _checked_target(self, y: Any) -> Any:
        raise NotImplementedError

    def _known_targets(self, stream: Stream, targets: Sequence[Any]) -> Any:
        """Return what is known of the targets after some more, or refuse them."""
        return stream.targets

    def _as_target(self, stream: Stream, target: Any) -> Any:
        """Return a target in the form in which rows are pending."""
        return target

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Learn from one row.

        Parameters
        ----------
        x
            Features by name, finite and non-negative; a missing key is a zero.
        y
            The target.
        w
            Weight: two equals a repeated row, zero no row.
        """
        row = self._reader.read(x)
        target = self._checked_target(y)
        weight = 1.0 if w == 1.0 else float(_checked_weights(w, 1)[0])
        self._model_params()
        stream = self._open_stream()
        self._known_targets(stream, (target,))
        self._refuse_too_large(stream, [row], x)
        if weight > 0.0:
            self._learn_row(stream, row, target, weight)

    def observe_one(self, x: dict[Hashable, Any], w: float = 1.0) -> None:
        """Learn from one row without a target: what inputs are like, and what varies in them.

        The map and the principal components learn from such rows, the regression does not. An
        addition of this library: river knows no rows without targets.

        Parameters
        ----------
        x
            Features by name, finite and non-negative; a missing key is a zero.
        w
            Weight: two equals a repeated row, zero no row.
        """
        row = self._reader.read(x)
        weight = 1.0 if w == 1.0 else float(_checked_weights(w, 1)[0])
        self._model_params()
        stream = self._open_stream()
        self._refuse_too_large(stream, [row], x)
        if weight > 0.0:
            self._learn_row(stream, row, None, weight)

    def observe_many(self, X: Any, w: Any = 1.0) -> None:
        """Learn from the rows of a frame without targets, as if they came one by one.

        Parameters
        ----------
        X
            A pandas, polars or pyarrow frame without missing values.
        w
            One weight for all rows, or a series of them.
        """
        rows = frame_rows(into_frame(X), self._reader.keys)
        weights = _checked_weights(w, len(rows))
        self._model_params()
        stream = self._open_stream()
        self._refuse_too_large(stream, rows)
        with deferred_warnings():
            for row, weight in zip(rows, weights.tolist(), strict=True):
                if weight > 0.0:
                    self._learn_row(stream, row, None, weight)

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn from the rows of a frame, as if they came one by one.

        Parameters
        ----------
        X
            A pandas, polars or pyarrow frame without missing values.
        y
            A series of targets.
        w
            One weight for all rows, or a series of them.
        """
        rows = frame_rows(into_frame(X), self._reader.keys)
        found, name = self._read_targets(y)
        targets = [self._checked_target(target) for target in found]
        if len(targets) != len(rows):
            raise ValueError(
                f"y must hold one target per row: got {len(targets)} targets for {len(rows)} rows"
            )
        weights = _checked_weights(w, len(rows))
        self._model_params()
        stream = self._open_stream()
        self._known_targets(stream, targets)
        self._refuse_too_large(stream, rows)
        self._target_name = name
        # A warning that is made an error comes after the last row, so that it costs none.
        with deferred_warnings():
            for row, target, weight in zip(rows, targets, weights.tolist(), strict=True):
                if weight > 0.0:
                    self._learn_row(stream, row, target, weight)

    def _read_targets(self, y: Any) -> tuple[list[Any], Any]:
        """Return the targets of a batch, and the name of them all."""
        series = into_series(y)
        return series.to_list(), series.name

    def _learn_row(self, stream: Stream, row: Row, target: Any, weight: float) -> None:
        """Learn a row with its target, or without one where that is None."""
        if target is None:
            self._add(stream, row, None, weight)
            return
        before, n_before = stream.targets, stream.n_rows
        if self._schedule.model is None:
            self._due = stream.n_rows + 1  # the first target makes the first model
        try:
            stream.set_targets(self._known_targets(stream, (target,)))
            self._add(stream, row, self._as_target(stream, target), weight)
        except BaseException:
            stream = stream if self._stream is None else self._stream
            if stream.n_rows == n_before:  # the row has not been learnt
                stream.set_targets(before)
            raise

    def _next_position(self, stream: Stream) -> int:
        if self._schedule.model is None and self._stream is not None:
            return stream.next_stop  # before the first target there is nothing to solve
        return self._schedule.next_position(stream)

    def _catch_up(self, stream: Stream) -> int:
        self._solve(stream)
        return self._next_position(stream)

    def _advance(self, stream: Stream, pending: RowBuffer, *, has_target: bool) -> None:
        """Learn a block if it is complete, and solve the model again.

        Where anything but the solution fails, the row has not been learnt. A solution that fails
        is made up for when the next row comes.
        """
        with stream.lock, deferred_interrupts(), deferred_warnings(), one_blas_thread:
            schedule, known = self._schedule.copy(), (self._stream, self._schedule)
            try:
                self._judge(stream, schedule)
                stream.learn_pending()
                if schedule.model is None and has_target:
                    schedule.refit(stream, self._model_params())
                self._stream, self._schedule = stream, schedule
            except BaseException:
                self._stream, self._schedule = known
                stream.finish()  # a block that was begun is learnt
                if stream.buffer.position == pending.position:  # the block was not learnt
                    stream.hold_again(pending)
                else:
                    self._stream, self._schedule = stream, schedule
                raise
            if schedule.fitted_at < stream.n_rows:
                self._solve(stream)

    def _solve(self, stream: Stream) -> None:
        if self._schedule.model is None:
            return  # before the first target there is nothing to solve
        with stream.lock, deferred_interrupts(), deferred_warnings(), one_blas_thread:
            self._refit(stream, self._schedule.copy())

    def _refit(self, stream: Stream, schedule: RefitSchedule) -> None:
        try:
            schedule.refit(stream, self._model_params())
        except NoTargetError:
            return  # rows were only observed: there is nothing to solve yet
        self._schedule = schedule

    def _judge(self, stream: Stream, schedule: RefitSchedule) -> None:
        """Tell the schedule how many of the latest rows the model has predicted wrong."""
        model = schedule.model
        if model is None or not self._counts_errors:
            return
        pending = stream.buffer.pending
        assert pending is not None
        latest = pending.part(max(schedule.fitted_at, pending.start), pending.stop)
        assert latest.targets is not None
        places = np.flatnonzero(has_target(latest.targets, latest.stop - latest.start))
        features = stream.latest_features(latest, model.feature_map)[places]
        errors = self._errors(model, latest.targets[places], features)
        schedule.judge(places.size, int(errors.sum()))

    def _errors(
        self, model: FittedModel, targets: NDArray[Any], features: Floats
    ) -> NDArray[np.bool_]:
        """Return which rows the model predicts wrong, from their targets and features."""
        raise NotImplementedError

    def _merge_stream(self, other: Self) -> None:
        assert other._stream is not None
        before = self._stream, self._schedule
        try:
            # On a copy: rows that are handed over one by one may fail in the middle.
            self._merge_streams(self._open_stream().copy(), other)
        except BaseException:
            self._stream, self._schedule = before
            raise

    def _merge_streams(self, mine: Stream, other: Self) -> None:
        theirs = other._stream
        assert theirs is not None
        if mine.n_rows == 0:
            self._take_over(other, mine)
        elif theirs.buffer.position == 0 and theirs.n_rows:
            self._check_merge(mine, theirs)
            if theirs.is_planned and not mine.is_planned:
                mine.merge(theirs.new_shard(theirs.reading().feature_map))
            self._hand_over(mine, theirs.buffer.pending, theirs.targets)
        elif mine.buffer.position == 0 and theirs.n_rows:
            self._check_merge(mine, theirs)
            pending, targets = mine.buffer.pending, mine.targets
            self._take_over(other, self._new_stream())
            assert self._stream is not None
            self._hand_over(self._stream, pending, targets)
        else:
            self._stream = mine.merge(theirs)
            if theirs.n_rows:
                schedule = self._schedule.copy()
                schedule.retune_next()
                self._refit(self._stream, schedule)

    def _take_over(self, other: Self, empty: Stream) -> None:
        """Go on where another estimator is."""
        assert other._stream is not None
        self._stream = empty.merge(other._stream)
        self._schedule = other._schedule.copy()

    @staticmethod
    def _check_merge(mine: Stream, theirs: Stream) -> None:
        """Refuse streams that do not fit; neither changes."""
        mine.copy().merge(theirs)

    def _hand_over(self, stream: Stream, pending: Block | None, targets: Any) -> None:
        """Learn rows that were pending elsewhere, as if they came one by one now."""
        assert pending is not None
        for row, target, weight in single_rows(pending, getattr(targets, "names", None)):
            self._learn_row(stream, row, target, weight)

    def _scores_one(self, model: FittedModel, x: dict[Hashable, Any]) -> NDArray[np.float64]:
        assert model.feature_map is not None
        features = self._row_features.of(model.feature_map, self._reader.read(x))
        return self._shifted(model, model.scores_of_row(features))

    def _scores_many(self, model: FittedModel, frame: Any) -> list[NDArray[np.float64]]:
        rows = frame_rows(frame, self._reader.keys)
        if not rows:
            return []
        assert model.feature_map is not None
        features = features_of(model.feature_map, rows)
        return [self._shifted(model, model.scores_of_row(row)) for row in features]

    def _shifted(self, model: FittedModel, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.calibrate is None or model.calibration is None:
            return scores
        return scores - model.calibration.shifts

    def get_state(self) -> dict[str, Any]:
        """Return parameters, stream, and all that the next solution depends on."""
        return {
            **super().get_state(),
            "schedule": self._schedule,
            "model_map": self._model_map(),
            "target_name": self._target_name,
        }

    def _model_map(self) -> FeatureMap | None:
        """Return the map of the model where it is not that of the stream.

        Planned once more, on another machine, a provisional map may come out differently.
        """
        model = self._schedule.model
        found = None if model is None else model.feature_map
        return None if found == self._planned_map() else found

    def _planned_map(self) -> FeatureMap | None:
        adaptive = None if self._stream is None else self._stream.feature_map
        return None if adaptive is None else adaptive.feature_map

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return an estimator that goes on where the saved one was."""
        estimator = super().from_state(state)
        estimator._schedule = state["schedule"]
        estimator._target_name = state["target_name"]
        model = estimator._schedule.model
        if model is not None:
            model.feature_map = state["model_map"] or estimator._planned_map()
        return estimator

    def validate(self) -> None:
        """Require a model of the stream's features and targets."""
        super().validate()
        schedule, stream = self._schedule, self._stream
        n_rows = 0 if stream is None else stream.n_rows
        require(schedule.fitted_at <= n_rows, "a model of rows that were not seen")
        require(schedule.model is None or n_rows > 0, "a model of no rows")
        model = schedule.model
        if model is not None and stream is not None:
            require(model.feature_map is not None, "a model must have its map")
            assert model.feature_map is not None
            assert stream.feature_map is not None
            params, found = stream.feature_map.params, model.feature_map
            require(found.columns == params.columns, "the map of a model reads other columns")
            for own, block in zip(params.blocks, found.blocks, strict=True):
                check_planned(own, block)
            fits = model.linear.centre.size == model.feature_map.n_components
            require(fits, "the model must be one of the map's features")
            self._check_model(model, stream)

    def _check_model(self, model: FittedModel, stream: Stream) -> None:
        """Require outputs for the targets of the stream."""


def single_rows(
    block: Block, names: Sequence[Hashable] | None = None
) -> Iterator[tuple[Row, Any, float]]:
    """Yield the rows of a block of named rows, each with its target and weight.

    Targets with names are dicts.
    """
    assert isinstance(block.rows, sparse.csr_array)
    assert block.targets is not None
    given, ends = has_target(block.targets, block.rows.shape[0]), block.rows.indptr
    labels = block.targets if block.targets.dtype.names is None else block.targets["label"]
    targets = labels.reshape(-1).tolist() if names is None else _by_name(labels, names)
    for place, target in enumerate(targets):
        own = slice(ends[place], ends[place + 1])
        columns = block.rows.indices[own].astype(np.int64)
        weight = 1.0 if block.weights is None else float(block.weights[place])
        yield Row(columns, block.rows.data[own].copy()), target if given[place] else None, weight


def _by_name(targets: NDArray[Any], names: Sequence[Hashable]) -> list[dict[Hashable, float]]:
    return [dict(zip(names, row, strict=False)) for row in targets.tolist()]


def _checked_weights(w: Any, n_rows: int) -> NDArray[np.float64]:
    given = w if np.ndim(w) == 0 else into_series(w).to_numpy()
    if given is None:
        return np.ones(n_rows)
    weights = as_weights(given, n_rows, name="w")
    assert weights is not None
    return weights
