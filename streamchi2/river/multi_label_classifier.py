"""ExpChi2MultiLabelClassifier for river: several labels a row, one row at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base
from river.utils.dataframe import into_frame

from streamchi2.estimators.documented import documented
from streamchi2.estimators.parameter_docs import ATTRIBUTES
from streamchi2.river.named_targets import NamedTargetsModel
from streamchi2.river.parameter_docs import ARGUMENTS, LEARNER
from streamchi2.statistics.targets import IndicatorTargets, NumericTargets


@documented(LEARNER, ATTRIBUTES, ARGUMENTS)
class ExpChi2MultiLabelClassifier(NamedTargetsModel, base.MultiLabelClassifier):
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

    _targets_kind = IndicatorTargets

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_components": 16, "n_terms": 2}

    def _no_targets(self) -> IndicatorTargets:
        return IndicatorTargets(1, names=())

    def _checked_value(self, name: Any, value: Any) -> float:
        if isinstance(value, bool | int | float | np.number | np.bool_) and value in (0, 1):
            return float(value)
        raise ValueError(f"y must hold True or False for each label, got {value!r} for {name!r}")

    def _with_target(
        self, known: NumericTargets, target: Mapping[str | int, float]
    ) -> NumericTargets:
        return known if target.keys() <= known.columns.keys() else known.with_names(target)

    def _probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probability of each label that the model knows, shape (n, t)."""
        model = self._schedule.model
        assert model is not None
        assert model.label_calibration is not None
        return model.label_calibration.probabilities(scores)

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, bool]:
        """Return for each label seen whether the row has it; an empty dict before the first."""
        scores = self._outputs_one(x).tolist()
        # Labels that came after the last solution have no score yet.
        return {
            name: score > 0.5 for name, score in zip_longest(self._names(), scores, fillvalue=0.0)
        }

    def predict_proba_one(
        self, x: dict[Hashable, Any], **kwargs: Any
    ) -> dict[Any, dict[bool, float]]:
        """Return for each label seen the probabilities of False and True."""
        scores = self._outputs_one(x)
        shares = self._probabilities(scores[None, :])[0].tolist() if scores.size else []
        return {
            name: {False: 1.0 - share, True: share}
            for name, share in zip_longest(self._names(), shares, fillvalue=0.0)
        }

    def predict_many(self, X: Any) -> Any:
        """Return a frame of the same kind and index, True where a row has the label of a column.

        Columns are the labels themselves in pandas, their text elsewhere.
        """
        frame = into_frame(X)
        return self._frame([row > 0.5 for row in self._outputs_many(frame)], np.bool_, frame)

    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame of the same kind and index: the probability of each label, a column."""
        frame = into_frame(X)
        scores = self._outputs_many(frame)
        shares = list(self._probabilities(np.stack(scores))) if scores else []
        return self._frame(shares, np.float64, frame)
