"""Choosing the nodes k of the direct series: greedily, by closed form, or by descent."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import ellipj, ellipkm1

from streamchi2.checks.params import as_positive_int
from streamchi2.series.series import bins_and_shares, checked_range, harmonic_mean
from streamchi2.statistics.log_histogram import LogHistogram
from streamchi2.threads import one_blas_thread


def greedy_parameters(histogram: LogHistogram, n_terms: int) -> NDArray[np.float64]:
    r"""Choose nodes one by one, each where the weighted error is largest.

    .. math:: k_{N+1} = \arg\max_x \Bigl| h(x)\,\frac{x}{x+b} \prod_{p \le N}
              \frac{x-k_p}{x+k_p} \Bigr|

    Algorithm 1 of the paper, which takes b = 1, the largest possible entry of a normalised row;
    here b is the largest value observed, so that the choice follows the scale of the data.

    Parameters
    ----------
    histogram : LogHistogram
        Non-zero input values.
    n_terms : int
        Number of nodes.

    Returns
    -------
    ndarray, shape (n_terms,)
        Nodes in the order in which they were chosen.

    References
    ----------
    Li, Lebanon and Sminchisescu (2013), Algorithm 1, arXiv:1206.4074.

    Examples
    --------
    >>> histogram = LogHistogram().update([0.01, 0.02, 0.02, 0.05, 0.1, 0.2])
    >>> greedy_parameters(histogram, 2).round(3)
    array([0.2 , 0.02])
    """
    n_terms = as_positive_int(n_terms, name="n_terms")
    centres, shares = bins_and_shares(histogram)
    halves = centres / 2  # whose sum cannot overflow
    # b, as the paper calls what is left: bound on the error times density.
    remaining = shares * (halves / (halves + halves.max()))
    chosen = np.empty(n_terms)
    for index in range(n_terms):
        best = np.argmax(np.abs(remaining))
        chosen[index] = centres[best]
        remaining *= (halves - halves[best]) / (halves + halves[best])
    return chosen


def zolotarev_parameters(low: float, high: float, n_terms: int) -> NDArray[np.float64]:
    r"""Nodes with the smallest possible :math:`\max|G|` on [low, high]; no data needed.

    .. math:: k_j = b\,\mathrm{dn}\Bigl(\frac{(2j-1)K(m)}{2N} \Bigm| m\Bigr), \qquad
              m = 1 - (a/b)^2

    solves Zolotarev's third problem: abs(G) then rises to the same height N + 1 times, between
    the nodes and at both ends. These are also the optimal shifts of the ADI iteration.

    Parameters
    ----------
    low, high : float
        Ends a and b of the range of non-zero values.
    n_terms : int
        Number of nodes N.

    Returns
    -------
    ndarray, shape (n_terms,)
        Nodes in falling order.

    References
    ----------
    Wachspress (1962), doi:10.1137/0110031; Beckermann and Townsend (2017),
    doi:10.1137/16M1096426.

    Examples
    --------
    >>> zolotarev_parameters(0.01, 1.0, 3).round(4)
    array([0.6488, 0.1   , 0.0154])
    """
    low, high = checked_range(low, high)
    n_terms = as_positive_int(n_terms, name="n_terms")
    ratio = low / high
    quarter_period = ellipkm1(ratio**2) if ratio**2 > 0 else np.log(4.0) - np.log(ratio)
    # Near the far end dn is lost to rounding, but k_j k_(N+1-j) = ab: half of them suffice.
    upper = np.arange(1, (n_terms + 1) // 2 + 1)
    shares = ellipj((2 * upper - 1) * quarter_period / (2 * n_terms), 1.0 - ratio**2)[2]
    lower = ratio / shares[: n_terms // 2]
    if n_terms % 2:
        shares[-1] = np.sqrt(ratio)
    return np.asarray(high * np.concatenate([shares, lower[::-1]]))


def refined_parameters(histogram: LogHistogram, n_terms: int) -> NDArray[np.float64]:
    r"""Nodes of least predicted rms error under a histogram.

    Minimises :math:`\log\,g^\top M g`, :math:`g = h\,G^2`, :math:`M = (2xy/(x+y))^2`, over
    log k with L-BFGS and the analytic gradient, from the greedy and from the Zolotarev start,
    and returns the best of the four. Never worse than greedy; typically half its error or less.

    Parameters
    ----------
    histogram : LogHistogram
        Non-zero input values.
    n_terms : int
        Number of nodes.

    Returns
    -------
    ndarray, shape (n_terms,)
        Nodes in falling order.

    Examples
    --------
    >>> values = np.random.default_rng(0).gamma(0.5, size=1000)
    >>> histogram = LogHistogram().update(values)
    >>> from streamchi2.series.predicted_error import predicted_error
    >>> greedy = predicted_error(histogram, greedy_parameters(histogram, 3))
    >>> refined = predicted_error(histogram, refined_parameters(histogram, 3))
    >>> print(f"{greedy.rms / refined.rms:.1f} times less error")
    2.0 times less error
    """
    n_terms = as_positive_int(n_terms, name="n_terms")
    centres, shares = bins_and_shares(histogram)
    # Nodes are sought in units of the largest value, which keeps squares in range; values below
    # the smallest normal number of these units have no error to speak of.
    scale = centres[-1]
    relative = np.maximum(centres / scale, np.finfo(np.float64).tiny)
    problem, lowest = _LogError(relative, shares), relative[0]
    greedy = np.maximum(greedy_parameters(histogram, n_terms) / scale, lowest)
    starts = [np.log(greedy), np.log(zolotarev_parameters(lowest, 1.0, n_terms))]
    candidates = list(starts)
    for start in starts:
        if np.isfinite(problem(start)[0]):
            with one_blas_thread:  # its matrices have a dozen rows, threads only wait
                descent = minimize(
                    problem,
                    start,
                    jac=True,
                    method="L-BFGS-B",
                    bounds=[(np.log(lowest), 0.0)] * n_terms,
                    options={"maxiter": 200},
                )
            candidates.append(descent.x)
    best = min(candidates, key=lambda logs: problem(logs)[0])
    return np.sort(scale * np.exp(best))[::-1]


class _LogError:
    """log g'Mg and its gradient in log k, for values scaled to at most one."""

    def __init__(self, centres: NDArray[np.float64], shares: NDArray[np.float64]) -> None:
        self.centres = centres
        self.shares = shares
        self.squares = np.square(harmonic_mean(centres[:, None], centres))

    def __call__(self, log_nodes: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        x, k = self.centres, np.exp(log_nodes)[:, None]
        factors = (x - k) / (x + k)
        product = factors.prod(axis=0)
        error = self.shares * product**2
        weighted = self.squares @ error
        squared_error = float(error @ weighted)
        if squared_error <= 0.0:
            return -np.inf, np.zeros(k.size)
        # d(G^2)/d log k_j = 2 G (G without factor j) d factor_j/d log k_j; no division by zero.
        others = factors[_all_but_one(k.size)].prod(axis=1)
        slopes = -2.0 * (x / (x + k)) * (k / (x + k))  # squares of tiny values would vanish
        gradient = 4.0 * (product * others * slopes) @ (self.shares * weighted) / squared_error
        return float(np.log(squared_error)), gradient


@functools.cache
def _all_but_one(n_terms: int) -> NDArray[np.intp]:
    """Return the places of all other nodes, a line for each node."""
    return np.array([np.delete(np.arange(n_terms), j) for j in range(n_terms)])
