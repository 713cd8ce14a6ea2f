"""Penalised least squares: one function for every penalty and every way to choose it."""

from __future__ import annotations

from streamchi2.solvers.lasso import elastic_net
from streamchi2.solvers.lasso_gcv import elastic_net_by_gcv
from streamchi2.solvers.linear_model import LinearModel
from streamchi2.solvers.ridge import ridge, tuned_ridge
from streamchi2.statistics.target_moments import RegressionMoments

PENALTIES = ("ridge", "lasso", "elastic_net")


def least_squares(
    moments: RegressionMoments,
    *,
    penalty: str = "ridge",
    alpha: float | str = 1.0,
    l1_ratio: float = 0.5,
) -> LinearModel:
    """Return the penalised least-squares model of a stream, from its moments alone.

    Parameters
    ----------
    moments : RegressionMoments
        Of features and targets, or of features and one-hot classes.
    penalty : {"ridge", "lasso", "elastic_net"}, default="ridge"
        What is penalised. ``alpha`` means what it means in scikit-learn's ``Ridge``, ``Lasso`` and
        ``ElasticNet``: against the sum of squared residuals in the first, against half their mean
        in the others.
    alpha : float or "auto", default=1.0
        Strength of the penalty, or "auto": it is chosen, see
        :func:`~streamchi2.solvers.ridge.tuned_ridge`; that of lasso and elastic net by generalised
        cross-validation.
    l1_ratio : float, default=0.5
        Share of the absolute values in the elastic net; the others ignore it.

    Examples
    --------
    >>> import numpy as np
    >>> from streamchi2.statistics.target_moments import TargetMoments
    >>> rows, targets = np.array([[0.0], [2.0]]), np.array([[1.0], [5.0]])
    >>> moments = TargetMoments(1, 1).update(rows, targets).summary()
    >>> float(least_squares(moments, penalty="lasso", alpha=0.5).coef[0, 0])
    1.5
    """
    if penalty not in PENALTIES:
        raise ValueError(f"penalty must be one of {_listed(PENALTIES)}, got {penalty!r}")
    if isinstance(alpha, str) and alpha != "auto":
        raise ValueError(f"alpha must be a number or 'auto', got {alpha!r}")
    if penalty == "ridge":
        return tuned_ridge(moments) if isinstance(alpha, str) else ridge(moments, alpha)
    share = 1.0 if penalty == "lasso" else l1_ratio
    if not isinstance(alpha, str):
        return elastic_net(moments, alpha, share)
    return elastic_net_by_gcv(moments, share)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(repr(name) for name in names)
