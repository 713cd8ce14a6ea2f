"""The constructor words of the linear learners, and what can be read of their models."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from streamchi2.estimators.lazy_solution import LazySolution
from streamchi2.estimators.stream_learner import StreamLearner
from streamchi2.solvers.least_squares import PENALTIES, least_squares
from streamchi2.solvers.linear_model import LinearModel
from streamchi2.statistics.buffered_tracker import BufferedTracker
from streamchi2.validation import as_choice, as_positive_float


@dataclass(frozen=True)
class LinearWords:
    """How moments become a model, checked."""

    penalty: str
    alpha: float | Literal["gcv"]
    l1_ratio: float


def checked_words(
    penalty: str, alpha: float | str, l1_ratio: float, *, grouped: bool = False
) -> LinearWords:
    """Return the words of a linear learner, or refuse them.

    ``grouped`` says whether there are groups of features that a penalty can choose among.

    >>> checked_words("ridge", "gcv", 0.5)
    LinearWords(penalty='ridge', alpha='gcv', l1_ratio=0.5)
    """
    as_choice(penalty, (*PENALTIES, "group_lasso") if grouped else PENALTIES, name="penalty")
    if isinstance(alpha, str):
        as_choice(alpha, ("gcv",), name="alpha")
    elif alpha != 0:
        alpha = as_positive_float(alpha, name="alpha")
    share = as_positive_float(l1_ratio, name="l1_ratio")
    if share > 1.0:
        raise ValueError(f"l1_ratio must be above 0 and at most 1, got {l1_ratio!r}")
    return LinearWords(penalty, "gcv" if isinstance(alpha, str) else alpha, share)


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """A model and, for a classifier, the labels of its outputs."""

    model: LinearModel
    classes: NDArray[Any] | None


class LinearLearner(StreamLearner):
    """A stream learner whose solution is a linear model of its features."""

    alpha: float | str
    penalty: str
    l1_ratio: float

    @property
    def alpha_(self) -> float:
        """Strength of the penalty, as given or as chosen by generalised cross-validation."""
        return self._model.alpha

    @property
    def _model(self) -> LinearModel:
        return self._found().model

    def _found(self) -> LinearSolution:
        check_is_fitted(self)
        found: LinearSolution = self._solution.get()
        return found

    def _checked_words(self) -> LinearWords:
        return checked_words(self.penalty, self.alpha, self.l1_ratio)

    def _new_solution(self, stream: BufferedTracker[Any]) -> LazySolution[LinearSolution]:
        return LazySolution(partial(_solved, stream, self._checked_words()))


def _solved(stream: BufferedTracker[Any], words: LinearWords) -> LinearSolution:
    tracker = stream.snapshot()
    model = least_squares(
        tracker.summary(), penalty=words.penalty, alpha=words.alpha, l1_ratio=words.l1_ratio
    )
    for array in (model.coef, model.intercept, model.centre):
        array.setflags(write=False)
    classes: NDArray[np.generic] | None = getattr(tracker, "classes", None)
    return LinearSolution(model, classes)
