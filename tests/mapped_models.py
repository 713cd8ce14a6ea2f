"""Models with a map and a stream for them, and all that can be read of them."""

from __future__ import annotations

from dataclasses import astuple
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from streamchi2.estimators.classifier import ExpChi2Classifier
from streamchi2.estimators.pca import ExpChi2PCA
from streamchi2.estimators.regressor import ExpChi2Regressor

N_ROWS, WIDTH = 1200, 5
UNLABELLED = (180, 300)  # rows between these positions come without answers
_rng = np.random.default_rng(0)
ROWS = _rng.gamma(0.6, size=(N_ROWS, WIDTH))
LABELS = np.array(["ham", "spam", "eggs"])[(ROWS[:, 0] > 0.4).astype(int) + (ROWS[:, 1] > 1)]
TARGETS = np.column_stack([np.sin(3 * ROWS[:, 0]), ROWS[:, 1] - ROWS[:, 2]])
WEIGHTS = _rng.integers(0, 3, N_ROWS) * 0.75
WEIGHTS[0] = 0.75  # a first batch without any weight is refused

SEEDED = {"n_terms": 3, "random_state": 0}
ESTIMATORS = {
    "classifier": (ExpChi2Classifier(32, **SEEDED), LABELS),
    "fading classifier": (
        ExpChi2Classifier(32, n_pca=8, class_shift="quantile", half_life=300.0, **SEEDED),
        LABELS,
    ),
    "lasso classifier": (
        ExpChi2Classifier(32, n_pca=0.9, penalty="lasso", alpha=1e-3, **SEEDED),
        LABELS,
    ),
    "balanced classifier": (
        ExpChi2Classifier(32, n_pca=16, class_weight="balanced", **SEEDED),
        LABELS,
    ),
    "several labels": (ExpChi2Classifier(32, **SEEDED), (TARGETS > 0.3).astype(int)),
    "regressor": (ExpChi2Regressor(32, **SEEDED), TARGETS[:, 0]),
    "two targets": (
        ExpChi2Regressor(32, penalty="elastic_net", alpha=1e-3, half_life=300.0, **SEEDED),
        TARGETS,
    ),
    "pca": (ExpChi2PCA(32, n_pca=4, **SEEDED), None),
    "subspace": (ExpChi2Classifier(64, basis="subspace", alpha=1e-3, **SEEDED), LABELS),
    "descriptors": (
        ExpChi2Classifier(
            32,
            descriptors={"low": slice(0, 2), "high": [-1, 2, 1]},
            n_pca=16,
            penalty="group_lasso",
            alpha=0.002,
            **SEEDED,
        ),
        LABELS,
    ),
    "landmarks": (ExpChi2Classifier(24, basis="landmarks", alpha=1e-3, **SEEDED), LABELS),
}
each_estimator = pytest.mark.parametrize(
    ("estimator", "answers"), ESTIMATORS.values(), ids=ESTIMATORS.keys()
)


def fed(model, answers, start, stop, *, weighted=False):
    """Learn from some rows, those without answers as such."""
    inner = [edge for edge in UNLABELLED if start < edge < stop]
    for begin, end in pairwise([start, *inner, stop]):
        part = slice(begin, end)
        weights = WEIGHTS[part] if weighted else None
        if answers is None:
            model.partial_fit(ROWS[part], sample_weight=weights)
        elif UNLABELLED[0] <= begin < UNLABELLED[1]:
            model.observe(ROWS[part], sample_weight=weights)
        else:
            model.partial_fit(ROWS[part], answers[part], sample_weight=weights)
    return model


def learnt(estimator, answers, edges, **options):
    model = clone(estimator)
    for start, stop in pairwise(edges):
        fed(model, answers, start, stop, **options)
    return model


def flat(reading):
    """Return a reading as one array, those of several descriptors one after the other."""
    parts = reading.values() if isinstance(reading, dict) else [reading]
    return np.concatenate([_numbers(part) for part in parts])


def _numbers(part):
    if isinstance(part, tuple):  # of Transports
        part = [astuple(transport) for transport in part]
    return np.ravel(np.array(part, dtype=float))


def feature_map_of(model):
    """Return the map from rows to features that a model uses now."""
    return model._stream.read().feature_map


def read(model, rows=ROWS[:40]):
    """Everything a user can read of a model, as arrays."""
    values = [flat(model.k_), flat(model.transports_), flat(model.predicted_kernel_error_)]
    if isinstance(model, ExpChi2PCA):
        return [*values, model.components_, model.explained_variance_, model.transform(rows)]
    values += [model.coef_, np.atleast_1d(model.intercept_), np.array([model.alpha_])]
    if isinstance(model, ExpChi2Regressor):
        return [*values, model.predict(rows)]
    answers = [model.decision_function(rows), model.predict_proba(rows), model.predict(rows)]
    return [*values, model.classes_, *answers]


def scores(model):
    """Return what a model makes of rows before any calibration, as numbers."""
    if isinstance(model, ExpChi2PCA):
        return model.transform(ROWS[:40])
    if isinstance(model, ExpChi2Regressor):
        return model.predict(ROWS[:40])
    return model.coef_ @ model.coef_.T


def assert_same_bits(left, right):
    for mine, theirs in zip(read(left), read(right), strict=True):
        assert_array_equal(mine, theirs)


def assert_close(left, right, rtol):
    for mine, theirs in zip(read(left), read(right), strict=True):
        if mine.dtype.kind == "U":
            assert_array_equal(mine, theirs)
        elif mine.size:
            assert_allclose(mine, theirs, rtol=rtol, atol=rtol * np.abs(theirs).max())
