"""ExpChi2Sampler for river: dicts of non-negative numbers to features of the exp-chi2 kernel."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from river import base
from river.utils.dataframe import into_frame, to_native_frame

from streamchi2.checks import Floats
from streamchi2.estimators.documented import documented
from streamchi2.estimators.parameter_docs import ATTRIBUTES
from streamchi2.feature_map import FeatureMap
from streamchi2.river.base import NamedStreamEstimator
from streamchi2.river.dict_rows import frame_rows
from streamchi2.river.parameter_docs import ARGUMENTS, SAMPLER
from streamchi2.river.row_features import features_of
from streamchi2.runtime.warnings import deferred_warnings
from streamchi2.statistics.row_buffer import Row


@documented(SAMPLER, ATTRIBUTES, ARGUMENTS)
class ExpChi2Sampler(NamedStreamEstimator, base.MiniBatchTransformer):
    r"""Random Fourier features of the exp-chi2 kernel, for any model that follows in a pipeline.

    .. math:: z(x)^\top z(y) \approx k(x, y) = \exp(-\beta\,\chi^2(x, y))

    Keys may come and go: each has a place of its own by name, and a missing key is a zero. The
    first 64 rows set ``beta`` and the nodes k of the series; k is estimated again at rows 256,
    1024, 4096, ... where that pays, and the new coordinates are rotated onto the old ones, so that
    the model behind stays valid.

    With ``basis="subspace"`` and ``"landmarks"`` the map is planned on the first D and 2D rows.
    Until then maps of the first 1, 4, 16, ... rows serve, and features change at these rows: a
    model that follows in a pipeline has to begin again at each of them, while the classifier and
    the regressor learn the kept rows again.

    Laws: ``learn_many`` over any cutting and ``learn_one`` over rows give the same map, bit for
    bit; a refused call leaves no trace; ``transform_*`` changes nothing.

    %(parameters)s

    %(attributes)s

    References
    ----------
    Li, Lebanon and Sminchisescu (2013), arXiv:1206.4074.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, metrics, optim
    >>> from streamchi2.river import ExpChi2Sampler
    >>> regression = linear_model.LogisticRegression(optim.SGD(1.0))  # features have length one
    >>> model = ExpChi2Sampler(n_components=256, seed=0) | regression
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.80%
    """

    def __init__(
        self,
        n_components: int = 1024,
        beta: float | str = "auto",
        dof: float = 2.0,
        series: str = "direct",
        n_terms: int | str = "auto",
        basis: str = "orthogonal",
        landmarks: Any = None,
        n_buckets: int | str = "auto",
        normalize: str | None = None,
        adapt: bool = True,
        half_life: float | None = None,
        dtype: str = "float32",
        prefix: str = "chi2_",
        seed: int | None = None,
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
        self.prefix = prefix
        self.seed = seed
        self._start()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_components": 64}
        yield {"n_components": 33, "beta": 0.5, "half_life": 99.0, "dof": 1.0, "seed": 1}
        yield {"n_components": 64, "series": "chebyshev", "basis": "gaussian", "n_buckets": 128}
        yield {"n_components": 20, "basis": "landmarks", "n_buckets": 128}
        yield {"n_components": 64, "basis": "additive", "prefix": "share of "}
        yield {"n_components": 1, "basis": "landmarks", "landmarks": [{"x": 1.0, 0: 0.5}]}

    def learn_one(self, x: dict[Hashable, Any]) -> None:
        """Let the map learn from one row.

        Parameters
        ----------
        x
            Features by name, finite and non-negative.
        """
        self._checked_prefix()
        row, stream = self._reader.read(x), self._open_stream()
        self._refuse_too_large(stream, [row], x)
        self._add(stream, row, None, 1.0)

    def learn_many(self, X: Any) -> None:
        """Let the map learn from the rows of a frame, as if they came one by one.

        Parameters
        ----------
        X
            A pandas, polars or pyarrow frame without missing values.
        """
        self._checked_prefix()
        rows = frame_rows(into_frame(X), self._reader.keys)
        stream = self._open_stream()
        self._refuse_too_large(stream, rows)
        with deferred_warnings():  # one that is made an error comes after the last row
            for row in rows:
                self._add(stream, row, None, 1.0)

    def transform_one(self, x: dict[Hashable, Any]) -> dict[Hashable, Any]:
        """Return D features named "chi2_0", "chi2_1", ...; nothing is learnt.

        Before anything has been learnt the row itself stands for the stream.
        """
        prefix = self._checked_prefix()
        row = self._reader.read(x)
        features = self._row_features.of(self._map_for(row), row)
        return dict(zip(feature_names(features.size, prefix), features.tolist(), strict=True))

    def transform_many(self, X: Any) -> Any:
        """Return the features of a frame's rows, in a frame of the same kind and index."""
        prefix, frame = self._checked_prefix(), into_frame(X)
        rows = frame_rows(frame, self._reader.keys)
        features: Floats = np.empty((0, self.n_components))
        if rows:
            features = features_of(self._map_for(rows[0]), rows)
        names = feature_names(features.shape[1], prefix)
        return to_native_frame(features, columns=names, like=frame)

    def _checked_prefix(self) -> str:
        if not isinstance(self.prefix, str):
            raise TypeError(f"prefix must be text, got {self.prefix!r}")
        return self.prefix

    def _map_for(self, row: Row) -> FeatureMap:
        if self._stream is not None:
            return self._present_map()
        alone = self._new_stream()
        alone.append(row, None, 1.0)
        return alone.reading().feature_map


@lru_cache(maxsize=16)
def feature_names(n_components: int, prefix: str) -> tuple[str, ...]:
    """Return the names of the features, the same from one row and from many.

    >>> feature_names(2, "chi2_")
    ('chi2_0', 'chi2_1')
    """
    return tuple(f"{prefix}{i}" for i in range(n_components))
