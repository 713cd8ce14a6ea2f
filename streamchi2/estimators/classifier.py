"""ExpChi2Classifier: online classification of histograms with the exp-chi2 kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamchi2.docstrings import documented
from streamchi2.estimators.mapped import MapLearner
from streamchi2.estimators.predictors import StreamClassifier
from streamchi2.readings import DescriptorReadings
from streamchi2.saving import register


@documented()
class ExpChi2Classifier(StreamClassifier, MapLearner, DescriptorReadings):
    r"""Kernel ridge classification of histograms, learnt from a stream at linear cost.

    Rows become features of the exp-chi2 kernel (see :class:`ExpChi2Sampler`); least squares on
    one-hot targets is solved from their statistics when a prediction is asked for.

    .. math:: \min_W \sum_i \lVert y_i - W^\top z(x_i) - b \rVert^2 + \alpha \lVert W \rVert^2

    A label -1 is a class like any other; rows without labels are for :meth:`observe`.

    Laws: any cutting of the same rows into batches gives the same model, bit for bit; merging
    shards equals one pass; a class that appears late gives the model of one announced at the
    start; a refused call leaves no trace; reading changes nothing.

    %(parameters)s

    %(attributes)s

    References
    ----------
    Li, Lebanon and Sminchisescu (2013), Algorithms 3 and 4, arXiv:1206.4074.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> X /= X.sum(axis=1, keepdims=True)
    >>> model = ExpChi2Classifier(n_components=512, random_state=0)
    >>> for start in range(0, 1200, 100):
    ...     model = model.partial_fit(X[start : start + 100], y[start : start + 100])
    >>> print(f"{model.score(X[1200:], y[1200:]):.3f}")
    0.948
    """

    _observes = True

    def __init__(
        self,
        n_components: int | Mapping[str, int] = 1024,
        *,
        norm: str | None = None,
        basis: Any = "subspace",
        beta: Any = "auto",
        alpha: float | str = "auto",
        class_weight: Mapping[Any, float] | str | None = None,
        half_life: float | str | None = None,
        latest_rows: int = 0,
        descriptors: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_pca: Any = None,
        penalty: str = "ridge",
        l1_ratio: float = 0.5,
        class_shift: str | None = None,
        dof: float = 2,
        series: str = "direct",
        n_terms: Any = "auto",
        landmarks: Any = None,
        adapt: bool = True,
    ) -> None:
        self._store(locals())

    def observe(self, X: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from rows without labels: the histogram of inputs and the principal components.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Non-negative rows.
        sample_weight : array-like of shape (n,)
            Weight of each row. By default all are 1.

        Returns
        -------
        Self
            This estimator.
        """
        return self._learn(X, None, sample_weight, has_target=False)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return one probability per row and class.

        A softmax of the scores, mixed with the same probability for every class: labels may be
        wrong. Its inverse temperature and the share of the mixture have the least log-loss on
        sampled rows that were left out. The class that :meth:`predict` returns has the highest
        probability. Where y was an indicator matrix, the probability of each label, from a softmax
        of its own.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Non-negative rows.

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        model = self._model()
        return self._from_scores(model, X, model.probabilities)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n, d)
            Non-negative rows.

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


register(ExpChi2Classifier, name="ExpChi2Classifier")
