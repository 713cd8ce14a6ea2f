"""One stream of rows: what is pending, what was learnt before, and where rows came from.

Every estimator of both front ends holds one. Rows are learnt in blocks whose ends are decided by
what has been learnt (:mod:`streamchi2.statistics.schedule`), so that nothing depends on how rows
were cut into batches. Reading is flushing: :meth:`Stream.settled` is a copy that has learnt the
pending rows too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.checks.rows import Array, Floats, Rows
from streamchi2.errors import StateMismatchError
from streamchi2.features import MapSpec
from streamchi2.latest_rows import LEAST_ROWS, PENALTIES, LatestRows
from streamchi2.learnt import Learnt, Settings
from streamchi2.model import Model, choose, fit, is_dual
from streamchi2.provenance import Provenance, merged_provenance
from streamchi2.saving import register
from streamchi2.solvers.choice import Choice, LearnerSpec
from streamchi2.statistics import schedule
from streamchi2.statistics.buffer import Block, PendingRows, Row
from streamchi2.statistics.feature_statistics import Kept
from streamchi2.statistics.forgetting import Forgetting, Forgotten
from streamchi2.statistics.targets import Targets, is_given, moved
from streamchi2.threads import checkpoint, deferred_interrupts, new_lock, one_blas_thread

Result = TypeVar("Result")


class Stream:
    """A stream of rows and all that is remembered of it.

    Laws: any cutting of the same rows into batches gives the same state, bit for bit; merging
    shards that share a map equals one pass; what is refused changes nothing; reading changes
    nothing.

    Parameters
    ----------
    settings : Settings
        What stays the same in its life.
    names : tuple of str or None, default=None
        Names of the columns.
    targets : Targets or None, default=None
        What is known of the targets; None where there are none.

    Notes
    -----
    Until there are enough rows to plan the map for good the stream is young: all its rows are
    pending, and what they teach is a pure function of them, made anew after 1, 4, 16, ... rows.

    One lock covers learning, merging and the copy that is read. Ctrl-C waits for the end of a
    block. What fails before a block is added has changed nothing. If an addition breaks off, for
    lack of memory say, the stream is torn, and refuses everything from then on.
    """

    _saved_fields: ClassVar[Mapping[str, Any]] = {
        "settings": Settings,
        "names": tuple[str, ...] | None,
        "targets": Targets | None,
        "learnt": Learnt | None,
        "pending": Block | None,
        "plan_at": int,
        "provenance": Provenance,
        "solved": Model | None,
        "unsolved": bool,
        "work": tuple[float, float],
        "latest": LatestRows | None,
    }

    def __init__(
        self,
        settings: Settings,
        names: tuple[str, ...] | None = None,
        targets: Targets | None = None,
    ) -> None:
        self.settings = settings
        self.names = names
        self.targets = targets
        self.learnt: Learnt | None = None  # None while young
        self.pending = PendingRows()
        self.plan_at = self.settings.first_rows  # later where the first rows are all equal
        self.provenance: Provenance = {}
        self.solved: Model | None = None  # at the end of a block, where that is done
        self.unsolved = False  # whether another one is due
        self.work = 0.0, 0.0  # operations of learning and of solving
        self.latest: LatestRows | None = None  # from the first plan on, if they are to be kept
        self._start()

    def _start(self) -> None:
        """Create what is no state: the lock, and what can be made again."""
        self.lock = new_lock()
        self.version = 0  # grows with every change
        self.n_jobs: int | None = None
        self.torn = False
        self._young: Learnt | None = None
        self._results: tuple[int, dict[Hashable, Any]] = 0, {}
        self._lengths = self._block_lengths()

    @property
    def n_features(self) -> int:
        """Width of the rows."""
        return self.settings.n_features

    @property
    def spec(self) -> MapSpec | None:
        """What the user chose about the map."""
        return self.settings.spec

    @property
    def n_rows(self) -> int:
        """Number of rows seen, pending and merged ones included."""
        return self.pending.n_rows + (0 if self.learnt is None else self.learnt.position)

    @property
    def is_planned(self) -> bool:
        """Whether the map is there for good."""
        return self.learnt is not None

    @property
    def _n_columns(self) -> int:
        return 0 if self.targets is None else self.targets.n_columns

    def learn(
        self,
        rows: Rows,
        targets: NDArray[Any] | None = None,
        weights: NDArray[np.float64] | None = None,
        after: Targets | None = None,
        spec: LearnerSpec | None = None,
    ) -> None:
        """Learn rows that have been validated, all of positive weight.

        Where a block fails, or Ctrl-C comes, the blocks before it have been learnt, the rows that
        were pending still are, and the rest of the batch has not been seen.

        Parameters
        ----------
        rows : ndarray or csr_array, shape (n, d)
            May be overwritten by the caller afterwards.
        targets : ndarray or None, default=None
            Codes or columns of numbers.
        weights : ndarray, shape (n,), or None, default=None
            None where every row weighs one.
        after : Targets or None, default=None
            What is known of the targets with these rows; by default what was known before.
        spec : LearnerSpec or None, default=None
            How models are solved, where the latest rows are kept.
        """
        weights = np.ones(rows.shape[0]) if weights is None else weights
        arrived, messages = Block(rows, targets, weights), list[Warning]()
        with self.lock, deferred_interrupts(), one_blas_thread:
            self.refuse_torn()
            before, n_before = self.targets, self.n_rows
            self.targets = after or before
            try:
                while (n_missing := self._missing(arrived)) is not None:
                    checkpoint()
                    pending = self.pending.copy()
                    pending.extend(arrived.part(0, n_missing))
                    messages += self._end_block(pending, spec, self.latest)
                    arrived = arrived.part(n_missing, arrived.n_rows)
                rest = self.pending.copy()
                rest.extend(arrived)
                self.pending = rest  # all of them, or none where there is no memory
                self._lengths = self._block_lengths()
            except BaseException:
                if self.n_rows == n_before:
                    self.targets = before
                raise
            finally:
                self.version += 1
        _tell(messages)

    def append(
        self,
        row: Row,
        target: Any,
        weight: float,
        features: Floats | None = None,
        after: Targets | None = None,
        spec: LearnerSpec | None = None,
    ) -> bool:
        """Learn one validated row with named columns, and tell whether that ended a block.

        Parameters
        ----------
        row : Row
            Columns and values.
        target : int, ndarray or None
            A code or an array of numbers, -1 or NaN where absent; None where there are no targets.
        weight : float
            Positive.
        features : ndarray or None, default=None
            Those of the row under the map of :meth:`present`.
        after : Targets or None, default=None
            What is known of the targets with this row.
        spec : LearnerSpec or None, default=None
            How models are solved, where there are any.
        """
        pending, labelled, latest = self.pending, is_given(target), self.latest
        if self.latest is not None and labelled and features is not None and spec is not None:
            self.latest_model(spec)  # which the latest rows are to correct
            latest = self.latest.after(features, target, weight)
        most, most_labelled = self._lengths
        ends = pending.n_rows + 1 >= most or pending.n_labelled + labelled >= most_labelled
        if not ends and not self._begins_anew(latest, self.n_rows + 1):
            self.targets, self.latest = after, latest
            pending.append(row, target, weight, features, labelled)
            self.version += 1
            return False
        with self.lock, deferred_interrupts(), one_blas_thread:
            self.refuse_torn()
            before, self.targets = self.targets, after
            arrived = pending.copy()
            arrived.append(row, target, weight, features, labelled)
            try:
                messages = self._end_block(arrived, spec, latest)
            except BaseException:
                if self.pending is pending and not self.torn:
                    self.targets = before
                raise
            finally:
                self.version += 1
        _tell(messages)
        return True

    def _missing(self, arrived: Block) -> int | None:
        """Return how many of the arriving rows complete a block; None where they do not."""
        most, most_labelled = self._lengths if self.is_planned else (self.plan_at, np.inf)
        n_missing, room = most - self.pending.n_rows, most_labelled - self.pending.n_labelled
        if room <= min(n_missing, arrived.n_rows):
            reached = np.flatnonzero(np.cumsum(arrived.labelled()) >= room)
            n_missing = min([n_missing, *(reached[:1] + 1)])
        return int(n_missing) if n_missing <= arrived.n_rows else None

    def _block_lengths(self) -> tuple[float, float]:
        """Return how many rows, and how many labelled ones, complete the pending block."""
        if self.learnt is None:
            return schedule.young_block_end(self.pending.n_rows, self.plan_at), np.inf
        statistics = self.learnt.statistics
        if statistics is None:
            return schedule.block_rows(self.learnt.position), np.inf
        labelled = schedule.block_rows(statistics.counted)
        every = schedule.block_rows(statistics.counted + statistics.counted_unlabelled)
        return every, labelled

    def _end_block(
        self,
        arrived: PendingRows,
        spec: LearnerSpec | None,
        latest: LatestRows | None,
    ) -> list[Warning]:
        """Learn pending rows that complete a block, and return what is to be warned of."""
        due, solving = False, self.work[1]
        if spec is not None:
            due, solving = self._solution_due(arrived.n_rows)
            if self.unsolved and not due:
                self._solve(spec)  # of what there is before this block
        if self.learnt is not None:
            messages = self._learn_block(self.learnt, arrived, spec, latest)
        elif arrived.n_rows >= self.plan_at:
            messages = self._grow_up(arrived)
        else:
            messages = self._stay_young(arrived, latest)
        self.work, self.unsolved = (self.work[0], solving), self.unsolved or due
        self._forget()
        return messages

    def _learn_block(
        self,
        learnt: Learnt,
        arrived: PendingRows,
        spec: LearnerSpec | None,
        latest: LatestRows | None,
    ) -> list[Warning]:
        learnt.targets = self.targets  # columns without rows change nothing
        block, features = arrived.part(0, arrived.n_rows, self._n_columns)
        prepared = learnt.prepare(block, features, self.n_jobs)
        if latest is not None and spec is not None and not self.settings.row_by_row:
            self.latest_model(spec)
            latest = _after(self.latest, block, prepared.features)
        if latest is not None and prepared.keys is not None:
            latest = latest.with_keys(prepared.keys[block.labelled()])
        with self._committing():
            learnt.commit(prepared)
            self.latest = latest
            self._to_next_block(block.n_rows)
        learnt.conclude()
        return learnt.warnings

    def _stay_young(self, arrived: PendingRows, latest: LatestRows | None) -> list[Warning]:
        young = self._young_learnt(arrived)
        if young.planned_on == arrived.n_rows:  # under another map than before
            latest = self._latest_of(young, arrived.part(0, arrived.n_rows, self._n_columns)[0])
        self.pending, self._young, self.latest = arrived, young, latest
        self._lengths = self._block_lengths()
        return []

    def _grow_up(self, arrived: PendingRows) -> list[Warning]:
        """Plan the map for good, unless the rows are all equal and say nothing about it."""
        block, _ = arrived.part(0, arrived.n_rows, self._n_columns)
        if not schedule.is_grown_up(block.n_rows, self.plan_at, _all_equal(block.rows)):
            self.pending, self.plan_at = arrived, schedule.postponed(block.n_rows)
            self._lengths = self._block_lengths()
            return []
        learnt = Learnt.begun(self.settings, block, self.targets, final=True, n_jobs=self.n_jobs)
        self.latest = self._latest_of(learnt, block)
        self.learnt, self._young = learnt, None
        self._to_next_block(block.n_rows)
        learnt.conclude()
        return learnt.warnings

    def _to_next_block(self, n_rows: int) -> None:
        self.pending = PendingRows()
        self._lengths = self._block_lengths()
        learning, solving = self.work
        assert self.learnt is not None
        self.work = learning + n_rows * self.learnt.operations_a_row, solving

    # The latest rows

    def _latest_of(self, learnt: Learnt, block: Block) -> LatestRows | None:
        """Return the latest labelled rows of a block under the map of what was learnt."""
        if not self.settings.keeps_latest:
            return None
        size, penalties = self.settings.latest_rows or LEAST_ROWS, PENALTIES
        if not self.settings.latest_rows:
            penalties = ()  # they are kept to begin anew from
        chosen = np.flatnonzero(block.labelled())[-2 * size :]
        rows, weights = block.rows[chosen], block.weights[chosen]
        assert block.targets is not None
        features = learnt.featurised(rows, self.n_jobs)
        kept = Kept(features, block.targets[chosen], weights, learnt.keys(rows))
        state = np.zeros(2 + len(penalties)), Forgetting()
        if self.latest is not None:
            state = self.latest.compared, self.latest.forgetting
        return LatestRows.of(size, penalties, kept, *state)

    def _begins_anew(self, latest: LatestRows | None, position: int) -> bool:
        """Tell whether the latest rows show that the world is another one: that ends a block."""
        if latest is None or self.learnt is None or not self.settings.forgets:
            return False
        return latest.forgetting.begins_anew(position)

    def _forget(self) -> None:
        """Forget where the latest rows show, at the end of a block, that the world has changed."""
        learnt, latest, kept = self.learnt, self.latest, 0.5
        if not self.settings.forgets or learnt is None or latest is None:
            return
        forgetting = latest.forgetting
        if self._begins_anew(latest, self.n_rows):
            learnt.begin_anew(latest.rows)
            kept = 0.0
        elif forgetting.halves(learnt.counted):
            with self._committing():
                learnt.halve()
        else:
            return
        forgotten = Forgotten(self.n_rows, kept, learnt.counted, forgetting.ratio)
        self.latest = replace(latest, forgetting=forgetting.cleared(forgotten))
        self.unsolved = True
        self._lengths = self._block_lengths()
        learnt.conclude()

    @contextmanager
    def _committing(self) -> Iterator[None]:
        """Leave the stream torn unless all inside comes to its end."""
        try:
            yield
        except BaseException:
            self.torn = True
            raise

    def refuse_torn(self) -> None:
        """Refuse to go on where a change broke off in the middle."""
        if self.torn:
            raise StateMismatchError(
                "a change of this estimator broke off in the middle, for lack of memory say, so "
                "that what it has learnt cannot be trusted; go on from the last file or "
                "checkpoint, or call fit again"
            )

    def present(self) -> Learnt | None:
        """Return what was learnt up to the end of the last block; None before the first row."""
        if self.learnt is not None or not self.pending.n_rows:
            return self.learnt
        young, n_rows = self._young, self.pending.n_rows
        if young is None or schedule.young_block_end(young.position, self.plan_at) <= n_rows:
            with self.lock, one_blas_thread:
                if self.learnt is not None:
                    return self.learnt  # another thread has learnt meanwhile
                young = self._young = self._young_learnt(self.pending)
        return young

    def _young_learnt(self, pending: PendingRows) -> Learnt:
        """Return what the blocks of a young stream teach under the map of its last plan."""
        plan = schedule.last_plan(pending.n_rows, self.plan_at)
        learnt, self._young = self._young, None  # until all has gone well
        if learnt is None or learnt.planned_on != plan:
            first, _ = pending.part(0, plan, self._n_columns)
            learnt = Learnt.begun(
                self.settings, first, self.targets, final=False, n_jobs=self.n_jobs
            )
            learnt.conclude()
        learnt.targets = self.targets
        while True:
            end = schedule.young_block_end(learnt.position, self.plan_at)
            if end > pending.n_rows or end <= learnt.position:
                return learnt
            block, features = pending.part(learnt.position, end, self._n_columns)
            learnt.learn(block, features, self.n_jobs)
            learnt.conclude()

    def _reads_all(self) -> bool:
        """Tell whether what is read of a young stream is planned on all its rows."""
        made_of_rows = self.spec is not None and self.spec.made_of_rows
        return (
            not self.is_planned
            and not self.settings.row_by_row
            and schedule.plans_on_all(self.pending.n_rows, made_of_rows)
        )

    def settled(self) -> Learnt:
        """Return a copy of what was learnt that has learnt the pending rows too."""
        with self.lock, one_blas_thread:
            self.refuse_torn()
            pending = self.pending
            if self.n_rows == 0 and not self.is_planned:
                raise ValueError("nothing has been learnt yet: learn from a row first")
            if self._reads_all():
                block, _ = pending.part(0, pending.n_rows, self._n_columns)
                # A learner's map serves for a while; that of a sampler is what it is for.
                final = not self.settings.learns
                learnt = Learnt.begun(
                    self.settings, block, self.targets, final=final, n_jobs=self.n_jobs
                )
            else:
                present = self.present()
                assert present is not None
                learnt = present.copy()
                learnt.targets = self.targets
                start = 0 if self.is_planned else present.position
                if start == pending.n_rows:
                    return learnt  # what there is to be warned of has been told
                rest, features = pending.part(start, pending.n_rows, self._n_columns)
                learnt.learn(rest, features, self.n_jobs)
        _tell(learnt.warnings)
        return learnt

    def cached(self, key: Hashable, work: Callable[[], Result]) -> Result:
        """Return what ``work`` returns, which is called once until the stream goes on."""
        self.refuse_torn()
        version, results = self._results
        if version != self.version:
            version, results = self._results = self.version, {}
        if key not in results:
            results[key] = work()
        result: Result = results[key]
        return result

    def read(self) -> Learnt:
        """Return :meth:`settled`, made once until the stream goes on; not to be changed."""
        return self.cached("settled", self.settled)

    def model(self, spec: LearnerSpec) -> Model:
        """Return the model of all rows, pending ones included."""

        def work() -> Model:
            with self.lock, one_blas_thread:
                choice, present = self.choice(spec), self.present()
                if choice is not None and present is not None and is_dual(present, spec):
                    present.grown_factor(choice)  # which the copy goes on with
                settled = self.settled()
            with one_blas_thread:
                factor = None
                if choice is None:
                    choice = choose(settled, spec)
                elif is_dual(settled, spec):
                    factor = settled.grown_factor(choice)
                return self._corrected(fit(settled, spec, choice, factor), spec)

        return self.cached(("model", spec), work)

    def _corrected(self, model: Model, spec: LearnerSpec) -> Model:
        """Return a model of all rows with the correction of the latest ones, pending included."""
        corrects = self.settings.latest_rows and not self.settings.row_by_row
        if not corrects or self.latest is None or self.learnt is None:
            return model
        self.latest_model(spec)  # which the latest rows have corrected so far
        latest, pending = self.latest.copy(), self.pending
        if pending.n_rows:
            block, _ = pending.part(0, pending.n_rows, self._n_columns)
            latest = _after(latest, block, self.learnt.featurised(block.rows, self.n_jobs))
        return latest.renewed(model).corrected() or model

    def latest_model(self, spec: LearnerSpec) -> Model | None:
        """Return the model as of the last end of a block at which one was solved, or None."""
        self.refuse_torn()
        if self.unsolved:
            with self.lock, one_blas_thread:
                if self.unsolved:
                    self._solve(spec)
        return self.solved

    def scores_of_row(self, model: Model, features: Floats) -> Array:
        """Return the shifted scores of one row, corrected by the latest rows if there are some."""
        with self.lock:
            latest = self.latest
            if latest is None or latest.model is not model:  # another thread has learnt meanwhile
                return model.scores_of_row(features)
            return np.asarray(latest.scores(features)[latest.best] - model.shifts)

    def choice(self, spec: LearnerSpec) -> Choice | None:
        """Return what was chosen where a choice was last due; None before the first one.

        It is worked out when somebody asks, from what was remembered there. So nothing depends on
        who asks when, and who never asks never waits.
        """
        with self.lock, one_blas_thread:
            present = None if self._reads_all() else self.present()
            if present is None or present.mark is None:
                return None
            if present.chosen is None or present.chosen[0] != spec:
                # Without a basis parameters were set meanwhile: the choice is made of what is here.
                basis = present if present.basis is None else present.basis
                present.chosen = spec, choose(basis, spec)
                present.basis = None
            return present.chosen[1]

    def conclude(self, spec: LearnerSpec) -> None:
        """Work out what is due, so that the state does not show whether somebody has read."""
        if self.unsolved:
            self.latest_model(spec)
        if self.is_planned:
            self.choice(spec)

    def _solution_due(self, n_rows: int) -> tuple[bool, float]:
        """Tell whether a model is to be solved after a block, and the work of solving by then."""
        learnt, (learning, solving) = self.learnt, self.work
        if learnt is None or learnt.statistics is None:
            return self.settings.learns, solving
        solution = solving + learnt.operations_a_solution
        due = schedule.solution_due(learning + n_rows * learnt.operations_a_row, solution)
        return due, solution if due else solving

    def _solve(self, spec: LearnerSpec) -> None:
        """Solve the model at the last end of a block, if any row had a target."""
        present, choice = self.present(), self.choice(spec)
        if present is not None and choice is not None:
            factor = present.grown_factor(choice) if is_dual(present, spec) else None
            self.solved = fit(present, spec, choice, factor)
            if self.latest is not None:
                self.latest = self.latest.renewed(self.solved)
        self.unsolved = False

    def merge(self, other: Self, spec: LearnerSpec | None = None) -> None:
        """Absorb everything ``other`` has seen; ``other`` is untouched.

        An empty side changes nothing. The rows of a young side are learnt by the other one as if
        they arrived now. Otherwise both learn their pending rows, and what they have learnt is
        added. Rows that both have learnt, as far as their provenance tells, are refused.
        """
        shard = other.copy()  # first: two that merge each other must not wait for each other
        with self.lock, deferred_interrupts(), one_blas_thread:
            self.refuse_torn()
            self._refuse_other(shard)
            provenance = merged_provenance(self.provenance, shard.provenance)
            mine = self.copy()
            young = not mine.is_planned and shard.is_planned and shard.n_rows
            merged = shard._absorbed(mine) if young else mine._absorbed(shard)
            state = {**merged._saved_state(), "names": self.names, "provenance": provenance}
            if shard.n_rows:
                state["unsolved"] = spec is not None or self.settings.keeps_latest
            version, n_jobs, lock = self.version, self.n_jobs, self.lock
            self.__dict__.update(vars(type(self)._from_saved(state)))
            self.version, self.n_jobs, self.lock = version + 1, n_jobs, lock

    def _absorbed(self, shard: Self) -> Self:
        """Return this stream with all that another one has seen; neither is of use afterwards."""
        targets, columns = self.targets, None
        if self.targets is not None and shard.targets is not None:
            targets, columns = self.targets.merged(shard.targets)
        if not shard.n_rows:
            if self.learnt is not None and shard.learnt is not None:
                self.learnt.refuse_other_map(shard.learnt)
            if targets != self.targets:
                self.targets = targets
            return self
        rows = shard._pending_block()
        if rows is not None and rows.targets is not None and columns is not None and targets:
            rows = replace(rows, targets=moved(rows.targets, columns, targets.n_columns))
        if shard.learnt is None and rows is not None:
            self.learn(rows.rows, rows.targets, rows.weights, targets)
        self.targets = targets
        if shard.learnt is None:
            return self
        assert self.learnt is not None
        self.learnt.targets = targets
        if self.pending.n_rows:
            self.learnt.learn(*self.pending.part(0, self.pending.n_rows, self._n_columns))
        shard.learnt.targets = shard.targets
        self.learnt.merge(shard.learnt, targets, columns)
        if rows is not None:
            self.learnt.learn(rows)
        self.learnt.conclude()
        self._to_next_block(0)
        return self

    def _refuse_other(self, shard: Self) -> None:
        """Refuse to merge with a stream of other columns or parameters, naming the first one."""
        if (self.targets is None) != (shard.targets is None):
            raise StateMismatchError("streams must both have targets to merge, or none")
        differences: list[tuple[str, Any, Any]] = []
        differences.append(("n_features_in_", self.n_features, shard.n_features))
        differences.append(("feature_names_in_", self.names, shard.names))
        for name in ("half_life", "learns", "by_class"):
            mine, theirs = (getattr(side.settings, name) for side in (self, shard))
            differences.append((name, mine, theirs))
        if self.spec is not None and shard.spec is not None:
            differences.append(self.spec.difference(shard.spec) or ("spec", None, None))
        for name, mine, theirs in differences:
            if mine != theirs:
                raise StateMismatchError(f"{name} must agree to merge, got {mine} and {theirs}")

    def shard(self) -> Self:
        """Return an empty stream under the map of this one: a worker's share."""
        with self.lock:
            self.refuse_torn()
            if self.learnt is None:
                raise ValueError(
                    f"new_shard needs a map to share, which is planned on the first {self.plan_at} "
                    f"rows of a stream, got {self.n_rows}; learn from more rows first"
                )
            share = type(self)(self.settings, self.names, self.targets)
            share.plan_at, share.learnt = self.plan_at, self.learnt.empty()
            if self.latest is not None:
                share.latest = self.latest.emptied()
            share._lengths = share._block_lengths()
            return share

    def copy(self) -> Self:
        """Return an independent stream in the same state."""
        twin = type(self)._from_saved(self.__getstate__())
        twin.n_jobs = self.n_jobs
        return twin

    def _saved_state(self) -> dict[str, Any]:
        self.refuse_torn()
        state = {name: vars(self)[name] for name in self._saved_fields}
        return {**state, "pending": self._pending_block()}

    def _pending_block(self) -> Block | None:
        if not self.pending.n_rows:
            return None
        return self.pending.part(0, self.pending.n_rows, self._n_columns)[0]

    @classmethod
    def _from_saved(cls, state: dict[str, Any]) -> Self:
        stream = object.__new__(cls)
        pending = PendingRows([] if state["pending"] is None else [state["pending"]])
        stream.__dict__.update(state, pending=pending)
        stream._start()
        return stream

    def __getstate__(self) -> dict[str, Any]:
        with self.lock:
            state = self._saved_state()
            if self.learnt is not None:
                state["learnt"] = self.learnt.copy()
            if self.latest is not None:
                state["latest"] = self.latest.copy()
            return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(vars(type(self)._from_saved(state)))
        if self.learnt is not None:
            self.learnt = self.learnt.copy()  # buffers of a pickle may be read-only

    def __repr__(self) -> str:
        return f"Stream(n_rows={self.n_rows}, n_pending={self.pending.n_rows})"


register(Stream, name="stream")


def _tell(messages: Any) -> None:
    """Warn last: where a filter makes an error of a warning, the state is whole."""
    for message in messages:
        warnings.warn(message, stacklevel=4)


def _after(latest: LatestRows | None, block: Block, features: Floats | None) -> LatestRows:
    """Return the latest rows after those of a block, compared and added one by one."""
    assert latest is not None
    assert features is not None
    assert block.targets is not None
    for index in np.flatnonzero(block.labelled()).tolist():
        weight = float(block.weights[index])
        latest = latest.after(features[index], block.targets[index], weight)
    return latest


def _all_equal(rows: Rows) -> bool:
    if not sparse.issparse(rows):
        return bool((rows == rows[0]).all())
    first = sparse.vstack([rows[[0]]] * rows.shape[0], format="csr")
    return bool(abs(rows - first).nnz == 0)
