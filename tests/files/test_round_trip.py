"""load(save(x)) continues exactly as x would, for every estimator at every stage of its life."""

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
    EXAMPLES,
    N_ROWS,
    NUMBERS,
    ROWS,
    WORDS,
    answers,
    estimator_after,
    learn,
    named,
)
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2Regressor,
    ExpChi2Sampler,
    LogHistogram,
    StreamingRidgeClassifier,
    load,
    river,
    save,
)
from streamchi2.files import dumped, loaded

each_example = pytest.mark.parametrize("name", ESTIMATORS)
GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*.sc2"))
N_SAVED = 1100  # beyond row 1024, where maps of subspaces are final and k is estimated again
SEEDED = {name for name, (_, params, _) in EXAMPLES.items() if {"random_state", "seed"} & {*params}}


# Young; when the map is there; in mid-block, with weights; with moments.
@pytest.mark.parametrize("n_rows", [1, 63, 64, 100, 300])
@each_example
def test_a_loaded_estimator_continues_bit_for_bit(name, n_rows):
    original = estimator_after(name, n_rows, weighted=n_rows == 100)
    twin = loaded(dumped(original))
    assert type(twin) is type(original)
    np.testing.assert_array_equal(answers(twin), answers(original))
    for start, stop in ((n_rows, n_rows + 5), (n_rows + 5, min(n_rows + 150, N_ROWS))):
        for side in (original, twin):
            learn(side, ESTIMATORS[name][1], start, stop)
        np.testing.assert_array_equal(answers(twin), answers(original))
        assert dumped(twin) == dumped(original)


@each_example
def test_what_has_learnt_nothing_is_saved_by_its_parameters(name):
    new, kind = estimator_after(name, 0), EXAMPLES[name][0]
    twin = loaded(dumped(new))
    assert type(twin) is kind
    assert dumped(twin) == dumped(new)


@pytest.mark.parametrize("name", sorted(SEEDED))
def test_equal_states_give_equal_bytes_however_they_came_about(name):
    make, targets = ESTIMATORS[name]
    pieces = make()
    for start in range(0, 300, 17):
        learn(pieces, targets, start, min(start + 17, 300))
    assert dumped(pieces) == dumped(learn(make(), targets, 0, 300))


@each_example
def test_merging_after_loading_equals_merging_before(name):
    make, targets = ESTIMATORS[name]
    base = learn(make(), targets, 0, 120)
    shard = base.new_shard() if hasattr(base, "new_shard") else make()
    assert dumped(loaded(dumped(shard))) == dumped(shard)
    learn(shard, targets, 120, 250)
    base_twin, shard_twin = loaded(dumped(base)), loaded(dumped(shard))
    base_twin.merge(shard_twin)
    base.merge(shard)
    assert dumped(base_twin) == dumped(base)


@each_example
def test_pickle_and_joblib_work_too(name, tmp_path):
    original = estimator_after(name, 100)
    joblib.dump(original, tmp_path / "model")
    for twin in (pickle.loads(pickle.dumps(original)), joblib.load(tmp_path / "model")):
        assert dumped(twin) == dumped(original)
        np.testing.assert_array_equal(answers(twin), answers(original))


@pytest.mark.parametrize("front_end", ["arrays", "dicts"])
def test_a_model_that_is_saved_and_loaded_at_every_row_is_the_one_that_never_was(front_end):
    random = np.random.default_rng(0)
    rows, labels = random.dirichlet(np.ones(4), N_SAVED), random.integers(0, 3, N_SAVED)
    if front_end == "dicts":
        kind, params = river.ExpChi2Classifier, {"half_life": 400.0, "seed": 0}
    else:
        kind, params = ExpChi2Classifier, {"random_state": 0}
    model, twin = (kind(24, **params) for _ in range(2))
    for index, label in enumerate(labels.tolist()):
        # While nearly a thousand rows are kept, every row is as the one before.
        if 0 < index < 300 or index > 1000:
            twin = loaded(dumped(twin))
        for side in (model, twin):
            if front_end == "dicts":
                side.learn_one(named(rows[index : index + 1])[0], label)
            else:
                side.partial_fit(rows[index : index + 1], [label])
        if index % 100 == 99:
            np.testing.assert_array_equal(*(answers(side, rows[:9]) for side in (model, twin)))
    assert dumped(twin) == dumped(model)


def test_names_of_columns_sparse_rows_and_histograms_survive(tmp_path):
    names = ["red", "grün", "blue, light", "x" * 300, ""]
    frame = pd.DataFrame(ROWS[:100], columns=names)
    model = ExpChi2Classifier(8, random_state=0).partial_fit(frame, WORDS[:100])
    save(model, tmp_path / "model")
    twin = load(tmp_path / "model")
    assert twin.feature_names_in_.tolist() == names
    np.testing.assert_array_equal(twin.predict(frame), model.predict(frame))
    sampler = ExpChi2Sampler(8, random_state=0).partial_fit(sparse.csr_array(ROWS[:40]))
    assert dumped(loaded(dumped(sampler))) == dumped(sampler)
    histogram = LogHistogram(half_life=3).update(ROWS)
    assert loaded(dumped(histogram)) == histogram


@pytest.mark.parametrize(
    "labels",
    [CODES, CODES.astype(np.float32), CODES > 1, np.array(["", "a", "日本語"])[CODES],
     WORDS.astype(object)],
    ids=lambda labels: str(labels.dtype),
)  # fmt: skip
@pytest.mark.parametrize("kind", [ExpChi2Classifier, StreamingRidgeClassifier])
def test_labels_of_every_kind_survive(kind, labels):
    model = kind().partial_fit(ROWS[:100], labels[:100])
    twin = loaded(dumped(model))
    assert twin.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(twin.predict(ROWS), model.predict(ROWS))


@pytest.mark.parametrize(
    "labels",
    [["b", "a", "日本\ud800"], [3, 1, 2], [True, False], [2.5, 1, False]],
    ids=["text", "integers", "booleans", "several kinds"],
)
def test_labels_of_river_keep_their_kinds_and_their_order(labels):
    model = river.ExpChi2Classifier(8, seed=0)
    for index, row in enumerate(named(ROWS[:30])):
        model.learn_one(row, labels[index % len(labels)])
    said = loaded(dumped(model)).predict_proba_one(named(ROWS)[0])
    assert list(said.items()) == list(model.predict_proba_one(named(ROWS)[0]).items())
    assert {type(label) for label in said} == {type(label) for label in labels}


def test_declared_classes_and_rows_without_labels_survive():
    model = ExpChi2Classifier(8, random_state=0)
    model.partial_fit(ROWS[:10], CODES[:10], classes=[0, 1, 2, 9])
    twin = loaded(dumped(model))
    np.testing.assert_array_equal(twin.classes_, [0, 1, 2, 9])
    with pytest.raises(ValueError, match="declared classes"):
        twin.partial_fit(ROWS[:2], [0, 5])
    model = ExpChi2Classifier(8, random_state=0).observe(ROWS[:70])
    twin = loaded(dumped(model))
    for side in (model, twin):
        side.partial_fit(ROWS[70:150], WORDS[70:150]).observe(ROWS[150:160])
    assert dumped(twin) == dumped(model)


def test_parameters_changed_after_learning_take_effect_as_they_would_have():
    model = ExpChi2Regressor(8, alpha=5.0, random_state=0).partial_fit(ROWS, CODES)
    before = model.predict(ROWS)
    model.set_params(alpha=0.001)
    twin = loaded(dumped(model))
    np.testing.assert_array_equal(twin.predict(ROWS), model.predict(ROWS))
    assert not np.array_equal(twin.predict(ROWS), before)


def test_set_output_survives_and_numbers_from_numpy_become_plain_ones():
    model = ExpChi2Sampler(np.int64(8), beta=np.float64(2.0), adapt=np.True_, random_state=0)
    twin = loaded(dumped(model.set_output(transform="pandas").fit(ROWS)))
    assert isinstance(twin.transform(ROWS), pd.DataFrame)
    assert twin.get_params() == model.get_params()
    assert type(twin.n_components) is int


def test_what_files_do_not_hold_is_refused_before_anything_is_written(tmp_path):
    class Special(ExpChi2Sampler):
        pass

    path = tmp_path / "model"
    with pytest.raises(TypeError, match="cannot be saved"):
        save(Special(), path)
    with pytest.raises(TypeError, match=r"save its steps \['expchi2sampler'\] one by one"):
        save(make_pipeline(Normalizer("l1"), ExpChi2Sampler(8)), path)
    drawn = ExpChi2Sampler(8, random_state=np.random.RandomState(0)).fit(ROWS)
    with pytest.raises(TypeError, match="random_state=None"):
        save(drawn, path)
    assert list(tmp_path.iterdir()) == []
    drawn.set_params(random_state=None)
    np.testing.assert_array_equal(loaded(dumped(drawn)).transform(ROWS), drawn.transform(ROWS))


def test_a_file_holds_no_matrix_of_the_map():
    wide = ExpChi2Sampler(4096, basis="gaussian", random_state=0).fit(ROWS[:1])
    wide.transform(ROWS[:1])  # draws the matrix
    assert len(dumped(wide)) < 5000


def test_the_name_of_the_targets_survives():
    model = river.ExpChi2Regressor(8, seed=0)
    frame = pd.DataFrame(ROWS[:20], columns=list("abcde"))
    model.learn_many(frame, pd.Series(NUMBERS[:20], name="price"))
    assert loaded(dumped(model)).predict_many(frame).name == "price"


def test_without_a_seed_the_drawn_one_is_kept():
    model = learn(river.ExpChi2Sampler(8), None, 0, 3)
    np.testing.assert_array_equal(answers(loaded(dumped(model))), answers(model))


def test_river_is_imported_only_by_those_who_use_it(tmp_path):
    save(estimator_after("river sampler", 3), tmp_path / "model")
    code = (
        "import sys, streamchi2; assert 'river' not in sys.modules; "
        f"print(streamchi2.load({str(tmp_path / 'model')!r}).n_samples_seen_)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "3\n"


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_files_of_the_present_format_load_for_ever_and_can_be_saved_again(path):
    thing = load(path)
    assert dumped(loaded(dumped(thing))) == dumped(thing)
    spoken = json.loads(path.with_suffix(".json").read_text())
    # Other versions of BLAS and of the mathematical functions round differently.
    said = np.array(spoken["answers"])
    np.testing.assert_allclose(answers(thing, ROWS[:3]), said, rtol=2e-4, atol=2e-5)
    learn(thing, ESTIMATORS[spoken["example"]][1], spoken["rows"], spoken["rows"] + 4)


def test_there_are_golden_files():
    assert len(GOLDEN) >= 8
