"""The front door of the learners: one function for every penalty and every way to choose it."""

from __future__ import annotations

from typing import Literal

from streamchi2.solvers.lasso import elastic_net, elastic_net_by_gcv
from streamchi2.solvers.linear_model import LinearModel
from streamchi2.solvers.ridge import ridge, ridge_by_gcv
from streamchi2.statistics.target_moments import RegressionMoments

PENALTIES = ("ridge", "lasso", "elastic_net")


def least_squares(
    moments: RegressionMoments,
    *,
    penalty: str = "ridge",
    alpha: float | Literal["gcv"] = 1.0,
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
    alpha : float or "gcv", default=1.0
        Strength of the penalty, or the one that minimises generalised cross-validation.
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
    if penalty == "ridge":
        return ridge_by_gcv(moments) if alpha == "gcv" else ridge(moments, alpha)
    if penalty not in PENALTIES:
        words = ", ".join(repr(word) for word in PENALTIES)
        raise ValueError(f"penalty must be one of {words}, got {penalty!r}")
    share = 1.0 if penalty == "lasso" else l1_ratio
    if alpha == "gcv":
        return elastic_net_by_gcv(moments, share)
    return elastic_net(moments, alpha, share)
