r"""Group lasso from moments: whole groups of features enter together, or stay out together.

.. math:: \min_W \tfrac1{2n}\|Y - ZW\|_F^2 + \alpha \sum_g \omega_g \|W_g\|_F, \qquad
          \omega_g = \sqrt{\mathrm{tr}(H_{gg}) / n}

The weights make the scale of a group irrelevant: they are :math:`\sqrt{p_g}` where the p features
of a group have unit variance, and about one for the features of a kernel, however many. So with
one group a kernel this is multiple kernel learning (Bach 2008).

Since :math:`\lambda\|w\| = \min_{d>0} \tfrac12(\|w\|^2/d + \lambda^2 d)`, the minimum is ridge
regression, penalty one, on features times :math:`\sqrt{d_g}`, and the :math:`d_g \ge 0`, as few as
there are groups, minimise a convex function. With :math:`R = C - HW` and
:math:`\lambda_g = n\alpha\omega_g`,

.. math:: F(d) = \tfrac12 \sum_g \lambda_g^2 d_g - \tfrac12 \mathrm{tr}\, C^\top W(d), \qquad
          \frac{\partial F}{\partial d_g} = \tfrac12 (\lambda_g^2 - \|R_g\|^2), \qquad
          W_g = d_g R_g

Newton's method in these few numbers takes a handful of Cholesky factors, and what it leaves of the
optimality conditions can be read off: :math:`\|R_g\| = \lambda_g` inside, at most that outside.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cho_factor

from streamchi2.solvers.group_fit import Groups, fitted, spread
from streamchi2.solvers.linear_model import LinearModel, linear_model
from streamchi2.solvers.ridge import ridge
from streamchi2.statistics.target_moments import RegressionMoments

_RAISES = (1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4)  # of the trace


def group_lasso(moments: RegressionMoments, groups: Groups, alpha: float) -> LinearModel:
    """Return the model in which groups of features are chosen, for all outputs together.

    Parameters
    ----------
    moments : RegressionMoments
        Of features and targets; a flat ``scatter`` is a diagonal.
    groups : tuple of slice
        Consecutive features that belong together; each feature in one group.
    alpha : float
        Strength of the penalty, at least 0; against half the mean squared residual.

    Notes
    -----
    A step costs D^3/3 + O(D^2 t g) operations for t outputs and g groups.

    References
    ----------
    Yuan and Lin (2006), doi:10.1111/j.1467-9868.2005.00532.x; Bach (2008), Consistency of the
    group lasso and multiple kernel learning, JMLR 9.

    Examples
    --------
    >>> from streamchi2.statistics.target_moments import TargetMoments
    >>> rows = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]])
    >>> moments = TargetMoments(2, 1).update(rows, 2 * rows[:, :1]).summary()
    >>> group_lasso(moments, (slice(0, 1), slice(1, 2)), alpha=1.0).coef.round(3)
    array([[1.106],
           [0.   ]])
    """
    if alpha == 0.0:
        return ridge(moments, 0.0)
    whole = definite(moments)
    scales = group_scales(whole, groups, alpha)
    inner = scaled(whole, groups, scales)
    coef = spread(groups, np.sqrt(scales))[:, None] * ridge(inner, 1.0).coef
    return linear_model(moments, coef, alpha)


def group_scales(moments: RegressionMoments, groups: Groups, alpha: float) -> NDArray[np.float64]:
    r"""Return the numbers d, one a group, zero for groups that stay out.

    For :func:`definite` moments and a positive alpha.

    The kernel in use is then :math:`\sum_g d_g k_g`, under a ridge penalty of one.
    """
    return fitted(moments, groups, alpha).scales


def scaled(
    moments: RegressionMoments, groups: Groups, scales: NDArray[np.float64]
) -> RegressionMoments:
    """Return the moments of features times the square roots of the scales of their groups."""
    root = spread(groups, np.sqrt(scales))
    scatter = moments.scatter
    scatter = scatter * root**2 if scatter.ndim == 1 else scatter * root * root[:, None]
    return replace(
        moments, mean=moments.mean * root, scatter=scatter, cross=moments.cross * root[:, None]
    )


def definite(moments: RegressionMoments) -> RegressionMoments:
    """Return moments whose scatter is a square matrix without negative eigenvalues.

    Products of float32 features leave some of 1e-8 of the largest, which large scales would
    blow up; the diagonal is raised by as much as it takes, in steps of a hundred.
    """
    scatter = np.diag(moments.scatter) if moments.scatter.ndim == 1 else moments.scatter
    trace = max(float(scatter.trace()), np.finfo(np.float64).tiny)
    for share in _RAISES:
        raised = scatter.copy()
        raised.flat[:: raised.shape[0] + 1] += share * trace
        try:
            cho_factor(raised, lower=True, check_finite=False)
        except LinAlgError:
            continue
        break
    return replace(moments, scatter=raised)
