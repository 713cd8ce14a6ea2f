"""What the transformers share: they learn from rows without targets."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from streamchi2.estimators.base import StreamEstimator


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
