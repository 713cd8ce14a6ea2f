"""ExpChi2Sampler for river: dicts of non-negative numbers to features of the exp-chi2 kernel."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from river import base
from river.utils.dataframe import into_frame, to_native_frame

from streamchi2.checks.rows import Floats
from streamchi2.docstrings import RIVER, documented
from streamchi2.features import FeatureMap, Tracker
from streamchi2.river.base import NamedStreamEstimator
from streamchi2.saving import saved
from streamchi2.statistics.buffer import Row, as_matrix


@saved("river.ExpChi2Sampler")
@documented(RIVER)
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

    _learns = False
    prefix: str
    n_buckets: int | str
    dtype: str

    def __init__(
        self,
        n_components: int = 1024,
        *,
        norm: str | None = None,
        basis: str = "orthogonal",
        beta: float | str = "auto",
        half_life: float | None = None,
        prefix: str = "chi2_",
        seed: int | None = None,
        dof: float = 2.0,
        series: str = "direct",
        n_terms: int | str = "auto",
        landmarks: Sequence[Mapping[Hashable, Any]] | None = None,
        n_buckets: int | str = "auto",
        dtype: str = "float32",
        adapt: bool = True,
    ) -> None:
        self._start(locals())

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_components": 64}

    def learn_one(self, x: dict[Hashable, Any]) -> None:  # type: ignore[override]  # no target
        """Let the map learn from one row.

        Parameters
        ----------
        x
            Features by name, finite and non-negative; a missing key is a zero.
        """
        self.observe_one(x)

    def learn_many(self, X: Any) -> None:  # type: ignore[override]
        """Let the map learn from the rows of a frame, as if they came one by one.

        Parameters
        ----------
        X
            A pandas, polars or pyarrow frame without missing values; names of columns are keys.
        """
        self.observe_many(X)

    def transform_one(self, x: dict[Hashable, Any]) -> dict[Hashable, Any]:
        """Return D features named "chi2_0", "chi2_1", ...; nothing is learnt.

        Before anything has been learnt the row itself stands for the stream.

        Parameters
        ----------
        x : dict
            Features by name, finite and non-negative; a missing key is a zero.
        """
        row = self._reader.read(x)
        features = self._features(self._map_for(row), row)
        return dict(zip(self._names(features.size), features.tolist(), strict=True))

    def transform_many(self, X: Any) -> Any:
        """Return the features of a frame's rows, in a frame of the same kind and index.

        Parameters
        ----------
        X : pandas, polars or pyarrow DataFrame
            Rows without missing values; names of columns are keys.
        """
        rows, frame = self._read_frame(X), into_frame(X)
        features: Floats = np.empty((0, self.n_components))
        if rows:
            feature_map = self._map_for(rows[0])
            features = np.array([self._features(feature_map, row) for row in rows])
        return to_native_frame(features, columns=self._names(features.shape[1]), like=frame)

    def _names(self, n_components: int) -> tuple[str, ...]:
        if not isinstance(self.prefix, str):
            raise TypeError(f"prefix must be text, got {self.prefix!r}")
        return feature_names(n_components, self.prefix)

    def _map_for(self, row: Row) -> FeatureMap:
        if self._stream is not None:
            return self._tracker().feature_map
        spec, alone = self._map_spec(self._seed), (as_matrix([row]), np.ones(1))
        return Tracker.planned(spec, *alone, final=False).feature_map

    def _learner_spec(self) -> None:
        self._names(0)  # refuses a prefix that is no text


@lru_cache(maxsize=16)
def feature_names(n_components: int, prefix: str) -> tuple[str, ...]:
    """Return the names of the features, the same from one row and from many.

    >>> feature_names(2, "chi2_")
    ('chi2_0', 'chi2_1')
    """
    return tuple(f"{prefix}{i}" for i in range(n_components))
