"""ExpChi2Sampler: rows of histograms to features of the exp-chi2 kernel, on a stream."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from streamchi2.checks import Floats, as_estimator_rows
from streamchi2.estimators.base import MapEstimator
from streamchi2.estimators.documented import documented
from streamchi2.estimators.parameter_docs import ATTRIBUTES, OF_ROWS, SAMPLER


@documented(SAMPLER, ATTRIBUTES, OF_ROWS)
class ExpChi2Sampler(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MapEstimator):
    r"""Random Fourier features of the exp-chi2 kernel, learnt from a stream of histograms.

    .. math:: z(x)^\top z(y) \approx k(x, y) = \exp(-\beta\,\chi^2(x, y))

    Each value becomes N coordinates of a chi2 series, which random frequencies turn into D
    features. The first 64 rows set ``beta`` and the nodes k of the series; k is estimated
    again at rows 256, 1024, 4096, ... where that pays, and the new coordinates are rotated onto the
    old ones, so that models which have learnt from earlier features stay valid. Asked for features
    before row 64, the sampler uses the rows there are.

    Laws: any cutting of the same rows into batches gives the same map, bit for bit; a refused
    call leaves no trace; ``transform`` changes nothing; the number of jobs does not change a bit.

    %(parameters)s

    %(attributes)s

    See Also
    --------
    sklearn.kernel_approximation.AdditiveChi2Sampler : a series with a fixed table.

    References
    ----------
    Li, Lebanon and Sminchisescu (2013), arXiv:1206.4074; Rahimi and Recht (2007), "Random
    features for large-scale kernel machines"; Yu et al. (2016), arXiv:1610.09072.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> X /= X.sum(axis=1, keepdims=True)
    >>> sampler = ExpChi2Sampler(n_components=1536, random_state=0)
    >>> for start in range(0, 1797, 100):
    ...     sampler = sampler.partial_fit(X[start : start + 100])
    >>> sampler.transform(X).shape
    (1797, 1536)
    >>> print(f"rms error of the kernel {sampler.kernel_error().rms:.4f}")
    rms error of the kernel 0.0120
    """

    def __init__(
        self,
        n_components: int | None = 1024,
        *,
        beta: float | str = "auto",
        dof: float = 2,
        series: str = "direct",
        n_terms: int | str = "auto",
        basis: str = "orthogonal",
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

    _learns = False

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything and learn from ``X``, as one ``partial_fit`` would.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame, shape (n, d)
            Non-negative rows.
        y : ignored
            There for pipelines.
        sample_weight : array-like, shape (n,), optional
            A weight of zero is as good as no row.

        Returns
        -------
        ExpChi2Sampler
            This estimator.
        """
        return self._learn_rows(X, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one more batch of rows."""
        return self._learn_rows(X, sample_weight, first=None)

    def transform(self, X: Any) -> Floats:
        """Return the features of rows, shape (n, n_components).

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame, shape (n, d)
            Non-negative rows.

        Returns
        -------
        ndarray, shape (n, n_components)
        """
        reading = self._reading
        rows = as_estimator_rows(self, X, reset=False)
        return reading.feature_map.transform(rows, n_jobs=self.n_jobs)

    @property
    def _n_features_out(self) -> int:
        return self._reading.feature_map.n_components

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # features have the dtype that was asked for
        return tags
