"""A feature map that follows its stream: planned on the first rows, re-estimated, transported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.errors import PrecisionWarning, StateMismatchError
from streamchi2.feature_map import FeatureMap
from streamchi2.kernels import exp_chi2_kernel
from streamchi2.map_plan import (
    FIRST_ROWS,
    MapSettings,
    fitted_series,
    planned_map,
    series_kernel_error,
)
from streamchi2.runtime.warnings import warn
from streamchi2.sampled_error import SampledError
from streamchi2.series import predicted_error
from streamchi2.series.relevance import relevant
from streamchi2.series.transport import RotatedSeries, misalignment, transported
from streamchi2.statistics.log_histogram import LogHistogram
from streamchi2.statistics.reservoir import Reservoir
from streamchi2.statistics.row_buffer import Boundaries
from streamchi2.validation import Rows

AUDIT_ROWS = 128
MERGE_TOLERANCE = 0.1  # relative distance of coordinates above which shards do not merge
_CLEARLY_BETTER = 0.7
_FAR = 0.5  # residual above which features before and after have little in common
_NEGLIGIBLE = 1 / 3  # of the tolerance: nothing that was learnt is moved for less


class Transport(NamedTuple):
    """One re-estimation: where in the stream, and how far the coordinates moved (relative).

    Values above 1/beta count as little for it as they do for the kernel.
    """

    position: int
    residual: float


class KernelError(NamedTuple):
    """Measured error of the kernel: root mean square and worst, over pairs of audited rows."""

    rms: float
    worst: float


@dataclass(frozen=True)
class Schedule:
    """When to look at k again: rows 256, 1024, 4096, ... and every half of a half-life.

    >>> [position for position in range(0, 5000, 64) if Schedule(None).is_due(position)]
    [256, 1024, 4096]
    """

    half_life: float | None
    first_rows: int = FIRST_ROWS

    @property
    def period(self) -> int | None:
        """Half of the half-life, at least 64 rows; None without one."""
        return None if self.half_life is None else max(FIRST_ROWS, round(self.half_life / 2))

    def boundaries(self) -> Boundaries:
        """Return the positions at which blocks of the stream end, which include all due ones."""
        periods = (1024,) if self.period is None else (1024, self.period)
        due = (4 * FIRST_ROWS,) if self.first_rows < 4 * FIRST_ROWS else ()
        return Boundaries(positions=(self.first_rows, *due), periods=periods)

    def is_due(self, position: int) -> bool:
        """Tell whether ``position`` is one of re-estimation."""
        if position <= self.first_rows:
            return False
        if self.period is not None and position % self.period == 0:
            return True
        blocks, rest = divmod(position, FIRST_ROWS)
        # 4, 16, 64, ...: one bit set, in an even place.
        return rest == 0 and blocks > 1 and blocks.bit_count() == 1 and blocks.bit_length() % 2 == 1


class AdaptiveMap:
    """The histogram of the inputs, the map made from it, and a sample of rows to audit it by.

    Blocks of rows must end at the boundaries of :class:`Schedule`. The first block plans the map.
    At positions that are due, the series is fitted again if its predicted error is above a third
    of the Monte Carlo error and the new one is clearly better; it is then rotated onto the old
    coordinates, so that features stay what they were (see :mod:`streamchi2.series.transport`). Of
    several new ones, the sampled rows choose that under which their kernel is best, and refuse it
    where the present one is better and the error matters.

    Law: merging shards that share a map equals one pass; an empty shard changes nothing.

    Parameters
    ----------
    settings : MapSettings
        All that the user chose.
    recipe : FeatureMap, optional
        A map to begin with, as the shards of one stream have.
    """

    def __init__(self, settings: MapSettings, recipe: FeatureMap | None = None) -> None:
        self.settings = settings
        self.recipe = recipe
        self.histogram = LogHistogram(half_life=settings.half_life)
        self.sample = Reservoir(AUDIT_ROWS, settings.seed, settings.half_life)
        self.n_rows = 0
        self.transports: tuple[Transport, ...] = ()
        self.warned_at: int | None = None  # position of the one warning

    @property
    def n_components(self) -> int:
        """Number of features D."""
        return self.settings.n_components

    @property
    def schedule(self) -> Schedule:
        """When blocks end and when the series is fitted again."""
        return Schedule(self.settings.half_life, self.settings.first_rows)

    def update(self, rows: Rows, *, weights: NDArray[np.float64] | None = None) -> Self:
        """Absorb one block of checked rows of positive weight, and adapt if that is due."""
        twin = self.copy()  # so that a failure half-way leaves no trace
        twin.absorb(rows, weights)
        twin.reconsider()
        self.__dict__.update(twin.__dict__)
        return self

    def absorb(self, rows: Rows, weights: NDArray[np.float64] | None = None) -> FeatureMap:
        """Absorb one block and return the map under which it is to be learnt."""
        self.histogram.absorb(rows, weights)
        self.sample.absorb(rows, weights)
        self.n_rows += rows.shape[0]
        if self.recipe is None:
            self.recipe = planned_map(self.settings, rows, weights, self.histogram)
        return self.recipe

    def reconsider(self) -> None:
        """Fit the series again where the position is due and it pays."""
        if self.schedule.is_due(self.n_rows):
            self.reestimate()

    def reestimate(self) -> None:
        """Fit the series again, at whatever position, if it is to adapt and that pays."""
        if self.settings.adapt and self.recipe is not None and self.histogram.total > 0:
            self._refit(self.recipe)

    def fade(self, factor: float) -> Self:
        """Let the inputs seen so far count ``factor`` times as much; the map stays."""
        self.histogram.fade(factor)
        self.sample.fade(factor)
        return self

    def _refit(self, recipe: FeatureMap) -> None:
        if self.predicted_kernel_error() <= self._tolerance:
            return
        measured = SampledError(recipe.basis.beta, self.sample.rows)
        error = measured.of(recipe.series)
        if error <= _NEGLIGIBLE * self._tolerance:
            return  # what is predicted is an upper estimate, which rows need not bear out
        offers = [(measured.of(series), residual, series) for series, residual in self._offers()]
        hoped, residual, series = min(offers, key=itemgetter(0), default=(error, 0.0, None))
        if series is not None and hoped <= _CLEARLY_BETTER * error:
            self.recipe, error = recipe.with_series(series), hoped
            self.transports = (*self.transports, Transport(self.n_rows, residual))
            if residual > _FAR and self.settings.basis != "landmarks":  # which stay where they are
                self._warn(f"k was fitted anew and moved the coordinates by {residual:.0%}")
        noise = 3.0 * self._tolerance
        if error > noise and self.settings.n_terms == "auto":  # others have chosen their precision
            self._warn(f"the series costs the kernel {error:.2g}, its random features {noise:.2g}")

    def _warn(self, what: str) -> None:
        """Say once in the life of a stream that its map does not follow, and what to do."""
        if self.warned_at is None and self.recipe is not None:
            self.warned_at = self.n_rows
            n_terms = self.recipe.series.n_terms
            warn(
                PrecisionWarning(
                    f"at row {self.n_rows} {what}; more terms than n_terms={n_terms} from the "
                    "start follow a drift further (12 cover six decades of scale)"
                )
            )

    def _offers(self) -> Iterator[tuple[RotatedSeries, float]]:
        """Yield series that are predicted to be clearly better, with their residuals.

        They differ in how much they care for values so large that the kernel is nought; where
        there are none, there is one series at most.
        """
        assert self.recipe is not None
        present, tried = self.recipe.series, []
        for power in (0, 1, 2):
            histogram = relevant(self.histogram, self.recipe.basis.beta, power)
            if histogram in tried:
                return
            tried.append(histogram)
            candidate = fitted_series(self.settings.series, histogram, present.n_terms)
            lost = [abs(predicted_error(histogram, one).shrinkage) for one in (present, candidate)]
            if lost[1] < _CLEARLY_BETTER * lost[0]:
                yield transported(present, candidate, histogram)

    @property
    def _tolerance(self) -> float:
        """A third of the Monte Carlo error: what a series may add to it."""
        return 1.0 / (3.0 * float(np.sqrt(self.settings.n_components)))

    def predicted_kernel_error(self) -> float:
        """Return what the series is predicted to cost the kernel, on the inputs seen so far."""
        assert self.recipe is not None
        if self.histogram.total == 0:
            return 0.0
        return series_kernel_error(
            self.recipe.series,
            self.histogram,
            beta=self.recipe.basis.beta,
            n_features=self.settings.n_features,
        )

    def measured_kernel_error(self) -> KernelError:
        """Return the error of the features' kernel against the exact one, on the sampled rows."""
        assert self.recipe is not None
        n_sampled = self.sample.scores.size
        if self.sample.rows is None or n_sampled < 2:
            raise ValueError(f"kernel_error needs at least two rows, got {n_sampled}")
        features = self.recipe.transform(self.sample.rows).astype(np.float64)
        exact = exp_chi2_kernel(
            self.sample.rows, beta=self.recipe.basis.beta, dof=self.recipe.basis.dof
        )
        error = (features @ features.T - exact)[np.triu_indices(exact.shape[0], k=1)]
        return KernelError(float(np.sqrt(np.mean(error**2))), float(np.abs(error).max()))

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has seen; ``other`` is untouched.

        Maps that differ only by transport are aligned already; how well is checked under the
        joint histogram, and added to the record.
        """
        self.settings.check_same(other.settings)
        histogram = self.histogram.copy().merge(other.histogram)
        transports = self._transports_with(other, histogram)
        self.sample.merge(other.sample)
        self.histogram, self.transports = histogram, transports
        warned = [side.warned_at for side in (self, other) if side.warned_at is not None]
        self.warned_at = min(warned, default=None)
        self.n_rows += other.n_rows
        self.recipe = other.recipe if self.recipe is None else self.recipe
        return self

    def _transports_with(
        self, other: AdaptiveMap, histogram: LogHistogram
    ) -> tuple[Transport, ...]:
        mine, theirs = self.recipe, other.recipe
        if mine is None or theirs is None or mine == theirs:
            return max(self.transports, other.transports, key=len)
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
        position = self.n_rows + other.n_rows
        return (*self.transports, Transport(position, residual))

    def copy(self) -> Self:
        """Return an independent map in the same state."""
        twin = object.__new__(type(self))
        twin.__dict__.update(
            self.__dict__, histogram=self.histogram.copy(), sample=self.sample.copy()
        )
        return twin
