"""The exact chi2 distance and the kernels built on it: the oracle for everything else.

These cost O(n m d) and are meant for checking, for small data and for measuring errors. Rows are
taken a few at a time against all rows of the other side; no n x m x d temporary ever exists.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import gammaincc

from streamchi2.checks.params import as_positive_float
from streamchi2.checks.rows import Rows, as_rows

_HUGE = 2.0**900  # values above might add up to more than a float64 holds
_TERMS = 1 << 16  # of distances that are worked out together, within the cache
_DENSE = 0.25  # share of non-zero values above which the loop over dense rows is faster


def chi2_distance(X: ArrayLike | Rows, Y: ArrayLike | Rows | None = None) -> NDArray[np.float64]:
    r"""Exact chi2 distance between all rows of ``X`` and all rows of ``Y``.

    .. math:: \chi^2(x, y) = \frac12 \sum_i \frac{(x_i - y_i)^2}{x_i + y_i}, \qquad 0/0 = 0

    Parameters
    ----------
    X, Y : array-like or sparse matrix, shapes (n, d) and (m, d)
        Non-negative rows; they need not sum to one. ``Y=None`` means ``Y = X``.

    Returns
    -------
    ndarray of float64, shape (n, m)

    Notes
    -----
    For dense rows the cost is O(n m d); for sparse ones O(n nnz(Y)). This is the distance of
    Li, Lebanon and Sminchisescu (2013, arXiv:1206.4074); scikit-learn's
    ``additive_chi2_kernel`` is -2 times it.

    Examples
    --------
    >>> chi2_distance([[1.0, 0.0], [0.5, 0.5]])
    array([[0.        , 0.33333333],
           [0.33333333, 0.        ]])
    """
    left = as_rows(X, name="X")
    right = left if Y is None else as_rows(Y, name="Y")
    if left.shape[1] != right.shape[1]:
        raise ValueError(
            f"X and Y must have the same number of columns, got {left.shape[1]} "
            f"and {right.shape[1]}"
        )
    if sparse.issparse(left) or sparse.issparse(right):
        left, right = (sparse.csr_array(rows, dtype=np.float64) for rows in (left, right))
        return _sparse_distance(left, right, symmetric=Y is None)
    left, right = (np.asarray(rows, dtype=np.float64) for rows in (left, right))
    return _dense_distance(left, right, symmetric=Y is None)


def exp_chi2_kernel(
    X: ArrayLike | Rows, Y: ArrayLike | Rows | None = None, *, beta: float = 1.0, dof: float = 2
) -> NDArray[np.float64]:
    r"""Exact exp-chi2 kernel, or its relative with other degrees of freedom.

    .. math:: k(x, y) = Q\left(\tfrac v2, \beta \chi^2(x, y)\right), \qquad v = \mathrm{dof}

    where Q is the upper regularised gamma function: the p-value of a chi2 test. ``dof=2`` is
    :math:`\exp(-\beta\chi^2)`, ``dof=1`` is :math:`\mathrm{erfc}(\sqrt{\beta\chi^2})`. For
    ``dof`` above 2 the kernel need not be positive definite.

    Parameters
    ----------
    X, Y : array-like or sparse matrix, shapes (n, d) and (m, d)
        Non-negative rows. ``Y=None`` means ``Y = X``.
    beta : float, default=1.0
        Inverse scale of the distance.
    dof : float, default=2
        Degrees of freedom, any positive number.

    Returns
    -------
    ndarray of float64, shape (n, m)

    See Also
    --------
    sklearn.metrics.pairwise.chi2_kernel : the same values with ``gamma = beta / 2`` and dof 2.

    References
    ----------
    Li, Lebanon and Sminchisescu (2013), section 3, arXiv:1206.4074.

    Examples
    --------
    >>> exp_chi2_kernel([[1.0, 0.0]], [[0.5, 0.5], [1.0, 0.0]], beta=3.0)
    array([[0.36787944, 1.        ]])
    """
    beta = as_positive_float(beta, name="beta")
    dof = as_positive_float(dof, name="dof")
    with np.errstate(over="ignore"):  # an infinite distance is a kernel value of zero
        scaled = chi2_distance(X, Y) * beta
    if dof == 2.0:
        return np.exp(-scaled)
    return np.asarray(gammaincc(dof / 2.0, scaled), dtype=np.float64)


def _dense_distance(
    left: NDArray[np.float64], right: NDArray[np.float64], *, symmetric: bool
) -> NDArray[np.float64]:
    distance = np.empty((left.shape[0], right.shape[0]))
    # With a = x/2 and b = y/2 each term is (a-b)^2/(a+b), and a+b cannot overflow.
    left, right = left / 2.0, right / 2.0
    together = max(1, _TERMS // max(1, right.size))
    for start in range(0, left.shape[0], together):
        rows, first = slice(start, start + together), start if symmetric else 0
        terms = _factors(left[rows, None], right[first:])
        distance[rows, first:] = np.einsum("kij,kij->ki", *terms)
        if symmetric:
            distance[first:, rows] = distance[rows, first:].T
    return distance


def _factors(
    a: NDArray[np.float64], b: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a - b and (a - b)/(a + b), whose product cannot overflow; 0/0 = 0."""
    difference, ratio = a - b, a + b
    # Where both are zero so is the difference, and any positive denominator will do.
    np.maximum(ratio, np.finfo(np.float64).tiny, out=ratio)
    return difference, np.divide(difference, ratio, out=ratio)


def _sparse_distance(
    left: sparse.csr_array, right: sparse.csr_array, *, symmetric: bool
) -> NDArray[np.float64]:
    # Hashed columns may number 2^62: keep only those that hold something.
    columns, position = np.unique(
        np.concatenate([left.indices, right.indices]), return_inverse=True
    )
    places = np.split(position, [left.nnz])
    left, right = (
        sparse.csr_array((rows.data, place, rows.indptr), shape=(rows.shape[0], columns.size))
        for rows, place in zip((left, right), places, strict=True)
    )
    n_values = columns.size * (left.shape[0] + right.shape[0])
    if columns.size and left.nnz + right.nnz >= _DENSE * n_values:
        return _dense_distance(left.toarray(), right.toarray(), symmetric=symmetric)
    # The distance is homogeneous; in another unit no sum of huge values overflows.
    largest = max(float(rows.data.max(initial=0.0)) for rows in (left, right))
    unit = _HUGE if largest > _HUGE else 1.0
    left_halves, right_halves = left.data / (2.0 * unit), right.data / (2.0 * unit)
    row_of_value = np.repeat(np.arange(right.shape[0]), np.diff(right.indptr))

    def sum_by_row(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(row_of_value, values, right.shape[0]).astype(np.float64, copy=False)

    distance = np.empty((left.shape[0], right.shape[0]))
    spread = np.zeros(columns.size)
    for row, (start, stop) in enumerate(pairwise(left.indptr)):
        values, used = left_halves[start:stop], left.indices[start:stop]
        spread[used] = values
        met = spread[right.indices]
        # Terms where y is non-zero, then the x that met no y (each such term is x/2).
        alone = values.sum() - sum_by_row(met)
        difference, ratio = _factors(met, right_halves)
        distance[row] = sum_by_row(difference * ratio) + np.maximum(alone, 0.0)
        spread[used] = 0.0
    if symmetric:
        np.fill_diagonal(distance, 0.0)
    with np.errstate(over="ignore"):  # as the sum of terms would be
        distance *= unit
    return distance
