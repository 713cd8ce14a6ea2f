"""Several targets a row for river, by their names: dicts and frames in, dicts and frames out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base
from river.utils.dataframe import into_frame, to_native_frame

from streamchi2.checks.targets import as_number
from streamchi2.docstrings import RIVER, documented
from streamchi2.model import Model
from streamchi2.readings import DescriptorReadings
from streamchi2.river.base import NamedStreamEstimator
from streamchi2.river.dict_rows import column_names
from streamchi2.saving import saved
from streamchi2.statistics.targets import Targets


class SeveralTargets(DescriptorReadings, NamedStreamEstimator):
    """A learner of targets that have names, and may get more of them."""

    _checked_value: Callable[[Any, str], float]  # of a value and where it stands

    @property
    def target_names_(self) -> list[Any]:
        """Names of targets in the order in which they came, that of the rows of ``coef_``."""
        targets = None if self._stream is None else self._stream.targets
        return [] if targets is None else list(targets.names)

    def _checked_target(self, y: Any, /) -> dict[str | int, float]:
        if not isinstance(y, Mapping):
            raise TypeError(f"y must be a dict with a value for each target, got {y!r}")
        check = self._checked_value
        return {_as_name(name): check(value, f" for {name!r}") for name, value in y.items()}

    def _read_targets(self, y: Any) -> tuple[list[Any], Any]:
        frame = into_frame(y)
        names = column_names(frame, "y")
        columns = [frame[:, index].to_list() for index in range(len(names))]
        rows = zip(*columns, strict=True) if columns else [()] * len(frame)
        return [dict(zip(names, row, strict=True)) for row in rows], None

    def _by_name(self, values: Sequence[float]) -> list[tuple[Any, float]]:
        """Return each name with its value; those that came after the last solution have zero."""
        names = self.target_names_
        # Before the first name there is one value.
        padded = [*values, *[0.0] * len(names)][: len(names)]
        return list(zip(names, padded, strict=True))

    def _frame_of(self, rows: Sequence[NDArray[Any]], dtype: type, like: Any) -> Any:
        """Return a frame like another: values of rows, zero for names that came after them."""
        names = self.target_names_
        values: NDArray[Any] = np.zeros((len(like), len(names)), dtype=dtype)
        for index, row in enumerate(rows):
            values[index, : row.size] = row[: len(names)]
        return to_native_frame(values, columns=names, like=like)


def _as_name(name: Any) -> str | int:
    plain: str | int = name.item() if isinstance(name, np.generic) else name
    if type(plain) not in (str, int):
        raise TypeError(f"names of targets in y must be text or whole numbers, got {name!r}")
    return plain


def _as_indicator(value: Any, where: str) -> float:
    if isinstance(value, bool | int | float | np.number | np.bool_) and value in (0, 1):
        return float(value)
    raise ValueError(f"y must hold True or False for each label, got {value!r}{where}")


@saved("river.ExpChi2MultiLabelClassifier")
@documented(RIVER)
class ExpChi2MultiLabelClassifier(SeveralTargets, base.MultiLabelClassifier):
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

    _checked_value = staticmethod(_as_indicator)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_components": 16, "n_terms": 2}

    def _no_targets(self) -> Targets:
        return Targets("indicators")

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
        return {name: score > 0.5 for name, score in self._by_name(scores.tolist())}

    def predict_proba_one(
        self, x: dict[Hashable, Any], **kwargs: Any
    ) -> dict[Any, dict[bool, float]]:
        """Return for each label seen the probabilities of False and True.

        Parameters
        ----------
        x : dict
            Features by name, finite and non-negative; a missing key is a zero.
        """
        pairs = self._by_name(self._shares(*self._scores_one(x)))
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
        return self._frame_of([row > 0.5 for row in scores], np.bool_, frame)

    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame of the same kind and index: the probability of each label, a column.

        Parameters
        ----------
        X : pandas, polars or pyarrow DataFrame
            Rows without missing values; names of columns are keys.
        """
        frame, model, scores = self._scores_many(X)
        shares = [np.array(self._shares(model, row)) for row in scores]
        return self._frame_of(shares, np.float64, frame)


@saved("river.ExpChi2MultiTargetRegressor")
@documented(RIVER)
class ExpChi2MultiTargetRegressor(SeveralTargets, base.MultiTargetRegressor):  # type: ignore[misc]
    r"""Kernel ridge regression with several numeric targets a row.

    Rows become features z of the kernel (see :class:`ExpChi2Sampler`), and least squares is solved
    for all targets at once, under one penalty, when :class:`ExpChi2Regressor` solves it.

    .. math:: \min_W \sum_i \lVert y_i - W^\top z(x_i) - b \rVert^2 + \alpha \lVert W \rVert^2

    Targets are dicts of name to number. The first row says which names there are; a row that lacks
    one or has another is refused, since a number that is not known cannot be taken for zero.

    Laws: the statistics and the predictions are those of :class:`streamchi2.ExpChi2Regressor` for
    a matrix of targets; merging shards equals one pass; a refused call leaves no trace; reading
    changes nothing.

    %(parameters)s

    %(attributes)s

    Examples
    --------
    >>> from river import evaluate, metrics
    >>> from streamchi2.river import ExpChi2MultiTargetRegressor
    >>> shares = np.random.default_rng(0).dirichlet(np.ones(8), size=600).tolist()
    >>> rows = [dict(enumerate(share)) for share in shares]
    >>> stream = [(x, {"wave": np.sin(8 * x[0]), "sum": x[1] + x[2]}) for x in rows]
    >>> model = ExpChi2MultiTargetRegressor(n_components=256, seed=0)
    >>> metric = metrics.multioutput.MicroAverage(metrics.R2())
    >>> print(f"{evaluate.progressive_val_score(stream, model, metric).get():.2f}")
    0.86
    """

    _checked_value = staticmethod(as_number)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_components": 16, "n_terms": 2, "half_life": 99.0, "basis": "orthogonal"}

    def _no_targets(self) -> Targets:
        return Targets("numbers")

    def predict_one(self, x: dict[Hashable, Any]) -> dict[Any, float]:
        """Return a number for each target; an empty dict before the first row.

        Parameters
        ----------
        x : dict
            Features by name, finite and non-negative; a missing key is a zero.
        """
        model, scores = self._scores_one(x)
        return {} if model is None else dict(self._by_name(scores.tolist()))

    def predict_many(self, X: Any) -> Any:
        """Return a frame of the same kind and index as ``X``, a column for each target.

        Parameters
        ----------
        X : pandas, polars or pyarrow DataFrame
            Rows without missing values; names of columns are keys.
        """
        frame, _, scores = self._scores_many(X)
        return self._frame_of(scores, np.float64, frame)
