"""StreamingRidge: the ``partial_fit`` that ridge regression, lasso and elastic net lack."""

from __future__ import annotations

from streamchi2.docstrings import documented
from streamchi2.estimators.predictors import StreamRegressor
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
        self.alpha = alpha
        self.half_life = half_life
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept


register(StreamingRidge, name="StreamingRidge")
