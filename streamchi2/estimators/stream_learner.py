"""What the learning estimators share: a stream behind them and a solution before them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from streamchi2.errors import StateMismatchError
from streamchi2.estimators.out_of_core import OutOfCore
from streamchi2.runtime.interrupts import deferred_interrupts
from streamchi2.statistics.buffered_tracker import BufferedTracker
from streamchi2.validation import (
    Floats,
    Rows,
    as_estimator_features,
    as_positive_float,
    as_weights,
    check_same_columns,
    columns_of,
    record_columns,
    refuse_huge,
)


class StreamLearner(OutOfCore, BaseEstimator):
    """An estimator that holds a buffered tracker and a lazily solved model.

    Subclasses set ``_stream`` and ``_solution`` after everything has been checked, and say in
    :meth:`_new_solution` how a solution follows from the stream.
    """

    half_life: float | None
    _stream: BufferedTracker[Any]
    _solution: Any  # solves when it is first read

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learnt from, those of merged shards included."""
        return self._stream.n_rows

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has learnt; ``other`` is untouched.

        An estimator that has learnt nothing is the identity. Two that have seen parts of a stream
        become, up to rounding, what one pass over both parts would have given.

        Parameters
        ----------
        other : estimator of the same class
            With the same parameters and columns.

        Returns
        -------
        Self
            This estimator.
        """
        self._check_mergeable(other)
        if not other.__sklearn_is_fitted__():
            return self
        if self.__sklearn_is_fitted__():
            check_same_columns(self, other)
            words, stream = self._merged_words(other), self._stream
            # Copied first: two that merge each other must not wait for each other's lock.
            shard = other._stream.copy()
            with stream.lock, deferred_interrupts():
                stream.take_over(shard)
                self._swap_in(stream, words)
        else:
            with deferred_interrupts():
                self._swap_in(other._stream.copy(), other._words_of_stream() | columns_of(other))
        return self

    def _absorbed(
        self,
        stream: BufferedTracker[Any],
        rows: Rows,
        targets: NDArray[Any] | None,
        weights: NDArray[np.float64] | None,
        *,
        first: Any,
        **words: Any,
    ) -> Self:
        """Feed a checked batch to a stream, and swap in all that follows from it.

        ``first`` is the batch as the user gave it where it is the first one, else None; ``words``
        are attributes to set. Other threads, and whoever catches a KeyboardInterrupt, see an
        estimator that has learnt all of the batch, none of it or, of a later batch, whole blocks.
        """
        before = stream.n_rows
        with stream.lock, deferred_interrupts():
            try:
                stream.update(rows, targets, weights=weights)
            except BaseException:
                if first is None and stream.n_rows > before:
                    self._swap_in(stream, words)
                raise
            if first is not None:
                record_columns(self, first)
            self._swap_in(stream, words)
        return self

    def _swap_in(self, stream: BufferedTracker[Any], words: dict[str, Any]) -> None:
        self.__dict__.update(words)
        solution = self._new_solution(stream)
        self._stream, self._solution = stream, solution

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_stream")

    def _new_solution(self, stream: BufferedTracker[Any]) -> Any:
        raise NotImplementedError

    def _words_of_stream(self) -> dict[str, Any]:
        """Return what beside the tracker describes the stream; copied by a first merge."""
        return {}

    def _merged_words(self, other: Self) -> dict[str, Any]:
        """Return the same for both streams together, or refuse."""
        return {}

    def _checked_features(self, X: Any, *, first: bool) -> Floats:
        features = as_estimator_features(self, X, reset=first)
        refuse_huge(features, name="X")
        return features

    @staticmethod
    def _checked_weights(
        sample_weight: ArrayLike | None, n_rows: int, *, first: bool
    ) -> NDArray[np.float64] | None:
        weights = as_weights(sample_weight, n_rows)
        if first and weights is not None and not weights.any():
            raise ValueError("sample_weight must not be zero for every row of the first batch")
        return weights

    def _checked_half_life(self, *, first: bool) -> float | None:
        present = self.half_life
        if present is not None:
            present = as_positive_float(present, name="half_life")
        if not first:
            before = self._half_life_of(self._stream.tracker)
            if present != before:
                raise ValueError(
                    f"half_life must not change between calls of partial_fit, got {present} after "
                    f"{before}; use fit, or a clone, to start afresh"
                )
        return present

    @staticmethod
    def _half_life_of(tracker: Any) -> float | None:
        features = getattr(tracker, "features", tracker)
        half_life: float | None = features.half_life
        return half_life

    def _check_mergeable(self, other: Any) -> None:
        if type(other) is not type(self):
            raise TypeError(f"other must be a {type(self).__name__}, got {type(other).__name__}")
        theirs = other.get_params()
        for name, mine in self.get_params().items():
            if self._differs(name, mine, theirs[name]):
                raise StateMismatchError(
                    f"{name} must agree to merge, got {mine!r} and {theirs[name]!r}"
                )

    def _differs(self, name: str, mine: Any, theirs: Any) -> bool:
        """Tell whether two values of a constructor word forbid a merge."""
        return bool(mine != theirs)
