"""What a learner remembers of its features: the rows themselves while few, then moments."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks.rows import Array, Floats, Indices
from streamchi2.errors import StateMismatchError
from streamchi2.saving import saved
from streamchi2.statistics.moments import Moments, RegressionMoments, largest_of, of_classes
from streamchi2.statistics.sample import Keys, Sample
from streamchi2.statistics.targets import aligned, dense, has_target, matrix, moved
from streamchi2.statistics.weights import LEAST_WEIGHT, faded_to_end

SAMPLED_ROWS = 1024  # that are left out to choose the penalty
_LARGEST = 1e150  # of features times the roots of their weights: squares can be summed


@saved("kept_rows")
@dataclass(eq=False)
class Kept:
    """Features of rows with a target, in the order of the stream, with weights as of now."""

    features: Floats  # (n, D)
    targets: NDArray[np.int64] | Array  # codes (n,), or columns (n, T)
    weights: Array  # (n,)
    keys: Keys  # (n,), hashes of the rows they come from
    # Of which the features are the first rows; no other object writes into the rest.
    _room: Floats | None = field(default=None, init=False, repr=False)

    def append(self, rows: Kept, fading: float = 1.0) -> None:
        """Add more rows, after letting those so far count ``fading`` times as much."""
        n_rows, total = self.weights.size, self.weights.size + rows.weights.size
        room, dtype = self._room, rows.features.dtype
        if room is None or room.shape[0] < total or room.dtype != dtype:
            dtype = np.result_type(self.features, rows.features)
            room = np.empty((max(total, n_rows + n_rows // 2), self.features.shape[1]), dtype)
            room[:n_rows] = self.features
        targets = np.concatenate([self.targets, rows.targets])
        weights = np.concatenate([np.maximum(fading * self.weights, LEAST_WEIGHT), rows.weights])
        keys = np.concatenate([self.keys, rows.keys])
        room[n_rows:total] = rows.features
        self.features, self._room = room[:total], room
        self.targets, self.weights, self.keys = targets, weights, keys

    def copy(self) -> Self:
        """Return an object that shares the rows so far, of which none is ever changed."""
        return replace(self)

    def part(self, rows: slice) -> Self:
        """Return some of the rows; who has the first of them may add to them in their place."""
        part = type(self)(
            self.features[rows], self.targets[rows], self.weights[rows], self.keys[rows]
        )
        part._room = None if rows.start else self._room
        return part


@saved("feature_statistics")
@dataclass(eq=False)
class FeatureStatistics:
    """Features of all rows: those with a target for the regression, the others for components.

    Rows with a target are kept as they are while they are at most ``cap``, so that a model can be
    solved in dual form; then they become moments, and a sample of them is kept. Rows without one
    are moments at once, of another kind. With a half-life each kind ages by its own rows alone.

    Law: merging equals having seen both streams, to rounding; an empty side changes nothing.

    Parameters
    ----------
    sizes : tuple of int
        Number of features of each descriptor; one number without descriptors.
    origin, target_origin : ndarray, shapes (D,) and (T,)
        About which moments are taken; ``target_origin`` is None where there are no targets.
    cap : int, default=0
        Rows with a target up to which their features are kept.
    half_life : float or None, default=None
        Rows after which a row counts half; None remembers everything.
    by_class : bool, default=False
        Whether targets are labels, and moments of each class are kept by themselves.

    Attributes
    ----------
    n_labelled, n_unlabelled : int
        Rows of each kind.
    counted, counted_unlabelled : float
        How many of them still count: faded numbers of rows, whatever they weigh.
    kept : Kept or None
        Rows with a target, until they become moments.
    labelled : tuple of Moments
        Afterwards: one, or one for each class.
    sample : Sample or None
        A sample of the features of rows with a target, once these are moments.
    unlabelled : Moments or None
        Those of rows without a target.
    """

    sizes: tuple[int, ...]
    origin: Array
    target_origin: Array | None = None
    cap: int = 0
    half_life: float | None = None
    by_class: bool = False
    n_labelled: int = 0
    n_unlabelled: int = 0
    counted: float = 0.0
    counted_unlabelled: float = 0.0
    kept: Kept | None = None
    labelled: tuple[Moments, ...] = ()
    sample: Sample | None = None
    unlabelled: Moments | None = None

    @property
    def n_features(self) -> int:
        """Number of features of all descriptors."""
        return int(self.origin.size)

    @property
    def n_targets(self) -> int:
        """Number of columns of targets."""
        return 0 if self.target_origin is None else int(self.target_origin.size)

    def add(
        self,
        features: Floats,
        targets: NDArray[Any] | None,
        n_targets: int,
        weights: Array,
        keys: Keys | None,
    ) -> None:
        """Add the next block of rows.

        Parameters
        ----------
        features : ndarray, shape (n, D)
            float32 or float64.
        targets : ndarray or None
            Codes of labels (n,), -1 where absent; columns (n, T), NaN where absent; or None.
        n_targets : int
            Number of columns that there are by now.
        weights : ndarray, shape (n,)
            Positive.
        keys : ndarray, shape (n,), or None
            Hashes of the rows; None where there are no targets.
        """
        largest = largest_of(features) * np.sqrt(weights.max(initial=0.0))
        if largest > _LARGEST:
            raise ValueError(
                f"features times the roots of weights must be at most {_LARGEST}, got {largest}"
            )
        self.grow(n_targets)
        has = np.zeros(weights.size, np.bool_) if targets is None else has_target(targets)
        if targets is not None and keys is not None and has.any():
            rows = slice(None) if has.all() else has
            self._add_labelled(features[rows], targets[rows], weights[rows], keys[rows])
        if not has.all():
            self._add_unlabelled(features[~has], weights[~has])

    def _add_labelled(
        self,
        features: Floats,
        targets: NDArray[Any],
        weights: Array,
        keys: Keys,
    ) -> None:
        shares, fading = faded_to_end(weights.size, self.half_life)
        targets = aligned(targets, self.n_targets)
        rows = Kept(features, targets, np.maximum(weights * shares, LEAST_WEIGHT), keys)
        if self.labelled or self.n_labelled + weights.size > self.cap:
            self.fold()
            assert self.sample is not None
            self.sample.add(features, weights, targets, self.n_targets, keys)
            self._pour(rows, fading)
        else:
            self._keep(rows, fading)
        self.n_labelled += weights.size
        self.counted = fading * self.counted + float(shares.sum())

    def _keep(self, rows: Kept, fading: float = 1.0) -> None:
        if self.kept is None:
            self.kept = rows
        else:
            self.kept.append(rows, fading)

    def _add_unlabelled(self, features: Floats, weights: Array) -> None:
        shares, fading = faded_to_end(weights.size, self.half_life)
        moments = self.unlabelled or Moments.empty(self.origin)
        moments.add(features, None, weights * shares, fading=fading)
        self.unlabelled = moments
        self.n_unlabelled += weights.size
        self.counted_unlabelled = fading * self.counted_unlabelled + float(shares.sum())

    def _pour(self, rows: Kept, fading: float = 1.0) -> None:
        """Add rows to the moments of labelled rows, which fade before."""
        targets = None if self.by_class else matrix(rows.targets, self.n_targets)
        for label, part in enumerate(self.labelled):
            block = rows.targets == label if self.by_class else slice(None)
            part.add(rows.features[block], targets, rows.weights[block], fading=fading)

    def sampled(self, size: int = SAMPLED_ROWS) -> Sample:
        """Return a sample of the features of rows with a target, in the order of their scores.

        It has at most ``size`` rows while all rows are kept, 1024 later.
        """
        sample, kept = self.sample or Sample(size, 0, self.half_life), self.kept
        if kept is not None:
            n_rows, targets = kept.weights.size, dense(kept.targets, self.n_targets)
            arrays = (kept.keys, np.arange(n_rows)[::-1], kept.weights, targets, kept.features)
            sample.merge(Sample(size, 0, self.half_life, n_rows, *arrays))
        return sample.ordered()

    def grow(self, n_targets: int) -> None:
        """Let there be more columns of targets, which have been zero so far."""
        more = n_targets - self.n_targets
        if more <= 0 or self.target_origin is None:
            return
        self.target_origin = np.pad(self.target_origin, (0, more))
        if self.by_class and self.labelled:
            self.labelled += tuple(Moments.empty(self.origin) for _ in range(more))
        elif self.labelled:
            self.labelled[0].grow(n_targets)
        elif self.kept is not None:
            self.kept.targets = aligned(self.kept.targets, n_targets)

    def fold(self) -> Self:
        """Let kept rows become moments."""
        if not self.labelled:
            self.sample, kept, self.kept = self.sampled(), self.kept, None
            origins = [None] * self.n_targets if self.by_class else [self.target_origin]
            self.labelled = tuple(Moments.empty(self.origin, origin) for origin in origins)
            if kept is not None:
                self._pour(kept)
        return self

    def folded(self) -> Self:
        """Return statistics whose rows are all in the moments: a copy, or this object itself."""
        return self if self.labelled else self.copy().fold()

    def regression(
        self, class_factors: Array | None = None, *, whole: bool = True
    ) -> RegressionMoments:
        """Return what solvers read of the rows with a target.

        Parameters
        ----------
        class_factors : ndarray, shape (n_targets,), optional
            How many times as much the rows of each class count; only where classes are apart.
        whole : bool, default=True
            Whether the whole scatter is filled, or its lower triangle only.
        """
        return self._labelled_moments(class_factors).summary(whole=whole)

    def features(self) -> Moments:
        """Return the moments of the features of all rows, which must not be changed."""
        if self.unlabelled is None or self.n_labelled == 0:
            return self.unlabelled or self._labelled_moments()
        both = self._labelled_moments().copy()
        both.merge(self.unlabelled)
        return both

    def _labelled_moments(self, class_factors: Array | None = None) -> Moments:
        moments = self.folded().labelled
        if not self.by_class:
            return moments[0]
        factors = np.ones(len(moments)) if class_factors is None else class_factors
        return of_classes(moments, factors) if moments else Moments.empty(self.origin)

    def fade(self, factor: float) -> None:
        """Let all rows so far count ``factor`` times as much."""
        if self.kept is not None:
            self.kept.weights = factor * self.kept.weights
        if self.sample is not None:
            self.sample.weights = factor * self.sample.weights
        for part in (*self.labelled, *([] if self.unlabelled is None else [self.unlabelled])):
            part.fade(factor)
        self.counted *= factor
        self.counted_unlabelled *= factor

    def merge(
        self, other: Self, columns: Indices | None = None, n_targets: int | None = None
    ) -> None:
        """Add everything that another one has seen, which stays as it is.

        Parameters
        ----------
        other : FeatureStatistics
            Of the same features; its origins may differ.
        columns : ndarray, optional
            The column that each of its targets is here; the same ones where not given.
        n_targets : int, optional
            Number of columns of both together.
        """
        mine, theirs = ((side.sizes, side.half_life, side.by_class) for side in (self, other))
        if mine != theirs:
            names = "sizes of features, half_life and by_class"
            raise StateMismatchError(f"{names} must agree to merge, got {mine} and {theirs}")
        columns = np.arange(other.n_targets) if columns is None else columns
        self.grow(max(self.n_targets, other.n_targets) if n_targets is None else n_targets)
        if other.n_labelled:
            self._merge_labelled(other, columns)
        if other.unlabelled is not None:
            self.unlabelled = self.unlabelled or Moments.empty(self.origin)
            self.unlabelled.merge(other.unlabelled)
        self.n_labelled += other.n_labelled
        self.n_unlabelled += other.n_unlabelled
        self.counted += other.counted
        self.counted_unlabelled += other.counted_unlabelled

    def _merge_labelled(self, other: Self, columns: Indices) -> None:
        fits = not self.labelled and self.n_labelled + other.n_labelled <= self.cap
        if fits and other.kept is not None:
            targets = moved(other.kept.targets, columns, self.n_targets)
            self._keep(replace(other.kept, targets=targets))
            return
        theirs = other.folded()
        self.fold()
        assert self.sample is not None
        assert theirs.sample is not None
        self.sample.merge(theirs.sample, columns, self.n_targets)
        if self.by_class:
            for column, part in zip(columns.tolist(), theirs.labelled, strict=False):
                self.labelled[column].merge(part)
        else:
            self.labelled[0].merge(theirs.labelled[0], columns)

    def copy(self) -> Self:
        """Return an independent object in the same state."""
        return replace(
            self,
            kept=None if self.kept is None else self.kept.copy(),
            labelled=tuple(part.copy() for part in self.labelled),
            sample=None if self.sample is None else self.sample.copy(),
            unlabelled=None if self.unlabelled is None else self.unlabelled.copy(),
        )
