"""When the past no longer holds: errors of the latest rows beside what is to be expected of them.

That new rows are predicted worse than the old ones were is no sign of a changed world: they may be
of a class that was rare so far, as in a stream that is sorted by class. So the error of a row is
compared with the left-out errors of sampled rows *of the same class*, known since the penalty was
chosen. A class that is new or rare has high left-out errors itself, and nothing is out of order.
Where labels change their meaning, errors rise far above them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np

from streamchi2.checks.rows import Array
from streamchi2.saving import Value, saved
from streamchi2.statistics import schedule

# Row by row, D = 256: clothes that turn, labels shifted, hyperplane, centres and SEA .773, .824,
# .856, .906, .974. Halving from 1.2: .774 .824 .856 .906 .974, from 1.5: .769 .824 .850 .904 .972.
# Beginning anew from 2: centres .921, but digits .964 for .967, from 3: SEA .971. 6 deviations are
# as halving from 1.5, 2 are as 4; with none heavy tails in random order were halved up to three
# times in 3000 rows. A memory of .98 or .995 is as good within .003, but for SEA: .967 with .995.
# Not chosen on: mail, electricity and sorted streams (examples/benchmarks/drift.py), and
# four times 50,000 rows in random order, in which nothing was forgotten (D = 256): words, words
# with 30 % wrong labels, numbers with Student t and with log-normal errors.
_MEMORY = 0.99  # what an error counts one row later
_SAMPLED = 10.0  # rows of a class, from which on its errors are known
# The least that is expected: in a run of one class left-out errors are next to nothing.
_LEAST = 0.1
_COMPARED = 40.0  # rows, faded, from which on errors are compared
_DEVIATIONS = 4.0  # by which they must be above what was to be expected
_WORSE, _FAR_WORSE = 1.3, 2.5  # how many times as large they are where the past misleads
_RANGES = 8  # of numbers, with errors of their own
_TYPICAL = 0.99  # share of left-out errors of numbers that are no larger than a row can count


@saved("expected_errors")
@dataclass(frozen=True, eq=False)
class ExpectedErrors(Value):
    """Squared errors of rows that are left out, by what their targets are.

    Of labels there is one error a class, the sum over all its scores. Each other column has one a
    range of its values: of indicators 0 and 1, of numbers eight with equally many sampled rows. A
    value beyond them all is news, and is not compared.

    Parameters
    ----------
    kind : str
        Of the targets.
    errors, variances, n_sampled : ndarray
        Mean and variance of the errors, and of how many sampled rows.
    units : ndarray, shape (t,) or (1,)
        Of the squared errors of each target.
    largest : ndarray, shape (t,) or (1,)
        What an error counts at most: numbers may have heavy tails.
    edges : ndarray, shape (t, ranges + 1)
        Ends of the ranges.
    """

    kind: str
    errors: Array
    variances: Array
    n_sampled: Array
    units: Annotated[Array, "any"]
    largest: Annotated[Array, "any"]
    edges: Array

    @classmethod
    def of(
        cls, kind: str, residuals: Array, answers: Array, weights: Array, units: Array
    ) -> ExpectedErrors:
        """Return what left-out residuals say, shape (m, t); answers are shares of copies."""
        squares, largest, n_columns = (
            np.square(residuals) / units,
            np.full(1, np.inf),
            answers.shape[1],
        )
        edges = np.tile([0.0, 0.5, 1.0], (n_columns, 1))
        if kind == "numbers":
            largest = np.quantile(squares, _TYPICAL, axis=0)
            squares = np.minimum(squares, largest)
            edges = np.quantile(answers, np.linspace(0.0, 1.0, _RANGES + 1), axis=0).T
        if kind == "labels":
            members = answers
            squares = np.repeat(squares.sum(axis=1, keepdims=True), n_columns, axis=1)
        else:
            n_ranges = edges.shape[1] - 1
            ranges = (answers[:, :, None] > edges[:, 1:-1]).sum(axis=2)
            members = (ranges[:, :, None] == np.arange(n_ranges)).reshape(len(answers), -1)
            squares = np.repeat(squares, n_ranges, axis=1)
        shares = weights[:, None] * members
        shares /= np.where(shares.any(axis=0), shares.sum(axis=0), 1.0)
        errors = (shares * squares).sum(axis=0)
        variances = (shares * np.square(squares - errors)).sum(axis=0)
        counts = members.sum(axis=0, dtype=np.float64)
        return cls(kind, errors, variances, counts, units, largest, edges)

    def beside(self, target: Any, squares: Array) -> tuple[float, float, float]:
        """Return the error of a row, and mean and variance of what was to be expected of it.

        They are zeros where too little is known.

        Parameters
        ----------
        target : int or ndarray
            A code, or columns.
        squares : ndarray, shape (t,)
            Squared errors of the scores, in their units.
        """
        if self.kind == "labels":
            if target >= self.errors.size or self.n_sampled[target] < _SAMPLED:
                return 0.0, 0.0, 0.0
            observed, variance = float(squares.sum()), float(self.variances[target])
            return observed, max(float(self.errors[target]), _LEAST), variance
        n_columns = min(squares.size, len(self.edges))  # others have come since
        values, edges = target[:n_columns], self.edges[:n_columns]
        groups = (values[:, None] > edges[:, 1:-1]).sum(axis=1)
        groups += (edges.shape[1] - 1) * np.arange(n_columns)
        counts = (values >= edges[:, 0]) & (values <= edges[:, -1])
        counts &= self.n_sampled[groups] >= _SAMPLED
        groups = groups[counts]
        observed = float(np.minimum(squares[:n_columns], self.largest)[counts].sum())
        expected = float(np.maximum(self.errors[groups], _LEAST).sum())
        return observed, expected, float(self.variances[groups].sum())


@saved("forgotten")
@dataclass(frozen=True)
class Forgotten:
    """One time that a stream has forgotten, an entry of ``forgotten_``.

    Parameters
    ----------
    position : int
        Number of rows after which it was.
    kept : float
        What all that was learnt before counts since then: 0.5, or 0 where it began anew.
    counted : float
        Rows that still count.
    ratio : float
        Errors of the latest rows over what was to be expected.

    Examples
    --------
    >>> Forgotten(position=2535, kept=0.0, counted=128.0, ratio=3.1)
    Forgotten(position=2535, kept=0.0, counted=128.0, ratio=3.1)
    """

    position: int
    kept: float
    counted: float
    ratio: float


@saved("forgetting")
@dataclass(frozen=True)
class Forgetting(Value):
    """Faded sums of the errors of the latest rows, and of what was to be expected of them.

    Examples
    --------
    >>> forgetting = Forgetting()
    >>> for _ in range(60):
    ...     forgetting = forgetting.after(0.6, 0.2, 0.05)
    >>> round(forgetting.ratio, 6), forgetting.begins_anew(600)
    (3.0, True)
    """

    observed: float = 0.0
    expected: float = 0.0
    variance: float = 0.0
    compared: float = 0.0  # rows, faded
    history: tuple[Forgotten, ...] = ()

    def after(self, observed: float, expected: float, variance: float) -> Self:
        """Return the sums after another row."""
        return type(self)(
            _MEMORY * self.observed + observed,
            _MEMORY * self.expected + expected,
            _MEMORY**2 * self.variance + variance,
            _MEMORY * self.compared + (expected > 0.0),
            self.history,
        )

    @property
    def ratio(self) -> float:
        """Errors of the latest rows over what was to be expected."""
        return self.observed / self.expected if self.expected > 0.0 else 1.0

    def _exceeds(self, ratio: float) -> bool:
        """Tell whether errors are so far above what was to be expected, and not by chance."""
        difference = self.observed - self.expected
        is_sure = self.compared >= _COMPARED and difference > _DEVIATIONS * self.variance**0.5
        return is_sure and self.ratio > ratio

    def halves(self, counted: float) -> bool:
        """Tell whether all that was learnt is to count half, at the end of a block."""
        return self._exceeds(_WORSE) and schedule.halving_due(counted)

    def begins_anew(self, position: int) -> bool:
        """Tell whether all but the latest rows is to be forgotten."""
        last = self.history[-1].position if self.history else None
        return self._exceeds(_FAR_WORSE) and schedule.new_beginning_due(position, last)

    def cleared(self, *forgotten: Forgotten) -> Self:
        """Return sums of zero, after what has been forgotten."""
        return type(self)(history=self.history + forgotten)
