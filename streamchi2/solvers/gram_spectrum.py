"""The eigenvectors of a centred Gram matrix: exact leave-one-out for every penalty at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamchi2.solvers.penalty import least, left_out_parts, log_error, penalties
from streamchi2.statistics.moments import effective_count
from streamchi2.threads import one_blas_thread

_LEAST_REST = 1e-12  # rounding of one minus a share: a row without any other cannot be left out


@dataclass(frozen=True, eq=False)
class GramSpectrum:
    r"""Rows, weights and targets of a ridge regression in dual form, along eigenvectors.

    With :math:`R = \mathrm{diag}(\sqrt w)`, :math:`\tilde Z, \tilde Y` deviations from the weighted
    means and :math:`R \tilde Z \tilde Z^\top R = U\,\mathrm{diag}(d)\,U^\top`.

    Examples
    --------
    >>> rows, targets = np.array([[0.0], [1.0], [3.0]]), np.array([[0.0], [0.0], [1.0]])
    >>> spectrum = GramSpectrum.of(rows @ rows.T, targets, np.ones(3))
    >>> spectrum.left_out_scores(targets, alpha=1.0)[2].round(12)  # what the other two say
    array([0.])
    """

    gram: NDArray[np.float64]  # (n, n), of the deviations, not weighted
    eigenvalues: NDArray[np.float64]  # (n,), d
    vectors: NDArray[np.float64]  # (n, n), U
    turned: NDArray[np.float64]  # (n, t), U' R Y
    target_mean: NDArray[np.float64]  # (t,)
    weights: NDArray[np.float64]  # (n,)
    copies: NDArray[np.float64]  # (n,), how many rows each stands for

    @classmethod
    def of(
        cls,
        gram: NDArray[np.float64],
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
        copies: NDArray[np.float64] | None = None,
    ) -> GramSpectrum:
        """Return the spectrum for inner products of rows, shape (n, n), in some 10 n^3 operations.

        Weights are numbers of copies of each row unless ``copies`` says how many there are.
        The rows need not be centred, but far from the origin their inner products lose digits.
        """
        shares, roots = weights / weights.sum(), np.sqrt(weights)
        means = gram @ shares
        centred = gram - means - means[:, None] + means @ shares
        target_mean = shares @ targets
        with one_blas_thread:
            values, vectors = np.linalg.eigh(roots * centred * roots[:, None])
        turned = vectors.T @ (roots[:, None] * (targets - target_mean))
        rounding = (
            weights.size * np.finfo(np.float64).eps * float((weights * gram.diagonal()).max())
        )
        values = np.where(values > rounding, values, 0.0)
        copies = weights if copies is None else copies
        return cls(centred, values, vectors, turned, target_mean, weights, copies)

    @property
    def count(self) -> float:
        """Number of rows that the weights stand for."""
        return effective_count(float(self.copies.sum()), float(self.copies @ self.copies))

    def chosen(self) -> float:
        """Return the penalty of least leave-one-out error."""
        if self.eigenvalues[-1] <= 0.0:  # features that never varied
            return 1.0
        alphas = penalties(float(self.eigenvalues.max()))
        return least(alphas, self.leave_one_out(alphas))

    def leave_one_out(self, alphas: NDArray[np.float64]) -> NDArray[np.float64]:
        r"""Return the logarithm of the leave-one-out error for every penalty.

        .. math:: \mathrm{LOO}(\alpha) = \sum_i w_i \left\| \frac{y_i - s_i}{1 - h_i} \right\|^2

        with h the share of its own target in the score s of a row. Costs :math:`n^2 t` operations
        a penalty.

        References
        ----------
        Allen (1974), doi:10.1080/00401706.1974.10489157.
        """
        errors, squared = np.empty(alphas.size), np.square(self.vectors)
        for place, alpha in enumerate(alphas):
            # From what is left of each component, not from a difference: nothing cancels.
            rest = alpha / (self.eigenvalues + alpha)
            residuals = np.square(self.vectors @ (rest[:, None] * self.turned)).sum(axis=1)
            others = 1.0 - self._shares(squared, alpha)
            alone = others <= _LEAST_REST
            errors[place] = np.inf if alone.any() else (residuals / others**2).sum()
        return log_error(errors, float(np.square(self.turned).sum()))

    def left_out_scores(self, targets: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
        r"""Return the scores :math:`(s_i - h_i y_i)/(1 - h_i)` of rows that were left out."""
        solved = self.vectors @ (self._inverse(alpha)[:, None] * self.turned)
        roots = np.sqrt(self.weights)[:, None]
        # By inner products, not by dividing through the roots: weights may have faded to nothing.
        scores = self.target_mean + self.gram @ (roots * solved)
        shares = self._shares(np.square(self.vectors), alpha)[:, None]
        alone = 1.0 - shares <= _LEAST_REST
        left_out = (scores - shares * targets) / np.where(alone, 1.0, 1.0 - shares)
        return np.where(alone, self.target_mean, left_out)

    def _shares(self, squared: NDArray[np.float64], alpha: float) -> NDArray[np.float64]:
        r"""Return how much of its own target each row finds in its score, shape (n,).

        .. math:: h_i = \frac{m_i}{w_i} \left( \frac{w_i}{\sum w}
                  + \sum_j U_{ij}^2 \frac{d_j}{d_j + \alpha} \right)

        where m/w is the part of the row that is left out, see
        :func:`~streamchi2.solvers.penalty.left_out_parts`.
        """
        total = float(self.weights.sum())
        whole = self.weights / total + squared @ (self.eigenvalues * self._inverse(alpha))
        parts = left_out_parts(self.copies, float(self.copies.sum()), self.count)
        return np.asarray(whole * parts)

    def _inverse(self, alpha: float) -> NDArray[np.float64]:
        r"""Return :math:`1 / (d_j + \alpha)`, zero where both are: the solution of least norm."""
        damped = self.eigenvalues + alpha
        return np.divide(1.0, damped, out=np.zeros_like(damped), where=damped > 0.0)
