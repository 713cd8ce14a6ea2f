"""Merging the estimators with a map and a model, and what they refuse without a trace."""

from __future__ import annotations

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from mapped_models import (
    ROWS,
    WIDTH,
    assert_close,
    assert_same_bits,
    each_estimator,
    fed,
    learnt,
)
from sklearn.base import clone
from strategies import BAD_ROWS

from streamchi2 import ExpChi2Classifier, ExpChi2PCA, ExpChi2Regressor
from streamchi2.errors import StateMismatchError


def shards_of(base, answers, edges):
    return [fed(base.new_shard(), answers, start, stop) for start, stop in pairwise(edges)]


@each_estimator
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_merged_shards_equal_one_pass(estimator, answers, order):
    # Fading needs the order of the rows, and shards are re-estimated at positions of their own.
    estimator = clone(estimator).set_params(half_life=None, adapt=False)
    base = learnt(estimator, answers, [0, 100])
    shards = shards_of(base, answers, [100, 250, 290, 900])
    for place in order:
        before = pickle.dumps(shards[place])
        base.merge(shards[place])
        assert pickle.dumps(shards[place]) == before
    assert base.n_samples_seen_ == 900
    whole = learnt(estimator, answers, [0, 900])
    # Sums in another order; inverse_temperature is searched for to 1e-5 in its logarithm.
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


BAD_PARAMS = {
    "n_pca": [0, 1.5, "many"],
    "n_jobs": [0],
    "half_life": [-1.0],
    "n_components": [0, 65],
    "beta": [-1.0, "none"],
    "random_state": [8],
}
REGRESSION_PARAMS = {"alpha": [-1.0, "cv"], "penalty": ["l0"], "l1_ratio": [0.0, 2.0]}


@each_estimator
def test_bad_params_and_weights_leave_no_trace(estimator, answers):
    model = learnt(estimator, answers, [0, 400])
    before = pickle.dumps(model)
    some = (ROWS[:3], None if answers is None else answers[:3])
    for weights in ([1.0, -1.0, 1.0], [1.0, np.nan, 1.0], [1.0, 2.0], ["a", "b", "c"]):
        with pytest.raises((TypeError, ValueError), match="sample_weight must"):
            model.partial_fit(*some, sample_weight=weights)
    params = BAD_PARAMS if answers is None else {**BAD_PARAMS, **REGRESSION_PARAMS}
    for name, values in params.items():
        usual = model.get_params()[name]
        for value in values:
            with pytest.raises((TypeError, ValueError), match=name):
                model.set_params(**{name: value}).partial_fit(*some)
        model.set_params(**{name: usual})
    with pytest.raises(ValueError, match="sample_weight must not be zero for every row"):
        clone(estimator).fit(*some, sample_weight=np.zeros(3))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("model", [ExpChi2Classifier, ExpChi2Regressor, ExpChi2PCA])
def test_a_bad_number_of_features_is_refused_by_its_name(model):
    with pytest.raises(TypeError, match="n_components must be an integer, got 'many'"):
        model("many").partial_fit(np.ones((3, 2)), [0, 1, 1])
