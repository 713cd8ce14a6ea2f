"""The cut law through river: one by one, in frames of any size, after a pickle, in scikit-learn."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from named_streams import MODELS, histograms, learnt, state_of
from scipy import sparse

from streamchi2.estimators.classifier import ExpChi2Classifier as MatrixClassifier
from streamchi2.river import ExpChi2Classifier, ExpChi2Sampler
from streamchi2.river.dict_rows import DictReader, as_matrix

ROWS, LABELS, NUMBERS = histograms(460)


def targets_for(name):
    return {"sampler": None}.get(name, NUMBERS if "regressor" in name else LABELS)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cuts", [[460], [1, 63, 64, 65, 250, 460], [100, 100, 257, 460]])
def test_any_cutting_gives_the_same_model_bit_for_bit(name, cuts):
    targets = targets_for(name)
    one, many = learnt(MODELS[name](), ROWS, targets), MODELS[name]()
    for start, stop in zip([0, *cuts], cuts, strict=False):
        frame = pd.DataFrame(ROWS[start:stop], columns=list(ROWS[0]))
        if targets is None:
            many.learn_many(frame)
        else:
            many.learn_many(frame, pd.Series(targets[start:stop], dtype=object))
    assert state_of(one) == state_of(many)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("position", [30, 333])
def test_a_pickle_in_mid_stream_continues_exactly(name, position):
    targets = targets_for(name)
    model = learnt(MODELS[name](), ROWS[:position], targets)
    twins = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    rest = ROWS[position:], None if targets is None else targets[position:]
    learnt(model, *rest)
    for twin in twins:
        assert state_of(learnt(twin, *rest)) == state_of(model)


def test_reading_leaves_no_mark():
    model = learnt(ExpChi2Classifier(64, seed=0), ROWS[:100], LABELS)
    before = pickle.dumps(model)
    model.predict_proba_one(ROWS[200])
    model.predict_one({"never seen": 1.0})
    model.predict_many(pd.DataFrame(ROWS[:3]))
    assert pickle.dumps(model) == before


def test_between_two_refreshes_the_last_model_answers():
    model = learnt(ExpChi2Classifier(64, seed=0), ROWS[:104], LABELS)
    before = model.predict_proba_one(ROWS[300])
    learnt(model, ROWS[104:105], LABELS[104:105])
    assert model.predict_proba_one(ROWS[300]) == before
    learnt(model, ROWS[105:112], LABELS[105:112])  # positions below 128 go in steps of eight
    assert model.predict_proba_one(ROWS[300]) != before


@pytest.mark.parametrize("n_components", [128, 600])
@pytest.mark.parametrize("half_life", [None, 200.0])
def test_the_estimator_on_matrices_says_the_same(n_components, half_life):
    # 320 is a position at which river's model is solved; the other is solved when asked.
    drawn = int(np.random.RandomState(7).randint(np.iinfo(np.int32).max))
    words = {"n_components": n_components, "alpha": 0.05, "half_life": half_life, "n_buckets": 512}
    model = learnt(ExpChi2Classifier(seed=drawn, **words), ROWS[:320], LABELS)
    reader = DictReader()
    matrix = as_matrix([reader.read(row).without_zeros() for row in ROWS])
    matrices = MatrixClassifier(random_state=7, **words).fit(matrix[:320], LABELS[:320])
    theirs = matrices.predict_proba(matrix[320:])
    assert model._stream.recipe == matrices._recipe
    ours = model._stream.model.linear
    # float32 products, centred in one and not in the other, cost 1e-7 of scores over alpha.
    features = matrices._recipe.transform(matrix[320:]).astype(float)
    np.testing.assert_allclose(
        features @ ours.coef + ours.intercept, matrices.decision_function(matrix[320:]), atol=2e-4
    )
    guesses = [model.predict_one(row) for row in ROWS[320:]]
    assert guesses == matrices.classes_[theirs.argmax(axis=1)].tolist()


def test_the_row_featurised_last_is_remembered_by_value(monkeypatch):
    sampler = learnt(ExpChi2Sampler(32, seed=0), ROWS[:70])
    row = dict(ROWS[80])
    first = sampler.transform_one(row)
    calls = []
    monkeypatch.setattr("streamchi2.feature_map.FeatureMap.transform_row", calls.append)
    assert sampler.transform_one(dict(reversed(row.items()))) == first
    row["colour 0"] += 1.0
    with pytest.raises(TypeError):
        sampler.transform_one(row)  # another row: the stand-in is called with its values


def test_named_rows_are_one_matrix():
    matrix = as_matrix([DictReader().read(row).without_zeros() for row in ROWS[:5]])
    assert isinstance(matrix, sparse.csr_array)
    assert matrix.has_canonical_format
    np.testing.assert_allclose(matrix.sum(axis=1), [sum(row.values()) for row in ROWS[:5]])
