"""What can be read of the model that a river learner has solved last."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from streamchi2.model import FittedModel, ModelParams, components_of, descriptor_entries
from streamchi2.reading import Reading
from streamchi2.refit import RefitSchedule


class ModelReadings:
    """Fitted attributes of an estimator whose model is solved by a schedule."""

    _flat: ClassVar[bool] = False  # one number a row
    _reading: Reading
    _schedule: RefitSchedule
    descriptors: Any
    n_pca: Any

    def _model_params(self) -> ModelParams:
        raise NotImplementedError

    @property
    def alpha_(self) -> float:
        """Strength of the penalty in use, as given or as chosen."""
        return self._present_model().linear.alpha

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Coefficients on the features, shape (n_classes, n_components) or (n_components,)."""
        coef = self._present_model().linear.coef.T.copy()
        return coef[0] if self._flat else coef

    @property
    def intercept_(self) -> NDArray[np.float64] | np.float64:
        """Intercepts, shape (n_classes,), or one number."""
        intercept = self._present_model().linear.intercept.copy()
        number: np.float64 = intercept[0]
        return number if self._flat else intercept

    def _present_model(self) -> FittedModel:
        model = self._schedule.model
        if model is None:
            raise AttributeError(f"this {type(self).__name__} has no model yet: learn a row first")
        return model

    @property
    def descriptor_weights_(self) -> dict[str, float]:
        """With ``penalty="group_lasso"``: the weight of each kernel, zero for one left out."""
        model = self._schedule.model
        if model is None or model.scales is None:
            raise AttributeError("descriptor_weights_ needs penalty='group_lasso' and alpha > 0")
        return dict(zip(self.descriptors, model.scales.tolist(), strict=True))

    @property
    def descriptor_path_(self) -> dict[str, float]:
        """The largest alpha at which a group lasso uses each descriptor, strongest first."""
        if self.descriptors is None:
            raise AttributeError("descriptor_path_ needs descriptors, got None")
        entries = descriptor_entries(self._reading, self._model_params()).tolist()
        pairs = zip(self.descriptors, entries, strict=True)
        return dict(sorted(pairs, key=lambda pair: -pair[1]))

    @property
    def explained_variance_ratio_(self) -> Any:
        """With ``n_pca``: share of the features' variance that each principal component holds.

        With several descriptors, of each by itself: a dict.
        """
        if self.n_pca is None:
            raise AttributeError("explained_variance_ratio_ needs n_pca, got None")
        reading, n_pca = self._reading, self._model_params().n_pca
        found = components_of(reading.statistics, n_pca, reading.feature_map).variance_shares
        names = reading.map_params.names
        return found[0] if names is None else dict(zip(names, found, strict=True))
