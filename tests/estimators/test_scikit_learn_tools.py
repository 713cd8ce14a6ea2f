"""Inside scikit-learn's own tools: ensembles, names of features, layouts of arrays."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    ExpChi2Sampler,
    StreamingPCA,
    StreamingRidge,
    StreamingRidgeClassifier,
)
from streamchi2.errors import StateMismatchError
from streamchi2.files import dumped

ROWS = np.random.default_rng(0).dirichlet(np.full(6, 0.5), 500)
LABELS = np.argmax(ROWS[:, :3], axis=1)
NUMBERS = ROWS[:, 0] - ROWS[:, 1]


def test_adaboost_accepts_the_classifier(digits):
    rows, labels = digits
    train, test = slice(0, 500), slice(500, 1000)
    weak = ExpChi2Classifier(32, random_state=0)
    # Its weights sum to one, so that a row weighs 1/500 at first.
    boosted = AdaBoostClassifier(weak, n_estimators=10, random_state=0)
    boosted.fit(rows[train], labels[train])
    assert len(boosted.estimators_) == 10
    alone = weak.fit(rows[train], labels[train]).score(rows[test], labels[test])
    assert boosted.score(rows[test], labels[test]) > alone


@pytest.mark.parametrize(
    "transformer",
    [
        ExpChi2Sampler(16, random_state=0),
        ExpChi2Sampler(None, basis="additive", n_terms=3, random_state=0),
        ExpChi2Sampler(None, basis="additive", random_state=0),
        ExpChi2PCA(16, n_pca=0.9, random_state=0),
        ExpChi2PCA(
            16,
            n_pca={"a": 3, "b": 0.8},
            descriptors={"a": [0, 1], "b": [2, 3, 4]},
            random_state=0,
        ),
        StreamingPCA(0.9),
    ],
    ids=str,
)
def test_names_of_features_are_those_of_the_fitted_map(transformer):
    with pytest.raises(NotFittedError):
        transformer.get_feature_names_out()
    transformer.fit(ROWS)
    names = transformer.get_feature_names_out()
    prefix = type(transformer).__name__.lower()
    assert_array_equal(names, [f"{prefix}{i}" for i in range(transformer.transform(ROWS).shape[1])])
    frame = make_pipeline(transformer).set_output(transform="pandas").fit_transform(ROWS)
    assert_array_equal(frame.columns, names)


def test_unfitted_estimators_of_other_params_do_not_merge():
    left, right = ExpChi2Sampler(8), ExpChi2Sampler(16)
    with pytest.raises(StateMismatchError, match="n_components must agree to merge, got 8 and 16"):
        left.merge(right)
    assert left.merge(ExpChi2Sampler(8)) is left
    fitted = ExpChi2Sampler(8, random_state=0).fit(ROWS)
    before = dumped(fitted)
    with pytest.raises(StateMismatchError, match="n_components must agree"):
        fitted.merge(ExpChi2Sampler(16, random_state=0))
    assert dumped(fitted) == before


LAYOUTS = {
    "F order": np.asfortranarray,
    "every other row of twice as many": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "every other column": lambda rows: np.repeat(rows, 2, axis=1)[:, ::2],
    "backwards in memory": lambda rows: rows[::-1, ::-1].copy()[::-1, ::-1],
    "big-endian": lambda rows: rows.astype(">f8"),
    "DataFrame": pd.DataFrame,
    "list": np.ndarray.tolist,
}
MODELS = {
    "sampler": (ExpChi2Sampler(32, random_state=0), None),
    "landmark classifier": (ExpChi2Classifier(32, basis="landmarks", random_state=0), LABELS),
    "classifier": (ExpChi2Classifier(32, random_state=0), LABELS),
    "descriptors": (
        ExpChi2Classifier(32, descriptors={"a": [4, 0], "b": slice(1, 4)}, random_state=0),
        LABELS,
    ),
    "regressor": (ExpChi2Regressor(600, random_state=0), NUMBERS),  # in dual form
    "pca": (ExpChi2PCA(32, n_pca=4, random_state=0), None),
    "plain pca": (StreamingPCA(2), None),
    "ridge": (StreamingRidge("auto"), NUMBERS),
    "ridge classifier": (StreamingRidgeClassifier("auto"), LABELS),
}


def answers(model, rows):
    for name in ("decision_function", "predict", "transform"):
        if hasattr(model, name):
            return getattr(model, name)(rows)
    raise AssertionError(model)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_layout_of_an_array_changes_no_bit(name, layout):
    model, targets = MODELS[name]
    arrange = LAYOUTS[layout]
    expected = model.fit(ROWS, targets)
    state, said = dumped(expected), answers(expected, ROWS[:70])
    for start, stop in ((0, 70), (70, 500)):
        own = () if targets is None else (targets[start:stop],)
        learn = model.partial_fit if start else model.fit
        found = learn(arrange(ROWS[start:stop]), *own)
    if layout == "DataFrame":
        found._stream.names = None  # which arrays do not have
    assert dumped(found) == state
    assert_array_equal(answers(found, arrange(ROWS[:70])), said)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_the_memory_of_a_prediction_does_not_grow_with_its_rows(method):
    model = ExpChi2Classifier(512, random_state=0).fit(ROWS, LABELS)
    rows = np.tile(ROWS, (40, 1))
    getattr(model, method)(rows[:5000])
    peaks = []
    for n_rows in (5000, 20_000):
        tracemalloc.start()
        answers = getattr(model, method)(rows[:n_rows])
        peaks.append(tracemalloc.get_traced_memory()[1] - answers.nbytes)
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
    parts = [getattr(model, method)(rows[at : at + 4096]) for at in range(0, 20_000, 4096)]
    assert_array_equal(answers, np.concatenate(parts))
