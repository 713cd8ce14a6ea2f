"""Ridge regression while rows are fewer than features: the dual form, grown row by row.

With n rows of D features and n < D, solving n equations costs less than solving D; and since a new
row only adds a line to the Cholesky factor, a stream that is solved again and again pays for one
factorisation in all.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular

from streamchi2.solvers.gram_spectrum import GramSpectrum
from streamchi2.solvers.linear_model import LinearModel
from streamchi2.solvers.penalty import Criterion
from streamchi2.validation import Floats


class DualRidge:
    r"""All rows of a young stream, and the Cholesky factor of their weighted Gram matrix.

    With :math:`R = \mathrm{diag}(\sqrt w)` the coefficients are :math:`W = (RZ)^\top A` where

    .. math:: (RZZ^\top R + \alpha I)\,A = R\,(Y - 1 b^\top), \qquad \sqrt{w}^\top A = 0,

    the same model as ridge regression from centred moments, intercept unpenalised.

    Law: appending rows in any portions gives the same model up to rounding.

    Parameters
    ----------
    n_features : int
        Width D of the rows.

    Notes
    -----
    m more rows cost m n (D + n) operations, another penalty or other weights n^2 (D + n/3). Memory
    is 8 n D to 16 n D for the rows and 8 n^2 bytes for the factor.

    Examples
    --------
    >>> rows, targets = np.array([[0.0], [1.0], [3.0]]), np.array([[0.0], [1.0], [2.0]])
    >>> grown = DualRidge(1).append(rows, None)
    >>> model = grown.solve(targets, alpha=1.0)
    >>> from streamchi2.solvers.ridge import ridge
    >>> from streamchi2.statistics.target_moments import TargetMoments
    >>> direct = ridge(TargetMoments(1, 1).update(rows, targets).summary(), 1.0)
    >>> np.allclose(model.scores(rows), direct.scores(rows))
    True
    """

    def __init__(self, n_features: int) -> None:
        self.n_rows = 0
        self._features: NDArray[np.float64] = np.empty((0, n_features))
        self.weights: NDArray[np.float64] = np.empty(0)
        self._factor: NDArray[np.float64] = np.empty((0, 0))
        self._alpha = np.nan  # of the factor

    @property
    def features(self) -> NDArray[np.float64]:
        """Rows so far, shape (n, D)."""
        return self._features[: self.n_rows]

    def append(self, features: Floats, weights: NDArray[np.float64] | None) -> Self:
        """Add rows; None weighs each of them one."""
        n_rows = self.n_rows + features.shape[0]
        if n_rows > self._features.shape[0]:
            roomy = np.empty((max(32, 2 * n_rows), features.shape[1]))
            roomy[: self.n_rows] = self.features
            self._features = roomy
        self._features[self.n_rows : n_rows] = features
        own = np.ones(features.shape[0]) if weights is None else weights
        self.weights = np.concatenate([self.weights, own])
        self.n_rows = n_rows
        return self

    def fade(self, factor: float) -> Self:
        """Let the rows so far count ``factor`` times as much; the next solution factorises anew."""
        self.weights, self._alpha = factor * self.weights, np.nan
        return self

    def solve(self, targets: NDArray[np.float64], alpha: float) -> LinearModel:
        """Return the model for targets of shape (n, t) and a positive penalty."""
        roots = np.sqrt(self.weights)
        rows = self._weighted(roots)
        known = np.column_stack([roots[:, None] * targets, roots])
        try:
            self._factorise(rows, alpha)
            solved = cho_solve((self._factor, True), known, check_finite=False)
        except LinAlgError:  # alpha is below the rounding errors of the Gram matrix
            self._alpha = np.nan
            return self._least_norm(targets, alpha)
        intercept = (roots @ solved[:, :-1]) / (roots @ solved[:, -1])
        coef = rows.T @ (solved[:, :-1] - np.outer(solved[:, -1], intercept))
        # Kernel features are no longer than one: scores need no centre to keep their digits.
        return LinearModel(coef, intercept, np.zeros(rows.shape[1]), alpha)

    def _weighted(self, roots: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.features if (roots == 1.0).all() else roots[:, None] * self.features

    def _factorise(self, rows: NDArray[np.float64], alpha: float) -> None:
        """Bring the factor up to date, from its present size if the penalty is the same."""
        before = self._factor.shape[0] if alpha == self._alpha else 0
        grown = np.zeros((rows.shape[0], rows.shape[0]), order="F")
        fresh = rows[before:] @ rows[before:].T
        fresh.flat[:: fresh.shape[0] + 1] += alpha
        if before:
            across = rows[:before] @ rows[before:].T
            below = solve_triangular(self._factor, across, lower=True, check_finite=False).T
            grown[:before, :before], grown[before:, :before] = self._factor, below
            fresh -= below @ below.T
        grown[before:, before:] = cholesky(fresh, lower=True, check_finite=False)
        self._factor, self._alpha = grown, alpha

    def _least_norm(self, targets: NDArray[np.float64], alpha: float) -> LinearModel:
        """Return the model without the directions in which rows differ by rounding alone."""
        (rows, mean), (answers, target_mean) = map(self._centred, (self.features, targets))
        eigenvalues, vectors = np.linalg.eigh(rows @ rows.T)
        size = float(self.weights @ np.square(self.features).sum(axis=1))
        kept = eigenvalues > self.n_rows * np.finfo(np.float64).eps * size
        vectors, raised = vectors[:, kept], eigenvalues[kept] + alpha
        coef = rows.T @ (vectors @ ((vectors.T @ answers) / raised[:, None]))
        return LinearModel(coef, target_mean - mean @ coef, np.zeros(mean.size), alpha)

    def _centred(
        self, columns: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weighted deviations from the weighted mean, and that mean."""
        mean = self.weights @ columns / self.weights.sum()
        return np.sqrt(self.weights)[:, None] * (columns - mean), mean

    def audit(
        self, targets: NDArray[np.float64], alpha: float | None, criterion: Criterion = "auto"
    ) -> tuple[float, NDArray[np.float64]]:
        """Return the penalty that the criterion takes, and left-out scores under it.

        A given ``alpha`` is kept. Cost O(n^3), some ten times a factorisation; see
        :class:`~streamchi2.solvers.gram_spectrum.GramSpectrum`.
        """
        spectrum = GramSpectrum.of(self.features @ self.features.T, targets, self.weights)
        chosen = spectrum.chosen(criterion) if alpha is None else alpha
        return chosen, spectrum.left_out_scores(targets, chosen)

    def copy(self) -> Self:
        """Return an independent object in the same state."""
        twin = object.__new__(type(self))
        # Only the room behind the rows is written to in place.
        twin.__dict__.update(self.__dict__, _features=self._features.copy())
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_features": self.features.copy()}  # without the room behind
