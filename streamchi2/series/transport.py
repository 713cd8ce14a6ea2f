"""Transport: new nodes without new features.

Coordinates under other nodes are another coordinate system of the same kernel, so the two
differ by a rotation, up to the error of the approximation. Using the rotated new coordinates,
everything learnt from the old ones stays valid, and the kernel is exactly that of the new series.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks.rows import Floats
from streamchi2.errors import StateMismatchError
from streamchi2.saving import saved
from streamchi2.series.series import Series, bins_and_shares
from streamchi2.statistics.log_histogram import LogHistogram

Rotation: TypeAlias = tuple[tuple[float, ...], ...]


@saved("series.rotated")
@dataclass(frozen=True)
class RotatedSeries(Series):
    r"""A series followed by an orthogonal N x N rotation A of its coordinates.

    .. math:: x \mapsto A\,c(x), \qquad \langle A c(x), A c(y)\rangle = \langle c(x), c(y)\rangle

    Parameters
    ----------
    series : Series
        The series whose kernel this is.
    rotation : tuple of tuples of float, or None
        Rows of A; None is the identity.

    Examples
    --------
    >>> from streamchi2.series import DirectSeries
    >>> turned = RotatedSeries(DirectSeries([0.1, 0.01]), ((0.0, 1.0), (-1.0, 0.0)))
    >>> turned.transform([[0.1]]).round(3)
    array([[ 0.   , -0.316]])
    """

    series: Series
    rotation: Rotation | None = None

    @property
    def n_terms(self) -> int:  # type: ignore[override]
        """Number of coordinates per value."""
        return self.series.n_terms

    def coordinates(self, values: Floats, out: Floats | None = None) -> Floats:
        """Return the rotated coordinates of checked values, shape ``(N, *values.shape)``."""
        if self.rotation is None:
            return self.series.coordinates(values, out)
        plain = self.series.coordinates(values)
        matrix = _matrix(self.rotation, values.dtype)
        turned: Floats = (matrix @ plain.reshape(self.n_terms, -1)).reshape(plain.shape)
        if out is None:
            return turned
        out[...] = turned
        return out

    def error_bound(self, low: float, high: float) -> float:
        """Return the error bound of the series; a rotation does not change it."""
        return self.series.error_bound(low, high)


@lru_cache(maxsize=256)
def _matrix(rotation: Rotation, dtype: np.dtype[np.floating]) -> Floats:
    return np.array(rotation, dtype=dtype)


def transported(
    old: RotatedSeries, new: Series, histogram: LogHistogram
) -> tuple[RotatedSeries, float]:
    r"""Rotate a new series onto the coordinates of an old one.

    The rotation minimises :math:`\sum_x h(x)\,\lVert A_{old} c_{old}(x) - A c_{new}(x)\rVert^2`
    (orthogonal Procrustes, weighted by the histogram).

    Parameters
    ----------
    old : RotatedSeries
        The coordinates in use.
    new : Series
        The series to use from now on, with as many terms.
    histogram : LogHistogram
        Values over which the two should agree.

    Returns
    -------
    RotatedSeries
        The new series, rotated.
    float
        The residual: see :func:`misalignment`.

    References
    ----------
    Schönemann (1966), doi:10.1007/BF02289451.

    Examples
    --------
    >>> from streamchi2.series import DirectSeries
    >>> histogram = LogHistogram().update([0.01, 0.02, 0.05, 0.1, 0.2])
    >>> old = RotatedSeries(DirectSeries([0.01, 0.06, 0.2]))
    >>> new, residual = transported(old, DirectSeries([0.18, 0.05, 0.012]), histogram)
    >>> residual < 0.02
    True
    >>> misalignment(old, new.series, histogram) > 1  # without the rotation
    True
    """
    if old.n_terms != new.n_terms:
        raise StateMismatchError(
            f"n_terms must agree to transport coordinates, got {old.n_terms} and {new.n_terms}"
        )
    centres, shares = bins_and_shares(histogram)
    product = (old.coordinates(centres) * shares) @ new.coordinates(centres).T
    left, _, right = np.linalg.svd(product)
    rotation = tuple(tuple(float(entry) for entry in row) for row in left @ right)
    rotated = RotatedSeries(new, rotation)
    return rotated, misalignment(old, rotated, histogram)


def misalignment(left: Series, right: Series, histogram: LogHistogram) -> float:
    r"""Relative distance between the coordinates of two series under a histogram.

    .. math:: \Bigl(\sum_x h(x)\,\lVert c(x) - c'(x)\rVert^2 \Big/
              \sum_x h(x)\,\lVert c(x)\rVert^2\Bigr)^{1/2}

    Zero means that features built on either are the same.
    """
    centres, shares = bins_and_shares(histogram)
    reference = left.coordinates(centres)
    moved = _mean_square(reference - right.coordinates(centres), shares)
    return float(np.sqrt(moved / _mean_square(reference, shares)))


def _mean_square(coordinates: Floats, shares: NDArray[np.float64]) -> float:
    return float(np.square(coordinates).sum(axis=0) @ shares)
