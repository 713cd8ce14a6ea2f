"""How sure a model may be of its scores, learnt from predictions that were made before learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax

from streamchi2.state import Array, Float, Kind, SavedValue, require

_MEMORY_ROWS = 256.0  # half-life of what is known of the errors
_USUAL_INVERSE_TEMPERATURE = 5.0
_INVERSE_TEMPERATURES = 0.1, 1000.0  # of scores between zero and one
_LONGEST_STEP = 0.5  # of the logarithm, a block


@dataclass(frozen=True)
class ClassConfidence(SavedValue):
    r"""Scores of classes become probabilities by a softmax with a learnt inverse temperature.

    One Newton step a block on the log-loss as a function of :math:`\log \tau`, its curvature
    summed over rows that fade with a half-life of 256.

    Examples
    --------
    >>> confidence = ClassConfidence()
    >>> scores, codes = np.tile([[0.9, 0.1]], (32, 1)), np.zeros(32, np.intp)
    >>> surer = confidence.after(scores, codes, np.ones(32))
    >>> surer.inverse_temperature > confidence.inverse_temperature
    True
    """

    STATE: ClassVar[dict[str, Kind]] = {"inverse_temperature": Float(0.0), "curvature": Float(0.0)}

    inverse_temperature: float = _USUAL_INVERSE_TEMPERATURE
    curvature: float = 0.0

    def log_likelihoods(
        self, scores: NDArray[np.float64], codes: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Return the log-probability of each row's class."""
        found = log_softmax(self.inverse_temperature * scores, axis=1)
        likelihoods: NDArray[np.float64] = found[np.arange(codes.size), codes]
        return likelihoods

    def after(
        self, scores: NDArray[np.float64], codes: NDArray[np.intp], weights: NDArray[np.float64]
    ) -> ClassConfidence:
        """Return what is known after some more predictions."""
        logits = self.inverse_temperature * scores
        shares = softmax(logits, axis=1)
        expected = (shares * logits).sum(axis=1)
        variances = (shares * logits**2).sum(axis=1) - expected**2
        slope = float(weights @ (expected - logits[np.arange(codes.size), codes]))
        curvature = np.exp2(-codes.size / _MEMORY_ROWS) * self.curvature
        curvature += float(weights @ np.maximum(variances, 0.0))
        step = 0.0 if curvature <= 0.0 else -slope / curvature
        step = min(max(step, -_LONGEST_STEP), _LONGEST_STEP)
        found = self.inverse_temperature * float(np.exp(step))
        low, high = _INVERSE_TEMPERATURES
        return ClassConfidence(min(max(found, low), high), curvature)

    def validate(self) -> None:
        """Require a moderate temperature."""
        low, high = _INVERSE_TEMPERATURES
        require(low <= self.inverse_temperature <= high, "inverse_temperature out of range")


@dataclass(frozen=True, eq=False)
class NumberConfidence(SavedValue):
    r"""Predictions of numbers have Gaussian errors of a learnt variance, one a target.

    The mean of squared errors, which fade with a half-life of 256 rows.

    Examples
    --------
    >>> confidence = NumberConfidence(np.ones(1), 1.0)
    >>> confidence.after(np.zeros((3, 1)), np.full((3, 1), 2.0), np.ones(3)).variances.round(1)
    array([3.3])
    """

    STATE: ClassVar[dict[str, Kind]] = {"variances": Array(), "weight": Float(0.0)}

    variances: NDArray[np.float64]  # (t,)
    weight: float  # of the errors behind them

    def log_likelihoods(
        self, predicted: NDArray[np.float64], targets: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the log-density of each row's targets, up to a constant."""
        errors = (targets - predicted) ** 2 / self.variances + np.log(self.variances)
        return np.asarray(-0.5 * errors.sum(axis=1))

    def after(
        self,
        predicted: NDArray[np.float64],
        targets: NDArray[np.float64],
        weights: NDArray[np.float64],
    ) -> NumberConfidence:
        """Return what is known after some more predictions."""
        past = float(np.exp2(-weights.size / _MEMORY_ROWS)) * self.weight
        weight = past + float(weights.sum())
        if weight <= 0.0:
            return self
        found = (past * self.variances + weights @ (targets - predicted) ** 2) / weight
        # Targets that were hit exactly must not make certainty of luck.
        return NumberConfidence(np.maximum(found, np.finfo(np.float64).tiny), weight)

    def validate(self) -> None:
        """Require positive variances."""
        require((self.variances > 0.0).all(), "variances must be positive")
