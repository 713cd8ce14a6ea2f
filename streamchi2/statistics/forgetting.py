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

_MEMORY = 0.99  # what an error counts one row later
_SAMPLED = 10.0  # rows of a class, from which on its errors are known
# The least that is expected: in a run of one class left-out errors are next to nothing.
_LEAST = 0.1
_DEVIATIONS = 4.0  # by which errors must be above what was to be expected
_TYPICAL = 0.99  # share of left-out errors of numbers that are no larger than a row can count


@saved("expected_errors")
@dataclass(frozen=True, eq=False)
class ExpectedErrors(Value):
    """Squared errors of rows that are left out, by what their targets are.

    Of labels there is one error a class, the sum over all its scores; of indicators one for rows
    that have a label, and one for rows that have not; of numbers one for all rows, each target in
    units of its variance.

    Parameters
    ----------
    errors, variances, n_sampled : ndarray
        Mean and variance of the errors, and of how many sampled rows; of indicators first those
        that have the label.
    units : ndarray, shape (t,)
        Of the squared errors of each target.
    largest : float
        What a row counts at most: numbers may have heavy tails.
    """

    errors: Array
    variances: Array
    n_sampled: Array
    units: Annotated[Array, "any"]
    largest: Annotated[float, "any"]

    @classmethod
    def of(
        cls, kind: str, residuals: Array, answers: Array, weights: Array, units: Array
    ) -> ExpectedErrors:
        """Return what left-out residuals say, shape (m, t); answers are shares of copies."""
        squares, largest = np.square(residuals) / units, np.inf
        members = answers
        if kind == "labels":
            squares = np.repeat(squares.sum(axis=1, keepdims=True), answers.shape[1], axis=1)
        elif kind == "indicators":
            squares, members = np.hstack([squares] * 2), np.hstack([answers, 1.0 - answers])
        else:
            squares = squares.sum(axis=1, keepdims=True)
            largest = float(np.quantile(squares, _TYPICAL))
            squares, members = np.minimum(squares, largest), np.ones_like(squares)
        shares = weights[:, None] * members
        shares /= np.where(shares.any(axis=0), shares.sum(axis=0), 1.0)
        errors = (shares * squares).sum(axis=0)
        variances = (shares * np.square(squares - errors)).sum(axis=0)
        return cls(errors, variances, members.sum(axis=0), units, largest)

    def ratio(self, errors: Array) -> float:
        """Return the mean error of some rows of numbers over what was to be expected."""
        if schedule.too_few(errors.size):
            return 1.0
        return float(np.minimum(errors, self.largest).mean() / max(float(self.errors[0]), _LEAST))

    def beside(self, kind: str, target: Any, squares: Array) -> tuple[float, float, float]:
        """Return the error of a row, and mean and variance of what was to be expected of it.

        They are zeros where too little is known.

        Parameters
        ----------
        kind : str
            Of the targets.
        target : int or ndarray
            A code, or columns.
        squares : ndarray, shape (t,)
            Squared errors of the scores, in their units.
        """
        if kind != "indicators":
            group = target if kind == "labels" else 0
            if group >= self.errors.size or self.n_sampled[group] < _SAMPLED:
                return 0.0, 0.0, 0.0
            observed, variance = min(float(squares.sum()), self.largest), self.variances[group]
            return observed, max(float(self.errors[group]), _LEAST), float(variance)
        columns = np.arange(min(squares.size, self.units.size))  # others have come since
        groups = np.where(target[: columns.size] > 0.5, columns, columns + self.units.size)
        known = self.n_sampled[groups] >= _SAMPLED
        groups = groups[known]
        expected = float(np.maximum(self.errors[groups], _LEAST).sum())
        return float(squares[columns][known].sum()), expected, float(self.variances[groups].sum())


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

    @property
    def _is_sure(self) -> bool:
        """Whether enough rows have been compared, and the difference is no chance."""
        difference = self.observed - self.expected
        return not schedule.too_few(self.compared) and difference > _DEVIATIONS * self.variance**0.5

    def halves(self, counted: float) -> bool:
        """Tell whether all that was learnt is to count half, at the end of a block."""
        return self._is_sure and schedule.may_halve(counted) and schedule.is_worse(self.ratio)

    def begins_anew(self, position: int) -> bool:
        """Tell whether all but the latest rows is to be forgotten."""
        last = self.history[-1].position if self.history else None
        may = self._is_sure and schedule.may_begin_anew(position, last)
        return may and schedule.is_far_worse(self.ratio)

    def cleared(self, *forgotten: Forgotten) -> Self:
        """Return sums of zero, after what has been forgotten."""
        return type(self)(history=self.history + forgotten)
