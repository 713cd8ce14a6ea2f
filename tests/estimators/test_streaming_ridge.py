"""StreamingRidge and its classifier against scikit-learn, and what is particular to them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_digits
from sklearn.linear_model import ElasticNet, Lasso, Ridge, RidgeClassifier

from streamchi2.estimators.streaming_ridge import StreamingRidge, StreamingRidgeClassifier

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


def test_classes_declared_after_others_were_learnt_are_refused():
    model = StreamingRidgeClassifier().partial_fit(IMAGES, DIGITS)
    with pytest.raises(ValueError, match="classes must hold every label that came before"):
        model.partial_fit(IMAGES[:2], [0, 1], classes=[0, 1])
    model.partial_fit(IMAGES[:2], [0, 1], classes=range(12))
    assert model.classes_.size == 12
    with pytest.raises(ValueError, match="got 12 at row 0"):
        model.partial_fit(IMAGES[:1], [12])


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
