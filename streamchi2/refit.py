"""Solving a model again and again at little cost, as rows arrive one by one.

Between two solutions rows grow by a tenth or less, so the penalty hardly moves: the equations are
solved at the present one. The penalty and the temperature of probabilities, which cost some ten
solutions, are chosen again when rows have doubled, and when more of the latest rows were predicted
wrong than the rows before them let expect. On a stream of mail that begins with 500 rows of one
class, whose best penalty is endless, that raises the share of rows that are predicted right from
.927 to .964.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.model import FittedModel, ModelParams, fit
from streamchi2.reading import Reading
from streamchi2.solvers.calibration import (
    USUAL_INVERSE_TEMPERATURE,
    Calibration,
    LabelCalibration,
)
from streamchi2.state import Float, Int, Kind, Maybe, Object, Saved, require
from streamchi2.statistics.row_buffer import Boundaries
from streamchi2.stream import Stream

_FADED = 0.5 ** (1 / 8)  # what errors count after a solution: half as much when rows have doubled
_SURPRISE = 2.0  # standard deviations


class RefitSchedule(Saved):
    """The model in use, and where in the stream it is solved and tuned again.

    A model is solved again whenever rows have grown by six to twelve per cent, by no more than
    1024 rows. Half as many rows between solutions gained no accuracy on digits (.9670 against
    .9672) at 1.2 times the cost.
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "alpha": Maybe(Float(0.0)),
        "inverse_temperature": Float(0.0),
        "uniform_share": Float(0.0),
        "tuned_on": Int(),
        "n_judged": Float(0.0),
        "n_wrong": Float(0.0),
        "fitted_at": Int(),
        "model": Maybe(Object((FittedModel,))),
    }

    def __init__(self) -> None:
        self.alpha: float | None = None  # that a criterion has chosen
        self.inverse_temperature = USUAL_INVERSE_TEMPERATURE
        self.uniform_share = 0.0
        self.tuned_on = 0  # rows with targets, when penalty and temperature were last chosen
        self.n_judged = 0.0  # rows predicted before they were learnt, faded
        self.n_wrong = 0.0  # of these
        self.fitted_at = 0
        self.model: FittedModel | None = None

    def next_position(self, stream: Stream) -> int:
        """Return where the model is to be solved next: at the end of a block, or before it.

        A position that the stream has reached is one at which solving it has failed.
        """
        if self.fitted_at < stream.buffer.position:
            return stream.n_rows
        growing = Boundaries.growing().after(self.fitted_at)
        return min(stream.next_stop, growing)

    def retune_next(self) -> None:
        """Choose penalty and temperature again with the next solution."""
        self.tuned_on = 0

    def judge(self, n_rows: int, n_wrong: int) -> None:
        """Take in how many of the latest rows the model has predicted wrong.

        Where that is one more than two standard deviations above the rate so far, penalty and
        temperature are chosen again with the next solution.
        """
        rate = (self.n_wrong + 1.0) / (self.n_judged + 2.0)
        deviation = (n_rows * rate * (1.0 - rate)) ** 0.5
        if n_wrong > n_rows * rate + _SURPRISE * deviation + 1.0:
            self.retune_next()
        self.n_judged = _FADED * (self.n_judged + n_rows)
        self.n_wrong = _FADED * (self.n_wrong + n_wrong)

    def refit(self, stream: Stream, params: ModelParams) -> None:
        """Solve the model from everything that the stream has seen."""
        reading, position = Reading(stream, copy=False), stream.n_rows
        chosen = isinstance(params.penalty.alpha, str)
        unknown = chosen and self.alpha is None
        n_labelled = reading.statistics.n_labelled
        due = unknown or n_labelled >= 2 * self.tuned_on
        model = fit(reading, params, None if due or not chosen else self.alpha)
        softmax, shifts = (self.inverse_temperature, self.uniform_share), None
        if due:
            calibration = None if model.classes is None else model.calibration
            if calibration is not None and calibration.shifts.size > 1:
                softmax = calibration.inverse_temperature, calibration.uniform_share
                shifts = calibration.shifts
        elif self.model is not None and self.model.calibration is not None:
            shifts = self.model.calibration.shifts
        calibrated: Calibration | LabelCalibration | None = None
        if model.classes is not None:
            calibrated = _calibration(shifts, model.classes.size, *softmax)
        elif reading.targets is not None and reading.targets.have_probabilities:
            known = model if due or self.model is None else self.model
            assert known.label_calibration is not None
            calibrated = known.label_calibration.for_labels(model.linear.intercept.size)
        # All that may fail is done: what follows is assignments.
        self.inverse_temperature, self.uniform_share = softmax
        self.alpha = model.linear.alpha if chosen else None
        self.tuned_on = n_labelled if due else self.tuned_on
        self.fitted_at = position
        self.model = FittedModel(
            model.linear, model.classes, calibrated, model.feature_map, model.scales
        )

    def copy(self) -> Self:
        """Return an independent object in the same state; models are never changed."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def validate(self) -> None:
        """Require a model from the first row on."""
        require((self.model is None) == (self.fitted_at == 0), "a model from the first row on")
        require(self.tuned_on <= self.fitted_at, "tuned on rows that were not seen")
        require(
            self.n_wrong <= self.n_judged <= self.fitted_at, "judged on rows that were not seen"
        )


def _calibration(
    shifts: NDArray[np.float64] | None, n_classes: int, inverse_temperature: float, share: float
) -> Calibration:
    if shifts is None or shifts.size != n_classes:
        shifts = np.zeros(n_classes)
    return Calibration(shifts, inverse_temperature, share)
