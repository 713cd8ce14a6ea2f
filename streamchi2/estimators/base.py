"""Base class of the estimators: one stream, and all that does not depend on what is read of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from streamchi2.checks.params import as_half_life
from streamchi2.checks.rows import Rows, as_estimator_features, as_weights, columns_of
from streamchi2.checks.targets import as_declared_classes, refuse_huge
from streamchi2.errors import StateMismatchError
from streamchi2.estimators.fit_stream import FitStream
from streamchi2.learnt import Settings
from streamchi2.readings import StreamReadings
from streamchi2.saving import Params
from streamchi2.solvers.choice import LearnerSpec
from streamchi2.sources import Batch
from streamchi2.statistics.targets import Targets
from streamchi2.stream import Stream
from streamchi2.threads import deferred_interrupts

_READ_ROWS = 4096


class StreamEstimator(FitStream, StreamReadings, BaseEstimator):
    """An estimator that holds a stream, ``_stream``, and nothing else that is fitted.

    What is read is worked out when it is first asked for and cached in the stream, so that reading
    changes nothing here.
    """

    _saved_fields: ClassVar[Mapping[str, Any]] = {
        "params": Params,
        "output": Literal["default", "pandas", "polars"] | None,
        "stream": Stream | None,
    }

    half_life: float | None
    _stream: Stream
    _signed = False  # without an intercept: whether targets 0 and 1 are -1 and 1

    def _store(self, given: dict[str, Any]) -> None:
        """Store the parameters of a constructor, which gives its ``locals()``, and nothing else."""
        self.__dict__.update((name, given[name]) for name in given if name != "self")

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X."""
        return self._fitted_stream().n_features

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns of X, where it has names."""
        names = self._fitted_stream().names
        if names is None:
            raise AttributeError("feature_names_in_ needs X to have names of columns")
        return np.array(names, dtype=object)

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learnt from, those of merged shards included."""
        return self._fitted_stream().n_rows

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has learnt; ``other`` is untouched.

        An estimator that has learnt nothing is the identity. Two that have seen parts of a stream
        become, up to rounding, what one pass over both parts would have given; where there is a
        feature map, it must be the same map, but for nodes (see ``new_shard``).

        Parameters
        ----------
        other : estimator of the same class
            With the same parameters and columns.

        Returns
        -------
        Self
            This estimator.
        """
        if type(other) is not type(self):
            raise TypeError(f"other must be a {type(self).__name__}, got {type(other).__name__}")
        for name, mine, theirs in self._different_params(other):
            # Other random states were drawn from; the maps know what came of it.
            if name != "random_state" or (isinstance(mine, int) and isinstance(theirs, int)):
                raise StateMismatchError(f"{name} must agree to merge, got {mine!r} and {theirs!r}")
        if not other.__sklearn_is_fitted__():
            return self
        with deferred_interrupts():
            if self.__sklearn_is_fitted__():
                self._stream.merge(other._stream)
            else:
                self._stream = other._stream.copy()
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "_stream" in vars(self)

    def __dir__(self) -> list[str]:
        """List attributes without reading properties: some of them would solve the model."""
        return [
            name
            for name in object.__dir__(self)
            if isinstance(getattr(type(self), name, None), property) or hasattr(self, name)
        ]

    def _get_fitted_attr_html(self, doc_link: str = "") -> dict[str, Any]:
        """Keep scikit-learn's diagram from reading every attribute, which would solve the model."""
        return {}

    def _fitted_stream(self) -> Stream:
        if "_stream" not in vars(self):
            check_is_fitted(self)  # which asks for tags first, a tenth of the time of a row
        return self._stream

    # Learning

    def _learn(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        *,
        first: bool | None = None,
        classes: ArrayLike | None = None,
        has_target: Any = True,
    ) -> Self:
        """Check a batch, then learn it: all of it, none of it or, after Ctrl-C, whole blocks.

        Parameters
        ----------
        first : bool or None
            Whether everything before is forgotten; None goes on with what there is, if anything.
        has_target : bool or ndarray of bool
            Which rows have a target; False where ``y`` is nothing.
        """
        # Asked once: another thread may learn a first batch at any time.
        fresh = not self.__sklearn_is_fitted__()
        first = fresh if first is None else first
        rows = self._checked_rows(X, reset=first)
        n_rows = int(rows.shape[0])
        weights: Any = np.ones(n_rows)
        if sample_weight is not None:
            weights = as_weights(sample_weight, n_rows)
        counts = weights > 0.0
        if first and not counts.any():
            raise ValueError(
                "sample_weight must not be zero for every row of the first batch, got "
                f"{n_rows} such rows, which are as good as none; begin with a batch that holds a "
                "row of positive weight"
            )
        self._check_params(int(rows.shape[1]))
        values = None if has_target is False else self._checked_targets(y, n_rows)
        if first:
            stream = self._new_stream(X, int(rows.shape[1]), self._no_targets(values))
        else:
            stream = self._stream
            self._refuse_changes(stream)
        if stream.spec is not None:
            stream.spec.refuse_too_large(rows)
        with stream.lock:
            targets, batch = self._encoded(stream.targets, values, counts & has_target, classes)
            if targets is not None and batch is not None:
                batch, weights = self._class_weighted(targets, batch, weights)
            if not counts.all():  # a weight of zero is as good as no row
                rows, weights = rows[counts], weights[counts]
                batch = None if batch is None else batch[counts]
            stream.n_jobs = getattr(self, "n_jobs", None)
            spec = self._learner_spec() if stream.settings.keeps_latest else None
            stream.learn(rows, batch, weights, targets, spec)
            # One step, since before its first batch an estimator has no stream with a lock.
            if fresh and self.__dict__.setdefault("_stream", stream) is not stream:
                raise RuntimeError(
                    "another thread has learnt a first batch meanwhile, and this batch was not "
                    "learnt; give it again, or let one thread learn the first batch alone"
                )
            self._stream = stream
        return self

    @staticmethod
    def _encoded(
        targets: Targets | None,
        values: NDArray[Any] | None,
        given: NDArray[np.bool_],
        classes: ArrayLike | None,
    ) -> tuple[Targets | None, NDArray[Any] | None]:
        """Return what is known of the targets after a batch, and its targets as a block has them.

        ``values`` has one entry a row, of which those count that are ``given``; None where none is.
        """
        if targets is None:
            return None, None
        if classes is not None:
            targets = targets.declared(as_declared_classes(classes, given.size))
        if values is None:
            return targets, targets.absent(given.size)
        targets, encoded = targets.encode(values[given])
        batch = targets.absent(given.size)
        batch[given] = encoded
        return targets, batch

    def _learn_batch(self, batch: Batch, *, first: bool) -> None:
        """Learn from a batch of a source; targets are for those who have a use for them."""
        self._learn(batch.rows, None, batch.weights, first=first)

    def _new_stream(self, X: Any, n_features: int, targets: Targets | None) -> Stream:
        """Return an empty stream under the present parameters, or refuse these."""
        half_life, by_class = self._checked_half_life(), self._is_balanced()
        settings = Settings(n_features, half_life=half_life, by_class=by_class)
        return Stream(settings, names_of(X), targets)

    def _check_params(self, n_features: int) -> None:
        """Refuse parameters that decide about what is read, and are wrong."""
        self._learner_spec()

    def _learner_spec(self) -> LearnerSpec:
        """Return the checked parameters that decide how statistics become a model."""
        return LearnerSpec.of({**self.get_params(deep=False), "signed": self._signed})

    def _refuse_changes(self, stream: Stream) -> None:
        """Refuse parameters that are wrong, or that were changed in the middle of a stream."""
        half_life = self._checked_half_life()
        if half_life != stream.settings.half_life:
            refuse_change("half_life", half_life, stream.settings.half_life)

    def _checked_half_life(self) -> float | None:
        return None if self.half_life is None else as_half_life(self.half_life)

    def _is_balanced(self) -> bool:
        return False

    def _checked_rows(self, X: Any, *, reset: bool) -> Rows:
        features = as_estimator_features(self, X, reset=reset)
        refuse_huge(features, name="X")
        return features

    def _checked_targets(self, y: Any, n_rows: int) -> NDArray[Any] | None:
        """Return the targets of a batch as an array, or refuse them; None where there are none."""
        return None

    def _no_targets(self, values: NDArray[Any] | None) -> Targets | None:
        """Return what a new stream knows of targets whose first values these are."""
        return None

    def _class_weighted(
        self, targets: Targets, batch: NDArray[Any], weights: NDArray[np.float64]
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return targets and weights of rows after their classes have been weighted."""
        return batch, weights

    # Parameters and files

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Return scikit-learn's answer, for which it reads the signature at every call."""
        names: list[str] = super()._get_param_names()
        return names

    def _different_params(self, other: Self) -> list[tuple[str, Any, Any]]:
        """Return names and both values of the parameters in which two estimators differ."""
        theirs = other.get_params(deep=False)
        pairs = [(name, mine, theirs[name]) for name, mine in self.get_params(deep=False).items()]
        return [pair for pair in pairs if pair[0] != "n_jobs" and not alike(*pair[1:])]

    def _lock(self) -> AbstractContextManager[Any]:
        """Return what keeps the stream as it is while it is saved."""
        return self._stream.lock if self.__sklearn_is_fitted__() else nullcontext()

    def _saved_state(self) -> dict[str, Any]:
        output = vars(self).get("_sklearn_output_config", {}).get("transform")
        stream = vars(self).get("_stream")
        return {"params": self.get_params(deep=False), "output": output, "stream": stream}

    @classmethod
    def _from_saved(cls, state: dict[str, Any]) -> Self:
        estimator = cls(**state["params"])
        if state["output"] is not None:
            estimator.set_output(transform=state["output"])
        if state["stream"] is not None:
            estimator._stream = state["stream"]
        return estimator


class StreamTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, StreamEstimator):
    """An estimator that learns from rows alone, and returns others in their place."""

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Forget everything and learn from ``X``, as one ``partial_fit`` would.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows: not negative, or of any sign and dense where the features are given.
        y : ignored
            There for pipelines.
        sample_weight : array-like of shape (n,)
            Weight of each row: 2 counts like a repeated row, 0 like no row. By default all are 1.

        Returns
        -------
        Self
            This estimator.
        """
        return self._learn(X, None, sample_weight, first=True)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one more batch of rows.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Rows, as for ``fit``.
        y : ignored
            There for pipelines.
        sample_weight : array-like of shape (n,)
            Weight of each row: 2 counts like a repeated row, 0 like no row. By default all are 1.

        Returns
        -------
        Self
            This estimator.
        """
        return self._learn(X, None, sample_weight)


def in_blocks(work: Callable[[Any], NDArray[Any]], rows: Rows) -> NDArray[Any]:
    """Return what a function makes of rows, 4096 of them at a time, in one array.

    >>> in_blocks(lambda rows: rows.sum(axis=1), np.ones((5000, 2))).shape
    (5000,)
    """
    n_rows = int(rows.shape[0])
    head = work(rows[:_READ_ROWS])
    if n_rows <= _READ_ROWS:
        return head
    result = np.empty((n_rows, *head.shape[1:]), head.dtype)
    result[:_READ_ROWS] = head
    for start in range(_READ_ROWS, n_rows, _READ_ROWS):
        result[start : start + _READ_ROWS] = work(rows[start : start + _READ_ROWS])
    return result


def names_of(X: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of a batch, if scikit-learn sees any."""
    names = columns_of(X)[1]
    return None if names is None else tuple(names.tolist())


def refuse_change(name: str, now: Any, before: Any) -> None:
    """Refuse a parameter that was changed in the middle of a stream."""
    raise ValueError(
        f"{name} must not change between calls of partial_fit, got {now!r} after {before!r}; "
        "use fit, or a clone, to start afresh"
    )


def alike(mine: Any, theirs: Any) -> bool:
    """Tell whether two values of a parameter agree; of callables the columns must tell.

    >>> alike({"hog": [0, 1]}, {"hog": np.array([0, 1])}), alike("auto", 1.0)
    (True, False)
    """
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
        return mine.keys() == theirs.keys() and all(alike(mine[key], theirs[key]) for key in mine)
    if callable(mine) and callable(theirs):
        return True
    sides = [side.toarray() if sparse.issparse(side) else side for side in (mine, theirs)]
    return mine is theirs or np.array_equal(*sides)
