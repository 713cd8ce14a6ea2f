"""Files of the estimators for river: after a change, after a merge, and what they do not hold."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from river import drift
from saved_examples import CODES, NUMBERS, ROWS, answers, estimator_after, learn, named

from streamchi2 import river
from streamchi2.persistence import dumped, loaded, save

# Three kinds of rows that a model tells apart, and whose labels move on by one half-way.
KINDS = np.random.default_rng(3).integers(0, 3, 700)
HUES = np.random.default_rng(4).dirichlet(np.ones(3), 700) + 4.0 * np.eye(3)[KINDS]
MOVED = (KINDS + (np.arange(700) >= 350)) % 3
LABELS = np.array(["ham", "toast"])[CODES % 2]
STREAM = list(zip(named(HUES), MOVED.tolist(), strict=True))


def after_a_change():
    model = river.ExpChi2Classifier(8, n_buckets=16, drift_detector="adwin", seed=0)
    for x, y in STREAM[:500]:
        model.learn_one(x, y)
    assert model.drift_events_
    return model


def test_a_stream_continues_bit_for_bit_after_a_change():
    model = after_a_change()
    twin = loaded(dumped(model))
    assert twin.drift_events_ == model.drift_events_
    for x, y in STREAM[500:]:
        for side in (model, twin):
            side.learn_one(x, y)
    assert dumped(twin) == dumped(model)


@pytest.mark.parametrize("moment", [340, 352, 365, 380])
def test_a_change_is_found_where_it_would_have_been(moment):
    whole = river.ExpChi2Classifier(8, n_buckets=16, drift_detector="adwin", seed=0)
    for position, (x, y) in enumerate(STREAM[:450]):
        if position == moment:
            twin = loaded(dumped(whole))
        for side in (whole, twin) if position >= moment else (whole,):
            side.learn_one(x, y)
    assert whole.drift_events_
    assert twin.drift_events_ == whole.drift_events_


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


def test_detectors_of_the_users_own_are_refused_with_the_remedy(tmp_path):
    for detector in (drift.ADWIN(), drift.PageHinkley(), drift.binary.DDM()):
        model = river.ExpChi2Classifier(8, drift_detector=detector)
        for start, stop in ((0, 0), (0, 5)):
            learn(model, CODES, start, stop)
            with pytest.raises(TypeError, match=r"drift_detector must be None or 'adwin'.*pickle"):
                save(model, tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_estimator_of_ours_is_refused():
    class Special(river.ExpChi2Sampler):
        pass

    Special.__module__ = "streamchi2.river.special"
    for kind in (Special, drift.ADWIN):
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


@pytest.mark.parametrize("detector", [None, "adwin"])
def test_rows_of_weight_zero_alone_leave_an_estimator_that_can_be_saved(detector):
    model = river.ExpChi2Classifier(8, drift_detector=detector, seed=0)
    before = dumped(model)
    model.learn_one({"a": 1.0}, 1, 0.0)
    assert dumped(model) == before


def test_a_shard_watches_for_changes_as_its_origin_does():
    shard = after_a_change().new_shard()
    twin = loaded(dumped(shard))
    for x, y in STREAM:
        for side in (shard, twin):
            side.learn_one(x, y)
    assert twin.drift_events_ == shard.drift_events_ != ()
    assert dumped(twin) == dumped(shard)
