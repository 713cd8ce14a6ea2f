r"""Ridge regression in dual form of rows that keep arriving, and its penalty by leave-one-out.

With :math:`R = \mathrm{diag}(\sqrt w)` and :math:`R K R + \alpha I = L L^\top`, the inverse factor
:math:`X = L^{-1}` grows by a line for every row; what it has stays. The model and every left-out
score follow from it in :math:`n^2 t` operations, so a few new rows cost :math:`n^2` operations
each, where a new decomposition would cost :math:`10 n^3`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cholesky
from scipy.linalg.lapack import dtrtri

from streamchi2.solvers.gram_spectrum import GramSpectrum
from streamchi2.solvers.penalty import TIE, left_out_parts, log_error
from streamchi2.statistics.moments import effective_count

_CHUNK_ROWS = 64  # lines of a factor that are worked out together
_PANEL_ROWS = 256  # of a triangle: products leave out the panels that are zero
_FEW_ROWS = 128  # up to which all penalties are compared; a power of two
_MOST_ROWS = 2048  # factors of more rows are not kept: each takes 8 n^2 bytes
_LEAST_REST = 1e-12  # rounding of one minus a share: a row without any other cannot be left out
_STEPS = 4  # penalties a decade
_RANGE = 1e-8, 1e3  # of penalties, in units of the trace: below, they would fit float32's rounding


@dataclass(frozen=True, eq=False)
class DualSolution:
    """A ridge model in dual form."""

    alpha: float
    dual: NDArray[np.float64]  # (n, t): coefficients are Z' times this
    intercept: NDArray[np.float64]  # (t,)


@dataclass(frozen=True, eq=False)
class DualFit(DualSolution):
    """A ridge model in dual form, and the scores of its rows when they are left out."""

    left_out: NDArray[np.float64]  # (n, t)
    error: float  # logarithm of the weighted sum of squares of left-out residuals
    reml: float  # see solvers.penalty.reml


class InverseFactor:
    r"""The inverse of the Cholesky factor of :math:`R K R + \alpha I`, one line a row.

    Lines are worked out in chunks that begin at multiples of 64 rows, so their bits do not depend
    on when they were asked for.
    """

    def __init__(self, alpha: float) -> None:
        self.alpha = alpha
        self._lines: NDArray[np.float64] = np.empty((0, 0))
        self._n_final = 0  # rows of complete chunks

    def extend(self, gram: NDArray[np.float64], roots: NDArray[np.float64], n_final: int) -> None:
        """Work out the lines of all rows; ``gram`` will not change in the first ``n_final``."""
        n_rows = roots.size
        self._make_room(n_rows)
        first = self._n_final = min(self._n_final, n_final)
        for start in range(first, n_rows, _CHUNK_ROWS):
            stop = min(start + _CHUNK_ROWS, n_rows)
            self._add_lines(gram, roots, start, stop)
            if stop - start == _CHUNK_ROWS and stop <= n_final:
                self._n_final = stop

    def _add_lines(
        self, gram: NDArray[np.float64], roots: NDArray[np.float64], start: int, stop: int
    ) -> None:
        lines = gram[start:stop, :stop] * roots[:stop]
        lines *= roots[start:stop, None]
        before, own = lines[:, :start], lines[:, start:]
        known = self._lines[:start, :start]
        below = _times_transpose(before, known)
        own = own - below @ below.T
        own.flat[:: stop - start + 1] += self.alpha
        factor = cholesky(own, lower=True, check_finite=False)
        inverse, _ = dtrtri(factor, lower=1)
        inverse = np.tril(inverse)
        self._lines[start:stop, start:stop] = inverse
        if start:
            left = _times_triangle(inverse @ below, known)
            np.negative(left, out=self._lines[start:stop, :start])

    def _make_room(self, n_rows: int) -> None:
        n_room, final = self._lines.shape[0], self._n_final
        if n_rows <= n_room:
            return
        room = np.zeros((room_for_rows(n_rows),) * 2)
        room[:final, :final] = self._lines[:final, :final]
        self._lines = room

    def solved(self, lines: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return lines, shape (t, n), times the inverse of the matrix of the first n rows."""
        n_rows = lines.shape[1]
        factor = self._lines[:n_rows, :n_rows]
        return _times_triangle(_times_transpose(lines, factor), factor)

    def log_determinant(self, n_rows: int) -> float:
        """Return the logarithm of the determinant of the matrix of the first rows."""
        return float(-2.0 * np.log(self._lines.diagonal()[:n_rows]).sum())

    def diagonal(self, n_rows: int) -> NDArray[np.float64]:
        """Return the diagonal of the inverse of the matrix of the first rows."""
        total = np.zeros(n_rows)
        for start in range(0, n_rows, _CHUNK_ROWS):
            lines = self._lines[start : min(start + _CHUNK_ROWS, n_rows), :n_rows]
            stop = start + lines.shape[0]
            total[:stop] += np.einsum("ij,ij->j", lines[:, :stop], lines[:, :stop])
        return total


def room_for_rows(n_rows: int) -> int:
    """Return for how many rows to make room at a time.

    Twice as many, and from 1024 on an eighth more: the dual form ends where rows exceed features by
    that, and what is beyond would never be used.

    >>> [room_for_rows(n_rows) for n_rows in (10, 300, 1025)]
    [256, 600, 1153]
    """
    return max(256, min(2 * n_rows, 1024), n_rows + n_rows // 8)


def _times_transpose(lines: NDArray[np.float64], lower: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return lines, shape (t, n), times the transpose of a lower triangular matrix."""
    found = np.empty(lines.shape)
    for start in range(0, lines.shape[1], _PANEL_ROWS):
        stop = start + _PANEL_ROWS
        np.matmul(lines[:, :stop], lower[start:stop, :stop].T, out=found[:, start:stop])
    return found


def _times_triangle(lines: NDArray[np.float64], lower: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return lines, shape (t, n), times a lower triangular matrix."""
    found = np.empty(lines.shape)
    for start in range(0, lines.shape[1], _PANEL_ROWS):
        stop = start + _PANEL_ROWS
        np.matmul(lines[:, start:], lower[start:, start:stop], out=found[:, start:stop])
    return found


class GrowingRidge:
    r"""Ridge regression in dual form of a growing set of rows, with factors kept between calls.

    Penalties stand on one grid, four a decade, whatever the rows: the same factors serve as rows
    arrive. Weights below one shift it, so that weights that are all multiplied by c multiply the
    penalty by c.

    Up to 128 rows the penalty of least leave-one-out error is found among all. From there on it is
    the minimum that is reached step by step from the penalty of the first 128, 256, 512, ... rows,
    the largest of these numbers below n; errors with one minimum give the same answer. It is a
    function of the rows in their order, not of earlier calls.

    Where rows are a few more than features, residuals without a penalty have as few dimensions, and
    leaving rows out may be told by chance that none is needed; restricted maximum likelihood may
    be misled there by rows that are almost equal. The larger of the two penalties is taken.
    """

    def __init__(self) -> None:
        self._factors: dict[float, InverseFactor] = {}
        self._choices: dict[int, int] = {}  # number of first rows to the place on the grid
        self._places: NDArray[np.intp] = np.empty(0, np.intp)  # rows of the last call
        self._weights: NDArray[np.float64] = np.empty(0)

    def at(self, rows: DualRows) -> Search:
        """Return the search among the rows of the last call with more behind them."""
        # Another unit is another grid.
        if rows.unit != 1.0 or not rows.continue_from(self._places, self._weights):
            self._factors, self._choices = {}, {}
        self._places, self._weights = rows.places, rows.weights
        self._choices = {n: place for n, place in self._choices.items() if n <= rows.n_final}
        return Search(rows, self._factors, self._choices)

    def keep(self, search: Search) -> None:
        """Keep the factors that a search has used."""
        few = search.rows.weights.size <= _MOST_ROWS and search.rows.unit == 1.0
        self._factors = {alpha: search.factors[alpha] for alpha in search.used} if few else {}


@dataclass(frozen=True, eq=False)
class DualRows:
    """All rows of a regression: their Gram matrix, weights and targets.

    The first ``n_final`` lines of the matrix, of which the lower triangle is read, will not change.
    ``places`` tell which rows of a stream these are, ``copies`` how many each stands for.
    """

    gram: NDArray[np.float64]  # (n, n)
    weights: NDArray[np.float64]  # (n,)
    targets: NDArray[np.float64]  # (n, t)
    n_final: int
    places: NDArray[np.intp]  # (n,)
    copies: NDArray[np.float64]  # (n,); the weights, unless classes are weighted too
    n_features: int

    def continue_from(self, places: NDArray[np.intp], weights: NDArray[np.float64]) -> bool:
        """Tell whether the rows that will not change are those of an earlier call."""
        same = slice(min(self.n_final, weights.size))
        return np.array_equal(self.places[same], places[same]) and np.array_equal(
            self.weights[same], weights[same]
        )

    @property
    def unit(self) -> float:
        """Of penalties: the weight of a copy, and of a row where it is less than one copy."""
        total, squared = float(self.copies.sum()), float(self.copies @ self.copies)
        return float(self.weights.sum()) / total * min(1.0, squared / total)

    def first(self, n_rows: int) -> DualRows:
        """Return the first rows, which will not change where they are not all."""
        if n_rows == self.weights.size:
            return self
        return DualRows(
            self.gram[:n_rows, :n_rows],
            self.weights[:n_rows],
            self.targets[:n_rows],
            n_rows,
            self.places[:n_rows],
            self.copies[:n_rows],
            self.n_features,
        )


class Search:
    """The penalties of one set of rows that have been tried."""

    def __init__(
        self, rows: DualRows, factors: dict[float, InverseFactor], choices: dict[int, int]
    ) -> None:
        self.rows, self.factors, self.used = rows, factors, set[float]()
        self._choices, self._unit = choices, rows.unit
        self._fits: dict[tuple[float, int], DualFit] = {}

    def fit(self, alpha: float) -> DualFit:
        """Return the model under a penalty, or raise LinAlgError where it is too small."""
        return self._fit(alpha, self.rows)

    def solution(self, alpha: float) -> DualSolution:
        """Return the model alone: no row is left out."""
        rows, roots = self.rows, np.sqrt(self.rows.weights)
        along, intercept, _, _ = _solved(self._factor(alpha), rows, roots)
        return DualSolution(alpha, roots[:, None] * along, intercept)

    def chosen(self) -> DualFit | None:
        """Return the model of least leave-one-out error; None where rows do not vary."""
        rows = self.rows
        size = float(rows.weights @ rows.gram.diagonal())
        if size <= 0.0:
            return None
        return self._fit(self._alpha(self._place(rows.weights.size)), rows)

    def _alpha(self, place: int) -> float:
        return float(self._unit * 10.0 ** (place / _STEPS))

    def _place(self, n_rows: int) -> int:
        """Return the place on the grid of the penalty for the first rows."""
        if n_rows in self._choices:
            return self._choices[n_rows]
        rows = self.rows.first(n_rows)
        size = float(rows.weights @ rows.gram.diagonal()) / self._unit
        if size <= 0.0:
            return 0
        lowest, highest = (round(_STEPS * np.log10(end * size)) for end in _RANGE)
        if n_rows <= _FEW_ROWS:
            places = np.arange(lowest, highest + 1)
            alphas = self._unit * 10.0 ** (places / _STEPS)
            whole = np.tril(rows.gram) + np.tril(rows.gram, -1).T
            errors = GramSpectrum.of(whole, rows.targets, rows.weights, rows.copies).leave_one_out(
                alphas
            )
            found = int(places[errors <= errors.min() + TIE][-1])
        else:
            start = self._place(1 << ((n_rows - 1).bit_length() - 1))
            found = local_minimum(lambda place: self._error(place, rows), start, lowest, highest)
        if n_rows > rows.n_features:
            found = self._likeliest_from(found, rows, highest)
        if n_rows <= self.rows.n_final:
            self._choices[n_rows] = found
        return found

    def _error(self, place: int, rows: DualRows) -> float:
        try:
            return self._fit(self._alpha(place), rows).error
        except LinAlgError:  # below the rounding errors of the Gram matrix
            return float(np.inf)

    def _likeliest_from(self, lowest: int, rows: DualRows, highest: int) -> int:
        """Return the penalty of restricted maximum likelihood, or the lowest that is allowed."""

        def score(place: int) -> float:
            try:
                return self._fit(self._alpha(place), rows).reml
            except LinAlgError:
                return float(np.inf)

        start = lowest
        while start + _STEPS <= highest and score(start + _STEPS) < score(start):
            start += _STEPS
        return local_minimum(score, start, lowest, highest)

    def _fit(self, alpha: float, rows: DualRows) -> DualFit:
        factor = self._factor(alpha)
        key = alpha, rows.weights.size
        if key not in self._fits:
            self._fits[key] = dual_fit(factor, rows)
        return self._fits[key]

    def _factor(self, alpha: float) -> InverseFactor:
        """Return the factor of all rows under a penalty."""
        factor = self.factors.setdefault(alpha, InverseFactor(alpha))
        if alpha not in self.used:
            whole = self.rows
            factor.extend(whole.gram, np.sqrt(whole.weights), whole.n_final)
            self.used.add(alpha)
        return factor


def local_minimum(score: Callable[[int], float], start: int, lowest: int, highest: int) -> int:
    """Return the place of the minimum next to a start: the largest of those that count as equal.

    >>> local_minimum(lambda place: (place - 3) ** 2, 0, -8, 8)
    3
    >>> local_minimum(lambda place: 0.0, 0, -8, 8)
    8
    """
    first = min(max(start - 1, lowest), highest)
    last = max(min(start + 1, highest), first)
    scores = {place: score(place) for place in range(first, last + 1)}
    if min(scores.values()) == np.inf:  # a row without any other: no penalty will do
        return highest
    while True:
        least = min(scores.values())
        chosen = max(place for place, found in scores.items() if found <= least + TIE)
        if chosen == last < highest:
            last += 1
            scores[last] = score(last)
        elif scores[first] == least and first > lowest:
            first -= 1
            scores[first] = score(first)
        else:
            return chosen


def dual_fit(factor: InverseFactor, rows: DualRows) -> DualFit:
    r"""Return the model of the first rows of a factor, intercept unpenalised.

    With :math:`M = (RKR + \alpha I)^{-1}`, :math:`v = \sqrt w` and
    :math:`M_c = M - M v v^\top M / v^\top M v`, the residuals are
    :math:`\alpha R^{-1} M_c R Y` and a row has the share :math:`h_i = 1 - \alpha (M_c)_{ii}` in its
    own score.
    """
    weights, targets, copies = rows.weights, rows.targets, rows.copies
    alpha, roots = factor.alpha, np.sqrt(weights)
    along, intercept, by_ones, total = _solved(factor, rows, roots)
    rest = alpha * (factor.diagonal(weights.size) - by_ones**2 / total)
    weight = float(weights.sum())
    n_copies = float(copies.sum())
    count = effective_count(n_copies, float(copies @ copies))
    parts = left_out_parts(copies, n_copies, count)
    others = 1.0 - parts * (1.0 - rest) if (parts != 1.0).any() else rest
    alone = others <= _LEAST_REST
    safe = np.where(alone, 1.0, others)[:, None]
    error = np.inf if alone.any() else float(np.square(alpha * along / safe).sum())
    target_mean = weights @ targets / weight
    spread = float(weights @ np.square(targets - target_mean).sum(axis=1))
    # Weights may have faded to nothing: what they divide is as small as they are.
    tiny = np.finfo(np.float64).tiny
    residuals = alpha * along / np.maximum(roots, tiny)[:, None]
    left_out = np.where(alone[:, None], target_mean, targets - residuals / safe)
    return DualFit(
        alpha,
        roots[:, None] * along,
        intercept,
        left_out,
        float(log_error(np.array([error]), spread)[0]),
        _reml(factor, rows, float(np.vdot(targets * roots[:, None], along)), total, spread, count),
    )


def _solved(
    factor: InverseFactor, rows: DualRows, roots: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], float]:
    r"""Return :math:`M_c R Y`, the intercept, :math:`M v` and :math:`v^\top M v`."""
    solved = factor.solved(np.vstack([rows.targets.T * roots, roots])).T
    by_ones = solved[:, -1]
    total = float(roots @ by_ones)
    intercept = (roots @ solved[:, :-1]) / total
    along = solved[:, :-1] - by_ones[:, None] * intercept
    return along, intercept, by_ones, total


def _reml(
    factor: InverseFactor,
    rows: DualRows,
    product: float,
    total: float,
    spread: float,
    count: float,
) -> float:
    r"""Return minus twice the log restricted likelihood per degree of freedom.

    With :math:`A = RKR + \alpha I`, M its inverse and d the eigenvalues of the centred matrix,
    :math:`\sum_j \log(1 + d_j/\alpha) = \log|A| + \log(\alpha\,v^\top M v/\sum w) - n\log\alpha`.
    """
    if count <= 1.0:
        return float(np.inf)
    alpha, n_rows, weight = factor.alpha, rows.weights.size, float(rows.weights.sum())
    complexity = factor.log_determinant(n_rows) - n_rows * float(np.log(alpha))
    complexity += float(np.log(alpha * total / weight))
    objective = float(log_error(np.array([alpha * product]), spread)[0])
    return complexity / (count - 1.0) + objective
