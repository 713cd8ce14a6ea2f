r"""Weight, mean and scatter of a stream of features, with those of targets: all that learners need.

Idea: sums of deviations from a fixed origin, so that streams are merged, faded and combined by
adding. Guarantee: the origin lies among the rows, so that what is subtracted at reading,
:math:`m m^\top / n`, is small; rows that have moved J deviations away cost J^2 of the 16 digits of
float64. Products of float32 have 7 digits and are about the mean of their own block. Memory: one
D x D matrix of float64, of which the upper triangle is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg.blas import dsyr, dsyr2, dsyrk, ssyrk

from streamchi2.checks.rows import Array, Floats, Indices
from streamchi2.errors import StateMismatchError
from streamchi2.saving import saved

Targets: TypeAlias = Array | sparse.csr_array | None

_BLOCK_ROWS = 2048  # beyond this, sums of float32 products lose digits
_PIECE_ROWS = 128  # float64 copies of float32 rows are made in pieces that fit the cache
_FEW_ROWS = 64  # cost as much in float64, and a model of few rows needs every digit
_STRIP_ROWS = 256  # of a triangle: what lies left of a strip is zeros, and not touched
_FLOAT32_WEIGHTS = 1e-20, 1e20
_FLOAT32_VALUES = 1e28  # twice this times the root of the largest weight is still a float32
_FLOAT32_DEVIATIONS = 1e-12, 1e12  # the largest, so that squares neither vanish nor burst


@dataclass(frozen=True, eq=False)
class RegressionMoments:
    r"""Everything that least squares needs to know of a stream.

    With deviations :math:`\tilde z, \tilde y` from the means,

    .. math:: H = \sum w\,\tilde z \tilde z^\top, \quad C = \sum w\,\tilde z \tilde y^\top,
              \quad S_t = \sum w\,\tilde y_t^2
    """

    weight: float
    count: float  # of rows that the weights stand for
    mean: Array  # (d,)
    scatter: Array  # (d, d), H
    target_mean: Array  # (t,)
    cross: Array  # (d, t), C
    target_scatter: Array  # (t,), S


@saved("moments")
@dataclass(eq=False)
class Moments:
    r"""Sums about an origin o of weighted rows x and their targets t, about an origin p.

    .. math:: \sum w (x - o)(x - o)^\top = \sum_b \Bigl[ \sum_{i \in b} w_i (x_i - \bar x_b)
              (x_i - \bar x_b)^\top + w_b (\bar x_b - o)(\bar x_b - o)^\top \Bigr]

    over the blocks b in which rows come, and likewise with targets.

    Law: adding in any blocks, merging and one pass give the same, to rounding.

    Attributes
    ----------
    origin, target_origin : ndarray, shapes (D,) and (T,)
        About which sums are taken; those of targets are zeros where these are one-hot.
    weight, squared_weight : float
        Sums of the weights of rows and of their squares.
    sums, target_sums : ndarray, shapes (D,) and (T,)
        Weighted sums of deviations.
    upper : ndarray, shape (D, D)
        Weighted products of features; zeros below the diagonal.
    target_squares, cross : ndarray, shapes (T,) and (T, D)
        Weighted squares of targets, and products with features.

    Notes
    -----
    A block of n rows costs n D (D + T) operations, one-hot targets n D whatever their number.
    Products of more than 64 rows of float32 are formed in float32 about the mean of the block,
    which costs about 5e-8 of a variance, wherever the block lies; all others in float64.

    Examples
    --------
    >>> moments = Moments.empty(np.zeros(2), np.zeros(1))
    >>> rows, targets = np.array([[1.0, 0.0], [3.0, 0.0], [8.0, 0.0]]), np.array([[1.0], [5], [9]])
    >>> moments.add(rows, targets, np.ones(3))
    >>> moments.mean, moments.scatter()
    (array([4., 0.]), array([[26.,  0.], [ 0.,  0.]]))
    >>> moments.summary().cross.ravel()
    array([28.,  0.])
    """

    origin: Array
    target_origin: Array
    weight: float
    squared_weight: float
    sums: Array
    upper: Annotated[Array, "upper"] = field(repr=False)
    target_sums: Array
    target_squares: Array
    cross: Array = field(repr=False)

    @classmethod
    def empty(cls, origin: Array, target_origin: Array | None = None) -> Self:
        """Return the moments of no rows; without origin of targets there are no targets."""
        target_origin = np.empty(0) if target_origin is None else target_origin
        width, n_targets = origin.size, target_origin.size
        zeros = (np.zeros(n_targets), np.zeros(n_targets), np.zeros((n_targets, width)))
        upper = np.zeros((width, width))
        return cls(origin.copy(), target_origin.copy(), 0.0, 0.0, np.zeros(width), upper, *zeros)

    @property
    def n_features(self) -> int:
        """Number of features D."""
        return int(self.origin.size)

    @property
    def n_targets(self) -> int:
        """Number of columns of targets T."""
        return int(self.target_origin.size)

    @property
    def count(self) -> float:
        r"""Number of rows that weights of this sum and sum of squares stand for.

        .. math:: n = \max\left(\sum w,\; \frac{(\sum w)^2}{\sum w^2}\right)

        Integer weights are repeated rows; weights below one are not fewer rows, only lighter ones:
        three weights of 0.01 are three rows.

        References
        ----------
        Kish (1965), Survey sampling, section 11.7, for the second term.
        """
        squared_weight = max(self.squared_weight, np.finfo(np.float64).tiny)
        return max(self.weight, self.weight * (self.weight / squared_weight))

    @property
    def mean(self) -> Array:
        """Mean of the features; their origin where there are no rows."""
        return self.origin + self._shift

    @property
    def _shift(self) -> Array:
        """The way from the origin to the mean."""
        return self.sums / (self.weight or 1.0)

    def scatter(self, *, whole: bool = True) -> Array:
        """Return the scatter about the mean, shape (D, D), as a new array.

        With ``whole=False`` only the lower triangle is filled.
        """
        upper = self.upper.copy()
        # The upper triangle by rows is the lower one by columns, as BLAS counts.
        dsyr(-self.weight, self._shift, a=upper.T, lower=1, overwrite_a=1)
        diagonal = upper.diagonal().clip(0.0)  # a square is rounding where nothing varies
        if whole:
            upper += np.triu(upper, 1).T
        np.fill_diagonal(upper, diagonal)
        return upper if whole else upper.T

    def summary(self, *, whole: bool = True) -> RegressionMoments:
        """Return what the solvers read, as new arrays; see :meth:`scatter` for ``whole``."""
        target_shift = self.target_sums / (self.weight or 1.0)
        return RegressionMoments(
            self.weight,
            self.count,
            self.mean,
            self.scatter(whole=whole),
            self.target_origin + target_shift,
            np.ascontiguousarray((self.cross - np.outer(target_shift, self.sums)).T),
            (self.target_squares - target_shift * self.target_sums).clip(0.0),
        )

    def add(
        self,
        features: Floats,
        targets: Targets,
        weights: Array,
        *,
        fading: float = 1.0,
    ) -> None:
        """Add rows, after letting those so far count ``fading`` times as much.

        Parameters
        ----------
        features : ndarray, shape (n, D)
            float32 or float64.
        targets : ndarray or csr_array, shape (n, T), or None
            Sparse ones must have an origin of zeros; None where T is zero.
        weights : ndarray, shape (n,)
            Not negative.
        fading : float, default=1.0
            As in :meth:`fade`.
        """
        self.fade(fading)
        for start in range(0, weights.size, _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            self._add_block(
                features[part], None if targets is None else targets[part], weights[part]
            )

    def _add_block(self, features: Floats, targets: Targets, weights: Array) -> None:
        answers = _Answers.of(targets, self.target_origin, weights)
        weight, sums = float(weights.sum()), self._sums(features, weights)
        shift = sums / (weight or 1.0)
        centred = _centred_float32(features, self.origin + shift, weights)
        if centred is None:
            deviations = np.subtract(features, self.origin, dtype=np.float64)
            deviations *= np.sqrt(weights)[:, None]
            dsyrk(1.0, deviations.T, beta=1.0, c=self.upper.T, lower=1, overwrite_c=1)
        else:
            # Not centred.T @ centred: numpy fills the other triangle too, which takes longer.
            products = ssyrk(1.0, centred.T, lower=1).T
            for start in range(0, self.n_features, _STRIP_ROWS):
                strip = slice(start, start + _STRIP_ROWS)
                self.upper[strip, start:] += products[strip, start:]
            dsyr(weight, shift, a=self.upper.T, lower=1, overwrite_a=1)
        if centred is None or not isinstance(answers.weighted, sparse.csr_array):
            cross = self._cross(features, answers.weighted)
        else:
            # Weights are in both sides of the product, so each has their root.
            rooted = sparse.diags_array(1.0 / np.sqrt(weights)) @ answers.weighted
            cross = rooted.T.astype(np.float32) @ centred + np.outer(answers.sums, shift)
        self.weight += weight
        self.squared_weight += float(weights @ weights)
        self.sums += sums
        self.target_sums[answers.columns] += answers.sums
        self.target_squares[answers.columns] += answers.squares
        self.cross[answers.columns] += cross

    def _sums(self, features: Floats, weights: Array) -> Array:
        """Return weighted sums of deviations from the origin."""
        if features.dtype == np.float32 and (weights == 1.0).all():
            # Of the 7 digits of each row none is lost in sums of 16.
            return np.asarray(features.sum(axis=0, dtype=np.float64) - weights.size * self.origin)
        sums: Array = self._cross(features, weights[:, None])[0]
        return sums

    def _cross(self, features: Floats, weighted: Array | sparse.csr_array) -> Array:
        """Return products of weights, or weighted targets, with deviations from the origin."""
        cross = np.zeros((weighted.shape[1], self.n_features))
        for start in range(0, features.shape[0] if cross.size else 0, _PIECE_ROWS):
            piece = slice(start, start + _PIECE_ROWS)
            cross += weighted[piece].T @ np.subtract(features[piece], self.origin, dtype=np.float64)
        return cross

    def fade(self, factor: float) -> None:
        """Let everything so far count ``factor`` times as much."""
        if factor != 1.0:
            self.weight *= factor
            self.squared_weight *= factor * factor
            for sums in (self.sums, self.upper, self.target_sums, self.target_squares, self.cross):
                np.multiply(sums, factor, out=sums)

    def grow(self, n_targets: int) -> None:
        """Let there be more columns of targets, which have been zero so far."""
        more = n_targets - self.n_targets
        if more > 0:
            for name in ("target_origin", "target_sums", "target_squares"):
                setattr(self, name, np.pad(getattr(self, name), (0, more)))
            self.cross = np.pad(self.cross, ((0, more), (0, 0)))

    def merge(self, other: Self, columns: Indices | None = None) -> None:
        """Add everything that another one has seen, which stays as it is.

        Parameters
        ----------
        other : Moments
            Of the same number of features, about any origin.
        columns : ndarray, shape (its n_targets,), optional
            The column that each of its targets is here; the same ones where not given.
        """
        if other.n_features != self.n_features:
            raise StateMismatchError(
                f"n_features must agree to merge, got {self.n_features} and {other.n_features}"
            )
        columns = np.arange(other.n_targets) if columns is None else columns
        self.grow(int(columns.max(initial=-1)) + 1)
        away = other.origin - self.origin
        target_away = other.target_origin - self.target_origin[columns]
        if other.weight == 0.0:
            return
        sums = other.sums + other.weight * away
        target_sums = other.target_sums + other.weight * target_away
        squares = other.target_squares + target_away * (other.target_sums + target_sums)
        cross = other.cross + np.outer(target_away, other.sums) + np.outer(target_sums, away)
        self.upper += other.upper
        if away.any():
            dsyr2(0.5, other.sums + sums, away, a=self.upper.T, lower=1, overwrite_a=1)
        self.weight += other.weight
        self.squared_weight += other.squared_weight
        self.sums += sums
        self.target_sums[columns] += target_sums
        self.target_squares[columns] += squares
        self.cross[columns] += cross

    def copy(self) -> Self:
        """Return an independent object in the same state."""
        return replace(
            self,
            **{name: array.copy() for name, array in vars(self).items() if np.ndim(array)},
        )


def of_classes(parts: Sequence[Moments], factors: Array) -> Moments:
    """Return the moments of all classes together, class k times ``factors[k]``.

    Parameters
    ----------
    parts : sequence of Moments
        Of each class without targets, all about one origin.
    factors : ndarray, shape (number of classes,)
        How many times as much the rows of each class count.

    Returns
    -------
    Moments
        With one-hot targets, a column for each class.

    Examples
    --------
    >>> parts = [Moments.empty(np.zeros(1)) for _ in range(2)]
    >>> parts[0].add(np.array([[1.0], [3.0]]), None, np.ones(2))
    >>> parts[1].add(np.array([[8.0]]), None, np.ones(1))
    >>> of_classes(parts, np.array([1.0, 2.0])).summary().target_mean
    array([0.5, 0.5])
    """
    together = Moments.empty(parts[0].origin, np.zeros(len(parts)))
    for column, (part, factor) in enumerate(zip(parts, factors.tolist(), strict=True)):
        together.weight += factor * part.weight
        together.squared_weight += factor * factor * part.squared_weight
        together.sums += factor * part.sums
        together.upper += part.upper if factor == 1.0 else factor * part.upper
        together.target_sums[column] = together.target_squares[column] = factor * part.weight
        together.cross[column] = factor * part.sums
    return together


class _Answers(NamedTuple):
    """The columns of targets that a block has, as deviations, with their sums."""

    columns: Indices | slice
    weighted: Array | sparse.csr_array  # times the weights of rows
    sums: Array
    squares: Array

    @classmethod
    def of(cls, targets: Targets, origin: Array, weights: Array) -> Self:
        if isinstance(targets, sparse.csr_array):
            # Only the columns that occur: their number must not cost anything.
            columns, index = np.unique(targets.indices, return_inverse=True)
            weighted = targets.data * np.repeat(weights, np.diff(targets.indptr))
            sums = np.bincount(index, weighted, columns.size).astype(np.float64)
            squares = np.bincount(index, weighted * targets.data, columns.size).astype(np.float64)
            shape = (targets.shape[0], columns.size)
            matrix = sparse.csr_array((weighted, index, targets.indptr), shape=shape)
            return cls(columns, matrix, sums, squares)
        if targets is None:
            targets = np.empty((weights.size, 0))
        deviations = targets - origin
        matrix = weights[:, None] * deviations
        squares = np.einsum("ij,ij->j", matrix, deviations)
        return cls(slice(None), matrix, matrix.sum(axis=0), squares)


def _centred_float32(rows: Floats, mean: Array, weights: Array) -> NDArray[np.float32] | None:
    """Return sqrt(w) (x - mean) in float32; None where its products would not do."""
    if rows.dtype != np.float32 or rows.shape[0] <= _FEW_ROWS:
        return None
    low, high = _FLOAT32_WEIGHTS
    if not low < float(weights.max()) < high or largest_of(rows) >= _FLOAT32_VALUES:
        return None
    # First the rounded mean, which costs the rows no digit that they have, then what rounding took.
    centre = mean.astype(np.float32)
    centred: NDArray[np.float32] = rows - centre
    centred -= (mean - centre).astype(np.float32)
    if not (weights == 1.0).all():
        centred *= np.sqrt(weights)[:, None].astype(np.float32)
    low, high = _FLOAT32_DEVIATIONS
    return centred if low < largest_of(centred) < high else None


def largest_of(values: Floats) -> float:
    """Return the largest absolute value; 0 where there are none."""
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
