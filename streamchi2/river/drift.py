"""Watching a model's own errors for a change, with ADWIN or any detector of river's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from river import base

from streamchi2.river.adwin import Adwin
from streamchi2.state import Float, Int, Kind, SavedValue


@dataclass(frozen=True)
class DriftEvent(SavedValue):
    """A change that a drift detector has found, an entry of ``drift_events_``.

    Parameters
    ----------
    found_at : int
        Number of rows up to and including the one whose error raised the alarm.
    acted_at : int
        Number of rows after which the model was next solved, with the past faded.
    memory : float
        Factor by which everything learnt before counts less since then: ``drift_memory``.

    Examples
    --------
    >>> DriftEvent(found_at=432, acted_at=512, memory=0.1)
    DriftEvent(found_at=432, acted_at=512, memory=0.1)
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "found_at": Int(1),
        "acted_at": Int(1),
        "memory": Float(0.0),
    }

    found_at: int
    acted_at: int
    memory: float


def as_detector(detector: Any) -> Any:
    """Return a detector of one's own: None, ADWIN by name, or a clone of the one given.

    >>> as_detector("adwin").drift_detected
    False
    """
    if detector is None:
        return None
    if isinstance(detector, str) and detector == "adwin":
        return Adwin()
    if isinstance(detector, base.DriftDetector | base.BinaryDriftDetector):
        return detector.clone()
    raise ValueError(
        f"drift_detector must be None, 'adwin' or a drift detector of river's, got {detector!r}"
    )


def first_alarm(detector: Any, errors: NDArray[np.bool_]) -> int | None:
    """Feed errors in order; return the number of rows up to the first alarm, or None.

    >>> detector = Adwin()
    >>> first_alarm(detector, np.repeat([False, True], 200))
    224
    """
    alarm = None
    for row, error in enumerate(errors.tolist()):
        detector.update(error)
        if alarm is None and detector.drift_detected:
            alarm = row + 1
    return alarm
