"""ExpChi2PCA: principal components of the exp-chi2 kernel, and what every PCA says of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks.rows import Floats
from streamchi2.docstrings import documented
from streamchi2.estimators.base import StreamTransformer, in_blocks
from streamchi2.estimators.mapped import MapLearner
from streamchi2.saving import register


class ComponentEstimator(StreamTransformer):
    """A transformer that returns principal components; with descriptors, of each by itself."""

    _components: Any

    @property
    def components_(self) -> NDArray[np.float64]:
        """Directions, one per row; the largest entry of each is positive."""
        vectors: NDArray[np.float64] = self._components().vectors.T
        return vectors

    @property
    def mean_(self) -> NDArray[np.float64]:
        """Mean of the rows, or of their features where there is a map."""
        mean: NDArray[np.float64] = self._components().mean.copy()
        return mean

    @property
    def explained_variance_ratio_(self) -> Any:
        """Share of all variance along each component; a dict where there are descriptors."""
        return self._by_descriptor(self._components().variance_shares)

    @property
    def explained_variance_(self) -> Any:
        """Variance along each component; a dict where there are descriptors.

        It is divided by the weight of all rows less one.
        """
        return self._by_descriptor(self._components().variances)

    @property
    def singular_values_(self) -> Any:
        """Singular values of what is centred; a dict where there are descriptors."""
        return self._by_descriptor(self._components().singular_values)

    @property
    def noise_variance_(self) -> Any:
        """Mean variance along the directions left out, 0 without any; a dict with descriptors."""
        return self._by_descriptor(self._components().noise_variances)

    @property
    def _n_features_out(self) -> int:
        return int(self._components().groups[-1].stop)


@documented()
class ExpChi2PCA(ComponentEstimator, MapLearner):
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
        norm: str | None = None,
        basis: Any = "subspace",
        beta: Any = "auto",
        half_life: float | None = None,
        descriptors: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_pca: Any = 256,
        dof: float = 2,
        series: str = "direct",
        n_terms: Any = "auto",
        landmarks: Any = None,
        adapt: bool = True,
    ) -> None:
        self._store(locals())

    def transform(self, X: Any) -> Floats:
        """Return the principal components of rows, shape (n, n_pca).

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Non-negative rows.

        Returns
        -------
        ndarray of shape (n, n_pca)
        """
        with self._lock():  # both of one state, while another thread learns
            components, feature_map = self._components(), self._tracker().feature_map
        rows, vectors = self._checked_rows(X, reset=False), components.vectors

        def work(block: Any) -> Floats:
            features = feature_map.transform(block, n_jobs=self.n_jobs)
            # In float64: the mean is most of a feature, and what is left should keep its digits.
            centred = features - components.mean
            projected: Floats = (centred @ vectors).astype(features.dtype)
            return projected

        return in_blocks(work, rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # features are float32
        return tags


register(ExpChi2PCA, name="ExpChi2PCA")
