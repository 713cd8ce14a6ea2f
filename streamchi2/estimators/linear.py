"""Base class of the linear models on a stream of features."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamchi2.estimators.base import StreamEstimator
from streamchi2.model import FittedModel, ModelParams, fit
from streamchi2.solvers.problem import PenaltyParams
from streamchi2.stream import Stream


class LinearStreamEstimator(StreamEstimator):
    """A stream estimator whose model is penalised least squares on the rows themselves."""

    alpha: float | str
    penalty: str
    l1_ratio: float
    fit_intercept: bool
    _signed = False  # without an intercept: whether targets 0 and 1 are -1 and 1

    def _known_alpha(self, stream: Stream) -> float | None:
        model: FittedModel | None = stream.known_result(("model", self._model_params()))
        return None if model is None else model.linear.alpha

    @property
    def alpha_(self) -> float:
        """Strength of the penalty, as given or as chosen."""
        return self._model().linear.alpha

    def _model_params(self) -> ModelParams:
        penalty = PenaltyParams.checked(self.penalty, self.alpha, self.l1_ratio)
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise TypeError(f"fit_intercept must be True or False, got {self.fit_intercept!r}")
        return ModelParams(
            penalty=penalty, fit_intercept=bool(self.fit_intercept), signed=self._signed
        )

    def _check_params(self, X: Any, n_features: int, *, first: bool) -> None:
        super()._check_params(X, n_features, first=first)
        self._model_params()

    def _model(self) -> FittedModel:
        reading, params = self._reading, self._model_params()

        def work() -> FittedModel:
            model = fit(reading, params)
            reading.forget_statistics()
            for array in (model.linear.coef, model.linear.intercept, model.linear.centre):
                array.setflags(write=False)
            return model

        return reading.result(("model", params), work)
