"""A feature map that follows its stream: planned on the first rows, re-estimated, transported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.bases import FIRST_ROWS
from streamchi2.checks import Rows
from streamchi2.errors import BasisHint, PrecisionWarning, StateMismatchError
from streamchi2.feature_map.feature_map import FeatureMap, MapBlock, read
from streamchi2.feature_map.normalization import l1_normalized
from streamchi2.feature_map.params import BlockParams, MapParams
from streamchi2.feature_map.planning import planned_block, series_kernel_error, usual_beta
from streamchi2.feature_map.sampled_error import SampledError
from streamchi2.runtime.warnings import warn
from streamchi2.series.predicted_error import shrinkage
from streamchi2.series.relevance import relevant
from streamchi2.series.transport import RotatedSeries, misalignment, transported
from streamchi2.state import (
    Float,
    Int,
    Kind,
    Maybe,
    Object,
    Saved,
    SavedValue,
    TupleOf,
    require,
)
from streamchi2.statistics.log_histogram import LogHistogram
from streamchi2.statistics.reservoir import Reservoir

SAMPLE_ROWS = 128  # on which the kernel's error is measured
MERGE_TOLERANCE = 0.1  # relative distance of coordinates above which shards do not merge
_SPARSE = 0.05  # share of non-zero values: text has 1 to 3 %, bags of visual words 12 % and more
_MOST_TRANSPORTS = 256  # that are kept one by one
_CLEARLY_BETTER = 0.7
_EARLY = 16  # times the first rows
_OTHER_SCALE = 10.0  # factor of beta beyond which nearly all pairs are alike, or none
_FAR = 0.5  # residual above which features before and after have little in common
_NEGLIGIBLE = 1 / 3  # of the tolerance: nothing that was learnt is moved for less
_PROVISIONAL_TERMS = 3  # finding out how many are needed would cost more than all else

Found = TypeVar("Found")


@dataclass(frozen=True)
class Transport(SavedValue):
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

    STATE: ClassVar[dict[str, Kind]] = {"position": Int(), "residual": Float(0.0)}

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


@dataclass(frozen=True)
class AdaptationSchedule:
    """When to estimate k again: rows 256, 1024, 4096, ... and every half of a half-life.

    >>> schedule = AdaptationSchedule(None)
    >>> [position for position in range(0, 5000, 64) if schedule.is_due(position)]
    [256, 1024, 4096]
    """

    half_life: float | None
    first_rows: int = FIRST_ROWS

    @property
    def period(self) -> int | None:
        """Half of the half-life, at least 64 rows; None without one."""
        return None if self.half_life is None else max(FIRST_ROWS, round(self.half_life / 2))

    @property
    def positions(self) -> tuple[int, ...]:
        """Single positions at which blocks end."""
        due = (4 * FIRST_ROWS,) if self.first_rows < 4 * FIRST_ROWS else ()
        return (self.first_rows, *due)

    @property
    def periods(self) -> tuple[int, ...]:
        """Periods at whose multiples blocks end."""
        return (1024,) if self.period is None else (1024, self.period)

    def is_due(self, position: int) -> bool:
        """Tell whether ``position`` is one of re-estimation."""
        if position <= self.first_rows:
            return False
        if self.period is not None and position % self.period == 0:
            return True
        blocks, rest = divmod(position, FIRST_ROWS)
        # 4, 16, 64, ...: one bit set, in an even place.
        return rest == 0 and blocks > 1 and blocks.bit_count() == 1 and blocks.bit_length() % 2 == 1


class AdaptiveBlock(Saved):
    """The histogram of one block's inputs, the block made from it, and a sample of rows.

    At positions that are due, the series is fitted again if its predicted error is above a third
    of the Monte Carlo error and the new one is clearly better; it is then rotated onto the old
    coordinates, so that features stay what they were (see :mod:`streamchi2.series.transport`). Of
    several new ones, the sampled rows choose that under which their kernel is best, and refuse it
    where the present one is better and the error matters.

    Law: merging shards that share a block equals one pass; an empty shard changes nothing.

    Parameters
    ----------
    params : BlockParams
        All that the user chose.
    block : MapBlock, optional
        A block to begin with, as the shards of one stream have.
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "params": Object((BlockParams,)),
        "block": Maybe(Object((MapBlock,))),
        "histogram": Object((LogHistogram,)),
        "sample": Object((Reservoir,)),
        "transports": TupleOf(Object((Transport,))),
        "moved": Float(0.0),
        "warned_at": Maybe(Int(1)),
    }

    def __init__(self, params: BlockParams, block: MapBlock | None = None) -> None:
        self.params = params
        self.block = block
        self.histogram = LogHistogram(half_life=params.half_life)
        self.sample = Reservoir(SAMPLE_ROWS, params.seed, params.half_life)
        self.transports: tuple[Transport, ...] = ()  # the last ones
        self.moved = 0.0  # sum of all residuals
        self.warned_at: int | None = None  # position of the one warning

    @property
    def n_rows(self) -> int:
        """Number of rows seen."""
        return self.sample.n_rows

    def absorb(
        self, rows: Rows, weights: NDArray[np.float64] | None = None, *, hint: bool = True
    ) -> MapBlock:
        """Absorb rows of positive weight and return the block under which they are learnt."""
        rows = self._normalized(rows)
        self.histogram.absorb(rows, weights)
        self.sample.absorb(rows, weights)
        if self.block is None:
            self.block = planned_block(self.params, rows, weights, self.histogram)
            if hint:
                self._hint(rows)
            self._check_least(rows)
        return self.block

    def _check_least(self, rows: Rows) -> None:
        """Warn where all values are so small that features vanish."""
        params, largest = self.params, float(rows.max())
        if 0.0 < largest < params.least_value:
            self._warn(
                f"no value of X has been above {largest:.2g}, so that features of "
                f"basis={params.basis!r} vanish in dtype={params.dtype!r}; multiply X by a "
                "constant, or give normalize='l1' or dtype='float64'"
            )

    def _hint(self, rows: Rows) -> None:
        """Say where rows are wide and sparse, as text is, and another basis is better."""
        params = self.params
        if params.basis != "subspace" or not isinstance(rows, sparse.csr_array):
            return
        n_columns = int(np.unique(rows.indices).size)
        density = rows.nnz / max(1, rows.shape[0] * n_columns)
        if density < _SPARSE and n_columns > (params.n_components or 0):
            warn(
                BasisHint(
                    f"X has {n_columns} columns in use, of which {density:.1%} are non-zero: on "
                    "wide, sparse counts such as text, basis='additive' with n_components=4096 is "
                    "usually more accurate and cheaper than basis='subspace'"
                )
            )

    def _normalized(self, rows: Rows) -> Rows:
        return rows if self.params.normalize is None else l1_normalized(rows)

    def provisional(self, rows: Rows, weights: NDArray[np.float64] | None) -> MapBlock:
        """Return a block planned on a few rows alone, quickly; nothing changes."""
        params, rows = self.params, self._normalized(rows)
        if params.n_terms == "auto":
            params = replace(params, n_terms=_PROVISIONAL_TERMS)
        histogram = LogHistogram()
        histogram.absorb(rows, weights)
        return planned_block(params, rows, weights, histogram)

    def check_scale(self) -> None:
        """Warn where rows since the first ones are of another scale than beta was set for."""
        block, rows = self.block, self.sample.rows
        if block is None or rows is None or self.params.beta != "auto":
            return
        if self.warned_at is not None or not self.params.has_scale:
            return
        present, usual = block.basis.beta, usual_beta(rows)
        if not 1.0 / _OTHER_SCALE <= usual / present <= _OTHER_SCALE:
            self._warn(
                f"beta is {present:.2g}, set by the first {self.params.first_rows} rows, where a "
                f"sample of all rows asks for {usual:.2g}; learn afresh from rows in another "
                f"order, or with beta={usual:.2g}"
            )

    def reestimate(self) -> None:
        """Fit the series again, if it is to adapt and that pays."""
        block = self.block
        if not self.params.adapt or block is None or self.histogram.total == 0:
            return
        if self.predicted_kernel_error() <= self._tolerance:
            return
        measured = SampledError(block.basis.beta, self.sample.rows)
        error = measured.of(block.series)
        if error <= _NEGLIGIBLE * self._tolerance:
            return  # what is predicted is an upper estimate, which rows need not bear out
        offers = [(measured.of(series), residual, series) for series, residual in self._offers()]
        hoped, residual, series = min(offers, key=itemgetter(0), default=(error, 0.0, None))
        if series is not None and hoped <= _CLEARLY_BETTER * error:
            self.block, error = block.with_series(series), hoped
            self._record(Transport(self.n_rows, residual))
            if residual > _FAR and block.basis.moves_with_series:
                self._warn(
                    f"k was estimated again and moved the coordinates by {residual:.0%}"
                    f"{self._more_terms}"
                )
        noise = 3.0 * self._tolerance
        if error > noise and self.params.n_terms == "auto":  # others have chosen their precision
            self._warn(
                f"the series costs the kernel {error:.2g}, its random features {noise:.2g}"
                f"{self._more_terms}"
            )

    @property
    def _more_terms(self) -> str:
        assert self.block is not None
        return (
            f"; more terms than n_terms={self.block.series.n_terms} from the start follow a drift "
            "further (12 cover six decades of scale)"
        )

    def _record(self, transport: Transport) -> None:
        self.transports = (*self.transports, transport)[-_MOST_TRANSPORTS:]
        self.moved += transport.residual

    def _warn(self, what: str) -> None:
        """Say once in the life of a stream that its map does not fit, and what to do."""
        if self.warned_at is None:
            self.warned_at = self.n_rows
            warn(PrecisionWarning(f"at row {self.n_rows} {what}"))

    def _offers(self) -> Iterator[tuple[RotatedSeries, float]]:
        """Yield series that are predicted to be clearly better, with their residuals.

        They differ in how much they care for values so large that the kernel is nearly zero; where
        there are none, there is one series at most.
        """
        assert self.block is not None
        present, tried = self.block.series, []
        for power in (0, 1, 2):
            histogram = relevant(self.histogram, self.block.basis.beta, power)
            if histogram in tried:
                return
            tried.append(histogram)
            candidate = self.params.series_class.from_histogram(histogram, present.n_terms)
            lost = [abs(shrinkage(histogram, one)) for one in (present, candidate)]
            if lost[1] < _CLEARLY_BETTER * lost[0]:
                yield transported(present, candidate, histogram)

    @property
    def _tolerance(self) -> float:
        """A third of the Monte Carlo error: what a series may add to it."""
        assert self.block is not None
        return 1.0 / (3.0 * float(np.sqrt(self.block.n_components)))

    def predicted_kernel_error(self) -> float:
        """Return what the series is predicted to cost the kernel, on the inputs seen so far."""
        assert self.block is not None
        if self.histogram.total == 0:
            return 0.0
        return series_kernel_error(
            self.block.series,
            self.histogram,
            beta=self.block.basis.beta,
            n_features=self.params.n_features,
        )

    def measured_kernel_error(self) -> KernelError:
        """Return the error of the features' kernel against the exact one, on the sampled rows."""
        products, exact = self.sampled_kernels()
        error = products - exact
        return KernelError(float(np.sqrt(np.mean(error**2))), float(np.abs(error).max()))

    def sampled_kernels(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return products of features and the exact kernel, for all pairs of the sampled rows."""
        assert self.block is not None
        rows, n_sampled = self.sample.rows, self.sample.scores.size
        if rows is None or n_sampled < 2:
            raise ValueError(f"kernel_error needs at least two rows, got {n_sampled}")
        features = self.block.transform(rows).astype(np.float64)
        exact = self.block.basis.exact_kernel(rows)
        pairs = np.triu_indices(exact.shape[0], k=1)
        return (features @ features.T)[pairs], exact[pairs]

    def fade(self, factor: float) -> Self:
        """Let the inputs seen so far count ``factor`` times as much; the block stays."""
        self.histogram.fade(factor)
        self.sample.fade(factor)
        return self

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has seen; ``other`` is untouched.

        Blocks that differ only by transport are aligned already; how well is checked under the
        joint histogram, and added to the record.
        """
        histogram = self.histogram.copy().merge(other.histogram)
        distance = self._distance_to(other, histogram)
        if len(other.transports) > len(self.transports):
            self.transports, self.moved = other.transports, other.moved
        if distance is not None:
            self._record(Transport(self.n_rows + other.n_rows, distance))
        self.sample.merge(other.sample)
        self.histogram = histogram
        warned = [side.warned_at for side in (self, other) if side.warned_at is not None]
        self.warned_at = min(warned, default=None)
        self.block = other.block if self.block is None else self.block
        return self

    def _distance_to(self, other: AdaptiveBlock, histogram: LogHistogram) -> float | None:
        """Return how far apart the coordinates of two blocks are; None where they are the same."""
        mine, theirs = self.block, other.block
        if mine is None or theirs is None or mine == theirs:
            return None
        if mine.with_series(theirs.series) != theirs:
            raise StateMismatchError(
                "maps must differ by transport alone to merge, got "
                f"{mine.basis} and {theirs.basis}; make shards with new_shard() of one estimator"
            )
        residual = misalignment(mine.series, theirs.series, histogram)
        if residual > MERGE_TOLERANCE:
            raise StateMismatchError(
                f"coordinates must agree within {MERGE_TOLERANCE:.0%} to merge, "
                f"got a distance of {residual:.1%}"
            )
        return residual

    def copy(self) -> Self:
        """Return an independent object in the same state."""
        twin = object.__new__(type(self))
        twin.__dict__.update(
            self.__dict__, histogram=self.histogram.copy(), sample=self.sample.copy()
        )
        return twin

    def validate(self) -> None:
        """Require a histogram, a sample and a block that belong to the parameters."""
        params = self.params
        same = self.histogram.n_rows == self.sample.n_rows
        require(same, "histogram and sample must have seen the same rows")
        for part in (self.histogram, self.sample):
            require(part.half_life == params.half_life, "half_life must be that of the parameters")
        require(self.sample.seed == params.seed, "the sample must have the seed of the parameters")
        require(_width(self.sample.rows, params.n_features), "sampled rows of another width")
        require(self.block is not None or self.n_rows == 0, "rows have been seen without a map")
        if self.block is not None:
            check_planned(params, self.block)


class AdaptiveFeatureMap(Saved):
    """A :class:`FeatureMap` that follows its stream: one :class:`AdaptiveBlock` or several.

    Law: with one block, bit for bit what that block does; merging shards that share a map equals
    one pass; an empty shard changes nothing.

    Parameters
    ----------
    params : MapParams
        All that the user chose.
    feature_map : FeatureMap, optional
        A map to begin with, as the shards of one stream have.
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "params": Object((MapParams,)),
        "parts": TupleOf(Object((AdaptiveBlock,))),
    }

    def __init__(self, params: MapParams, feature_map: FeatureMap | None = None) -> None:
        self.params = params
        blocks = (None,) * len(params.blocks) if feature_map is None else feature_map.blocks
        self.parts = tuple(map(AdaptiveBlock, params.blocks, blocks))

    @property
    def n_rows(self) -> int:
        """Number of rows seen."""
        return self.parts[0].n_rows

    @property
    def n_components(self) -> int | None:
        """Number of features; None where that is not known before the map is planned."""
        if (planned := self.feature_map) is not None:
            return planned.n_components
        sizes = [block.n_components for block in self.params.blocks]
        return None if None in sizes else sum(size or 0 for size in sizes)

    @property
    def feature_map(self) -> FeatureMap | None:
        """The map in use, None before it is planned."""
        blocks = tuple(part.block for part in self.parts if part.block is not None)
        if len(blocks) < len(self.parts):
            return None
        return FeatureMap(blocks, self.params.columns)

    @property
    def schedule(self) -> AdaptationSchedule:
        """When blocks of rows end and when the series are fitted again."""
        return AdaptationSchedule(self.params.half_life, self.params.first_rows)

    def absorb(
        self, rows: Rows, weights: NDArray[np.float64] | None = None, *, hint: bool = True
    ) -> FeatureMap:
        """Absorb rows of positive weight and return the map under which they are learnt.

        ``hint`` is whether a newly planned map may say that another basis suits the rows better.
        """
        for part, own in self._parts_of(rows):
            part.absorb(own, weights, hint=hint)
        feature_map = self.feature_map
        assert feature_map is not None
        return feature_map

    def _parts_of(self, rows: Rows) -> Iterator[tuple[AdaptiveBlock, Rows]]:
        if self.params.columns is None:
            yield self.parts[0], rows
            return
        for part, columns in zip(self.parts, self.params.columns, strict=True):
            yield part, read(rows, columns)

    def provisional(self, rows: Rows, weights: NDArray[np.float64] | None) -> FeatureMap:
        """Return a map planned on a few rows alone, quickly; nothing changes."""
        blocks = tuple(part.provisional(own, weights) for part, own in self._parts_of(rows))
        return FeatureMap(blocks, self.params.columns)

    def adapt(self, position: int) -> None:
        """Fit every series again where the position is due and it pays."""
        if self.schedule.is_due(position):
            self.reestimate()
            # While little has been learnt: what comes later is drift, which the series follows.
            if position <= _EARLY * self.params.first_rows:
                for part in self.parts:
                    part.check_scale()

    def reestimate(self) -> None:
        """Fit every series again, at whatever position, if it is to adapt and that pays."""
        for part in self.parts:
            part.reestimate()

    def each(self, look: Callable[[AdaptiveBlock], Found]) -> Any:
        """Return what is read of the only block, or of each descriptor's under its name."""
        if self.params.names is None:
            return look(self.parts[0])
        pairs = zip(self.params.names, self.parts, strict=True)
        return {name: look(part) for name, part in pairs}

    def fade(self, factor: float) -> Self:
        """Let the inputs seen so far count ``factor`` times as much; the map stays."""
        for part in self.parts:
            part.fade(factor)
        return self

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has seen; ``other`` is untouched."""
        self.params.check_same(other.params)
        pairs = zip(self.parts, other.parts, strict=True)
        self.parts = tuple(mine.copy().merge(theirs) for mine, theirs in pairs)
        return self

    def copy(self) -> Self:
        """Return an independent map in the same state."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, parts=tuple(part.copy() for part in self.parts))
        return twin

    def validate(self) -> None:
        """Require one part a block under its parameters, all planned or none, at one position."""
        same = tuple(part.params for part in self.parts) == self.params.blocks
        require(same, "parts of other parameters")
        require(len({part.n_rows for part in self.parts}) == 1, "all must have seen the same rows")
        planned = {part.block is not None for part in self.parts}
        require(len(planned) == 1, "all blocks must be planned, or none")


def check_planned(params: BlockParams, block: MapBlock) -> None:
    """Require a block that may have been planned under parameters."""
    basis, buckets = block.basis, block.buckets
    kinds = params.basis_class.planned_classes()
    require(isinstance(basis, kinds), "the basis must be of the kind of the parameters")
    require(block.dtype == params.dtype, "the map must have the dtype of the parameters")
    same = block.normalize == params.normalize
    require(same, "the map must normalize as the parameters say")
    require(basis.dof == params.dof, "the map must have the dof of the parameters")
    basis.check_planned(params.n_components, params.seed, params.landmarks)
    landmarks = getattr(basis, "landmarks", None)
    require(_width(landmarks, params.n_features), "landmarks must have the right width")
    n_coordinates = params.n_features * block.series.n_terms
    n_inputs = n_coordinates if buckets is None else buckets.n_buckets
    require(basis.n_inputs == n_inputs, f"the basis must have {n_inputs} inputs")
    same = type(block.series.series) is params.series_class
    require(same, "the series must be of the kind of the parameters")


def _width(rows: Any, width: int) -> bool:
    return rows is None or int(rows.shape[1]) == width
