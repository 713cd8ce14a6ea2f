"""What the three estimators share: constructor words, readings, shards and merging."""

from __future__ import annotations

import secrets
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from river import base
from scipy.fft import next_fast_len

from streamchi2.adaptive_map import Transport
from streamchi2.errors import StateMismatchError
from streamchi2.feature_map import FeatureMap
from streamchi2.map_plan import MapSettings
from streamchi2.river.dict_rows import WIDTH, DictReader
from streamchi2.river.map_stream import MapStream
from streamchi2.river.row_features import RowFeatures
from streamchi2.runtime.warnings import deferred_warnings
from streamchi2.series import DirectSeries
from streamchi2.validation import as_positive_int

_FEWEST_BUCKETS = 1024


class MapWords(base.Estimator):
    """A river estimator with a map; subclasses make their stream when the first row arrives."""

    n_components: int
    seed: int | None
    _stream: Any

    def _start(self) -> None:
        """Create what every one of these estimators holds beside its words."""
        self._stream = None
        self._named = DictReader()
        self._featuriser = RowFeatures()
        # Without a seed every object draws its own, once, so that its features hang together.
        self._seed = secrets.randbits(31) if self.seed is None else self.seed

    def _settings(self: Any) -> MapSettings:
        """Check the constructor words and return them as a value."""
        as_positive_int(self._seed, name="seed", minimum=0)
        as_positive_int(self.n_components, name="n_components")
        n_buckets = self.n_buckets
        if n_buckets == "auto":
            # Four buckets a phase: folding adds a tenth to the error of the random features.
            n_buckets = int(next_fast_len(max(_FEWEST_BUCKETS, 2 * self.n_components), real=True))
        return MapSettings(
            n_features=WIDTH,
            n_components=self.n_components,
            beta=self.beta,
            dof=self.dof,
            series=self.series,
            n_terms=self.n_terms,
            basis=self.basis,
            n_buckets=as_positive_int(n_buckets, name="n_buckets"),
            adapt=self.adapt,
            half_life=self.half_life,
            seed=self._seed,
            dtype=self.dtype,
        )

    def _new_stream(self, recipe: FeatureMap | None = None) -> MapStream:
        raise NotImplementedError

    def _open_stream(self) -> Any:
        """Return the stream, or a new one that is not yet this estimator's."""
        return self._new_stream() if self._stream is None else self._stream

    def _more_tags(self) -> set[str]:
        return {base.tags.POSITIVE_INPUT}

    @property
    def n_rows_(self) -> int:
        """Number of rows learnt from, those of merged shards included."""
        return 0 if self._stream is None else int(self._stream.n_rows)

    @property
    def _recipe(self) -> FeatureMap:
        recipe: FeatureMap | None = None if self._stream is None else self._stream.recipe
        if recipe is None:
            raise AttributeError(f"this {type(self).__name__} has no map yet: learn a row first")
        return recipe

    @property
    def k_(self) -> NDArray[np.float64]:
        """Landmarks of the direct series now in use."""
        series = self._recipe.series.series
        if not isinstance(series, DirectSeries):
            raise AttributeError(f"k_ belongs to series='direct', this is {series!r}")
        return np.array(series.k)

    @property
    def beta_(self) -> float:
        """Inverse scale of the kernel."""
        return self._recipe.basis.beta

    @property
    def transports_(self) -> tuple[Transport, ...]:
        """Re-estimations of k: position in the stream, and how far the coordinates moved."""
        transports: tuple[Transport, ...] = (
            () if self._stream is None else self._stream.adaptive.transports
        )
        return transports

    def new_shard(self) -> Self:
        """Return an estimator with this one's map that has learnt nothing: a worker's share.

        Give each worker a shard, let it learn its part of the stream, and :meth:`merge` the shards.
        The map must have been planned: refused before.
        """
        recipe = self._recipe
        adaptive = self._stream.adaptive
        if adaptive.recipe is None:
            raise ValueError(
                "new_shard needs a map to share, which is planned on the first "
                f"{adaptive.settings.first_rows} rows of a stream, got {self._stream.n_rows}; "
                "learn from more rows first"
            )
        shard: Self = self.clone()
        shard._seed = self._seed
        shard._stream = shard._new_stream(recipe)
        return shard

    def merge(self, other: Self) -> None:
        """Absorb everything ``other`` has learnt; ``other`` is untouched.

        Parameters
        ----------
        other
            An estimator of the same class with the same parameters and seed, whose map differs
            from this one's by transport alone (see :meth:`new_shard`). One that has learnt nothing
            changes nothing.
        """
        if type(other) is not type(self):
            raise TypeError(f"other must be a {type(self).__name__}, got {other!r}")
        if other._stream is None:
            return
        theirs = other._get_params()
        for name, value in self._get_params().items():
            if name not in ("seed", "drift_detector") and value != theirs[name]:
                raise StateMismatchError(
                    f"{name} must agree to merge, got {value!r} and {theirs[name]!r}"
                )
        if self._stream is None and self.seed is None:
            self._seed = other._seed
        stream = self._open_stream()
        with deferred_warnings():
            stream.merge(other._stream)
            self._stream = stream
