"""The landmark basis: Nyström features over stored rows, with the series doing the distances.

Chi2 distances to m rows would cost m slow sums over columns; between series coordinates they are
one matrix product. Landmarks carry more per feature than random frequencies do, because they lie
where the data are; they have to be seen first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh
from scipy.linalg.lapack import dpstrf, dtrtri
from scipy.special import gammaincc

from streamchi2.bases.base import Basis, BasisPlan, check_dof
from streamchi2.bases.landmark_rows import LandmarkRows
from streamchi2.checks import Floats, Rows, as_positive_float
from streamchi2.hashing import gumbel_noise
from streamchi2.saving import saved
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
            landmarks = LandmarkRows(
                drawn_landmarks(plan.rows, plan.weights, plan.n_features, plan.seed + 2)
            )
        return landmark_basis(
            landmarks,
            plan.coordinates(landmarks.rows),
            n_components=plan.n_features,
            beta=plan.beta,
            dof=plan.dof,
        )

    @property
    def n_components(self) -> int:  # type: ignore[override]
        """Number of features D."""
        return int(self.whitening.shape[1])

    def bind(self, inputs_of: Callable[[Rows], Floats]) -> AnchoredLandmarks:
        """Return the basis with its landmarks in the coordinates that ``inputs_of`` gives."""
        # The first feature that needs each landmark; in this order the whitening is a triangle.
        used = self.whitening != 0.0
        needed_by = np.where(used.any(axis=1), used.argmax(axis=1), self.n_components)
        order = np.argsort(needed_by, kind="stable")[: np.count_nonzero(used.any(axis=1))]
        anchors = inputs_of(self.landmarks.rows)[order]
        centre = anchors.mean(axis=0)
        anchors -= centre
        whitening = self.whitening[order].astype(anchors.dtype)
        starts = range(0, self.n_components, _PANEL)
        reach = np.searchsorted(needed_by[order], [start + _PANEL for start in starts])
        return AnchoredLandmarks(
            np.ascontiguousarray(anchors.T),
            centre,
            np.einsum("ij,ij->i", anchors, anchors),
            tuple(
                np.ascontiguousarray(whitening[:n_rows, start : start + _PANEL])
                for start, n_rows in zip(starts, reach, strict=True)
            ),
            self.beta,
            self.dof,
        )

    def __repr__(self) -> str:
        return (
            f"LandmarkBasis({self.landmarks.n_rows} landmarks, "
            f"n_components={self.n_components}, beta={self.beta:.6g}, dof={self.dof:g})"
        )


@dataclass(frozen=True, eq=False)
class AnchoredLandmarks:
    """Landmarks in coordinates: what turns a block of coordinates into features."""

    anchors: Floats  # (n_inputs, m), about their mean
    centre: Floats  # (n_inputs,): distances between rows much alike would drown in their lengths
    lengths: Floats  # (m,) squared
    panels: tuple[Floats, ...]  # columns of the whitening, down to their last non-zero row
    beta: float
    dof: float

    block_rows = 256  # fewer rows do not pay for moving a thousand landmarks into the cache

    def features(self, inputs: Floats, out: Floats) -> None:
        """Fill ``out``, shape (n, D), from coordinates, shape (n, n_inputs)."""
        inputs = inputs - self.centre
        products = inputs @ self.anchors
        own = np.einsum("ij,ij->i", inputs, inputs)[:, None]
        kernel = kernel_of(products, own, self.lengths, self.beta, self.dof)
        start = 0
        for panel in self.panels:
            n_landmarks, width = panel.shape
            np.matmul(kernel[:, :n_landmarks], panel, out=out[:, start : start + width])
            start += width


def landmark_basis(
    landmarks: LandmarkRows,
    inputs: NDArray[np.float64],
    *,
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
    >>> basis.bind(lambda rows: np.sqrt(rows.toarray())).features(inputs, features)
    >>> print((features @ features.T).round(3))  # exact on the landmarks themselves
    [[1.    0.746]
     [0.746 1.   ]]
    """
    centred = inputs - inputs.mean(axis=0)
    lengths = np.einsum("ij,ij->i", centred, centred)
    kernel = kernel_of(centred @ centred.T, lengths[:, None], lengths, beta, dof)
    n_landmarks = landmarks.n_rows
    whitened = _by_eigenvalues if n_landmarks > n_components else _by_pivots
    whitening = np.zeros((n_landmarks, n_components))
    with one_blas_thread:
        found = whitened(kernel, n_components)
    whitening[:, : found.shape[1]] = found
    return LandmarkBasis(landmarks, whitening, inputs.shape[1], beta, dof)


def _by_pivots(kernel: Floats, n_components: int) -> NDArray[np.float64]:
    r"""Return :math:`P L^{-\top}` with :math:`P^\top K P = L L^\top`, the largest pivots first.

    A fifth of the time of eigenvectors (1000 landmarks), and half as much to multiply by.
    """
    factor, pivots, rank, _ = dpstrf(kernel, tol=_FLOOR * kernel.trace() / len(kernel), lower=1)
    inverse, _ = dtrtri(factor[:rank, :rank], lower=1)
    whitening = np.zeros((len(kernel), rank))
    whitening[pivots[:rank] - 1] = np.tril(inverse).T
    return whitening


def _by_eigenvalues(kernel: Floats, n_components: int) -> NDArray[np.float64]:
    r"""Return the leading columns of :math:`U \Lambda^{-1/2}` with :math:`K = U \Lambda U^\top`."""
    last = len(kernel) - 1
    values, vectors = eigh(kernel, subset_by_index=(last + 1 - n_components, last))
    values, vectors = values[::-1], vectors[:, ::-1]
    # Signs are arbitrary; fixed, they make equal landmarks give equal features.
    largest = np.argmax(np.abs(vectors), axis=0)
    vectors = vectors * np.sign(vectors[largest, np.arange(n_components)])
    solid = values > _FLOOR * kernel.trace() / len(kernel)
    scaled: NDArray[np.float64] = vectors[:, solid] / np.sqrt(values[solid])
    return scaled


def drawn_landmarks(
    rows: Rows, weights: NDArray[np.float64] | None, n_landmarks: int, seed: int
) -> sparse.csr_array:
    """Draw distinct rows in proportion to their weights, at most ``n_landmarks`` of them.

    Equal rows are one row of their joint weight, and rows compete in an order of their own: the
    draw depends on which rows there are and how often, not on when they came.

    Notes
    -----
    Nothing better than drawing evenly was found: k-means++ in series coordinates, ridge leverage
    scores and randomly pivoted Cholesky, from twice and four times as many rows as landmarks, moved
    the accuracy of 250 and 1000 landmarks by -.007 to +.006 on cifar10 (hog, bow), fashion_hog and
    spambase, with either sign and as little as another draw does.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]])
    >>> drawn_landmarks(rows, None, 5, seed=0).toarray()
    array([[1., 0.],
           [0., 2.]])
    """
    stored = sparse.csr_array(rows, dtype=np.float64)
    own = np.ones(stored.shape[0]) if weights is None else weights
    places: dict[tuple[bytes, bytes], int] = {}
    total: dict[tuple[bytes, bytes], float] = {}
    for place, (start, stop) in enumerate(pairwise(stored.indptr)):
        columns = stored.indices[start:stop].astype(np.int64)
        key = columns.tobytes(), stored.data[start:stop].tobytes()
        places.setdefault(key, place)
        total[key] = total.get(key, 0.0) + own[place]
    order = sorted(places)
    scores = np.log([total[key] for key in order]) + gumbel_noise(np.arange(len(order)), seed)
    best = np.sort(np.argsort(-scores, kind="stable")[:n_landmarks])
    return stored[[places[order[place]] for place in best]]


def kernel_of(
    products: Floats, left_lengths: Floats, right_lengths: Floats, beta: float, dof: float
) -> Floats:
    """Return the kernel from inner products and squared lengths; ``products`` is overwritten."""
    # Half the squared distance is the chi2 distance: here minus beta times that.
    scale, half = products.dtype.type(beta), products.dtype.type(beta / 2.0)
    scaled = np.multiply(products, scale, out=products)
    scaled -= half * left_lengths
    scaled -= half * right_lengths
    np.minimum(scaled, 0.0, out=scaled)  # rounding must not make a distance negative
    if dof == 2.0:
        return np.exp(scaled, out=scaled)
    kernel: Floats = gammaincc(scaled.dtype.type(dof / 2.0), np.negative(scaled, out=scaled))
    return kernel
