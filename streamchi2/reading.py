"""A stream as it is read: pending rows included, nothing changed, each part worked out once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks import Floats
from streamchi2.feature_map import AdaptiveFeatureMap, FeatureMap, MapParams
from streamchi2.solvers.dual_ridge import GramMatrix
from streamchi2.statistics.feature_statistics import FeatureStatistics, sample_with
from streamchi2.statistics.reservoir import Reservoir
from streamchi2.statistics.row_buffer import Block, Boundaries
from streamchi2.threads import one_blas_thread

if TYPE_CHECKING:
    from streamchi2.stream import Stream

Result = TypeVar("Result")
LaterSample: TypeAlias = Callable[[], Reservoir] | None

_FEWEST_ROWS = 16  # featurised together: fewer cost more than featurising some of them again


class PendingFeatures:
    """Features of pending rows, kept from one reading to the next and until they are learnt.

    Where bits depend on which rows are featurised together, chunks end at absolute positions of the
    stream, those at which models are solved among them: so bits are the same whenever it was done,
    and from 128 rows on a stream that is read at those positions featurises each row once.
    """

    def __init__(self) -> None:
        self._known: tuple[FeatureMap | None, int, Floats] = (None, 0, np.empty((0, 0)))

    def of(self, feature_map: FeatureMap, block: Block, n_jobs: int | None) -> Floats:
        """Return the features of a block, rows or complete chunks of which are known."""
        known_map, start, known = self._known
        if start != block.start or not (known_map is feature_map or known_map == feature_map):
            known = np.empty((0, feature_map.n_components))
        n_rows = block.stop - block.start
        n_known = min(known.shape[0], n_rows)
        ends = None
        if not feature_map.is_rowwise:
            ends = _chunk_ends(block.start, block.stop, feature_map.block_rows)
            # An incomplete chunk may round otherwise.
            n_known = max((end for end in ends if end <= n_known), default=0)
            ends = [end - n_known for end in ends if end > n_known]
        if n_known == n_rows:
            return known[:n_rows]
        rows = block.rows[n_known:] if n_known else block.rows
        rest = feature_map.transform(rows, n_jobs=n_jobs, ends=ends)
        features = rest if n_known == 0 else np.concatenate([known[:n_known], rest])
        self._known = (feature_map, block.start, features)
        return features


def _chunk_ends(start: int, stop: int, longest: int) -> list[int]:
    """Return where chunks of the rows from ``start`` to ``stop`` end, counted from ``start``."""
    boundaries, ends = Boundaries.growing(longest), [start]
    while ends[-1] < stop:
        growing = boundaries.after(ends[-1])
        ends.append(min(stop, -(-growing // _FEWEST_ROWS) * _FEWEST_ROWS))
    return [end - start for end in ends[1:]]


class Reading:
    """A stream as of one moment, pending rows included, each part worked out once.

    It lives in its own object, so that reading changes nothing in the estimator, and may happen in
    one thread while another learns.

    Parameters
    ----------
    stream : Stream
        What is read.
    copy : bool, default=True
        Whether statistics are copied. Without it the reading is void when the stream goes on.
    """

    def __init__(self, stream: Stream, *, copy: bool = True) -> None:
        self._stream = stream
        self._copy = copy
        self._lock = threading.RLock()
        self._results: dict[Hashable, Any] = {}
        self._capture()

    def _capture(self) -> None:
        stream = self._stream
        with stream.lock:
            self.version = stream.version
            self.targets = stream.targets
            self.n_rows = stream.n_rows
            self._adaptive = stream.feature_map
            self._pending = stream.buffer.pending
        self._results.clear()
        # The last model, and the parameters that were given for it: see MapRegression.
        self.last_model: tuple[tuple[Any, ...], Any] | None = None

    def result(self, key: Hashable, work: Callable[[], Result]) -> Result:
        """Return what ``work`` returns, called once whichever thread asks first."""
        with self._lock:
            if key not in self._results:
                self._results[key] = work()
            found: Result = self._results[key]
            return found

    def known_result(self, key: Hashable) -> Any:
        """Return a result that :meth:`result` has worked out before, or None."""
        return self._results.get(key)

    @property
    def inputs(self) -> AdaptiveFeatureMap:
        """The map with histograms and samples, pending rows included."""
        return self.result("inputs", self._inputs)

    def _inputs(self) -> AdaptiveFeatureMap:
        assert self._adaptive is not None
        pending, adaptive = self._pending, self._adaptive
        if pending is None:
            return adaptive
        planned = self._stream.provisional(adaptive, pending)
        if planned is not None:  # on the first of these rows
            if pending.stop == planned.n_rows:
                return planned
            adaptive, pending = planned, pending.part(planned.n_rows, pending.stop)
        adaptive = adaptive.copy()
        adaptive.absorb(pending.rows, pending.weights)
        return adaptive

    @property
    def feature_map(self) -> FeatureMap:
        """The map in use; before the first rows are complete, planned on those there are."""
        assert self._adaptive is not None
        known = self._adaptive.feature_map
        if known is None and self._pending is not None:
            known = self._stream.provisional_map(self._adaptive, self._pending)
        feature_map = self.inputs.feature_map if known is None else known
        assert feature_map is not None
        return feature_map

    @property
    def map_params(self) -> MapParams:
        """The parameters of the map."""
        assert self._adaptive is not None
        return self._adaptive.params

    @property
    def has_map(self) -> bool:
        """Whether rows are featurised by a map."""
        return self._adaptive is not None

    @property
    def statistics(self) -> FeatureStatistics:
        """Statistics of all rows; where some are pending, without a sample."""
        return self.statistics_and_sample[0]

    @property
    def statistics_and_sample(self) -> tuple[FeatureStatistics, LaterSample]:
        """Statistics of all rows, and what works out their sample, for which few models ask."""
        return self.result("statistics", self._statistics)

    def _statistics(self) -> tuple[FeatureStatistics, LaterSample]:
        stream = self._stream
        with stream.lock, one_blas_thread:
            if stream.version != self.version:
                self._capture()  # another thread has learnt: read what there is now
            known, pending = stream.statistics, self._pending
            statistics = known
            if known is not None and (self._copy or pending is not None):
                statistics = known.copy()
            if pending is None:
                planned = None if self._adaptive is None else self._adaptive.feature_map
                if statistics is None:
                    statistics = stream.new_statistics(stream.n_features, planned)
                known_sample = statistics.sample
                return statistics, None if known_sample is None else lambda: known_sample
            feature_map = self.feature_map if self.has_map else None
            features = (
                pending.rows
                if feature_map is None
                else stream.pending_cache.of(feature_map, pending, stream.n_jobs)
            )
            if statistics is None:
                statistics = stream.new_statistics(features.shape[1], feature_map)
            later = None
            if statistics.sample is not None:
                sampled = pending.rows, pending.targets, pending.weights
                later = partial(sample_with, statistics.sample, *sampled)
            statistics.absorbing(
                features, pending.rows, pending.targets, pending.weights, sampled=False
            ).finish()
            return statistics, later

    def gram(self) -> tuple[NDArray[np.float64], NDArray[np.float64], GramMatrix]:
        """Return the features of all rows, which must be kept, and their shifted Gram matrix.

        Both are views of a cache that is returned too, good while :attr:`lock` is held.
        """
        statistics = self.statistics
        planned = self._adaptive is None or self._adaptive.feature_map is not None
        # Under a provisional map all features change with the map.
        token = None if planned else self.feature_map
        cache = self._stream.gram_cache
        with self.lock:
            return *cache.of([block.features for block in statistics.kept], token), cache

    @property
    def lock(self) -> threading.RLock:
        """The lock of the stream."""
        return self._stream.lock

    def forget_statistics(self) -> None:
        """Let go of the copied statistics, D x D numbers; they are copied again when needed."""
        with self._lock:
            self._results.pop("statistics", None)
