"""What the fused classifier and regressor share: least squares on the features of a map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from streamchi2.estimators.learner import MappedLearner
from streamchi2.estimators.linear_words import checked_words
from streamchi2.estimators.memory_budget import MemoryBudget
from streamchi2.estimators.solution import LearnerWords, Learnt, Solution


class MappedRegression(MemoryBudget, MappedLearner):
    """A mapped learner whose model is penalised least squares on targets of some kind."""

    def __init__(
        self,
        n_components: int | Mapping[str, int] = 1024,
        *,
        descriptors: Mapping[str, Any] | None = None,
        n_pca: Any = None,
        alpha: float | str = "gcv",
        penalty: str = "ridge",
        l1_ratio: float = 0.5,
        beta: Any = "auto",
        dof: float = 2,
        series: str = "direct",
        n_terms: Any = "auto",
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
        self.adapt = adapt
        self.half_life = half_life
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _learner_words(self) -> LearnerWords:
        grouped = self.descriptors is not None
        if self.penalty == "group_lasso" and not grouped:
            raise ValueError("penalty='group_lasso' needs descriptors to choose among, got None")
        linear = checked_words(self.penalty, self.alpha, self.l1_ratio, grouped=grouped)
        return replace(super()._learner_words(), linear=linear)

    @property
    def _learnt(self) -> Learnt:
        check_is_fitted(self)
        return self._solution.learnt

    @property
    def alpha_(self) -> float:
        """The penalty in use."""
        return self._learnt.model.alpha

    @property
    def descriptor_path_(self) -> dict[str, float]:
        """The largest alpha of a group lasso at which each descriptor is in, in that order.

        Found to a hundredth, whatever the penalty in use; zero where it is below 1e-5 of the
        largest. A handful of factorisations of the scatter for each descriptor.
        """
        solution, columns = self._solved(), self.descriptor_columns_
        pairs = zip(columns, solution.entries.tolist(), strict=True)
        return dict(sorted(pairs, key=lambda pair: -pair[1]))

    @property
    def descriptor_weights_(self) -> dict[str, float]:
        r"""With ``penalty="group_lasso"``: the weight of each kernel, zero for one left out.

        The model is that of ridge regression, penalty one, with the kernel
        :math:`\sum_g d_g k_g` of these weights.
        """
        scales = self._learnt.scales
        if scales is None:
            raise AttributeError("descriptor_weights_ needs penalty='group_lasso' and alpha > 0")
        return dict(zip(self.descriptor_columns_, scales.tolist(), strict=True))

    def _solved(self) -> Solution:
        """Return one solution, so that all parts of an answer belong together."""
        check_is_fitted(self)
        return self._solution

    def _scores(self, learnt: Learnt, X: Any) -> NDArray[np.float64]:
        # In float64, so that coefficients which differ by rounding give scores that do.
        return learnt.model.scores(self._features(X, learnt.recipe).astype(np.float64, copy=False))
