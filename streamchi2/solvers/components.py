"""Principal components of features from their scatter: so many, or a share of the variance."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from scipy.linalg import block_diag, eigh

from streamchi2.checks.rows import Array
from streamchi2.statistics.moments import Moments
from streamchi2.threads import one_blas_thread

NumberOfComponents = int | float | tuple[int | float | None, ...] | None


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Leading eigenpairs, largest first; in every vector the largest entry is positive."""

    values: Array  # (n,)
    vectors: Array  # (d, n)
    total: float  # trace of the matrix


@dataclass(frozen=True, eq=False)
class Components:
    """Principal components of features, and the mean about which they are taken.

    Each descriptor has eigenpairs of its own; without descriptors there is one tuple of pairs.
    """

    mean: Array  # (D,)
    pairs: tuple[Eigenpairs, ...]
    count: float  # of rows
    weight: float

    @classmethod
    def of(cls, moments: Moments, sizes: tuple[int, ...], n_pca: NumberOfComponents) -> Components:
        """Return the components of features in consecutive descriptors of these sizes.

        ``n_pca``, a number or a share of the variance, may differ between descriptors; None: all.
        """
        numbers = n_pca if isinstance(n_pca, tuple) else (n_pca,) * len(sizes)
        scatter = moments.scatter()
        blocks = [scatter[columns, columns] for columns in consecutive(sizes)]
        pairs = tuple(map(principal_components, blocks, numbers))
        return cls(moments.mean, pairs, moments.count, moments.weight)

    @property
    def vectors(self) -> Array:
        """All directions, shape (D, p): those of a descriptor are zero in the others."""
        vectors: Array = block_diag(*(pairs.vectors for pairs in self.pairs))
        return vectors

    @property
    def groups(self) -> tuple[slice, ...]:
        """The coordinates of each descriptor."""
        return consecutive(tuple(pairs.values.size for pairs in self.pairs))

    @property
    def variance_shares(self) -> tuple[Array, ...]:
        """Share of the variance of its descriptor that each component holds."""
        return tuple(pairs.values / (pairs.total or np.inf) for pairs in self.pairs)

    @property
    def variances(self) -> tuple[Array, ...]:
        """Variance along each component: scatter over the number of rows less one."""
        return tuple(pairs.values * self._scale for pairs in self.pairs)

    @property
    def singular_values(self) -> tuple[Array, ...]:
        """Singular values of the centred features: roots of the scatter along each component."""
        freedom = max(self.count - 1.0, 1.0)
        return tuple(np.sqrt(variances * freedom) for variances in self.variances)

    @property
    def noise_variances(self) -> tuple[float, ...]:
        """Mean variance along the directions that are left out, for each descriptor.

        As in scikit-learn, directions in which so few rows cannot vary do not count.
        """
        noise = []
        for pairs in self.pairs:
            n_left = min(len(pairs.vectors), round(self.count)) - pairs.values.size
            rest = max(pairs.total - float(pairs.values.sum()), 0.0)
            noise.append(rest * self._scale / n_left if n_left > 0 else 0.0)
        return tuple(noise)

    @property
    def _scale(self) -> float:
        # Weights need not count rows: the scatter is per unit of weight.
        return self.count / (self.weight or 1.0) / max(self.count - 1.0, 1.0)


def consecutive(sizes: tuple[int, ...]) -> tuple[slice, ...]:
    """Return slices of these sizes, one after the other.

    >>> consecutive((2, 3))
    (slice(0, 2, None), slice(2, 5, None))
    """
    return tuple(slice(*ends) for ends in pairwise(accumulate(sizes, initial=0)))


def principal_components(scatter: Array, n_pca: float | None = None) -> Eigenpairs:
    """Return leading eigenpairs, with zeros for directions along which nothing has varied.

    Those are arbitrary, and what features have along them is rounding.

    Parameters
    ----------
    scatter : ndarray, shape (d, d)
        Symmetric, without negative eigenvalues; the lower triangle is read.
    n_pca : int, float or None, default=None
        How many pairs (at most d are returned), or the share of the variance that they hold: the
        fewest that do, and for 1.0 all that are not rounding. None: all.

    Notes
    -----
    LAPACK reduces the matrix in 4/3 d^3 operations, half of them bound by memory; each vector
    costs 2 d^2 more.

    Examples
    --------
    >>> pairs = principal_components(np.diag([1.0, 5.0, 0.0]))
    >>> pairs.values, pairs.vectors
    (array([5., 1., 0.]), array([[0., 1., 0.],
                                 [1., 0., 0.],
                                 [0., 0., 0.]]))
    >>> principal_components(np.diag([1.0, 5.0, 3.0]), 0.5).values
    array([5.])
    """
    width = len(scatter)
    n_pairs = min(n_pca, width) if isinstance(n_pca, int) else width
    with one_blas_thread:
        leading = [width - n_pairs, width - 1]
        values, vectors = eigh(scatter, subset_by_index=leading, check_finite=False)
    # LAPACK has the smallest first.
    values = np.maximum(values[::-1], 0.0)
    vectors = vectors[:, ::-1]
    # What rounding may leave where nothing varies. A block of up to 1024 rows adds as many products
    # to every entry of the scatter, each rounded: about sqrt(1024) units of rounding in all. The
    # eigenvalues of a d x d matrix add d more.
    rounding = (width + 32) * float(np.finfo(np.float64).eps) * values[0]
    vectors = np.where(values > rounding, vectors, 0.0)
    if isinstance(n_pca, float):
        n_varying = max(int(np.count_nonzero(values > rounding)), 1)
        # Sums in another order differ by rounding, which must not ask for one more.
        reached = np.cumsum(values) >= n_pca * values.sum() * (1.0 - 1e-12)
        n_holding = width if n_pca == 1.0 else int(np.argmax(reached)) + 1
        n_pairs = min(n_holding, n_varying)
    values, vectors = values[:n_pairs], vectors[:, :n_pairs]
    largest = np.argmax(np.abs(vectors), axis=0)
    signs = np.sign(vectors[largest, np.arange(n_pairs)])
    total = float(scatter.trace())
    return Eigenpairs(values, np.ascontiguousarray(vectors * signs), total)
