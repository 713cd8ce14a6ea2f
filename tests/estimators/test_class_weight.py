"""class_weight: scikit-learn's meaning and answers, on one pass."""

from __future__ import annotations

import numpy as np
import pytest
from mapped_models import features_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.utils.class_weight import compute_sample_weight

from streamchi2 import ExpChi2Classifier, StreamingRidgeClassifier, river
from streamchi2.errors import StateMismatchError
from streamchi2.files import dumped

_rng = np.random.default_rng(0)
N_ROWS = 240
LABELS = _rng.choice(3, N_ROWS, p=[0.75, 0.2, 0.05])
LABELS[:4] = 0, 1, 2, 0
ROWS = _rng.gamma(np.array([[1.0, 2, 1, 1, 1], [1, 1, 2, 1, 1], [1, 1, 1, 2, 1]])[LABELS])
WEIGHTS = _rng.integers(1, 3, N_ROWS).astype(float)
BATCHES = np.array_split(np.arange(N_ROWS), 7)
WEIGHTED = ["balanced", {0: 0.25, 2: 8.0}, {1: 0.0}, {}]
# Two solutions of equations with condition below 1e4, in float64.
ROUNDING = {"rtol": 0.0, "atol": 1e-9}


def streamed(model, labels=LABELS, rows=ROWS, weights=None):
    model = clone(model)
    for part in BATCHES:
        own = None if weights is None else weights[part]
        model.partial_fit(rows[part], labels[part], sample_weight=own)
    return model


@pytest.mark.parametrize("labels", [LABELS, LABELS > 0, np.array(["a", "b", "c"])[LABELS]])
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("n_rows", [N_ROWS, 4])  # moments, and rows that are kept
def test_the_answer_is_that_of_ridge_classifier(labels, weights, n_rows):
    labels, weights = labels[:n_rows], None if weights is None else weights[:n_rows]
    given = {label: 0.5 + place for place, label in enumerate(np.unique(labels).tolist())}
    for class_weight in ("balanced", given):
        model = StreamingRidgeClassifier(1.5, class_weight=class_weight)
        model.fit(ROWS[:n_rows], labels, sample_weight=weights)
        if weights is not None and class_weight == "balanced":  # n_k is a sum of weights here
            own = compute_sample_weight("balanced", np.repeat(labels, weights.astype(int)))
            own = own[np.cumsum(weights).astype(int) - 1] * weights
            peer = RidgeClassifier(1.5).fit(ROWS[:n_rows], labels, sample_weight=own)
        else:
            peer = RidgeClassifier(1.5, class_weight=class_weight)
            peer.fit(ROWS[:n_rows], labels, sample_weight=weights)
        scores = model.decision_function(ROWS)
        scale = 1.0 if scores.ndim == 1 else 2.0  # targets 0 and 1 in place of -1 and 1
        assert_allclose(scale * scores - (scale - 1.0), peer.decision_function(ROWS), **ROUNDING)
        assert_array_equal(model.predict(ROWS), peer.predict(ROWS))


@pytest.mark.parametrize("n_components", [32, 512])  # moments, and rows that are kept
@pytest.mark.parametrize("class_weight", WEIGHTED, ids=str)
def test_on_the_features_of_a_map_too(n_components, class_weight):
    model = ExpChi2Classifier(n_components, alpha=0.1, class_weight=class_weight, random_state=0)
    model = streamed(model)
    features = features_of(model, ROWS)
    peer = RidgeClassifier(0.1, class_weight=class_weight, tol=1e-12).fit(features, LABELS)
    scores = model.decision_function(ROWS)
    # Products of 512 float32 features of length one are wrong by some 1e-6, against alpha = .1.
    assert_allclose(2.0 * scores - 1.0, peer.decision_function(features), rtol=0.0, atol=1e-4)


def test_components_and_map_know_no_classes():
    plain = ExpChi2Classifier(32, n_pca=6, alpha=0.1, random_state=0)
    balanced = streamed(clone(plain).set_params(class_weight="balanced"))
    plain = streamed(plain)
    assert balanced.beta_ == plain.beta_
    ratios = balanced.explained_variance_ratio_, plain.explained_variance_ratio_
    assert_allclose(*ratios, rtol=1e-6)  # float32 products, summed class by class
    assert not np.allclose(balanced.coef_, plain.coef_)


@pytest.mark.parametrize("n_components", [32, 512])
def test_probabilities_are_those_of_the_population_that_is_asked_for(n_components):
    # Log-loss is proper: in a population no probabilities are better than its own, so each model
    # must win in the population that its weights stand for. The losses differ by .3; those of a
    # row spread by less than 1, so their means over 1000 rows a class have errors below .03.
    random = np.random.default_rng(1)
    codes = np.repeat(np.arange(3), 1000)
    rows = random.gamma(np.array([[1.0, 2, 1, 1, 1], [1, 1, 2, 1, 1], [1, 1, 1, 2, 1]])[codes])
    losses = {}
    for class_weight in (None, "balanced"):
        model = streamed(ExpChi2Classifier(n_components, class_weight=class_weight, random_state=0))
        own = -np.log(model.predict_proba(rows)[np.arange(3000), codes])
        of_classes = own.reshape(3, 1000).mean(axis=1)
        losses[class_weight] = [of_classes.mean(), of_classes @ [0.75, 0.2, 0.05]]
    assert losses["balanced"][0] < losses[None][0]
    assert losses[None][1] < losses["balanced"][1]


def test_the_penalty_is_chosen_by_rows_that_are_left_out_whole():
    # In units of the mean row the weights of a class do not change the choice of the penalty.
    doubled = {0: 2.0, 1: 2.0, 2: 2.0}
    for n_components in (32, 512):
        models = [
            streamed(ExpChi2Classifier(n_components, class_weight=weight, random_state=0))
            for weight in ({}, doubled)
        ]
        assert models[1].alpha_ == pytest.approx(2.0 * models[0].alpha_, rel=1e-6)
        probabilities = [model.predict_proba(ROWS) for model in models]
        assert_allclose(*probabilities, atol=1e-4)  # moments of float32 features


def test_nearly_all_rows_are_given_to_the_class_that_has_nearly_all_weight():
    # scikit-learn's check_class_weight_classifiers, on rows that are not negative.
    weights = {0: 0.0001, 1: 1000, 2: 0.0001}
    for n_components in (32, 512):
        model = ExpChi2Classifier(n_components, class_weight=weights, random_state=0)
        assert np.mean(streamed(model).predict(ROWS) == 1) > 0.87


def test_a_dict_multiplies_weights_as_rows_come_and_may_change_for_later_ones():
    first, later = slice(0, 100), slice(100, N_ROWS)
    model = StreamingRidgeClassifier(class_weight={0: 0.5, 1: 0.0}).fit(ROWS[first], LABELS[first])
    model.set_params(class_weight={2: 3.0}).partial_fit(ROWS[later], LABELS[later])
    weights = np.ones(N_ROWS)
    weights[:100][LABELS[:100] == 0] = 0.5
    weights[:100][LABELS[:100] == 1] = 0.0
    weights[100:][LABELS[100:] == 2] = 3.0
    plain = StreamingRidgeClassifier().fit(ROWS, LABELS, sample_weight=weights)
    assert_allclose(model.coef_, plain.coef_, **ROUNDING)


def test_a_class_without_weight_is_known_and_teaches_the_map_alone():
    model = ExpChi2Classifier(32, class_weight={1: 0.0}, random_state=0).fit(ROWS, LABELS)
    assert_array_equal(model.classes_, [0, 1, 2])
    assert model.n_samples_seen_ == N_ROWS
    assert not (model.predict(ROWS) == 1).any()


def test_balanced_classes_neither_come_nor_go():
    model = streamed(ExpChi2Classifier(32, alpha=0.1, class_weight="balanced", random_state=0))
    before = dumped(model)
    for other in (None, {2: 9.0}):
        model.set_params(class_weight=other)
        with pytest.raises(ValueError, match="class_weight must not change"):
            model.partial_fit(ROWS, LABELS)
    assert dumped(model.set_params(class_weight="balanced")) == before
    other = streamed(ExpChi2Classifier(32, alpha=0.1, random_state=0))
    with pytest.raises(StateMismatchError, match="class_weight must agree"):
        model.merge(other)


@pytest.mark.parametrize("weight", [1e140, 1e-150])
def test_weights_that_leave_the_range_of_floats_are_refused(weight):
    for model in (ExpChi2Classifier(8), StreamingRidgeClassifier()):
        model.set_params(class_weight={0: weight})
        with pytest.raises(ValueError, match="sample_weight times class_weight must be"):
            model.fit(ROWS, LABELS, sample_weight=np.full(N_ROWS, np.sqrt(weight)))


def test_river_weights_classes_as_scikit_learn_does():
    rows = [dict(enumerate(row)) for row in ROWS.tolist()]
    model = river.ExpChi2Classifier(32, alpha=0.1, class_weight="balanced", seed=0)
    weighted = river.ExpChi2Classifier(32, alpha=0.1, class_weight={0: 1.0}, seed=0)
    for row, label in zip(rows, LABELS.tolist(), strict=True):
        model.learn_one(row, label)
        weighted.learn_one(row, label)
    found = [sum(m.predict_one(row) == 2 for row in rows) for m in (model, weighted)]
    assert found[0] > found[1]


def test_a_changed_parameter_is_heeded_by_the_next_prediction():
    plain = ExpChi2Classifier(32, random_state=0).fit(ROWS, LABELS)
    before = plain.decision_function(ROWS)
    plain.set_params(alpha=1e6)
    assert np.ptp(plain.decision_function(ROWS)) < np.ptp(before)
    plain.set_params(alpha=-1.0)
    with pytest.raises(ValueError, match="alpha must be"):
        plain.predict(ROWS)


@pytest.mark.parametrize("class_weight", [{"0": 5.0}, {0: 1.0, "1": 2.0}])
def test_class_weights_must_name_labels_of_the_kind_that_y_has(class_weight):
    rows = np.eye(4)
    refused = {"match": "class_weight must name labels of the kind that y has, got '.' beside 0"}
    with pytest.raises(TypeError, **refused):
        ExpChi2Classifier(8, class_weight=class_weight).fit(rows, [0, 1, 0, 1])
    model = river.ExpChi2Classifier(8, class_weight=class_weight)
    with pytest.raises(TypeError, **refused):
        model.learn_one({"a": 1.0}, 0)
    assert model.n_samples_seen_ == 0
