"""ExpChi2PCA: principal components of the exp-chi2 kernel, on a stream of histograms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from streamchi2.checks import Floats, as_estimator_rows
from streamchi2.estimators.base import ComponentsEstimator
from streamchi2.estimators.documented import documented
from streamchi2.estimators.parameter_docs import ATTRIBUTES, OF_ROWS, PCA


@documented(PCA, ATTRIBUTES, OF_ROWS)
class ExpChi2PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ComponentsEstimator):
    r"""Principal components of random features of the exp-chi2 kernel, learnt from a stream.

    .. math:: t(x) = U^\top (z(x) - \bar z), \qquad H = U \,\mathrm{diag}(d)\, U^\top

    with z the features of :class:`ExpChi2Sampler` and H their scatter: kernel PCA at linear
    cost. A few hundred components of several thousand features keep most of the kernel.

    Laws: any cutting of the same rows into batches gives the same components, bit for bit; merging
    shards equals one pass; a refused call leaves no trace; reading changes nothing.

    %(parameters)s

    %(attributes)s

    References
    ----------
    Li, Lebanon and Sminchisescu (2013), section 6, arXiv:1206.4074.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> X /= X.sum(axis=1, keepdims=True)
    >>> pca = ExpChi2PCA(n_components=512, n_pca=50, random_state=0)
    >>> for start in range(0, 1797, 100):
    ...     pca = pca.partial_fit(X[start : start + 100])
    >>> pca.transform(X).shape
    (1797, 50)
    >>> print(f"{pca.explained_variance_ratio_.sum():.2f} of the variance")
    0.88 of the variance
    """

    def __init__(
        self,
        n_components: int | Mapping[str, int] = 1024,
        *,
        descriptors: Mapping[str, Any] | None = None,
        n_pca: Any = 256,
        beta: Any = "auto",
        dof: float = 2,
        series: str = "direct",
        n_terms: Any = "auto",
        basis: Any = "subspace",
        landmarks: Any = None,
        n_buckets: int | str | None = "auto",
        normalize: str | None = None,
        adapt: bool = True,
        half_life: float | None = None,
        dtype: str = "float32",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.descriptors = descriptors
        self.n_pca = n_pca
        self.beta = beta
        self.dof = dof
        self.series = series
        self.n_terms = n_terms
        self.basis = basis
        self.landmarks = landmarks
        self.n_buckets = n_buckets
        self.normalize = normalize
        self.adapt = adapt
        self.half_life = half_life
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything and learn from ``X``, as one ``partial_fit`` would.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame, shape (n, d)
            Non-negative rows.
        y : ignored
            There for pipelines.
        sample_weight : array-like, shape (n,), optional
            A weight of two equals a repeated row, a weight of zero no row.

        Returns
        -------
        ExpChi2PCA
            This estimator.
        """
        return self._learn_rows(X, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one more batch of rows."""
        return self._learn_rows(X, sample_weight, first=None)

    def transform(self, X: Any) -> Floats:
        """Return the principal components of rows, shape (n, n_pca).

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame, shape (n, d)
            Non-negative rows.

        Returns
        -------
        ndarray, shape (n, n_pca)
        """
        check_is_fitted(self)
        rows = as_estimator_rows(self, X, reset=False)
        found = self._components()
        assert found.feature_map is not None
        features = found.feature_map.transform(rows, n_jobs=self.n_jobs)
        # In float64: the mean is most of a feature, and what is left should keep its digits.
        components = found.vectors.coordinates(features - found.mean)
        return components.astype(features.dtype)

    @property
    def components_(self) -> NDArray[np.float64]:
        """Principal directions of the features, one per row."""
        return self._components().vectors.dense().T

    @property
    def mean_(self) -> NDArray[np.float64]:
        """Mean of the features."""
        return self._components().mean

    @property
    def explained_variance_ratio_(self) -> Any:
        """Share of the features' variance along each component; a dict with descriptors."""
        return self._named(self._components().variance_shares)

    @property
    def explained_variance_(self) -> Any:
        """Variance along each component; a dict with descriptors."""
        return self._named(self._components().variances)

    @property
    def singular_values_(self) -> Any:
        """Singular values of the centred features, one a component; a dict with descriptors."""
        return self._named(self._components().singular_values)

    @property
    def noise_variance_(self) -> Any:
        """Mean variance of the features along the directions left out; a dict with descriptors."""
        return self._named(self._components().noise_variances)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # features have the dtype that was asked for
        return tags
