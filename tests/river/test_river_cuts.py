"""The cut law through river: one by one, in frames of any size, after a pickle."""

import copy
import functools
import pickle

import numpy as np
import pandas as pd
import pytest
from named_streams import MODELS, histograms, learnt, state_of
from scipy import sparse

from streamchi2.river import ExpChi2Classifier
from streamchi2.river.dict_rows import DictReader
from streamchi2.statistics.row_buffer import as_matrix

ROWS, LABELS, NUMBERS = histograms(460)


def targets_for(name):
    return {"sampler": None}.get(name, NUMBERS if "regressor" in name else LABELS)


@functools.cache
def state_one_by_one(name):
    """Return the state after all rows, learnt one by one."""
    return state_of(learnt(MODELS[name](), ROWS, targets_for(name)))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cuts", [[460], [1, 63, 64, 65, 65, 250, 460]])
def test_any_cutting_gives_the_same_model_bit_for_bit(name, cuts):
    targets, many = targets_for(name), MODELS[name]()
    for start, stop in zip([0, *cuts], cuts, strict=False):
        frame = pd.DataFrame(ROWS[start:stop], columns=list(ROWS[0]))
        if targets is None:
            many.learn_many(frame)
        else:
            many.learn_many(frame, pd.Series(targets[start:stop], dtype=object))
    assert state_of(many) == state_one_by_one(name)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("position", [30, 333])
def test_a_pickle_in_mid_stream_continues_exactly(name, position):
    targets = targets_for(name)
    model = learnt(MODELS[name](), ROWS[:position], targets)
    rest = ROWS[position:], None if targets is None else targets[position:]
    twin = copy.deepcopy(pickle.loads(pickle.dumps(model)))
    assert state_of(learnt(twin, *rest)) == state_one_by_one(name)


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


def test_named_rows_are_one_matrix():
    matrix = as_matrix([DictReader().read(row) for row in ROWS[:5]])
    assert isinstance(matrix, sparse.csr_array)
    assert matrix.has_canonical_format
    np.testing.assert_allclose(matrix.sum(axis=1), [sum(row.values()) for row in ROWS[:5]])
