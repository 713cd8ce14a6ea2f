"""ExpChi2MultiLabelClassifier for river: several labels a row, one row at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from streamchi2.docstrings import documented
from streamchi2.model import Model
from streamchi2.readings import DescriptorReadings
from streamchi2.river.base import NamedStreamEstimator
from streamchi2.river.named_targets import (
    by_name,
    checked_by_name,
    dicts_of_frame,
    frame_of,
    names_of,
)
from streamchi2.river.parameter_docs import RIVER
from streamchi2.saving import saved
from streamchi2.statistics.targets import Targets


@saved("river.ExpChi2MultiLabelClassifier")
@documented(RIVER)
class ExpChi2MultiLabelClassifier(
    DescriptorReadings, NamedStreamEstimator, base.MultiLabelClassifier
):
    r"""Kernel ridge classification where a row may have several labels.

    Rows become features z of the kernel (see :class:`ExpChi2Sampler`). Least squares is solved for
    all labels at once, with 1 for a row that has the label and 0 for one that has not, under one
    penalty; a label is predicted where its score exceeds one half.

    .. math:: \min_W \sum_i \lVert y_i - W^\top z(x_i) - b \rVert^2 + \alpha \lVert W \rVert^2

    Targets are dicts of label to True or False. A label that a dict does not name counts as False,
    and so does a new label in all rows before its first. One that came after the last solution is
    predicted as False until the next. It is solved when :class:`ExpChi2Classifier` is.

    Laws: the statistics and the scores are those of :class:`streamchi2.ExpChi2Classifier` for an
    indicator matrix; a label that appears late gives the model of one that was named from the
    start, up to rounding; merging shards equals one pass; a refused call leaves no trace; reading
    changes nothing.

    %(parameters)s

    %(attributes)s

    Examples
    --------
    >>> from streamchi2.river import ExpChi2MultiLabelClassifier
    >>> shares = np.random.default_rng(0).dirichlet(np.ones(6), size=400).tolist()
    >>> rows = [dict(enumerate(share)) for share in shares]
    >>> model = ExpChi2MultiLabelClassifier(n_components=128, seed=0)
    >>> for x in rows:
    ...     model.learn_one(x, {"much of 0": x[0] > 0.2, "much of 1": x[1] > 0.2})
    >>> model.predict_one({0: 0.5, 2: 0.5})
    {'much of 0': True, 'much of 1': False}
    """

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_components": 16, "n_terms": 2}

    @property
    def target_names_(self) -> list[Any]:
        """Labels in the order in which they came, that of the rows of ``coef_``."""
        return names_of(self._stream)

    def _no_targets(self) -> Targets:
        return Targets("indicators")

    @staticmethod
    def _checked_target(y: Any, /) -> dict[str | int, float]:
        return checked_by_name(y, _as_indicator)

    def _read_targets(self, y: Any) -> tuple[list[Any], Any]:
        return dicts_of_frame(y), None

    def _shares(self, model: Model | None, scores: NDArray[np.float64]) -> list[float]:
        """Return the probability of each label that the model knows."""
        return [] if model is None else model.probabilities(scores).tolist()

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, bool]:
        """Return for each label seen whether the row has it; an empty dict before the first.

        Parameters
        ----------
        x : dict
            Features by name, finite and non-negative; a missing key is a zero.
        """
        _, scores = self._scores_one(x)
        return {name: score > 0.5 for name, score in by_name(self._stream, scores.tolist())}

    def predict_proba_one(
        self, x: dict[Hashable, Any], **kwargs: Any
    ) -> dict[Any, dict[bool, float]]:
        """Return for each label seen the probabilities of False and True.

        Parameters
        ----------
        x : dict
            Features by name, finite and non-negative; a missing key is a zero.
        """
        shares = self._shares(*self._scores_one(x))
        pairs = by_name(self._stream, shares)
        return {name: {False: 1.0 - share, True: share} for name, share in pairs}

    def predict_many(self, X: Any) -> Any:
        """Return a frame of the same kind and index, True where a row has the label of a column.

        Columns are the labels themselves in pandas, their text elsewhere.

        Parameters
        ----------
        X : pandas, polars or pyarrow DataFrame
            Rows without missing values; names of columns are keys.
        """
        frame, _, scores = self._scores_many(X)
        return frame_of([row > 0.5 for row in scores], self.target_names_, np.bool_, frame)

    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame of the same kind and index: the probability of each label, a column.

        Parameters
        ----------
        X : pandas, polars or pyarrow DataFrame
            Rows without missing values; names of columns are keys.
        """
        frame, model, scores = self._scores_many(X)
        shares = [np.array(self._shares(model, row)) for row in scores]
        return frame_of(shares, self.target_names_, np.float64, frame)


def _as_indicator(value: Any, where: str) -> float:
    if isinstance(value, bool | int | float | np.number | np.bool_) and value in (0, 1):
        return float(value)
    raise ValueError(f"y must hold True or False for each label, got {value!r}{where}")
