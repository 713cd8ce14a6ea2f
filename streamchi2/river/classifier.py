"""ExpChi2Classifier for river: kernel classification of histograms, one row at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base
from river.utils.dataframe import into_frame, to_native_frame, to_native_series

from streamchi2.checks import Floats, as_label
from streamchi2.estimators.class_targets import class_targets
from streamchi2.estimators.documented import documented
from streamchi2.estimators.parameter_docs import ATTRIBUTES
from streamchi2.model import FittedModel, ModelParams
from streamchi2.river.learner import NamedStreamModel
from streamchi2.river.parameter_docs import ARGUMENTS, LEARNER
from streamchi2.state import require
from streamchi2.statistics.class_weight import as_class_weight
from streamchi2.statistics.targets import ClassTargets
from streamchi2.stream import Stream


@documented(LEARNER, ATTRIBUTES, ARGUMENTS)
class ExpChi2Classifier(NamedStreamModel, base.MiniBatchClassifier):
    r"""Kernel ridge classification with the exp-chi2 kernel, at linear cost and constant memory.

    Rows become features of the kernel (see :class:`ExpChi2Sampler`), least squares on one-hot
    targets is solved again whenever rows have grown by six to twelve per cent, and predictions in
    between use the last solution.
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
    Accuracy: 91.11%
    """

    _targets_kind = ClassTargets
    _counts_errors = True

    def __init__(
        self,
        n_components: Any = 1024,
        descriptors: Mapping[str, Any] | None = None,
        alpha: float | str = "auto",
        penalty: str = "ridge",
        l1_ratio: float = 0.5,
        n_pca: Any = None,
        calibrate: str | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        beta: Any = "auto",
        dof: Any = 2.0,
        series: Any = "direct",
        n_terms: Any = "auto",
        basis: Any = "subspace",
        landmarks: Any = None,
        n_buckets: Any = "auto",
        normalize: str | None = None,
        adapt: bool = True,
        half_life: float | None = None,
        dtype: str = "float32",
        seed: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.descriptors = descriptors
        self.alpha = alpha
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.n_pca = n_pca
        self.calibrate = calibrate
        self.class_weight = class_weight
        self.beta = beta
        self.dof = dof
        self.series = series
        self.n_terms = n_terms
        self.basis = basis
        self.landmarks = landmarks
        self.n_buckets = n_buckets
        self.normalize = normalize
        self.adapt = adapt
        self.half_life = half_life
        self.dtype = dtype
        self.seed = seed
        self._start()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_components": 64}
        yield {"n_components": 33, "alpha": 0.1, "half_life": 99.0}
        yield {
            "n_components": 300,
            "beta": 1.0,
            "seed": 1,
            "series": "chebyshev",
            "basis": "gaussian",
            "n_buckets": 128,
        }
        yield {
            "n_components": 64,
            "basis": "additive",
            "n_pca": 5,
            "penalty": "lasso",
            "alpha": 0.1,
        }
        yield {
            "n_components": 2,
            "basis": "landmarks",
            "landmarks": [{"x": 1.0, 0: 0.5}, {"y": 1.0, 1: 2.0}],
            "class_weight": "balanced",
        }
        yield {
            "n_components": 48,
            "descriptors": {"all text": "", "some": ["empty_server_form_handler", "ordinal_date"]},
        }

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels seen, sorted."""
        if self._stream is None:
            raise AttributeError(f"this {type(self).__name__} has seen no label yet")
        assert isinstance(self._stream.targets, ClassTargets)
        return self._stream.targets.labels.copy()

    @property
    def _multiclass(self) -> bool:
        return True

    def _no_targets(self) -> ClassTargets:
        return class_targets(None, self.class_weight)

    def _validated_params(self) -> ModelParams:
        if self._stream is not None:
            assert isinstance(self._stream.targets, ClassTargets)
            class_targets(self._stream.targets, self.class_weight)
        class_weight = as_class_weight(self.class_weight)
        return replace(super()._validated_params(), class_weight=class_weight)

    def _checked_target(self, y: Any) -> Any:
        return as_label(y)

    def _known_targets(self, stream: Stream, targets: Sequence[Any]) -> ClassTargets:
        known = stream.targets
        assert isinstance(known, ClassTargets)
        for target in targets:
            if target not in known.label_set:
                known = known.with_batch(np.array([target]))
        return known

    def _errors(
        self, model: FittedModel, targets: NDArray[Any], features: Floats
    ) -> NDArray[np.bool_]:
        assert model.classes is not None
        scores = model.linear.scores(features.astype(np.float64))  # as those of single rows are
        places = self._shifted(model, scores).argmax(axis=1)
        wrong: NDArray[np.bool_] = model.classes[places] != targets["label"]
        return wrong

    @staticmethod
    def _probabilities(
        model: FittedModel, scores: NDArray[np.float64], labels: list[Any]
    ) -> dict[Any, float]:
        """Return a probability for each label, from the scores of those that a model knows."""
        assert model.calibration is not None
        shares = model.calibration.probabilities(scores)
        known = dict(zip(model.labels, shares.tolist(), strict=True))
        return {label: known.get(label, 0.0) for label in labels}

    def _labels_seen(self) -> list[Any]:
        assert self._stream is not None
        assert isinstance(self._stream.targets, ClassTargets)
        labels: list[Any] = self._stream.targets.labels.tolist()
        return labels

    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """Return a probability for each label seen, or an empty dict before the first."""
        model = self._schedule.model
        if model is None:
            self._reader.read(x)  # refuses what learning would refuse
            return {}
        # The model once for all: another thread may learn meanwhile.
        return self._probabilities(model, self._scores_one(model, x), self._labels_seen())

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> Any:
        """Return the label with the highest score, or None before the first label."""
        model = self._schedule.model
        if model is None:
            self._reader.read(x)
            return None
        return model.labels[int(self._scores_one(model, x).argmax())]

    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame of probabilities of the same kind and index, one column a label.

        Columns are the labels themselves in pandas, their text elsewhere.
        """
        frame, model = into_frame(X), self._schedule.model
        if model is None:
            return to_native_frame(np.empty((len(frame), 0)), columns=[], like=frame)
        labels = self._labels_seen()
        rows = [
            self._probabilities(model, scores, labels) for scores in self._scores_many(model, frame)
        ]
        columns = {
            label: np.array([row[label] for row in rows], dtype=np.float64) for label in labels
        }
        return to_native_frame(columns, like=frame)

    def predict_many(self, X: Any) -> Any:
        """Return a series of labels of the same kind and index; None before the first label."""
        frame, model = into_frame(X), self._schedule.model
        guesses: list[Any] = [None] * len(frame)
        if model is not None:
            found = self._scores_many(model, frame)
            guesses = [model.labels[int(scores.argmax())] for scores in found]
        return to_native_series(guesses, name=self._target_name, like=frame)

    def _check_model(self, model: FittedModel, stream: Stream) -> None:
        require(model.classes is not None, "a classifier has labels")
        assert isinstance(stream.targets, ClassTargets)
        assert model.classes is not None
        stream.targets.check_values(model.classes)
