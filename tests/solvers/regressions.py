"""Rows with targets, their moments, and refits without a row: slow and obvious."""

import numpy as np
from sklearn.linear_model import Ridge

from streamchi2.solvers.linear_model import InverseRoot, LinearModel
from streamchi2.statistics.moments import Moments


def drawn(seed, n_rows=60, width=5, n_targets=2, noise=1.0, share=1.0):
    """Correlated features, of which each target depends on a share."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, width)) @ rng.normal(size=(width, width)) + 3.0
    effect = rng.normal(size=(width, n_targets)) * (rng.random((width, n_targets)) < share)
    return rows, rows @ effect + noise * rng.normal(size=(n_rows, n_targets))


def moments_of(rows, targets, weights=None):
    moments = Moments.empty(rows.mean(axis=0, dtype=np.float64), targets.mean(axis=0))
    moments.add(rows, targets, np.ones(len(rows)) if weights is None else weights)
    return moments.summary()


def model_of(moments, coef):
    return LinearModel(coef, moments.target_mean - moments.mean @ coef, moments.mean, 0.0)


def ridge(moments, alpha):
    return model_of(moments, InverseRoot(moments.scatter, alpha).solved(moments.cross))


def refitted_residuals(rows, targets, weights, alpha, intercept=True):
    """Residual of each row under scikit-learn's ridge on all the others, the copies of none."""
    residuals = []
    for row in range(len(rows)):
        others = (rows != rows[row]).any(axis=1)
        model = Ridge(alpha, fit_intercept=intercept, solver="svd")
        model.fit(rows[others], targets[others], sample_weight=weights[others])
        residuals.append(targets[row] - model.predict(rows[row : row + 1]).reshape(-1))
    return np.array(residuals)
