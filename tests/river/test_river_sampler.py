"""The sampler in pipelines: names of features, and unions of several."""

import pytest
from named_streams import histograms, learnt
from river import compose, linear_model

from streamchi2.files import dumped, loaded
from streamchi2.river import ExpChi2Sampler

ROWS, LABELS, _ = histograms(120)


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
