"""The sampler: features of single rows, their names, pipelines, landmarks of a young stream."""

import numpy as np
import pytest
from named_streams import histograms, learnt
from river import compose, linear_model

from streamchi2 import exp_chi2_kernel
from streamchi2.bases import BASES
from streamchi2.features import FeatureMap
from streamchi2.files import dumped, loaded
from streamchi2.river import ExpChi2Sampler

ROWS, LABELS, _ = histograms(120)


def test_the_row_featurised_last_is_remembered_by_value(monkeypatch):
    sampler = learnt(ExpChi2Sampler(32, seed=0), ROWS[:70])
    row = dict(ROWS[80])
    first = sampler.transform_one(row)

    def refuse(self, columns, values):
        raise RuntimeError("featurised again")

    monkeypatch.setattr(FeatureMap, "transform_row", refuse)
    assert sampler.transform_one(row) == first
    assert sampler.transform_one(dict(row)) == first
    row["colour 0"] += 1.0
    with pytest.raises(RuntimeError, match="featurised again"):
        sampler.transform_one(row)  # changed in place: another row


@pytest.mark.parametrize("basis", BASES)
def test_features_do_not_depend_on_which_keys_came_before(basis):
    # A zero, a key that is new and a key that is not there: gathered anew or not, the same bits.
    sampler = learnt(ExpChi2Sampler(20, basis=basis, seed=0), ROWS[:100])
    feature_map = sampler._tracker().feature_map
    for row in ROWS[100:]:
        plain = sampler._features(feature_map, sampler._reader.read(row))
        sparse = {key: value for key, value in reversed(row.items()) if value}
        wide = row | {f"other {place}": 0.0 for place in range(60)}
        for other in (sparse, wide):
            again = sampler._features(feature_map, sampler._reader.read(other))
            np.testing.assert_array_equal(again, plain)
            afresh = loaded(dumped(sampler)).transform_one(other)
            np.testing.assert_array_equal(list(afresh.values()), plain)


def test_a_union_of_samplers_with_prefixes_keeps_all_features():
    union = compose.TransformerUnion(
        ExpChi2Sampler(20, beta=1.0, seed=0), ExpChi2Sampler(12, prefix="k2 ", seed=0)
    )
    for row in ROWS:
        union.learn_one(row)
    features = union.transform_one(ROWS[0])
    assert len(features) == 32
    for sampler in (union[0], union[1]):
        for name, value in sampler.transform_one(ROWS[0]).items():
            assert features[name] == value
    model = union | linear_model.LogisticRegression()
    for row, label in zip(ROWS, LABELS, strict=True):
        model.learn_one(row, label == "ash")
    assert len(model["LogisticRegression"].weights) == 32


def test_the_prefix_is_saved_and_must_be_text():
    sampler = learnt(ExpChi2Sampler(8, prefix="hue ", seed=0), ROWS[:70])
    assert list(loaded(dumped(sampler)).transform_one(ROWS[0]))[:2] == ["hue 0", "hue 1"]
    wrong = ExpChi2Sampler(8, prefix=3, seed=0)
    for call in (wrong.learn_one, wrong.transform_one):
        with pytest.raises(TypeError, match="prefix must be text, got 3"):
            call(ROWS[0])


def test_before_the_first_rows_are_there_the_rows_there_are_serve():
    params = {"n_components": 100, "basis": "landmarks", "n_terms": 8, "n_buckets": 2**16}
    sampler = ExpChi2Sampler(seed=0, **params)
    assert np.isfinite(list(sampler.transform_one(ROWS[0]).values())).all()
    learnt(sampler, ROWS[:20])
    rows = ROWS[:16]  # on which the last map was planned, all of them its landmarks
    features = np.array([list(sampler.transform_one(row).values()) for row in rows])
    assert features.shape == (16, 100)
    exact = exp_chi2_kernel([list(row.values()) for row in rows], beta=sampler.beta_)
    # 8 colours of 8 terms in 2^16 buckets: two of them meet with a chance of .03, not at this seed.
    # What is left is the error of eight terms, which are fitted to these very values.
    assert np.abs(features @ features.T - exact).max() < 1e-3


def test_landmarks_change_at_powers_of_four_and_at_2d_and_then_no_more():
    sampler, changes, last = ExpChi2Sampler(40, basis="landmarks", seed=0), [], None
    for position, row in enumerate(ROWS, 1):
        sampler.learn_one(row)
        landmarks = sampler._tracker().feature_map.blocks[0].basis.landmarks.rows
        if last is None or landmarks is not last:
            changes.append((position, landmarks.shape[0]))
        last = landmarks
    assert changes == [(1, 1), (4, 4), (16, 16), (64, 40), (80, 40)]
