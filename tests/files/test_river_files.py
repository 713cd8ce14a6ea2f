"""Files of the estimators for river: labels of every kind, names, seeds, and who imports river."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from saved_examples import NUMBERS, ROWS, answers, estimator_after, learn, named

from streamchi2 import river
from streamchi2.files import dumped, loaded, save


@pytest.mark.parametrize(
    "labels",
    [["b", "a", "日本\ud800"], [3, 1, 2], [True, False], [2.5, 1, False]],
    ids=["text", "integers", "booleans", "several kinds"],
)
def test_labels_keep_their_kinds_and_their_order(labels):
    model = river.ExpChi2Classifier(8, seed=0)
    for place in range(30):
        model.learn_one(named(ROWS)[place], labels[place % len(labels)])
    said = loaded(dumped(model)).predict_proba_one(named(ROWS)[0])
    assert list(said.items()) == list(model.predict_proba_one(named(ROWS)[0]).items())
    assert {type(label) for label in said} == {type(label) for label in labels}


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
