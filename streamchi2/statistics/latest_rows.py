r"""The latest rows of a stream, which correct the model of all rows.

A model of all rows W is as old as its last solution, and gives every row the same say; where
neighbours in a stream resemble each other, or where the world changes, the latest rows know more.
With their features Z and what W leaves of their targets, :math:`R = Y - (ZW + b)`, the corrected
model is

.. math:: W + Z^\top (Z Z^\top + \mu\,\mathrm{diag}(1/w))^{-1} R

ridge regression on these rows towards W in place of zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks.rows import Array
from streamchi2.saving import saved
from streamchi2.statistics.feature_statistics import Kept
from streamchi2.statistics.sample import Keys
from streamchi2.statistics.targets import aligned
from streamchi2.threads import one_blas_thread

PENALTIES = (0.15, 1.0)  # of the corrections, in units of the mean squared length of features
_MEMORY = 0.995  # what a squared error counts one row later, when corrections are compared
LEAST_ROWS = 64  # that are kept to begin anew from, at least
_UNKNOWN = -1.0
_MOST_WEIGHT = 100.0  # of a row among the latest, in units of their mean

_NO_KEY = np.zeros(1, np.uint64)

Singles = NDArray[np.float32]


@saved("latest_rows")
@dataclass(eq=False)
class LatestRows:
    """The latest labelled rows with their features, and the corrections that follow from them.

    There are up to twice ``size`` rows: where there is no room for another one, the older half
    leaves. In between roots grow by one row at a time, in O(n^2). Every step returns another
    object, and the one before stays as it is.

    Law: which correction is best depends on the rows alone, never on who has predicted what.

    Parameters
    ----------
    size : int
        Half the largest number of rows.
    penalties : tuple of float
        One for each correction; none where the rows are kept for something else.
    rows : Kept
        Their features (n, D), targets, weights and keys; keys are there once a block has ended.
    errors : ndarray, shape (n,)
        Squared errors of the model of all rows, one row ahead; below 0 where not known.
    compared : ndarray, shape (2 + corrections,)
        Squared errors one row ahead, faded: without a correction, and with each. Last their number.
    residuals : ndarray, shape (n, t)
        What the present model leaves of the targets.
    unit, most_weight : float
        Mean squared length of the features times mean weight, and what a row can weigh at most,
        when roots were last made.
    roots : ndarray of float32, shape (corrections, n, n)
        R of the inverses R'R, lower triangles.
    duals : ndarray of float32, shape (corrections, n, t)
        Inverses times residuals.
    """

    size: int
    penalties: tuple[float, ...]
    rows: Kept
    errors: Array
    compared: Array
    residuals: Array
    unit: float
    most_weight: float
    roots: Singles
    duals: Singles
    # The row whose products with the others were worked out last: who predicts it then learns it.
    _last: tuple[Any, Any] = field(default=(None, None), init=False, repr=False)

    @classmethod
    def of(
        cls,
        size: int,
        penalties: tuple[float, ...],
        rows: Kept,
        compared: Array,
        errors: Array | None = None,
        residuals: Array | None = None,
    ) -> Self:
        """Return some rows with roots of their own.

        Without ``residuals`` they correct nothing until there is a model (:meth:`renewed`).
        """
        n_rows = rows.weights.size
        errors = np.full(n_rows, _UNKNOWN) if errors is None else errors
        residuals = np.zeros((n_rows, 1)) if residuals is None else residuals
        none = np.zeros((len(penalties), n_rows, n_rows), np.float32)
        kept = rows, errors, compared, residuals
        latest = cls(size, penalties, *kept, 1.0, 1.0, none, none)
        if n_rows and penalties:
            with one_blas_thread:
                products = (rows.features @ rows.features.T).astype(np.float64)
                mean_weight = float(rows.weights.mean())
                latest.unit = (float(products.trace()) / n_rows or 1.0) * mean_weight
                latest.most_weight = _MOST_WEIGHT * mean_weight
                raised = products + latest._ridges(rows.weights)[:, :, None] * np.eye(n_rows)
                latest.roots = np.linalg.inv(np.linalg.cholesky(raised)).astype(np.float32)
        return latest.renewed(residuals)

    @property
    def best(self) -> int:
        """Number of the best correction so far, counted from one; 0 is none."""
        return int(self.compared[:-1].argmin())

    @property
    def mean_errors(self) -> dict[float | None, float]:
        """Mean squared errors one row ahead, by the penalty of the correction; None is without."""
        means = self.compared[:-1] / (self.compared[-1] or 1.0)
        return dict(zip([None, *self.penalties], means.tolist(), strict=True))

    def scores(self, features: Singles, plain: Array) -> Array:
        """Return the scores of a row without a correction, ``plain``, and with each, (1 + c, t)."""
        if not self.penalties or not self.errors.size:
            return np.repeat(plain[None], 1 + len(self.penalties), axis=0)
        corrections = np.einsum("j,cjt->ct", self._products(features), self.duals)
        return np.concatenate([plain[None], plain + corrections])

    def after(
        self,
        features: Singles,
        target: Any,
        weight: float,
        scores: Array,
        answer: Array,
        squares: Array,
    ) -> Self:
        """Return the latest rows with another one, whose predictions have been compared.

        Parameters
        ----------
        features : ndarray, shape (D,)
        target : int or ndarray
            A code, or columns.
        weight : float
        scores : ndarray, shape (1 + corrections, t)
            What :meth:`scores` has said.
        answer : ndarray, shape (t,)
            What would have been right.
        squares : ndarray, shape (1 + corrections,)
            Their squared errors.
        """
        compared, n_rows = _MEMORY * self.compared + [*squares, 1.0], self.errors.size
        errors = np.concatenate([self.errors, squares[:1]])
        residuals = np.concatenate([self.residuals, answer[None] - scores[:1]])
        full = n_rows == 2 * self.size
        newest = slice(self.size if full else 0, None)
        rows = self.rows.part(newest)
        if rows.targets.ndim > 1:  # columns may have come since
            rows.targets = aligned(rows.targets, np.size(target))
        rows.append(Kept(features[None], np.asarray(target)[None], np.array([weight]), _NO_KEY))
        errors, residuals = errors[newest], residuals[newest]
        if full or not n_rows or not self.penalties:
            rest = compared, errors, residuals
            return type(self).of(self.size, self.penalties, rows, *rest)
        grown = self._grown(features, weight, answer - scores[1:])
        scale = self.unit, self.most_weight
        kept = rows, errors, compared, residuals
        return type(self)(self.size, self.penalties, *kept, *scale, *grown)

    def _grown(self, features: Singles, weight: float, left: Array) -> tuple[Singles, Singles]:
        r"""Return roots and duals with another row, of which corrections leave so much, (c, t).

        With k the products of the row with the others, r = R k and b = R'r, the next root is R,
        bordered by :math:`-b / \sqrt c` and :math:`1 / \sqrt c` with
        :math:`c = z^\top z + \mu / w - r^\top r`.
        """
        n, products = self.errors.size, self._products(features)
        ridges = self._ridges(np.array([weight]))[:, 0]
        rooted = np.vecdot(self.roots, products)
        columns = np.einsum("cij,ci->cj", self.roots, rooted)
        # Never below the ridge but by rounding.
        pivots = np.maximum(np.vecdot(features, features) - np.vecdot(rooted, rooted), 0.0) + ridges
        pivots = pivots.astype(np.float32)[:, None]
        roots = np.zeros((len(pivots), n + 1, n + 1), np.float32)
        roots[:, :n, :n] = self.roots
        roots[:, n, :n], roots[:, n, n:] = columns / -np.sqrt(pivots), 1.0 / np.sqrt(pivots)
        steps = (left / pivots).astype(np.float32)[:, None]
        earlier = self.duals - columns[:, :, None] * steps
        return roots, np.concatenate([earlier, steps], axis=1)

    def _ridges(self, weights: Array) -> Array:
        """Return what is added to the diagonal of inner products, shape (c, n)."""
        shares = np.minimum(weights, self.most_weight) / self.unit
        return np.asarray(np.array(self.penalties)[:, None] / shares)

    def renewed(self, residuals: Array) -> Self:
        """Return them beside another model, which leaves so much of the targets of the rows."""
        with one_blas_thread:
            duals = self.roots.mT @ (self.roots @ residuals.astype(np.float32))
        return replace(self, residuals=residuals, duals=duals)

    def coefficients(self) -> Array:
        """Return what the best correction adds to the coefficients of the model, shape (D, t)."""
        return np.asarray(self.rows.features.T.astype(np.float64) @ self.duals[self.best - 1])

    def with_keys(self, keys: Keys) -> Self:
        """Return them with the keys of the labelled rows of a block that has ended."""
        n_last, rows = min(keys.size, self.errors.size), self.rows.part(slice(None))
        before = rows.keys[: self.errors.size - n_last]
        rows.keys = np.concatenate([before, keys[keys.size - n_last :]])
        return replace(self, rows=rows)

    def emptied(self) -> LatestRows:
        """Return an object for rows of the same kind that has none."""
        rows, compared = self.rows.part(slice(0)).copy(), np.zeros_like(self.compared)
        return LatestRows.of(self.size, self.penalties, rows, compared)

    def copy(self) -> LatestRows:
        """Return an object in the same state that goes on by itself."""
        return replace(self, rows=self.rows.copy())

    def _products(self, features: Singles) -> Singles:
        """Return inner products of a row with the others."""
        row, products = self._last
        if row is not features:
            products = np.vecdot(self.rows.features, features)
            self._last = features, products
        return np.asarray(products)
