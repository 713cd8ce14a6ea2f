"""One stream of rows: its feature map, its statistics, its pending rows and its provenance.

Every estimator holds one. A stream is fed in blocks that end at absolute positions, so that nothing
depends on how rows were cut into batches; reading it includes the pending rows and changes nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.checks import Floats, Rows
from streamchi2.errors import StateMismatchError
from streamchi2.feature_map import AdaptiveFeatureMap, FeatureMap
from streamchi2.provenance import Provenance, ProvenanceKind, merged_provenance
from streamchi2.reading import PendingFeatures, Reading
from streamchi2.runtime.warnings import deferred_warnings
from streamchi2.solvers.dual_ridge import GramMatrix
from streamchi2.state import Bool, Float, Int, JsonList, Kind, Maybe, Object, Saved, require
from streamchi2.statistics.change import Change, Step
from streamchi2.statistics.feature_statistics import FeatureStatistics
from streamchi2.statistics.row_buffer import Block, Boundaries, Row, RowBuffer
from streamchi2.statistics.targets import (
    ClassTargets,
    IndicatorTargets,
    NumericTargets,
)
from streamchi2.threads import checkpoint, deferred_interrupts, one_blas_thread

LONGEST_BLOCK = 1024
_MOST_EQUAL_ROWS = 1024  # a map is planned on so many even if they are all equal


def _kept_rows(n_features: int) -> int:
    """Return up to how many rows features are kept: an eighth more than there are features.

    Where rows are about as many as features, moments alone may mistake the best penalty. On a
    stream of mail with 1024 features accuracy fell from .90 at 1023 rows to .82 at 1024.
    """
    return n_features + n_features // 8


class Stream(Saved):
    """A stream of rows and all that is remembered of it.

    Laws: any cutting of the same rows into updates gives the same state, bit for bit; merging
    shards that share a map equals one pass; a failed update leaves whole blocks; reading includes
    the pending rows and changes nothing.

    Parameters
    ----------
    n_features : int
        Width of the rows.
    names : ndarray of str or None, default=None
        Names of the columns.
    feature_map : AdaptiveFeatureMap or None, default=None
        An empty map; None where the rows themselves are the features.
    targets : ClassTargets, NumericTargets or None, default=None
        What is learnt beside the features.
    learns : bool, default=True
        Whether statistics of the features are kept at all.
    half_life : float or None, default=None
        Rows after which a row counts half; that of the map where there is one.
    longest : int or None, default=None
        Most rows of a block where blocks end at growing steps; None where they do not.

    Notes
    -----
    One lock covers updates, merges and readings: a thread that reads sees the state between two
    calls, never inside one, and what it has read is its own copy. Ctrl-C and other signals wait for
    the end of a block. What memory may be lacking for is done before a block changes anything; a
    change that fails all the same is finished before the stream is used again. Learning runs on
    one BLAS thread, because sums depend on how many threads share them.
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "n_features": Int(1),
        "names": Maybe(JsonList()),
        "feature_map": Maybe(Object((AdaptiveFeatureMap,))),
        "targets": Maybe(Object((ClassTargets, NumericTargets, IndicatorTargets))),
        "learns": Bool(),
        "half_life": Maybe(Float(0.0)),
        "longest": Maybe(Int(1, LONGEST_BLOCK)),
        "statistics": Maybe(Object((FeatureStatistics,))),
        "buffer": Object((RowBuffer,)),
        "provenance": ProvenanceKind(),
    }

    def __init__(
        self,
        n_features: int,
        *,
        names: NDArray[Any] | None = None,
        feature_map: AdaptiveFeatureMap | None = None,
        targets: ClassTargets | NumericTargets | None = None,
        learns: bool = True,
        half_life: float | None = None,
        longest: int | None = None,
    ) -> None:
        self.n_features = n_features
        self.names = names
        self.feature_map = feature_map
        self.targets = targets
        self.learns = learns
        self.half_life = half_life if feature_map is None else feature_map.params.half_life
        self.longest = longest
        self.statistics: FeatureStatistics | None = None  # made with the map
        self.provenance: Provenance = {}
        self.buffer = RowBuffer(self._boundaries())
        self._start()

    def _start(self) -> None:
        """Create what is no state: the lock, caches, and how many threads to use."""
        self.lock = threading.RLock()
        self.version = 0  # grows with every change
        self.n_jobs: int | None = None
        # Before the map is planned: whether maps of the first 1, 4, 16, ... rows serve meanwhile,
        # as a model that is solved at every step needs, or maps of all rows while they are few.
        self.stepwise = False
        self._few: tuple[int, FeatureMap] | None = None
        # The empty map, and what was planned of it, or None where its first rows are all equal.
        self._provisional: tuple[AdaptiveFeatureMap, AdaptiveFeatureMap | None] | None = None
        self._reading: Reading | None = None
        self._unfinished: Change | None = None  # that failed for lack of memory
        self.pending_cache = PendingFeatures()
        self.gram_cache = GramMatrix()

    @property
    def n_rows(self) -> int:
        """Number of rows seen, pending and merged ones included."""
        if self._unfinished is not None:
            with one_blas_thread:  # as where it was begun: sums depend on it
                self.finish()
        return self.buffer.stop

    @property
    def is_planned(self) -> bool:
        """Whether rows can be featurised for good: there is a map, or none is needed."""
        return self.feature_map is None or self.feature_map.feature_map is not None

    @property
    def next_stop(self) -> int:
        """The position at which the pending rows become a block."""
        return self.buffer.boundaries.after(self.buffer.position)

    def _boundaries(
        self, n_pending: int = 0, adaptive: AdaptiveFeatureMap | None = None
    ) -> Boundaries:
        """Return where blocks end; growing steps begin where the dual form ends."""
        adaptive = self.feature_map if adaptive is None else adaptive
        if adaptive is None:
            return Boundaries()
        schedule = adaptive.schedule
        if adaptive.feature_map is None and n_pending >= schedule.first_rows:
            # Rows that are all equal say nothing about a map: it is planned on twice as many.
            doublings = (n_pending // schedule.first_rows).bit_length()
            schedule = replace(schedule, first_rows=schedule.first_rows << doublings)
        longest = self.longest
        dual_rows = self._dual_rows(adaptive.feature_map)
        if longest is None or not dual_rows:
            return Boundaries(schedule.positions, schedule.periods)
        if schedule.half_life is not None:
            longest = min(longest, 1 << max(0, int(schedule.half_life / 8).bit_length() - 1))
        return Boundaries(schedule.positions, schedule.periods, dual_rows, longest)

    @property
    def dual_rows(self) -> int:
        """Rows up to which features are kept for the dual form; 0 where they are not."""
        return self._dual_rows(None if self.feature_map is None else self.feature_map.feature_map)

    def _dual_rows(self, feature_map: FeatureMap | None) -> int:
        adaptive = self.feature_map
        if not self.learns or self.targets is None:
            return 0
        if adaptive is None:
            return _kept_rows(self.n_features)
        known = adaptive.n_components if feature_map is None else feature_map.n_components
        return 0 if known is None else max(_kept_rows(known), adaptive.params.first_rows)

    def update(
        self,
        rows: Rows,
        targets: NDArray[Any] | None = None,
        weights: NDArray[np.float64] | None = None,
        known: ClassTargets | NumericTargets | None = None,
    ) -> Self:
        """Take in rows of positive weight that have already been validated.

        ``known`` is what is known of the targets with this batch, by default what was known.

        Where a block fails or Ctrl-C comes, the blocks before it have been learnt, the rows that
        were pending before still are, and the rest of the batch has not been seen.
        """
        # Warnings are not deferred: where a filter makes errors of them the block is not learnt.
        with self.lock, deferred_interrupts():
            n_before = self.n_rows
            before, boundaries = self.targets, self.buffer.boundaries
            arrived = Block(n_before, rows, targets, weights)
            self.targets = known or before
            try:
                while (split := self.buffer.split(arrived)) is not None:
                    checkpoint()
                    block, rest = split
                    if self._must_wait(block):
                        self.buffer.boundaries = self._boundaries(block.stop - block.start)
                        continue
                    self.learn_block(block)
                    arrived = rest
                self.buffer.hold(arrived)
            except BaseException:
                if self.n_rows == n_before:  # nothing of the batch was learnt
                    self.targets, self.buffer.boundaries = before, boundaries
                raise
            self._changed()
        return self

    def set_targets(self, targets: ClassTargets | NumericTargets | None) -> None:
        """Replace what is known of the targets; where names came or went, rows get their columns.

        A label that is new has been absent from all rows so far.
        """
        before = self.targets
        if targets is before or targets == before:
            return
        values: dict[str, Any] = {"targets": targets}
        steps: tuple[Step, ...] = ()
        with self.lock:
            self.finish()
            if isinstance(targets, NumericTargets) and isinstance(before, NumericTargets):
                values["buffer"] = self.buffer.aligned(before, targets)
                values |= {"version": self.version + 1, "_reading": None}
                if self.statistics is not None:
                    steps = (self.statistics.aligning(before, targets),)
            self._unfinished = Change(self, values, steps)
            self.finish()

    def append_block(self, block: Block) -> None:
        """Add rows that complete no block."""
        self.buffer.hold(block)
        self._changed()

    def append(self, row: Row, target: Any, weight: float) -> None:
        """Add one row with named columns that completes no block."""
        self.buffer.append(row, target, weight)
        self._changed()

    def learn_block(self, block: Block, features: Floats | None = None) -> None:
        """Learn the next block, which begins where the last one ended.

        ``features`` are those of the block under the present map, where they are known already.
        """
        with one_blas_thread:
            if self._unfinished is not None:
                self.finish()
            adaptive, feature_map = self.feature_map, None
            steps: list[Step] = []
            values: dict[str, Any] = {"_few": None, "_provisional": None, "_reading": None}
            if adaptive is not None:
                # All that may fail works on copies, which share what is large.
                adaptive = adaptive.copy()
                feature_map = adaptive.absorb(block.rows, block.weights)
                adaptive.adapt(block.stop)
            if self.learns:
                if features is None:
                    features = (
                        block.rows
                        if feature_map is None
                        else self.pending_cache.of(feature_map, block, self.n_jobs)
                    )
                statistics = self.statistics
                if statistics is None:
                    statistics = self.new_statistics(features.shape[1], feature_map)
                steps.append(
                    statistics.absorbing(features, block.rows, block.targets, block.weights)
                )
                if not statistics.is_dual or block.stop >= statistics.dual_rows:
                    values["gram_cache"] = GramMatrix()
                values["statistics"] = statistics
            steps.append(self.buffer.moving(block.stop, self._boundaries(0, adaptive)))
            values |= {"feature_map": adaptive, "version": self.version + 1}
            # Written down first: what is begun can be finished.
            self._unfinished = Change(self, values, tuple(steps))
            self.finish()

    def finish(self) -> None:
        """Finish a change of state, or make up for one that failed."""
        with self.lock:
            change = self._unfinished
            if change is None:
                return
            try:
                change.finish()
            except BaseException:
                change.finish()  # goes on where it failed; otherwise the next call does
                self._unfinished = None
                raise
            self._unfinished = None

    def new_statistics(self, n_features: int, feature_map: FeatureMap | None) -> FeatureStatistics:
        """Return statistics of no rows, of that many features."""
        sizes: tuple[int, ...] = (n_features,) if feature_map is None else feature_map.sizes
        seed, targets = None, self.targets
        # Scores become probabilities by a sample of the rows.
        if self.feature_map is not None and targets is not None and targets.have_probabilities:
            # Another seed than that of the measured kernel error, or both keep the same rows.
            seed = self.feature_map.params.seed + 1
        return FeatureStatistics(
            sizes,
            None if targets is None else targets.n_targets,
            half_life=self.half_life,
            dual_rows=self._dual_rows(feature_map),
            sample_seed=seed,
            separate=targets is not None and targets.separate,
        )

    def provisional(
        self, adaptive: AdaptiveFeatureMap, pending: Block
    ) -> AdaptiveFeatureMap | None:
        """Return the map planned on the first 256 pending rows, which serves until all are there.

        None where the map is planned for good or there are fewer rows than that; or where those
        are all equal, or the features are made of rows, so that a map of all of them is wanted.
        """
        most = adaptive.params.provisional_rows
        if adaptive.feature_map is not None or most is None or pending.stop < most:
            return None
        if self._provisional is None or self._provisional[0] is not adaptive:
            first, found = pending.part(0, most), None
            if not self._must_wait(first):
                found = adaptive.copy()
                with one_blas_thread:
                    # Who reads at every step is told when the map is planned for good.
                    found.absorb(first.rows, first.weights, hint=not self.stepwise)
            self._provisional = adaptive, found
        return self._provisional[1]

    def provisional_map(self, adaptive: AdaptiveFeatureMap, pending: Block) -> FeatureMap | None:
        """Return the map that serves until it is planned; None where that is one of all rows.

        A model that is solved at every step takes that of the first 1, 4, 16 or 64 rows.
        """
        planned = self.provisional(adaptive, pending)
        if planned is not None:
            return planned.feature_map
        if not self.stepwise:
            return None
        n_rows = 4 ** ((pending.stop.bit_length() - 1) // 2)
        if self._few is None or self._few[0] != n_rows:
            first = pending.part(0, n_rows)
            with one_blas_thread:
                self._few = n_rows, adaptive.provisional(first.rows, first.weights)
        return self._few[1]

    def learn_pending(self) -> None:
        """Learn the pending rows where they reach the end of a block."""
        pending = self.buffer.pending
        if pending is None or pending.stop < self.next_stop:
            return
        if self._must_wait(pending):
            self.buffer.boundaries = self._boundaries(self.buffer.n_pending)
        else:
            self.learn_block(pending)

    def _must_wait(self, block: Block) -> bool:
        """Tell whether a map cannot be planned yet: the first rows are all equal, and not many."""
        if self.is_planned or block.stop - block.start >= _MOST_EQUAL_ROWS:
            return False
        rows = block.rows
        if not sparse.issparse(rows):
            return bool((rows == rows[0]).all())
        first = sparse.vstack([rows[[0]]] * rows.shape[0], format="csr")
        return bool(abs(rows - first).nnz == 0)

    def latest_features(self, latest: Block, model_map: FeatureMap | None) -> Floats:
        """Return the features of the last pending rows, for a model under an earlier map.

        They are those of the present map, which are needed anyway and differ by transport alone;
        while maps are provisional, and unlike each other, those of the model's.
        """
        pending, adaptive = self.buffer.pending, self.feature_map
        assert pending is not None
        assert adaptive is not None
        assert model_map is not None
        present = adaptive.feature_map
        if present is None:
            present = self.provisional_map(adaptive, pending)
            if present != model_map:
                return model_map.transform(latest.rows, n_jobs=self.n_jobs)
        known = self.pending_cache.of(present, pending, self.n_jobs)
        return known[latest.start - pending.start :]

    def hold_again(self, buffer: RowBuffer) -> None:
        """Let rows be pending as they were before some that could not be learnt."""
        self.buffer, self.gram_cache = buffer, GramMatrix()  # which may have seen those
        self._changed()

    def flush(self) -> Self:
        """Learn the pending rows now, as a block of their own."""
        pending = self.buffer.pending
        if pending is not None:
            self.learn_block(pending)
        return self

    def reading(self) -> Reading:
        """Return the stream as it is now, pending rows included; worked out when it is asked."""
        known = self._reading
        # A signal may have come between a row and its version.
        if known is None or (known.version, known.n_rows) != (self.version, self.n_rows):
            with self.lock:
                known = self._reading = Reading(self)
        return known

    def known_result(self, key: Hashable) -> Any:
        """Return a result that somebody has asked the present reading for, or None; no work."""
        known = self._reading
        if known is None or (known.version, known.n_rows) != (self.version, self.n_rows):
            return None
        return known.known_result(key)

    def _changed(self) -> None:
        self.version += 1
        self._reading = None

    def fade(self, factor: float) -> Self:
        """Let everything learnt so far count ``factor`` times as much; means and map stay."""
        feature_map = None if self.feature_map is None else self.feature_map.copy().fade(factor)
        if self.statistics is not None:
            self.statistics.fade(factor)
        self.feature_map = feature_map
        self._changed()
        return self

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has seen; ``other`` is untouched.

        An empty side changes nothing: the result is the other side, pending rows included. A side
        without a complete block hands its pending rows over, as if they arrived now. Otherwise
        the pending rows of both sides are learnt, and blocks go on from the sum of both
        positions. Rows that both have learnt, as far as their provenance knows, are refused.
        """
        # Copied first: two that merge each other must not wait for each other's lock.
        return self.take_over(other.copy())

    def take_over(self, shard: Self) -> Self:
        """Merge with a shard that nobody else will use again: nothing of it is copied."""
        with self.lock, deferred_interrupts(), deferred_warnings():
            # Several steps, any of which may fail: on a copy, whose state is taken over at once.
            twin = self.copy()
            twin._merge_now(shard)
            values = {**twin.get_state(), "_few": None, "_provisional": None}
            values["gram_cache"] = GramMatrix()
            values |= {"version": self.version + 1, "_reading": None}
            Change(self, values).finish()
        return self

    def _merge_now(self, shard: Self) -> None:
        """Merge with a shard; where that fails neither is of use."""
        self._check_columns(shard)
        provenance = merged_provenance(self.provenance, shard.provenance)
        targets = self._merged_targets(shard)
        for side in (self, shard):
            side.set_targets(targets)
        merged_map = self._merged_map(shard)
        if shard.n_rows == 0:
            self.feature_map = merged_map
        elif self.n_rows == 0:
            self._adopt(shard, merged_map)
        elif shard.buffer.position == 0:
            self.feature_map, self.targets = merged_map, targets
            self._hand_over(shard.buffer.pending)
        elif self.buffer.position == 0:
            pending = self.buffer.pending
            self._adopt(shard, merged_map)
            self.targets = targets
            self._hand_over(pending)
        else:
            self._pool(shard)
        self.provenance, self.targets = provenance, targets

    def _pool(self, shard: Self) -> None:
        total = self.n_rows + shard.n_rows
        self.flush()
        shard.flush()
        if self.feature_map is not None and shard.feature_map is not None:
            self.feature_map = self.feature_map.merge(shard.feature_map)
        if self.statistics is not None and shard.statistics is not None:
            self.statistics = self.statistics.merge(shard.statistics)
        self.buffer.move_to(total)

    def _adopt(self, shard: Self, feature_map: AdaptiveFeatureMap | None) -> None:
        self.feature_map, self.statistics = feature_map, shard.statistics
        self.buffer = shard.buffer

    def _hand_over(self, pending: Block | None) -> None:
        if pending is not None:
            self.update(pending.rows, pending.targets, pending.weights)

    def _merged_map(self, shard: Self) -> AdaptiveFeatureMap | None:
        """Return the map of both sides, of which one has learnt no block, or refuse."""
        mine, theirs = self.feature_map, shard.feature_map
        if mine is None or theirs is None:
            if mine is not theirs:
                raise StateMismatchError("streams must both have a map to merge, or none")
            return None
        return mine.copy().merge(theirs)

    def _merged_targets(self, shard: Self) -> Any:
        if self.targets is None or shard.targets is None:
            if self.targets is not shard.targets:
                raise StateMismatchError("streams must both have targets to merge, or none")
            return None
        merged = self.targets.merged(shard.targets)
        if self.buffer.position == 0 and isinstance(shard.targets, NumericTargets):
            return shard.targets.merged(self.targets)  # what has been learnt keeps its columns
        return merged

    def _check_columns(self, shard: Self) -> None:
        if self.n_features != shard.n_features:
            raise StateMismatchError(
                f"n_features_in_ must agree to merge, got {self.n_features} and {shard.n_features}"
            )
        if not np.array_equal(self.names, shard.names):  # type: ignore[arg-type]
            raise StateMismatchError(
                f"feature_names_in_ must agree to merge, got {self.names} and {shard.names}"
            )

    def new_shard(self, feature_map: FeatureMap) -> Stream:
        """Return an empty stream under a map of this one's: a worker's share."""
        assert self.feature_map is not None
        return Stream(
            self.n_features,
            names=self.names,
            feature_map=AdaptiveFeatureMap(self.feature_map.params, feature_map),
            targets=self.targets,
            learns=self.learns,
            longest=self.longest,
        )

    def copy(self) -> Self:
        """Return an independent stream in the same state."""
        with self.lock:
            self.finish()
            twin = object.__new__(type(self))
            state = {name: vars(self)[name] for name in self.STATE}
            statistics = None if self.statistics is None else self.statistics.copy()
            # Maps, targets and provenance are replaced, never changed.
            twin.__dict__.update(state, statistics=statistics, buffer=self.buffer.copy())
            twin._start()
            twin.n_jobs, twin.stepwise = self.n_jobs, self.stepwise
        return twin

    def get_state(self) -> dict[str, Any]:
        """Return the fields that are saved."""
        self.finish()
        return {name: vars(self)[name] for name in self.STATE}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the stream; where blocks end follows from its parameters."""
        stream = object.__new__(cls)
        names = state["names"]
        if names is not None:
            require(all(isinstance(name, str) for name in names), "names must be text")
            state = {**state, "names": np.array(names, dtype=object)}
        stream.__dict__.update(state)
        stream._start()
        stream.buffer.boundaries = stream._boundaries(stream.buffer.n_pending)
        return stream

    def validate(self) -> None:
        """Require parts that stand at one position of one stream."""
        require(self.names is None or len(self.names) == self.n_features, "one name a column")
        position, statistics = self.buffer.position, self.statistics
        adaptive = self.feature_map
        if adaptive is not None:
            require(adaptive.params.n_features == self.n_features, "a map of another width")
            require(adaptive.n_rows == position, "map and rows must stand at one position")
            require(adaptive.params.half_life == self.half_life, "half_life of another map")
        self.buffer.check_boundaries()
        if statistics is None:
            require(not self.learns or position == 0, "rows have been seen without statistics")
        else:
            require(self.learns, "statistics that are not learnt")
            self._check_statistics(statistics)
        self._check_pending()

    def _check_statistics(self, statistics: FeatureStatistics) -> None:
        require(statistics.n_rows == self.buffer.position, "statistics of other rows")
        require(statistics.half_life == self.half_life, "statistics of another half_life")
        targets = self.targets
        n_targets = None if targets is None else targets.n_targets
        require(statistics.n_targets == n_targets, "statistics of other targets")
        planned = None if self.feature_map is None else self.feature_map.feature_map
        sizes = (self.n_features,) if planned is None else planned.sizes
        require(statistics.sizes == sizes, "statistics of other features")
        known = self.dual_rows
        require(statistics.dual_rows == known, f"rows must be kept up to {known}")
        sampled = planned is not None and targets is not None and targets.have_probabilities
        require((statistics.sample is not None) == sampled, "classes come with a sample")
        separate = targets is not None and targets.separate
        require(statistics.separate == separate, "moments of each class, or of all together")
        if targets is not None and targets.classes is not None:
            targets.check_values(getattr(statistics.labelled, "classes", targets.classes))
        sample = statistics.sample
        if sample is not None and sample.targets is not None:
            assert targets is not None
            targets.check_values(sample.targets)
            width = 0 if sample.rows is None else sample.rows.shape[1]
            require(width == self.n_features, "sampled rows of another width")
        for block in statistics.kept:
            if targets is not None:
                targets.check_block(block.targets, block.n_rows)

    def _check_pending(self) -> None:
        pending = self.buffer.pending
        if pending is None:
            return
        rows = pending.rows
        require(
            rows.shape[1] == self.n_features, f"pending rows must have {self.n_features} columns"
        )
        if self.feature_map is None:
            require(not sparse.issparse(rows), "features must be dense")
        elif not sparse.issparse(rows):
            require((rows >= 0.0).all(), "pending rows must not be negative")
        if self.targets is None:
            require(pending.targets is None, "there must be no targets")
        else:
            self.targets.check_block(pending.targets, rows.shape[0])

    def __getstate__(self) -> dict[str, Any]:
        return self.copy().get_state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()
        self.buffer.boundaries = self._boundaries(self.buffer.n_pending)

    def __repr__(self) -> str:
        return f"Stream(n_rows={self.n_rows}, n_pending={self.buffer.n_pending})"
