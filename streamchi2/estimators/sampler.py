"""ExpChi2Sampler: rows of histograms to features of the exp-chi2 kernel, on a stream."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.validation import check_is_fitted

from streamchi2.adaptive_map import AdaptiveMap
from streamchi2.estimators.map_words import MapWords, Reading, check_same_words
from streamchi2.estimators.out_of_core import OutOfCore
from streamchi2.runtime.interrupts import deferred_interrupts
from streamchi2.runtime.threads import n_workers
from streamchi2.statistics.buffered_tracker import BufferedTracker
from streamchi2.validation import (
    Floats,
    Rows,
    as_estimator_rows,
    as_weights,
    check_named_alike,
    check_same_columns,
    columns_of,
    record_columns,
)


class ExpChi2Sampler(
    ClassNamePrefixFeaturesOutMixin, MapWords, OutOfCore, TransformerMixin, BaseEstimator
):
    r"""Random Fourier features of the exp-chi2 kernel, learnt from a stream of histograms.

    .. math:: z(x)^\top z(y) \approx k(x, y) = \exp(-\beta\,\chi^2(x, y))

    Each value becomes N coordinates of a chi2 series, which random frequencies turn into D
    features. The first 64 rows set ``beta`` and the landmarks k of the series; k is estimated
    again at rows 256, 1024, 4096, ... where that pays, and the new coordinates are rotated onto the
    old ones, so that models which have learnt from earlier features stay valid. Asked for features
    before row 64, the sampler uses the rows there are.

    Laws: any cutting of the same rows into batches gives the same map, bit for bit; a refused
    call leaves no trace; ``transform`` changes nothing; the number of jobs does not change a bit.

    Parameters
    ----------
    n_components : int, default=1024
        Number of features D; best even, since cosine and sine come in pairs.
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
    basis : {"orthogonal", "gaussian", "cosine", "subspace", "landmarks"}, default="orthogonal"
        Which frequencies: orthogonal ones without a stored matrix; independent ones, as pairs
        of cosine and sine; or the paper's cosines with random shifts. "subspace" frequencies are
        orthogonal and point where the first D rows vary (at most 1024 are kept until then), more
        in the leading principal directions of the coordinates, not at all where those rows do not
        vary. They are best to learn from, but of a smoother kernel: ``kernel_error()`` shows by how
        much. "landmarks" are Nyström features instead, over D rows drawn from the first 2D; they
        are nearest to the exact kernel and cost most per row.
    landmarks : array-like, sparse matrix or DataFrame, shape (m, d), optional
        Rows to use with ``basis="landmarks"`` in place of drawn ones; the map is then planned on
        the first 64 rows. At least D of them; of more the D leading directions are taken.
    n_buckets : int, None or "auto", default="auto"
        Inputs into which wide rows are folded by signed hashing. "auto" folds when there would be
        more than 16384 coordinates, None never.
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
        Landmarks of the direct series now in use.
    n_terms_ : int
        Number of coordinates per value.
    beta_ : float
        Inverse scale of the kernel.
    input_histogram_ : LogHistogram
        Values seen so far.
    kernel_error_ : float
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

    _drops_weightless = True

    def __init__(
        self,
        n_components: int = 1024,
        *,
        beta: float | str = "auto",
        dof: float = 2,
        series: str = "direct",
        n_terms: int | str = "auto",
        basis: str = "orthogonal",
        landmarks: Any = None,
        n_buckets: int | str | None = "auto",
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
            A weight of zero is as good as no row.

        Returns
        -------
        ExpChi2Sampler
            This estimator.
        """
        return self._learn(X, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one more batch of rows; see :meth:`fit` for the arguments."""
        return self._learn(X, sample_weight, first=not hasattr(self, "_stream"))

    def _learn(self, X: Any, sample_weight: ArrayLike | None, *, first: bool) -> Self:
        rows = as_estimator_rows(self, X, reset=first)
        rows, weights = _without_weightless(rows, as_weights(sample_weight, rows.shape[0]))
        n_workers(self.n_jobs)  # refuses nonsense
        if first:
            check_named_alike(self.landmarks, X, name="landmarks")
            if rows.shape[0] == 0:
                raise ValueError("sample_weight must not be zero for every row of the first batch")
            tracker = self._first_map(int(rows.shape[1]))
            stream = BufferedTracker(tracker, tracker.schedule.boundaries())
            with deferred_interrupts():
                stream.update(rows, weights=weights)
                record_columns(self, X)
                self._stream, self._reading = stream, Reading(stream)
            return self
        self._check_unchanged(self._stream.tracker.settings)
        with self._stream.lock, deferred_interrupts():
            try:
                self._stream.update(rows, weights=weights)
            finally:  # blocks absorbed before an interrupt stay absorbed
                self._reading = Reading(self._stream)
        return self

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
        return self._reading.recipe.transform(rows, n_jobs=self.n_jobs)

    def new_shard(self) -> Self:
        """Return a sampler with this one's map that has seen nothing: a worker's share.

        Give each worker a shard, let it learn its part of the stream, and :meth:`merge` the
        shards: the result is that of one pass. The map must have been planned: refused before.
        """
        self._check_planned()
        return self._empty_shard()

    def _empty_shard(self) -> Self:
        shard: Self = clone(self)
        empty = AdaptiveMap(self._stream.tracker.settings, self._reading.recipe)
        stream = BufferedTracker(empty, self._stream.buffer.boundaries)
        shard.__dict__.update(columns_of(self), _stream=stream, _reading=Reading(stream))
        return shard

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has seen; ``other`` is untouched.

        Parameters
        ----------
        other : ExpChi2Sampler
            With the same parameters and a map that differs from this one's by transport alone
            (see :meth:`new_shard`). One that has not been fitted changes nothing.

        Returns
        -------
        ExpChi2Sampler
            This estimator.
        """
        if not isinstance(other, ExpChi2Sampler):
            raise TypeError(f"other must be an ExpChi2Sampler, got {other!r}")
        if not hasattr(other, "_stream"):
            return self
        if not hasattr(self, "_stream"):
            check_same_words(self, other)
            with deferred_interrupts():
                self._stream = other._stream.copy()
                self.__dict__.update(columns_of(other))
                self._reading = Reading(self._stream)
            return self
        check_same_columns(self, other)
        # Copied first: two that merge each other must not wait for each other's lock.
        shard = other._stream.copy()
        with self._stream.lock, deferred_interrupts():
            self._stream.take_over(shard)
            self._reading = Reading(self._stream)
        return self

    @property
    def _n_features_out(self) -> int:
        return self.n_components

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_stream")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []  # features have the dtype that was asked for
        return tags


def _without_weightless(
    rows: Rows, weights: NDArray[np.float64] | None
) -> tuple[Rows, NDArray[np.float64] | None]:
    """Drop rows of weight zero: they are as good as absent."""
    if weights is None or weights.all():
        return rows, weights
    return rows[weights > 0.0], weights[weights > 0.0]
