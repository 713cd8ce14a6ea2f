"""The direct series: geometric convergence, with nodes k chosen to suit the data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamchi2.checks.rows import Floats
from streamchi2.saving import saved
from streamchi2.series.parameters import refined_parameters
from streamchi2.series.series import Series, harmonic_mean, room_for
from streamchi2.statistics.log_histogram import LogHistogram


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

    first_terms: ClassVar[int] = 1

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

    @classmethod
    def from_histogram(cls, histogram: LogHistogram, n_terms: int) -> Self:
        """Return the series with refined nodes."""
        return cls(refined_parameters(histogram, n_terms))

    def __repr__(self) -> str:
        return f"DirectSeries([{', '.join(f'{node:.6g}' for node in self.k)}])"

    @property
    def n_terms(self) -> int:  # type: ignore[override]
        """Number of coordinates per value."""
        return len(self.k)

    def coordinates(self, values: Floats, out: Floats | None = None) -> Floats:
        """Return the coordinates of checked values, shape ``(N, *values.shape)``."""
        out = room_for(values, self.n_terms, out)
        # x/2 and k/2 instead of x and k: their sum cannot overflow, the ratios are the same.
        remaining = halves = values * values.dtype.type(0.5)
        for q, (node, factor) in enumerate(_scaled_nodes(self.k, values.dtype)):
            total = halves + node
            term = np.divide(remaining, total, out=out[q])
            term *= factor
            if q + 1 < self.n_terms:
                # The plain quotient, not 2x/(x+k) - 1, keeps the right sign close to k.
                quotient = halves - node
                quotient /= total
                remaining = remaining * quotient
        return out

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

    def errors(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return 2xy/(x+y) - c(x)·c(y), whose closed form does not cancel."""
        return self.residual(x)[:, None] * self.residual(y) * harmonic_mean(x[:, None], y)

    def lost(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return x - c(x)·c(x) = x G(x)², in closed form."""
        return np.square(self.residual(values)) * values


@lru_cache(maxsize=256)
def _scaled_nodes(
    k: tuple[float, ...], dtype: np.dtype[np.floating]
) -> list[tuple[np.floating, np.floating]]:
    """Return k/2 and 2 sqrt(k) for each node, in the dtype of the values."""
    # A node outside the range of float32 moves to its end rather than to 0 or infinity.
    limits = np.finfo(dtype)
    nodes = np.clip(k, 4 * limits.tiny, limits.max / 4).astype(dtype)
    return [(node / 2, 2 * np.sqrt(node)) for node in nodes]
