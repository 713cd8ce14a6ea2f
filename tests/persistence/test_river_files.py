"""Files of the estimators for river: after a merge, and what they do not hold."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from river import linear_model
from saved_examples import CODES, NUMBERS, ROWS, answers, estimator_after, learn, named

from streamchi2 import river
from streamchi2.persistence import dumped, loaded, save

LABELS = np.array(["ham", "toast"])[CODES % 2]


@pytest.mark.parametrize("name", ["river sampler", "river dual classifier", "river regressor"])
def test_shards_and_merged_streams_can_be_saved(name):
    base = estimator_after(name, 70)
    shard = base.new_shard()
    assert dumped(loaded(dumped(shard))) == dumped(shard)
    targets = None if "sampler" in name else NUMBERS if "regressor" in name else LABELS
    learn(shard, targets, 70, 90)
    base.merge(loaded(dumped(shard)))
    twin = loaded(dumped(base))
    for side in (base, twin):
        learn(side, targets, 90, 140)
    assert dumped(twin) == dumped(base)


@pytest.mark.parametrize(
    "labels",
    [["b", "a", "日本\ud800"], [3, 1, 2], [True, False], [2.5, 1, True]],
    ids=["text", "integers", "booleans", "numbers of several kinds"],
)
def test_labels_keep_their_kinds_and_their_order(labels):
    model = river.ExpChi2Classifier(8, seed=0)
    for place in range(30):
        model.learn_one(named(ROWS)[place], labels[place % len(labels)])
    twin = loaded(dumped(model))
    found = twin.predict_proba_one(named(ROWS)[0])
    assert list(found.items()) == list(model.predict_proba_one(named(ROWS)[0]).items())
    assert list(found) == sorted(set(labels))
    kinds = set(map(type, labels))
    assert set(map(type, found)) == (kinds if len(kinds) == 1 else {float})


def test_the_name_of_the_targets_survives():
    model = river.ExpChi2Regressor(8, seed=0)
    frame = pd.DataFrame(ROWS[:20], columns=list("abcde"))
    model.learn_many(frame, pd.Series(NUMBERS[:20], name="price"))
    assert loaded(dumped(model)).predict_many(frame).name == "price"


def test_without_a_seed_the_drawn_one_is_kept():
    model = learn(river.ExpChi2Sampler(8), None, 0, 3)
    np.testing.assert_array_equal(answers(loaded(dumped(model))), answers(model))
    new = river.ExpChi2Sampler(8)
    np.testing.assert_array_equal(answers(loaded(dumped(new))), answers(new))


def test_what_is_no_estimator_of_ours_is_refused():
    class Special(river.ExpChi2Sampler):
        pass

    Special.__module__ = "streamchi2.river.special"
    for kind in (Special, linear_model.LogisticRegression):
        with pytest.raises(TypeError, match="cannot be saved here, only one of"):
            dumped(kind())


def test_river_is_imported_only_by_those_who_use_it(tmp_path):
    save(estimator_after("river sampler", 3), tmp_path / "model")
    code = (
        "import sys, streamchi2; assert 'river' not in sys.modules; "
        f"print(streamchi2.load({str(tmp_path / 'model')!r}).n_samples_seen_)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "3\n"


def test_rows_of_weight_zero_alone_leave_an_estimator_that_can_be_saved():
    model = river.ExpChi2Classifier(8, seed=0)
    before = dumped(model)
    model.learn_one({"a": 1.0}, 1, 0.0)
    assert dumped(model) == before
