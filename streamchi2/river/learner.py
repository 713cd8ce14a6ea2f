"""What classifier and regressor share: one row or a frame in, a model in force out."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river.utils.dataframe import into_frame, into_series

from streamchi2.river.dict_rows import frame_rows
from streamchi2.river.live_model import LiveModel
from streamchi2.river.model_stream import ModelStream
from streamchi2.river.row_features import features_of
from streamchi2.river.words import MapWords
from streamchi2.runtime.warnings import deferred_warnings
from streamchi2.validation import as_positive_float, as_weights


class LearnerWords(MapWords):
    """A map with a model behind it, learnt in one call."""

    alpha: float | str
    _stream: ModelStream | None

    def _start(self) -> None:
        super()._start()
        self._target_name: str | None = None

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"alpha"}

    @property
    def alpha_(self) -> float:
        """The penalty in force."""
        return self._model_or_refuse().linear.alpha

    def _model_or_refuse(self) -> LiveModel:
        model = self._model()
        if model is None:
            raise AttributeError(f"this {type(self).__name__} has no model yet: learn a row first")
        return model

    def _model(self) -> LiveModel | None:
        return None if self._stream is None else self._stream.model

    def _checked_alpha(self) -> float | str:
        if isinstance(self.alpha, str):
            if self.alpha != "gcv":
                raise ValueError(f"alpha must be a positive number or 'gcv', got {self.alpha!r}")
            return self.alpha
        return as_positive_float(self.alpha, name="alpha")

    def _checked_target(self, y: Any) -> Any:
        raise NotImplementedError

    def _refuse_mixture(self, targets: list[Any]) -> None:
        """Refuse targets that cannot stand beside each other, or beside earlier ones."""

    def _stream_to_learn(self) -> ModelStream:
        alpha = self._checked_alpha()
        stream: ModelStream = self._open_stream()
        stream.refresher.alpha = alpha
        return stream

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Learn from one row.

        Parameters
        ----------
        x
            Features by name, finite and non-negative; a missing key is a zero.
        y
            The target.
        w
            Weight: two equals a repeated row, zero no row.
        """
        row = self._named.read(x).without_zeros()
        target = self._checked_target(y)
        self._refuse_mixture([target])
        weight = 1.0 if w == 1.0 else float(_checked_weights(w, 1)[0])
        stream = self._stream_to_learn()
        if weight > 0.0:
            with deferred_warnings():
                stream.push(row, target, weight)
                self._remember([target])
                self._stream = stream

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn from the rows of a frame, as if they came one by one.

        Parameters
        ----------
        X
            A pandas, polars or pyarrow frame without missing values.
        y
            A series of targets.
        w
            One weight for all rows, or a series of them.
        """
        rows, series = frame_rows(into_frame(X)), into_series(y)
        targets = [self._checked_target(target) for target in series.to_list()]
        if len(targets) != len(rows):
            raise ValueError(
                f"y must hold one target per row: got {len(targets)} targets for {len(rows)} rows"
            )
        weights = _checked_weights(w, len(rows))
        self._refuse_mixture(targets)
        stream = self._stream_to_learn()
        self._target_name = series.name
        with deferred_warnings():
            for row, target, weight in zip(rows, targets, weights.tolist(), strict=True):
                if weight > 0.0:
                    stream.push(row, target, weight)
                    self._remember([target])
                    self._stream = stream

    def _remember(self, targets: list[Any]) -> None:
        """Note targets that have been learnt."""

    def _scores_one(self, model: LiveModel, x: dict[Hashable, Any]) -> NDArray[np.float64]:
        return model.scores(self._featuriser.of(self._recipe, self._named.read(x)))

    def _scores_many(self, model: LiveModel, frame: Any) -> list[NDArray[np.float64]]:
        rows = frame_rows(frame)
        if not rows:
            return []
        return [model.scores(features) for features in features_of(self._recipe, rows)]


def _checked_weights(w: Any, n_rows: int) -> NDArray[np.float64]:
    given = w if np.ndim(w) == 0 else into_series(w).to_numpy()
    if given is None:
        return np.ones(n_rows)
    weights = as_weights(given, n_rows, name="w")
    assert weights is not None
    return weights
