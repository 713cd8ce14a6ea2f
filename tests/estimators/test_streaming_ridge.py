"""StreamingRidge and its classifier against scikit-learn, and what is particular to them."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import ElasticNet, Lasso, Ridge, RidgeClassifier

from streamchi2.errors import StateMismatchError
from streamchi2.estimators.streaming_ridge import StreamingRidge, StreamingRidgeClassifier
from streamchi2.files import dumped
from streamchi2.model import LearnerSpec, choose

X, Y = load_diabetes(return_X_y=True)
X = X * 20.0
IMAGES, DIGITS = load_digits(return_X_y=True)


def streamed(model, rows, answers, step=37, **options):
    for start in range(0, len(rows), step):
        model.partial_fit(rows[start : start + step], answers[start : start + step], **options)
    return model


@pytest.mark.parametrize("alpha", [1e-3, 1.0, 100.0])
def test_ridge_equals_scikit_learn(alpha):
    for answers in (Y, np.column_stack([Y, np.sqrt(Y)])):
        ours, theirs = streamed(StreamingRidge(alpha), X, answers), Ridge(alpha).fit(X, answers)
        scale = np.abs(theirs.coef_).max()
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-6 * scale)
        assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-6)
        assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)
        assert ours.predict(X).shape == answers.shape


@pytest.mark.parametrize(
    ("params", "oracle"),
    [
        ({"penalty": "lasso"}, Lasso(alpha=0.7, tol=1e-12, max_iter=10**5)),
        (
            {"penalty": "elastic_net", "l1_ratio": 0.3},
            ElasticNet(alpha=0.7, l1_ratio=0.3, tol=1e-12, max_iter=10**5),
        ),
    ],
)
def test_lasso_and_elastic_net_equal_scikit_learn(params, oracle):
    ours = streamed(StreamingRidge(0.7, **params), X, Y)
    assert_allclose(ours.predict(X), oracle.fit(X, Y).predict(X), atol=1e-4)
    assert_array_equal(ours.coef_ == 0.0, oracle.coef_ == 0.0)


def test_float32_features_give_the_model_of_their_values():
    ours = streamed(StreamingRidge(1.0), X.astype(np.float32), Y)
    theirs = Ridge(1.0).fit(X, Y)
    assert_allclose(ours.predict(X.astype(np.float32)), theirs.predict(X), rtol=1e-3)
    assert ours.predict(X.astype(np.float32)).dtype == np.float64


def test_offsets_of_a_million_cost_no_accuracy():
    plain = streamed(StreamingRidge(1.0), X, Y)
    moved = streamed(StreamingRidge(1.0), X + 1e6, Y - 1e6)
    assert_allclose(moved.coef_, plain.coef_, rtol=1e-6)
    assert_allclose(moved.predict(X + 1e6) + 1e6, plain.predict(X), rtol=1e-6)


def test_weights_count_like_repeated_rows():
    counts = np.random.default_rng(0).integers(0, 3, len(X))
    weighted = StreamingRidge(1.0).fit(X, Y, sample_weight=counts)
    repeated = StreamingRidge(1.0).fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts))
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9)
    # Choices are made at other rows; made now, of the same statistics and samples, they agree.
    spec = LearnerSpec(alpha="auto")
    choices = [choose(model._stream.settled(), spec) for model in (weighted, repeated)]
    assert_allclose(choices[0].alpha, choices[1].alpha)
    assert_allclose(choices[0].errors, choices[1].errors)


def test_another_alpha_takes_effect_at_the_next_reading():
    model = streamed(StreamingRidge(1.0), X, Y)
    before = model.predict(X)
    model.set_params(alpha=50.0)
    assert model.alpha_ == 50.0
    assert_allclose(model.predict(X), Ridge(50.0).fit(X, Y).predict(X), rtol=1e-6)
    model.set_params(alpha=1.0)
    assert_array_equal(model.predict(X), before)


def test_the_classifier_equals_scikit_learn():
    ours = streamed(StreamingRidgeClassifier(1.0), IMAGES, DIGITS)
    theirs = RidgeClassifier(1.0).fit(IMAGES, DIGITS)
    # They regress on 1 and -1, we on 1 and 0.
    assert_allclose(
        2.0 * ours.decision_function(IMAGES) - 1.0, theirs.decision_function(IMAGES), atol=1e-6
    )
    assert_array_equal(ours.predict(IMAGES), theirs.predict(IMAGES))
    assert_allclose(2.0 * ours.coef_, theirs.coef_, atol=1e-6)


def test_two_classes_have_one_score_as_in_scikit_learn():
    rows, names = IMAGES[DIGITS < 2], np.array(["nil", "one"])[DIGITS[DIGITS < 2]]
    ours = streamed(StreamingRidgeClassifier(1.0), rows, names)
    theirs = RidgeClassifier(1.0).fit(rows, names)
    assert_allclose(ours.decision_function(rows), theirs.decision_function(rows), atol=1e-6)
    assert_allclose(ours.coef_.ravel(), theirs.coef_.ravel(), atol=1e-6)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
    assert_array_equal(ours.predict(rows), theirs.predict(rows))


@pytest.mark.parametrize("alpha", [1.0, "auto"])
def test_late_classes_equal_declared_ones_bit_for_bit(alpha):
    order = np.argsort(DIGITS, kind="stable")  # every class appears as late as it can
    rows, labels = IMAGES[order], DIGITS[order]
    late = streamed(StreamingRidgeClassifier(alpha), rows, labels)
    declared = streamed(StreamingRidgeClassifier(alpha), rows, labels, classes=range(10))
    assert_array_equal(late.classes_, declared.classes_)
    assert_array_equal(late.coef_, declared.coef_)
    assert_array_equal(late.intercept_, declared.intercept_)


def test_classes_known_but_not_seen_are_never_predicted():
    model = StreamingRidgeClassifier().partial_fit(IMAGES, DIGITS % 3, classes=[0, 1, 2, 7])
    assert_array_equal(model.classes_, [0, 1, 2, 7])
    assert_array_equal(model.decision_function(IMAGES)[:, 3], 0.0)
    assert model.score(IMAGES, DIGITS % 3) > 0.5


def test_one_class_alone_is_always_predicted():
    model = StreamingRidgeClassifier("auto").fit(IMAGES[:20], np.full(20, "only"))
    assert set(model.predict(IMAGES)) == {"only"}


@pytest.mark.parametrize(
    ("labels", "options", "error", "message"),
    [
        ([0, 9, 1], {}, ValueError, r"declared classes \[0, 1, 2\], got 9 at row 1"),
        ([0, 1], {}, ValueError, "one target per row: got 2 targets for 3 rows"),
        ([0, 1, np.nan], {}, ValueError, "y must be finite, got nan at row 2"),
        ([0.5, 1.2, 2.0], {}, ValueError, "Unknown label type"),
        (["a", "b", "a"], {}, TypeError, "labels of one kind, got 'a' after 0"),
        ([0, 1, 2], {"classes": [0, 1]}, ValueError, "classes must stay the same"),
        (None, {}, ValueError, "requires y to be passed"),
    ],
)
def test_bad_labels_leave_no_trace(labels, options, error, message):
    model = StreamingRidgeClassifier().partial_fit(IMAGES, DIGITS % 3, classes=[0, 1, 2])
    before = copy.deepcopy(model)
    with pytest.raises(error, match=message):
        model.partial_fit(IMAGES[:3], labels, **options)
    assert dumped(model) == dumped(before)
    assert_array_equal(model.classes_, before.classes_)
    assert_array_equal(model.coef_, before.coef_)


def test_classes_declared_after_others_were_learnt_are_refused():
    model = StreamingRidgeClassifier().partial_fit(IMAGES, DIGITS)
    with pytest.raises(ValueError, match="classes must hold every label that came before"):
        model.partial_fit(IMAGES[:2], [0, 1], classes=[0, 1])
    model.partial_fit(IMAGES[:2], [0, 1], classes=range(12))
    assert model.classes_.size == 12
    with pytest.raises(ValueError, match="got 12 at row 0"):
        model.partial_fit(IMAGES[:1], [12])


@pytest.mark.parametrize(
    ("targets", "error", "message"),
    [
        (Y[:2], ValueError, "one target per row: got 2 targets for 3 rows"),
        ([1.0, np.nan, 2.0], ValueError, "y must be finite, got nan at row 1"),
        ([1.0, 1e300, 2.0], ValueError, r"y must be below 1e\+140 in size"),
        (["a", "b", "c"], TypeError, "y must hold numbers"),
        (np.ones((3, 2)), ValueError, r"y must keep its shape \(n,\), got \(3, 2\)"),
    ],
)
def test_bad_targets_leave_no_trace(targets, error, message):
    model = StreamingRidge().partial_fit(X, Y)
    before = dumped(model)
    with pytest.raises(error, match=message):
        model.partial_fit(X[:3], targets)
    assert dumped(model) == before


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alpha": -1.0}, "alpha must be a non-negative finite number"),
        ({"alpha": "gcv"}, "a non-negative finite number or 'auto', got 'gcv'"),
        ({"alpha": "reml"}, "a non-negative finite number or 'auto', got 'reml'"),
        ({"penalty": "bridge"}, "penalty must be one of"),
        ({"l1_ratio": 1.5}, "l1_ratio must be above 0 and at most 1"),
        ({"half_life": 0.0}, "half_life must be positive"),
    ],
)
def test_bad_params_are_refused_before_anything_is_learnt(params, message):
    for model, answers in (
        (StreamingRidge(**params), Y),
        (StreamingRidgeClassifier(**params), Y > 100),
    ):
        with pytest.raises(ValueError, match=message):
            model.partial_fit(X, answers)
        assert not model.__sklearn_is_fitted__()
        assert not hasattr(model, "n_features_in_")


def test_shards_with_other_answers_do_not_merge():
    flat, column = StreamingRidge().fit(X, Y), StreamingRidge().fit(X, Y[:, None])
    with pytest.raises(StateMismatchError, match="targets must have the same shape"):
        flat.merge(column)
    text = StreamingRidgeClassifier().fit(X, np.where(Y > 100, "high", "low"))
    numbers = StreamingRidgeClassifier().fit(X, Y > 100)
    with pytest.raises(StateMismatchError, match="all text or all numbers"):
        text.merge(numbers)
    declared = StreamingRidgeClassifier().partial_fit(X, Y > 100, classes=[0, 1])
    with pytest.raises(StateMismatchError, match=r"declared as \[0, 1\]"):
        declared.merge(StreamingRidgeClassifier().fit(X, (Y // 100).astype(int)))


def test_shards_with_different_classes_merge_into_the_model_of_all():
    low, high = DIGITS < 6, DIGITS >= 4
    left = StreamingRidgeClassifier().fit(IMAGES[low], DIGITS[low])
    right = StreamingRidgeClassifier().fit(IMAGES[high], DIGITS[high])
    together = StreamingRidgeClassifier().fit(
        np.vstack([IMAGES[low], IMAGES[high]]), np.concatenate([DIGITS[low], DIGITS[high]])
    )
    left.merge(right)
    assert_array_equal(left.classes_, np.arange(10))
    assert_allclose(left.coef_, together.coef_, atol=1e-9)


def test_many_classes_in_few_rows_are_no_reason_for_a_warning():
    model = StreamingRidgeClassifier()
    for row in range(30):
        model.partial_fit(IMAGES[row : row + 1], DIGITS[row : row + 1])
    model.partial_fit(IMAGES[:40], np.arange(40))
    assert model.classes_.size == 40
