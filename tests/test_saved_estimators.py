"""Files of every estimator: bytes, labels, names, merging, and what files do not hold."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from saved_examples import (
    CODES,
    ESTIMATORS,
    NUMBERS,
    PARTS,
    ROWS,
    STAGES,
    WORDS,
    answers,
    estimator_after,
    learn,
    merged,
    named,
    parameters,
    stage_name,
)
from scipy import sparse

from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2Regressor,
    ExpChi2Sampler,
    StreamingRidgeClassifier,
    load,
    river,
    save,
)
from streamchi2.files import dumped, loaded
from streamchi2.files.container import FORMAT

GOLDEN = sorted((Path(__file__).parent / "golden").glob("format-*/*.sc2"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_old_files_load_and_can_be_saved_again(path):
    thing = load(path)
    assert dumped(loaded(dumped(thing))) == dumped(thing)
    beside = path.with_suffix(".json")
    if beside.exists():
        spoken = json.loads(beside.read_text())
        said, n_rows = np.array(spoken["answers"]), spoken["rows"]
        # Other versions of BLAS and of the mathematical functions round differently.
        np.testing.assert_allclose(answers(thing, ROWS[:3]), said, rtol=2e-4, atol=2e-5)
        learn(thing, ESTIMATORS[spoken["example"]][1], n_rows, n_rows + 4)


def test_every_estimator_has_a_file_of_the_present_format():
    present = {path.stem for path in GOLDEN if path.parent.name == f"format-{FORMAT}"}
    stages = [stage_name(name, n_rows) for name in ESTIMATORS for n_rows in STAGES[name]]
    assert present >= {name.replace(" ", "_") for name in (*stages, *PARTS, "unfitted")}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_loaded_estimator_has_the_parameters_and_answers_of_the_original(name, tmp_path):
    original = estimator_after(name, 100)
    data = dumped(original)
    joblib.dump(original, tmp_path / "model")
    for twin in (
        loaded(data),
        pickle.loads(pickle.dumps(original)),
        joblib.load(tmp_path / "model"),
    ):
        assert type(twin) is type(original)
        assert repr(parameters(twin)) == repr(parameters(original))
        np.testing.assert_array_equal(answers(twin), answers(original))
        assert dumped(twin) == data


@pytest.mark.parametrize("name", PARTS)
def test_a_loaded_part_saves_to_the_same_bytes(name):
    part = PARTS[name]()
    assert dumped(loaded(dumped(part))) == dumped(part)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_merging_after_loading_equals_merging_before(name):
    make, targets = ESTIMATORS[name]
    base = learn(make(), targets, 0, 200)
    shard = base.new_shard() if hasattr(base, "new_shard") else make()
    assert dumped(loaded(dumped(shard))) == dumped(shard)
    learn(shard, targets, 200, 330)
    twins = loaded(dumped(base)), loaded(dumped(shard))
    assert dumped(merged(*twins)) == dumped(merged(base, shard))


def test_names_of_columns_and_sparse_rows_survive(tmp_path):
    names = ["red", "grün", "blue, light", "x" * 300, ""]
    frame = pd.DataFrame(ROWS[:100], columns=names)
    model = ExpChi2Classifier(8, random_state=0).partial_fit(frame, WORDS[:100])
    save(model, tmp_path / "model")
    twin = load(tmp_path / "model")
    assert twin.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(twin.predict(frame), model.predict(frame))
    sampler = ExpChi2Sampler(8, random_state=0).partial_fit(sparse.csr_array(ROWS[:100]))
    assert dumped(loaded(dumped(sampler))) == dumped(sampler)


LABELS = {
    "int8": CODES.astype(np.int8),
    "other byte order": CODES.astype(">i4"),
    "float32": CODES.astype(np.float32),
    "booleans": CODES > 1,
    "text": np.array(["", "a", "日本語"])[CODES],
    "objects": WORDS.astype(object),
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("kind", [ExpChi2Classifier, StreamingRidgeClassifier])
def test_labels_of_every_kind_survive(kind, labels):
    params = {"random_state": 0, "n_components": 8} if kind is ExpChi2Classifier else {}
    model = kind(**params).partial_fit(ROWS[:100], LABELS[labels][:100])
    twin = loaded(dumped(model))
    assert twin.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(twin.predict(ROWS), model.predict(ROWS))


@pytest.mark.parametrize(
    "labels", [["b", "a", "日本"], [3, 1, 2], [True, False], [2.5, 1, True]], ids=str
)
def test_labels_of_dict_rows_keep_their_kinds_and_their_order(labels):
    model = river.ExpChi2Classifier(8, seed=0)
    for index in range(30):
        model.learn_one(named(ROWS)[index], labels[index % len(labels)])
    shares = loaded(dumped(model)).predict_proba_one(named(ROWS)[0])
    expected = model.predict_proba_one(named(ROWS)[0])
    assert list(shares.items()) == list(expected.items())
    assert list(map(type, shares)) == list(map(type, expected))


def test_declared_classes_stay_declared():
    model = ExpChi2Classifier(8, random_state=0)
    model.partial_fit(ROWS[:10], CODES[:10], classes=[0, 1, 2, 9])
    twin = loaded(dumped(model))
    np.testing.assert_array_equal(twin.classes_, [0, 1, 2, 9])
    with pytest.raises(ValueError, match="declared classes"):
        twin.partial_fit(ROWS[:2], [0, 5])


def test_parameters_changed_after_learning_take_effect_as_they_would_have():
    model = ExpChi2Regressor(8, alpha=5.0, random_state=0).partial_fit(ROWS, CODES)
    before = model.predict(ROWS)
    model.set_params(alpha=0.001)
    twin = loaded(dumped(model))
    np.testing.assert_array_equal(twin.predict(ROWS), model.predict(ROWS))
    assert not np.array_equal(twin.predict(ROWS), before)


def test_set_output_and_the_name_of_the_targets_survive():
    sampler = ExpChi2Sampler(8, random_state=0).set_output(transform="pandas").fit(ROWS)
    assert isinstance(loaded(dumped(sampler)).transform(ROWS), pd.DataFrame)
    model, frame = river.ExpChi2Regressor(8, seed=0), pd.DataFrame(ROWS[:20], columns=list("abcde"))
    model.learn_many(frame, pd.Series(NUMBERS[:20], name="price"))
    assert loaded(dumped(model)).predict_many(frame).name == "price"


def test_numbers_from_numpy_become_plain_numbers():
    model = ExpChi2Sampler(np.int64(8), beta=np.float64(2.0), adapt=np.True_, random_state=0)
    twin = loaded(dumped(model.fit(ROWS)))
    assert twin.get_params() == model.get_params()
    assert type(twin.n_components) is int


def test_without_a_seed_the_drawn_one_is_kept():
    model = learn(river.ExpChi2Sampler(8), None, 0, 3)
    np.testing.assert_array_equal(answers(loaded(dumped(model))), answers(model))
    drawn = ExpChi2Sampler(8, random_state=np.random.RandomState(0)).fit(ROWS)
    with pytest.raises(TypeError, match="random_state"):
        dumped(drawn)
    drawn.set_params(random_state=None)
    np.testing.assert_array_equal(loaded(dumped(drawn)).transform(ROWS), drawn.transform(ROWS))


def test_what_files_do_not_hold_is_refused_before_anything_is_written(tmp_path):
    class Special(ExpChi2Sampler):
        pass

    class SpecialOfRiver(river.ExpChi2Sampler):
        pass

    stranger = ExpChi2Sampler(8, random_state=0).fit(ROWS)
    stranger.note = "mine"
    for thing in (Special(), SpecialOfRiver(), object(), {"a": 1}, None, stranger):
        with pytest.raises(TypeError):
            save(thing, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("half_life", [0.01, 1, 1e20, 10**20, 1e300])
@pytest.mark.parametrize("name", ["sampler", "fading classifier", "ridge", "river classifier"])
def test_whatever_the_half_life_what_is_saved_can_be_loaded(name, half_life):
    make, targets = ESTIMATORS[name]
    model, changed = make(), {"half_life": half_life}
    model = model.clone(changed) if hasattr(model, "learn_one") else model.set_params(**changed)
    learn(model, targets, 0, 70)
    twin = loaded(dumped(model))
    for side in (model, twin):
        learn(side, targets, 70, 90)
    assert dumped(twin) == dumped(model)


def test_a_file_holds_no_matrix_of_the_map():
    wide = ExpChi2Sampler(4096, basis="gaussian", random_state=0).fit(ROWS[:1])
    wide.transform(ROWS[:1])  # draws the matrix
    assert len(dumped(wide)) < 3000


def test_river_is_imported_only_by_those_who_use_it(tmp_path):
    save(estimator_after("river sampler", 3), tmp_path / "model")
    code = (
        "import sys, streamchi2; assert 'river' not in sys.modules; "
        f"print(streamchi2.load({str(tmp_path / 'model')!r}).n_samples_seen_)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "3\n"


def test_rows_of_weight_zero_alone_leave_an_estimator_that_can_be_saved():
    model = river.ExpChi2Classifier(8, seed=0)
    before = dumped(model)
    model.learn_one({"a": 1.0}, 1, 0.0)
    assert dumped(model) == before
