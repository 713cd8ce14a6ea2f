"""The exact chi2 distance and the kernels built on it: the oracle for everything else.

These cost O(n m d) and are meant for checking, for small data and for measuring errors. Dense rows
go through scikit-learn's compiled loop; sparse rows, and values whose squares a float64 does not
hold, are taken one at a time against blocks of the other side. No n x m x d temporary ever exists.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import gammaincc

from streamchi2.checks.params import as_positive_float
from streamchi2.checks.rows import Rows, as_rows

# Squares of such values, and of their differences down to the last bit, are normal numbers.
_LEAST_SQUARED, _LARGEST_SQUARED = 2.0**-450, 2.0**500
_HUGE = 2.0**900  # values above might add up to more than a float64 holds
_DENSE = 0.25  # share of non-zero values above which the loop over dense rows is faster
_BLOCK_VALUES = 1 << 15  # 256 KiB of float64, so that the four passes over a block stay in cache


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
    if not sparse.issparse(left) and not sparse.issparse(right):
        return _dense_distance(np.asarray(left, np.float64), np.asarray(right, np.float64))
    distance = _sparse_distance(sparse.csr_array(left), sparse.csr_array(right))
    if Y is None:
        np.fill_diagonal(distance, 0.0)
    return distance


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


def _dense_distance(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    if not (_may_be_squared(left) and _may_be_squared(right)):
        return _distance_by_blocks(left, right)
    # Where it is used: the module takes a quarter of a second to import.
    from sklearn.metrics.pairwise import additive_chi2_kernel

    distance: NDArray[np.float64] = additive_chi2_kernel(
        # Its loop takes no arrays that are read-only.
        np.require(left, requirements="W"),
        np.require(right, requirements="W"),
    )
    distance *= -0.5
    return distance


def _may_be_squared(values: NDArray[np.float64]) -> bool:
    least = values.min(initial=np.inf, where=values > 0.0)
    return bool(least >= _LEAST_SQUARED and values.max(initial=0.0) <= _LARGEST_SQUARED)


def _distance_by_blocks(
    left: NDArray[np.float64], right: NDArray[np.float64]
) -> NDArray[np.float64]:
    distance = np.empty((left.shape[0], right.shape[0]))
    # With a = x/2 and b = y/2 each term is (a-b)^2/(a+b), and a+b cannot overflow.
    left, right = left / 2.0, right / 2.0
    step = max(1, _BLOCK_VALUES // right.shape[1])
    for start in range(0, right.shape[0], step):
        block = right[start : start + step]
        buffers = np.empty_like(block), np.empty_like(block)
        for row, halves in enumerate(left):
            factors = _factors(halves, block, *buffers)
            distance[row, start : start + step] = np.einsum("ij,ij->i", *factors)
    return distance


def _factors(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    difference: NDArray[np.float64] | None = None,
    ratio: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a - b and (a - b)/(a + b), whose product cannot overflow; 0/0 = 0."""
    difference = np.subtract(a, b, out=difference)
    total = np.add(a, b, out=ratio)
    # Where both are zero so is the difference, and any positive denominator will do.
    np.maximum(total, np.finfo(np.float64).tiny, out=total)
    return difference, np.divide(difference, total, out=total)


def _as_dense(
    rows: sparse.csr_array, position: NDArray[np.intp], width: int
) -> NDArray[np.float64]:
    """Return rows with their values at other positions, all of them below a width."""
    parts = (rows.data.astype(np.float64), position, rows.indptr)
    dense: NDArray[np.float64] = sparse.csr_array(parts, shape=(rows.shape[0], width)).toarray()
    return dense


def _sparse_distance(left: sparse.csr_array, right: sparse.csr_array) -> NDArray[np.float64]:
    # Hashed columns may number 2^63: keep only those that hold something.
    columns, position = np.unique(
        np.concatenate([left.indices, right.indices]), return_inverse=True
    )
    left_position, right_position = np.split(position, [left.nnz])
    n_rows = left.shape[0] + right.shape[0]
    if columns.size and left.nnz + right.nnz >= _DENSE * columns.size * n_rows:
        return _dense_distance(
            _as_dense(left, left_position, columns.size),
            _as_dense(right, right_position, columns.size),
        )
    # The distance is homogeneous; in another unit no sum of huge values overflows.
    largest = max(float(one.data.max(initial=0.0)) for one in (left, right))
    unit = _HUGE if largest > _HUGE else 1.0
    left_halves = left.data.astype(np.float64) / (2.0 * unit)
    right_halves = right.data.astype(np.float64) / (2.0 * unit)
    row_of_entry = np.repeat(np.arange(right.shape[0]), np.diff(right.indptr))

    def sum_by_row(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(row_of_entry, values, right.shape[0]).astype(np.float64, copy=False)

    distance = np.empty((left.shape[0], right.shape[0]))
    spread = np.zeros(columns.size)
    for row in range(left.shape[0]):
        entries = slice(left.indptr[row], left.indptr[row + 1])
        spread[left_position[entries]] = left_halves[entries]
        met = spread[right_position]
        # Terms where y is non-zero, then the x that met no y (each such term is x/2).
        alone = left_halves[entries].sum() - sum_by_row(met)
        difference, ratio = _factors(met, right_halves)
        distance[row] = sum_by_row(difference * ratio) + np.maximum(alone, 0.0)
        spread[left_position[entries]] = 0.0
    with np.errstate(over="ignore"):  # as the sum of terms would be
        distance *= unit
    return distance
