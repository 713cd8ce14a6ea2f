r"""Lasso and elastic net from moments, in scikit-learn's parametrisation.

.. math:: \min_w \tfrac{1}{2n} \|y - Zw\|^2 + \alpha\rho\|w\|_1 + \tfrac12\alpha(1-\rho)\|w\|^2

with :math:`\rho` the ``l1_ratio``. In moments, n times this is, up to a constant,
:math:`\tfrac12 w^\top H w - C^\top w + \lambda_1\|w\|_1 + \tfrac12\lambda_2\|w\|^2`
with :math:`\lambda_1 = n\alpha\rho` and :math:`\lambda_2 = n\alpha(1-\rho)`. So the rows may be
replaced by any R, y with :math:`R^\top R = H` and :math:`R^\top y = C`, of d rows: a square root of
the scatter. On these scikit-learn's coordinate descent solves it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import solve, solve_triangular
from sklearn.linear_model import enet_path

from streamchi2.solvers.left_out import (
    TIE,
    SampledRows,
    constant_targets,
    definite,
    squared_lengths,
)
from streamchi2.solvers.linear_model import LinearModel, linear_model
from streamchi2.solvers.ridge import ridge
from streamchi2.statistics.moments import RegressionMoments

_GAPS = (1e-4, 1e-6, 1e-8, 1e-10)  # duality gaps, in units of |y|^2, after which signs are tried
_ROUGH = 1e-3  # a gap at which left-out errors of a tenth of the variance have three digits
_MISSED = 1e-9  # of the largest cross scatter, by which an optimality condition may be missed
_N_HALVINGS = 16  # candidates an output, almost five decades
_IDLE = 8.0  # candidates so much smaller than the best one must have brought something
_TINY = float(np.finfo(np.float64).tiny)
_ROUNDING = 64 * float(np.finfo(np.float64).eps)  # of a correlation


def elastic_net(moments: RegressionMoments, alpha: float, l1_ratio: float = 1.0) -> LinearModel:
    """Lasso (``l1_ratio=1``) or elastic net for all outputs, each on its own.

    Closed form where the scatter is diagonal, scikit-learn's coordinate descent on a square root of
    the scatter otherwise; its ``ConvergenceWarning`` says where 10,000 sweeps were too few, or more
    of few features.
    Targets that are constant, or correlated with no feature, up to rounding have no coefficients.

    Parameters
    ----------
    moments : RegressionMoments
        Of features and targets; a flat ``scatter`` is a diagonal.
    alpha : float
        Strength of the penalty, at least 0.
    l1_ratio : float, default=1.0
        Share of the absolute values in the penalty, in (0, 1].

    See Also
    --------
    sklearn.linear_model.ElasticNet : the same minimum from the rows.

    References
    ----------
    Friedman, Hastie and Tibshirani (2010), section 2.2, doi:10.18637/jss.v033.i01.

    Examples
    --------
    >>> from streamchi2.statistics.moments import Moments
    >>> moments = Moments.empty(np.zeros(1), np.zeros(1))
    >>> moments.add(np.array([[0.0], [2.0]]), np.array([[1.0], [5.0]]), np.ones(2))
    >>> elastic_net(moments.summary(), alpha=0.5).coef.round(9)
    array([[1.5]])
    """
    if alpha == 0.0:  # least squares, for which descent would take minutes
        return ridge(_without_rounding(moments), 0.0)
    return linear_model(moments, ElasticNetPath.of(moments, l1_ratio).solution(alpha), alpha)


@dataclass(frozen=True, eq=False)
class ElasticNetPath:
    """Elastic nets of the same moments under several penalties; the square root is taken once."""

    moments: RegressionMoments
    l1_ratio: float
    root: NDArray[np.float64]  # (d, d), R; the diagonal itself where the scatter is one
    targets: NDArray[np.float64]  # (d, t), y

    @classmethod
    def of(cls, moments: RegressionMoments, l1_ratio: float) -> ElasticNetPath:
        """Take the square root: a Cholesky factor of a scatter that is made definite."""
        moments = _without_rounding(moments)
        if moments.scatter.ndim == 1:
            return cls(moments, l1_ratio, moments.scatter, moments.cross)
        scatter, lower = definite(moments.scatter)
        targets = solve_triangular(lower, moments.cross, lower=True, check_finite=False)
        return cls(replace(moments, scatter=scatter), l1_ratio, np.asfortranarray(lower.T), targets)

    def chosen(self, sample: SampledRows) -> float:
        r"""Return the penalty of least error on sampled rows that are left out.

        .. math:: \sum_{ij} \frac{w_i}{S_j} \left(\frac{e_{ij}}{1 - w_i h_{ij}}\right)^2, \qquad
                  h_{ij} = \tfrac1W + z_A^\top (H_{AA} + \lambda_2 I)^{-1} z_A

        with A the non-zero coefficients of output j, which leaving out a row is taken not to
        change, :math:`S_j` the scatter of its targets and :math:`w_i` the weight of all rows equal
        to row i. Candidates are powers of two, for all outputs together, from the first that leaves
        nothing downwards, until each output has had three that brought nothing: an output in a
        small unit has its penalties below those of the others.

        Notes
        -----
        A candidate costs :math:`a^3/3 + m a^2` operations an output with a non-zero coefficients.

        Examples
        --------
        >>> from streamchi2.statistics.moments import Moments
        >>> line = np.arange(6.0)[:, None]
        >>> noisy = 2.0 * line + np.array([[0.1], [-0.1], [0.1], [-0.1], [0.1], [-0.1]])
        >>> moments = Moments.empty(np.zeros(1), np.zeros(1))
        >>> moments.add(line, noisy, np.ones(6))
        >>> sample = SampledRows.of(moments.summary(), line, noisy, np.ones(6))
        >>> ElasticNetPath.of(moments.summary(), l1_ratio=1.0).chosen(sample)
        0.03125
        """
        # The smallest penalty that leaves no coefficient, for each output.
        entries = np.abs(self.moments.cross).max(axis=0, initial=0.0)
        entries = entries[entries > 0.0] / max(self.moments.weight * self.l1_ratio, _TINY)
        if not entries.size:
            return 1.0
        coef = np.zeros_like(self.moments.cross)
        nothing = least = sample.error(sample.left_out(np.zeros(1), np.zeros((1, 1))))
        first, last = (int(np.ceil(np.log2(end(entries)))) for end in (np.max, np.min))
        best, *weaker = np.exp2(np.arange(first, last - _N_HALVINGS, -1.0)).tolist()
        for alpha in weaker:
            # The gap is in units of |y|^2: where less is left to explain it has to be smaller.
            gap = _ROUGH * min(1.0, max(1e-5, 10.0 * least / max(nothing, _TINY)))
            coef = self.descended(alpha, coef, gap)
            error = sample.error(self.left_out(alpha, coef, sample))
            if error < least * (1.0 - TIE):
                best, least = alpha, error
            elif alpha <= min(best, entries.min()) / _IDLE:
                break
        return float(best)

    def left_out(
        self, alpha: float, coef: NDArray[np.float64], sample: SampledRows
    ) -> NDArray[np.float64]:
        """Return residuals of sampled rows that are left out, shape (m, t)."""
        shares = np.zeros(sample.targets.shape)
        for output, active, inside in self._active(alpha, coef):
            shares[:, output] = squared_lengths(inside, sample.features[:, active])
        return sample.left_out(sample.features @ coef, shares)

    def solution(self, alpha: float) -> NDArray[np.float64]:
        """Return the coefficients for a penalty, shape (d, t), to full precision."""
        coef = np.zeros_like(self.moments.cross)
        if self.moments.scatter.ndim == 1:
            return self.descended(alpha, coef, 0.0)
        for gap in _GAPS:
            coef = self.descended(alpha, coef, gap)
            # The last digits would take as many sweeps again; with the signs they are a solve.
            exact = self._with_signs(alpha, np.sign(coef))
            if exact is not None:
                return exact
        return coef

    def descended(
        self, alpha: float, start: NDArray[np.float64], gap: float
    ) -> NDArray[np.float64]:
        """Return the coefficients for a penalty up to a duality gap, from those of another."""
        moments, (absolutes, squares) = self.moments, self._weights(alpha)
        if moments.scatter.ndim == 1:
            shrunk = moments.cross - np.clip(moments.cross, -absolutes, absolutes)
            curvature = moments.scatter + squares
            return shrunk / np.where(curvature > 0.0, curvature, np.inf)[:, None]
        paths = [
            enet_path(
                self.root,
                targets,
                l1_ratio=self.l1_ratio,
                alphas=[alpha * moments.weight / self.root.shape[0]],  # it sees d rows
                precompute=moments.scatter,
                Xy=np.ascontiguousarray(moments.cross[:, output]),
                coef_init=start[:, output].copy(),
                check_input=False,
                tol=gap,
                max_iter=10_000 + 10_000_000 // len(start),  # sweeps over few features are cheap
            )[1]
            for output, targets in enumerate(np.ascontiguousarray(self.targets.T))
        ]
        return np.hstack(paths)

    def _with_signs(self, alpha: float, signs: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the minimum if its coefficients have these signs, else None."""
        scatter, cross = self.moments.scatter, self.moments.cross
        absolutes, squares = self._weights(alpha)
        coef = np.zeros_like(cross)
        for output, active, inside in self._active(alpha, signs):
            slope = cross[active, output] - absolutes * signs[active, output]
            try:
                coef[active, output] = solve(inside, slope, assume_a="pos", check_finite=False)
            except LinAlgError:
                return None
        beyond = np.abs(cross - scatter @ coef - squares * coef) - absolutes
        wrong = beyond.max(initial=0.0) > _MISSED * np.abs(cross).max(initial=0.0)
        return None if wrong or (np.sign(coef) != signs).any() else coef

    def _weights(self, alpha: float) -> tuple[float, float]:
        """Return lambda_1 and lambda_2."""
        weight = self.moments.weight * alpha
        return weight * self.l1_ratio, weight * (1.0 - self.l1_ratio)

    def _active(
        self, alpha: float, coef: NDArray[np.float64]
    ) -> Iterator[tuple[int, NDArray[np.intp], NDArray[np.float64]]]:
        """Yield outputs with their non-zero coefficients A, and H_AA + lambda_2 I."""
        scatter, squares = self.moments.scatter, self._weights(alpha)[1]
        for output in np.flatnonzero(coef.any(axis=0)):
            active = np.flatnonzero(coef[:, output])
            flat = scatter.ndim == 1
            inside = np.diag(scatter[active]) if flat else scatter[np.ix_(active, active)]
            inside.flat[:: active.size + 1] += squares
            yield int(output), active, inside


def _without_rounding(moments: RegressionMoments) -> RegressionMoments:
    r"""Return moments whose cross scatter is zero for outputs where it is rounding alone.

    Else coefficients that explain nothing would be fitted to it. An output is correlated with
    nothing where :math:`|C_{it}| \le 64 \epsilon \sqrt{H_{ii} S_t}` for all i.
    """
    spread = np.sqrt(np.maximum(moments.target_scatter, 0.0))
    diagonal = moments.scatter if moments.scatter.ndim == 1 else moments.scatter.diagonal()
    bounds = _ROUNDING * np.sqrt(np.maximum(diagonal, 0.0))[:, None] * spread
    nothing = constant_targets(moments) | (np.abs(moments.cross) <= bounds).all(axis=0)
    return replace(moments, cross=np.where(nothing, 0.0, moments.cross))
