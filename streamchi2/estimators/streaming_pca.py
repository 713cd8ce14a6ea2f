"""StreamingPCA: principal components of a stream, exact where IncrementalPCA is not."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from streamchi2.checks import Floats, as_features, as_positive_int
from streamchi2.estimators.base import StreamEstimator
from streamchi2.estimators.documented import documented
from streamchi2.estimators.parameter_docs import ATTRIBUTES, OF_FEATURES, STREAMING_PCA
from streamchi2.model import noise_variance
from streamchi2.reading import Reading
from streamchi2.solvers.components import Eigenpairs, leading_eigenpairs
from streamchi2.statistics.moments import Moments
from streamchi2.threads import one_blas_thread


@dataclass(frozen=True, eq=False)
class PrincipalComponents:
    """Principal components of a stream, leading ones first."""

    mean: NDArray[np.float64]  # (d,)
    pairs: Eigenpairs
    variance: NDArray[np.float64]  # (n,)
    share: NDArray[np.float64]  # (n,) of all variance
    count: float  # of rows

    @property
    def noise(self) -> float:
        """Mean variance along the directions left out."""
        share = float(self.share.sum())
        return noise_variance(self.variance, share, self.mean.size, self.count)

    @property
    def scales(self) -> NDArray[np.float64]:
        """Standard deviations along the components, none of them zero."""
        return np.maximum(np.sqrt(self.variance), np.finfo(np.float64).eps)


@documented(STREAMING_PCA, ATTRIBUTES, OF_FEATURES)
class StreamingPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, StreamEstimator):
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
        whiten: bool = False,
        half_life: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.half_life = half_life

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything and learn from ``X``, as one ``partial_fit`` would.

        Parameters
        ----------
        X : array-like, shape (n, d)
            Rows.
        y : ignored
            There for pipelines.
        sample_weight : array-like, shape (n,), optional
            A weight counts like that many equal rows.

        Returns
        -------
        StreamingPCA
            This estimator.
        """
        return self._learn_rows(X, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one more batch of rows."""
        return self._learn_rows(X, sample_weight, first=None)

    def transform(self, X: Any) -> Floats:
        """Return the rows in principal components, shape (n, m).

        Parameters
        ----------
        X : array-like, shape (n, d)
            Rows.

        Returns
        -------
        ndarray, shape (n, m)
            In float32 if ``X`` is.
        """
        found = self._found()
        features = self._validated(X, first=False)
        centred = features - found.mean.astype(features.dtype)
        # Rounding the mean moves every row alike: put it right in the products, where it is small.
        moved = (found.mean.astype(features.dtype) - found.mean) @ found.pairs.vectors
        scores: Floats = centred @ found.pairs.vectors.astype(features.dtype, copy=False)
        scores += moved.astype(features.dtype)
        if self.whiten:
            scores /= found.scales.astype(features.dtype)
        return scores

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return rows of principal components in the original coordinates, shape (n, d).

        Parameters
        ----------
        X : array-like of shape (n, ``n_components_``)
            What :meth:`transform` returned.
        """
        found = self._found()
        scores = as_features(X)
        if scores.shape[1] != found.variance.size:
            raise ValueError(
                f"X must have {found.variance.size} columns, one a component, got shape "
                f"{scores.shape}"
            )
        turned = scores * found.scales if self.whiten else scores
        rows = turned @ found.pairs.vectors.T + found.mean
        return np.asarray(rows, dtype=scores.dtype)

    def get_covariance(self) -> NDArray[np.float64]:
        r"""Return the covariance of the rows under the model of the components, shape (d, d).

        .. math:: U\,\mathrm{diag}(v - \sigma^2)\,U^\top + \sigma^2 I

        with v the explained variances and :math:`\sigma^2` the noise variance, whitened or not.
        """
        found = self._found()
        above = np.maximum(found.variance - found.noise, 0.0)
        vectors = found.pairs.vectors
        covariance: NDArray[np.float64] = (vectors * above) @ vectors.T
        covariance.flat[:: found.mean.size + 1] += found.noise
        return covariance

    def get_precision(self) -> NDArray[np.float64]:
        """Return the inverse of :meth:`get_covariance`; without noise, inside the components."""
        found = self._found()
        noise, vectors = found.noise, found.pairs.vectors
        held = np.maximum(found.variance, noise)
        rounding = np.finfo(np.float64).eps * held.max(initial=0.0)
        inverse = np.where(held > rounding, 1.0 / np.maximum(held, rounding or 1.0), 0.0)
        outside = 1.0 / noise if noise > rounding else 0.0
        precision: NDArray[np.float64] = (vectors * (inverse - outside)) @ vectors.T
        precision.flat[:: found.mean.size + 1] += outside
        return precision

    @property
    def components_(self) -> NDArray[np.float64]:
        """Directions, one per row; the largest entry of each is positive."""
        return self._found().pairs.vectors.T.copy()

    @property
    def explained_variance_(self) -> NDArray[np.float64]:
        """Variance along each component, divided by the weight of all rows less one."""
        return self._found().variance.copy()

    @property
    def explained_variance_ratio_(self) -> NDArray[np.float64]:
        """Share of all variance along each component."""
        return self._found().share.copy()

    @property
    def singular_values_(self) -> NDArray[np.float64]:
        """Singular values of the centred rows, one a component."""
        found = self._found()
        return np.sqrt(found.variance * max(found.count - 1.0, 1.0))

    @property
    def noise_variance_(self) -> float:
        """Mean variance along the directions left out; 0 where there are none."""
        return self._found().noise

    @property
    def mean_(self) -> NDArray[np.float64]:
        """Mean of the rows."""
        return self._found().mean.copy()

    @property
    def n_components_(self) -> int:
        """Number of components kept."""
        return self._found().variance.size

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _check_params(self, X: Any, n_features: int, *, first: bool) -> None:
        super()._check_params(X, n_features, first=first)
        if not isinstance(self.whiten, bool | np.bool_):
            raise TypeError(f"whiten must be True or False, got {self.whiten!r}")
        _checked_number(self.n_components, n_features)

    def _found(self) -> PrincipalComponents:
        reading = self._reading
        number = _checked_number(self.n_components, self.n_features_in_)

        def work() -> PrincipalComponents:
            found = _principal_components(reading, number)
            reading.forget_statistics()
            return found

        return reading.result(("components", number), work)


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


def _principal_components(reading: Reading, number: float) -> PrincipalComponents:
    with one_blas_thread:
        moments = reading.statistics.feature_moments()
        assert isinstance(moments, Moments)
        scatter = moments.scatter()
        total = float(scatter.trace())
        pairs = leading_eigenpairs(scatter, number)
    # The scatter is per unit of weight, and weights need not count rows.
    per_row = moments.count / moments.weight if moments.weight > 0.0 else 1.0
    variance = pairs.values * per_row / max(moments.count - 1.0, 1.0)
    share = pairs.values / total if total > 0.0 else np.zeros_like(pairs.values)
    return PrincipalComponents(moments.mean, pairs, variance, share, moments.count)
