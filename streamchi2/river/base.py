"""The base class of river estimators: what holds one stream of named rows."""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from html import escape
from typing import Any, ClassVar, Self

import numpy as np
from river import base
from scipy.fft import next_fast_len

from streamchi2.bases import BASES, LandmarkRows
from streamchi2.checks import as_choice, as_positive_int, as_seed
from streamchi2.errors import StateMismatchError
from streamchi2.estimators.facts import FittedFacts, facts_as_html
from streamchi2.estimators.map_params import (
    divided,
    landmarks_differ,
    map_params,
    of_descriptor,
)
from streamchi2.estimators.map_readings import MapReadings
from streamchi2.estimators.saved_params import ConstructorParams
from streamchi2.feature_map import AdaptiveFeatureMap, FeatureMap, MapParams
from streamchi2.reading import Reading
from streamchi2.river.dict_rows import DictReader
from streamchi2.river.key_columns import KeyColumns
from streamchi2.river.row_features import RowFeatures
from streamchi2.runtime.warnings import deferred_warnings
from streamchi2.state import (
    Int,
    Kind,
    Maybe,
    Object,
    Saved,
    refuse_undeclared,
    require,
)
from streamchi2.statistics.row_buffer import NAMED_WIDTH, Block, Row, RowBuffer, as_matrix
from streamchi2.statistics.targets import ClassTargets, NumericTargets
from streamchi2.stream import Stream
from streamchi2.threads import deferred_interrupts

_FEWEST_BUCKETS = 1024


class NamedStreamEstimator(MapReadings, FittedFacts, Saved, base.Estimator):
    """A river estimator with a stream of named rows; it is made when the first row arrives."""

    STATE: ClassVar[dict[str, Kind]] = {
        "params": ConstructorParams(),
        "seed": Int(),
        "stream": Maybe(Object((Stream,))),
    }
    # Beside the constructor's parameters: what the state is made of, and what can be made again.
    _ATTRIBUTES: ClassVar[tuple[str, ...]] = (
        "_stream",
        "_seed",
        "_due",
        "_reader",
        "_row_features",
    )
    descriptors: Any = None
    _learns: ClassVar[bool] = False  # statistics of the features
    _targets_kind: ClassVar[type[ClassTargets | NumericTargets] | None] = None

    n_components: Any
    seed: int | None
    landmarks: Any
    half_life: float | None
    _stream: Stream | None

    def _start(self) -> None:
        """Create what every one of these estimators holds beside its parameters."""
        self._stream = None
        self._due: int | None = None  # where the stream must be looked at next, if that is known
        self._reader = DictReader(KeyColumns(self.descriptors))
        self._row_features = RowFeatures()
        # Without a seed every object draws its own, once, so that its features belong together.
        self._seed: Any = secrets.randbits(31) if self.seed is None else self.seed

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._stream is not None:
            self._stream.stepwise = True  # which is no state of a stream, but of its reader

    def _more_tags(self) -> set[str]:
        return {base.tags.POSITIVE_INPUT}

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>{facts_as_html(self)}"

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learnt from, those of merged shards included."""
        return 0 if self._stream is None else self._stream.n_rows

    @property
    def _reading(self) -> Reading:  # type: ignore[override]
        if self._stream is None or (self._stream.n_rows == 0 and not self._stream.is_planned):
            raise AttributeError(f"this {type(self).__name__} has no map yet: learn a row first")
        return self._stream.reading()

    def _map_params(self) -> MapParams:
        """Validate the constructor parameters that decide about the map, and return them."""
        params = self._get_params()
        columns = self._reader.keys.ranges()
        n_buckets, n_components, basis = (
            params[name] for name in ("n_buckets", "n_components", "basis")
        )
        if columns is None:
            params["n_buckets"] = _number_of_buckets(n_buckets, n_components, basis)
        else:
            names = tuple(columns)
            sizes = divided(n_components, names, name="n_components")
            params["n_buckets"] = {
                name: _number_of_buckets(
                    of_descriptor(n_buckets, name, names, param="n_buckets"),
                    size,
                    of_descriptor(basis, name, names, param="basis"),
                )
                for name, size in zip(names, sizes, strict=True)
            }
        params["landmarks"] = self._given_landmarks()
        self._seed = as_seed(self._seed)
        return map_params(params, NAMED_WIDTH, self._seed, columns)

    def _given_landmarks(self) -> Any:
        """Return landmarks, given as dicts, as rows of the columns that their keys have."""
        given = self.landmarks
        if given is None:
            return None
        if isinstance(given, LandmarkRows):  # read from a file
            return given.rows
        if not isinstance(given, Sequence) or not all(isinstance(row, Mapping) for row in given):
            raise TypeError(f"landmarks must be a list of dicts, got {given!r}")
        if not given:
            raise ValueError("landmarks must hold at least one row, got none")
        return as_matrix([self._reader.read(row) for row in given])

    def _open_stream(self) -> Stream:
        """Return the stream, or a new one that is not yet this estimator's."""
        return self._new_stream() if self._stream is None else self._stream

    def _new_stream(self) -> Stream:
        stream = Stream(
            NAMED_WIDTH,
            feature_map=AdaptiveFeatureMap(self._map_params()),
            targets=self._no_targets(),
            learns=self._learns,
            longest=1024,
        )
        stream.stepwise = True
        return stream

    def _no_targets(self) -> ClassTargets | NumericTargets | None:
        return None

    def _add(self, stream: Stream, row: Row, target: Any, weight: float) -> None:
        """Learn one validated row, all of it or, where something fails, nothing."""
        if self._due is None:
            due = self._next_position(stream)
            self._due = self._catch_up(stream) if due <= stream.n_rows else due
        if stream.n_rows + 1 < self._due:
            self._append(stream, row, target, weight)
            self._stream = stream
            return
        self._due = None
        with deferred_interrupts():  # between the row and what it completes
            pending = stream.buffer.copy()
            try:
                self._append(stream, row, target, weight)
                self._advance(stream, pending, has_target=target is not None)
            except BaseException:
                if stream.n_rows >= stream.next_stop:  # its block is complete and was not learnt
                    stream.hold_again(pending)
                raise

    def _refuse_too_large(
        self, stream: Stream, rows: Sequence[Row], x: Mapping[Hashable, Any] | None = None
    ) -> None:
        """Refuse rows with values whose features could not be held, before any of them is learnt.

        ``x`` is the dict of the only row; rows of a frame are known by their numbers.
        """
        assert stream.feature_map is not None
        params = stream.feature_map.params
        if not params.is_limited:
            return
        for number, row in enumerate(rows):

            def where(value: float, number: int = number) -> str:
                if x is None:
                    return f" at row {number}"
                return f" at key {next(key for key in x if float(x[key]) == value)!r}"

            params.refuse_too_large_row(
                row.columns, row.values, where, name="X" if x is None else "x"
            )

    def _append(self, stream: Stream, row: Row, target: Any, weight: float) -> None:
        """Let a row be pending; None is an absent target where there are targets."""
        if target is not None or stream.targets is None:
            stream.append(row, target, weight)
            return
        weights = None if weight == 1.0 else np.array([weight])
        absent = stream.targets.absent(1)
        stream.append_block(Block(stream.n_rows, as_matrix([row]), absent, weights))

    def _next_position(self, stream: Stream) -> int:
        """Return where the stream must be looked at next."""
        return stream.next_stop

    def _catch_up(self, stream: Stream) -> int:
        """Do what an earlier call has failed to do, and return the next position."""
        return self._next_position(stream)

    def _advance(self, stream: Stream, pending: RowBuffer, *, has_target: bool) -> None:
        """Learn a block if it is complete; where that fails the rows before are pending again."""
        with stream.lock, deferred_interrupts(), deferred_warnings():
            try:
                stream.learn_pending()
            except BaseException:
                stream.finish()  # a block that was begun is learnt
                if stream.buffer.position == pending.position:  # the block was not learnt
                    stream.hold_again(pending)
                else:
                    self._stream = stream
                raise
            self._stream = stream

    def _present_map(self) -> FeatureMap:
        return self._reading.feature_map

    def new_shard(self) -> Self:
        """Return an estimator with this one's map that has learnt nothing: a worker's share.

        Give each worker a shard, let it learn its part of the stream, and :meth:`merge` the shards.
        The map must have been planned: refused before.
        """
        reading = self._reading
        assert self._stream is not None
        if not self._stream.is_planned:
            raise ValueError(
                "new_shard needs a map to share, which is planned on the first "
                f"{self._stream.next_stop} rows of a stream, got {self._stream.n_rows}; "
                "learn from more rows first"
            )
        shard: Self = self.clone()
        shard._seed = self._seed
        shard._stream = self._stream.new_shard(reading.feature_map)
        shard._stream.stepwise = True
        return shard

    def merge(self, other: Self) -> None:
        """Absorb everything ``other`` has learnt; ``other`` is untouched.

        Parameters
        ----------
        other
            An estimator of the same class with the same parameters and seed, whose map differs
            from this one's by transport alone (see :meth:`new_shard`). One that has learnt nothing
            changes nothing.
        """
        if type(other) is not type(self):
            raise TypeError(f"other must be a {type(self).__name__}, got {other!r}")
        theirs = other._get_params()
        for name, value in self._get_params().items():
            if self._differs(other, name, value, theirs[name]):
                raise StateMismatchError(
                    f"{name} must agree to merge, got {value!r} and {theirs[name]!r}"
                )
        if other._stream is None:
            return
        if self._stream is None and self.seed is None:
            self._seed = other._seed
        self._due = None
        with deferred_interrupts(), deferred_warnings():
            self._merge_stream(other)

    def _differs(self, other: Self, name: str, mine: Any, theirs: Any) -> bool:
        """Tell whether two values of a constructor parameter forbid a merge."""
        if name == "seed":
            return False
        if name == "landmarks":
            return landmarks_differ(self._given_landmarks(), other._given_landmarks())
        if name == "descriptors" and mine is not None and theirs is not None:
            # Their order decides about columns; a list that was saved comes back as a list.
            sides = [
                [(own, tuple(keys) if isinstance(keys, list) else keys) for own, keys in pairs]
                for pairs in (mine.items(), theirs.items())
            ]
            return sides[0] != sides[1]
        return bool(mine != theirs)

    def _merge_stream(self, other: Self) -> None:
        assert other._stream is not None
        self._stream = self._open_stream().merge(other._stream)

    def __getstate__(self) -> dict[str, Any]:
        # What only saves time is no state.
        caches = {"_due", "_checked"} & vars(self).keys()
        return {**self.__dict__, **dict.fromkeys(sorted(caches))}

    @classmethod
    def saved_name(cls) -> str:
        """Return the name of the class in files."""
        return f"river.{cls.__name__}"

    def standing_still(self) -> AbstractContextManager[Any]:
        """Return the lock of the stream, where there is one."""
        return nullcontext() if self._stream is None else self._stream.lock

    def get_state(self) -> dict[str, Any]:
        """Return the constructor's parameters, the seed in use, and the stream."""
        params = self._get_params()
        refuse_undeclared(self, (*params, *self._ATTRIBUTES))
        if "landmarks" in params:
            params["landmarks"] = self._given_landmarks()
        return {"params": params, "seed": self._seed, "stream": self._stream}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return an estimator with these parameters and this stream."""
        params = state["params"]
        if params.get("landmarks") is not None:
            params = {**params, "landmarks": LandmarkRows(params["landmarks"])}
        estimator = cls(**params)
        estimator._seed, estimator._stream = state["seed"], state["stream"]
        if estimator._stream is not None:
            estimator._stream.stepwise = True
        return estimator

    def validate(self) -> None:
        """Require a stream of named rows under the seed of this estimator."""
        stream = self._stream
        if stream is None:
            return
        kind = type(None) if self._targets_kind is None else self._targets_kind
        require(type(stream.targets) is kind, f"targets must be {kind.__name__}")
        require(stream.learns == self._learns, "a stream of another kind of estimator")
        require(stream.n_features == NAMED_WIDTH, "rows must have named columns")
        adaptive = stream.feature_map
        require(adaptive is not None, "a stream without a map")
        assert adaptive is not None
        require(adaptive.params.seed == self._seed, "seed must be that of the stream")
        columns = self._reader.keys.ranges()
        known = adaptive.params.descriptors
        same = columns == known and list(columns or ()) == list(known or ())
        require(same, "descriptors must be those of the stream")
        buckets = all(block.n_buckets is not None for block in adaptive.params.blocks)
        require(buckets, "named columns need hash buckets")


def _number_of_buckets(given: Any, n_components: Any, basis: Any) -> int:
    as_choice(basis, tuple(BASES), name="basis")
    as_positive_int(n_components, name="n_components")  # rows have no fixed number of columns
    if given == "auto":
        if BASES[basis].sizes_itself:
            return int(n_components)
        # Four buckets a phase: folding adds a tenth to the error of the random features.
        return int(next_fast_len(max(_FEWEST_BUCKETS, 2 * n_components), real=True))
    return as_positive_int(given, name="n_buckets")
