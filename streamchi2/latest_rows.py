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

from streamchi2.checks.rows import Array, Floats
from streamchi2.model import Model
from streamchi2.saving import saved
from streamchi2.statistics.feature_statistics import Kept
from streamchi2.statistics.forgetting import Forgetting
from streamchi2.statistics.sample import Keys
from streamchi2.statistics.targets import aligned
from streamchi2.threads import one_blas_thread

# River's default is 64 rows. Row by row, D = 1024, 32 | 64 | 128: digits .973 .975 .972, clothes
# that turn .797 .801 .798, centres .900 .917 .924, hyperplane .849 .867 .869, SEA .974 .977 .975,
# labels shifted .842 .836 .831, electricity .911 .887 .863.
PENALTIES: tuple[float, ...] = (0.15, 1.0)  # in units of the mean squared length of features
LEAST_ROWS = 64  # that are kept to begin anew from, at least
_MEMORY = 0.995  # what a squared error counts one row later, when corrections are compared
_MOST_WEIGHT = 100.0  # of a row among the latest, in units of their mean
_NO_KEY = np.zeros(1, np.uint64)  # until the block of the row has ended

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
        Their features (n, D), targets, weights and keys.
    compared : ndarray, shape (2 + corrections,)
        Squared errors one row ahead, faded: without a correction, and with each. Last their number.
    forgetting : Forgetting
        The errors without a correction beside what was to be expected.
    model : Model or None, default=None
        That of all rows; None before the first.
    residuals : ndarray, shape (n, t)
        What it leaves of the targets.
    unit, most_weight : float
        Mean squared length of the features times mean weight, and what a row can weigh at most,
        when roots were last made.
    roots : ndarray of float32, shape (corrections, n, n)
        R of the inverses R'R, lower triangles.
    duals : ndarray, shape (corrections, n, t)
        Inverses times residuals, which may be beyond float32.
    """

    size: int
    penalties: tuple[float, ...]
    rows: Kept
    compared: Array
    forgetting: Forgetting
    model: Model | None
    residuals: Array
    unit: float
    most_weight: float
    roots: Singles
    duals: Array
    # The last row, its products with the others and its scores: who predicts it then learns it.
    _last: tuple[Any, ...] = field(default=(None, None, None), init=False, repr=False)

    @classmethod
    def of(
        cls,
        size: int,
        penalties: tuple[float, ...],
        rows: Kept,
        compared: Array,
        forgetting: Forgetting,
        model: Model | None = None,
        residuals: Array | None = None,
    ) -> Self:
        """Return some rows with roots of their own; without a model they correct nothing."""
        n_rows, unit, most_weight = rows.weights.size, 1.0, 1.0
        roots = np.zeros((len(penalties), n_rows, n_rows), np.float32)
        if n_rows and penalties:
            with one_blas_thread:
                products = (rows.features @ rows.features.T).astype(np.float64)
                mean_weight = float(rows.weights.mean())
                unit = (float(products.trace()) / n_rows or 1.0) * mean_weight
                most_weight = _MOST_WEIGHT * mean_weight
                ridges = _ridges(penalties, unit, most_weight, rows.weights)
                raised = products + ridges[:, :, None] * np.eye(n_rows)
                roots = np.linalg.inv(np.linalg.cholesky(raised)).astype(np.float32)
        residuals = np.zeros((n_rows, 1)) if residuals is None else residuals
        duals = _duals(roots, residuals)
        kept = size, penalties, rows, compared, forgetting, model, residuals
        return cls(*kept, unit, most_weight, roots, duals)

    @property
    def best(self) -> int:
        """Number of the best correction so far, counted from one; 0 is none."""
        return int(self.compared[:-1].argmin())

    @property
    def mean_errors(self) -> dict[float | None, float]:
        """Mean squared errors one row ahead, by the penalty of the correction; None is without."""
        means = self.compared[:-1] / (self.compared[-1] or 1.0)
        return dict(zip([None, *self.penalties], means.tolist(), strict=True))

    def scores(self, features: Floats) -> Array:
        """Return the scores of a row by the model, and with each correction, (1 + c, t)."""
        return np.asarray(self._predicted(features)[1])

    def _predicted(self, features: Floats) -> tuple[Singles, Array]:
        """Return the products of a row with the others, and its scores, worked out once."""
        row, products, scores = self._last
        if row is not features and self.model is not None:
            products = np.vecdot(self.rows.features, features)
            scores = self.model.linear.scores_of_row(features)[None]
            if self.penalties and products.size:
                corrections = np.einsum("j,cjt->ct", products.astype(np.float64), self.duals)
                scores = np.concatenate([scores, scores + corrections])
            else:
                scores = np.repeat(scores, 1 + len(self.penalties), axis=0)
            self._last = features, products, scores
        return products, scores

    def after(self, features: Floats, target: Any, weight: float) -> Self:
        """Return the latest rows with another one, after its predictions have been compared.

        Parameters
        ----------
        features : ndarray, shape (D,)
            Its features.
        target : int or ndarray
            A code, or columns.
        weight : float
            Its weight.
        """
        model = self.model
        if model is None:
            return self
        products, scores = self._predicted(features)
        left = model.answers(np.asarray(target)[None]) - scores
        squares = np.square(left) / model.expected.units
        compared = _MEMORY * self.compared + [*squares.sum(axis=1), 1.0]
        beside = model.expected.beside(target, squares[0])
        full, n_rows = len(self.residuals) == 2 * self.size, len(self.residuals)
        newest = slice(self.size if full else 0, None)
        rows = self.rows.part(newest)
        if rows.targets.ndim > 1:  # columns may have come since
            rows.targets = aligned(rows.targets, np.size(target))
        rows.append(Kept(features[None], np.asarray(target)[None], np.array([weight]), _NO_KEY))
        residuals = np.concatenate([self.residuals, left[:1]])[newest]
        state = compared, self.forgetting.after(*beside), model, residuals
        if full or not n_rows or not self.penalties:
            return type(self).of(self.size, self.penalties, rows, *state)
        scale = self.unit, self.most_weight
        ridges = _ridges(self.penalties, *scale, np.array([weight]))
        length = float(np.vecdot(features, features))
        grown = _grown(self.roots, self.duals, products, length, ridges, left[1:])
        return type(self)(self.size, self.penalties, rows, *state, *scale, *grown)

    def renewed(self, model: Model) -> Self:
        """Return them beside another model."""
        features = self.rows.features.astype(np.float64)  # as targets, which may be of any scale
        residuals = model.answers(self.rows.targets) - model.linear.scores(features)
        duals = _duals(self.roots, residuals)
        return replace(self, model=model, residuals=residuals, duals=duals)

    def corrected(self) -> Model | None:
        """Return the model with the best correction."""
        if self.model is None or not self.best:
            return self.model
        features = self.rows.features.astype(np.float64)
        return self.model.with_more(features.T @ self.duals[self.best - 1])

    def with_keys(self, keys: Keys) -> Self:
        """Return them with the keys of the labelled rows of a block that has ended."""
        rows = self.rows.part(slice(None))
        joined = np.concatenate([rows.keys[: max(0, rows.keys.size - keys.size)], keys])
        rows.keys = joined[joined.size - rows.keys.size :]
        return replace(self, rows=rows)

    def emptied(self) -> LatestRows:
        """Return an object for rows of the same kind that has none."""
        rows, compared = self.rows.part(slice(0)).copy(), np.zeros_like(self.compared)
        return LatestRows.of(self.size, self.penalties, rows, compared, Forgetting())

    def copy(self) -> LatestRows:
        """Return an object in the same state that goes on by itself."""
        return replace(self, rows=self.rows.copy())


def _grown(
    roots: Singles, duals: Array, products: Singles, length: float, ridges: Array, left: Array
) -> tuple[Singles, Array]:
    r"""Return roots and duals with another row, of which corrections leave so much, (c, t).

    With k the products of the row with the others, r = R k and b = R'r, the next root is R,
    bordered by :math:`-b / \sqrt c` and :math:`1 / \sqrt c` with
    :math:`c = z^\top z + \mu / w - r^\top r`.
    """
    n = products.size
    rooted = np.vecdot(roots, products)
    columns = np.einsum("cij,ci->cj", roots, rooted)
    # Never below the ridge but by rounding.
    pivots = np.maximum(length - np.vecdot(rooted, rooted), 0.0)[:, None] + ridges
    pivots = pivots.astype(np.float32)
    grown = np.empty((len(pivots), n + 1, n + 1), np.float32)
    grown[:, :n, :n], grown[:, :n, n] = roots, 0.0
    grown[:, n, :n], grown[:, n, n:] = columns / -np.sqrt(pivots), 1.0 / np.sqrt(pivots)
    steps = (left / pivots)[:, None]
    earlier = duals - columns[:, :, None] * steps
    return grown, np.concatenate([earlier, steps], axis=1)


def _ridges(penalties: tuple[float, ...], unit: float, most_weight: float, weights: Array) -> Array:
    """Return what is added to the diagonal of inner products, shape (c, n)."""
    shares = np.minimum(weights, most_weight) / unit
    return np.asarray(np.array(penalties)[:, None] / shares)


def _duals(roots: Singles, residuals: Array) -> Array:
    with one_blas_thread:
        return np.asarray(roots.mT @ (roots @ residuals))
