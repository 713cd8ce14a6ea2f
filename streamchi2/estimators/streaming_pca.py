"""StreamingPCA: principal components of a stream, exact where IncrementalPCA is not."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamchi2.checks.params import as_positive_int
from streamchi2.checks.rows import Floats, as_features
from streamchi2.docstrings import documented
from streamchi2.estimators.base import in_blocks
from streamchi2.estimators.pca import ComponentEstimator
from streamchi2.model import Components, components_of
from streamchi2.saving import register


@documented()
class StreamingPCA(ComponentEstimator):
    r"""Principal component analysis of a stream of rows, from its exact covariance.

    .. math:: H = \sum_i w_i (x_i - \bar x)(x_i - \bar x)^\top = U \mathrm{diag}(d) U^\top, \qquad
              z(x) = U^\top (x - \bar x)

    Laws: any cutting of the same rows into batches gives the same components, bit for bit; merged
    shards equal one pass; a refused call leaves no trace; reading changes nothing.

    %(parameters)s

    %(attributes)s

    See Also
    --------
    sklearn.decomposition.IncrementalPCA : keeps only the components, and so forgets.

    Notes
    -----
    A row costs d^2 operations and the state is d^2 numbers, whatever the number of components. The
    decomposition happens when something is first read after learning.

    Absent, beside scikit-learn's PCA: ``score``, ``n_components="mle"`` and sparse input; rows are
    centred, so that zeros would not stay zeros.

    References
    ----------
    Chan, Golub and LeVeque (1983), doi:10.1080/00031305.1983.10483115.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> pca = StreamingPCA(n_components=0.9)
    >>> for start in range(0, len(X), 100):
    ...     pca = pca.partial_fit(X[start : start + 100])
    >>> pca.transform(X).shape, float(pca.explained_variance_[0].round(4))
    ((1797, 21), 179.0069)
    """

    def __init__(
        self,
        n_components: float | None = None,
        *,
        half_life: float | None = None,
        whiten: bool = False,
    ) -> None:
        self._store(locals())

    def transform(self, X: Any) -> Floats:
        """Return the rows in principal components, shape (n, m).

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, d)
            Rows.

        Returns
        -------
        ndarray of shape (n, m)
            In float32 if ``X`` is.
        """
        mean, vectors, scales = self._mean_vectors_scales()
        rows = self._checked_rows(X, reset=False)

        def work(block: Any) -> Floats:
            near = mean.astype(block.dtype)
            scores: Floats = (block - near) @ vectors.astype(block.dtype, copy=False)
            # Rounding the mean moves every row alike: put it right in the products.
            scores += ((near - mean) @ vectors).astype(block.dtype)
            scores /= scales.astype(block.dtype)
            return scores

        return in_blocks(work, rows)

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return rows of principal components in the original coordinates, shape (n, d).

        Parameters
        ----------
        X : array-like of shape (n, ``n_components_``)
            What :meth:`transform` returned.

        Returns
        -------
        ndarray of shape (n, d)
        """
        mean, vectors, scales = self._mean_vectors_scales()
        scores = as_features(X)
        if scores.shape[1] != scales.size:
            raise ValueError(
                f"X must have {scales.size} columns, one a component, got shape {scores.shape}"
            )
        rows = (scores * scales) @ vectors.T + mean
        return np.asarray(rows, dtype=scores.dtype)

    def get_covariance(self) -> NDArray[np.float64]:
        r"""Return the covariance of the rows under the model of the components, shape (d, d).

        .. math:: U\,\mathrm{diag}(v - \sigma^2)\,U^\top + \sigma^2 I

        with v the explained variances and :math:`\sigma^2` the noise variance, whitened or not.
        """
        noise, vectors = self.noise_variance_, self.components_.T
        above = np.maximum(self.explained_variance_ - noise, 0.0)
        covariance: NDArray[np.float64] = (vectors * above) @ vectors.T
        covariance.flat[:: len(vectors) + 1] += noise
        return covariance

    def get_precision(self) -> NDArray[np.float64]:
        """Return the inverse of :meth:`get_covariance`; without noise, inside the components."""
        noise, vectors = self.noise_variance_, self.components_.T
        variances = np.maximum(self.explained_variance_, noise)
        rounding = np.finfo(np.float64).eps * variances.max(initial=0.0)
        inverse = np.where(variances > rounding, 1.0 / np.maximum(variances, rounding or 1.0), 0.0)
        outside = 1.0 / noise if noise > rounding else 0.0
        precision: NDArray[np.float64] = (vectors * (inverse - outside)) @ vectors.T
        precision.flat[:: len(vectors) + 1] += outside
        return precision

    @property
    def n_components_(self) -> int:
        """Number of components kept."""
        return int(self._components().pairs[0].values.size)

    def _check_params(self, n_features: int) -> None:
        if not isinstance(self.whiten, bool | np.bool_):
            raise TypeError(f"whiten must be True or False, got {self.whiten!r}")
        _checked_number(self.n_components, n_features)

    def _components(self) -> Components:
        stream = self._fitted_stream()
        number = _checked_number(self.n_components, stream.n_features)
        return stream.cached(
            ("components", number), lambda: components_of(stream.settled(), number)
        )

    def _mean_vectors_scales(self) -> tuple[NDArray[np.float64], ...]:
        """Return the mean, the directions, and what scores are divided by."""
        components = self._components()
        deviations = np.sqrt(components.variances[0])
        scales = np.maximum(deviations, np.finfo(np.float64).eps)
        return (
            components.mean,
            components.pairs[0].vectors,
            scales if self.whiten else np.ones_like(scales),
        )


def _checked_number(n_components: Any, n_features: int) -> float:
    """Return a number of components as int or a share of the variance as float; None is all."""
    if n_components is None:
        return 1.0
    if isinstance(n_components, Integral) and not isinstance(n_components, bool):
        number = as_positive_int(n_components, name="n_components")
        if number > n_features:
            raise ValueError(
                f"n_components must be at most the {n_features} columns of X, got {number}"
            )
        return number
    if isinstance(n_components, float | np.floating) and 0.0 < n_components < 1.0:
        return float(n_components)
    raise ValueError(
        "n_components must be a positive integer, a share of variance between 0 and 1, or None, "
        f"got {n_components!r}"
    )


register(StreamingPCA, name="StreamingPCA")
