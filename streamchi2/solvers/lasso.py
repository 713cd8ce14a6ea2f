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

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.linear_model import enet_path

from streamchi2.checks.rows import Array
from streamchi2.solvers.left_out import TIE, SampledRows, constant_targets
from streamchi2.solvers.linear_model import InverseRoot, definite
from streamchi2.statistics.moments import RegressionMoments

_GAPS = (1e-4, 1e-6, 1e-8, 1e-10)  # duality gaps, in units of |y|^2, after which signs are tried
_ROUGH = 1e-3  # a gap at which left-out errors of a tenth of the variance have three digits
_MISSED = 1e-9  # of the largest cross scatter, by which an optimality condition may be missed
_N_HALVINGS = 16  # candidates an output, almost five decades
_IDLE = 8.0  # candidates so much smaller than the best one must have brought something
_TINY = float(np.finfo(np.float64).tiny)
_ROUNDING = 64 * float(np.finfo(np.float64).eps)  # of a correlation


class ElasticNet:
    """Lasso (``l1_ratio=1``) or elastic net for all outputs, each on its own; alpha above 0.

    scikit-learn's ``ConvergenceWarning`` says where 10,000 sweeps were too few, or more of few
    features. Targets that are constant, or correlated with no feature, up to rounding have no
    coefficients. The square root, a Cholesky factor of a scatter that is made definite, is taken
    once for all penalties.

    Parameters
    ----------
    moments : RegressionMoments
        Of features and targets.
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
    >>> ElasticNet(moments.summary()).coef(alpha=0.5).round(9)
    array([[1.5]])
    """

    def __init__(self, moments: RegressionMoments, l1_ratio: float = 1.0) -> None:
        self.weight, self.l1_ratio = moments.weight, l1_ratio
        self.cross = _without_rounding(moments)
        scatter, lower = definite(moments.scatter)
        self.scatter = scatter.T  # which descent reads by rows
        self._root = np.asfortranarray(lower.T)
        self._targets: Array = solve_triangular(lower, self.cross, lower=True, check_finite=False)

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
        >>> ElasticNet(moments.summary()).chosen(sample)
        0.03125
        """
        # The smallest penalty that leaves no coefficient, for each output.
        entries = np.abs(self.cross).max(axis=0, initial=0.0)
        entries = entries[entries > 0.0] / max(self.weight * self.l1_ratio, _TINY)
        if not entries.size:
            return 1.0
        first, last = np.ceil(np.log2([entries.max(), entries.min()]))
        best, *weaker = np.exp2(np.arange(first, last - _N_HALVINGS, -1.0)).tolist()
        coef = np.zeros_like(self.cross)
        nothing = least = sample.error(self.left_out(best, coef, sample))
        for alpha in weaker:
            # The gap is in units of |y|^2: where less is left to explain it has to be smaller.
            left = np.clip(10.0 * least / max(nothing, _TINY), 1e-5, 1.0)
            coef = self._descended(alpha, coef, _ROUGH * left)
            error = sample.error(self.left_out(alpha, coef, sample))
            if error < least * (1.0 - TIE):
                best, least = alpha, error
            elif alpha <= min(best, entries.min()) / _IDLE:
                break
        return float(best)

    def left_out(self, alpha: float, coef: Array, sample: SampledRows) -> Array:
        """Return residuals of sampled rows that are left out, shape (m, t)."""
        shares = np.zeros(sample.targets.shape)
        for output, active, root in self._active(alpha, coef):
            shares[:, [output]] = root.leverages(sample.features[:, active])
        return sample.left_out(coef, shares)

    def coef(self, alpha: float) -> Array:
        """Return the coefficients for a penalty, shape (d, t), to full precision."""
        coef = np.zeros_like(self.cross)
        for gap in _GAPS:
            coef = self._descended(alpha, coef, gap)
            # The last digits would take as many sweeps again; with the signs they are a solve.
            exact = self._with_signs(alpha, np.sign(coef))
            if exact is not None:
                return exact
        return coef

    def _descended(self, alpha: float, start: Array, gap: float) -> Array:
        """Return the coefficients for a penalty up to a duality gap, from those of another."""
        paths = [
            enet_path(
                self._root,
                targets,
                l1_ratio=self.l1_ratio,
                alphas=[alpha * self.weight / len(start)],  # it sees d rows
                precompute=self.scatter,
                Xy=np.ascontiguousarray(self.cross[:, output]),
                coef_init=start[:, output].copy(),
                check_input=False,
                tol=gap,
                max_iter=10_000 + 10_000_000 // len(start),  # sweeps over few features are cheap
            )[1]
            for output, targets in enumerate(np.ascontiguousarray(self._targets.T))
        ]
        return np.hstack(paths)

    def _with_signs(self, alpha: float, signs: Array) -> Array | None:
        """Return the minimum if its coefficients have these signs, else None."""
        absolutes, squares = self._weights(alpha)
        coef = np.zeros_like(self.cross)
        for output, active, root in self._active(alpha, signs):
            slope = self.cross[active, output] - absolutes * signs[active, output]
            coef[active, output] = root.solved(slope)
        residual = self.cross - self.scatter @ coef - squares * coef
        beyond = (np.abs(residual) - absolutes).max(initial=0.0)
        wrong = beyond > _MISSED * np.abs(self.cross).max(initial=0.0)
        return None if wrong or (np.sign(coef) != signs).any() else coef

    def _weights(self, alpha: float) -> tuple[float, float]:
        """Return lambda_1 and lambda_2."""
        both = self.weight * alpha
        return both * self.l1_ratio, both * (1.0 - self.l1_ratio)

    def _active(
        self, alpha: float, coef: Array
    ) -> Iterator[tuple[int, NDArray[np.intp], InverseRoot]]:
        """Yield outputs with their non-zero coefficients A, and a root of H_AA + lambda_2 I."""
        squares = max(self._weights(alpha)[1], _TINY)
        for output in np.flatnonzero(coef.any(axis=0)).tolist():
            active = np.flatnonzero(coef[:, output])
            yield output, active, InverseRoot(self.scatter[np.ix_(active, active)], squares)


def _without_rounding(moments: RegressionMoments) -> Array:
    r"""Return the cross scatter, zero for outputs where it is rounding alone.

    Else coefficients that explain nothing would be fitted to it. An output is correlated with
    nothing where :math:`|C_{it}| \le 64 \epsilon \sqrt{H_{ii} S_t}` for all i.
    """
    spread = np.sqrt(np.maximum(moments.target_scatter, 0.0))
    deviations = np.sqrt(np.maximum(moments.scatter.diagonal(), 0.0))
    nothing = np.abs(moments.cross) <= _ROUNDING * np.outer(deviations, spread)
    return np.where(constant_targets(moments) | nothing.all(axis=0), 0.0, moments.cross)
