"""What the classifier and the regressor share: penalised least squares on the features of a map."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from streamchi2.checks import as_estimator_rows
from streamchi2.errors import NoTargetError
from streamchi2.estimators.base import ComponentsEstimator
from streamchi2.model import FittedModel, ModelParams, descriptor_entries, fit
from streamchi2.solvers.problem import PenaltyParams
from streamchi2.stream import Stream

_PLAIN = frozenset({str, float, int, bool, type(None)})  # values of these never change


class MapRegression(ComponentsEstimator):
    """A map estimator whose model is penalised least squares on targets of some kind."""

    # What decides about the model beside the stream.
    _MODEL_PARAMETERS: ClassVar[tuple[str, ...]] = (
        "n_pca",
        "penalty",
        "alpha",
        "l1_ratio",
        "descriptors",
    )

    def __init__(
        self,
        n_components: int | Mapping[str, int] = 1024,
        *,
        descriptors: Mapping[str, Any] | None = None,
        n_pca: Any = None,
        alpha: float | str = "auto",
        penalty: str = "ridge",
        l1_ratio: float = 0.5,
        beta: Any = "auto",
        dof: float = 2,
        series: str = "direct",
        n_terms: Any = "auto",
        basis: Any = "subspace",
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
        self.descriptors = descriptors
        self.n_pca = n_pca
        self.alpha = alpha
        self.penalty = penalty
        self.l1_ratio = l1_ratio
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

    def _model_params(self) -> ModelParams:
        grouped = self.descriptors is not None
        penalty = PenaltyParams.checked(self.penalty, self.alpha, self.l1_ratio, grouped=grouped)
        return ModelParams(self._n_pca(), penalty)

    def _model(self) -> FittedModel:
        """Return one model, so that all parts of an answer belong together."""
        reading = self._reading
        given = tuple([getattr(self, name) for name in self._MODEL_PARAMETERS])
        if (last := reading.last_model) is not None and all(map(operator.is_, given, last[0])):
            known: FittedModel = last[1]  # whose parameters need no second check
            return known
        params = self._model_params()

        def work() -> FittedModel:
            model = fit(reading, params)
            reading.forget_statistics()
            return model

        try:
            model = reading.result(("model", params), work)
        except NoTargetError:
            message = "No row has had a target yet: call partial_fit"
            raise NotFittedError(message) from None
        if _PLAIN.issuperset(map(type, given)):
            reading.last_model = given, model
        return model

    def _scores(self, model: FittedModel, X: Any) -> NDArray[np.float64]:
        rows = as_estimator_rows(self, X, reset=False)
        assert model.feature_map is not None
        features = model.feature_map.transform(rows, n_jobs=self.n_jobs)
        # In float64, so that coefficients which differ by rounding give scores that do.
        return model.linear.scores(features.astype(np.float64, copy=False))

    def _known_alpha(self, stream: Stream) -> float | None:
        model: FittedModel | None = stream.known_result(("model", self._model_params()))
        return None if model is None else model.linear.alpha

    @property
    def alpha_(self) -> float:
        """Strength of the penalty, as given or as chosen."""
        return self._model().linear.alpha

    @property
    def descriptor_path_(self) -> dict[str, float]:
        """The largest alpha at which a group lasso uses each descriptor, strongest first."""
        check_is_fitted(self)
        names = self.descriptor_columns_
        reading, params = self._reading, self._model_params()
        entries = reading.result(("entries", params), lambda: descriptor_entries(reading, params))
        pairs = zip(names, entries.tolist(), strict=True)
        return dict(sorted(pairs, key=lambda pair: -pair[1]))

    @property
    def descriptor_weights_(self) -> dict[str, float]:
        r"""With ``penalty="group_lasso"``: the weight of each kernel, zero for one left out.

        The model is that of ridge regression, penalty one, with the kernel
        :math:`\sum_g d_g k_g` of these weights.
        """
        scales = self._model().scales
        if scales is None:
            raise AttributeError("descriptor_weights_ needs penalty='group_lasso' and alpha > 0")
        return dict(zip(self.descriptor_columns_, scales.tolist(), strict=True))
