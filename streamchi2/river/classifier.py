"""ExpChi2Classifier for river: kernel classification of histograms, one row at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base
from river.utils.dataframe import to_native_frame, to_native_series

from streamchi2.checks.targets import as_label
from streamchi2.docstrings import RIVER, documented
from streamchi2.model import Model
from streamchi2.readings import DescriptorReadings
from streamchi2.river.base import NamedStreamEstimator
from streamchi2.saving import saved
from streamchi2.statistics.targets import Targets


@saved("river.ExpChi2Classifier")
@documented(RIVER)
class ExpChi2Classifier(DescriptorReadings, NamedStreamEstimator, base.MiniBatchClassifier):
    r"""Kernel ridge classification with the exp-chi2 kernel, at linear cost and constant memory.

    Rows become features of the kernel (see :class:`ExpChi2Sampler`), least squares on one-hot
    targets is solved again whenever rows have grown by six to twelve per cent, and in between the
    latest rows correct it.
    ``alpha``, where it is not a number, is chosen again whenever the number of rows has doubled.
    Every penalty but "ridge", and ``n_pca``, makes each solution some ten times as expensive.

    .. math:: \min_W \sum_i \lVert y_i - W^\top z(x_i) - b \rVert^2 + \alpha \lVert W \rVert^2

    Labels may appear at any time; one that came after the last solution has probability zero until
    the next. Probabilities are a softmax of the scores, mixed with the same for every label, both
    fitted to scores of rows that were left out.

    Laws: ``learn_many`` over any cutting and ``learn_one`` over rows give the same model, bit for
    bit; merging shards equals one pass; a refused call leaves no trace; reading changes nothing.

    %(parameters)s

    %(attributes)s

    References
    ----------
    Li, Lebanon and Sminchisescu (2013), Algorithms 3 and 4, arXiv:1206.4074.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from streamchi2.river import ExpChi2Classifier
    >>> model = ExpChi2Classifier(n_components=256, seed=0)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 91.03%
    """

    _checked_target = staticmethod(as_label)
    class_weight: Mapping[Any, float] | str | None
    class_shift: str | None

    def __init__(
        self,
        n_components: Any = 1024,
        *,
        norm: str | None = None,
        basis: Any = "subspace",
        beta: Any = "auto",
        alpha: float | str = "auto",
        class_weight: Mapping[Any, float] | str | None = None,
        half_life: float | str | None = "auto",
        latest_rows: int = 64,
        descriptors: Mapping[str, Any] | None = None,
        seed: int | None = None,
        n_pca: Any = None,
        penalty: str = "ridge",
        l1_ratio: float = 0.5,
        class_shift: str | None = None,
        dof: Any = 2.0,
        series: Any = "direct",
        n_terms: Any = "auto",
        landmarks: Sequence[Mapping[Hashable, Any]] | None = None,
        adapt: bool = True,
    ) -> None:
        self._start(locals())

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_components": 64}

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels seen, sorted."""
        targets = None if self._stream is None else self._stream.targets
        if targets is None or not targets.names:
            raise AttributeError(f"this {type(self).__name__} has seen no label yet")
        labels: NDArray[Any] = targets.classes_sorted[0].copy()
        return labels

    @property
    def _multiclass(self) -> bool:
        return True

    def _no_targets(self) -> Targets:
        return Targets("labels")

    def _shares(self, model: Model | None, scores: NDArray[np.float64]) -> dict[Any, float]:
        """Return the probability of each label; zero where it came after the last solution."""
        if model is None:
            return {}
        shares = dict(zip(model.labels, model.probabilities(scores).tolist(), strict=True))
        return {label: shares.get(label, 0.0) for label in self._labels()}

    def _labels(self) -> list[Any]:
        targets = self._fitted_stream().targets
        assert targets is not None
        return sorted(targets.names)

    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """Return a probability for each label seen, or an empty dict before the first.

        Parameters
        ----------
        x : dict
            Features by name, finite and non-negative; a missing key is a zero.
        """
        return self._shares(*self._scores_one(x))

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> Any:
        """Return the label with the highest score, or None before the first label.

        Parameters
        ----------
        x : dict
            Features by name, finite and non-negative; a missing key is a zero.
        """
        model, scores = self._scores_one(x)
        return None if model is None else model.labels[int(scores.argmax())]

    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame of probabilities of the same kind and index, one column a label.

        Columns are the labels themselves in pandas, their text elsewhere.

        Parameters
        ----------
        X : pandas, polars or pyarrow DataFrame
            Rows without missing values; names of columns are keys.
        """
        frame, model, scores = self._scores_many(X)
        labels = [] if model is None else self._labels()
        shares = [list(self._shares(model, row).values()) for row in scores]
        table = np.array(shares, dtype=np.float64).reshape(len(frame), len(labels))
        return to_native_frame(dict(zip(labels, table.T, strict=True)), like=frame)

    def predict_many(self, X: Any) -> Any:
        """Return a series of labels of the same kind and index; None before the first label.

        Parameters
        ----------
        X : pandas, polars or pyarrow DataFrame
            Rows without missing values; names of columns are keys.
        """
        frame, model, scores = self._scores_many(X)
        labels: list[Any] = [None] * len(frame)
        if model is not None:
            labels = [model.labels[int(row.argmax())] for row in scores]
        return to_native_series(labels, name=self._target_name, like=frame)
