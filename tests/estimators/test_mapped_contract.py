"""What the three estimators with a map and a model share: scikit-learn's contract, our laws."""

from __future__ import annotations

import copy
import pickle
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mapped_models import (
    N_ROWS,
    ROWS,
    UNLABELLED,
    assert_same_bits,
    each_estimator,
    fed,
    learnt,
    read,
    scores,
)
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from streamchi2.estimators import base, regression
from streamchi2.estimators.classifier import ExpChi2Classifier
from streamchi2.estimators.pca import ExpChi2PCA
from streamchi2.estimators.regressor import ExpChi2Regressor

cuts = st.lists(st.integers(1, N_ROWS), max_size=6).map(lambda inner: sorted({0, *inner, N_ROWS}))

# Scikit-learn's checks feed negative rows to decision_function here, whatever the tag says.
NEGATIVE_ROWS = {
    "check_decision_proba_consistency": "its rows are negative, against the tag positive_only; "
    "test_classifier.py checks the same on rows that are not",
    "check_class_weight_classifiers": "the same; test_class_weight.py has it on rows that are not",
}


@parametrize_with_checks(
    [
        ExpChi2Classifier(32, basis="orthogonal"),
        ExpChi2Classifier(32, n_pca=0.9, class_shift="quantile", n_terms=2, basis="orthogonal"),
        ExpChi2Regressor(32, n_terms=2, basis="orthogonal"),
        ExpChi2Regressor(32, n_pca=0.9, penalty="lasso", alpha=0.01, n_terms=2, basis="orthogonal"),
        ExpChi2PCA(32, n_pca=5, n_terms=2, basis="orthogonal"),
        ExpChi2Regressor(
            64,
            descriptors={"first": slice(0, 1), "rest": slice(1, None)},
            penalty="group_lasso",
            alpha=1e-4,
            n_terms=2,
            basis="orthogonal",
        ),
        # Float32 matrix products round by the place of a row, which the checks do not forgive.
        ExpChi2Classifier(16, basis="landmarks", n_terms=2),
        ExpChi2Regressor(16, basis="landmarks", n_terms=2),
        ExpChi2Regressor(32, basis="subspace", n_terms=2),
        ExpChi2PCA(16, basis="landmarks", n_pca=5, n_terms=2),
    ],
    expected_failed_checks=lambda e: NEGATIVE_ROWS if isinstance(e, ExpChi2Classifier) else {},
)
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@each_estimator
@given(edges=cuts, weighted=st.booleans())
@settings(max_examples=5)
def test_any_cutting_gives_the_same_model_bit_for_bit(estimator, answers, edges, weighted):
    cut = learnt(estimator, answers, edges, weighted=weighted)
    assert_same_bits(cut, learnt(estimator, answers, [0, N_ROWS], weighted=weighted))


@each_estimator
def test_rows_one_by_one_give_the_same_model_bit_for_bit(estimator, answers):
    single = learnt(estimator, answers, [*range(70), *range(170, 310), *range(1000, 1030), 1100])
    assert_same_bits(single, learnt(estimator, answers, [0, 1100]))


@each_estimator
def test_fit_after_fit_starts_afresh(estimator, answers):
    model = learnt(estimator, answers, [0, 500])
    model.fit(ROWS, answers)
    fresh = clone(estimator).partial_fit(ROWS, answers)
    assert_same_bits(model, fresh)


@each_estimator
def test_weights_count_like_repeated_rows(estimator, answers):
    # Repetition moves later rows to other positions, which fading and re-estimation heed.
    estimator = clone(estimator).set_params(half_life=None, adapt=False)
    some = slice(0, 300)
    counts = np.random.default_rng(1).integers(0, 3, 300)
    own = None if answers is None else answers[some]
    begin = (ROWS[:64], None if answers is None else answers[:64])  # one map for both
    weighted = clone(estimator).fit(*begin).partial_fit(ROWS[some], own, sample_weight=counts)
    repeated = clone(estimator).fit(*begin)
    repeated.partial_fit(
        np.repeat(ROWS[some], counts, axis=0),
        None if answers is None else np.repeat(own, counts, axis=0),
    )
    # Sums of float64 in another order, through a solve whose condition is at most 1e8.
    found = [scores(model) for model in (weighted, repeated)]
    assert_allclose(*found, atol=1e-6)


@each_estimator
def test_reading_changes_nothing_and_solves_once(estimator, answers, monkeypatch):
    solves = []
    for module, name in ((regression, "fit"), (base, "components_of")):
        work = getattr(module, name)
        counted = lambda *given, work=work: solves.append(work) or work(*given)  # noqa: E731
        monkeypatch.setattr(module, name, counted)
    model = learnt(estimator, answers, [0, 700])
    before, names = pickle.dumps(model), set(vars(model))
    assert not solves  # learning alone solves nothing
    first = read(model)
    assert len(solves) == len(set(solves))
    for mine, theirs in zip(read(model), first, strict=True):
        assert_array_equal(mine, theirs)
    assert len(solves) == len(set(solves))
    assert pickle.dumps(model) == before
    assert set(vars(model)) == names
    fed(model, answers, 700, N_ROWS)
    assert_same_bits(model, learnt(estimator, answers, [0, N_ROWS]))


@each_estimator
def test_a_solved_model_holds_no_copy_of_the_statistics(estimator, answers):
    model = learnt(estimator, answers, [0, 700])
    read(model)
    assert "statistics" not in model._reading._results


@each_estimator
def test_pickles_and_copies_continue_exactly(estimator, answers):
    model = learnt(estimator, answers, [0, 240])
    twins = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    read(model)
    twins.append(pickle.loads(pickle.dumps(model)))
    fed(model, answers, 240, N_ROWS)
    for twin in twins:
        assert_same_bits(fed(twin, answers, 240, N_ROWS), model)


@each_estimator
def test_nothing_can_be_read_before_learning(estimator, answers):
    model = clone(estimator)
    for name in ("coef_", "components_", "classes_", "alpha_", "k_", "beta_"):
        assert not hasattr(model, name)
    for call in (model.transform,) if answers is None else (model.predict,):
        with pytest.raises(NotFittedError):
            call(ROWS)
    with pytest.raises(NotFittedError):
        model.new_shard()


@each_estimator
def test_a_shard_that_has_learnt_nothing_says_so(estimator, answers):
    shard = learnt(estimator, answers, [0, 100]).new_shard()
    if answers is not None:
        with pytest.raises(NotFittedError, match="No row has had a target"):
            shard.predict(ROWS)
        assert not hasattr(shard, "coef_")


@each_estimator
def test_the_number_of_jobs_does_not_change_a_bit(estimator, answers):
    parallel = clone(estimator).set_params(n_jobs=3)
    assert_same_bits(learnt(parallel, answers, [0, 600]), learnt(estimator, answers, [0, 600]))


@each_estimator
def test_every_answer_while_another_thread_learns_belongs_to_one_state(estimator, answers):
    edges = [0, 64, *range(164, 1100, 100)]
    model, states = learnt(estimator, answers, edges[:2]), []
    alone = copy.deepcopy(model)
    states.append(read(alone)[-1])
    for start, stop in pairwise(edges[1:]):
        # Part by part: rows with and without answers arrive in calls of their own.
        inner = [edge for edge in UNLABELLED if start < edge < stop]
        for begin, end in pairwise([start, *inner, stop]):
            states.append(read(fed(alone, answers, begin, end))[-1])
    found, done = [], threading.Event()

    def keep_reading():
        while True:
            last = done.is_set()
            found.append(read(model)[-1])
            if last:
                return

    reader = threading.Thread(target=keep_reading)
    reader.start()
    for start, stop in pairwise(edges[1:]):
        fed(model, answers, start, stop)
    done.set()
    reader.join()
    assert found

    def same(left, right):
        # BLAS may share its sums among another number of threads while another one learns.
        return (
            (left == right).all()
            if left.dtype.kind == "U"
            else np.allclose(left, right, rtol=1e-4, atol=1e-5)
        )

    assert all(any(same(answer, state) for state in states) for answer in found)
    assert same(found[-1], states[-1])
