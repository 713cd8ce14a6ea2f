"""StreamingRidgeClassifier: one linear score a class, classes welcome at any time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamchi2.docstrings import documented
from streamchi2.estimators.predictors import StreamClassifier
from streamchi2.saving import register


@documented()
class StreamingRidgeClassifier(StreamClassifier):
    r"""Penalised least squares on one-hot classes, from a stream of features.

    One regression a class, with targets 1 for its rows and 0 for all others; the class with the
    highest score is predicted. Learning costs the same for two classes and for a thousand.

    Laws: any cutting of the same rows into batches gives the same model, bit for bit; a class that
    first appears late gives the same model as one announced at the start; merged shards equal
    one pass; a refused call leaves no trace; reading changes nothing.

    %(parameters)s

    %(attributes)s

    See Also
    --------
    sklearn.linear_model.RidgeClassifier : targets 1 and -1, all rows at once. For two classes
        the scores are the same; for more, theirs are twice ours less one.

    Notes
    -----
    Absent, beside scikit-learn's RidgeClassifier: ``solver``, ``positive`` and sparse input. For
    ``predict_proba`` there is scikit-learn's ``CalibratedClassifierCV``.

    A row costs d^2 operations, the state is d (d + c) numbers, and solving costs d^3 / 3 + c d^2.

    References
    ----------
    Hoerl and Kennard (1970), doi:10.1080/00401706.1970.10488634.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = StreamingRidgeClassifier(alpha="auto")
    >>> for start in range(0, 1500, 100):
    ...     model = model.partial_fit(X[start : start + 100], y[start : start + 100])
    >>> print(f"{model.score(X[1500:], y[1500:]):.3f}")
    0.869
    """

    _signed = True

    def __init__(
        self,
        alpha: float | str = 1.0,
        *,
        class_weight: Mapping[Any, float] | str | None = None,
        half_life: float | None = None,
        penalty: str = "ridge",
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
    ) -> None:
        self.alpha = alpha
        self.class_weight = class_weight
        self.half_life = half_life
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Coefficients of the scores, shape (n_classes, d); (1, d) for two classes."""
        model = self._model()
        coef = model.linear.coef.T
        if model.targets.kind == "indicators":
            return 2.0 * coef
        return coef[1:] - coef[:1] if coef.shape[0] == 2 else coef

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Intercepts of the scores, shape (n_classes,); (1,) for two classes."""
        model = self._model()
        intercept = model.linear.intercept
        if model.targets.kind == "indicators":
            return 2.0 * intercept - 1.0
        return intercept[1:] - intercept[:1] if intercept.size == 2 else intercept


register(StreamingRidgeClassifier, name="StreamingRidgeClassifier")
