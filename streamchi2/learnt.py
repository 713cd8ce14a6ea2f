"""What has been learnt from whole blocks of rows under one feature map.

A block changes it in three parts. *Prepare* works out all that may fail and changes nothing;
*commit* adds in place; *conclude* notes whether the penalty is to be chosen again.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks.rows import Floats, Rows
from streamchi2.features import FeatureMap, MapSpec, Tracker
from streamchi2.features.feature_map import normalized
from streamchi2.saving import saved
from streamchi2.solvers.choice import Choice, LearnerSpec
from streamchi2.solvers.dual import DualFactor
from streamchi2.statistics import schedule
from streamchi2.statistics.buffer import Block
from streamchi2.statistics.feature_statistics import FeatureStatistics, Kept
from streamchi2.statistics.sample import keys_of
from streamchi2.statistics.targets import Targets, matrix

_ROW_OPERATIONS = 2e6  # as many as reading and featurising a row takes the time of


@saved("stream_settings")
@dataclass(frozen=True)
class Settings:
    """What stays the same in the life of a stream.

    Parameters
    ----------
    n_features : int
        Width of the rows.
    spec : MapSpec or None
        Of the feature map; None where the rows themselves are the features.
    half_life : float or None
        Rows after which a row counts half.
    learns : bool
        Whether statistics of the features are kept at all.
    by_class : bool
        Whether they are kept of each class by itself.
    row_by_row : bool
        Whether rows are featurised one by one, and a model is solved whenever a block ends.
    """

    n_features: int
    spec: MapSpec | None = None
    half_life: float | None = None
    learns: bool = True
    by_class: bool = False
    row_by_row: bool = False

    @property
    def latest_rows(self) -> int:
        """How many of the latest rows correct the model, or up to twice as many."""
        return 0 if self.spec is None else self.spec.shared.latest_rows

    @property
    def forgets(self) -> bool:
        """Whether it forgets by itself where the world changes."""
        return self.spec is not None and self.spec.shared.forgets

    @property
    def keeps_latest(self) -> bool:
        """Whether the latest rows are kept: to correct the model, or to begin anew from them."""
        return self.latest_rows > 0 or self.forgets

    @property
    def first_rows(self) -> int:
        """Rows after which the map is planned for good, and the origin of the moments is set."""
        return schedule.FIRST_ROWS if self.spec is None else self.spec.first_rows

    @property
    def seed(self) -> int:
        """The seed of the keys of rows, that of the tracker's sample."""
        return 0 if self.spec is None else self.spec.shared.seed

    def as_sampled(self, rows: Rows) -> Rows:
        """Return rows as the map reads them: two that differ by their sums alone are copies."""
        return rows if self.spec is None else normalized(rows, self.spec.shared.norm)


class Prepared(NamedTuple):
    """All that a block changes but the statistics, worked out before anything is changed."""

    block: Block
    features: Floats | None
    keys: NDArray[np.uint64] | None
    tracker: Tracker | None


@saved("learnt")
@dataclass(eq=False)
class Learnt:
    """Map and statistics of the rows of whole blocks.

    Law: merging what shards have learnt under one map equals one pass, to rounding.
    """

    settings: Settings
    tracker: Tracker | None
    statistics: FeatureStatistics | None
    targets: Targets | None
    position: int = 0  # rows learnt
    # Labelled rows that counted, and all of them, when the penalty was last due to be chosen.
    mark: tuple[float, int] | None = None
    # What was learnt then, until somebody asks for the choice, which is made of it.
    basis: Learnt | None = None
    chosen: tuple[LearnerSpec, Choice] | None = None
    # Labelled rows at the ends of blocks since then, by which the factor has grown.
    ends: tuple[int, ...] = ()
    planned_on: int = field(default=0, init=False)
    factor: DualFactor | None = field(default=None, init=False)

    @classmethod
    def begun(
        cls,
        settings: Settings,
        block: Block,
        targets: Targets | None,
        *,
        final: bool,
        n_jobs: int | None = None,
    ) -> Self:
        """Return what is learnt from the first rows of a stream, on which its map is planned.

        Parameters
        ----------
        settings : Settings
            Of the stream.
        block : Block
            All rows so far.
        targets : Targets or None
            What is known of the targets.
        final : bool
            Whether the map is planned for good, or serves until there are more rows.
        n_jobs : int or None, default=None
            Number of threads.
        """
        tracker = None
        features: Floats = block.rows
        if settings.spec is not None:
            tracker = Tracker.planned(settings.spec, block.rows, block.weights, final=final)
            if settings.learns:
                features = tracker.feature_map.transform(block.rows, n_jobs=n_jobs)
        statistics = None
        if settings.learns:
            # A first block of one row may be an outlier: the origin is the mean of all of these.
            origin = features.mean(axis=0, dtype=np.float64)
            statistics = cls._statistics(settings, tracker, origin, _target_origin(block, targets))
        learnt = cls(settings, tracker, statistics, targets)
        learnt.planned_on = block.n_rows
        # The tracker has seen these rows: it was planned on them.
        learnt.commit(Prepared(block, features, learnt.keys(block.rows), tracker))
        return learnt

    @staticmethod
    def _statistics(
        settings: Settings,
        tracker: Tracker | None,
        origin: NDArray[np.float64],
        target_origin: NDArray[np.float64] | None,
    ) -> FeatureStatistics:
        sizes = (origin.size,) if tracker is None else tracker.feature_map.sizes
        cap = 0
        if target_origin is not None:
            cap = schedule.kept_rows(origin.size, settings.first_rows)
        return FeatureStatistics(
            sizes,
            origin,
            target_origin,
            cap=cap,
            half_life=settings.half_life,
            by_class=settings.by_class,
        )

    @property
    def feature_map(self) -> FeatureMap | None:
        """The map in use; None where the rows themselves are the features."""
        return None if self.tracker is None else self.tracker.feature_map

    @property
    def warnings(self) -> list[Warning]:
        """What the tracker has to say of the last block."""
        return [] if self.tracker is None else list(self.tracker.warnings)

    @property
    def n_columns(self) -> int:
        """Number of columns of targets."""
        return 0 if self.targets is None else self.targets.n_columns

    @property
    def counted(self) -> float:
        """Labelled rows that still count."""
        return 0.0 if self.statistics is None else self.statistics.counted

    @property
    def operations_a_row(self) -> float:
        """What learning a row takes: its features, and their products."""
        width = 0 if self.statistics is None else self.statistics.n_features
        return width * width + _ROW_OPERATIONS

    @property
    def operations_a_solution(self) -> float:
        """What solving a model takes: a Cholesky factor, or some rows of a growing one."""
        assert self.statistics is not None
        width, kept = self.statistics.n_features, self.statistics.kept
        if kept is None:
            return width * width * (width / 3.0 + 2.0 * self.n_columns)
        n_rows = self.statistics.n_labelled
        block = schedule.block_rows(self.statistics.counted)
        return n_rows * (n_rows + width) * (block + 2.0 * self.n_columns)

    def grown_factor(self, choice: Choice) -> DualFactor | None:
        """Return the factor of the kept rows, grown by one block after the other.

        So its bits do not depend on when somebody asked. None where rows are not kept, or change
        their weights.
        """
        kept = None if self.statistics is None else self.statistics.kept
        if kept is None or self.settings.half_life is not None or self.settings.by_class:
            self.factor = None
            return None
        factor, self.factor = self.factor, None  # until all has gone well
        if factor is None or factor.alpha != choice.alpha or factor.n_rows not in self.ends:
            factor = DualFactor(choice.alpha)
        for end in self.ends:
            if end > factor.n_rows:
                rows = slice(factor.n_rows, end)
                factor.add(kept.features[rows], kept.weights[rows])
        self.factor = factor
        return factor

    def featurised(self, rows: Rows, n_jobs: int | None = None) -> Floats:
        """Return the features of rows; bits may depend on which rows come together."""
        feature_map = self.feature_map
        if feature_map is None:
            return rows
        if self.settings.row_by_row:
            return feature_map.transform_each(rows)
        return feature_map.transform(rows, n_jobs=n_jobs)

    def prepare(
        self, block: Block, features: Floats | None = None, n_jobs: int | None = None
    ) -> Prepared:
        """Return what a block changes; nothing is changed yet.

        ``features`` are those of its rows under the present map, where they are there already.
        """
        tracker, keys = self.tracker, self.keys(block.rows) if self.settings.learns else None
        if tracker is not None:
            position = self.position + block.n_rows
            tracker = tracker.absorbed(block.rows, block.weights, position, keys=keys)
        if features is None and self.settings.learns:
            features = self.featurised(block.rows, n_jobs)
        return Prepared(block, features, keys, tracker)

    def keys(self, rows: Rows) -> NDArray[np.uint64]:
        """Return hashes of rows, by which some are sampled."""
        return keys_of(self.settings.as_sampled(rows), self.settings.seed)

    def commit(self, prepared: Prepared) -> None:
        """Add a block that has been prepared."""
        block, features, keys, tracker = prepared
        statistics = self.statistics
        if statistics is not None and features is not None:
            statistics.add(features, block.targets, self.n_columns, block.weights, keys)
            if self.ends and statistics.n_labelled > self.ends[-1]:
                self.ends = (*self.ends, statistics.n_labelled)
            if statistics.kept is None:
                self.ends = ()
        self.tracker = tracker
        self.position += block.n_rows

    def conclude(self) -> None:
        """Note where the penalty is to be chosen again, at the end of a block."""
        statistics = self.statistics
        if statistics is None or self.targets is None:
            return
        now = statistics.counted, statistics.n_labelled
        if schedule.choice_due(*now, self.mark):
            self.basis = replace(self.copy(), basis=None, chosen=None)
            self.mark, self.ends, self.chosen = now, (now[1],), None

    def learn(
        self, block: Block, features: Floats | None = None, n_jobs: int | None = None
    ) -> None:
        """Learn a block, all of it at once."""
        self.commit(self.prepare(block, features, n_jobs))

    def refuse_other_map(self, other: Learnt) -> None:
        """Refuse one whose features are others."""
        if self.tracker is not None and other.tracker is not None:
            self.tracker.merged(other.tracker)

    def halve(self) -> None:
        """Let all that was learnt of features and targets count half."""
        assert self.statistics is not None
        self.statistics.fade(0.5)
        self.forget_choice()

    def begin_anew(self, rows: Kept) -> None:
        """Forget all but the latest rows; the map stays, and what it remembers of inputs."""
        statistics = self.empty().statistics
        assert statistics is not None
        statistics.add(rows.features, rows.targets, self.n_columns, rows.weights, rows.keys)
        self.statistics = statistics
        self.forget_choice()

    def merge(self, other: Learnt, targets: Targets | None, columns: Any) -> None:
        """Absorb what another one has learnt; its columns of targets have these indices here."""
        if self.tracker is not None and other.tracker is not None:
            self.tracker = self.tracker.merged(other.tracker)
        self.targets = targets
        if self.statistics is not None and other.statistics is not None:
            self.statistics.merge(other.statistics, columns, self.n_columns)
        self.position += other.position
        self.forget_choice()

    def forget_choice(self) -> None:
        """Let the penalty be chosen anew at the next need."""
        self.mark = self.basis = self.chosen = self.factor = None
        self.ends = ()

    def empty(self) -> Learnt:
        """Return one that has learnt nothing, under the present map and about the same origin."""
        settings, statistics = self.settings, self.statistics
        tracker = None
        if self.tracker is not None:
            tracker = Tracker.of(self.tracker.spec, self.tracker.feature_map)
        if statistics is not None:
            statistics = self._statistics(
                settings, tracker, statistics.origin, statistics.target_origin
            )
        return Learnt(settings, tracker, statistics, self.targets)

    def copy(self) -> Learnt:
        """Return an independent object in the same state."""
        statistics = None if self.statistics is None else self.statistics.copy()
        # Tracker and targets are values: replaced, never changed.
        twin = replace(self, statistics=statistics)
        twin.planned_on, twin.factor = self.planned_on, copy(self.factor)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"factor": None}  # it is made again, to the same bits


def _target_origin(block: Block, targets: Targets | None) -> NDArray[np.float64] | None:
    """Return the mean of the first numbers; zeros for labels and indicators."""
    if targets is None or block.targets is None:
        return None
    labelled = block.labelled()
    if targets.kind != "numbers" or not labelled.any():
        return np.zeros(targets.n_columns)
    numbers = matrix(block.targets[labelled], targets.n_columns)
    return np.asarray(numbers.mean(axis=0), dtype=np.float64)
