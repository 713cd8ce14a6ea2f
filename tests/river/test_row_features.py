"""Features of one row at a time: remembered by value, and equal to those of many rows."""

import pickle

import numpy as np
import pytest
from named_streams import histograms, learnt

from streamchi2.bases import BASES
from streamchi2.river import ExpChi2Sampler
from streamchi2.river.dict_rows import DictReader
from streamchi2.river.row_features import RowFeatures, features_of

ROWS, *_ = histograms(120)


def test_the_row_featurised_last_is_remembered_by_value(monkeypatch):
    sampler = learnt(ExpChi2Sampler(32, seed=0), ROWS[:70])
    row = dict(ROWS[80])
    first = sampler.transform_one(row)
    calls = []
    monkeypatch.setattr("streamchi2.feature_map.feature_map.MapBlock.transform_row", calls.append)
    assert sampler.transform_one(dict(reversed(row.items()))) == first
    row["colour 0"] += 1.0
    with pytest.raises(TypeError):
        sampler.transform_one(row)  # another row: the stand-in is called with its values


@pytest.mark.parametrize("basis", BASES)
def test_one_row_gives_the_features_of_many_bit_for_bit(basis):
    sampler = learnt(ExpChi2Sampler(20, basis=basis, seed=0), ROWS[:100])
    feature_map, reader, known = sampler._present_map(), DictReader(), RowFeatures()
    rows = [reader.read(row) for row in ROWS[100:]]
    singly = np.array([known.of(feature_map, row) for row in rows])
    np.testing.assert_array_equal(
        features_of(feature_map, [row.without_zeros() for row in rows]), singly
    )
    assert singly.std() > 0.0


def test_pickles_hold_nothing_that_was_remembered():
    sampler = learnt(ExpChi2Sampler(20, seed=0), ROWS[:100])
    known = RowFeatures()
    known.of(sampler._present_map(), DictReader().read(ROWS[0]))
    assert pickle.dumps(known) == pickle.dumps(RowFeatures())
