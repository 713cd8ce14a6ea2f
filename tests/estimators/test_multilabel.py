"""Indicator matrices as targets: one binary classifier a column, on the same features."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.utils.estimator_checks import check_classifier_multioutput

from streamchi2 import ExpChi2Classifier, StreamingRidgeClassifier
from streamchi2.errors import StateMismatchError
from streamchi2.files import dumped, loaded

N_ROWS = 300
_rng = np.random.default_rng(0)
ROWS = _rng.gamma(0.6, size=(N_ROWS, 5))
LABELS = np.column_stack([ROWS[:, 0] > 0.4, ROWS[:, 1] > 0.8, ROWS.sum(axis=1) > 3]).astype(int)
LABELS[_rng.random(LABELS.shape) < 0.1] ^= 1

MODELS = {
    "moments": ExpChi2Classifier(32, alpha=0.1, random_state=0),
    "kept rows": ExpChi2Classifier(512, alpha=0.1, random_state=0, basis="orthogonal"),
    "components": ExpChi2Classifier(32, alpha=0.1, n_pca=8, random_state=0),
    "features": StreamingRidgeClassifier(0.1),
}
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


def read(model):
    found = [model.predict(ROWS), model.decision_function(ROWS), model.coef_]
    return [*found, model.predict_proba(ROWS)] if hasattr(model, "predict_proba") else found


def streamed(model, edges, labels=LABELS):
    model = clone(model)
    for start, stop in pairwise(edges):
        model.partial_fit(ROWS[start:stop], labels[start:stop])
    return model


@each_model
def test_columns_are_binary_classifiers_on_the_same_features(model):
    together = streamed(model, [0, 100, N_ROWS])
    assert_array_equal(together.classes_, [0, 1, 2])
    for column in range(3):
        alone = streamed(model, [0, 100, N_ROWS], LABELS[:, column])
        # Solutions of equations with condition below 1e5, in float64.
        scores = alone.decision_function(ROWS)
        assert_allclose(together.decision_function(ROWS)[:, column], scores, atol=1e-8)
        assert_array_equal(together.predict(ROWS)[:, column], alone.predict(ROWS))
        if hasattr(model, "predict_proba"):
            found = together.predict_proba(ROWS)[:, column]
            assert_allclose(found, alone.predict_proba(ROWS)[:, 1], atol=1e-6)


def test_scores_are_those_of_ridge_classifier():
    model = StreamingRidgeClassifier(0.7).fit(ROWS, LABELS)
    peer = RidgeClassifier(0.7).fit(ROWS, LABELS)
    assert_allclose(model.decision_function(ROWS), peer.decision_function(ROWS), atol=1e-10)
    assert_allclose(model.coef_, peer.coef_, atol=1e-10)
    assert_allclose(model.intercept_, peer.intercept_, atol=1e-10)
    assert_array_equal(model.predict(ROWS), peer.predict(ROWS))
    assert model.score(ROWS, LABELS) == peer.score(ROWS, LABELS)


@each_model
@given(st.lists(st.integers(1, N_ROWS - 1), max_size=5), st.sampled_from(["list", "sparse", bool]))
@settings(max_examples=5)
def test_any_cutting_and_form_gives_the_same_model_bit_for_bit(model, inner, form):
    forms = {"list": np.ndarray.tolist, "sparse": sparse.csr_array, bool: lambda y: y == 1}
    cut = clone(model)
    edges = sorted({0, *inner, N_ROWS})
    for start, stop in pairwise(edges):
        cut.partial_fit(ROWS[start:stop], forms[form](LABELS[start:stop]))
    for mine, theirs in zip(read(cut), read(clone(model).fit(ROWS, LABELS)), strict=True):
        assert_array_equal(mine, theirs)


@each_model
def test_saved_pickled_and_merged_models_go_on(model):
    whole = streamed(model, [0, 120, N_ROWS])
    first = streamed(model, [0, 120])
    for twin in (loaded(dumped(first)), pickle.loads(pickle.dumps(first))):
        for mine, theirs in zip(
            read(twin.partial_fit(ROWS[120:], LABELS[120:])), read(whole), strict=True
        ):
            assert_array_equal(mine, theirs)
    shard = first.new_shard() if hasattr(first, "new_shard") else clone(model)
    merged = first.merge(shard.partial_fit(ROWS[120:], LABELS[120:]))
    # Sums in another order; the maps of a shard are not planned again.
    for mine, theirs in zip(read(merged)[1:3], read(whole)[1:3], strict=True):
        assert_allclose(mine, theirs, atol=1e-4)


def test_rows_without_labels_enter_the_components_alone():
    model = ExpChi2Classifier(32, n_pca=6, alpha=0.1, random_state=0)
    model.partial_fit(ROWS[:100], LABELS[:100])
    before = model.explained_variance_ratio_
    model.observe(ROWS[100:])
    assert not np.allclose(model.explained_variance_ratio_, before)
    assert model.predict_proba(ROWS).shape == LABELS.shape


def test_scikit_learns_check_and_wrapper_agree():
    for model in (StreamingRidgeClassifier(), ExpChi2Classifier(16, n_terms=2)):
        check_classifier_multioutput(type(model).__name__, model)
    model = ExpChi2Classifier(32, alpha=0.1, random_state=0)
    wrapped = MultiOutputClassifier(model).fit(ROWS, LABELS)
    assert_array_equal(model.fit(ROWS, LABELS).predict(ROWS), wrapped.predict(ROWS))


REFUSED = {
    "other numbers": (np.full((4, 3), 2), {}, "got 2 at row 0, column 0"),
    "not a number": (np.full((4, 3), np.nan), {}, "got nan at row 0, column 0"),
    "text": (np.full((4, 3), "a"), {}, "y must hold zeros and ones"),
    "another width": (LABELS[:4, :2], {}, r"y must keep its shape \(n, 3\), got \(4, 2\)"),
    "one label a row": (LABELS[:4, 0], {}, "y must keep its form, a column for each of 3 labels"),
    "too few": (LABELS[:3], {}, "3 targets for 4 rows"),
    "classes": (LABELS[:4], {"classes": [0, 1]}, "classes must be the numbers of the columns"),
}


@pytest.mark.parametrize(("labels", "options", "message"), REFUSED.values(), ids=REFUSED.keys())
@each_model
def test_bad_labels_leave_no_trace(model, labels, options, message):
    model = streamed(model, [0, 100])
    before = dumped(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(ROWS[:4], labels, **options)
    assert dumped(model) == before


def test_what_is_defined_for_one_label_a_row_is_refused():
    refused = {"class_weight": "balanced", "class_shift": "quantile"}
    for name, value in refused.items():
        model = ExpChi2Classifier(16, **{name: value})
        with pytest.raises(ValueError, match=rf"{name} must be .*None where y has a column"):
            model.fit(ROWS, LABELS)
    single = ExpChi2Classifier(16, random_state=0).partial_fit(ROWS, LABELS[:, 0])
    with pytest.raises(ValueError, match="y must keep its form, one label a row"):
        single.partial_fit(ROWS, LABELS)
    several = ExpChi2Classifier(16, random_state=0).partial_fit(ROWS, LABELS)
    with pytest.raises(StateMismatchError):
        several.merge(single)
