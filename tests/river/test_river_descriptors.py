"""Descriptors of named rows: kernels add up, are chosen, saved and merged."""

import numpy as np
import pandas as pd
import pytest
from named_streams import DESCRIPTORS, histograms, learnt, make, state_of, targets_for

from streamchi2.files import dumped, loaded
from streamchi2.river import ExpChi2Classifier, ExpChi2Regressor
from streamchi2.river.dict_rows import DictReader
from streamchi2.river.key_columns import KeyColumns
from streamchi2.statistics.buffer import as_matrix

ROWS, LABELS, NUMBERS = histograms(460)


def first_two(key):
    return key in ("colour 0", "colour 1")


def test_features_are_those_of_each_descriptor_side_by_side():
    model = learnt(make("descriptor classifier"), ROWS[:100], LABELS)
    feature_map, keys = model._tracker().feature_map, KeyColumns(DESCRIPTORS)
    rows = [DictReader(keys).read(row) for row in ROWS[:7]]
    features = np.array([model._features(feature_map, row) for row in rows])
    assert feature_map.sizes == (45, 45)
    for number, block in enumerate(feature_map.blocks):
        columns = feature_map.columns[number]
        part = block.transform(as_matrix(rows)[:, columns.start : columns.stop])
        eps = 64 * np.finfo(np.float32).eps
        np.testing.assert_allclose(features[:, 45 * number :][:, :45], part, rtol=0, atol=eps)


@pytest.mark.parametrize("kind", ["list", "callable"])
def test_lists_prefixes_and_callables_choose_alike(kind):
    few = {"list": ("colour 0", "colour 1"), "callable": first_two}[kind]
    model = learnt(make("descriptor classifier"), ROWS[:200], LABELS)
    by_test = {"few": few, "all": lambda key: key.startswith("colour ")}
    other = learnt(make("descriptor classifier", descriptors=by_test), ROWS[:200], LABELS)
    assert state_of(other) == state_of(model)


@pytest.mark.parametrize("name", ["descriptor classifier", "group lasso regressor"])
def test_absent_keys_are_zeros_and_keys_in_no_descriptor_are_not_read(name):
    targets = targets_for(name, LABELS, NUMBERS)
    plain = learnt(make(name), ROWS[:150], targets)
    sparse_rows = [
        {key: row[key] for key in reversed(row) if row[key]} | {"size": 1e3, 7: 2.0}
        for row in ROWS[:150]
    ]
    assert state_of(learnt(make(name), sparse_rows, targets)) == state_of(plain)


def test_group_lasso_finds_the_descriptor_that_matters():
    noise = np.random.default_rng(1).dirichlet(np.ones(4), 460)
    rows = [
        row | {f"noise {i}": value for i, value in enumerate(other)}
        for row, other in zip(ROWS, noise.tolist(), strict=True)
    ]
    kinds = {"noise": "noise ", "colour": "colour "}
    params = {"n_components": 64, "descriptors": kinds, "latest_rows": 0, "seed": 0}
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
    params = {
        "n_components": {"few": 10, "all": 40},
        "beta": {"few": 2.0, "all": "auto"},
        "n_pca": {"few": 3, "all": 0.9},
    }
    model = ExpChi2Classifier(descriptors=DESCRIPTORS, seed=0, **params)
    learnt(model, ROWS[:100], LABELS)
    assert model.beta_["few"] == 2.0
    assert set(model.k_) == set(model.kernel_error()) == set(DESCRIPTORS)
    assert model._tracker().feature_map.sizes == (10, 40)
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


@pytest.mark.parametrize("descriptors", [{"few": first_two}, {"cells": [("cell", object)]}])
def test_what_files_cannot_hold_is_refused_with_the_way_out(descriptors):
    model = ExpChi2Classifier(16, descriptors=descriptors, seed=0)
    with pytest.raises(TypeError, match=r"descriptors.*pickle"):
        dumped(model)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"descriptors": {"a": 3}}, "descriptors"),
        ({"descriptors": DESCRIPTORS, "beta": {"few": 1.0}}, "beta must have a value for each"),
        ({"descriptors": DESCRIPTORS, "n_components": {"few": 3}}, "n_components must have"),
        ({"descriptors": DESCRIPTORS, "n_components": {"few": 3, "all": None}}, "n_components"),
        ({"n_components": None, "basis": "additive"}, "n_components must be"),
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
