"""Leading eigenpairs of a scatter matrix: principal components, so many or a share of variance."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from streamchi2.checks import as_positive_int
from streamchi2.solvers.block_vectors import BlockVectors, consecutive
from streamchi2.statistics.moments import Moments
from streamchi2.threads import one_blas_thread

NumberOfComponents = int | float | tuple[int | float | None, ...] | None


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Leading eigenpairs, largest first; in every vector the largest entry is positive."""

    values: NDArray[np.float64]  # (n,)
    vectors: NDArray[np.float64]  # (d, n)


@dataclass(frozen=True, eq=False)
class Components:
    """Principal components of features, and the mean about which they are taken.

    Each descriptor has eigenpairs of its own; without descriptors there is one tuple of pairs.
    """

    mean: NDArray[np.float64]  # (D,)
    pairs: tuple[Eigenpairs, ...]
    variance_shares: tuple[NDArray[np.float64], ...]
    count: float  # of rows
    weight: float

    @classmethod
    def of(cls, moments: Moments, sizes: tuple[int, ...], n_pca: NumberOfComponents) -> Components:
        """Return the components of features in consecutive descriptors of these sizes.

        ``n_pca``, a number or a share of the variance, may differ between descriptors; None: all.
        """
        numbers = n_pca if isinstance(n_pca, tuple) else (n_pca,) * len(sizes)
        scatter, pairs, shares = moments.scatter(), [], []
        for columns, number in zip(consecutive(sizes), numbers, strict=True):
            block = scatter[columns, columns]
            pairs.append(principal_components(block, number or block.shape[0]))
            total = float(block.trace())
            shares.append(pairs[-1].values / total if total > 0 else 0.0 * pairs[-1].values)
        return cls(moments.mean, tuple(pairs), tuple(shares), moments.count, moments.weight)

    @property
    def vectors(self) -> BlockVectors:
        """The directions, those of one descriptor after those of the other."""
        return BlockVectors(tuple(pairs.vectors for pairs in self.pairs))

    @property
    def variances(self) -> tuple[NDArray[np.float64], ...]:
        """Variance along each component: scatter over the number of rows less one."""
        # Weights need not count rows: the scatter is per unit of weight.
        per_row = self.count / self.weight if self.weight > 0.0 else 1.0
        freedom = max(self.count - 1.0, 1.0)
        return tuple(pairs.values * per_row / freedom for pairs in self.pairs)

    @property
    def singular_values(self) -> tuple[NDArray[np.float64], ...]:
        """Singular values of the centred features: roots of the scatter along each component."""
        freedom = max(self.count - 1.0, 1.0)
        return tuple(np.sqrt(variances * freedom) for variances in self.variances)

    @property
    def noise_variances(self) -> tuple[float, ...]:
        """Mean variance along the directions that are left out, for each descriptor."""
        blocks = zip(self.variances, self.variance_shares, self.pairs, strict=True)
        return tuple(
            noise_variance(variances, float(shares.sum()), pairs.vectors.shape[0], self.count)
            for variances, shares, pairs in blocks
        )


def noise_variance(
    variances: NDArray[np.float64], share: float, n_features: int, count: float
) -> float:
    """Return the mean variance along directions left out, where those kept hold a share of all.

    As in scikit-learn, directions in which so few rows cannot vary do not count.

    >>> round(noise_variance(np.array([6.0, 2.0]), 0.8, 4, 100.0), 12)
    1.0
    """
    n_left = min(n_features, round(count)) - variances.size
    if n_left <= 0 or share <= 0.0:
        return 0.0
    rest = float(variances.sum()) * (1.0 - share) / share
    return max(rest, 0.0) / n_left


def leading_eigenpairs(scatter: NDArray[np.float64], n: float) -> Eigenpairs:
    """Return the leading eigenpairs of a symmetric positive semi-definite matrix.

    Parameters
    ----------
    scatter : ndarray, shape (d, d)
        Symmetric; the lower triangle is read.
    n : int or float
        Number of pairs, at most d; or, as a float in (0, 1], the share of the variance that they
        hold: the fewest that do, and for 1.0 all that are not rounding.

    Notes
    -----
    LAPACK reduces the matrix in 4/3 d^3 operations, half of them bound by memory; each vector
    costs 2 d^2 more.

    Examples
    --------
    >>> pairs = leading_eigenpairs(np.diag([1.0, 5.0, 3.0]), 2)
    >>> pairs.values, pairs.vectors
    (array([5., 3.]), array([[0., 0.],
                             [1., 0.],
                             [0., 1.]]))
    >>> leading_eigenpairs(np.diag([1.0, 5.0, 3.0]), 0.5).values
    array([5.])
    """
    width = scatter.shape[0]
    n_wanted = as_positive_int(n, name="n") if isinstance(n, Integral) else width
    if n_wanted > width:
        raise ValueError(f"n must be at most the width {width}, got {n}")
    subset = [width - n_wanted, width - 1]
    with one_blas_thread:
        values, vectors = eigh(scatter, subset_by_index=subset, check_finite=False)
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1]
    if not isinstance(n, Integral):
        n_wanted = _n_holding(values, float(n))
    vectors = vectors[:, :n_wanted]
    largest = np.argmax(np.abs(vectors), axis=0)
    signs = np.sign(vectors[largest, np.arange(n_wanted)])
    return Eigenpairs(values[:n_wanted], np.ascontiguousarray(vectors * signs))


def principal_components(scatter: NDArray[np.float64], n_pca: float) -> Eigenpairs:
    """Return the leading eigenpairs, with zeros for directions along which nothing has varied.

    Those are arbitrary, and what features have along them is rounding.

    Parameters
    ----------
    scatter : ndarray, shape (d, d)
        Of the features.
    n_pca : int or float
        How many pairs (at most d are returned), or the share of the variance that they hold.

    Examples
    --------
    >>> principal_components(np.diag([18.0, 2.0, 0.0]), 3).vectors
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 0.]])
    """
    n = min(int(n_pca), scatter.shape[0]) if isinstance(n_pca, Integral) else float(n_pca)
    pairs = leading_eigenpairs(scatter, n)
    constant = pairs.values <= negligible_variance(pairs.values, scatter.shape[0])
    return Eigenpairs(pairs.values, np.where(constant, 0.0, pairs.vectors))


def negligible_variance(values: NDArray[np.float64], n_features: int) -> float:
    """Return the variance that rounding may leave along a direction in which nothing varies.

    A block of up to 1024 rows adds as many products to every entry of the scatter, each rounded:
    about sqrt(1024) units of rounding in all. The eigenvalues of a d x d matrix add d more.

    >>> negligible_variance(np.array([2.0, 1.0]), 32) / 2**-52
    128.0
    """
    return (n_features + 32) * float(np.finfo(np.float64).eps) * float(values[0])


def _n_holding(variances: NDArray[np.float64], share: float) -> int:
    """Return how many leading ones of all variances hold the share; for 1.0 all that vary."""
    rounding = negligible_variance(variances, variances.size)
    n_varying = max(int(np.count_nonzero(variances > rounding)), 1)
    if share == 1.0:
        return n_varying
    # Sums in another order differ by rounding, which must not ask for one more.
    reached = np.cumsum(variances) >= share * variances.sum() * (1 - 1e-12)
    return min(int(np.argmax(reached)) + 1, n_varying)


def check_n_pca(n_pca: Any, *, name: str = "n_pca") -> None:
    """Refuse anything but None, a positive number of components or a share of the variance.

    >>> check_n_pca(1.5)
    Traceback (most recent call last):
        ...
    ValueError: n_pca must be None, an integer of at least 1 or a share of the variance \
between 0 and 1, got 1.5
    """
    if n_pca is None:
        return
    if isinstance(n_pca, Integral) and not isinstance(n_pca, bool):
        as_positive_int(n_pca, name=name)
    elif not isinstance(n_pca, Real) or isinstance(n_pca, bool) or not 0 < float(n_pca) < 1:
        raise ValueError(
            f"{name} must be None, an integer of at least 1 or a share of the variance "
            f"between 0 and 1, got {n_pca!r}"
        )
