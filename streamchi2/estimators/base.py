"""Base classes: estimators that hold one stream, and those whose stream has a feature map."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from streamchi2.checks import (
    Floats,
    Rows,
    as_estimator_features,
    as_estimator_rows,
    as_half_life,
    as_weights,
    check_named_alike,
    columns_of,
    refuse_huge,
)
from streamchi2.errors import StateMismatchError
from streamchi2.estimators.descriptors import names_of, resolved_columns, same_descriptors
from streamchi2.estimators.facts import FittedFacts, facts_as_html
from streamchi2.estimators.fit_stream import FitStream
from streamchi2.estimators.map_params import landmarks_differ, map_params, n_pca_of_each
from streamchi2.estimators.map_readings import MapReadings
from streamchi2.estimators.saved_params import ConstructorParams
from streamchi2.feature_map import AdaptiveFeatureMap, MapParams
from streamchi2.model import Components, ModelParams, components_of
from streamchi2.reading import Reading
from streamchi2.runtime.warnings import deferred_warnings
from streamchi2.solvers.components import check_n_pca
from streamchi2.state import Kind, Maybe, Object, Param, Saved, refuse_undeclared, require
from streamchi2.statistics.feature_statistics import chosen
from streamchi2.statistics.targets import ClassTargets, NumericTargets
from streamchi2.stream import Stream
from streamchi2.threads import deferred_interrupts, n_workers

# From what is known of the targets, the number of rows and which of them have weight to what is
# known after a batch, and the batch as an array.
TargetBatch = Callable[
    [ClassTargets | NumericTargets | None, int, NDArray[np.bool_] | None],
    tuple[ClassTargets | NumericTargets, NDArray[Any]],
]


_OUTPUTS = (None, "default", "pandas", "polars")  # what scikit-learn's set_output knows


class StreamEstimator(FitStream, FittedFacts, Saved, BaseEstimator):
    """An estimator that holds a stream and reads its results from it.

    Nothing else is fitted: what is read is worked out from the stream when it is first asked for,
    and kept in the reading of the stream, so that reading changes nothing here.
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "params": ConstructorParams(),
        "output": Param(),
        "stream": Maybe(Object((Stream,))),
    }
    # What the stream of this kind of estimator learns.
    _targets_kind: ClassVar[Any] = None  # a class, or several
    _has_map: ClassVar[bool] = False
    _learns: ClassVar[bool] = True  # statistics of the features

    half_life: float | None
    _stream: Stream

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X."""
        return self._fitted_stream("n_features_in_").n_features

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns of X, where it has names."""
        names = self._fitted_stream("feature_names_in_").names
        if names is None:
            raise AttributeError("feature_names_in_ needs X to have names of columns")
        return names

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learnt from, those of merged shards included."""
        return self._fitted_stream("n_samples_seen_").n_rows

    def _fitted_stream(self, name: str) -> Stream:
        stream: Stream | None = vars(self).get("_stream")
        if stream is None:
            raise AttributeError(f"{name} belongs to a fitted {type(self).__name__}")
        return stream

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """Scikit-learn's diagram, which ``set_config(display=)`` switches off, and what is fitted.

        Inside a property of its own, as there: where it is off there is no such attribute.
        """
        diagram = super()._repr_html_
        return lambda: diagram() + facts_as_html(self)

    def _get_fitted_attr_html(self, doc_link: str = "") -> dict[str, Any]:
        """Keep scikit-learn's diagram from reading every attribute, which would solve the model."""
        return {}

    def __dir__(self) -> list[str]:
        """List attributes without reading them: scikit-learn's own reads all, at every Tab key."""
        properties = {
            name
            for base in type(self).__mro__
            for name, thing in vars(base).items()
            if isinstance(thing, property)
        }
        names = object.__dir__(self)
        # Methods that depend on parameters (set_output, say) are looked at as there.
        return [name for name in names if name in properties or hasattr(self, name)]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown:
            shown["text/html"] += facts_as_html(self)
        return shown

    def __sklearn_is_fitted__(self) -> bool:
        return "_stream" in vars(self)

    @property
    def _reading(self) -> Reading:
        if "_stream" not in vars(self):
            check_is_fitted(self)  # which asks for tags first, a tenth of the time of a row
        return self._stream.reading()

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has learnt; ``other`` is untouched.

        An estimator that has learnt nothing is the identity. Two that have seen parts of a stream
        become, up to rounding, what one pass over both parts would have given; where there is a
        feature map, it must differ by transport alone (see ``new_shard``).

        Parameters
        ----------
        other : estimator of the same class
            With the same parameters and columns.

        Returns
        -------
        Self
            This estimator.
        """
        if type(other) is not type(self):
            raise TypeError(f"other must be a {type(self).__name__}, got {type(other).__name__}")
        theirs = other.get_params(deep=False)
        for name, mine in self.get_params(deep=False).items():
            if self._differs(name, mine, theirs[name]):
                raise StateMismatchError(
                    f"{name} must agree to merge, got {mine!r} and {theirs[name]!r}"
                )
        if not other.__sklearn_is_fitted__():
            return self
        with deferred_interrupts():
            if self.__sklearn_is_fitted__():
                self._stream.merge(other._stream)
            else:
                self._stream = other._stream.copy()
        return self

    def _differs(self, name: str, mine: Any, theirs: Any) -> bool:
        """Tell whether two values of a constructor parameter forbid a merge."""
        if name == "n_jobs":
            return False
        if name == "random_state":  # others were drawn from; the maps know what came of it
            return isinstance(mine, Integral) and isinstance(theirs, Integral) and mine != theirs
        if name == "landmarks":
            return landmarks_differ(mine, theirs)
        if name == "descriptors":
            return not same_descriptors(mine, theirs)
        return bool(mine != theirs)

    def _learn_rows(
        self,
        X: Any,
        sample_weight: ArrayLike | None,
        targets: TargetBatch | None = None,
        *,
        first: bool | None,
    ) -> Self:
        """Validate a batch, then learn it: all of it, none of it or, after Ctrl-C, whole blocks.

        ``first`` is whether everything before is forgotten; None where it goes on with what there
        is, if anything.
        """
        # Asked once: another thread may learn a first batch at any time.
        fresh = not self.__sklearn_is_fitted__()
        first = fresh if first is None else first
        rows = self._validated(X, first=first)
        n_rows = int(rows.shape[0])
        weights = as_weights(sample_weight, n_rows)
        heavy = None if weights is None or weights.all() else weights > 0.0
        if first and heavy is not None and not heavy.any():
            raise ValueError(
                "sample_weight must not be zero for every row of the first batch, got "
                f"{n_rows} such rows, which are as good as none; begin with a batch that holds a "
                "row of positive weight"
            )
        self._check_params(X, int(rows.shape[1]), first=first)
        if first:
            known, batch = (None, None) if targets is None else targets(None, n_rows, heavy)
            stream = self._new_stream(int(rows.shape[1]), X, known)
        else:
            stream = self._stream
        if stream.feature_map is not None:
            stream.feature_map.params.refuse_too_large(rows)
        # Warnings come last: made errors by a filter, they must find a state that is whole.
        with deferred_warnings(), stream.lock:
            if not first and targets is not None:
                known, batch = targets(stream.targets, n_rows, heavy)
            elif not first:
                known, batch = stream.targets, None
            if heavy is not None:  # a weight of zero is as good as no row
                rows, weights = chosen(rows, heavy), chosen(weights, heavy)
                batch = chosen(batch, heavy)
            stream.n_jobs = getattr(self, "n_jobs", None)
            stream.update(rows, batch, weights, known)
            # One step, since before its first batch an estimator has no stream with a lock.
            if fresh and self.__dict__.setdefault("_stream", stream) is not stream:
                raise RuntimeError(
                    "another thread has learnt a first batch meanwhile, and this batch was not "
                    "learnt; give it again, or let one thread learn the first batch alone"
                )
            self._stream = stream
        return self

    def get_state(self) -> dict[str, Any]:
        """Return the constructor's parameters and the stream: all that is saved."""
        refuse_undeclared(self, (*self._get_param_names(), "_sklearn_output_config", "_stream"))
        output = vars(self).get("_sklearn_output_config", {}).get("transform")
        stream = vars(self).get("_stream")
        return {"params": self.get_params(deep=False), "output": output, "stream": stream}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return an estimator with these parameters and this stream."""
        known = cls._get_param_names()
        if sorted(state["params"]) != sorted(known):
            raise ValueError(f"parameters must be {sorted(known)}, got {sorted(state['params'])}")
        estimator = cls(**state["params"])
        if state["output"] not in _OUTPUTS:
            raise ValueError(f"output must be one of {_OUTPUTS}, got {state['output']!r}")
        if state["output"] is not None:
            estimator.set_output(transform=state["output"])
        if state["stream"] is not None:
            estimator._stream = state["stream"]
        return estimator

    def validate(self) -> None:
        """Require a stream of the kind that this estimator has."""
        if not self.__sklearn_is_fitted__():
            return
        stream = self._stream
        kinds = self._targets_kind or type(None)
        kinds = kinds if isinstance(kinds, tuple) else (kinds,)
        names = " or ".join(kind.__name__ for kind in kinds)
        require(type(stream.targets) in kinds, f"targets must be {names}")
        require((stream.feature_map is not None) == self._has_map, "a stream with another map")
        require(stream.learns == self._learns, "a stream of another kind of estimator")

    def standing_still(self) -> AbstractContextManager[Any]:
        """Return the lock of the stream, where there is one."""
        return self._stream.lock if self.__sklearn_is_fitted__() else nullcontext()

    def _new_stream(
        self, n_features: int, X: Any, targets: ClassTargets | NumericTargets | None
    ) -> Stream:
        """Return an empty stream under the present parameters."""
        _, names = columns_of(X)
        half_life = self._checked_half_life()
        return Stream(n_features, names=names, targets=targets, half_life=half_life)

    def _validated(self, X: Any, *, first: bool) -> Floats | Rows:
        features = as_estimator_features(self, X, reset=first)
        refuse_huge(features, name="X")
        return features

    def _check_params(self, X: Any, n_features: int, *, first: bool) -> None:
        """Refuse parameters that are wrong, or that were changed in the middle of a stream."""
        present = self._checked_half_life()
        if not first and present != self._stream.half_life:
            self._refuse_change("half_life", present, self._stream.half_life)

    def _checked_half_life(self) -> float | None:
        return None if self.half_life is None else as_half_life(self.half_life)

    @staticmethod
    def _refuse_change(name: str, now: Any, before: Any) -> None:
        raise ValueError(
            f"{name} must not change between calls of partial_fit, got {now!r} after {before!r}; "
            "use fit, or a clone, to start afresh"
        )


class MapEstimator(MapReadings, StreamEstimator):
    """An estimator whose stream has a feature map.

    With several descriptors every reading of the map is a dict from their names to what it is for
    each.
    """

    random_state: Any
    n_jobs: int | None
    landmarks: Any
    descriptors: Mapping[str, Any] | None = None
    _has_map = True

    @property
    def descriptor_columns_(self) -> dict[str, list[int]]:
        """Columns of X that each descriptor reads."""
        found = self._params_of_map("descriptor_columns_").descriptors
        if found is None:
            raise AttributeError("descriptor_columns_ needs descriptors, got None")
        return {name: list(columns) for name, columns in found.items()}

    def _params_of_map(self, name: str) -> MapParams:
        adaptive = self._fitted_stream(name).feature_map
        assert adaptive is not None
        return adaptive.params

    def new_shard(self) -> Self:
        """Return an estimator with this one's map that has learnt nothing: a worker's share.

        Give each worker a shard, let it learn its part of the stream, and :meth:`merge` the
        shards: the result is that of one pass. The map must have been planned: refused before.
        """
        check_is_fitted(self)
        if not self._stream.is_planned:
            n_first = self._stream.next_stop
            raise ValueError(
                f"new_shard needs a map to share, which is planned on the first {n_first} rows of "
                f"a stream, got {self._stream.n_rows}; learn from more rows first"
            )
        return self._empty_shard()

    def _empty_shard(self) -> Self:
        """Return a shard with the present map, final or not: of few rows there is no other."""
        shard: Self = clone(self)
        shard._stream = self._stream.new_shard(self._reading.feature_map)
        return shard

    def _new_stream(
        self, n_features: int, X: Any, targets: ClassTargets | NumericTargets | None
    ) -> Stream:
        _, names = columns_of(X)
        # Checked once before the draw: a refusal must not advance a shared random state.
        params = self._map_params(n_features, 0, X)
        return Stream(
            n_features,
            names=names,
            feature_map=AdaptiveFeatureMap(params.with_seed(drawn_seed(self.random_state))),
            targets=targets,
            learns=self._learns,
        )

    def _map_params(
        self, n_features: int, seed: int, X: Any = None, known: MapParams | None = None
    ) -> MapParams:
        """Validate all parameters that decide about the map, and return them as a value.

        ``X`` is a first batch as the user gave it, ``known`` the parameters of an earlier call.
        """
        columns = None
        if self.descriptors is not None:
            names = getattr(self, "feature_names_in_", None) if X is None else names_of(X)

            def selected(name: str, selector: Any) -> Any:
                # A selector may look at values and dtypes: it is asked once, about the first batch.
                return self.descriptor_columns_.get(name, ()) if X is None else selector(X)

            columns = resolved_columns(self.descriptors, n_features, names, selected)
        return map_params(self.get_params(deep=False), n_features, seed, columns, known)

    def _validated(self, X: Any, *, first: bool) -> Rows:
        return as_estimator_rows(self, X, reset=first)

    def _check_params(self, X: Any, n_features: int, *, first: bool) -> None:
        n_workers(self.n_jobs)
        if first:
            check_named_alike(self.landmarks, X, name="landmarks")
            self._map_params(n_features, 0, X)
            return
        before = self._params_of_map("half_life")
        seed = before.seed
        check_random_state(self.random_state)  # refuses nonsense, draws nothing
        if isinstance(self.random_state, Integral):
            seed = drawn_seed(self.random_state)
        present = self._map_params(before.n_features, seed, known=before)
        if (difference := present.first_difference(before)) is not None:
            self._refuse_change(*difference)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        return tags


class ComponentsEstimator(MapEstimator):
    """A map estimator that may take principal components of its features."""

    n_pca: Any

    def _n_pca(self) -> Any:
        """Return how many components, of each descriptor where there are some, or refuse."""
        if self.descriptors is not None:
            return n_pca_of_each(self.n_pca, tuple(self.descriptors))
        check_n_pca(self.n_pca)
        return self.n_pca

    def _model_params(self) -> ModelParams:
        """Validate the parameters that decide how statistics become a model, and return them."""
        return ModelParams(self._n_pca())

    def _check_params(self, X: Any, n_features: int, *, first: bool) -> None:
        super()._check_params(X, n_features, first=first)
        self._model_params()

    def _components(self) -> Components:
        """Return principal components of all features seen."""
        reading, n_pca = self._reading, self._n_pca()

        def work() -> Components:
            found = components_of(reading.statistics, n_pca, reading.feature_map)
            reading.forget_statistics()
            return found

        return reading.result(("components", n_pca), work)

    def _named(self, values: tuple[Any, ...]) -> Any:
        """Return what there is for each descriptor under its name, or the only one as it is."""
        names = self._params_of_map("descriptors").names
        return values[0] if names is None else dict(zip(names, values, strict=True))

    @property
    def explained_variance_ratio_(self) -> Any:
        """With ``n_pca``: share of the features' variance that each principal component holds.

        With several descriptors, of each by itself: a dict.
        """
        check_is_fitted(self)
        if self.n_pca is None:
            raise AttributeError("explained_variance_ratio_ needs n_pca, got None")
        return self._named(self._components().variance_shares)


def drawn_seed(random_state: Any) -> int:
    """Return a seed, drawn from the random state that a user has given."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
