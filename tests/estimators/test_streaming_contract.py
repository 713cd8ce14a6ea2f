"""What the three estimators on plain features share: scikit-learn's contract and our laws."""

from __future__ import annotations

import copy
import pickle
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from streamchi2.errors import StateMismatchError
from streamchi2.estimators import linear, streaming_pca
from streamchi2.estimators.streaming_pca import StreamingPCA
from streamchi2.estimators.streaming_ridge import StreamingRidge
from streamchi2.estimators.streaming_ridge_classifier import StreamingRidgeClassifier
from streamchi2.files import dumped

N_ROWS = 2300
_rng = np.random.default_rng(0)
ROWS = _rng.normal(size=(N_ROWS, 5)) @ _rng.normal(size=(5, 5)) + 2.0
LABELS = (ROWS[:, 0] > 2).astype(int) + (ROWS[:, 1] > 3)
TARGETS = ROWS @ _rng.normal(size=5) + _rng.normal(size=N_ROWS)
WEIGHTS = _rng.uniform(0.1, 2.0, N_ROWS)

ESTIMATORS = [
    (StreamingPCA(n_components=3), None),
    (StreamingPCA(n_components=0.9, half_life=700.0), None),
    (StreamingRidge(alpha="auto"), TARGETS),
    (StreamingRidge(alpha=0.1, penalty="lasso", half_life=500.0), TARGETS),
    (StreamingRidgeClassifier(), LABELS),
    (StreamingRidgeClassifier(alpha="auto", half_life=900.0), LABELS),
    (StreamingRidgeClassifier(class_weight="balanced", half_life=900.0), LABELS),
]
NAMES = ["pca", "pca share", "ridge", "lasso", "classifier", "classifier auto", "balanced"]
each_estimator = pytest.mark.parametrize(("estimator", "answers"), ESTIMATORS, ids=NAMES)

cuts = st.lists(st.integers(0, N_ROWS), max_size=8).map(lambda inner: sorted({0, *inner, N_ROWS}))


def learnt(estimator, answers, edges, **options):
    model = clone(estimator)
    for start, stop in pairwise(edges):
        part = slice(start, stop)
        weights = {"sample_weight": WEIGHTS[part]} if options.get("weighted") else {}
        model.partial_fit(ROWS[part], None if answers is None else answers[part], **weights)
    return model


def read(model):
    """Everything a user can read of a model, as arrays."""
    if isinstance(model, StreamingPCA):
        return [model.components_, model.explained_variance_, model.mean_, model.transform(ROWS)]
    scores = getattr(model, "decision_function", model.predict)(ROWS)
    return [model.coef_, np.atleast_1d(model.intercept_), np.array([model.alpha_]), scores]


def assert_same_bits(left, right):
    for mine, theirs in zip(read(left), read(right), strict=True):
        assert_array_equal(mine, theirs)


@parametrize_with_checks(
    [
        StreamingPCA(),
        StreamingRidge(),
        StreamingRidgeClassifier(),
        StreamingRidgeClassifier(class_weight="balanced"),
    ]
)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@each_estimator
@given(edges=cuts, weighted=st.booleans())
@settings(max_examples=8, deadline=None)
def test_any_cutting_gives_the_same_model_bit_for_bit(estimator, answers, edges, weighted):
    cut = learnt(estimator, answers, edges, weighted=weighted)
    whole = learnt(estimator, answers, [0, N_ROWS], weighted=weighted)
    assert dumped(cut) == dumped(whole)
    assert_same_bits(cut, whole)


@each_estimator
def test_rows_one_by_one_give_the_same_model_bit_for_bit(estimator, answers):
    single = learnt(estimator, answers, [0, *range(1000, 1060), N_ROWS])
    assert_same_bits(single, learnt(estimator, answers, [0, N_ROWS]))


@each_estimator
def test_fit_equals_partial_fit_from_nothing(estimator, answers):
    model = learnt(estimator, answers, [0, 500])
    model.fit(ROWS, answers)
    assert_same_bits(model, learnt(estimator, answers, [0, N_ROWS]))


@each_estimator
def test_reading_changes_nothing_and_solves_once(estimator, answers, monkeypatch):
    solved = []
    for module, name in ((linear, "fit"), (streaming_pca, "_principal_components")):
        work = getattr(module, name)
        counted = lambda *given, work=work: solved.append(work) or work(*given)  # noqa: E731
        monkeypatch.setattr(module, name, counted)
    model = learnt(estimator, answers, [0, 1500])
    state, names = dumped(model), set(vars(model))
    assert not solved  # learning alone solves nothing
    read(model)
    read(model)
    assert len(solved) == 1
    assert set(vars(model)) == names
    assert dumped(model) == state
    model.partial_fit(ROWS[1500:], None if answers is None else answers[1500:])
    assert_same_bits(model, learnt(estimator, answers, [0, N_ROWS]))


@each_estimator
def test_merged_shards_equal_one_pass(estimator, answers):
    estimator = clone(estimator).set_params(half_life=None)
    shards = []
    for part in (slice(0, 900), slice(900, 1000), slice(1000, N_ROWS)):
        shard = clone(estimator)
        shards.append(shard.partial_fit(ROWS[part], None if answers is None else answers[part]))
    merged = clone(estimator)
    for shard in (shards[2], clone(estimator), shards[0], shards[1]):
        before = copy.deepcopy(shard)
        merged.merge(shard)
        assert vars(shard).keys() == vars(before).keys()
        if shard.__sklearn_is_fitted__():
            assert dumped(shard) == dumped(before)
    whole = learnt(estimator, answers, [0, N_ROWS])
    assert merged.n_samples_seen_ == N_ROWS
    for mine, theirs in zip(read(merged), read(whole), strict=True):
        # The choice finds alpha to 1e-4 in its logarithm, where the criterion is flat.
        assert_allclose(mine, theirs, atol=1e-5, rtol=1e-3)


@each_estimator
def test_an_empty_side_is_the_identity_of_merge(estimator, answers):
    model = learnt(estimator, answers, [0, 1500])
    merged = clone(estimator).merge(model)
    assert_same_bits(merged, model)
    assert merged.n_features_in_ == 5
    assert_same_bits(copy.deepcopy(model).merge(clone(estimator)), model)
    merged.partial_fit(ROWS, answers)
    assert model.n_samples_seen_ == 1500


@each_estimator
def test_pickles_and_copies_continue_exactly(estimator, answers):
    model = learnt(estimator, answers, [0, 1300])
    twins = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    read(model)
    twins.append(pickle.loads(pickle.dumps(model)))
    rest = (ROWS[1300:], None if answers is None else answers[1300:])
    model.partial_fit(*rest)
    for twin in twins:
        assert_same_bits(twin.partial_fit(*rest), model)


@each_estimator
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (ROWS[:4, :3], "3 features"),
        (np.full((4, 5), np.nan), "X must not contain NaN, got NaN at row 0, column 0"),
        (np.full((4, 5), 1e200), r"X must be below 1e\+140 in size"),
        (np.empty((0, 5)), "0 sample"),
    ],
)
def test_bad_rows_leave_no_trace(estimator, answers, rows, message):
    model = learnt(estimator, answers, [0, 1300])
    before = dumped(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(rows, None if answers is None else answers[: len(rows)])
    assert dumped(model) == before
    fresh = clone(estimator)
    if rows.shape[1] == 5:
        with pytest.raises(ValueError, match=message):
            fresh.partial_fit(rows, None if answers is None else answers[: len(rows)])
        assert vars(fresh) == vars(clone(estimator))


@each_estimator
def test_bad_weights_and_params_leave_no_trace(estimator, answers):
    model = learnt(estimator, answers, [0, 1300])
    before = dumped(model)
    some = (ROWS[:3], None if answers is None else answers[:3])
    with pytest.raises(ValueError, match=r"got -1.0 at row 1"):
        model.partial_fit(*some, sample_weight=[1.0, -1.0, 1.0])
    half_life = model.half_life
    with pytest.raises(ValueError, match="half_life must not change between calls"):
        model.set_params(half_life=123.0).partial_fit(*some)
    with pytest.raises(ValueError, match="half_life must be positive"):
        model.set_params(half_life=-1.0).partial_fit(*some)
    model.set_params(half_life=half_life)
    assert dumped(model) == before
    with pytest.raises(ValueError, match="sample_weight must not be zero for every row"):
        clone(estimator).fit(*some, sample_weight=np.zeros(3))


@each_estimator
def test_mismatched_merges_are_refused_without_a_trace(estimator, answers):
    model = learnt(estimator, answers, [0, 1300])
    before = dumped(model)
    with pytest.raises(TypeError, match="other must be a"):
        model.merge(object())
    other = clone(estimator).set_params(half_life=33.0)
    with pytest.raises(StateMismatchError, match=r"half_life must agree to merge, got .* and 33"):
        model.merge(other)
    narrow = clone(estimator).fit(ROWS[:50, :4], None if answers is None else answers[:50])
    with pytest.raises(StateMismatchError, match="n_features_in_ must agree to merge, got 5 and 4"):
        model.merge(narrow)
    assert dumped(model) == before


@each_estimator
def test_nothing_can_be_read_before_learning(estimator, answers):
    model = clone(estimator)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "components_")
    with pytest.raises(NotFittedError):
        (model.transform if answers is None else model.predict)(ROWS)


@each_estimator
def test_one_thread_may_read_while_another_learns(estimator, answers):
    model = learnt(estimator, answers, [0, 300])
    done, failures = threading.Event(), []

    def keep_reading():
        while not done.is_set():
            try:
                read(model)
            except Exception as failure:  # any failure at all is what this test looks for
                failures.append(failure)
                return

    reader = threading.Thread(target=keep_reading)
    reader.start()
    for start in range(300, N_ROWS, 100):
        part = slice(start, start + 100)
        model.partial_fit(ROWS[part], None if answers is None else answers[part])
    done.set()
    reader.join()
    assert not failures
    assert_same_bits(model, learnt(estimator, answers, [0, N_ROWS]))
