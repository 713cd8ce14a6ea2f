"""Rows without targets in river: they teach the map and the components, and nothing else."""

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from named_streams import histograms, learnt, state_of

from streamchi2 import ExpChi2Classifier as MatrixClassifier
from streamchi2 import ExpChi2Regressor as MatrixRegressor
from streamchi2.estimators.base import drawn_seed
from streamchi2.files import dumped, loaded
from streamchi2.river import ExpChi2Classifier, ExpChi2Regressor
from streamchi2.river.dict_rows import DictReader
from streamchi2.statistics.row_buffer import as_matrix

ROWS, LABELS, NUMBERS = histograms(320)
GIVEN = np.random.default_rng(5).random(320) < 0.4
GIVEN[:20] = False
KINDS = {
    "classifier": (lambda **params: ExpChi2Classifier(96, seed=3, **params), LABELS),
    "classifier of components": (
        lambda **params: ExpChi2Classifier(48, n_pca=6, seed=3, **params),
        LABELS,
    ),
    "fading regressor": (
        lambda **params: ExpChi2Regressor(96, half_life=90.0, seed=3, **params),
        NUMBERS,
    ),
}


def mixed(model, targets, start=0, stop=320):
    for place in range(start, stop):
        if GIVEN[place]:
            model.learn_one(ROWS[place], targets[place])
        else:
            model.observe_one(ROWS[place])
    return model


@pytest.mark.parametrize("kind", KINDS)
def test_any_cutting_gives_the_same_model_bit_for_bit(kind):
    make, targets = KINDS[kind]
    one, many = mixed(make(), targets), make()
    starts = [0, *(np.flatnonzero(np.diff(GIVEN)) + 1).tolist(), 320]
    for start, stop in itertools.pairwise(starts):
        frame = pd.DataFrame(ROWS[start:stop])
        if GIVEN[start]:
            many.learn_many(frame, pd.Series(targets[start:stop]))
        else:
            many.observe_many(frame)
    assert state_of(one) == state_of(many)


@pytest.mark.parametrize("kind", KINDS)
def test_before_the_first_target_the_stream_is_looked_at_where_blocks_end_alone(kind, monkeypatch):
    model = KINDS[kind][0](basis="orthogonal")
    looked, advance = [], type(model)._advance

    def counted(self, stream, pending, *, has_target):
        looked.append(stream.n_rows)
        advance(self, stream, pending, has_target=has_target)

    monkeypatch.setattr(type(model), "_advance", counted)
    for row in ROWS[:200]:
        model.observe_one(row)
    assert looked[:2] == [1, 64]  # the first row makes the stream
    assert len(looked) < 20
    model.learn_one(ROWS[200], KINDS[kind][1][200])
    assert looked[-1] == 201
    assert model.predict_one(ROWS[0]) is not None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("position", [10, 50, 200])
def test_pickles_and_files_in_mid_stream_continue_exactly(kind, position):
    make, targets = KINDS[kind]
    model = mixed(make(), targets, 0, position)
    twin = loaded(dumped(copy.deepcopy(pickle.loads(pickle.dumps(model)))))
    mixed(model, targets, position)
    assert state_of(mixed(twin, targets, position)) == state_of(model)


@pytest.mark.parametrize("kind", ["classifier", "fading regressor"])
def test_a_side_without_a_map_hands_its_rows_over(kind):
    make, targets = KINDS[kind]
    left, right = mixed(make(), targets, 0, 200), mixed(make(), targets, 200, 250)
    left.merge(right)
    assert state_of(left) == state_of(mixed(make(), targets, 0, 250))


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_the_estimator_on_matrices_learns_the_same(kind):
    named, matrices, targets = {
        "classifier": (ExpChi2Classifier, MatrixClassifier, LABELS),
        "regressor": (ExpChi2Regressor, MatrixRegressor, NUMBERS),
    }[kind]
    params = {"n_components": 48, "n_pca": 6, "alpha": 0.1}
    model = named(seed=drawn_seed(7), **params)
    model.learn_one(ROWS[0], targets[0])  # on matrices a regressor must first know its targets
    mixed(model, targets, 1)
    matrix = as_matrix([DictReader().read(row) for row in ROWS])
    other = matrices(random_state=7, **params)
    for place in range(320):
        if place == 0 or GIVEN[place]:
            other.partial_fit(matrix[[place]], targets[place : place + 1])
        else:
            other.observe(matrix[[place]])
    for part in ("labelled", "unlabelled"):
        ours, theirs = (getattr(side._stream.reading().statistics, part) for side in (model, other))
        ours, theirs = (getattr(side, "features", side) for side in (ours, theirs))
        # The same rows in blocks of other lengths: products of float32 are rounded otherwise.
        roots = np.sqrt(np.diag(ours.upper))
        bound = 12 * np.finfo(np.float32).eps * np.outer(roots, roots)
        assert (np.abs(ours.upper - theirs.upper) <= bound).all()
        np.testing.assert_allclose(ours.mean, theirs.mean, atol=1e-12)
    features = model._present_map().transform(matrix[:9]).astype(float)
    linear = model._schedule.model.linear
    scores = (
        other.predict(matrix[:9])
        if kind == "regressor"
        else other._class_scores(other._model(), matrix[:9])
    )
    ours = features @ linear.coef + linear.intercept
    # A scatter that moves by dH turns the kept directions by up to |dH| over the gap behind them,
    # and moves the solution in them by (|dH| |w| + |dC|) / alpha.
    found = [side._stream.reading().statistics.feature_moments() for side in (model, other)]
    moved = np.linalg.norm(found[0].scatter() - found[1].scatter(), 2)
    variances = np.linalg.eigvalsh(found[0].scatter())[::-1]
    length = np.linalg.norm(linear.coef, 2)
    cross = 12 * np.finfo(np.float32).eps * np.sqrt(variances.sum() * 320 * np.abs(scores).max())
    tolerance = 2 * moved * length / (variances[5] - variances[6]) + 2 * moved * length / 0.1
    tolerance += 2 * cross / 0.1
    np.testing.assert_allclose(
        ours if kind == "classifier" else ours[:, 0], scores, rtol=0, atol=tolerance
    )
    assert tolerance < 0.01


def test_before_the_first_target_there_is_no_model_and_with_it_there_is():
    model, number = ExpChi2Classifier(64, seed=0), ExpChi2Regressor(64, seed=0)
    for row in ROWS[:150]:
        model.observe_one(row)
        number.observe_one(row, w=2.0)
    assert model.n_samples_seen_ == 150
    assert model.predict_one(ROWS[0]) is None
    assert model.predict_proba_one(ROWS[0]) == {}
    assert number.predict_one(ROWS[0]) == 0.0
    assert model.beta_ > 0.0
    for side in (model, number):
        loaded(dumped(side))
    model.learn_one(ROWS[150], "ash")
    assert model.predict_one(ROWS[0]) == "ash"


def test_the_penalty_is_chosen_again_when_targets_have_doubled():
    model = ExpChi2Regressor(64, seed=0)
    for row in ROWS[:200]:
        model.observe_one(row)
    positions = []
    for place in range(200, 320):
        model.learn_one(ROWS[place], NUMBERS[place])
        if not positions or model._schedule.tuned_on != positions[-1]:
            positions.append(model._schedule.tuned_on)
    # Solved at 201, then at multiples of 16.
    assert positions == [1, 8, 24, 56, 120]


def test_observed_rows_improve_nothing_but_what_needs_no_target():
    model = learnt(ExpChi2Classifier(64, alpha=0.1, seed=0), ROWS[:128], LABELS)
    before = model.predict_proba_one(ROWS[200])
    for row in ROWS[128:144]:
        model.observe_one(row)
    # The regression has the same rows; only its temperature may be fitted again.
    assert model.predict_one(ROWS[200]) == max(before, key=before.get)
    assert model._stream.statistics.labelled.features.weight == 128.0


def test_weights_of_zero_are_no_rows_and_bad_calls_leave_no_trace():
    model = ExpChi2Classifier(64, seed=0)
    model.observe_one(ROWS[0], w=0.0)
    assert model.n_samples_seen_ == 0
    with pytest.raises(ValueError, match="-1"):
        model.observe_one({"a": -1.0})
    with pytest.raises(ValueError, match="w must be"):
        model.observe_one(ROWS[0], w=-1.0)
    with pytest.raises(ValueError, match="non-negative"):
        model.observe_many(pd.DataFrame({"a": [1.0, -1.0]}))
    assert model.n_samples_seen_ == 0


def test_models_that_have_only_observed_rows_merge():
    model = ExpChi2Classifier(64, basis="orthogonal", seed=0)
    for row in ROWS[:100]:
        model.observe_one(row)
    shard = model.new_shard()
    for row in ROWS[100:200]:
        shard.observe_one(row)
    model.merge(shard)
    assert model.n_samples_seen_ == 200
    assert model.predict_one(ROWS[0]) is None
    model.learn_one(ROWS[200], "ash")
    assert loaded(dumped(model)).predict_one(ROWS[0]) == "ash"
