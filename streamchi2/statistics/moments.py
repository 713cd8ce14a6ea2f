"""Weight, mean and centred scatter of a stream of feature rows.

Idea: blocks are centred by their own mean and pooled with what is known, so that only differences
are ever squared. Guarantee: an offset c of the features costs O(eps c), not O(eps c^2). Memory: one
D x D matrix of float64 of which the upper triangle is kept, updated in place.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk, ssyrk

from streamchi2.checks import Floats, as_positive_int
from streamchi2.errors import StateMismatchError
from streamchi2.state import Array, Float, Int, Kind, Saved, UpperTriangle, require, same_state
from streamchi2.statistics.centred_block import (
    CentredBlock,
    between_row,
    centred_block,
    pooled_mean,
    unit_weights,
)

_BLOCK_ROWS = 2048  # beyond this, sums of float32 products lose digits
_PANEL_COLUMNS = 2048  # products of a panel take 8 KiB a feature, not another D x D matrix
_STRIP_ROWS = 256  # of a triangle: what lies left of a strip is zeros, and not touched
_FEW_ROWS = 257  # whose products are formed in float64; one row is the spare one
_FLOAT32_SQUARES = 1e-12, 1e12  # largest deviations whose products float32 neither loses nor bursts


class Moments(Saved):
    r"""Weight, mean and centred scatter of weighted rows; merging equals having seen both.

    With n the weight and m that of a block with mean :math:`\bar x` and
    :math:`\delta = \bar x - \mu`, as in Chan, Golub and LeVeque (1983,
    doi:10.1080/00031305.1983.10483115):

    .. math:: H \leftarrow H + \sum_i w_i (x_i - \bar x)(x_i - \bar x)^\top
              + \tfrac{nm}{n+m} \delta\delta^\top

    The last term is one more row of the block, so a single pass of products updates everything.

    Parameters
    ----------
    n_features : int
        Width D of the rows.

    Attributes
    ----------
    weight, squared_weight : float
        Sums of the weights of rows and of their squares.

    Notes
    -----
    A block of n rows costs n D^2 operations. Products of more than 256 rows of float32 are formed
    in float32, by column panels, and added into float64: blocks are centred and short, so that this
    costs about 1e-8 of the variance.

    Examples
    --------
    >>> moments = Moments(2).update(np.array([[1.0, 0.0], [3.0, 0.0]]))
    >>> moments.update(np.array([[8.0, 0.0]]))
    Moments(n_features=2, weight=3.0)
    >>> moments.mean, moments.scatter()
    (array([4., 0.]), array([[26.,  0.], [ 0.,  0.]]))
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "n_features": Int(1),
        "weight": Float(0.0),
        "squared_weight": Float(0.0),
        "mean": Array(),
        "upper": UpperTriangle(),
    }

    def __init__(self, n_features: int) -> None:
        self.n_features = as_positive_int(n_features, name="n_features")
        self.weight = 0.0
        self.squared_weight = 0.0
        self.mean = np.zeros(self.n_features)
        self.upper = np.zeros((self.n_features, self.n_features))  # below the diagonal: zeros

    def update(self, rows: Floats, *, weights: NDArray[np.float64] | None = None) -> Self:
        """Absorb rows of shape (n, n_features); n may be 0."""
        self.check_width(rows)
        for start in range(0, rows.shape[0], _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            share = unit_weights(rows[part]) if weights is None else weights[part]
            self.absorb(centred_block(rows[part], share))
        return self

    def absorb(self, block: CentredBlock) -> None:
        """Pool a centred block."""
        self.pooling(block).finish()

    def pooling_rows(self, rows: Floats, weights: NDArray[np.float64]) -> Pooling:
        """Return what absorbs a block once it is finished; until then nothing changes."""
        return self.pooling(centred_block(rows, weights))

    def pooling(self, block: CentredBlock) -> Pooling:
        """Return what pools a centred block once it is finished; until then nothing changes."""
        block.scaled[-1] = between_row(self.weight, self.mean, block.weight, block.mean)
        values = {
            "mean": pooled_mean(self.weight, self.mean, block.weight, block.mean),
            "weight": self.weight + block.weight,
            "squared_weight": self.squared_weight + block.squared_weight,
        }
        return Pooling(self, safe_to_multiply(block.scaled), values)

    @property
    def count(self) -> float:
        """Number of rows that the weights stand for, see :func:`effective_count`."""
        return effective_count(self.weight, self.squared_weight)

    def fade(self, factor: float) -> Self:
        """Let everything seen so far count ``factor`` times as much; the mean stays."""
        self.__dict__.update(vars(self.faded(factor)))
        return self

    def faded(self, factor: float) -> Self:
        """Return moments in which everything seen so far counts ``factor`` times as much."""
        twin = object.__new__(type(self))
        twin.__dict__.update(
            self.__dict__,
            weight=factor * self.weight,
            squared_weight=self.squared_weight * (factor * factor),
            upper=factor * self.upper,
        )
        return twin

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has seen; ``other`` is untouched."""
        self.check_same_width(other)
        if other.weight > 0.0:
            difference = between_row(self.weight, self.mean, other.weight, other.mean)
            self.upper += other.upper
            add_products(self.upper, difference[None, :])
            self.mean = pooled_mean(self.weight, self.mean, other.weight, other.mean)
            self.weight += other.weight
            self.squared_weight += other.squared_weight
        return self

    def scatter(self) -> NDArray[np.float64]:
        """Return the whole symmetric scatter, shape (n_features, n_features), as a new array."""
        whole = self.upper + self.upper.T
        np.fill_diagonal(whole, self.upper.diagonal())
        return whole

    def part(self, own: slice) -> Self:
        """Return the moments of some consecutive features, as views."""
        twin = object.__new__(type(self))
        mean, upper = self.mean[own], self.upper[own, own]
        twin.__dict__.update(self.__dict__, n_features=mean.size, mean=mean, upper=upper)
        return twin

    def copy(self) -> Self:
        """Return an independent object in the same state."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__, mean=self.mean.copy(), upper=self.upper.copy())
        return twin

    def check_width(self, rows: Floats) -> None:
        """Refuse rows of another width."""
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"rows must have {self.n_features} columns, got shape {rows.shape}")

    def check_same_width(self, other: Moments) -> None:
        """Refuse moments of another number of features."""
        if self.n_features != other.n_features:
            raise StateMismatchError(
                f"n_features must agree to merge, got {self.n_features} and {other.n_features}"
            )

    def validate(self) -> None:
        """Require mean and scatter of one width."""
        width = self.n_features
        require(self.mean.shape == (width,), f"mean must have {width} entries")
        require(self.upper.shape == (width, width), f"scatter must be {width} x {width}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and same_state(self.__dict__, other.__dict__)

    __hash__ = None  # type: ignore[assignment]  # it changes with every block

    def __repr__(self) -> str:
        return f"Moments(n_features={self.n_features}, weight={self.weight:.6})"


def effective_count(weight: float, squared_weight: float) -> float:
    r"""Return the number of rows that weights of this sum and sum of squares stand for.

    .. math:: n = \max\left(\sum w,\; \frac{(\sum w)^2}{\sum w^2}\right)

    Integer weights are repeated rows; weights below one are not fewer rows, only lighter ones.

    References
    ----------
    Kish (1965), Survey sampling, section 11.7, for the second term.

    Examples
    --------
    >>> effective_count(6.0, 14.0)  # weights 1, 2 and 3
    6.0
    >>> round(effective_count(0.03, 0.0003), 6)  # three weights of 0.01
    3.0
    """
    if weight <= 0.0:
        return 0.0
    return max(weight, weight * (weight / max(squared_weight, np.finfo(np.float64).tiny)))


def pooled(left: Moments, right: Moments) -> Moments:
    """Return the moments of both streams together; neither changes.

    >>> pooled(Moments(1).update(np.ones((2, 1))), Moments(1).update(np.zeros((2, 1)))).mean
    array([0.5])
    """
    return left.copy().merge(right)


class Pooling:
    """A block on its way into moments; finished again after a failure, it goes on from there."""

    __slots__ = ("block", "done", "moments", "values")

    def __init__(self, moments: Moments, block: Floats, values: dict[str, Any]) -> None:
        self.moments = moments
        self.block = block
        self.values = values
        self.done = [0]  # steps of the products

    def finish(self) -> None:
        """Add the products that are missing, then mean and weights."""
        add_products(self.moments.upper, self.block, done=self.done)
        vars(self.moments).update(self.values)


def add_products(upper: NDArray[np.float64], block: Floats, done: list[int] | None = None) -> None:
    """Add ``block.T @ block`` to the upper triangle, in place.

    BLAS adds products of float64 where they belong. That takes twice the arithmetic of float32,
    whose products must be added by another pass over the triangle: few rows are not worth it.
    ``done[0]`` counts the steps that have been taken, of those before a failure too.
    """
    if block.shape[0] <= _FEW_ROWS:
        block = block.astype(np.float64, copy=False)
    block = safe_to_multiply(block)
    done = [0] if done is None else done
    if block.dtype == np.float64:
        if done[0] == 0:
            _add_in_one(upper, block, done)
        return
    number = 0  # of the next sum
    for start in range(0, upper.shape[0], _PANEL_COLUMNS):
        stop = min(start + _PANEL_COLUMNS, upper.shape[0])
        panel, rest = block[:, start:stop], block[:, stop:]
        strips = range(0, stop - start, _STRIP_ROWS)
        if done[0] < number + len(strips):
            # Not panel.T @ panel: numpy fills the other triangle too, which takes longer than few
            # rows.
            products = ssyrk(1.0, panel.T, lower=1).T
            square = upper[start:stop, start:stop]
            for first in strips[done[0] - number :]:
                strip = slice(first, first + _STRIP_ROWS)
                _add(square[strip, first:], products[strip, first:], done)
        number += len(strips)
        if rest.shape[1] and done[0] == number:
            _add(upper[start:stop, stop:], panel.T @ rest, done)
        number += 1


def _add(own: NDArray[np.float64], products: Floats, done: list[int]) -> None:
    """Add products in place; the sum and its record in one statement, so that both are made."""
    done[0] = (np.add(own, products, own), done[0] + 1)[1]


def _add_in_one(upper: NDArray[np.float64], block: Floats, done: list[int]) -> None:
    """Add products of float64 by one call of BLAS."""
    # The upper triangle by rows is the lower one by columns, as BLAS counts.
    if upper.flags.c_contiguous:
        done[0] = (dsyrk(1.0, block.T, beta=1.0, c=upper.T, lower=1, overwrite_c=1), 1)[1]
        return
    found = dsyrk(1.0, block.T, beta=1.0, c=upper.T, lower=1)  # part of another array: a copy
    np.copyto(upper, found.T)
    done[0] = 1


def safe_to_multiply(block: Floats) -> Floats:
    """Return the block itself, or a float64 copy where float32 products would burst or vanish."""
    return block if block.dtype == np.float64 or is_moderate(block) else block.astype(np.float64)


def is_moderate(block: Floats) -> bool:
    """Tell whether float32 can hold the products of the largest deviations.

    >>> is_moderate(np.array([0.0, -3.0])), is_moderate(np.array([1e20]))
    (True, False)
    """
    low, high = _FLOAT32_SQUARES
    largest = max(float(block.max(initial=0.0)), -float(block.min(initial=0.0)))
    return largest == 0.0 or low < largest < high
