"""The landmark basis: Nyström features over stored rows, with the series doing the distances.

Chi2 distances to m rows would cost m slow sums over columns; between series coordinates they are
one matrix product. Landmarks carry more per feature than random frequencies do, because they lie
where the data are; they have to be seen first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.linalg.lapack import dpstrf, dtrtri
from scipy.special import gammaincc

from streamchi2.bases.base import Basis, BasisPlan, LandmarkRows, check_dof
from streamchi2.bases.subspace import of_fixed_signs
from streamchi2.checks.params import as_positive_float
from streamchi2.checks.rows import Floats, Rows
from streamchi2.hashing import gumbel_noise
from streamchi2.saving import saved
from streamchi2.statistics.sample import keys_of
from streamchi2.statistics.schedule import FIRST_ROWS
from streamchi2.threads import one_blas_thread

_FLOOR = 1e-6  # of the mean squared length; below, a direction is rounding or a repeated landmark
_PANEL = 128  # features at a time: of a triangle in such panels hardly more than half is multiplied


@saved("basis.landmarks")
@dataclass(frozen=True, eq=False, repr=False)
class LandmarkBasis(Basis):
    r"""Features whose inner products are the kernel projected onto m stored rows.

    .. math:: z(x) = W^\top k(x, \ell), \qquad W W^\top = K_{\ell\ell}^{-1}

    with :math:`k = \exp(-\tfrac\beta2 \lVert c(x) - c(\ell)\rVert^2)`, or the p-value kernel
    for other degrees of freedom. Directions in which the landmarks hardly differ, by less than
    1e-6 of the mean squared length, give zeros.

    Kernel values do not depend on coordinates: under another series the landmarks move along,
    and features change by no more than the error of the series.

    Parameters
    ----------
    landmarks : LandmarkRows
        The stored rows, m of them.
    whitening : ndarray, shape (m, n_components)
        W; columns beyond the rank are zero.
    n_inputs : int
        Width of the rows of coordinates.
    beta, dof : float
        Of the kernel.

    References
    ----------
    Williams and Seeger (2001), "Using the Nyström method to speed up kernel machines".
    """

    moves_with_series: ClassVar[bool] = False  # distances between rows stay what they are
    made_of_rows: ClassVar[bool] = True
    block_rows: ClassVar[int] = 256  # fewer do not pay for moving landmarks into the cache

    landmarks: LandmarkRows
    whitening: NDArray[np.float64]
    n_inputs: int
    beta: float
    dof: float = 2.0

    def __post_init__(self) -> None:
        as_positive_float(self.beta, name="beta")
        check_dof(self.dof)

    @classmethod
    def first_rows(cls, n_components: int | None, landmarks: LandmarkRows | None) -> int:
        """Return 2D, from which landmarks are drawn, unless they are given."""
        if landmarks is not None or n_components is None:
            return FIRST_ROWS
        return max(FIRST_ROWS, 2 * n_components)

    @classmethod
    def plan(cls, plan: BasisPlan) -> LandmarkBasis:
        """Return whitened landmarks: those that were given, or drawn from the first rows."""
        landmarks = plan.landmarks
        if landmarks is None:
            n_landmarks: int = plan.n_components
            drawn = drawn_landmarks(plan.rows, plan.weights, n_landmarks, plan.seed + 2)
            landmarks = LandmarkRows(drawn)
        inputs, sizes = plan.coordinates(landmarks.rows), (plan.n_components, plan.beta, plan.dof)
        return landmark_basis(landmarks, inputs, *sizes)

    @property
    def n_components(self) -> int:  # type: ignore[override]
        """Number of features D."""
        return int(self.whitening.shape[1])

    def bound(self, inputs_of: Callable[[Rows], Floats]) -> Callable[[Floats, Floats], None]:
        """Return what fills features from inputs, where ``inputs_of`` gives the inputs of rows."""
        # The first feature that needs each landmark; in this order the whitening is a triangle.
        used = self.whitening != 0.0
        needed_by = np.where(used.any(axis=1), used.argmax(axis=1), self.n_components)
        order = np.argsort(needed_by, kind="stable")[: np.count_nonzero(used.any(axis=1))]
        landmarks = inputs_of(self.landmarks.rows)[order]
        # Distances between rows much alike would drown in their lengths, were these not centred.
        centre = landmarks.mean(axis=0)
        landmarks -= centre
        lengths = np.einsum("ij,ij->i", landmarks, landmarks)
        landmarks = np.ascontiguousarray(landmarks.T)
        whitening = self.whitening[order].astype(landmarks.dtype)
        panels = []
        for start in range(0, self.n_components, _PANEL):
            end = min(start + _PANEL, self.n_components)
            reach = int(np.searchsorted(needed_by[order], end))
            panels.append((start, end, np.ascontiguousarray(whitening[:reach, start:end])))

        def features(inputs: Floats, out: Floats) -> None:
            kernel = kernel_of(inputs - centre, landmarks, lengths, self.beta, self.dof)
            for start, end, panel in panels:
                np.matmul(kernel[:, : panel.shape[0]], panel, out=out[:, start:end])

        return features

    def __repr__(self) -> str:
        return (
            f"LandmarkBasis({len(self.whitening)} landmarks, "
            f"n_components={self.n_components}, beta={self.beta:.6g}, dof={self.dof:g})"
        )


def landmark_basis(
    landmarks: LandmarkRows,
    inputs: NDArray[np.float64],
    n_components: int,
    beta: float,
    dof: float = 2.0,
) -> LandmarkBasis:
    """Whiten landmarks, given as rows and as coordinates, into ``n_components`` features.

    >>> rows = np.array([[0.5, 0.5], [1.0, 0.0]])
    >>> inputs = np.sqrt(rows)  # any coordinates will do
    >>> landmarks = LandmarkRows.read(rows)
    >>> basis = landmark_basis(landmarks, inputs, n_components=2, beta=1.0)
    >>> features = np.empty((2, 2))
    >>> basis.bound(lambda rows: np.sqrt(rows.toarray()))(inputs, features)
    >>> print((features @ features.T).round(3))  # exact on the landmarks themselves
    [[1.    0.746]
     [0.746 1.   ]]
    """
    centred = inputs - inputs.mean(axis=0)
    lengths = np.einsum("ij,ij->i", centred, centred)
    whitening = np.zeros((inputs.shape[0], n_components))
    with one_blas_thread:
        kernel = kernel_of(centred, centred.T, lengths, beta, dof)
        columns = _whitened(kernel, n_components)
    whitening[:, : columns.shape[1]] = columns
    return LandmarkBasis(landmarks, whitening, inputs.shape[1], beta, dof)


def _whitened(kernel: Floats, n_components: int) -> NDArray[np.float64]:
    r"""Return W for a kernel between landmarks, at most ``n_components`` columns of it.

    For as many features as landmarks :math:`P L^{-\top}` with :math:`P^\top K P = L L^\top`, the
    largest pivots first: a fifth of the time of eigenvectors (1000 landmarks), and half as much to
    multiply by. For fewer features the leading columns of :math:`U \Lambda^{-1/2}` with
    :math:`K = U \Lambda U^\top`: of pivots the first 250 of 1000 lose .002 to .015 of accuracy on
    five sets, the first 64 of 256 .000 to .022.
    """
    n_landmarks = len(kernel)
    floor = _FLOOR * kernel.trace() / n_landmarks
    if n_landmarks <= n_components:
        factor, pivots, rank, _ = dpstrf(kernel, tol=floor, lower=1)
        inverse, _ = dtrtri(factor[:rank, :rank], lower=1)
        whitening = np.zeros((n_landmarks, rank))
        whitening[pivots[:rank] - 1] = np.tril(inverse).T
        return whitening
    values, vectors = eigh(kernel, subset_by_index=(n_landmarks - n_components, n_landmarks - 1))
    solid = values[::-1] > floor
    values, vectors = values[::-1][solid], vectors[:, ::-1][:, solid]
    leading: NDArray[np.float64] = of_fixed_signs(vectors) / np.sqrt(values)
    return leading


def drawn_landmarks(
    rows: Rows, weights: NDArray[np.float64], n_landmarks: int, seed: int
) -> sparse.csr_array:
    """Draw distinct rows in proportion to their weights, at most ``n_landmarks`` of them.

    Equal rows are one row of their joint weight: how often a row comes matters, not when its copies
    do.

    Notes
    -----
    Nothing better than drawing evenly was found: k-means++ in series coordinates, ridge leverage
    scores and randomly pivoted Cholesky, from twice and four times as many rows as landmarks, moved
    the accuracy of 250 and 1000 landmarks by -.007 to +.006 on cifar10 (hog, bow), fashion_hog and
    spambase, with either sign and as little as another draw does.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
    >>> drawn_landmarks(rows, np.ones(3), 5, seed=0).toarray()
    array([[1., 0.],
           [0., 2.]])
    """
    keys, first, copies = np.unique(keys_of(rows, seed), return_index=True, return_inverse=True)
    scores = np.log(np.bincount(copies, weights)) + gumbel_noise(keys, seed)
    best = np.sort(np.argsort(-scores)[:n_landmarks])
    return sparse.csr_array(rows[first[best]], dtype=np.float64)


def kernel_of(
    left: Floats, right: Floats, right_lengths: Floats, beta: float, dof: float
) -> Floats:
    """Return the kernel between coordinates, of which the columns of ``right`` have these lengths.

    Lengths are squared.
    """
    scale, half = left.dtype.type(beta), left.dtype.type(beta / 2.0)
    # Half the squared distance is the chi2 distance: here minus beta times that.
    scaled = left @ right
    scaled *= scale
    scaled -= half * np.einsum("ij,ij->i", left, left)[:, None]
    scaled -= half * right_lengths
    np.minimum(scaled, 0.0, out=scaled)  # rounding must not make a distance negative
    if dof == 2.0:
        return np.exp(scaled, out=scaled)
    kernel: Floats = gammaincc(scaled.dtype.type(dof / 2.0), np.negative(scaled, out=scaled))
    return kernel
