"""ExpChi2Classifier for river: kernel classification of histograms, one row at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from river import base
from river.utils.dataframe import into_frame, to_native_frame, to_native_series

from streamchi2.feature_map import FeatureMap
from streamchi2.river.drift import DriftEvent
from streamchi2.river.learner import LearnerWords
from streamchi2.river.model_stream import ModelStream
from streamchi2.runtime.warnings import deferred_warnings
from streamchi2.validation import as_positive_float


class ExpChi2Classifier(LearnerWords, base.MiniBatchClassifier):
    r"""Kernel ridge classification with the exp-chi2 kernel, at linear cost and constant memory.

    Rows become features of the kernel (see :class:`ExpChi2Sampler`), least squares on one-hot
    targets is solved again whenever rows have grown by six to twelve per cent, and predictions in
    between use the last solution.

    .. math:: \min_W \sum_i \lVert y_i - W^\top z(x_i) - b \rVert^2 + \alpha \lVert W \rVert^2

    Labels may appear at any time; one that came after the last solution has probability zero until
    the next. Probabilities are a softmax of the scores, its inverse_temperature fitted to scores of rows
    that were left out.

    Laws: ``learn_many`` over any cutting and ``learn_one`` over rows give the same model, bit for
    bit; merging shards equals one pass; a refused call leaves no trace; reading changes nothing.

    Parameters
    ----------
    n_components
        Number of features D. Memory is about 8 D^2 bytes, twice that for the first D rows, with
        landmarks up to eight times that for the first 2D.
    alpha
        Penalty; "gcv" chooses it by generalised cross-validation, again whenever rows have doubled.
    beta, dof, series, n_terms, basis, n_buckets, adapt, dtype, seed
        As in :class:`ExpChi2Sampler`.
    half_life
        Rows after which everything learnt counts half; None remembers everything.
    drift_detector
        None, "adwin", or a drift detector of river's: it is fed the model's own errors, row by
        row, each made before the row was learnt. "adwin" gives the alarms of river's ADWIN with
        its usual words, and is the only one that :func:`streamchi2.save` can write.
    drift_memory
        What the past counts, from the next refresh on, when the detector has found a change. The
        landmarks k are then estimated again too.

    Attributes
    ----------
    drift_events_
        Changes found: at which row, from which row on the past was faded, and how much.
    alpha_
        The penalty in force.
    k_, beta_, transports_, n_rows_
        As in :class:`ExpChi2Sampler`.

    References
    ----------
    Li, Lebanon and Sminchisescu (2013), Algorithms 3 and 4, arXiv:1206.4074.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from streamchi2.river import ExpChi2Classifier
    >>> model = ExpChi2Classifier(n_components=256, seed=0)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 90.63%
    """

    def __init__(
        self,
        n_components: int = 1024,
        alpha: float | str = "gcv",
        beta: float | str = "auto",
        dof: float = 2.0,
        series: str = "direct",
        n_terms: int | str = "auto",
        basis: str = "orthogonal",
        n_buckets: int | str = "auto",
        adapt: bool = True,
        half_life: float | None = None,
        drift_detector: Any = None,
        drift_memory: float = 0.1,
        dtype: str = "float32",
        seed: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.alpha = alpha
        self.beta = beta
        self.dof = dof
        self.series = series
        self.n_terms = n_terms
        self.basis = basis
        self.n_buckets = n_buckets
        self.adapt = adapt
        self.half_life = half_life
        self.drift_detector = drift_detector
        self.drift_memory = drift_memory
        self.dtype = dtype
        self.seed = seed
        self._start()

    def _start(self) -> None:
        super()._start()
        self._labels: dict[Any, None] = {}  # seen, in order of appearance

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_components": 64}
        yield {"n_components": 33, "alpha": 0.1, "half_life": 99.0, "drift_detector": "adwin"}
        yield {
            "n_components": 300,
            "beta": 1.0,
            "seed": 1,
            "series": "chebyshev",
            "basis": "gaussian",
            "n_buckets": 128,
        }
        yield {"n_components": 40, "basis": "landmarks"}

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def drift_events_(self) -> tuple[DriftEvent, ...]:
        """Changes that the drift detector found, and what was done."""
        return () if self._stream is None else self._stream.events

    def _new_stream(self, recipe: FeatureMap | None = None) -> ModelStream:
        memory = as_positive_float(self.drift_memory, name="drift_memory")
        if memory > 1.0:
            raise ValueError(f"drift_memory must be above 0 and at most 1, got {memory!r}")
        return ModelStream(
            self._settings(),
            labels=True,
            detector=self.drift_detector,
            memory=memory,
            recipe=recipe,
        )

    def _checked_target(self, y: Any) -> Any:
        label = y.item() if isinstance(y, np.generic) else y
        if isinstance(label, str | bool):
            return label
        if isinstance(label, int) and -(2**63) <= label < 2**63:
            return label
        if isinstance(label, float) and np.isfinite(label):
            return label
        raise TypeError(f"y must be a word, a boolean or a finite number, got {y!r}")

    def _refuse_mixture(self, targets: list[Any]) -> None:
        known = next(iter(self._labels), targets[0] if targets else None)
        for target in targets:
            if isinstance(target, str) != isinstance(known, str):
                raise TypeError(f"y must hold labels of one kind, got {target!r} after {known!r}")

    def _remember(self, targets: list[Any]) -> None:
        self._labels.update(dict.fromkeys(targets))

    def merge(self, other: Any) -> None:
        """Absorb everything ``other`` has learnt; see :meth:`MapWords.merge`."""
        if type(other) is type(self):
            self._refuse_mixture(list(other._labels))
        with deferred_warnings():
            super().merge(other)
            self._remember(list(other._labels))

    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """Return a probability for each label seen, or an empty dict before the first."""
        model = self._model()
        if model is None:
            self._named.read(x)  # refuses what learning would refuse
            return {}
        known = model.probabilities(self._scores_one(model, x))
        return {label: known.get(label, 0.0) for label in self._labels}

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> Any:
        """Return the label with the highest score, or None before the first label."""
        model = self._model()
        if model is None:
            self._named.read(x)
            return None
        return model.label(self._scores_one(model, x))

    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame of probabilities of the same kind and index, one column a label.

        Columns are the labels themselves in pandas, their text elsewhere.
        """
        frame, model = into_frame(X), self._model()
        if model is None:
            return to_native_frame(np.empty((len(frame), 0)), columns=[], like=frame)
        known = [model.probabilities(scores) for scores in self._scores_many(model, frame)]
        columns = {
            label: np.array([row.get(label, 0.0) for row in known], dtype=np.float64)
            for label in self._labels
        }
        return to_native_frame(columns, like=frame)

    def predict_many(self, X: Any) -> Any:
        """Return a series of labels of the same kind and index; None before the first label."""
        frame, model = into_frame(X), self._model()
        guesses: list[Any] = [None] * len(frame)
        if model is not None:
            guesses = [model.label(scores) for scores in self._scores_many(model, frame)]
        return to_native_series(guesses, name=self._target_name, like=frame)
