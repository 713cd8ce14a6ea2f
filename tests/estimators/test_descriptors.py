"""Several descriptors: a map for each, one regression over all, and how they are named."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mapped_models import LABELS, ROWS, TARGETS, feature_map_of, features_of, flat
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import make_column_selector
from sklearn.linear_model import Ridge

from streamchi2 import ExpChi2Classifier, ExpChi2PCA, ExpChi2Regressor
from streamchi2.errors import StateMismatchError
from streamchi2.features import MapSpec
from streamchi2.files import dumped, loaded
from streamchi2.learnt import Settings
from streamchi2.stream import Stream

TWO = {"low": slice(0, 2), "high": [4, 2, 3]}
FRAME = pd.DataFrame(ROWS, columns=["red", "green", "blue", "ink", "paper"])
ANSWERS = {ExpChi2Classifier: LABELS, ExpChi2Regressor: TARGETS[:, 0], ExpChi2PCA: None}


def model_of(kind=ExpChi2Classifier, descriptors=TWO, n_rows=400, rows=ROWS, **params):
    params = {"n_components": 24, "n_terms": 3, "random_state": 0} | params
    answers = ANSWERS[kind]
    own = () if answers is None else (answers[:n_rows],)
    return kind(descriptors=descriptors, **params).partial_fit(rows[:n_rows], *own)


def said(model, rows=ROWS[:50]):
    if isinstance(model, ExpChi2PCA):
        return model.transform(rows)
    return model.predict(rows) if isinstance(model, ExpChi2Regressor) else model.predict_proba(rows)


@pytest.mark.parametrize("kind", ANSWERS)
@pytest.mark.parametrize("params", [{}, {"n_pca": 9}, {"half_life": 100.0}, {"basis": "landmarks"}])
def test_a_single_descriptor_of_all_columns_changes_no_bit(kind, params):
    one, plain = (model_of(kind, which, **params) for which in ({"all": slice(None)}, None))
    assert_array_equal(said(one), said(plain))
    assert_array_equal(one.k_["all"], plain.k_)


def test_the_features_of_each_descriptor_are_those_of_a_stream_of_its_own():
    model = model_of(
        ExpChi2PCA, n_pca=None, n_components={"low": 10, "high": 14}, basis="orthogonal"
    )
    features, spec = feature_map_of(model).transform(ROWS[:50]), model._stream.spec
    for index, (name, columns) in enumerate(model.descriptor_columns_.items()):
        own = MapSpec(len(columns), (spec.blocks[index],))
        stream = Stream(Settings(len(columns), own, learns=False))
        stream.learn(ROWS[:400, columns])
        tracker = stream.read().tracker
        size = tracker.feature_map.n_components
        expected = tracker.feature_map.transform(ROWS[:50, columns])
        assert_array_equal(features[:, :size], expected)
        assert_array_equal(model.k_[name], tracker.parts[0].block.series.series.k)
        assert model.kernel_error()[name] == tracker.parts[0].kernel_error()
        assert model.transports_[name] == tracker.parts[0].transports
        features = features[:, size:]


@given(
    n_pca=st.one_of(
        st.integers(2, 24), st.floats(0.3, 0.99), st.just({"low": 3, "high": 0.8}), st.none()
    ),
    alpha=st.floats(0.01, 10.0),
    n_rows=st.sampled_from([40, 300, 1100]),
)
@settings(max_examples=12)
def test_one_pass_equals_explicit_projection(n_pca, alpha, n_rows):
    params = {"alpha": alpha, "adapt": False}
    model = model_of(ExpChi2Regressor, n_rows=n_rows, n_pca=n_pca, **params)
    features = features_of(model, ROWS)
    if n_pca is not None:
        shares = model.explained_variance_ratio_
        blocks = []
        for part, name in zip(np.split(features, 2, axis=1), TWO, strict=True):
            centred = part[:n_rows] - part[:n_rows].mean(axis=0)
            values, vectors = np.linalg.eigh(centred.T @ centred)
            vectors = vectors[:, ::-1][:, : shares[name].size]
            assert_allclose(shares[name], values[::-1][: shares[name].size] / values.sum(), 1e-7)
            blocks.append(part @ vectors)
        features = np.hstack(blocks)
    explicit = Ridge(alpha).fit(features[:n_rows], TARGETS[:n_rows, 0])
    # A subspace whose least eigenvalue is close to the next turns by rounding over their gap:
    # at most 1e-12 here, and ridge answers with at most 1/alpha = 100 times that.
    assert_allclose(model.predict(ROWS), explicit.predict(features), atol=1e-6)


COLUMNS_OF_HIGH = {
    "positions": [4, 2, 3],
    "array": np.array([4, 2, 3]),
    "from the end": [-1, 2, -2],
    "names": ["paper", "blue", "ink"],
    "index": FRAME.columns[[4, 2, 3]],
    "callable": lambda frame: ["paper", "blue", "ink"],
}


@pytest.mark.parametrize("high", COLUMNS_OF_HIGH.values(), ids=COLUMNS_OF_HIGH)
def test_columns_may_be_named_in_many_ways(high):
    expected = said(model_of(rows=FRAME), FRAME[:50])
    model = model_of(rows=FRAME, descriptors={"low": slice("red", "green"), "high": high})
    assert model.descriptor_columns_ == {"low": [0, 1], "high": [4, 2, 3]}
    assert_array_equal(said(model, FRAME[:50]), expected)
    model.partial_fit(FRAME[400:500], LABELS[400:500])


def test_masks_selectors_and_single_columns_choose_columns_too():
    mask = [True, True, False, False, False]
    model = model_of(
        rows=FRAME,
        descriptors={
            "mask": mask,
            "selected": make_column_selector("ink|paper"),
            "name": "blue",
            "position": 2,
        },
    )
    chosen = {"mask": [0, 1], "selected": [3, 4], "name": [2], "position": [2]}
    assert model.descriptor_columns_ == chosen


REFUSALS = {
    "out of range": ({"a": [0, 5]}, ValueError, r"descriptors\['a'\].* 5 columns of X, got 5"),
    "unknown name": ({"a": ["red", "rad"]}, ValueError, "name one column of X, got 'rad' for 0"),
    "empty": ({"a": slice(3, 3)}, ValueError, "at least one column, got slice"),
    "nothing": ({}, ValueError, "at least one descriptor"),
    "twice": ({"a": [1, 2, 1]}, ValueError, "a column twice, got 1 again"),
    "short mask": ({"a": [True, False]}, ValueError, "each of 5 columns, got 2"),
    "mixed": ({"a": ["red", 1]}, TypeError, "positions or names, not both"),
    "no order": ({"a": {"red", "ink"}}, TypeError, "must have an order"),
    "read once": ({"a": iter([0, 1])}, TypeError, "that can be read again"),
    "a number": ({"a": 1.5}, TypeError, "must be a slice, positions, names, a mask"),
    "no mapping": ([0, 1], TypeError, "descriptors must map names to columns"),
    "no name": ({3: [0]}, TypeError, "words for names, got 3"),
    "a selector's": ({"a": lambda frame: [9]}, ValueError, "5 columns of X, got 9"),
}


@pytest.mark.parametrize(("descriptors", "kind", "rule"), REFUSALS.values(), ids=REFUSALS)
def test_columns_that_make_no_sense_are_refused(descriptors, kind, rule):
    model = ExpChi2Classifier(8, descriptors=descriptors, random_state=0, basis="orthogonal")
    before = set(vars(model))
    with pytest.raises(kind, match=rule):
        model.fit(FRAME[:70], LABELS[:70])
    assert set(vars(model)) == before


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        ({"n_components": 0}, "n_components must be at least 1, got 0"),
        ({"n_components": {"low": 3}}, "n_components must have a value for each.*low, high"),
        ({"beta": {"low": 1.0, "hi": 2.0}}, "beta must have a value for each"),
        ({"beta": {"low": -1.0, "high": 2.0}}, "beta must be positive and finite, got -1.0"),
        ({"n_pca": {"low": 3, "high": 1.5}}, r"n_pca\['high'\] must be None, an integer"),
        ({"n_pca": 0}, "n_pca must be at least 1, got 0"),
        ({"adapt": {"low": True, "high": False}}, "adapt must be True or False"),
        ({"penalty": "group"}, "penalty must be one of .*'group_lasso'"),
    ],
)
def test_params_that_do_not_fit_the_descriptors_are_refused(params, rule):
    with pytest.raises((TypeError, ValueError), match=rule):
        model_of(**params)


def test_group_lasso_and_params_for_each_need_descriptors():
    with pytest.raises(ValueError, match="'group_lasso' needs descriptors to choose among"):
        model_of(descriptors=None, penalty="group_lasso")
    with pytest.raises(TypeError, match="n_components must be an integer"):
        model_of(descriptors=None, n_components={"low": 3})
    with pytest.raises(ValueError, match="needs X to have names"):
        model_of(descriptors={"a": ["red"]})


def test_descriptors_must_not_change_in_the_middle_of_a_stream():
    model = model_of()
    for other in (None, {"high": [4, 2, 3], "low": slice(0, 2)}, {"low": slice(0, 2)}):
        state = pickle.dumps(model)
        with pytest.raises(ValueError, match="descriptors must not change"):
            model.set_params(descriptors=other).partial_fit(ROWS[:5], LABELS[:5])
        assert pickle.dumps(model.set_params(descriptors=TWO)) == state
    with pytest.raises(ValueError, match="n_components of descriptor 'high' must not change"):
        model.set_params(n_components={"low": 12, "high": 99}).partial_fit(ROWS[:5], LABELS[:5])
    model.set_params(n_components=24)
    plain = model_of(descriptors=None)
    with pytest.raises(ValueError, match="descriptors must not change"):
        plain.set_params(descriptors=TWO).partial_fit(ROWS[:5], LABELS[:5])
    with pytest.raises(StateMismatchError, match="descriptors must agree"):
        model.merge(model_of(descriptors={"low": slice(0, 2), "high": [2, 3, 4]}))
    with pytest.raises(StateMismatchError, match="descriptors must agree"):
        model.merge(model_of(descriptors=None))


def test_columns_outside_all_descriptors_are_not_read():
    other = ROWS.copy()
    other[:, 2:4] = other[::-1, 2:4]
    models = [model_of(descriptors={"a": [0], "b": [4, 1]}, rows=rows) for rows in (ROWS, other)]
    # The sample of rows is keyed by whole rows, and sums come in its order.
    assert_allclose(said(models[0]), said(models[1], other[:50]), atol=1e-9)


def test_readings_are_dicts_in_the_order_of_the_descriptors():
    model = model_of(n_pca=6, basis={"low": "orthogonal", "high": "gaussian"})
    readings = ("k_", "n_terms_", "beta_", "input_histogram_", "predicted_kernel_error_")
    for name in (*readings, "transports_"):
        assert list(getattr(model, name)) == ["low", "high"]
    assert list(model.kernel_error()) == list(model.explained_variance_ratio_) == ["low", "high"]
    assert model.coef_.shape == (3, 24)
    pca = model_of(ExpChi2PCA, n_pca={"low": 2, "high": 5})
    assert pca.transform(ROWS).shape == (len(ROWS), 7)
    assert pca.components_.shape == (7, 24)
    assert not pca.components_[:2, 12:].any()
    assert not hasattr(model_of(descriptors=None), "descriptor_columns_")
    assert not hasattr(model, "descriptor_weights_")


def test_landmarks_of_ones_own_are_whole_rows():
    model = model_of(basis="landmarks", landmarks=ROWS[500:520])
    assert_array_equal(model.landmarks_["high"].toarray(), ROWS[500:520, [4, 2, 3]])
    model.partial_fit(ROWS[400:500], LABELS[400:500])
    twin = loaded(dumped(model))
    assert_array_equal(said(twin), said(model))
    with pytest.raises(ValueError, match="landmarks must have as many columns as X, got 3 and 5"):
        model_of(basis="landmarks", landmarks=ROWS[500:520, :3])
    mixed = model_of(basis={"low": "landmarks", "high": "orthogonal"}, landmarks=ROWS[500:520])
    assert mixed.partial_fit(ROWS[:9], LABELS[:9]).n_samples_seen_ == 409


def test_a_selector_cannot_be_saved_but_the_columns_it_chose_can():
    by_name = {"low": ["red", "green"], "high": lambda frame: ["paper", "blue", "ink"]}
    model = model_of(rows=FRAME, descriptors=by_name)
    with pytest.raises(TypeError, match=re.escape("descriptors=model.descriptor_columns_")):
        dumped(model)
    model.set_params(descriptors=model.descriptor_columns_)
    twin = loaded(dumped(model))
    for side in (model, twin):
        side.partial_fit(FRAME[400:500], LABELS[400:500])
    assert_array_equal(said(twin, FRAME[:50]), said(model, FRAME[:50]))


def test_shards_of_a_stream_with_selectors_merge():
    by_name = {"low": ["red", "green"], "high": make_column_selector("blue|ink|paper")}
    whole = model_of(rows=FRAME, descriptors=by_name, n_rows=900, adapt=False, alpha=0.1)
    base = model_of(rows=FRAME, descriptors=by_name, n_rows=400, adapt=False, alpha=0.1)
    shard = base.new_shard().partial_fit(FRAME[400:900], LABELS[400:900])
    base.merge(shard)
    # Sums in another order, through a solve whose condition is at most 1e8.
    assert_allclose(base.coef_, whole.coef_, atol=1e-6 * np.abs(whole.coef_).max())
    assert_allclose(flat(base.predicted_kernel_error_), flat(whole.predicted_kernel_error_))
    fresh = clone(whole).merge(whole)
    assert_array_equal(said(fresh, FRAME[:50]), said(whole, FRAME[:50]))
