"""Two front ends, one engine: river's estimators and scikit-learn's on the same rows."""

import numpy as np
import pytest
from named_streams import DESCRIPTORS, histograms, learnt

import streamchi2
from streamchi2 import river
from streamchi2.features import FeatureMap
from streamchi2.river.dict_rows import DictReader
from streamchi2.statistics.buffer import as_matrix

ROWS, LABELS, NUMBERS = histograms(400)
GIVEN = np.arange(400) % 5 > 0  # the others are observed
MATRIX = as_matrix([DictReader().read(row) for row in ROWS])
SEVERAL = [
    {"a": label == "ash", "b": number > 1.0} for label, number in zip(LABELS, NUMBERS, strict=True)
]
PAIRS = [{"one": number, "two": -(number**2)} for number in NUMBERS]
KINDS = {
    "classifier": (river.ExpChi2Classifier, streamchi2.ExpChi2Classifier, LABELS),
    "regressor": (river.ExpChi2Regressor, streamchi2.ExpChi2Regressor, NUMBERS),
    "labels": (river.ExpChi2MultiLabelClassifier, streamchi2.ExpChi2Classifier, SEVERAL),
    "numbers": (river.ExpChi2MultiTargetRegressor, streamchi2.ExpChi2Regressor, PAIRS),
}
PARAMS = {
    "orthogonal": {"basis": "orthogonal"},
    "subspace": {},
    "landmarks": {"basis": "landmarks"},
    "additive": {"basis": "additive"},
    "fading": {"basis": "orthogonal", "half_life": 150.0},
    "components": {"basis": "orthogonal", "n_pca": 6, "alpha": 0.1},
}
CASES = [
    (kind, case) for kind in KINDS for case in PARAMS if kind == "classifier" or case == "fading"
]


def as_array(targets):
    """Return targets as scikit-learn has them: a column for each name."""
    return np.array([list(y.values()) if isinstance(y, dict) else y for y in targets])


def pair(kind, params, n_rows=400):
    """Return both after the same rows, which scikit-learn's got in batches of any size."""
    named, matrices, targets = KINDS[kind]
    params = {"n_components": 96, **params}
    matrices = matrices(random_state=7, **params)
    matrices.partial_fit(MATRIX[:1], as_array(targets[:1]))
    named = named(seed=matrices._stream.spec.shared.seed, **params)
    named.learn_one(ROWS[0], targets[0])
    hidden = [target if GIVEN[i] else None for i, target in enumerate(targets)]
    learnt(named, ROWS[1:n_rows], hidden[1:])
    cuts = np.flatnonzero(np.diff(GIVEN[:n_rows])) + 1
    for part in np.split(np.arange(1, n_rows), cuts[cuts > 1] - 1):
        if not part.size:
            continue
        if GIVEN[part[0]]:
            matrices.partial_fit(MATRIX[part], as_array(targets)[part])
        else:
            matrices.observe(MATRIX[part])
    return named, matrices


@pytest.mark.parametrize(("kind", "case"), CASES)
def test_statistics_choices_and_predictions_agree_to_rounding(kind, case):
    named, matrices = pair(kind, PARAMS[case])
    ours, theirs = (side._stream.settled() for side in (named, matrices))
    assert ours.feature_map == theirs.feature_map
    assert ours.position == theirs.position
    np.testing.assert_array_equal(ours.statistics.sample.keys, theirs.statistics.sample.keys)
    left, right = (side.statistics.folded().regression(None, whole=True) for side in (ours, theirs))
    assert left.weight == pytest.approx(right.weight, rel=1e-12)
    # One row alone has the features of a batch up to the rounding of float32.
    eps, largest = 64 * np.finfo(np.float32).eps, np.sqrt(np.diag(right.scatter).max() + 1.0)
    for name in ("mean", "scatter", "cross"):
        difference = np.abs(getattr(left, name) - getattr(right, name)).max()
        assert difference <= eps * left.weight * largest, name
    models = [named._stream.model(named._learner_spec()), matrices._model()]
    assert models[0].linear.alpha == pytest.approx(models[1].linear.alpha, rel=1e-12)
    scores = [model.scores(theirs.feature_map.transform(MATRIX[-50:])) for model in models]
    np.testing.assert_allclose(*scores, rtol=0, atol=1e-3)


@pytest.mark.parametrize("kind", ["classifier", "numbers"])
def test_merged_shards_agree(kind):
    sides = pair(kind, PARAMS["orthogonal"], n_rows=150)
    targets = KINDS[kind][2]
    shards = [side.new_shard() for side in sides]
    learnt(shards[0], ROWS[150:], targets[150:])
    shards[1].partial_fit(MATRIX[150:], as_array(targets[150:]))
    models = []
    for side, shard in zip(sides, shards, strict=True):
        side.merge(shard)
        models.append(side._stream.settled().statistics.folded().regression(None, whole=True))
    np.testing.assert_allclose(models[0].scatter, models[1].scatter, rtol=0, atol=1e-3)
    assert models[0].weight == pytest.approx(models[1].weight)


def test_the_columns_of_one_descriptor_are_a_stream_of_their_own():
    one = {"all": DESCRIPTORS["all"]}
    params = {"n_components": 40, "alpha": 0.1, "seed": 3}
    named = learnt(river.ExpChi2Classifier(descriptors=one, **params), ROWS[:256], LABELS)
    other = [row | {"size": 3.0} for row in ROWS[:256]]
    assert learnt(
        river.ExpChi2Classifier(descriptors=one, **params), other, LABELS
    ).predict_proba_one(ROWS[300]) == named.predict_proba_one(ROWS[300])


@pytest.mark.parametrize("basis", ["orthogonal", "subspace"])
def test_each_row_is_featurised_once_to_be_predicted_and_learnt(basis, monkeypatch):
    calls, original = [], FeatureMap.transform_row

    def counted(self, columns, values):
        calls.append(self)
        return original(self, columns, values)

    monkeypatch.setattr(FeatureMap, "transform_row", counted)
    named = river.ExpChi2Classifier(512, basis=basis, latest_rows=0, half_life=None, seed=0)
    learnt(named, ROWS[:200], LABELS)
    before = len(calls)
    for row, label in zip(ROWS[200:], LABELS[200:], strict=True):
        named.predict_proba_one(row)
        named.learn_one(row, label)
    assert len(calls) - before <= 200 + 64 * (basis == "subspace")  # and those of the next plan
