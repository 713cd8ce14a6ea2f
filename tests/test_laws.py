"""The laws of the library, checked by its own public kit; tests/testing shows that it can see."""

import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
from hypothesis import given

from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    ExpChi2Sampler,
    StreamingPCA,
    StreamingRidge,
    StreamingRidgeClassifier,
    river,
)
from streamchi2.testing import check_all, realistic_rows, state_of
from streamchi2.testing.front_ends import front_end_of
from streamchi2.testing.laws import LAWS, reasons

SEED = {"random_state": 0}
ALL_ROWS = {"half_life": None, "latest_rows": 0}
ESTIMATORS = {
    "sampler": ExpChi2Sampler(16, **SEED),
    "sampler, landmarks": ExpChi2Sampler(8, basis="landmarks", **SEED),
    "sampler, subspace": ExpChi2Sampler(16, basis="subspace", **SEED),
    "sampler, fading": ExpChi2Sampler(16, half_life=30, **SEED),
    "pca": ExpChi2PCA(16, n_pca=None, **SEED),
    "classifier": ExpChi2Classifier(16, **SEED),
    "classifier, fixed penalty": ExpChi2Classifier(16, alpha=0.1, **SEED),
    "classifier, fading": ExpChi2Classifier(16, half_life=30, **SEED),
    "classifier, landmarks": ExpChi2Classifier(8, basis="landmarks", alpha=0.1, **SEED),
    "classifier, balanced": ExpChi2Classifier(16, alpha=0.1, class_weight="balanced", **SEED),
    "regressor": ExpChi2Regressor(16, **SEED),
    "regressor, fixed penalty": ExpChi2Regressor(16, alpha=0.1, **SEED),
    "plain pca": StreamingPCA(),
    "ridge": StreamingRidge(),
    "ridge, chosen penalty": StreamingRidge("auto"),
    "ridge classifier": StreamingRidgeClassifier(),
    "ridge classifier, chosen penalty": StreamingRidgeClassifier("auto"),
    "river sampler": river.ExpChi2Sampler(8, seed=0),
    "classifier, latest rows": ExpChi2Classifier(16, latest_rows=8, half_life="auto", **SEED),
    "regressor, latest rows": ExpChi2Regressor(16, latest_rows=8, half_life="auto", **SEED),
    "river classifier": river.ExpChi2Classifier(8, seed=0),
    "river classifier, all rows": river.ExpChi2Classifier(8, **ALL_ROWS, seed=0),
    "river classifier, fixed penalty": river.ExpChi2Classifier(8, alpha=0.1, **ALL_ROWS, seed=0),
    "river classifier, fading": river.ExpChi2Classifier(8, half_life=30, seed=0),
    "river regressor": river.ExpChi2Regressor(8, seed=0),
    "river regressor, all rows": river.ExpChi2Regressor(8, **ALL_ROWS, seed=0),
    "river several labels": river.ExpChi2MultiLabelClassifier(8, seed=0),
    "river several numbers": river.ExpChi2MultiTargetRegressor(8, seed=0),
}
SEVERAL = {
    "river several labels": lambda labels, _: [
        {"first": label == 0, "last": label == 2} for label in labels.tolist()
    ],
    "river several numbers": lambda labels, rows: [
        {"one": number, "minus": -number} for number in (labels + rows[:, 0]).tolist()
    ],
}


def cases():
    """Yield every estimator with every law that applies to it."""
    for name, estimator in ESTIMATORS.items():
        missing = reasons(front_end_of(estimator), estimator)
        for law in [law for law in LAWS if law not in missing]:
            yield pytest.param(name, law, id=f"{name}: {law}")


@pytest.mark.parametrize(("name", "law"), list(cases()))
def test_every_estimator_keeps_every_law(name, law):
    others = dict.fromkeys(set(LAWS) - {law}, "another test")
    targets = SEVERAL.get(name)
    check_all(ESTIMATORS[name], example_targets=targets, max_examples=2, skip=others)


def test_every_law_is_tried_in_both_front_ends_where_it_has_a_meaning():
    tried = {(name.startswith("river"), law) for name, law in (case.values for case in cases())}
    assert set(LAWS) == {law for river_s, law in tried if not river_s}
    assert set(LAWS) - {"threads", "late classes"} == {law for river_s, law in tried if river_s}


def read_only_copies(model, path):
    """Yield copies whose arrays may not be written, as Dask, Ray and joblib hand them out."""
    buffers = []
    data = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    yield pickle.loads(data, buffers=[buffer.raw().toreadonly() for buffer in buffers])
    joblib.dump(model, path)
    yield joblib.load(path, mmap_mode="r")


@pytest.mark.parametrize("n_rows", [5, 100, 300])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_copy_whose_arrays_may_not_be_written_learns_on(name, n_rows, tmp_path):
    front = front_end_of(ESTIMATORS[name])
    random = np.random.default_rng(0)
    rows, labels = random.dirichlet(np.ones(6), 400), random.integers(0, 3, 400)
    targets = SEVERAL.get(name, lambda labels, _: labels.astype(float))(labels, rows)
    if front.predicts(ESTIMATORS[name]) == "nothing":
        targets = None

    def learnt(model, start, stop):
        some = None if targets is None else front.targets(targets[start:stop])
        front.learn(model, front.rows(rows[start:stop]), some)
        return model

    model = learnt(front.fresh(ESTIMATORS[name]), 0, n_rows)
    copies = list(read_only_copies(model, tmp_path / "model"))
    before = state_of(model)
    for copy in copies:
        learnt(copy, n_rows, 400)
    assert state_of(model) == before
    learnt(model, n_rows, 400)
    assert {state_of(copy) for copy in copies} == {state_of(model)}


@given(realistic_rows(min_rows=3))
def test_realistic_rows_can_be_learnt(rows):
    assert np.isfinite(ExpChi2Sampler(8, random_state=0).fit(rows).transform(rows)).all()


def test_without_hypothesis_the_kit_names_the_extra():
    program = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "try:\n    import streamchi2.testing\n"
        "except ImportError as error:\n    print(error)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert b"streamchi2[test]" in said.stdout
