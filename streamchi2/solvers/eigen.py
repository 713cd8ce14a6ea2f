"""Leading eigenpairs of a scatter matrix: exact from nothing, cheap from a good start.

Between two solutions of a stream the scatter changes little, so the eigenvectors of yesterday are
an excellent start for those of today. One multiplication by the scatter then does what LAPACK
does in a full reduction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import eigh

from streamchi2.runtime.blas import one_blas_thread
from streamchi2.validation import as_positive_int

_SMALL = 512  # below this width LAPACK takes milliseconds
_MAX_STEPS = 4  # products with the scatter that still cost less than a reduction
_LOSS = 1e-4  # share of the captured variance that a warm start may miss
_WELL_CONDITIONED = 1e-2  # pivots above this leave errors of 1e-12: no second Cholesky needed


@dataclass(frozen=True, eq=False)
class Eigenpairs:
    """Leading eigenpairs, largest first; in every vector the largest entry is positive.

    ``basis`` spans at least the vectors and is what the next solution starts from; ``n_steps``
    counts the warm steps taken, 0 where LAPACK answered.
    """

    values: NDArray[np.float64]  # (n,)
    vectors: NDArray[np.float64]  # (d, n)
    basis: NDArray[np.float64]  # (d, b), b >= n, orthonormal
    n_steps: int = 0


def negligible_variance(values: NDArray[np.float64], n_features: int) -> float:
    """Return the variance that rounding may leave along a direction in which nothing varies.

    A block of up to 1024 rows adds as many products to every entry of the scatter, each rounded:
    about sqrt(1024) units of rounding in all. The eigenvalues of a d x d matrix add d more.

    >>> negligible_variance(np.array([2.0, 1.0]), 32) / 2**-52
    128.0
    """
    return (n_features + 32) * float(np.finfo(np.float64).eps) * float(values[0])


def leading_eigenpairs(
    scatter: NDArray[np.float64], n: int, start: Eigenpairs | None = None
) -> Eigenpairs:
    r"""Return the ``n`` leading eigenpairs of a symmetric positive semi-definite matrix.

    Without a start, or for small matrices, LAPACK's answer. With a start, block subspace
    iteration on twice the wanted number of vectors,

    .. math:: Q \leftarrow \mathrm{orth}(H Q), \qquad Q^\top H Q = W \Theta W^\top,

    orthonormalised by Cholesky (twice where once is not enough), with a Rayleigh-Ritz step each.
    It ends when the residuals say that at most 1e-4 of the captured variance
    :math:`\sum_{i \le n} \theta_i` is missing (single vectors at the cut rotate freely, the
    variance they capture does not), and falls back to LAPACK when that does not happen within
    four steps.

    Parameters
    ----------
    scatter : ndarray, shape (d, d)
        Symmetric; both triangles are read.
    n : int
        Number of pairs, at most d.
    start : Eigenpairs, optional
        Earlier eigenpairs of a similar matrix of the same width.

    Notes
    -----
    A step costs 4 n d^2 + O(n^2 d) operations; LAPACK about 4/3 d^3, half of them bound by memory.

    References
    ----------
    Saad (2011), Numerical Methods for Large Eigenvalue Problems, chapter 5,
    doi:10.1137/1.9781611970739; Yamamoto et al. (2015), CholeskyQR2, etna.math.kent.edu vol. 44.

    Examples
    --------
    >>> pairs = leading_eigenpairs(np.diag([1.0, 5.0, 3.0]), 2)
    >>> pairs.values, pairs.vectors
    (array([5., 3.]), array([[0., 0.],
                             [1., 0.],
                             [0., 1.]]))
    """
    width = scatter.shape[0]
    n = as_positive_int(n, name="n")
    if n > width:
        raise ValueError(f"n must be at most the width {width}, got {n}")
    if start is not None and start.basis.shape[0] == width and width > max(_SMALL, 4 * n):
        warm = _subspace_iteration(scatter, n, start.basis)
        if warm is not None:
            return warm
    with one_blas_thread:
        values, vectors = eigh(scatter, subset_by_index=[width - n, width - 1], check_finite=False)
    vectors = _with_fixed_signs(vectors[:, ::-1])
    return Eigenpairs(np.maximum(values[::-1], 0.0), vectors, vectors)


def _subspace_iteration(
    scatter: NDArray[np.float64], n: int, basis: NDArray[np.float64]
) -> Eigenpairs | None:
    loss, image = np.inf, _rough_image(scatter, _block(basis, 2 * n))
    for step in range(1, _MAX_STEPS + 1):
        try:
            block = _orthonormal(image)
        except LinAlgError:
            return None  # the scatter has lower rank than the block
        image = scatter @ block
        values, rotation = np.linalg.eigh(block.T @ image)
        values, rotation = values[::-1], rotation[:, ::-1]
        block = block @ rotation
        residuals = image @ rotation[:, :n] - block[:, :n] * values[:n]
        previous, loss = loss, _captured_loss(residuals, values)
        if loss <= _LOSS * values[:n].sum():
            vectors = _with_fixed_signs(block[:, :n])
            return Eigenpairs(np.maximum(values[:n], 0.0), vectors, block, step)
        if loss > previous / 2.0:
            return None  # a flat spectrum: further steps will not get there
    return None


def _rough_image(scatter: NDArray[np.float64], block: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the scatter times the block, up to scale, in float32: a start need not be exact."""
    scale = float(scatter.diagonal().max()) or 1.0
    image = (scatter / scale).astype(np.float32) @ block.astype(np.float32)
    return image.astype(np.float64)


def _captured_loss(residuals: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Estimate the variance that vectors outside the block would add: |r|^2 over the gap.

    Residuals of Ritz vectors are orthogonal to the block, so the gap that counts is the one to the
    eigenvalues outside, of which the last one inside is the level.
    """
    gaps = values[: residuals.shape[1]] - values[-1]
    squares = np.einsum("ij,ij->j", residuals, residuals)
    return float((squares / np.maximum(gaps, np.finfo(np.float64).tiny)).sum())


def _block(basis: NDArray[np.float64], n_columns: int) -> NDArray[np.float64]:
    missing = n_columns - basis.shape[1]
    if missing <= 0:
        return basis[:, :n_columns]
    # Directions of no importance, the same ones every time.
    noise = np.random.default_rng(0).normal(size=(basis.shape[0], missing))
    noise -= basis @ (basis.T @ noise)
    return np.hstack([basis, noise / np.linalg.norm(noise, axis=0)])


def _orthonormal(block: NDArray[np.float64]) -> NDArray[np.float64]:
    # Columns of equal length: Cholesky need not meet the whole range of eigenvalues squared.
    lengths = np.linalg.norm(block, axis=0)
    if not lengths.all():
        raise LinAlgError("the block holds a column of zeros")
    block = block / lengths
    for _ in range(2):
        factor = np.linalg.cholesky(block.T @ block)
        # The inverse is as good as a solve here, and much faster.
        block = block @ np.linalg.inv(factor).T
        if factor.diagonal().min() > _WELL_CONDITIONED:
            break
    return block


def _with_fixed_signs(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    largest = np.argmax(np.abs(vectors), axis=0)
    signs = np.sign(vectors[largest, np.arange(vectors.shape[1])])
    return np.ascontiguousarray(vectors * signs)
