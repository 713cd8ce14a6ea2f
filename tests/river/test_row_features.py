"""Features of one row at a time: remembered by value, and equal to those of many rows."""

import pickle

import numpy as np
import pytest
from named_streams import histograms, learnt

from streamchi2.bases import BASES
from streamchi2.river import ExpChi2Sampler
from streamchi2.river.dict_rows import DictReader
from streamchi2.river.row_features import RowFeatures, features_of
from streamchi2.statistics.row_buffer import Row

ROWS, *_ = histograms(120)


def test_the_row_featurised_last_is_remembered_by_value(monkeypatch):
    sampler = learnt(ExpChi2Sampler(32, seed=0), ROWS[:70])
    row = dict(ROWS[80])
    first = sampler.transform_one(row)

    def refuse(self, values):
        raise RuntimeError("featurised again")

    monkeypatch.setattr("streamchi2.feature_map.feature_map.RowBlock.transform", refuse)
    assert sampler.transform_one(row) == first
    assert sampler.transform_one(dict(row)) == first
    assert sampler.transform_one(dict(reversed(row.items()))) == first
    row["colour 0"] += 1.0
    with pytest.raises(RuntimeError, match="featurised again"):
        sampler.transform_one(row)  # changed in place: another row


def without_zeros(row):
    kept = row.values != 0.0
    return Row(row.columns[kept], row.values[kept])


@pytest.mark.parametrize("basis", BASES)
def test_one_row_gives_the_features_of_many_bit_for_bit(basis):
    sampler = learnt(ExpChi2Sampler(20, basis=basis, seed=0), ROWS[:100])
    feature_map, reader, known = sampler._present_map(), DictReader(), RowFeatures()
    rows = [reader.read(row) for row in ROWS[100:]]
    singly = np.array([known.of(feature_map, row) for row in rows])
    together = features_of(feature_map, [without_zeros(row) for row in rows])
    np.testing.assert_array_equal(together, singly)
    assert singly.std() > 0.0


@pytest.mark.parametrize("basis", BASES)
def test_features_do_not_depend_on_which_keys_came_before(basis):
    # A zero, a key that is new and a key that is not there: gathered anew or not, the same bits.
    sampler = learnt(ExpChi2Sampler(20, basis=basis, seed=0), ROWS[:100])
    feature_map, known = sampler._present_map(), RowFeatures()
    reader = DictReader()
    for row in ROWS[100:]:
        plain = known.of(feature_map, reader.read(row))
        sparse = {key: value for key, value in row.items() if value}
        wide = row | {f"other {place}": 0.0 for place in range(60)}
        for other in (sparse, wide):
            np.testing.assert_array_equal(known.of(feature_map, reader.read(other)), plain)
            afresh = RowFeatures().of(feature_map, DictReader().read(other))
            np.testing.assert_array_equal(afresh, plain)


def test_pickles_hold_nothing_that_was_remembered():
    sampler = learnt(ExpChi2Sampler(20, seed=0), ROWS[:100])
    known = RowFeatures()
    known.of(sampler._present_map(), DictReader().read(ROWS[0]))
    assert pickle.dumps(known) == pickle.dumps(RowFeatures())
