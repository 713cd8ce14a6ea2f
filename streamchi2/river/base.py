"""Base class of the river estimators: one stream of named rows, learnt one after the other."""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from river import base
from river.utils.dataframe import into_frame, into_series

from streamchi2.checks.params import as_seed
from streamchi2.checks.rows import Floats, as_weights
from streamchi2.errors import StateMismatchError
from streamchi2.features import FeatureMap, MapSpec, Tracker
from streamchi2.learnt import Settings
from streamchi2.model import LearnerSpec, Model
from streamchi2.readings import MapReadings
from streamchi2.river.dict_rows import DictReader, frame_rows
from streamchi2.river.key_columns import KeyColumns
from streamchi2.saving import Label, Params
from streamchi2.statistics.buffer import NAMED_WIDTH, Row, as_matrix
from streamchi2.statistics.targets import Targets
from streamchi2.stream import Stream

_MODEL_PARAMS = tuple(LearnerSpec.__dataclass_fields__)


class NamedStreamEstimator(MapReadings, base.Estimator):
    """A river estimator that holds one stream of named rows, opened when the first of them comes.

    The constructor is that of learners without classes. What a row is checked for is checked before
    anything is learnt, so that a refused call leaves no trace. Reading changes nothing: everything
    that is read is that of the last end of a block, and predictions use the last solution.
    """

    _saved_fields: ClassVar[Mapping[str, Any]] = {
        "params": Params,
        "seed": int,
        "stream": Stream | None,
        "target_name": Label,
    }
    _learns: ClassVar[bool] = True  # statistics of the features, and a model from them

    n_components: Any
    norm: str | None
    basis: Any
    beta: Any
    alpha: float | str
    half_life: float | str | None
    descriptors: Mapping[str, Any] | None
    seed: int | None
    n_pca: Any
    penalty: str
    l1_ratio: float
    dof: Any
    series: Any
    n_terms: Any
    landmarks: Sequence[Mapping[Hashable, Any]] | None
    adapt: bool

    def __init__(
        self,
        n_components: Any = 1024,
        *,
        norm: str | None = None,
        basis: Any = "subspace",
        beta: Any = "auto",
        alpha: float | str = "auto",
        half_life: float | str | None = "auto",
        latest_rows: int = 64,
        descriptors: Mapping[str, Any] | None = None,
        seed: int | None = None,
        n_pca: Any = None,
        penalty: str = "ridge",
        l1_ratio: float = 0.5,
        dof: Any = 2.0,
        series: Any = "direct",
        n_terms: Any = "auto",
        landmarks: Sequence[Mapping[Hashable, Any]] | None = None,
        adapt: bool = True,
    ) -> None:
        self._start(locals())

    def _start(self, params: dict[str, Any]) -> None:
        """Store what a constructor was given, its ``locals()``, and create what else there is."""
        vars(self).update((name, value) for name, value in params.items() if name != "self")
        self._stream: Stream | None = None
        self._target_name: Any = None  # of the series of targets that was learnt last
        # Without a seed every object draws its own, once, so that its features belong together.
        self._seed: Any = secrets.randbits(31) if self.seed is None else self.seed
        self._start_caches()

    def _start_caches(self) -> None:
        self._reader = DictReader(KeyColumns(vars(self).get("descriptors")))
        # Each is replaced as a whole, so that threads that only predict may share an estimator.
        self._featurised: tuple[FeatureMap, Row, Floats] | None = None
        self._checked: tuple[Any, LearnerSpec | None] = (None, None)

    def _conclude(self) -> None:
        """Work out what is due, so that a file does not show whether somebody has read."""
        if self._stream is not None and (spec := self._learner_spec()) is not None:
            self._stream.conclude(spec)

    def __getstate__(self) -> dict[str, Any]:
        self._conclude()
        caches = {"_reader", "_featurised", "_checked"}
        return {name: value for name, value in vars(self).items() if name not in caches}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._start_caches()

    def _saved_state(self) -> dict[str, Any]:
        self._conclude()
        return {
            "params": self._get_params(),
            "seed": self._seed,
            "stream": self._stream,
            "target_name": self._target_name,
        }

    @classmethod
    def _from_saved(cls, state: dict[str, Any]) -> Self:
        estimator = cls(**state["params"])
        estimator._seed, estimator._stream = state["seed"], state["stream"]
        estimator._target_name = state["target_name"]
        return estimator

    def _lock(self) -> AbstractContextManager[Any]:
        """Return the lock of the stream, where there is one."""
        return nullcontext() if self._stream is None else self._stream.lock

    def _more_tags(self) -> set[str]:
        return {base.tags.POSITIVE_INPUT}

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"alpha"} if self._learns else set()

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learnt from, those of merged shards included."""
        return 0 if self._stream is None else self._stream.n_rows

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
        self._learn([self._reader.read(x)], [y], w)

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn from the rows of a frame, as if they came one by one.

        Parameters
        ----------
        X
            A pandas, polars or pyarrow frame without missing values; names of columns are keys.
        y
            A series of targets; of named ones a frame.
        w
            One weight for all rows, or a series of them.
        """
        rows, (targets, name) = self._read_frame(X), self._read_targets(y)
        if len(targets) != len(rows):
            raise ValueError(
                f"y must hold one target per row: got {len(targets)} targets for {len(rows)} rows"
            )
        self._learn(rows, targets, w)
        self._target_name = name

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
        self._learn([self._reader.read(x)], None, w)

    def observe_many(self, X: Any, w: Any = 1.0) -> None:
        """Learn from the rows of a frame without targets, as if they came one by one.

        Parameters
        ----------
        X
            A pandas, polars or pyarrow frame without missing values; names of columns are keys.
        w
            One weight for all rows, or a series of them.
        """
        self._learn(self._read_frame(X), None, w)

    def new_shard(self) -> Self:
        """Return an estimator with this one's map that has learnt nothing: a worker's share.

        Give each worker a shard, let it learn its part of the stream, and :meth:`merge` the shards.
        The map must have been planned for good: refused before.
        """
        stream = self._fitted_stream().shard()
        shard: Self = self.clone()
        shard._seed, shard._stream = self._seed, stream
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
            if name != "seed" and _comparable(value) != _comparable(theirs[name]):
                raise StateMismatchError(
                    f"{name} must agree to merge, got {value!r} and {theirs[name]!r}"
                )
        if other._stream is None:
            return
        seed = other._seed if self._stream is None and self.seed is None else self._seed
        if seed != other._seed:
            raise StateMismatchError(f"seed must agree to merge, got {seed} and {other._seed}")
        stream = self._new_stream(seed) if self._stream is None else self._stream
        stream.merge(other._stream, self._learner_spec())
        self._stream, self._seed = stream, seed

    # Learning

    def _learn(self, rows: Sequence[Row], targets: Sequence[Any] | None, w: Any) -> None:
        """Learn rows one after the other, after everything that may be refused has been checked."""
        if type(w) is float and len(rows) == 1 and w == 1.0:  # as almost always
            weights = [1.0]
        else:
            weights = _checked_weights(w, len(rows))
        learner = self._learner_spec()
        stream = self._new_stream(self._seed) if self._stream is None else self._stream
        with stream.lock:
            stream.refuse_torn()
            steps = self._encoded(stream.targets, targets, weights, learner)
            spec = stream.settings.spec
            assert spec is not None
            if spec.is_limited:
                spec.refuse_too_large(as_matrix(rows), lambda row, _: f" at row {row}")
            for row, (after, target, weight) in zip(rows, steps, strict=True):
                if weight == 0.0:
                    continue
                learnt, features = stream.present(), None
                if self._learns and learnt is not None:
                    features = self._features(learnt.feature_map, row)
                self._stream = stream
                stream.append(row, target, weight, features, after, learner)

    def _encoded(
        self,
        before: Targets | None,
        targets: Sequence[Any] | None,
        weights: Sequence[float],
        learner: LearnerSpec | None,
    ) -> list[tuple[Targets | None, Any, float]]:
        """Return for each row what is known of targets after it, its target, and its weight."""
        if targets is None or before is None:
            absent: Any = None
            if before is not None:
                absent = -1 if before.kind == "labels" else before.absent(1)[0]
            return [(before, absent, weight) for weight in weights]
        factors: dict[Any, float] = {}
        if learner is not None and isinstance(learner.class_weight, tuple):
            factors = dict(learner.class_weight)
        steps: list[tuple[Targets | None, Any, float]] = []
        for given, weight in zip(targets, weights, strict=True):
            target = self._checked_target(given)
            after, code = before.encode_one(target)
            after.refuse_other_kind(list(factors), "class_weight")
            if weight > 0.0:  # others are no rows, and not even their labels are new
                before = after
            factor = factors.get(target, 1.0) if factors else 1.0
            if factor == 1.0:
                steps.append((after, code, weight))
            elif factor == 0.0:  # it teaches the map alone: the row counts, without its label
                steps.append((after, -1, weight))
            else:
                (product,) = _checked_weights(weight * factor, 1, "w times class_weight")
                steps.append((after, code, product))
        return steps

    def _checked_target(self, y: Any, /) -> Any:
        """Return a target as :meth:`Targets.encode_one` takes it, or refuse it."""
        return y

    def _read_frame(self, X: Any) -> list[Row]:
        return frame_rows(into_frame(X), self._reader.keys)

    def _read_targets(self, y: Any) -> tuple[list[Any], Any]:
        """Return the targets of a batch, and the name of them all."""
        series = into_series(y)
        return series.to_list(), series.name

    def _learner_spec(self) -> LearnerSpec | None:
        """Return the parameters that decide about the model, validated where they are new."""
        given = list(map(vars(self).get, _MODEL_PARAMS))
        if self._checked[0] != given:
            self._checked = given, LearnerSpec.of(self._get_params())
        return self._checked[1]

    def _map_spec(self, seed: int) -> MapSpec:
        """Validate the parameters that decide about the map, and return them as a value."""
        params = self._get_params()
        given = params["landmarks"]
        if given is not None:
            if not isinstance(given, Sequence) or not all(isinstance(x, Mapping) for x in given):
                raise TypeError(f"landmarks must be a list of dicts, got {given!r}")
            params["landmarks"] = as_matrix([self._reader.read(x) for x in given])
        spec = MapSpec.of(params, NAMED_WIDTH, as_seed(seed), self._reader.keys.ranges())
        for name in ("n_components", "n_buckets"):
            if any(getattr(block, name) is None for block in spec.blocks):
                raise ValueError(
                    f"{name} must be a number, since named rows have no fixed width, got None"
                )
        return spec

    def _new_stream(self, seed: int) -> Stream:
        spec, by_class = self._map_spec(seed), vars(self).get("class_weight") == "balanced"
        fading = spec.shared.fading
        settings = Settings(NAMED_WIDTH, spec, fading, self._learns, by_class, row_by_row=True)
        return Stream(settings, targets=self._no_targets())

    def _no_targets(self) -> Targets | None:
        """Return what is known of targets before the first; None where there are none."""
        return None

    # Reading

    def _features(self, feature_map: FeatureMap | None, row: Row) -> Floats:
        """Return the features of a row, shape (D,), not to be written to.

        Each row is featurised alone, so that predictions change no bit of what is learnt, and only
        once: who predicts and then learns an event has its row read as the same object twice.
        """
        assert feature_map is not None
        last = self._featurised
        if last is not None and last[0] is feature_map and last[1] is row:
            return last[2]
        features: Floats = feature_map.transform_row(row.columns, row.values)
        self._featurised = feature_map, row, features
        return features

    def _fitted_stream(self) -> Stream:
        if self._stream is None:
            raise AttributeError(f"this {type(self).__name__} has no map yet: learn a row first")
        return self._stream

    def _tracker(self) -> Tracker:
        learnt = self._fitted_stream().present()
        assert learnt is not None
        assert learnt.tracker is not None
        return learnt.tracker

    def _model(self) -> Model:
        model = self._latest_model()
        if model is None:
            raise AttributeError(f"this {type(self).__name__} has no model yet: learn a row first")
        return model

    def _latest_model(self) -> Model | None:
        """Return the model of the last solution; None before the first row with a target."""
        stream, spec = self._stream, self._learner_spec()
        return None if stream is None or spec is None else stream.latest_model(spec)

    def _scores_one(self, x: dict[Hashable, Any]) -> tuple[Model | None, NDArray[np.float64]]:
        """Return the model, and the scores of a row; none before the first solution."""
        row = self._reader.read(x)  # refuses what learning would refuse
        # The model once for all: another thread may learn meanwhile.
        model = self._latest_model()
        if model is None:
            return None, np.empty(0)
        features = self._features(model.feature_map, row)
        return model, self._fitted_stream().scores_of_row(model, features)

    def _scores_many(self, X: Any) -> tuple[Any, Model | None, list[NDArray[np.float64]]]:
        """Return the frame, the model, and the scores of each row, the same bits as alone."""
        frame, rows, model = into_frame(X), self._read_frame(X), self._latest_model()
        if model is None:
            return frame, None, []
        stream, features = (
            self._fitted_stream(),
            map(partial(self._features, model.feature_map), rows),
        )
        return frame, model, [stream.scores_of_row(model, one) for one in features]


def _comparable(value: Any) -> Any:
    """Return a parameter in a form whose equality is that of what it means.

    The order of descriptors decides about columns, and files make lists of tuples.
    """
    if isinstance(value, Mapping):
        return [(name, _comparable(part)) for name, part in value.items()]
    return list(value) if isinstance(value, tuple) else value


def _checked_weights(w: Any, n_rows: int, name: str = "w") -> list[float]:
    """Return one weight per row, or refuse them."""
    given = w if np.ndim(w) == 0 else into_series(w).to_numpy()
    weights = as_weights(1.0 if given is None else given, n_rows, name=name)
    assert weights is not None
    checked: list[float] = weights.tolist()
    return checked
