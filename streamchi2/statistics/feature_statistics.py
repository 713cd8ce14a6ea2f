"""What a learner remembers of its features: moments, or the rows themselves while they are few."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks import Floats, Rows
from streamchi2.errors import StateMismatchError
from streamchi2.state import (
    Array,
    Bool,
    Float,
    Int,
    Kind,
    Maybe,
    Object,
    Saved,
    SavedValue,
    Targets,
    TupleOf,
    require,
)
from streamchi2.statistics.block_moments import BlockMoments
from streamchi2.statistics.centred_block import faded_weights, fading
from streamchi2.statistics.change import Change, Step
from streamchi2.statistics.class_moments import ClassMoments
from streamchi2.statistics.moments import Moments, pooled
from streamchi2.statistics.reservoir import Reservoir
from streamchi2.statistics.separate_moments import SeparateMoments
from streamchi2.statistics.target_moments import TargetMoments
from streamchi2.statistics.targets import NumericTargets, has_target

LabelledMoments: TypeAlias = ClassMoments | SeparateMoments | TargetMoments
_Labelled: TypeAlias = LabelledMoments | None
_Unlabelled: TypeAlias = Moments | BlockMoments | None

CALIBRATION_ROWS = 1024
_FEW_ROWS = 64  # products of so few are cheap, and a model of few rows needs every digit


@dataclass(frozen=True, eq=False)
class FeatureBlock(SavedValue):
    """Features of consecutive rows, with targets and weights; weights are those at its end."""

    STATE: ClassVar[dict[str, Kind]] = {
        "features": Array(2, ("<f4", "<f8")),
        "targets": Maybe(Targets()),
        "weights": Array(),
    }

    features: Floats
    targets: NDArray[Any] | None
    weights: NDArray[np.float64]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.features.shape[0])

    def faded(self, factor: float) -> FeatureBlock:
        """Return the block with every weight times a factor."""
        return FeatureBlock(self.features, self.targets, factor * self.weights)

    def validate(self) -> None:
        """Require targets and weights for every row."""
        require(self.weights.shape == (self.n_rows,), "weights must be one a row")
        require((self.weights >= 0.0).all(), "weights must not be negative")
        fits = self.targets is None or self.targets.shape[0] == self.n_rows
        require(fits, "targets must be one a row")


class FeatureStatistics(Saved):
    """Moments of features and targets, and a sample of rows for calibration.

    Rows with a target enter the regression, rows without one only the covariance of the features,
    from which principal components are taken. While rows are fewer than ``dual_rows`` their
    features are kept as they are, so that a model can be solved in dual form; then they become
    moments, by the same blocks in the same order as if they had been moments from the start.

    Laws: merging equals having seen both streams; an empty side changes nothing; without a
    half-life, keeping rows first changes no bit of the moments.

    Parameters
    ----------
    sizes : tuple of int
        Number of features of each descriptor; one number without descriptors.
    n_targets : int or None
        Number of numeric targets a row, 0 for class labels, None where there are no targets.
    half_life : float or None, default=None
        Rows after which a row counts half; None remembers everything.
    dual_rows : int, default=0
        Rows up to which features are kept.
    sample_seed : int or None, default=None
        Seed of the sample of rows; None where none is kept.
    separate : bool, default=False
        Whether moments are kept of each class by itself.
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "sizes": TupleOf(Int(1)),
        "n_targets": Maybe(Int()),
        "half_life": Maybe(Float(0.0)),
        "dual_rows": Int(),
        "n_rows": Int(),
        "n_labelled": Int(),
        "kept": TupleOf(Object((FeatureBlock,))),
        "separate": Bool(),
        "labelled": Maybe(Object((ClassMoments, SeparateMoments, TargetMoments))),
        "unlabelled": Maybe(Object((Moments, BlockMoments))),
        "sample": Maybe(Object((Reservoir,))),
    }

    def __init__(
        self,
        sizes: tuple[int, ...],
        n_targets: int | None,
        *,
        half_life: float | None = None,
        dual_rows: int = 0,
        sample_seed: int | None = None,
        separate: bool = False,
    ) -> None:
        self.sizes = sizes
        self.n_targets = n_targets
        self.half_life = half_life
        self.dual_rows = dual_rows
        self.separate = separate
        self.n_rows = 0
        self.n_labelled = 0  # rows that had a target
        self.kept: tuple[FeatureBlock, ...] = ()
        # Large, made when they are needed.
        self.labelled: _Labelled = None
        self.unlabelled: Moments | BlockMoments | None = None
        self.sample = (
            None if sample_seed is None else Reservoir(CALIBRATION_ROWS, sample_seed, half_life)
        )

    @property
    def n_features(self) -> int:
        """Number of features of all descriptors."""
        return sum(self.sizes)

    def update(
        self,
        features: Floats,
        rows: Rows | None = None,
        targets: NDArray[Any] | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> Self:
        """Absorb the next block: its features, the rows they come from, targets and weights."""
        self.absorbing(features, rows, targets, weights).finish()
        return self

    def absorbing(
        self,
        features: Floats,
        rows: Rows | None = None,
        targets: NDArray[Any] | None = None,
        weights: NDArray[np.float64] | None = None,
        *,
        sampled: bool = True,
    ) -> Change:
        """Return what absorbs the next block once it is finished; until then nothing changes.

        Without ``sampled`` there is no sample afterwards.
        """
        n_rows = int(features.shape[0])
        known = has_target(targets, n_rows)
        n_known = int(np.count_nonzero(known))
        sample = None
        if sampled and self.sample is not None:
            assert rows is not None
            sample = sample_with(self.sample, rows, targets, weights)
        weights = faded_weights(n_rows, weights, self.half_life)
        block = FeatureBlock(features, targets, weights)
        kept, labelled, unlabelled = self._faded(fading(n_rows, self.half_life))
        # Rows are kept until there are as many as features, or moments have begun.
        steps: list[Step] = []
        if self.n_rows + n_rows < self.dual_rows and self.n_rows == self.n_kept:
            kept = (*kept, block)
        else:
            labelled, unlabelled = self._fold((*kept, block), labelled, unlabelled, steps)
            kept = ()
        values = {
            "kept": kept,
            "labelled": labelled,
            "unlabelled": unlabelled,
            "sample": sample,
            "n_rows": self.n_rows + n_rows,
            "n_labelled": self.n_labelled + n_known,
        }
        return Change(self, values, tuple(steps))

    def aligning(self, before: NumericTargets, after: NumericTargets) -> Change:
        """Return what gives the targets of all rows other columns, once it is finished."""
        kept = tuple(
            replace(block, targets=after.aligned(plain(block.targets), before))
            for block in self.kept
        )
        sample = None if self.sample is None else self.sample.copy()
        if sample is not None and sample.targets is not None:
            sample.targets = after.aligned(sample.targets, before)
        labelled = self.labelled
        steps = (labelled.aligning(before, after),) if isinstance(labelled, TargetMoments) else ()
        values = {"n_targets": after.n_targets, "kept": kept, "sample": sample}
        return Change(self, values, steps)

    @property
    def n_kept(self) -> int:
        """Number of rows whose features are kept."""
        return sum(block.n_rows for block in self.kept)

    @property
    def is_dual(self) -> bool:
        """Whether the features of every row so far are kept."""
        return self.n_kept == self.n_rows < self.dual_rows

    def fold(self) -> Self:
        """Let kept rows become moments."""
        self.labelled, self.unlabelled = self._fold(self.kept, self.labelled, self.unlabelled)
        self.kept = ()
        return self

    def folded(self) -> Self:
        """Return statistics whose rows are all in the moments; this object stays as it is."""
        return self.copy().fold() if self.kept else self

    def _fold(
        self,
        blocks: tuple[FeatureBlock, ...],
        labelled: _Labelled,
        unlabelled: _Unlabelled,
        steps: list[Step] | None = None,
    ) -> tuple[_Labelled, _Unlabelled]:
        """Return moments with more blocks, those given changed in place.

        With ``steps``, moments of this object are not changed: what changes them is added there.
        """
        for block in blocks:
            features, known = block.features, has_target(block.targets, block.n_rows)
            if block.n_rows <= _FEW_ROWS:
                features = features.astype(np.float64, copy=False)
            if known.any():
                targets = plain(chosen(block.targets, known))
                labelled = self.empty_labelled() if labelled is None else labelled
                own, weights = chosen(features, known), chosen(block.weights, known)
                if steps is None or labelled is not self.labelled:
                    labelled.update(own, targets, weights=weights)
                else:
                    steps.append(labelled.pooling(own, targets, weights))
            if not known.all():
                unlabelled = self._no_rows() if unlabelled is None else unlabelled
                own, weights = chosen(features, ~known), chosen(block.weights, ~known)
                if steps is None or unlabelled is not self.unlabelled:
                    unlabelled.update(own, weights=weights)
                else:
                    steps.append(unlabelled.pooling_rows(own, weights))
        return labelled, unlabelled

    def empty_labelled(self) -> LabelledMoments:
        """Return moments of no rows with targets."""
        assert self.n_targets is not None
        if self.n_targets == 0:
            kind = SeparateMoments if self.separate else ClassMoments
            return kind(self.n_features)
        return TargetMoments(self.n_features, self.n_targets)

    def _no_rows(self) -> Moments | BlockMoments:
        # Principal components are those of each descriptor: nothing between two is needed.
        if len(self.sizes) > 1:
            return BlockMoments.of_sizes(self.sizes)
        return Moments(self.n_features)

    def feature_moments(self) -> Moments | BlockMoments:
        """Return the moments of all features, with and without targets; all must be folded."""
        rest = self.unlabelled
        if self.labelled is None:
            return self._no_rows() if rest is None else rest
        if rest is None:
            return self.labelled.features
        if isinstance(rest, BlockMoments):
            return rest.pooled(self.labelled.features)
        return pooled(self.labelled.features, rest)

    def fade(self, factor: float) -> Self:
        """Let everything seen so far count ``factor`` times as much; means stay."""
        sample = None if self.sample is None else self.sample.copy().fade(factor)
        self.kept, self.labelled, self.unlabelled = self._faded(factor)
        self.sample = sample
        return self

    def _faded(self, factor: float) -> tuple[tuple[FeatureBlock, ...], _Labelled, _Unlabelled]:
        """Return kept rows and moments that count ``factor`` times as much; these stay."""
        if factor == 1.0:
            return self.kept, self.labelled, self.unlabelled
        return (
            tuple(block.faded(factor) for block in self.kept),
            None if self.labelled is None else self.labelled.faded(factor),
            None if self.unlabelled is None else self.unlabelled.faded(factor),
        )

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has seen; ``other`` is untouched."""
        if self.sizes != other.sizes:
            raise StateMismatchError(
                f"features must agree to merge, got {self.sizes} and {other.sizes}"
            )
        if self.n_targets != other.n_targets:
            raise StateMismatchError(
                f"targets must agree to merge, got {self.n_targets} and {other.n_targets} a row"
            )
        if self.half_life != other.half_life:
            raise StateMismatchError(
                f"half_life must agree to merge, got {self.half_life} and {other.half_life}"
            )
        total = self.n_rows + other.n_rows
        both_kept = self.n_kept == self.n_rows and other.n_kept == other.n_rows
        if both_kept and total < self.dual_rows:
            self.kept = (*self.kept, *other.kept)
        else:
            self._pool(other)
        if self.sample is not None and other.sample is not None:
            self.sample = self.sample.copy().merge(other.sample)
        self.n_rows = total
        self.n_labelled += other.n_labelled
        return self

    def _pool(self, other: Self) -> None:
        self.fold()
        other = other.folded()
        for name in ("labelled", "unlabelled"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if theirs is not None:
                setattr(self, name, theirs.copy() if mine is None else mine.merge(theirs))

    def copy(self) -> Self:
        """Return an independent object in the same state."""
        twin = object.__new__(type(self))
        # Kept blocks and samples are replaced, never changed.
        twin.__dict__.update(
            self.__dict__,
            labelled=None if self.labelled is None else self.labelled.copy(),
            unlabelled=None if self.unlabelled is None else self.unlabelled.copy(),
        )
        return twin

    def validate(self) -> None:
        """Require parts of one width and of the same rows, and a sample of known labels."""
        require(len(self.sizes) > 0, "there must be features")
        require(self.n_labelled <= self.n_rows, "more targets than rows")
        width = self.n_features
        for block in self.kept:
            require(block.features.shape[1] == width, f"kept rows must have {width} features")
            self._check_kind(block.targets)
        require(self.n_kept in (0, self.n_rows), "all rows must be kept, or none")
        require(self.n_kept < max(self.dual_rows, 1), "so many rows are not kept")
        if self.labelled is not None:
            require(self.n_targets is not None, "moments of targets that there are none of")
            same = type(self.labelled) is type(self.empty_labelled())
            require(same, "moments of another kind of targets")
            n_targets = getattr(self.labelled, "n_targets", 0)
            require(n_targets == self.n_targets, "moments of another number of targets")
            require(
                self.labelled.features.n_features == width, f"moments must have {width} features"
            )
        if self.unlabelled is not None:
            require(self.unlabelled.n_features == width, f"moments must have {width} features")
        self._check_sample()

    def _check_kind(self, targets: NDArray[Any] | None) -> None:
        require((targets is None) == (self.n_targets is None), "kept rows must have targets")
        if targets is not None and self.n_targets == 0:
            require(targets.dtype.names is not None, "kept rows must have labels")
        elif targets is not None:
            require(targets.shape[1:] == (self.n_targets,), "targets of another width")

    def _check_sample(self) -> None:
        sample = self.sample
        if sample is None:
            return
        require(self.n_targets is not None, "a sample belongs to targets")
        require(sample.half_life == self.half_life, "half_life must be that of the sample")
        n_kept = sample.scores.size
        require((sample.targets is None) == (n_kept == 0), "sampled rows must have their labels")
        width = 0 if sample.targets is None or sample.targets.ndim == 1 else sample.targets.shape[1]
        require(sample.targets is None or width == self.n_targets, "targets of another kind")


def sample_with(
    sample: Reservoir,
    rows: Rows,
    targets: NDArray[Any] | None,
    weights: NDArray[np.float64] | None,
) -> Reservoir:
    """Return a sample that also had the chance to keep some more rows, those with targets."""
    sample, known = sample.copy(), has_target(targets, rows.shape[0])
    if targets is not None and known.any():
        sample.absorb(chosen(rows, known), chosen(weights, known), plain(targets)[known])
    return sample


def plain(targets: NDArray[Any] | None) -> NDArray[Any]:
    """Return targets without the flags that say which labels were given."""
    assert targets is not None
    return targets if targets.dtype.names is None else targets["label"]


def chosen(array: Any, mask: NDArray[np.bool_]) -> Any:
    """Return the chosen rows, without a copy where all are chosen."""
    return array if array is None or mask.all() else array[mask]
