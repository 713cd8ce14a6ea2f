"""load(save(x)) continues exactly as x would, for everything and at every stage of its life."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from saved_examples import (
    CODES,
    ESTIMATORS,
    N_ROWS,
    PARTS,
    ROWS,
    WORDS,
    answers,
    estimator_after,
    learn,
    merged,
    parameters,
)
from scipy import sparse

from streamchi2 import ExpChi2Classifier, ExpChi2Regressor, ExpChi2Sampler, river
from streamchi2.errors import FormatError
from streamchi2.estimators.map_params import landmarks_differ
from streamchi2.estimators.streaming_ridge_classifier import StreamingRidgeClassifier
from streamchi2.persistence import dumped, load, loaded, save

# Nothing; before the map; in mid-block, with weights; with a model in primal form.
MOMENTS_OF_LIFE = [
    0,
    *[pytest.param(n_rows, marks=pytest.mark.thorough) for n_rows in (1, 64)],
    63,
    100,
    300,
]


def assert_same_params(found, expected):
    found, expected = dict(found), dict(expected)
    assert not landmarks_differ(found.pop("landmarks", None), expected.pop("landmarks", None))
    assert found == expected


@pytest.mark.parametrize("n_rows", MOMENTS_OF_LIFE)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_loaded_estimator_continues_bit_for_bit(name, n_rows):
    original = estimator_after(name, n_rows, weighted=n_rows == 100)
    twin = loaded(dumped(original))
    assert type(twin) is type(original)
    assert_same_params(parameters(twin), parameters(original))
    if parameters(original).get("random_state", 0) is None and n_rows == 0:
        return  # two first draws of nothing in particular
    if n_rows:
        np.testing.assert_array_equal(answers(twin), answers(original))
    for start, stop in ((n_rows, n_rows + 5), (n_rows + 5, min(n_rows + 150, N_ROWS))):
        for side in (original, twin):
            learn(side, ESTIMATORS[name][1], start, stop)
        np.testing.assert_array_equal(answers(twin), answers(original))
        assert dumped(twin) == dumped(original)


@pytest.mark.parametrize("name", PARTS)
def test_a_loaded_part_saves_to_the_same_bytes(name):
    part = PARTS[name]()
    twin = loaded(dumped(part))
    assert type(twin) is type(part)
    assert dumped(twin) == dumped(part)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_equal_states_give_equal_bytes_however_they_came_about(name):
    make, targets = ESTIMATORS[name]
    if parameters(make()).get("random_state", 0) is None:
        pytest.skip("two draws of nothing in particular differ")
    whole = learn(make(), targets, 0, 300)
    pieces = make()
    for start in range(0, 300, 17):
        learn(pieces, targets, start, min(start + 17, 300))
    assert dumped(pieces) == dumped(whole)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_merging_after_loading_equals_merging_before(name):
    make, targets = ESTIMATORS[name]
    base = learn(make(), targets, 0, 100)
    shard = base.new_shard() if hasattr(base, "new_shard") else make()
    learn(shard, targets, 100, 250)
    base_twin, shard_twin = loaded(dumped(base)), loaded(dumped(shard))
    assert dumped(merged(base_twin, shard_twin)) == dumped(merged(base, shard))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_pickle_and_joblib_work_too(name, tmp_path):
    original = estimator_after(name, 100)
    joblib.dump(original, tmp_path / "model")
    data = dumped(original)
    for twin in (pickle.loads(pickle.dumps(original)), joblib.load(tmp_path / "model")):
        assert dumped(twin) == data
    for twin in (pickle.loads(pickle.dumps(original)), joblib.load(tmp_path / "model")):
        np.testing.assert_array_equal(answers(twin), answers(original))


def test_names_of_columns_and_sparse_rows_survive(tmp_path):
    names = ["red", "grün", "blue, light", "x" * 300, ""]
    frame = pd.DataFrame(ROWS[:100], columns=names)
    model = ExpChi2Classifier(8, random_state=0).partial_fit(frame, WORDS[:100])
    save(model, tmp_path / "model")
    twin = load(tmp_path / "model")
    assert twin.feature_names_in_.tolist() == names
    assert twin.feature_names_in_.dtype == object
    np.testing.assert_array_equal(twin.predict(frame), model.predict(frame))
    sampler = ExpChi2Sampler(8, random_state=0).partial_fit(sparse.csr_array(ROWS[:100]))
    assert dumped(loaded(dumped(sampler))) == dumped(sampler)


@pytest.mark.parametrize(
    "labels",
    [
        CODES,
        CODES.astype(np.int8),
        CODES.astype(np.uint16),
        CODES.astype(">i4"),
        CODES.astype(np.float32),
        CODES > 1,
        WORDS,
        np.array(["", "a", "日本語"])[CODES],
        WORDS.astype(object),
    ],
    ids=lambda labels: str(labels.dtype),
)
@pytest.mark.parametrize("kind", [ExpChi2Classifier, StreamingRidgeClassifier])
def test_labels_of_every_kind_survive(kind, labels):
    parameters = {"random_state": 0, "n_components": 8} if kind is ExpChi2Classifier else {}
    model = kind(**parameters).partial_fit(ROWS[:100], labels[:100])
    twin = loaded(dumped(model))
    assert twin.classes_.dtype == model.classes_.dtype.newbyteorder("=")
    np.testing.assert_array_equal(twin.predict(ROWS), model.predict(ROWS))


def test_declared_classes_stay_declared():
    model = ExpChi2Classifier(8, random_state=0)
    model.partial_fit(ROWS[:10], CODES[:10], classes=[0, 1, 2, 9])
    twin = loaded(dumped(model))
    np.testing.assert_array_equal(twin.classes_, [0, 1, 2, 9])
    with pytest.raises(ValueError, match="declared classes"):
        twin.partial_fit(ROWS[:2], [0, 5])


def test_rows_without_labels_survive():
    model = ExpChi2Classifier(8, random_state=0).observe(ROWS[:70])
    twin = loaded(dumped(model))
    for side in (model, twin):
        side.partial_fit(ROWS[70:150], WORDS[70:150]).observe(ROWS[150:160])
    assert dumped(twin) == dumped(model)
    np.testing.assert_array_equal(twin.predict(ROWS), model.predict(ROWS))
    regressor = ExpChi2Regressor(8, random_state=0).fit(ROWS[:5], CODES[:5]).observe(ROWS[:9])
    assert dumped(loaded(dumped(regressor))) == dumped(regressor)


def test_parameters_changed_after_learning_take_effect_as_they_would_have():
    model = ExpChi2Regressor(8, alpha=5.0, random_state=0).partial_fit(ROWS, CODES)
    before = model.predict(ROWS)
    model.set_params(alpha=0.001)
    twin = loaded(dumped(model))
    np.testing.assert_array_equal(twin.predict(ROWS), model.predict(ROWS))
    assert not np.array_equal(twin.predict(ROWS), before)
    for side in (model, twin):
        side.partial_fit(ROWS[:1], CODES[:1])
    np.testing.assert_array_equal(twin.predict(ROWS), model.predict(ROWS))


def test_set_output_survives():
    model = ExpChi2Sampler(8, random_state=0).set_output(transform="pandas").fit(ROWS)
    assert isinstance(loaded(dumped(model)).transform(ROWS), pd.DataFrame)


def test_numbers_from_numpy_become_plain_numbers():
    model = ExpChi2Sampler(np.int64(8), beta=np.float64(2.0), adapt=np.True_, random_state=0)
    twin = loaded(dumped(model.fit(ROWS)))
    assert twin.get_params() == model.get_params()
    assert type(twin.n_components) is int


def test_what_files_do_not_hold_is_refused_before_anything_is_written(tmp_path):
    class Special(ExpChi2Sampler):
        pass

    path = tmp_path / "model"
    for thing in (Special(), object(), {"a": 1}, None, np.ones(3)):
        with pytest.raises(TypeError, match="cannot be saved"):
            save(thing, path)
    drawn = ExpChi2Sampler(8, random_state=np.random.RandomState(0)).fit(ROWS)
    with pytest.raises(TypeError, match="random_state=None"):
        save(drawn, path)
    drawn.set_params(random_state=None)
    np.testing.assert_array_equal(loaded(dumped(drawn)).transform(ROWS), drawn.transform(ROWS))
    for params in ({"beta": np.inf}, {"beta": [1.0]}, {"series": b"direct"}):
        with pytest.raises(TypeError, match=next(iter(params))):
            save(ExpChi2Sampler(**params), path)
    stranger = ExpChi2Sampler(8, random_state=0).fit(ROWS)
    stranger.note = "mine"
    with pytest.raises(TypeError, match="note"):
        save(stranger, path)
    assert list(tmp_path.iterdir()) == []


def test_a_state_that_could_not_be_loaded_is_not_saved(tmp_path):
    stream = PARTS["stream of labels"]()
    stream.statistics.labelled.class_weights += 1.0
    with pytest.raises(FormatError, match="add up"):
        save(stream, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["mean", "upper", "weight"])
def test_infinite_moments_are_not_saved(name):
    model = estimator_after("ridge classifier", 100)
    moments = model._stream.flush().statistics.labelled.features
    setattr(moments, name, getattr(moments, name) + np.inf)
    with pytest.raises(FormatError, match=rf"labelled\.features\.{name} must .*finite"):
        dumped(model)


def test_numbers_out_of_range_are_not_saved():
    reservoir = PARTS["reservoir"]()
    reservoir.seed = 2**63
    with pytest.raises(FormatError, match="seed must be a whole number"):
        dumped(reservoir)
    reservoir = PARTS["reservoir"]()
    reservoir.half_life = -1.0
    with pytest.raises(FormatError, match="half_life must be"):
        dumped(reservoir)
    sampler = river.ExpChi2Sampler(8, seed=2**64)
    with pytest.raises(FormatError, match="seed must be a whole number"):
        dumped(sampler)


@pytest.mark.parametrize("half_life", [0.01, 1, 1e20, 10**20, 10**30, 1e300, 10**40])
@pytest.mark.parametrize("name", ["sampler", "fading classifier", "ridge", "river classifier"])
def test_whatever_the_half_life_what_is_saved_can_be_loaded(name, half_life):
    make, targets = ESTIMATORS[name]
    model, changed = make(), {"half_life": half_life}
    model = model.clone(changed) if hasattr(model, "learn_one") else model.set_params(**changed)
    learn(model, targets, 0, 70)
    # Ints beyond the precision of floats, and those of no moderate size.
    if isinstance(half_life, int) and half_life > (10**30 if name == "ridge" else 10**20):
        with pytest.raises(FormatError, match="half_life must be"):
            dumped(model)
        return
    twin = loaded(dumped(model))
    for side in (model, twin):
        learn(side, targets, 70, 90)
    assert dumped(twin) == dumped(model)


def test_a_map_on_landmarks_is_saved_with_its_landmarks():
    feature_map = PARTS["map on landmarks"]()
    twin = loaded(dumped(feature_map))
    assert twin == feature_map
    np.testing.assert_array_equal(twin.transform(ROWS), feature_map.transform(ROWS))


def test_a_file_holds_no_matrix_of_the_map():
    wide = ExpChi2Sampler(4096, basis="gaussian", random_state=0).fit(ROWS[:1])
    wide.transform(ROWS[:1])  # draws the matrix
    assert len(dumped(wide)) < 3000
