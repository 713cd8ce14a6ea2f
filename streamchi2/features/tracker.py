"""A feature map that follows its stream: planned on the first rows, re-estimated, transported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.checks.rows import Rows
from streamchi2.errors import BasisHint, PrecisionWarning, StateMismatchError
from streamchi2.features.feature_map import FeatureMap, MapBlock, parts_of
from streamchi2.features.planning import plan_block, usual_beta
from streamchi2.features.spec import BlockSpec, MapSpec, first_difference
from streamchi2.saving import Value, saved
from streamchi2.series.predicted_error import (
    SampledError,
    predicted_kernel_error,
    relevant,
    shrinkage,
    tolerance,
)
from streamchi2.series.transport import RotatedSeries, misalignment, transported
from streamchi2.statistics.log_histogram import LogHistogram
from streamchi2.statistics.sample import Keys, Sample
from streamchi2.statistics.schedule import is_early, reestimation_due

SAMPLE_ROWS = 128  # on which the kernel's error is measured
MERGE_TOLERANCE = 0.1  # relative distance of coordinates above which shards do not merge
_SPARSE = 0.05  # share of non-zero values: text has 1 to 3 %, bags of visual words 12 % and more
_MOST_TRANSPORTS = 256  # that are kept one by one
_CLEARLY_BETTER = 0.7
_OTHER_SCALE = 10.0  # factor of beta beyond which nearly all pairs are alike, or none
_FAR = 0.5  # residual above which features before and after have little in common
_NEGLIGIBLE = 1 / 3  # of the tolerance: nothing that was learnt is moved for less


@saved("transport")
@dataclass(frozen=True)
class Transport:
    """One re-estimation of the nodes k, an entry of ``transports_``.

    Parameters
    ----------
    position : int
        Number of rows after which k was estimated again.
    residual : float
        How far the coordinates moved although they were rotated onto the old ones, relative to
        their length. Values above 1/beta count as little for it as they do for the kernel.

    Examples
    --------
    >>> Transport(position=256, residual=0.02)
    Transport(position=256, residual=0.02)
    """

    position: int
    residual: float


class KernelError(NamedTuple):
    """Error of the kernel, measured over all pairs of a sample of the rows seen.

    What ``kernel_error()`` of an estimator returns. The exp-chi2 kernel itself is between 0 and 1.

    Parameters
    ----------
    rms : float
        Root mean square of the differences between the products of features and the exact kernel.
    worst : float
        The largest absolute difference.

    Examples
    --------
    >>> from streamchi2 import ExpChi2Sampler
    >>> sampler = ExpChi2Sampler(256, beta=1.0, random_state=0).fit([[0.2, 0.8], [0.7, 0.3]])
    >>> error = sampler.kernel_error()
    >>> error.rms == error.worst  # of the one pair there is
    True
    """

    rms: float
    worst: float


@saved("block_tracker")
@dataclass(frozen=True, eq=False)
class BlockTracker(Value):
    """The histogram of one block's inputs, a sample of rows, and the block made from them.

    When nodes are due, the series is fitted again if its predicted error is above a third of the
    Monte Carlo error and the new one is clearly better; it is then rotated onto the old
    coordinates, so that features stay what they were (see :mod:`streamchi2.series.transport`). Of
    several new ones, the sampled rows choose that under which their kernel is best, and refuse it
    where the present one is better and the error matters.
    """

    spec: BlockSpec
    block: MapBlock
    histogram: LogHistogram
    sample: Sample
    transports: tuple[Transport, ...] = ()  # the last ones
    moved: float = 0.0  # sum of all residuals

    @classmethod
    def of(cls, spec: BlockSpec, block: MapBlock) -> Self:
        """Return the tracker of a stream without rows."""
        sample = Sample(SAMPLE_ROWS, spec.seed, spec.fading)
        return cls(spec, block, LogHistogram(half_life=spec.fading), sample)

    def absorbed(self, rows: Rows, weights: NDArray[np.float64], keys: Keys | None = None) -> Self:
        """Return the tracker after validated rows of positive weight, which may have keys."""
        rows = self.spec.normalized(rows)
        histogram, sample = self.histogram.copy(), self.sample.copy()
        histogram.absorb(rows, weights)
        sample.add(rows, weights, keys=keys)
        return replace(self, histogram=histogram, sample=sample)

    def reestimated(self, position: int) -> tuple[Self, list[str]]:
        """Fit the series again, if it is to adapt and that pays; with what is to be said of it."""
        block, limit = self.block, tolerance(self.block.n_components)
        if not self.spec.adapt or self.predicted_kernel_error() <= limit:
            return self, []
        measured = SampledError(block.basis.beta, self.sample.rows)
        error = measured.of(block.series)
        if error <= _NEGLIGIBLE * limit:
            return self, []  # the prediction is an upper estimate, which rows need not bear out
        candidates = [(measured.of(new), residual, new) for new, residual in self._candidates()]
        present = (error, 0.0, block.series)
        least, residual, series = min(candidates, key=itemgetter(0), default=present)
        remedy = (
            f"; more terms than n_terms={block.series.n_terms} from the start follow a drift "
            "further (12 cover six decades of scale)"
        )
        tracker, messages = self, []
        if least <= _CLEARLY_BETTER * error:
            tracker = replace(self, block=block.with_series(series))
            tracker, error = tracker._recorded(Transport(position, residual)), least
            if residual > _FAR and block.basis.moves_with_series:
                messages = [f"k was estimated again and moved the coordinates by {residual:.0%}"]
        noise = 3.0 * limit
        if error > noise and self.spec.n_terms == "auto":  # others have chosen their precision
            said = f"the series costs the kernel {error:.2g}, its random features {noise:.2g}"
            messages.append(said)
        return tracker, [message + remedy for message in messages]

    def _candidates(self) -> Iterator[tuple[RotatedSeries, float]]:
        """Yield series that are predicted to be clearly better, with their residuals.

        They differ in how much they care for values so large that the kernel is nearly zero; where
        there are none, there is one series at most.
        """
        present = self.block.series
        for power in (0, 1, 2):
            histogram = relevant(self.histogram, self.block.basis.beta, power)
            if power and histogram is self.histogram:
                return
            candidate = self.spec.series_class.from_histogram(histogram, present.n_terms)
            lost = [abs(shrinkage(histogram, one)) for one in (present, candidate)]
            if lost[1] < _CLEARLY_BETTER * lost[0]:
                yield transported(present, candidate, histogram)

    def _recorded(self, transport: Transport) -> Self:
        transports = (*self.transports, transport)[-_MOST_TRANSPORTS:]
        return replace(self, transports=transports, moved=self.moved + transport.residual)

    def other_scale(self) -> list[str]:
        """Say where rows since the first ones are of another scale than beta was set for."""
        rows = self.sample.rows
        if self.spec.beta != "auto" or not self.spec.has_scale or rows is None:
            return []
        present, usual = self.block.basis.beta, usual_beta(rows, np.ones(rows.shape[0]))
        if 1.0 / _OTHER_SCALE <= usual / present <= _OTHER_SCALE:
            return []
        return [
            f"beta is {present:.2g}, set by the first {self.spec.first_rows} rows, where a "
            f"sample of all rows asks for {usual:.2g}; learn afresh from rows in another "
            f"order, or with beta={usual:.2g}"
        ]

    def predicted_kernel_error(self) -> float:
        """Return what the series is predicted to cost the kernel, on the inputs seen so far."""
        block, width = self.block, self.spec.n_features
        return predicted_kernel_error(block.series, self.histogram, block.basis.beta, width)

    def kernel_error(self) -> KernelError:
        """Return the error of the features' kernel against the exact one, on the sampled rows."""
        products, exact = self.sampled_kernels()
        error = products - exact
        return KernelError(float(np.sqrt(np.mean(error**2))), float(np.abs(error).max()))

    def sampled_kernels(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return products of features and the exact kernel, for all pairs of the sampled rows."""
        rows = self.sample.rows
        n_sampled = 0 if rows is None else rows.shape[0]
        if n_sampled < 2:
            raise ValueError(f"kernel_error needs at least two different rows, got {n_sampled}")
        unscaled = replace(self.block, norm=None)  # the sample holds rows as the series sees them
        features = unscaled.transform(rows).astype(np.float64)
        exact = self.block.basis.exact_kernel(rows)
        pairs = np.triu_indices(exact.shape[0], k=1)
        return (features @ features.T)[pairs], exact[pairs]

    def merged(self, other: Self) -> Self:
        """Return the tracker of both streams.

        Blocks that differ only by transport are aligned already; how well is checked under the
        joint histogram, and added to the record.
        """
        histogram, sample = self.histogram.copy().merge(other.histogram), self.sample.copy()
        sample.merge(other.sample)
        longer = max(self, other, key=lambda side: len(side.transports))
        tracker = replace(longer, block=self.block, histogram=histogram, sample=sample)
        if self.block == other.block:
            return tracker
        distance = _distance(self.block, other.block, histogram)
        return tracker._recorded(Transport(sample.n_rows, distance))


@saved("tracker")
@dataclass(frozen=True, eq=False)
class Tracker(Value):
    """What a stream remembers of its inputs, and the feature map that follows them.

    A value: every step returns another one, which shares what has not changed.

    Law: merging shards that share a map equals one pass; an empty shard changes nothing.

    Parameters
    ----------
    spec : MapSpec
        All that the user chose.
    parts : tuple of BlockTracker
        One for each block of the map.
    warned_at : int or None, default=None
        Position of the one warning about precision in the life of a stream.

    Attributes
    ----------
    warnings : tuple of Warning
        What the last step asks to be said; the caller says it.
    """

    spec: MapSpec
    parts: tuple[BlockTracker, ...]
    warned_at: int | None = None
    warnings: tuple[Warning, ...] = field(default=(), init=False, repr=False)

    @classmethod
    def planned(
        cls, spec: MapSpec, rows: Rows, weights: NDArray[np.float64], *, final: bool = True
    ) -> Self:
        """Return the tracker of a stream that begins with these rows, its map planned on them.

        A map that is not final serves for a while: it is planned quickly, and nothing is said.
        """
        parts: list[BlockTracker] = []
        messages: list[str] = []
        hints: list[Warning] = []
        for each, part in zip(spec.blocks, parts_of(rows, spec.columns), strict=True):
            normalized = each.normalized(part)
            block = plan_block(each, normalized, weights, final=final)
            parts.append(BlockTracker.of(each, block).absorbed(part, weights))
            if final:
                messages += _vanishing(each, normalized)
                hints += _hints(each, normalized)
        return cls(spec, tuple(parts))._saying(rows.shape[0], messages, hints)

    @classmethod
    def of(cls, spec: MapSpec, feature_map: FeatureMap) -> Self:
        """Return the tracker of a stream that has a map and has seen nothing: of a shard."""
        pairs = zip(spec.blocks, feature_map.blocks, strict=True)
        return cls(spec, tuple(BlockTracker.of(each, block) for each, block in pairs))

    @cached_property
    def feature_map(self) -> FeatureMap:
        """The map in use."""
        return FeatureMap(tuple(part.block for part in self.parts), self.spec.columns)

    @property
    def n_rows(self) -> int:
        """Number of rows seen."""
        return self.parts[0].sample.n_rows

    def absorbed(
        self,
        rows: Rows,
        weights: NDArray[np.float64],
        position: int,
        *,
        keys: Keys | None = None,
        adapt: bool = True,
    ) -> Self:
        """Return the tracker after a block of validated rows of positive weight.

        Parameters
        ----------
        rows, weights
            The block.
        position : int
            Rows of the stream by then.
        keys : ndarray, shape (n,), optional
            Hashes of whole rows under the seed of the sample, where they are there already.
        adapt : bool, default=True
            Whether nodes are estimated again where that is due.
        """
        before, first_rows = position - rows.shape[0], self.spec.first_rows
        due = adapt and reestimation_due(before, position, first_rows, self.spec.shared.fading)
        parts, messages = [], []
        for part, read in zip(self.parts, parts_of(rows, self.spec.columns), strict=True):
            after = part.absorbed(read, weights, keys if self.spec.columns is None else None)
            if due:
                after, said = after.reestimated(position)
                messages += said
                # While little has been learnt: what comes later is drift, which series follow.
                if is_early(position, first_rows):
                    messages += after.other_scale()
            parts.append(after)
        tracker = replace(self, parts=tuple(parts))._saying(position, messages, [])
        if not due:  # the same map, with what it remembers
            vars(tracker)["feature_map"] = self.feature_map
        return tracker

    def _saying(self, position: int, messages: list[str], hints: list[Warning]) -> Self:
        """Return the tracker that says something; of precision once in the life of a stream."""
        warned_at, warnings = self.warned_at, hints
        if messages and warned_at is None:
            warned_at = position
            warnings = [*hints, PrecisionWarning(f"at row {position} {messages[0]}")]
        tracker = replace(self, warned_at=warned_at)
        object.__setattr__(tracker, "warnings", tuple(warnings))
        return tracker

    def each(self, look: Callable[[BlockTracker], Any]) -> Any:
        """Return what is read of the only block, or of each descriptor's under its name."""
        if self.spec.names is None:
            return look(self.parts[0])
        pairs = zip(self.spec.names, self.parts, strict=True)
        return {name: look(part) for name, part in pairs}

    def merged(self, other: Self) -> Self:
        """Return the tracker of both streams; refused where their maps are not the same."""
        if (difference := self.spec.difference(other.spec)) is not None:
            name, mine, theirs = difference
            raise StateMismatchError(f"{name} must agree to merge, got {mine!r} and {theirs!r}")
        pairs = zip(self.parts, other.parts, strict=True)
        parts = tuple(mine.merged(theirs) for mine, theirs in pairs)
        warned = [side.warned_at for side in (self, other) if side.warned_at is not None]
        return replace(self, parts=parts, warned_at=min(warned, default=None))


def _vanishing(spec: BlockSpec, rows: Rows) -> list[str]:
    """Say where all values are so small that features vanish."""
    largest = float(rows.max())
    if not 0.0 < largest < spec.least_value:
        return []
    return [
        f"no value of X has been above {largest:.2g}, so that features of basis={spec.basis!r} "
        f"vanish in dtype={spec.dtype!r}; multiply X by a constant, or give norm='l1' or "
        "dtype='float64'"
    ]


def _hints(spec: BlockSpec, rows: Rows) -> list[BasisHint]:
    """Say where rows are wide and sparse, as text is, and another basis is better."""
    if spec.basis != "subspace" or not isinstance(rows, sparse.csr_array):
        return []
    n_columns = int(np.unique(rows.indices).size)
    density = rows.nnz / max(1, rows.shape[0] * n_columns)
    if density >= _SPARSE or n_columns <= (spec.n_components or 0):
        return []
    return [
        BasisHint(
            f"X has {n_columns} columns in use, of which {density:.1%} are non-zero: on wide, "
            "sparse counts such as text, basis='additive' with n_components=4096 is usually more "
            "accurate and cheaper than basis='subspace'"
        )
    ]


def _distance(mine: MapBlock, theirs: MapBlock, histogram: LogHistogram) -> float:
    """Return how far apart the coordinates of two blocks are, which differ by transport alone."""
    if (what := _what_differs(mine, theirs)) is not None:
        raise StateMismatchError(
            f"maps must differ by transport alone to merge, got {what}, planned on other first "
            "rows; make shards with new_shard() of one estimator"
        )
    residual = misalignment(mine.series, theirs.series, histogram)
    if residual > MERGE_TOLERANCE:
        raise StateMismatchError(
            f"coordinates must agree within {MERGE_TOLERANCE:.0%} to merge, "
            f"got a distance of {residual:.1%}"
        )
    return residual


def _what_differs(mine: MapBlock, theirs: MapBlock) -> str | None:
    """Name the first thing in which two blocks differ that transport cannot bridge."""
    kinds = [type(side.basis).__name__ for side in (mine, theirs)]
    if kinds[0] != kinds[1]:
        return f"{kinds[0]} and {kinds[1]}"
    if mine.series.n_terms != theirs.series.n_terms:
        return f"series of {mine.series.n_terms} and of {theirs.series.n_terms} terms"
    aligned = mine.with_series(theirs.series)
    difference = first_difference(mine.basis, theirs.basis) or first_difference(aligned, theirs)
    if difference is None:
        return None
    name, left, right = difference
    plain = left is None or isinstance(left, float | int | str)
    return f"{name} {left!r} and {right!r}" if plain else f"different {name}"
