"""The landmark basis: Nyström features over stored rows, with the series doing the distances.

Chi2 distances to m rows would cost m slow sums over columns; between series coordinates they are
one matrix product. Landmarks carry more per feature than random frequencies do, because they lie
where the data are; they have to be seen first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import gammaincc

from streamchi2.bases.chosen_rows import same_rows
from streamchi2.bases.frequencies import check_sampled_dof
from streamchi2.batch import Floats, Rows, as_positive_float
from streamchi2.blas_threads import one_blas_thread
from streamchi2.counter_hash import gumbel_noise

_FLOOR = 1e-6  # of the mean eigenvalue; below, a direction is rounding or a repeated landmark


@dataclass(frozen=True, eq=False)
class LandmarkBasis:
    r"""Features whose inner products are the kernel projected onto m stored rows.

    .. math:: z(x) = W^\top k(x, \ell), \qquad W = U \Lambda^{-1/2}, \quad
              K_{\ell\ell} = U \Lambda U^\top

    with :math:`k = \exp(-\tfrac\beta2 \lVert c(x) - c(\ell)\rVert^2)`, or the p-value kernel
    for other degrees of freedom. Eigenvalues below 1e-6 of their mean give zeros.

    Kernel values do not depend on coordinates: under another series the landmarks move along,
    and features change by no more than the error of the series.

    Parameters
    ----------
    landmarks : csr_array, shape (m, d)
        The stored rows.
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

    landmarks: sparse.csr_array
    whitening: NDArray[np.float64]
    n_inputs: int
    beta: float
    dof: float = 2.0

    def __post_init__(self) -> None:
        as_positive_float(self.beta, name="beta")
        check_sampled_dof(self.dof)

    @property
    def n_components(self) -> int:
        """Number of features D."""
        return int(self.whitening.shape[1])

    @property
    def scratch_width(self) -> int:
        """Width of the array that holds a block of coordinates."""
        return self.n_inputs

    def ready(self, inputs_of: Callable[[Rows], Floats]) -> AnchoredLandmarks:
        """Return the basis with its landmarks in the coordinates that ``inputs_of`` gives."""
        anchors = inputs_of(self.landmarks)
        return AnchoredLandmarks(
            np.ascontiguousarray(anchors.T),
            np.einsum("ij,ij->i", anchors, anchors),
            self.whitening.astype(anchors.dtype),
            self.beta,
            self.dof,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LandmarkBasis):
            return NotImplemented
        settings = [(side.n_inputs, side.beta, side.dof) for side in (self, other)]
        return (
            settings[0] == settings[1]
            and np.array_equal(self.whitening, other.whitening)
            and same_rows(self.landmarks, other.landmarks)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    def __repr__(self) -> str:
        return (
            f"LandmarkBasis({self.landmarks.shape[0]} landmarks, "
            f"n_components={self.n_components}, beta={self.beta:.6g}, dof={self.dof:g})"
        )


@dataclass(frozen=True, eq=False)
class AnchoredLandmarks:
    """Landmarks in coordinates: what turns a block of coordinates into features."""

    anchors: Floats  # (n_inputs, m)
    lengths: Floats  # (m,) squared
    whitening: Floats  # (m, D)
    beta: float
    dof: float

    def features(self, inputs: Floats, out: Floats) -> None:
        """Fill ``out``, shape (n, D), from coordinates, shape (n, n_inputs)."""
        products = inputs @ self.anchors
        own = np.einsum("ij,ij->i", inputs, inputs)[:, None]
        kernel = kernel_of(products, own, self.lengths, self.beta, self.dof)
        out[...] = kernel @ self.whitening


def landmark_basis(
    landmarks: sparse.csr_array,
    inputs: NDArray[np.float64],
    *,
    n_components: int,
    beta: float,
    dof: float = 2.0,
) -> LandmarkBasis:
    """Whiten landmarks, given as rows and as coordinates, into ``n_components`` features.

    >>> rows = np.array([[0.5, 0.5], [1.0, 0.0]])
    >>> inputs = np.sqrt(rows)  # any coordinates will do
    >>> basis = landmark_basis(sparse.csr_array(rows), inputs, n_components=2, beta=1.0)
    >>> features = np.empty((2, 2))
    >>> basis.ready(lambda rows: np.sqrt(rows.toarray())).features(inputs, features)
    >>> print((features @ features.T).round(3))  # exact on the landmarks themselves
    [[1.    0.746]
     [0.746 1.   ]]
    """
    lengths = np.einsum("ij,ij->i", inputs, inputs)
    kernel = kernel_of(inputs @ inputs.T, lengths[:, None], lengths, beta, dof)
    with one_blas_thread:
        values, vectors = np.linalg.eigh(kernel)
    values, vectors = values[::-1][:n_components], vectors[:, ::-1][:, :n_components]
    # Signs are arbitrary; fixed, they make equal landmarks give equal features.
    largest = np.argmax(np.abs(vectors), axis=0)
    vectors = vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])])
    solid = values > _FLOOR * values.mean()
    whitening = np.zeros((landmarks.shape[0], n_components))
    whitening[:, : values.size] = vectors * np.where(
        solid, 1.0 / np.sqrt(np.where(solid, values, 1.0)), 0.0
    )
    return LandmarkBasis(landmarks, whitening, inputs.shape[1], beta, dof)


def drawn_landmarks(
    rows: Rows, weights: NDArray[np.float64] | None, n_landmarks: int, seed: int
) -> sparse.csr_array:
    """Draw distinct rows in proportion to their weights, at most ``n_landmarks`` of them.

    Equal rows are one row of their joint weight, and rows compete in an order of their own: the
    draw depends on which rows there are and how often, not on when they came.

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
    scaled = np.multiply(products, -2.0, out=products)
    scaled += left_lengths
    scaled += right_lengths
    # Half the squared distance is the chi2 distance; rounding must not make it negative.
    scaled *= scaled.dtype.type(beta / 2.0)
    np.maximum(scaled, 0.0, out=scaled)
    if dof == 2.0:
        return np.exp(np.negative(scaled, out=scaled), out=scaled)
    kernel: Floats = gammaincc(scaled.dtype.type(dof / 2.0), scaled)
    return kernel
