"""Ridge regression while rows are not many more than features: n equations instead of D.

The model is that of ridge regression from centred moments, intercept unpenalised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky

from streamchi2.checks import Floats
from streamchi2.solvers.gram_spectrum import GramSpectrum
from streamchi2.solvers.leave_one_out import DualSolution, GrowingRidge, room_for_rows
from streamchi2.solvers.linear_model import LinearModel

_CHUNK_ROWS = 64  # lines of the Gram matrix that are worked out together


class GramMatrix:
    r"""The Gram matrix of a growing set of feature rows, about the first of them.

    .. math:: K_{ij} = (z_i - z_0)^\top (z_j - z_0)

    A cache: lines of complete chunks of rows are worked out once. Chunks begin where blocks do, so
    the bits do not depend on when the matrix was asked for. The shift keeps the digits of rows
    that are much alike, and changes no regression with an intercept.
    """

    def __init__(self) -> None:
        self._token: Any = None
        self._shifted: NDArray[np.float64] = np.empty((0, 0))
        self._gram: NDArray[np.float64] = np.empty((0, 0))
        self.n_final = 0  # rows of complete chunks, whose lines will not change
        self.ridge = GrowingRidge()  # with the factors of this matrix

    def of(
        self, blocks: Sequence[Floats], token: Any = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return shifted rows, shape (n, D), and their Gram matrix, lower triangle.

        Both are views, good until the next call. ``blocks`` are those of the last call, with more
        rows at the end; another ``token`` says that they are others.
        """
        if token != self._token:
            self._token = token
            self._forget()
        n_rows = sum(block.shape[0] for block in blocks)
        self.n_final = min(self.n_final, n_rows)
        self._make_room(n_rows, blocks[0].shape[1])
        start, origin = 0, blocks[0][0].astype(np.float64)
        for block in blocks:
            for first in range(0, block.shape[0], _CHUNK_ROWS):
                chunk = block[first : first + _CHUNK_ROWS]
                stop = start + chunk.shape[0]
                if stop > self.n_final:
                    self._shifted[start:stop] = chunk - origin
                    lines = self._shifted[start:stop] @ self._shifted[:stop].T
                    self._gram[start:stop, :stop] = lines
                    # The last chunk of all may still grow.
                    if chunk.shape[0] == _CHUNK_ROWS or block is not blocks[-1]:
                        self.n_final = stop
                start = stop
        return self._shifted[:n_rows], self._gram[:n_rows, :n_rows]

    def _forget(self) -> None:
        self.n_final, self.ridge = 0, GrowingRidge()

    def _make_room(self, n_rows: int, n_features: int) -> None:
        n_room = self._gram.shape[0]
        if n_rows <= n_room and self._shifted.shape[1] == n_features:
            return
        if self._shifted.shape[1] != n_features:
            self._forget()
        known = self.n_final
        n_room = n_rows if n_rows <= n_room else room_for_rows(n_rows)
        shifted, gram = np.empty((n_room, n_features)), np.zeros((n_room, n_room))
        if known:
            shifted[:known] = self._shifted[:known]
            gram[:known, :known] = self._gram[:known, :known]
        self._shifted, self._gram = shifted, gram


class DualRidge:
    r"""Ridge regression of rows whose Gram matrix is known.

    With :math:`R = \mathrm{diag}(\sqrt w)` the coefficients are :math:`W = (RZ)^\top A` where

    .. math:: (R K R + \alpha I)\,A = R\,(Y - 1 b^\top), \qquad \sqrt{w}^\top A = 0.

    Parameters
    ----------
    shifted : ndarray, shape (n, D)
        Features less those of a reference row.
    gram : ndarray, shape (n, n)
        Their inner products; the lower triangle is read.
    weights : ndarray, shape (n,)
        Positive weights.
    origin : ndarray, shape (D,)
        Features of the reference row.
    copies : ndarray, shape (n,), optional
        How many rows each stands for, where the weights do not say so.

    Notes
    -----
    A solution costs n^3/3 operations, choosing the penalty some ten times as much.

    Examples
    --------
    >>> rows, targets = np.array([[0.0], [1.0], [3.0]]), np.array([[0.0], [1.0], [2.0]])
    >>> shifted, gram = GramMatrix().of([rows])
    >>> model = DualRidge(shifted, gram, np.ones(3), rows[0]).solve(targets, alpha=1.0)
    >>> from streamchi2.solvers.ridge import ridge
    >>> from streamchi2.statistics.target_moments import TargetMoments
    >>> direct = ridge(TargetMoments(1, 1).update(rows, targets).summary(), 1.0)
    >>> np.allclose(model.scores(rows), direct.scores(rows))
    True
    """

    def __init__(
        self,
        shifted: NDArray[np.float64],
        gram: NDArray[np.float64],
        weights: NDArray[np.float64],
        origin: Floats,
        copies: NDArray[np.float64] | None = None,
    ) -> None:
        self.shifted = shifted
        self.gram = gram
        self.weights = weights
        self.copies = weights if copies is None else copies
        self.origin = np.asarray(origin, dtype=np.float64)

    def only(self, rows: NDArray[np.bool_]) -> DualRidge:
        """Return the regression of some of the rows."""
        if rows.all():
            return self
        gram = np.tril(self.gram)[np.ix_(rows, rows)]
        weights, copies = self.weights[rows], self.copies[rows]
        return DualRidge(self.shifted[rows], gram, weights, self.origin, copies)

    def weighted(self, factors: NDArray[np.float64]) -> DualRidge:
        """Return the regression in which each row counts its factor times as much."""
        weights = self.weights * factors
        return DualRidge(self.shifted, self.gram, weights, self.origin, self.copies)

    def solve(self, targets: NDArray[np.float64], alpha: float) -> LinearModel:
        """Return the model for targets of shape (n, t) and a penalty."""
        roots = np.sqrt(self.weights)
        raised = np.tril(self.gram) * roots * roots[:, None]
        raised.flat[:: raised.shape[0] + 1] += alpha
        known = np.column_stack([roots[:, None] * targets, roots])
        try:
            if alpha <= 0.0:
                raise LinAlgError
            factor = cholesky(raised, lower=True, overwrite_a=True, check_finite=False)
            solved = cho_solve((factor, True), known, check_finite=False)
        except LinAlgError:  # alpha is below the rounding errors of the Gram matrix
            return self._least_norm(targets, alpha)
        intercept = (roots @ solved[:, :-1]) / (roots @ solved[:, -1])
        dual = roots[:, None] * (solved[:, :-1] - np.outer(solved[:, -1], intercept))
        return self._model(self.shifted.T @ dual, intercept, alpha)

    def model(self, found: DualSolution) -> LinearModel:
        """Return the model on the features that was found in dual form."""
        # Not shifted.T @ dual, which takes twice as long for few targets.
        return self._model((found.dual.T @ self.shifted).T, found.intercept, found.alpha)

    def _model(
        self, coef: NDArray[np.float64], intercept: NDArray[np.float64], alpha: float
    ) -> LinearModel:
        # Scores are taken about the reference row, which keeps the digits of rows much alike.
        return LinearModel(coef, intercept - self.origin @ coef, self.origin, alpha)

    def _least_norm(self, targets: NDArray[np.float64], alpha: float) -> LinearModel:
        """Return the model without the directions in which rows differ by rounding alone."""
        (rows, mean), (answers, target_mean) = map(self._centred, (self.shifted, targets))
        eigenvalues, vectors = np.linalg.eigh(rows @ rows.T)
        size = float(self.weights @ np.square(self.shifted).sum(axis=1))
        kept = eigenvalues > len(rows) * np.finfo(np.float64).eps * size
        vectors, raised = vectors[:, kept], eigenvalues[kept] + alpha
        coef = rows.T @ (vectors @ ((vectors.T @ answers) / raised[:, None]))
        return self._model(coef, target_mean - mean @ coef, alpha)

    def _centred(
        self, columns: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weighted deviations from the weighted mean, and that mean."""
        mean = self.weights @ columns / self.weights.sum()
        return np.sqrt(self.weights)[:, None] * (columns - mean), mean

    def tune(
        self, targets: NDArray[np.float64], alpha: float | str
    ) -> tuple[float, NDArray[np.float64]]:
        """Return a penalty, and the scores of left-out rows under it.

        A given ``alpha`` is kept; for "auto" it is that of least leave-one-out error.
        """
        whole = np.tril(self.gram) + np.tril(self.gram, -1).T
        spectrum = GramSpectrum.of(whole, targets, self.weights, self.copies)
        chosen = spectrum.chosen() if isinstance(alpha, str) else alpha
        return chosen, spectrum.left_out_scores(targets, chosen)
