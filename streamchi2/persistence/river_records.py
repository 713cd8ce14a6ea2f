"""How the estimators for river are saved: words, labels, and the stream at whatever stage it is.

What follows from the settings is not written: where blocks end, where rows become moments, and the
rows of a provisional map, which are those that the stream still keeps.
"""

from __future__ import annotations

from inspect import signature
from typing import Any

from streamchi2.persistence import river_checks as checks
from streamchi2.persistence.array_fields import PlainLabels
from streamchi2.persistence.fields import Field, Flag, Integer, Maybe, Number, Scalar, Sequences
from streamchi2.persistence.map_records import ADAPTIVE_MAP, FEATURE_MAP, MAPPED_MOMENTS
from streamchi2.persistence.river_model_records import REFRESHER, YOUNG, young_stream, young_values
from streamchi2.persistence.tracker_records import BLOCK, buffer_of
from streamchi2.persistence.tree import Group, Record, Values
from streamchi2.river import ExpChi2Classifier, ExpChi2Regressor, ExpChi2Sampler
from streamchi2.river.adwin import Adwin
from streamchi2.river.drift import DriftEvent
from streamchi2.river.map_stream import MapStream
from streamchi2.river.model_stream import ModelStream
from streamchi2.river.row_queue import RowQueue, block_of, rows_of
from streamchi2.statistics.buffered_tracker import BufferedTracker
from streamchi2.statistics.row_buffer import Block


class DetectorWord(Scalar):
    """None or the name of a drift detector; objects have states that only pickle knows."""

    def written(self, value: Any, place: Any) -> Any:
        """Return the name."""
        if value is not None and not isinstance(value, str):
            raise TypeError(
                f"drift_detector must be None or 'adwin' to be saved, got {type(value).__name__}: "
                "files hold no state of other detectors, pickle does"
            )
        return super().written(value, place)

    def read(self, found: Any, place: Any) -> Any:
        """Return the name if it is one."""
        if found is not None and not isinstance(found, str):
            place.refuse("must be null or a word", found)
        return super().read(found, place)


def _error_window(values: Values) -> Adwin:
    window = Adwin()
    window.__dict__.update(values, counts=[list(buckets) for buckets in values["counts"]])
    return window


ERROR_WINDOW = Record(
    Adwin,
    {
        "drift_detected": Flag(),
        "n_rows": Integer(),
        "counts": Sequences(Sequences(Integer())),
    },
    _error_window,
    rules=checks.error_window_rules,
)
DRIFT_EVENT = Record(
    DriftEvent,
    {"found_at": Integer(low=1), "acted_at": Integer(low=1), "memory": Number(low=0.0)},
    lambda values: DriftEvent(**values),
    taken=lambda event: event._asdict(),
)
_STREAM: dict[str, Field] = {
    "absorbing": Group({"position": Integer(), "waiting": Maybe(BLOCK)}),
    "queue": Group({"start": Integer(), "waiting": Maybe(BLOCK)}),
    "first": Maybe(BLOCK),
    "provisional": Maybe(FEATURE_MAP),
}


def _map_values(stream: MapStream) -> Values:
    buffer, first = stream.tracker.buffer, stream._first
    return {
        "tracker": stream.tracker.tracker,
        "absorbing": {"position": buffer.position, "waiting": buffer.pending()},
        "queue": {"start": stream.queue.start, "waiting": stream.queue.waiting()},
        "first": block_of(0, *map(list, zip(*first, strict=True))) if first else None,
        "provisional": stream._provisional,
    }


def _model_values(stream: ModelStream) -> Values:
    return {
        **_map_values(stream),
        "young": None if stream.young is None else young_values(stream.young),
        "refresher": stream.refresher,
        "detector": stream.detector,
        "memory": stream.memory,
        "events": stream.events,
    }


def _filled_stream(kind: type[MapStream], values: Values) -> Any:
    """Return a stream with all that streams with and without a model have in common."""
    handed_on, absorbed = checks.positions_of(values)
    tracker: Any = BufferedTracker(values["tracker"], absorbed)
    tracker.buffer = buffer_of(absorbed, **values["absorbing"])
    stream = object.__new__(kind)
    stream._begin(tracker, handed_on)
    stream.queue = _filled_queue(RowQueue(handed_on, values["queue"]["start"]), values)
    stream._first = [] if values["first"] is None else rows_of(values["first"])
    stream._provisional = values["provisional"]
    return stream


def _filled_queue(queue: RowQueue, values: Values) -> RowQueue:
    waiting: Block | None = values["queue"]["waiting"]
    for row in [] if waiting is None else rows_of(waiting):
        queue.push(*row)  # completes no block: that has been checked
    return queue


def _model_stream(values: Values) -> ModelStream:
    stream: ModelStream = _filled_stream(ModelStream, values)
    names = ("refresher", "detector", "memory", "events")
    stream.__dict__.update({name: values[name] for name in names})
    # The rows of a provisional map come in the blocks in which they came before.
    queue = RowQueue(stream.queue.boundaries)
    blocks = [block for row in stream._first if (block := queue.push(*row)) is not None]
    stream.young = young_stream(values["young"], stream.adaptive.settings, stream.recipe, blocks)
    return stream


MAP_STREAM = Record(
    MapStream,
    {"tracker": ADAPTIVE_MAP, **_STREAM},
    lambda values: _filled_stream(MapStream, values),
    taken=_map_values,
    rules=checks.map_stream_rules,
)
MODEL_STREAM = Record(
    ModelStream,
    {
        "tracker": MAPPED_MOMENTS,
        **_STREAM,
        "young": Maybe(YOUNG),
        "refresher": REFRESHER,
        "detector": Maybe(ERROR_WINDOW),
        "memory": Number(low=0.0),
        "events": Sequences(DRIFT_EVENT),
    },
    _model_stream,
    taken=_model_values,
    rules=checks.model_stream_rules,
)


def _taken(estimator: Any) -> Values:
    attributes = dict(vars(estimator))
    parameters = {name: attributes.pop(name) for name in estimator._get_params()}
    for name in ("_named", "_featuriser"):
        attributes.pop(name)  # what they remember only saves time
    if "_labels" in attributes:
        attributes["_labels"] = list(attributes["_labels"])
    return {"parameters": parameters, **attributes}


def _estimator_record(kind: type, stream: Record, rules: Any, **own: Field) -> Record:
    words: dict[str, Field] = dict.fromkeys(signature(kind).parameters, Scalar())
    if "drift_detector" in words:
        words["drift_detector"] = DetectorWord()

    def built(values: Values) -> Any:
        estimator = kind(**values["parameters"])
        attributes = {name: value for name, value in values.items() if name != "parameters"}
        if "_labels" in attributes:
            attributes["_labels"] = dict.fromkeys(attributes["_labels"])
        estimator.__dict__.update(attributes)
        return estimator

    fields: dict[str, Field] = {"parameters": Group(words), "_seed": Scalar(), **own}
    fields["_stream"] = Maybe(stream)
    return Record(kind, fields, built, taken=_taken, rules=rules, called=f"river.{kind.__name__}")


RIVER_ESTIMATORS = (
    _estimator_record(ExpChi2Sampler, MAP_STREAM, checks.seed_rules),
    _estimator_record(
        ExpChi2Classifier,
        MODEL_STREAM,
        checks.classifier_rules,
        _target_name=Scalar(),
        _labels=PlainLabels(),
    ),
    _estimator_record(
        ExpChi2Regressor, MODEL_STREAM, checks.regressor_rules, _target_name=Scalar()
    ),
)
