"""ExpChi2Classifier: labels that come late, are announced, absent or wrong."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from streamchi2.errors import StateMismatchError
from streamchi2.estimators.classifier import ExpChi2Classifier

_rng = np.random.default_rng(0)
ROWS = _rng.gamma(0.6, size=(400, 5))
NUMBERS = (ROWS[:, 0] > 0.4).astype(int) + (ROWS[:, 1] > 1)
NAMES = np.array(["ham", "spam", "eggs"])[NUMBERS]
STILL = {"adapt": False, "n_terms": 3, "random_state": 0}


@pytest.mark.parametrize("class_shift", [None, "quantile"])
def test_an_announced_class_without_rows_is_never_predicted(class_shift):
    model = ExpChi2Classifier(32, class_shift=class_shift, **STILL)
    model.partial_fit(ROWS, NAMES, classes=["eggs", "ham", "none", "spam"])
    assert_array_equal(model.classes_, ["eggs", "ham", "none", "spam"])
    assert not (model.predict(ROWS) == "none").any()
    assert (model.predict_proba(ROWS)[:, 2] < 0.2).all()


def test_unlabelled_rows_may_come_first():
    model = ExpChi2Classifier(32, n_pca=8, **STILL).observe(ROWS[:100])
    with pytest.raises(NotFittedError, match="No row has had a target"):
        model.predict(ROWS)
    assert not hasattr(model, "classes_")
    assert model.explained_variance_ratio_.shape == (8,)
    model.partial_fit(ROWS[100:], NAMES[100:])
    assert_array_equal(model.classes_, np.unique(NAMES))
    assert model.score(ROWS, NAMES) > 0.65  # half of the rows are of one class


BAD_LABELS = {
    "fewer labels": (NAMES[:4], {}, "one target per row: got 4 targets for 5 rows"),
    "no labels": (None, {}, "requires y"),
    "numbers after words": ([1, 2, 3, 1, 2], {}, "labels of one kind, got 1 after 'eggs'"),
    "words and numbers": (["a", 1, "b", "c", "d"], {}, "text or numbers, not both"),
    "nan": ([0.0, np.nan, 1.0, 1.0, 0.0], {}, "must be finite"),
    "two columns": (np.ones((5, 2)), {}, "y must keep its form, one label a row"),
    "weights in place of classes": (NAMES[:5], {"classes": np.ones(5)}, "weights go by name"),
    "broken weights": (NAMES[:5], {"classes": [0.5, 1, 1.5, 2, 3]}, "weights go by name"),
    "undeclared": (["ham"] * 4 + ["bacon"], {"classes": ["eggs", "ham", "spam"]}, "got 'bacon'"),
    "seen but not declared": (NAMES[:5], {"classes": ["ham", "spam"]}, "came before.*'eggs'"),
    "twice": (NAMES[:5], {"classes": ["ham", "ham", "spam", "eggs"]}, "must be distinct"),
}


@pytest.mark.parametrize("kind", BAD_LABELS)
def test_bad_labels_leave_no_trace(kind):
    labels, options, message = BAD_LABELS[kind]
    model = ExpChi2Classifier(32, **STILL).fit(ROWS[:100], NAMES[:100])
    before = pickle.dumps(model)
    with pytest.raises((TypeError, ValueError), match=message):
        model.partial_fit(ROWS[:5], labels, **options)
    assert pickle.dumps(model) == before


def test_after_a_declaration_no_class_may_be_added():
    model = ExpChi2Classifier(32, **STILL)
    model.partial_fit(ROWS[:100], NAMES[:100], classes=np.unique(NAMES))
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=r"declared classes .* got 'bacon' at row 1"):
        model.partial_fit(ROWS[:2], ["ham", "bacon"])
    with pytest.raises(ValueError, match="classes must stay the same"):
        model.partial_fit(ROWS[:1], ["ham"], classes=["ham", "spam"])
    assert pickle.dumps(model) == before
    model.fit(ROWS[:2], ["ham", "bacon"])  # fit forgets, declarations included
    assert_array_equal(model.classes_, ["bacon", "ham"])


def test_shards_whose_labels_disagree_are_refused_without_a_trace():
    base = ExpChi2Classifier(32, **STILL).fit(ROWS[:100], NUMBERS[:100])
    fresh = base.new_shard()
    declared = base.new_shard().partial_fit(ROWS[:9], NUMBERS[:9], classes=[0, 1, 2])
    new_class = base.new_shard().partial_fit(ROWS[:9], np.full(9, 7))
    with pytest.raises(TypeError, match="labels of one kind"):
        fresh.partial_fit(ROWS[:3], NAMES[:3])  # a shard knows the labels of its origin
    text = ExpChi2Classifier(32, **STILL).fit(ROWS[:9], NAMES[:9])
    before = pickle.dumps(base), pickle.dumps(declared)
    with pytest.raises(StateMismatchError, match="all text or all numbers"):
        base.merge(text)
    with pytest.raises(StateMismatchError, match="classes were declared as"):
        declared.merge(new_class)
    assert (pickle.dumps(base), pickle.dumps(declared)) == before
    assert_array_equal(base.merge(new_class).classes_, [0, 1, 2, 7])


def test_a_label_of_weight_zero_is_no_class():
    weights = np.ones(100)
    weights[NAMES[:100] == "eggs"] = 0.0
    model = ExpChi2Classifier(32, **STILL).fit(ROWS[:100], NAMES[:100], sample_weight=weights)
    assert_array_equal(model.classes_, ["ham", "spam"])
