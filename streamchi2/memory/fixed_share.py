"""Whom to trust now: Bayes' rule over experts, with a small share for a change of the best one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

SHARE = 0.005  # a row


def fixed_share(
    weights: NDArray[np.float64], log_likelihoods: NDArray[np.float64], share: float = SHARE
) -> NDArray[np.float64]:
    r"""Return the weights of experts after some more rows, by the rule of Herbster and Warmuth.

    With likelihoods :math:`p_k(y)` of the row that came,

    .. math:: v_k \propto w_k\,p_k(y), \qquad w_k \leftarrow (1 - \sigma) v_k + \sigma / K

    Regret: the log-loss of the mixture :math:`\sum_k w_k p_k` over T rows exceeds that of the best
    sequence of experts with m changes by at most
    :math:`(m + 1)\log K + m \log\frac{1}{\sigma} + (T - m - 1)\log\frac{1}{1 - \sigma}`.

    Parameters
    ----------
    weights : ndarray, shape (K,)
        Before the rows.
    log_likelihoods : ndarray, shape (n, K)
        Of each row under each expert, up to a constant of the row.
    share : float, default=0.005
        The probability, a row, that the best expert is another one from now on.

    References
    ----------
    Herbster and Warmuth (1998), "Tracking the best expert", doi:10.1023/A:1007424614876.

    Examples
    --------
    >>> fixed_share(np.array([0.5, 0.5]), np.log([[0.9, 0.1]])).round(3)
    array([0.898, 0.102])
    """
    # The largest of a row is taken out: likelihoods may be too small for numbers.
    relative = np.exp(log_likelihoods - log_likelihoods.max(axis=1, keepdims=True, initial=-np.inf))
    for likelihoods in relative:
        weights = weights * likelihoods
        weights = (1.0 - share) / weights.sum() * weights + share / weights.size
    return weights
