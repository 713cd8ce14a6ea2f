"""Orthonormal directions in blocks: principal components of each descriptor by itself."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from streamchi2.checks import Floats
from streamchi2.statistics.moments import RegressionMoments


def consecutive(sizes: tuple[int, ...]) -> tuple[slice, ...]:
    """Return slices of these sizes, one after the other.

    >>> consecutive((2, 3))
    (slice(0, 2, None), slice(2, 5, None))
    """
    return tuple(slice(*ends) for ends in pairwise(accumulate(sizes, initial=0)))


@dataclass(frozen=True, eq=False)
class BlockVectors:
    r"""The matrix :math:`U = \mathrm{blockdiag}(U_1, U_2, \ldots)`, zeros left out.

    Law: every method equals its dense formula with the whole of U.

    Examples
    --------
    >>> vectors = BlockVectors((np.array([[1.0], [0.0]]), np.array([[2.0]])))
    >>> vectors.dense()
    array([[1., 0.],
           [0., 0.],
           [0., 2.]])
    >>> vectors.coordinates(np.array([[5.0, 6.0, 7.0]]))
    array([[ 5., 14.]])
    """

    blocks: tuple[NDArray[np.float64], ...]  # (d_g, p_g) each

    @property
    def inputs(self) -> tuple[slice, ...]:
        """Where the features of each block stand."""
        return consecutive(tuple(block.shape[0] for block in self.blocks))

    @property
    def outputs(self) -> tuple[slice, ...]:
        """Where the coordinates of each block stand."""
        return consecutive(tuple(block.shape[1] for block in self.blocks))

    def dense(self) -> NDArray[np.float64]:
        """Return U."""
        whole: NDArray[np.float64] = block_diag(*self.blocks)
        return whole

    def coordinates(self, features: Floats) -> NDArray[np.float64]:
        """Return ZU."""
        pairs = zip(self.inputs, self.blocks, strict=True)
        return np.hstack([features[..., own] @ block for own, block in pairs])

    def expanded(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return UW: coefficients on the features from those on the coordinates."""
        pairs = zip(self.outputs, self.blocks, strict=True)
        return np.vstack([block @ coef[own] for own, block in pairs])

    def moments(
        self, moments: RegressionMoments, eigenvalues: NDArray[np.float64] | None = None
    ) -> RegressionMoments:
        r"""Return the moments of the coordinates, with :math:`U^\top H U` and :math:`U^\top C`.

        Where U is one block of eigenvectors of this very scatter, its eigenvalues make the scatter
        of the result a diagonal, a flat array, and every solver has a closed form.
        """
        mean = self.coordinates(moments.mean)
        cross = self.coordinates(moments.cross.T).T
        scatter = self._scatter(moments.scatter) if eigenvalues is None else eigenvalues
        return replace(moments, mean=mean, scatter=scatter, cross=cross)

    def scaled(self, roots: NDArray[np.float64]) -> BlockVectors:
        """Return the directions of each block times a number."""
        pairs = zip(roots, self.blocks, strict=True)
        return BlockVectors(tuple(root * block for root, block in pairs))

    def _scatter(self, scatter: NDArray[np.float64]) -> NDArray[np.float64]:
        pairs = zip(self.inputs, self.blocks, strict=True)
        right = np.hstack([scatter[:, own] @ block for own, block in pairs])
        both = np.vstack(
            [block.T @ right[own] for own, block in zip(self.inputs, self.blocks, strict=True)]
        )
        return (both + both.T) / 2.0
