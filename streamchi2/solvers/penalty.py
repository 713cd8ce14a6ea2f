r"""How strong a ridge penalty should be: the choice among the penalties of a grid.

Generalised cross-validation (GCV) is good where rows are many, but divides by :math:`(n - df)^2`,
which vanishes with the residuals where rows are about as many as features; rows that are almost
equal and have equal targets make the quotient small, and it takes almost no penalty at all.
Restricted maximum likelihood (REML) is more careful, and leave-one-out best, but it needs rows.
So "auto" is leave-one-out over all rows while they are kept, in
:mod:`~streamchi2.solvers.leave_one_out`; then, from moments alone, GCV among the penalties that are
not below that of REML.

Leave-one-out over a sample of 128 rows was tried in place of the latter and left out. Moments
merge, so the penalty is that of one pass whatever the shards; the penalty of another sample
differed in up to two of ten draws, by a step of the grid. And it bought next to nothing: accuracy
on digits with 256 features .946 against .946 at 256 rows, .953 against .953 at 320, .970 against
.971 at 1024; on synthetic rows a tenth of which are near copies, 64 features, 4 % less squared
error at 64 rows, 2 % at 80, nothing from 128 on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# In units of the largest eigenvalue: below 1e-8 a penalty would fit the rounding of float32.
_GRID = np.logspace(-8, 3, 45)
_PERFECT = 1e-10  # residuals, squared and relative, below which a penalty would fit rounding errors
_MIN_FREEDOM = 1e-4  # share of n that must remain: below, residuals are rounding errors
# Of log scores. At 1e-8 of the largest eigenvalue rounding moves them by some 3e-8; where they are
# flat it decides between neighbours unless what counts as equal is much more than that.
TIE = 1e-5


def penalties(largest: float) -> NDArray[np.float64]:
    """Return the grid: four penalties a decade, from 1e-8 to 1e3 times the largest eigenvalue.

    The criteria are flat about their minimum, and a grid keeps rounding out of the choice. It
    follows the eigenvalues, so weights that are all multiplied by c multiply the penalty by c.
    """
    return _GRID * largest


@dataclass(frozen=True, eq=False)
class Path:
    r"""What the criteria read of the ridge models along the grid, sums over outputs.

    ``residuals`` are :math:`\|Y - ZW\|^2`; ``objectives`` are
    :math:`\|Y - ZW\|^2 + \alpha\|W\|^2`, the minimum that W attains, which equals
    :math:`S - C^\top(H + \alpha I)^{-1}C`. Infinite where there is no such model.
    """

    alphas: NDArray[np.float64]  # (a,), ascending
    residuals: NDArray[np.float64]  # (a,)
    objectives: NDArray[np.float64]  # (a,)
    eigenvalues: NDArray[np.float64]  # (p,) of H, zeros may be missing
    total: float  # S: scatter of the targets
    count: float  # n, of rows that the weights stand for

    def chosen(self) -> float:
        """Return the penalty of least GCV among those that are not below that of REML."""
        allowed = self.alphas >= least(self.alphas, reml(self))
        return least(self.alphas[allowed], gcv(self)[allowed])


def gcv(path: Path) -> NDArray[np.float64]:
    r"""Return the logarithm of generalised cross-validation for every penalty of the path.

    .. math:: \mathrm{GCV}(\alpha) = \frac{n\,\mathrm{RSS}(\alpha)}{(n - \mathrm{df})^2},
              \qquad \mathrm{df} = 1 + \sum_j \frac{d_j}{d_j + \alpha}

    Infinite where less than 1e-4 of n is left as degrees of freedom.

    References
    ----------
    Golub, Heath and Wahba (1979), doi:10.1080/00401706.1979.10489751.
    """
    values, alphas = path.eigenvalues, path.alphas[:, None]
    freedom = path.count - 1.0 - (values / (values + alphas)).sum(axis=1)
    enough = freedom > _MIN_FREEDOM * path.count
    freedom = np.where(enough, freedom, 1.0)
    scores = np.log(path.count) + log_error(path.residuals, path.total) - 2.0 * np.log(freedom)
    return np.where(enough, scores, np.inf)


def reml(path: Path) -> NDArray[np.float64]:
    r"""Return minus twice the log restricted likelihood, per degree of freedom, for every penalty.

    .. math:: \log\left(S - C^\top(H + \alpha I)^{-1}C\right)
              + \frac{1}{n - 1}\sum_j \log\left(1 + \frac{d_j}{\alpha}\right)

    up to a constant, for Gaussian coefficients of variance :math:`\sigma^2/\alpha` and noise of
    variance :math:`\sigma^2`, which is profiled out, one for all outputs.

    References
    ----------
    Patterson and Thompson (1971), doi:10.1093/biomet/58.3.545.
    """
    if path.count <= 1.0:
        return np.full(path.alphas.size, np.inf)
    complexity = np.log1p(path.eigenvalues / path.alphas[:, None]).sum(axis=1)
    scores: NDArray[np.float64] = complexity / (path.count - 1.0)
    return scores + log_error(path.objectives, path.total)


def left_out_parts(weights: NDArray[np.float64], total: float, count: float) -> NDArray[np.float64]:
    """Return which part of each row is left out when it is its turn.

    One copy of it where weights are numbers of copies, all of it where it is lighter than that or
    where the weights ``total`` less than the rows they stand for.
    """
    if count > total:
        return np.ones(weights.size)
    return np.asarray(1.0 / np.maximum(weights, 1.0))


def log_error(errors: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return the logarithm of squared errors, those that are rounding beside the total alike."""
    floor = max(_PERFECT * total, np.finfo(np.float64).tiny)
    logarithms: NDArray[np.float64] = np.log(np.maximum(errors, floor))
    return logarithms


def least(alphas: NDArray[np.float64], scores: NDArray[np.float64]) -> float:
    """Return the penalty of least score: the largest of those that differ by rounding alone.

    >>> least(np.array([0.1, 1.0, 10.0, 100.0]), np.array([0.5, 0.0, 1e-15, 0.5]))
    10.0
    >>> least(np.array([0.1, 1.0]), np.array([np.inf, np.inf]))
    1.0
    """
    best = scores.min()
    return float(alphas[scores <= best + TIE][-1])
