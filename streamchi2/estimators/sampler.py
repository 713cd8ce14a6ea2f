"""ExpChi2Sampler: rows of histograms to features of the exp-chi2 kernel, on a stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamchi2.checks.rows import Floats
from streamchi2.docstrings import documented
from streamchi2.estimators.base import StreamTransformer, in_blocks
from streamchi2.estimators.mapped import MapEstimator
from streamchi2.saving import register


@documented()
class ExpChi2Sampler(StreamTransformer, MapEstimator):
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
    rms error of the kernel 0.0119
    """

    _learns = False

    def __init__(
        self,
        n_components: int | None = 1024,
        *,
        norm: str | None = None,
        basis: str = "orthogonal",
        beta: float | str = "auto",
        half_life: float | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        dof: float = 2,
        series: str = "direct",
        n_terms: int | str = "auto",
        landmarks: Any = None,
        n_buckets: int | str | None = "auto",
        dtype: str = "float32",
        adapt: bool = True,
    ) -> None:
        self._store(locals())

    def transform(self, X: Any) -> Floats:
        """Return the features of rows, shape (n, n_components).

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Non-negative rows.

        Returns
        -------
        ndarray of shape (n, n_components)
        """
        feature_map = self._tracker().feature_map
        rows = self._checked_rows(X, reset=False)
        return in_blocks(lambda block: feature_map.transform(block, n_jobs=self.n_jobs), rows)

    @property
    def _n_features_out(self) -> int:
        return int(self._tracker().feature_map.n_components)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # features have the dtype that was asked for
        return tags


register(ExpChi2Sampler, name="ExpChi2Sampler")
