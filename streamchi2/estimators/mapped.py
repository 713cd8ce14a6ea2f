"""Base classes of the estimators whose stream has a feature map."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from streamchi2.checks.rows import Rows, as_estimator_rows, check_named_alike
from streamchi2.estimators.base import StreamEstimator, names_of, refuse_change
from streamchi2.estimators.descriptors import resolved_columns
from streamchi2.features import MapSpec
from streamchi2.learnt import Settings
from streamchi2.readings import ComponentReadings, MapReadings
from streamchi2.statistics.targets import Targets
from streamchi2.stream import Stream
from streamchi2.threads import n_workers


class MapEstimator(MapReadings, StreamEstimator):
    """An estimator whose stream has a feature map."""

    random_state: Any
    n_jobs: int | None
    landmarks: Any
    descriptors: Mapping[str, Any] | None = None
    descriptor_columns_: Any
    _learns = True  # statistics of the features

    def new_shard(self) -> Self:
        """Return an estimator with this one's map that has learnt nothing: a worker's share.

        Give each worker a shard, let it learn its part of the stream, and :meth:`merge` the
        shards: the result is that of one pass. The map must have been planned: refused before.
        """
        stream = self._fitted_stream().shard()
        shard: Self = clone(self)
        shard._stream = stream
        return shard

    def _tracker(self) -> Any:
        stream = self._fitted_stream()
        return stream.cached("tracker", lambda: stream.settled().tracker)

    def _new_stream(self, X: Any, n_features: int, targets: Targets | None) -> Stream:
        check_named_alike(self.landmarks, X, name="landmarks")
        # Checked once before the draw: a refusal must not advance a shared random state.
        spec = self._map_spec(n_features, 0, X)
        seeded = spec.with_seed(drawn_seed(self.random_state))
        by_class = self._is_balanced()
        settings = Settings(n_features, seeded, spec.shared.fading, self._learns, by_class)
        return Stream(settings, names_of(X), targets)

    def _refuse_changes(self, stream: Stream) -> None:
        before: Any = stream.spec
        seed = before.shared.seed
        if isinstance(self.random_state, Integral):
            seed = drawn_seed(self.random_state)
        else:
            check_random_state(self.random_state)  # refuses nonsense, draws nothing
        difference = self._map_spec(stream.n_features, seed).difference(before)
        if difference is not None:
            refuse_change(*difference)

    def _map_spec(self, n_features: int, seed: int, X: Any = None) -> MapSpec:
        """Return the checked parameters of the map; ``X`` is a first batch, None a later one."""
        n_workers(self.n_jobs)
        columns = None
        if self.descriptors is not None:
            names = self._stream.names if X is None else names_of(X)

            def chosen(name: str, selector: Any) -> Any:
                # A selector may look at values and dtypes: it is asked once, about the first batch.
                return self.descriptor_columns_.get(name, ()) if X is None else selector(X)

            columns = resolved_columns(self.descriptors, n_features, names, chosen)
        return MapSpec.of(self.get_params(deep=False), n_features, seed, columns)

    def _checked_rows(self, X: Any, *, reset: bool) -> Rows:
        return as_estimator_rows(self, X, reset=reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        return tags


class MapLearner(ComponentReadings, MapEstimator):
    """A map estimator that learns from the features, of several descriptors if there are some."""

    n_pca: Any

    @property
    def descriptor_columns_(self) -> dict[str, list[int]]:
        """Columns of X that each descriptor reads."""
        spec: Any = self._fitted_stream().spec
        columns = spec.descriptors
        if columns is None:
            raise AttributeError("descriptor_columns_ needs descriptors, got None")
        return {name: list(own) for name, own in columns.items()}


def drawn_seed(random_state: Any) -> int:
    """Return a seed, drawn from the random state that a user has given."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
