"""A small fair sample of the rows of a stream, kept to measure errors and to calibrate."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.checks import Rows
from streamchi2.errors import StateMismatchError
from streamchi2.hashing import gumbel_noise, mixed_bits
from streamchi2.state import Array, Float, Int, Kind, Maybe, SampledTargets, Saved, require
from streamchi2.state import Rows as StoredRows


class Reservoir(Saved):
    r"""The ``size`` rows of a stream with the highest scores: a weighted sample without return.

    Row i of weight w scores

    .. math:: \log w_i + \frac{i \log 2}{h} - \log(-\log u_i)

    with u a uniform number that depends on seed and position alone. Keeping the highest of such
    Gumbel scores draws rows in proportion to weight and freshness (half-life h).

    Law: the sample does not depend on how the stream was cut.

    Parameters
    ----------
    size : int
        Number of rows kept.
    seed : int
        Chooses the sample.
    half_life : float or None, default=None
        Rows after which a row is half as likely to be kept.

    References
    ----------
    Efraimidis and Spirakis (2006), doi:10.1016/j.ipl.2005.11.003.

    Examples
    --------
    >>> reservoir = Reservoir(size=3, seed=0)
    >>> reservoir.absorb(np.arange(1.0, 21.0)[:, None])
    >>> reservoir.rows.toarray().ravel()
    array([ 4., 10.,  1.])
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "size": Int(1),
        "seed": Int(),
        "half_life": Maybe(Float(0.0)),
        "n_rows": Int(),
        "threshold": Float(or_minus_infinity=True),
        "scores": Array(),
        "log_weights": Array(),
        "rows": Maybe(StoredRows()),
        "targets": Maybe(SampledTargets()),
    }

    def __init__(self, size: int, seed: int, half_life: float | None = None) -> None:
        self.size = size
        self.seed = seed
        self.half_life = half_life
        self.n_rows = 0
        self.threshold = -math.inf  # the highest score that found no place
        self.scores: NDArray[np.float64] = np.empty(0)
        self.log_weights: NDArray[np.float64] = np.empty(0)  # scores without their noise
        self.rows: sparse.csr_array | None = None
        self.targets: NDArray[Any] | None = None

    def absorb(
        self,
        rows: Rows,
        weights: NDArray[np.float64] | None = None,
        targets: NDArray[Any] | None = None,
    ) -> None:
        """Let checked rows of positive weight, and what belongs to them, compete for a place."""
        positions = self.n_rows + np.arange(rows.shape[0])
        log_weights = self._freshness(positions)
        if weights is not None:
            log_weights = log_weights + np.log(weights)
        scores = log_weights + gumbel_noise(positions, self.seed)
        full = self.scores.size == self.size
        hopeful = scores > self.scores[-1] if full else np.ones(scores.size, dtype=np.bool_)
        self.threshold = max(self.threshold, scores[~hopeful].max(initial=-math.inf))
        if hopeful.any():
            self._keep_best(
                scores[hopeful],
                log_weights[hopeful],
                sparse.csr_array(rows[hopeful]),
                None if targets is None else targets[hopeful],
            )
        self.n_rows += rows.shape[0]

    @property
    def is_truncated(self) -> bool:
        """Whether a row has found no place."""
        return self.threshold > -math.inf

    def importance(self) -> NDArray[np.float64]:
        r"""Return how much of the stream each kept row stands for, :math:`w_i / \pi_i`.

        With :math:`\pi_i = 1 - e^{-w_i e^{-t}}` the probability that its score exceeds the
        threshold t. While every row has found a place, these are the weights themselves.
        """
        now = float(self._freshness(max(self.n_rows - 1, 0)))
        weights = np.exp(self.log_weights - now)
        if self.threshold == -math.inf:
            return weights
        # Beyond e^5 the probability is one, and a short half-life leads far beyond.
        odds = np.exp(np.minimum(self.log_weights - self.threshold, 5.0))
        shares: NDArray[np.float64] = weights / -np.expm1(-odds)
        return shares

    def merge(self, other: Self) -> Self:
        """Keep the best of both samples; ``other`` is untouched, and both streams end now."""
        mine, theirs = ((side.size, side.seed, side.half_life) for side in (self, other))
        if mine != theirs:
            raise StateMismatchError(
                f"size, seed and half_life must agree to merge, got {mine} and {theirs}"
            )
        older, younger = self._freshness(other.n_rows), self._freshness(self.n_rows)
        self.threshold = max(self.threshold + float(older), other.threshold + float(younger))
        self.scores, self.log_weights = self.scores + older, self.log_weights + older
        if other.rows is not None:
            self._keep_best(
                other.scores + younger, other.log_weights + younger, other.rows, other.targets
            )
        self.n_rows += other.n_rows
        return self

    def fade(self, factor: float) -> Self:
        """Let every row so far be ``factor`` times as likely to stay."""
        shift = math.log(factor)
        self.scores, self.log_weights = self.scores + shift, self.log_weights + shift
        self.threshold += shift
        return self

    def copy(self) -> Self:
        """Return an independent reservoir with the same rows."""
        twin = type(self)(self.size, self.seed, self.half_life)
        # Arrays are replaced, never written to, so the two may share them.
        twin.__dict__.update(self.__dict__)
        return twin

    def prefix(self, size: int) -> Self:
        """Return the ``size`` rows of the highest scores: a smaller fair sample of the stream."""
        if self.scores.size <= size:
            return self
        twin = self.copy()
        twin.size, twin.threshold = size, float(self.scores[size])
        twin.scores, twin.log_weights = self.scores[:size], self.log_weights[:size]
        twin.rows = None if self.rows is None else self.rows[:size]
        twin.targets = None if self.targets is None else self.targets[:size]
        return twin

    def validate(self) -> None:
        """Require as many scores, weights and targets as there are rows kept, best first."""
        scores, rows, targets = self.scores, self.rows, self.targets
        require(self.half_life is None or self.half_life > 0.0, "half_life must be positive")
        require(scores.size <= min(self.size, self.n_rows), "more rows kept than seen")
        require(self.log_weights.shape == scores.shape, "log_weights must be one a row")
        require((np.diff(scores) <= 0.0).all(), "scores must descend")
        n_kept = 0 if rows is None else rows.shape[0]
        require(n_kept == scores.size, f"{scores.size} rows must be kept, got {n_kept}")
        fits = targets is None or targets.shape[0] == scores.size
        require(fits, "targets must be one a row")

    def _freshness(self, positions: NDArray[np.int64] | int) -> NDArray[np.float64]:
        per_row = 0.0 if self.half_life is None else math.log(2.0) / self.half_life
        return np.asarray(positions, dtype=np.float64) * per_row

    def _keep_best(
        self,
        scores: NDArray[np.float64],
        log_weights: NDArray[np.float64],
        rows: sparse.csr_array,
        targets: NDArray[Any] | None,
    ) -> None:
        if self.rows is not None:
            scores = np.concatenate([self.scores, scores])
            log_weights = np.concatenate([self.log_weights, log_weights])
            rows = sparse.csr_array(sparse.vstack([self.rows, rows], format="csr"))
            targets = None if targets is None else np.concatenate([self.targets, targets])
        order = np.argsort(scores, kind="stable")[::-1]
        ordered = scores[order]
        if (ordered[1:] == ordered[:-1]).any():
            # Shards have equal scores at equal positions; what is in the rows settles such ties,
            # so that merging in either order keeps the same rows.
            order = np.lexsort((_fingerprints(rows), scores))[::-1]
        best, rest = order[: self.size], order[self.size :]
        self.threshold = max(self.threshold, scores[rest].max(initial=-math.inf))
        self.scores, self.log_weights, self.rows = scores[best], log_weights[best], rows[best]
        self.targets = None if targets is None else targets[best]


def _fingerprints(rows: sparse.csr_array) -> NDArray[np.float64]:
    """Return one number per row that differs where rows differ: a random weight per column."""
    # Weights below 2^-32 keep the sum of four billion values of any size finite.
    weights = mixed_bits(rows.indices.astype(np.uint64), seed=1).astype(np.float64) * 2.0**-96
    row_of_value = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return np.bincount(row_of_value, rows.data * weights, rows.shape[0]).astype(np.float64)
