"""Sums of features and targets under several half-lives at once, one product a block for all."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.state import Array, Kind, Saved, TupleOf, UpperTriangle, require
from streamchi2.statistics.centred_block import fading
from streamchi2.statistics.change import Change
from streamchi2.statistics.moments import effective_count, safe_to_multiply
from streamchi2.statistics.target_moments import RegressionMoments
from streamchi2.validation import Floats

_PANEL_COLUMNS = 128  # a panel of the product and of one sum stay in the cache together


class FadedSums(Saved):
    r"""Weighted sums of rows about a fixed origin, faded under each of several half-lives.

    With :math:`\tilde z = z - o`, :math:`\tilde y = y - p` and a block B of n rows,

    .. math:: S_h \leftarrow 2^{-n/h} S_h + \sum_{i \in B} w_i \tilde z_i \tilde z_i^\top

    and likewise for all other sums. What is added is the same for every half-life, so a block
    costs one product whatever their number, and one scaled addition each. Rows of a block fade
    together: the weight of a row is a staircase below :math:`2^{(n-1)/h}` times its exponential,
    at most 1.4 times for blocks of 32 rows and a half-life of 64, 1.09 times for one of 256.

    The origin is the mean of the first rows, and so near the mean of all that the centred scatter
    :math:`S - W \delta\delta^\top` keeps its digits: features of a kernel are bounded, and with a
    mean that has moved by r standard deviations the difference loses a factor :math:`1 + r^2` of
    float64.

    Parameters
    ----------
    half_lives : tuple of float
        Rows after which a row counts half.
    origin : ndarray, shape (D,)
        About which features are summed.
    target_origin : ndarray, shape (t,)
        About which targets are summed; zeros for one-hot targets.

    Examples
    --------
    >>> sums = FadedSums((1.0, 2.0), np.zeros(1), np.zeros(1))
    >>> for value in (1.0, 2.0):
    ...     sums.absorb(np.array([[value]]), np.array([[value]]), np.ones(1))
    >>> [sums.moments(place).mean.round(3).item() for place in (0, 1)]
    [1.667, 1.586]
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "half_lives": Array(),
        "origin": Array(),
        "target_origin": Array(),
        "weight": Array(),
        "squared_weight": Array(),
        "sums": Array(2),
        "target_sums": Array(2),
        "target_squares": Array(2),
        "cross": TupleOf(Array(2)),
        "scatter": TupleOf(UpperTriangle()),
    }

    def __init__(
        self,
        half_lives: tuple[float, ...],
        origin: NDArray[np.float64],
        target_origin: NDArray[np.float64],
    ) -> None:
        k, d, t = len(half_lives), origin.size, target_origin.size
        self.half_lives = np.array(half_lives, dtype=np.float64)
        self.origin = origin
        self.target_origin = target_origin
        self.weight = np.zeros(k)
        self.squared_weight = np.zeros(k)
        self.sums = np.zeros((k, d))
        self.target_sums = np.zeros((k, t))
        self.target_squares = np.zeros((k, t))
        self.cross = tuple(np.zeros((d, t)) for _ in half_lives)
        self.scatter = tuple(np.zeros((d, d)) for _ in half_lives)

    def absorb(
        self, features: Floats, targets: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> None:
        """Fade everything by the rows of a block, then add the block.

        Rows of weight zero count as rows, and as nothing else.
        """
        self.absorbing(features, targets, weights).finish()

    def absorbing(
        self, features: Floats, targets: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> Change:
        """Return the change that :meth:`absorb` makes."""
        factors = np.array([fading(len(features), half_life) for half_life in self.half_lives])
        roots = np.sqrt(weights)[:, None]
        rows = safe_to_multiply(
            (features - self.origin.astype(features.dtype)) * roots.astype(features.dtype)
        )
        answers = (targets - self.target_origin) * roots
        sums = (roots.T.astype(rows.dtype) @ rows)[0]
        cross = rows.T @ answers.astype(rows.dtype)
        added = {
            "weight": weights.sum(),
            "squared_weight": weights @ weights,
            "sums": sums,
            "target_sums": (roots.T @ answers)[0],
            "target_squares": np.einsum("ij,ij->j", answers, answers),
        }
        small = self._small(factors)
        for name, addition in added.items():
            small[name] = small[name] + addition
        small["cross"] = tuple(one + cross for one in small["cross"])
        return Change(self, small, (_Products(self.scatter, rows, factors),))

    def _small(self, factors: NDArray[np.float64]) -> dict[str, Any]:
        """Return all sums but the scatter, each half-life's times its factor."""
        column = factors[:, None]
        return {
            "weight": factors * self.weight,
            "squared_weight": factors**2 * self.squared_weight,
            "sums": column * self.sums,
            "target_sums": column * self.target_sums,
            "target_squares": column * self.target_squares,
            "cross": tuple(f * one for f, one in zip(factors, self.cross, strict=True)),
        }

    def fade(self, factor: float) -> None:
        """Let everything seen so far count ``factor`` times as much."""
        self.__dict__.update(self._small(np.full(self.weight.size, factor)))
        for scatter in self.scatter:
            np.multiply(scatter, factor, out=scatter)

    def with_outputs(self, places: NDArray[np.intp], n_targets: int) -> Self:
        """Return sums with more one-hot targets, the present ones at the given places.

        The scatter, which is large and knows no targets, is shared.
        """
        twin = object.__new__(type(self))

        def spread(known: NDArray[np.float64]) -> NDArray[np.float64]:
            grown = np.zeros((known.shape[0], n_targets))
            grown[:, places] = known
            return grown

        twin.__dict__.update(
            self.__dict__,
            target_origin=np.zeros(n_targets),
            target_sums=spread(self.target_sums),
            target_squares=spread(self.target_squares),
            cross=tuple(map(spread, self.cross)),
        )
        return twin

    def moments(self, place: int) -> RegressionMoments:
        """Return what ridge regression reads, under one half-life.

        Only the lower triangle of the scatter is meant.
        """
        weight = float(self.weight[place])
        per_row = 1.0 / weight if weight > 0.0 else 0.0
        shift, target_shift = per_row * self.sums[place], per_row * self.target_sums[place]
        between = np.multiply.outer(weight * shift, shift)
        scatter = np.subtract(self.scatter[place], between, out=between).T
        cross = self.cross[place] - np.outer(weight * shift, target_shift)
        squares = self.target_squares[place] - weight * target_shift**2
        return RegressionMoments(
            weight,
            effective_count(weight, float(self.squared_weight[place])),
            self.origin + shift,
            scatter,
            self.target_origin + target_shift,
            cross,
            np.maximum(squares, 0.0),
        )

    def copy(self) -> Self:
        """Return an independent object in the same state."""
        twin = object.__new__(type(self))
        # Small arrays are replaced, never changed in place.
        scatter = tuple(one.copy() for one in self.scatter)
        twin.__dict__.update(self.__dict__, scatter=scatter)
        return twin

    def validate(self) -> None:
        """Require sums of one width, one number of targets and one number of half-lives."""
        k, d, t = self.half_lives.size, self.origin.size, self.target_origin.size
        shapes = {
            "weight": (k,),
            "squared_weight": (k,),
            "sums": (k, d),
            "target_sums": (k, t),
            "target_squares": (k, t),
        }
        for name, shape in shapes.items():
            require(getattr(self, name).shape == shape, f"{name} must have shape {shape}")
        require((self.half_lives > 0.0).all(), "half_lives must be positive")
        for name in ("weight", "squared_weight", "target_squares"):
            require((getattr(self, name) >= 0.0).all(), f"{name} must not be negative")
        both = len(self.scatter) == len(self.cross) == k
        require(both, "there must be a scatter for each half-life")
        require(all(one.shape == (d, t) for one in self.cross), f"cross must be {d} x {t}")
        require(all(one.shape == (d, d) for one in self.scatter), f"scatter must be {d} x {d}")


class _Products:
    """The products of a block on their way into each scatter, which fades before."""

    __slots__ = ("done", "factors", "rows", "scatter")

    def __init__(
        self,
        scatter: tuple[NDArray[np.float64], ...],
        rows: Floats,
        factors: NDArray[np.float64],
    ) -> None:
        self.scatter = scatter
        self.rows = rows
        self.factors: list[float] = factors.tolist()
        self.done = 0  # operations in place, of those before a failure too

    def finish(self) -> None:
        """Do the operations that are missing, panel by panel."""
        rows, number = self.rows, 0
        for start in range(0, rows.shape[1], _PANEL_COLUMNS):
            if self.done < number + 2 * len(self.scatter):
                stop = start + _PANEL_COLUMNS
                product = rows[:, start:stop].T @ rows[:, start:]
                width = product.shape[0]
                product[:, :width] = np.triu(product[:, :width])
                for scatter, factor in zip(self.scatter, self.factors, strict=True):
                    panel = scatter[start:stop, start:]
                    # An operation and its record in one statement, so that both are made.
                    if self.done == number:
                        self.done = (np.multiply(panel, factor, panel), self.done + 1)[1]
                    if self.done == number + 1:
                        self.done = (np.add(panel, product, panel), self.done + 1)[1]
                    number += 2
            else:
                number += 2 * len(self.scatter)
