"""How a model is solved again and again at little cost.

Between two solutions rows grow by a tenth or less, so the penalty hardly moves: the equations are
factorised at the present one. Generalised cross-validation and the inverse_temperature of probabilities,
which cost some ten factorisations, are looked at again when rows have doubled.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.mapped_moments import MappedMoments
from streamchi2.river.live_model import LiveModel
from streamchi2.river.young_stream import YoungStream
from streamchi2.solvers.calibration import fitted_inverse_temperature, left_out_scores, own_shares
from streamchi2.solvers.linear_model import LinearModel
from streamchi2.solvers.ridge import ridge, ridge_by_gcv
from streamchi2.statistics.class_moments import ClassMoments
from streamchi2.statistics.target_moments import RegressionMoments

_USUAL_INVERSE_TEMPERATURE = 5.0  # until two classes have been seen


class Refresher:
    """The penalty in force, the inverse_temperature in force, and the model they led to.

    Parameters
    ----------
    labels : bool
        Whether targets are class labels; otherwise numbers.
    """

    def __init__(self, *, labels: bool) -> None:
        self.labels = labels
        self.alpha: float | str = "gcv"  # what the user asks for
        self.model: LiveModel | None = None
        self._penalty: float | None = None  # of the last cross-validation
        self._inverse_temperature = _USUAL_INVERSE_TEMPERATURE
        self._audited_at = 0

    def audit_next(self) -> None:
        """Look at penalty and inverse_temperature again with the next solution."""
        self._audited_at = 0

    def solve_young(self, young: YoungStream, position: int) -> None:
        """Solve from the rows themselves."""
        given = None if isinstance(self.alpha, str) else self.alpha
        targets = young.targets()
        classes, codes = np.unique(targets, return_inverse=True) if self.labels else (None, None)
        outputs = targets[:, None] if classes is None else np.eye(classes.size)[codes]
        if self._audit_is_due(position):
            self._penalty, left_out = young.ridge.audit(outputs, given)
            if classes is not None and codes is not None:
                self._sharpen(left_out, codes, young.ridge.weights)
        penalty = self._penalty if given is None else given
        assert penalty is not None
        self._put_in_force(young.ridge.solve(outputs, penalty), classes)

    def solve(self, moments: MappedMoments, position: int) -> None:
        """Solve from moments."""
        assert moments.labelled is not None
        summary = moments.labelled.summary(whole=False)
        due, given = self._audit_is_due(position), None
        if not isinstance(self.alpha, str):
            given = self.alpha
        elif not due:
            given = self._penalty
        model = ridge_by_gcv(summary) if given is None else ridge(summary, given)
        self._penalty = model.alpha
        if isinstance(moments.labelled, ClassMoments):
            if due:
                self._audit_sample(moments, summary, model)
            self._put_in_force(model, moments.labelled.classes)
        else:
            self._put_in_force(model, None)

    def _audit_is_due(self, position: int) -> bool:
        unknown = isinstance(self.alpha, str) and self._penalty is None
        due = unknown or position >= 2 * self._audited_at
        if due:
            self._audited_at = position
        return due

    def _audit_sample(
        self, moments: MappedMoments, summary: RegressionMoments, model: LinearModel
    ) -> None:
        assert isinstance(moments.labelled, ClassMoments)
        sample, recipe = moments.sample, moments.map.recipe
        assert sample is not None
        assert sample.targets is not None
        assert recipe is not None
        features = recipe.transform(sample.rows).astype(np.float64)
        codes = np.searchsorted(moments.labelled.classes, sample.targets)
        outputs = np.eye(moments.labelled.classes.size)[codes]
        shares = own_shares(model, summary, features, exact=True)
        left_out = left_out_scores(model.scores(features), outputs, shares)
        self._sharpen(left_out, codes, sample.importance())

    def _sharpen(
        self, left_out: NDArray[np.float64], codes: NDArray[np.intp], weights: NDArray[np.float64]
    ) -> None:
        if left_out.shape[1] > 1:
            self._inverse_temperature = fitted_inverse_temperature(left_out, codes, weights)

    def _put_in_force(self, model: LinearModel, classes: NDArray[Any] | None) -> None:
        labels = [] if classes is None else classes.tolist()
        self.model = LiveModel(model, labels, self._inverse_temperature)

    def copy(self) -> Self:
        """Return an independent object in the same state."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)  # models are never changed
        return twin
