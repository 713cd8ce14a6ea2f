"""StreamingRidge and its classifier: the ``partial_fit`` that ridge, lasso and elastic net lack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamchi2.docstrings import documented
from streamchi2.estimators.predictors import StreamClassifier, StreamRegressor
from streamchi2.saving import register


@documented()
class StreamingRidge(StreamRegressor):
    r"""Penalised least squares on a stream of features, equal to one fit on all rows at once.

    .. math:: \min_{w, b} \sum_i s_i (y_i - w^\top x_i - b)^2 + \alpha \|w\|^2

    with weights s, or the objectives of scikit-learn's ``Lasso`` and ``ElasticNet``. Only moments
    are kept: the model is solved when it is first read after learning.

    Laws: any cutting of the same rows into batches gives the same model, bit for bit; merged
    shards equal one pass; a refused call leaves no trace; reading changes nothing.

    %(parameters)s

    %(attributes)s

    See Also
    --------
    sklearn.linear_model.Ridge, sklearn.linear_model.ElasticNet : the same from all rows at once.

    Notes
    -----
    Absent, beside scikit-learn's Ridge: ``solver``, ``positive``, one ``alpha`` for each target
    and sparse input; rows are centred, so that zeros would not stay zeros.

    A row costs d (d + t) operations, the state is d (d + t) numbers, and solving costs d^3 / 3.

    References
    ----------
    Hoerl and Kennard (1970), doi:10.1080/00401706.1970.10488634.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = StreamingRidge(alpha="auto")
    >>> for start in range(0, len(X), 50):
    ...     model = model.partial_fit(X[start : start + 50], y[start : start + 50])
    >>> print(f"{model.score(X, y):.3f} with alpha = {model.alpha_:.3f}")
    0.514 with alpha = 0.062
    """

    def __init__(
        self,
        alpha: float | str = 1.0,
        *,
        half_life: float | None = None,
        penalty: str = "ridge",
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
    ) -> None:
        self._store(locals())


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
        self._store(locals())

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


register(StreamingRidge, name="StreamingRidge")
register(StreamingRidgeClassifier, name="StreamingRidgeClassifier")
