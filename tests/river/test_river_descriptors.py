"""Descriptors of named rows: kernels add up, are chosen, saved and merged."""

import numpy as np
import pandas as pd
import pytest
from named_streams import DESCRIPTORS, MODELS, histograms, learnt, state_of

from streamchi2 import ExpChi2Classifier as MatrixClassifier
from streamchi2 import errors
from streamchi2.estimators.base import drawn_seed
from streamchi2.files import dumped, loaded
from streamchi2.river import ExpChi2Classifier, ExpChi2Regressor
from streamchi2.river.dict_rows import DictReader
from streamchi2.river.key_columns import KeyColumns
from streamchi2.statistics.row_buffer import as_matrix

ROWS, LABELS, NUMBERS = histograms(460)
WITH_DESCRIPTORS = {
    "descriptor classifier": LABELS,
    "group lasso regressor": NUMBERS,
}


def first_two(key):
    return key in ("colour 0", "colour 1")


def test_features_are_those_of_each_descriptor_side_by_side():
    model = learnt(MODELS["descriptor classifier"](), ROWS[:100], LABELS)
    feature_map, keys = model._present_map(), KeyColumns(DESCRIPTORS)
    whole = as_matrix([DictReader(keys).read(row) for row in ROWS[:7]])
    features = feature_map.transform(whole)
    assert feature_map.sizes == (45, 45)
    start = 0
    for number, block in enumerate(feature_map.blocks):
        own = feature_map.columns[number]
        part = block.transform(whole[:, own.start : own.stop])
        np.testing.assert_array_equal(features[:, start : start + 45], part)
        start += 45
    one = np.array(
        [model._row_features.of(feature_map, DictReader(keys).read(r)) for r in ROWS[:7]]
    )
    np.testing.assert_array_equal(one, features)


@pytest.mark.parametrize("kind", ["list", "callable"])
def test_lists_prefixes_and_callables_choose_alike(kind):
    few = {"list": ("colour 0", "colour 1"), "callable": first_two}[kind]
    model = learnt(MODELS["descriptor classifier"](), ROWS[:200], LABELS)
    other = ExpChi2Classifier(
        90,
        descriptors={"few": few, "all": lambda key: key.startswith("colour ")},
        basis={"few": "additive", "all": "orthogonal"},
        seed=3,
    )
    assert state_of(learnt(other, ROWS[:200], LABELS)) == state_of(model)


@pytest.mark.parametrize("name", WITH_DESCRIPTORS)
def test_absent_keys_are_zeros_and_keys_in_no_descriptor_are_not_read(name):
    targets = WITH_DESCRIPTORS[name]
    plain = learnt(MODELS[name](), ROWS[:150], targets)
    sparse_rows = [
        {key: row[key] for key in reversed(row) if row[key]} | {"size": 1e3, 7: 2.0}
        for row in ROWS[:150]
    ]
    assert state_of(learnt(MODELS[name](), sparse_rows, targets)) == state_of(plain)


@pytest.mark.parametrize("name", WITH_DESCRIPTORS)
@pytest.mark.parametrize("position", [30, 333])
def test_a_file_in_mid_stream_continues_exactly(name, position):
    targets = WITH_DESCRIPTORS[name]
    model = learnt(MODELS[name](), ROWS[:position], targets)
    twin = loaded(dumped(model))
    assert dumped(twin) == dumped(model)
    for side in (model, twin):
        learnt(side, ROWS[position:], targets[position:])
    assert dumped(twin) == dumped(model)
    assert twin.predict_one(ROWS[0]) == model.predict_one(ROWS[0])
    if "group lasso" in name:
        assert twin.descriptor_weights_ == model.descriptor_weights_


@pytest.mark.parametrize("name", WITH_DESCRIPTORS)
def test_merged_shards_equal_one_pass(name):
    targets = WITH_DESCRIPTORS[name]
    start = learnt(MODELS[name](), ROWS[:100], targets)
    shards = [start.new_shard(), start.new_shard()]
    learnt(shards[0], ROWS[:256], targets)
    learnt(shards[1], ROWS[256:448], targets[256:448])
    whole = learnt(start.new_shard(), ROWS[:448], targets)
    shards[0].merge(loaded(dumped(shards[1])))
    ours, theirs = (side._stream.statistics.labelled.features for side in (shards[0], whole))
    scale = np.abs(theirs.upper).max()
    np.testing.assert_allclose(ours.upper, theirs.upper, rtol=0, atol=1e-5 * scale)  # float32
    if "regressor" in name:
        assert shards[0].predict_one(ROWS[450]) == pytest.approx(
            whole.predict_one(ROWS[450]), abs=1e-3
        )
    else:
        assert shards[0].predict_one(ROWS[450]) == whole.predict_one(ROWS[450])


def test_other_descriptors_are_refused_to_merge():
    model = learnt(ExpChi2Regressor(32, descriptors=DESCRIPTORS, seed=0), ROWS[:70], NUMBERS)
    before = state_of(model)
    turned = dict(reversed(DESCRIPTORS.items()))
    for descriptors in (None, turned, {**DESCRIPTORS, "all": "col"}):
        other = learnt(ExpChi2Regressor(32, descriptors=descriptors, seed=0), ROWS[:70], NUMBERS)
        with pytest.raises(errors.StateMismatchError, match="descriptors must agree to merge"):
            model.merge(other)
    assert state_of(model) == before


def test_group_lasso_finds_the_descriptor_that_matters():
    noise = np.random.default_rng(1).dirichlet(np.ones(4), 460)
    rows = [
        row | {f"noise {i}": value for i, value in enumerate(other)}
        for row, other in zip(ROWS, noise.tolist(), strict=True)
    ]
    kinds = {"noise": "noise ", "colour": "colour "}
    params = {"n_components": 64, "descriptors": kinds, "seed": 0}
    path = learnt(ExpChi2Regressor(**params), rows[:448], NUMBERS).descriptor_path_
    assert list(path) == ["colour", "noise"]
    between = np.sqrt(path["colour"] * path["noise"])
    model = ExpChi2Regressor(penalty="group_lasso", alpha=between, **params)
    learnt(model, rows[:448], NUMBERS)
    assert model.descriptor_path_ == path
    assert model.descriptor_weights_["colour"] > 0.0 == model.descriptor_weights_["noise"]
    before = model.predict_one(rows[450])
    changed = {key: 0.0 if key.startswith("noise") else v for key, v in rows[450].items()}
    assert model.predict_one(changed) == pytest.approx(before, rel=1e-12)


def test_readings_come_by_name_and_parameters_may_too():
    model = learnt(
        ExpChi2Classifier(
            {"few": 10, "all": 40},
            descriptors=DESCRIPTORS,
            beta={"few": 2.0, "all": "auto"},
            n_buckets={"few": 64, "all": "auto"},
            n_pca={"few": 3, "all": 0.9},
            seed=0,
        ),
        ROWS[:100],
        LABELS,
    )
    assert model.beta_["few"] == 2.0
    assert set(model.k_) == set(DESCRIPTORS)
    blocks = model._present_map().blocks
    assert [block.n_components for block in blocks] == [10, 40]
    assert [block.buckets.n_buckets for block in blocks] == [64, 1024]
    right = [model.predict_one(row) == label for row, label in zip(ROWS, LABELS, strict=True)]
    assert np.mean(right) > 0.85  # a third by chance


def test_landmarks_may_be_given_for_descriptors():
    params = {"basis": {"few": "landmarks", "all": "orthogonal"}, "landmarks": ROWS[:12]}
    model = ExpChi2Classifier(24, descriptors=DESCRIPTORS, seed=0, **params)
    assert dumped(loaded(dumped(model))) == dumped(model)  # before it has learnt
    twin = learnt(loaded(dumped(model)), ROWS[:80], LABELS)
    learnt(model, ROWS[:80], LABELS)
    assert dumped(twin) == dumped(model)
    model.merge(twin.new_shard())


def test_callables_cannot_be_saved_and_the_error_names_pickle():
    model = ExpChi2Classifier(16, descriptors={"few": first_two}, seed=0)
    learnt(model, ROWS[:5], LABELS)
    with pytest.raises(TypeError, match=r"descriptors must not hold a callable.*pickle"):
        dumped(model)
    model = ExpChi2Classifier(16, descriptors={"cells": [("cell", 1)]}, seed=0)
    with pytest.raises(TypeError, match=r"descriptors must hold text and numbers.*pickle"):
        dumped(model)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"descriptors": {"a": 3}}, "descriptors"),
        ({"descriptors": DESCRIPTORS, "beta": {"few": 1.0}}, "beta must have a value for each"),
        ({"descriptors": DESCRIPTORS, "n_components": {"few": 3}}, "n_components must have"),
        ({"descriptors": DESCRIPTORS, "n_components": {"few": 3, "all": None}}, "n_components"),
        ({"penalty": "group_lasso"}, "needs descriptors"),
        ({"beta": {"few": 1.0}}, "beta must be"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(params, match):
    model = ExpChi2Classifier(**{"n_components": 16, "seed": 0, **params})
    with pytest.raises((TypeError, ValueError), match=match):
        model.learn_one(ROWS[0], "ash")
    with pytest.raises((TypeError, ValueError), match=match):
        model.learn_many(pd.DataFrame(ROWS[:3]), pd.Series(LABELS[:3]))
    assert model.n_samples_seen_ == 0


def test_the_estimator_on_matrices_learns_the_same_from_the_same_columns():
    keys = KeyColumns(DESCRIPTORS)
    matrix = as_matrix([DictReader(keys).read(row) for row in ROWS[:256]])
    # The columns of one descriptor are too many to be listed: rows of one are whole rows.
    narrow = {"all": DESCRIPTORS["all"]}
    whole = matrix[:, 2**56 :]
    params = {"n_components": 40, "alpha": 0.1}
    model = learnt(
        ExpChi2Classifier(descriptors=narrow, seed=drawn_seed(7), **params), ROWS[:256], LABELS
    )
    matrices = MatrixClassifier(random_state=7, **params).fit(whole, LABELS[:256])
    assert model._present_map().blocks == matrices._reading.feature_map.blocks
    ours, theirs = (side._stream.statistics.labelled.summary() for side in (model, matrices))
    # The same rows in blocks of other lengths: products of float32 are rounded otherwise.
    roots, eps = np.sqrt(np.diag(ours.scatter)), np.finfo(np.float32).eps
    assert (np.abs(ours.scatter - theirs.scatter) <= 12 * eps * np.outer(roots, roots)).all()
    assert (np.abs(ours.cross - theirs.cross) <= 2 * 256 * eps * roots[:, None]).all()
