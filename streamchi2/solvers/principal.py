"""Principal components from moments: how many to keep, and regression inside them."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh

from streamchi2.runtime.blas import one_blas_thread
from streamchi2.solvers.eigen import Eigenpairs, leading_eigenpairs, negligible_variance
from streamchi2.statistics.moments import Moments
from streamchi2.validation import as_positive_int


def principal_components(
    moments: Moments, n_pca: float, start: Eigenpairs | None = None
) -> Eigenpairs:
    """Return the leading eigenpairs of the scatter of a stream of features.

    Directions along which nothing has varied yet are arbitrary; they come out as zeros.

    Parameters
    ----------
    moments : Moments
        Of the features, width D.
    n_pca : int or float
        How many pairs (at most D are returned), or the share of the variance they must hold.
    start : Eigenpairs, optional
        Earlier ones, to begin with.

    Examples
    --------
    >>> rows = np.array([[3.0, 0.0, 0.0], [-3.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
    >>> principal_components(Moments(3).update(rows), 0.95).values
    array([18.,  2.])
    """
    scatter = moments.scatter()
    if isinstance(n_pca, Integral):
        n_kept = min(int(n_pca), scatter.shape[0])
    else:
        with one_blas_thread:
            variances = np.maximum(eigvalsh(scatter, check_finite=False)[::-1], 0.0)
        reached = np.cumsum(variances) >= float(n_pca) * variances.sum() * (1 - 1e-12)
        n_kept = int(np.argmax(reached)) + 1
    pairs = leading_eigenpairs(scatter, n_kept, start)
    never = pairs.values <= negligible_variance(pairs.values, scatter.shape[0])
    if not never.any():
        return pairs
    return replace(pairs, vectors=np.where(never, 0.0, pairs.vectors))


def check_n_pca(n_pca: Any, *, name: str = "n_pca") -> None:
    """Refuse anything but None, a positive number of components or a share of the variance.

    >>> check_n_pca(1.5)
    Traceback (most recent call last):
        ...
    ValueError: n_pca must be None, an integer of at least 1 or a share of the variance \
between 0 and 1, got 1.5
    """
    if n_pca is None:
        return
    if isinstance(n_pca, Integral) and not isinstance(n_pca, bool):
        as_positive_int(n_pca, name=name)
    elif not isinstance(n_pca, Real) or isinstance(n_pca, bool) or not 0 < float(n_pca) < 1:
        raise ValueError(
            f"{name} must be None, an integer of at least 1 or a share of the variance "
            f"between 0 and 1, got {n_pca!r}"
        )
