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
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from strategies import BAD_ROWS

from streamchi2.errors import StateMismatchError
from streamchi2.estimators import solution
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

WORDS = {"n_terms": 3, "random_state": 0}
ESTIMATORS = {
    "classifier": (ExpChi2Classifier(32, **WORDS), LABELS),
    "fading classifier": (
        ExpChi2Classifier(32, n_pca=8, calibrate="quantile", half_life=300.0, **WORDS),
        LABELS,
    ),
    "lasso classifier": (
        ExpChi2Classifier(32, n_pca=0.9, penalty="lasso", alpha=1e-3, **WORDS),
        LABELS,
    ),
    "regressor": (ExpChi2Regressor(32, **WORDS), TARGETS[:, 0]),
    "two targets": (
        ExpChi2Regressor(32, penalty="elastic_net", alpha=1e-3, half_life=300.0, **WORDS),
        TARGETS,
    ),
    "pca": (ExpChi2PCA(32, n_pca=4, **WORDS), None),
}
each_estimator = pytest.mark.parametrize(
    ("estimator", "answers"), ESTIMATORS.values(), ids=ESTIMATORS.keys()
)
cuts = st.lists(st.integers(1, N_ROWS), max_size=6).map(lambda inner: sorted({0, *inner, N_ROWS}))


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


def read(model, rows=ROWS[:40]):
    """Everything a user can read of a model, as arrays."""
    found = [model.k_, np.array(model.transports_), np.array([model.kernel_error_])]
    if isinstance(model, ExpChi2PCA):
        return [*found, model.components_, model.explained_variance_, model.transform(rows)]
    found += [model.coef_, np.atleast_1d(model.intercept_), np.array([model.alpha_])]
    if isinstance(model, ExpChi2Regressor):
        return [*found, model.predict(rows)]
    answers = [model.decision_function(rows), model.predict_proba(rows), model.predict(rows)]
    return [*found, model.classes_, *answers]


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


# Scikit-learn's checks feed negative rows to decision_function here, whatever the tag says.
NEGATIVE_ROWS = {
    "check_decision_proba_consistency": "its rows are negative, against the tag positive_only; "
    "test_classifier.py checks the same on rows that are not"
}


@parametrize_with_checks(
    [
        ExpChi2Classifier(32),
        ExpChi2Classifier(32, n_pca=5, calibrate="quantile", n_terms=2),
        ExpChi2Regressor(32, n_terms=2),
        ExpChi2Regressor(32, n_pca=0.9, penalty="lasso", alpha=0.01, n_terms=2),
        ExpChi2PCA(32, n_pca=5, n_terms=2),
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
    estimator = clone(estimator).set_params(half_life=None, adapt=False, dtype="float64")
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
    solve, decompose = solution.least_squares, solution.principal_components
    monkeypatch.setattr(
        solution, "least_squares", lambda *a, **k: solves.append("model") or solve(*a, **k)
    )
    monkeypatch.setattr(
        solution, "principal_components", lambda *a: solves.append("pca") or decompose(*a)
    )
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
    kept = {**vars(model._solution), "_stream": None}
    assert kept["_seen"].labelled is None
    assert kept["_seen"].unlabelled is None
    assert "_uncalibrated" not in kept


@each_estimator
def test_pickles_and_copies_continue_exactly(estimator, answers):
    model = learnt(estimator, answers, [0, 240])
    twins = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    read(model)
    twins.append(pickle.loads(pickle.dumps(model)))
    fed(model, answers, 240, N_ROWS)
    for twin in twins:
        assert_same_bits(fed(twin, answers, 240, N_ROWS), model)


def shards_of(base, answers, edges):
    return [fed(base.new_shard(), answers, start, stop) for start, stop in pairwise(edges)]


@each_estimator
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_merged_shards_equal_one_pass(estimator, answers, order):
    # Fading needs the order of the rows, and shards are re-estimated at positions of their own.
    estimator = clone(estimator).set_params(half_life=None, adapt=False, dtype="float64")
    base = learnt(estimator, answers, [0, 100])
    shards = shards_of(base, answers, [100, 250, 290, 900])
    for place in order:
        before = pickle.dumps(shards[place])
        base.merge(shards[place])
        assert pickle.dumps(shards[place]) == before
    assert base.n_samples_seen_ == 900
    whole = learnt(estimator, answers, [0, 900])
    # Sums in another order; sharpness is searched for to 1e-5 in its logarithm.
    assert_close(base, whole, rtol=1e-4)


@each_estimator
def test_an_empty_side_is_the_identity_of_merge(estimator, answers):
    model = learnt(estimator, answers, [0, 400])
    before = copy.deepcopy(model)
    model.merge(clone(estimator))  # not fitted
    assert_same_bits(model, before)
    model.merge(model.new_shard())  # fitted, but empty
    assert_same_bits(model, before)
    for empty in (clone(estimator), model.new_shard()):
        empty.merge(model)
        assert empty.n_features_in_ == WIDTH
        assert_same_bits(empty, before)
        assert_same_bits(
            fed(empty, answers, 400, 700), fed(copy.deepcopy(before), answers, 400, 700)
        )


@each_estimator
def test_mismatched_merges_are_refused_without_a_trace(estimator, answers):
    model = learnt(estimator, answers, [0, 400])
    before = pickle.dumps(model)
    some = (ROWS[:70], None if answers is None else answers[:70])
    shorter = (ROWS[:70, :4], some[1])
    refused = {
        "n_pca must agree to merge": clone(estimator).set_params(n_pca=3),
        "half_life must agree to merge": clone(estimator).set_params(half_life=33.0),
        "random_state must agree to merge": clone(estimator).set_params(random_state=7),
        "n_features_in_ must agree to merge": clone(estimator).fit(*shorter),
        "maps must differ by transport alone": clone(estimator).fit(ROWS[:70] ** 2, some[1]),
    }
    for message, other in refused.items():
        with pytest.raises(StateMismatchError, match=message):
            model.merge(other)
        assert pickle.dumps(model) == before
    with pytest.raises(TypeError, match="other must be a"):
        model.merge(object())
    assert pickle.dumps(model) == before


@each_estimator
@pytest.mark.parametrize("kind", BAD_ROWS)
def test_bad_rows_leave_no_trace(estimator, answers, kind):
    rows = BAD_ROWS[kind]
    some = None if answers is None else answers[: len(rows)]
    model = learnt(clone(estimator).set_params(adapt=False), answers, [0, 70])
    before = pickle.dumps(model)
    for call in (model.partial_fit, model.fit):
        with pytest.raises((TypeError, ValueError)):
            call(rows, some)
        assert pickle.dumps(model) == before
    fresh = clone(estimator)
    with pytest.raises((TypeError, ValueError)):
        fresh.partial_fit(rows, some)
    assert vars(fresh) == vars(clone(estimator))


BAD_WORDS = {
    "n_pca": [0, 1.5, "many"],
    "n_jobs": [0],
    "half_life": [-1.0],
    "n_components": [0, 64],
    "beta": [-1.0, "none"],
    "random_state": [8],
}
REGRESSION_WORDS = {"alpha": [-1.0, "cv"], "penalty": ["l0"], "l1_ratio": [0.0, 2.0]}


@each_estimator
def test_bad_words_and_weights_leave_no_trace(estimator, answers):
    model = learnt(estimator, answers, [0, 400])
    before = pickle.dumps(model)
    some = (ROWS[:3], None if answers is None else answers[:3])
    for weights in ([1.0, -1.0, 1.0], [1.0, np.nan, 1.0], [1.0, 2.0], ["a", "b", "c"]):
        with pytest.raises((TypeError, ValueError), match="sample_weight must"):
            model.partial_fit(*some, sample_weight=weights)
    words = BAD_WORDS if answers is None else {**BAD_WORDS, **REGRESSION_WORDS}
    for name, values in words.items():
        usual = model.get_params()[name]
        for value in values:
            with pytest.raises((TypeError, ValueError), match=f"{name}|parameters must not change"):
                model.set_params(**{name: value}).partial_fit(*some)
        model.set_params(**{name: usual})
    with pytest.raises(ValueError, match="sample_weight must not be zero for every row"):
        clone(estimator).fit(*some, sample_weight=np.zeros(3))
    assert pickle.dumps(model) == before


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
