"""The direct series: geometric convergence, with nodes k chosen to suit the data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from streamchi2.checks import Floats
from streamchi2.saving import saved
from streamchi2.series.series import Series, checked_range, room_for
from streamchi2.statistics.log_histogram import LogHistogram

_GRID_POINTS_PER_NODE = 64
_FEW_VALUES = 512  # up to which calls cost more than what they do: all terms at a time


@saved("series.direct")
@dataclass(frozen=True, init=False, repr=False)
class DirectSeries(Series):
    r"""The series of Li, Lebanon and Sminchisescu with nodes :math:`k_1, \dots, k_N`.

    .. math::

        c_q(x) = \Bigl[\prod_{p<q} \frac{x-k_p}{x+k_p}\Bigr] \frac{2\sqrt{k_q}\,x}{x+k_q}, \qquad
        \frac{2xy}{x+y} - c(x)^\top c(y) = G(x)\,G(y)\,\frac{2xy}{x+y}

    with :math:`G(x) = \prod_p (x-k_p)/(x+k_p)`. It is the Newton (Cholesky) basis of the
    harmonic kernel on the nodes: exact wherever x or y is one of them.

    Law: the kernel does not depend on the order of the nodes.

    Parameters
    ----------
    k : array-like, shape (N,)
        Nodes, positive and finite; repetitions are allowed.

    References
    ----------
    Li, Lebanon and Sminchisescu (2013), section 4, arXiv:1206.4074.

    Examples
    --------
    >>> series = DirectSeries([0.5, 0.02])
    >>> c = series.transform([[0.5, 0.1]])  # first terms of both values, then second terms
    >>> c.shape
    (1, 4)
    >>> print(f"{c[0] @ series.transform([[0.25, 0.1]])[0]:.4f}, exactly {1 / 3 + 0.1:.4f}")
    0.4136, exactly 0.4333
    """

    k: tuple[float, ...]

    def __init__(self, k: ArrayLike) -> None:
        nodes = np.asarray(k)
        if nodes.dtype.kind not in "iuf":
            raise TypeError(f"k must hold numbers, got dtype {nodes.dtype}")
        if nodes.ndim != 1 or nodes.size == 0:
            raise ValueError(
                f"k must be a flat array of at least one node, got shape {nodes.shape}"
            )
        wrong = np.flatnonzero(~((nodes > 0) & np.isfinite(nodes)))
        if wrong.size:
            raise ValueError(
                f"k must be positive and finite, got {nodes[wrong[0]]} at position {wrong[0]}"
            )
        object.__setattr__(self, "k", tuple(float(node) for node in nodes))

    # Choosing nodes needs the predicted error of a series, hence the imports inside.

    @classmethod
    def from_histogram(cls, histogram: LogHistogram, n_terms: int) -> Self:
        """Return the series with refined nodes."""
        from streamchi2.series.parameters import refined_parameters

        return cls(refined_parameters(histogram, n_terms))

    @classmethod
    def enough(
        cls, histogram: LogHistogram, *, n_components: int, beta: float, values_per_row: float
    ) -> Self:
        """Return the series with as few nodes as the features that follow can notice."""
        from streamchi2.series.parameters import enough_parameters

        return cls(
            enough_parameters(
                histogram, n_components=n_components, beta=beta, values_per_row=values_per_row
            )
        )

    @classmethod
    def for_range(cls, low: float, high: float, n_terms: int) -> Self:
        """Return the series with the nodes of least worst error over a range."""
        from streamchi2.series.parameters import zolotarev_parameters

        return cls(zolotarev_parameters(low, high, n_terms))

    def __repr__(self) -> str:
        return f"DirectSeries([{', '.join(f'{node:.6g}' for node in self.k)}])"

    @property
    def n_terms(self) -> int:  # type: ignore[override]
        """Number of coordinates per value."""
        return len(self.k)

    def coordinates(self, values: Floats, out: Floats | None = None) -> Floats:
        """Return the coordinates of checked values, shape ``(N, *values.shape)``."""
        # x/2 and k/2 instead of x and k: their sum cannot overflow, the ratios are the same.
        halves = values * values.dtype.type(0.5)
        if values.size <= _FEW_VALUES:
            return self._all_terms(halves, out)
        out = room_for(values, self.n_terms, out)
        total, product = np.empty_like(halves), np.empty_like(halves)
        for q, (half, factor) in enumerate(_halves_and_factors(self.k, values.dtype)):
            np.add(halves, half, out=total)
            term = np.divide(halves, total, out=out[q])
            if q > 0:
                term *= product
            term *= factor
            if q + 1 < self.n_terms:
                # The plain quotient, not 2x/(x+k) - 1, keeps the right sign close to k.
                difference = np.subtract(halves, half)
                np.divide(difference, total, out=total if q > 0 else product)
                if q > 0:
                    product *= total
        return out

    def _all_terms(self, halves: Floats, out: Floats | None) -> Floats:
        """Return the coordinates of a few halved values, bit for bit as term by term."""
        nodes, factors = _columns(self.k, halves.dtype, halves.ndim)
        total = halves + nodes
        terms = np.divide(halves, total, out=out)
        if self.n_terms > 1:
            quotients = halves - nodes[:-1]
            quotients /= total[:-1]
            terms[1:] *= np.multiply.accumulate(quotients, axis=0)
        terms *= factors
        return terms

    def residual(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return G(x), the factor of the error, for values of any shape.

        >>> DirectSeries([1.0]).residual([1.0, 3.0])
        array([0. , 0.5])
        """
        halves = np.asarray(values, dtype=np.float64) / 2  # whose sum cannot overflow
        product = np.ones_like(halves)
        for node in self.k:
            product *= (halves - node / 2) / (halves + node / 2)
        return product

    def error_bound(self, low: float, high: float) -> float:
        r"""Return :math:`\max x\,G(x)^2` over [low, high].

        The error is itself a positive definite kernel, so it is largest on the diagonal x = y.

        >>> print(f"{DirectSeries([0.5, 0.02]).error_bound(0.01, 1.0):.4f}")
        0.1026
        """
        low, high = checked_range(low, high)

        def diagonal_error(log_value: NDArray[np.float64]) -> NDArray[np.float64]:
            value = np.exp(log_value)
            return value * self.residual(value) ** 2

        # Between neighbouring nodes there is one peak; a grid finds it, a search refines it.
        n_points = _GRID_POINTS_PER_NODE * (self.n_terms + 1)
        grid = np.linspace(np.log(low), np.log(high), n_points)
        heights = diagonal_error(grid)
        top = int(np.argmax(heights))
        around = (grid[max(top - 1, 0)], grid[min(top + 1, n_points - 1)])
        if around[0] == around[1]:
            return float(heights[top])
        peak = minimize_scalar(
            lambda log_value: -diagonal_error(log_value), bounds=around, method="bounded"
        )
        return float(max(heights[top], -peak.fun))


@lru_cache(maxsize=256)
def _halves_and_factors(
    k: tuple[float, ...], dtype: np.dtype[np.floating]
) -> list[tuple[np.floating, np.floating]]:
    """Return k/2 and 2 sqrt(k) for each node, in the dtype of the values."""
    # A node outside the range of float32 moves to its end rather than to 0 or infinity.
    limits = np.finfo(dtype)
    nodes = np.clip(k, 4 * limits.tiny, limits.max / 4).astype(dtype)
    return [(node / 2, 2 * np.sqrt(node)) for node in nodes]


@lru_cache(maxsize=256)
def _columns(
    k: tuple[float, ...], dtype: np.dtype[np.floating], ndim: int
) -> tuple[Floats, Floats]:
    """Return k/2 and 2 sqrt(k) as arrays, one line a node, to go with values of ``ndim`` axes."""
    pairs = np.array(_halves_and_factors(k, dtype), dtype=dtype)
    shape = (len(k),) + (1,) * ndim
    return pairs[:, 0].reshape(shape), pairs[:, 1].reshape(shape)
