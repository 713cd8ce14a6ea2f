"""ExpChi2Sampler: rows of histograms to features of the exp-chi2 kernel, on a stream."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from streamchi2.estimators.base import MapEstimator
from streamchi2.validation import Floats, as_estimator_rows


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

    Parameters
    ----------
    n_components : int or None, default=1024
        Number of features D; best even, since cosine and sine come in pairs. None, for
        ``basis="additive"`` alone, keeps every coordinate.
    beta : float or "auto", default="auto"
        Inverse scale of the kernel. "auto" is one over the mean chi2 distance of the first rows.
    dof : float, default=2
        Degrees of freedom, above 0 and at most 2: 2 is exp-chi2, 1 the complementary error
        function of the root.
    series : {"direct", "chebyshev", "vz"}, default="direct"
        How values become coordinates.
    n_terms : int or "auto", default="auto"
        Coordinates per value. "auto" takes as few as keep the error of the direct series below a
        third of that of the random features on the first rows; 5 for the other series. Should
        they not suffice for what comes, a :class:`~streamchi2.errors.PrecisionWarning` says so.
    basis : str, default="orthogonal"
        One of "orthogonal", "gaussian", "cosine", "subspace", "landmarks" and "additive":
        orthogonal frequencies without a stored matrix; independent ones, as pairs of cosine and
        sine; or the paper's cosines with random shifts. "subspace" frequencies are orthogonal and
        point where the first D rows vary (at most 1024 are kept until then), more in the leading
        principal directions of the coordinates, a little everywhere else. They are best to learn
        from, and the default of the classifier, the regressor and the PCA, but of a smoother
        kernel: ``kernel_error()`` shows by how much. "landmarks" are Nyström features, over D rows
        drawn from the first 2D; they are nearest to the exact kernel and cost most per row.
        "additive" features are the series coordinates themselves, without the exponential: their
        kernel is :math:`\sum_i 2 x_i y_i / (x_i + y_i)`. They suit wide, sparse counts such as
        text.
    landmarks : array-like, sparse matrix or DataFrame, shape (m, d), optional
        Rows to use with ``basis="landmarks"`` in place of drawn ones; the map is then planned on
        the first 64 rows. At least D of them; of more the D leading directions are taken.
    n_buckets : int, None or "auto", default="auto"
        Inputs into which wide rows are folded by signed hashing. "auto" folds when there would be
        more than 16384 coordinates, None never.
    normalize : {None, "l1"}, default=None
        "l1" divides every row by its sum before anything else, landmarks included; rows of zeros
        stay as they are. With descriptors each is divided by its own sum.
    adapt : bool, default=True
        Whether k follows the stream after the first 64 rows.
    half_life : float or None, default=None
        Rows after which the memory of inputs has faded by half; None remembers everything.
    dtype : {"float32", "float64"}, default="float32"
        Of the features and of the work.
    n_jobs : int or None, default=None
        Threads for ``transform``: None is 1, -1 all cores.
    random_state : int, RandomState or None, default=None
        Chooses the frequencies. Shards that are to be merged need the same int.

    Attributes
    ----------
    k_ : ndarray
        Nodes of the direct series now in use.
    n_terms_ : int
        Number of coordinates per value.
    beta_ : float
        Inverse scale of the kernel.
    input_histogram_ : LogHistogram
        Values seen so far.
    predicted_kernel_error_ : float
        What the series is predicted to cost the kernel, an upper estimate.
    transports_ : tuple of (position, residual)
        Re-estimations of k: where, and how far the coordinates moved (relative).
    transport_residual_ : float
        Sum of the residuals.
    landmarks_ : csr_array
        With ``basis="landmarks"``: the rows in use.
    n_features_in_ : int
        Width of the rows.

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
        """Learn from one more batch of rows; see :meth:`fit` for the arguments."""
        return self._learn_rows(X, sample_weight, first=not self.__sklearn_is_fitted__())

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
        check_is_fitted(self)
        rows = as_estimator_rows(self, X, reset=False)
        return self._reading.feature_map.transform(rows, n_jobs=self.n_jobs)

    @property
    def _n_features_out(self) -> int:
        return self._reading.feature_map.n_components

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # features have the dtype that was asked for
        return tags
