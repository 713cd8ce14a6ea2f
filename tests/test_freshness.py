"""The latest rows and forgetting along streams, in both front ends."""

import numpy as np
import pytest
from test_finds import FRONT_ENDS, Model, shuffled_digits

D = 128
BOTH = {"latest_rows": 32, "half_life": "auto"}
NEITHER = {"latest_rows": 0, "half_life": None}


def prequential(front_end, rows, targets, kind="ExpChi2Classifier", step=25, **parameters):
    """Return the model after a stream, and what it has said of each row before it was learnt."""
    model, said = Model(front_end, kind, D, **parameters), []
    for start in range(0, len(rows), step):
        batch = slice(start, start + step)
        if start:
            said.append(model.predict(rows[batch]))
        model.learn(rows[batch], targets[batch])
    return model, np.concatenate(said), slice(step, None)


def sorted_rows(rows, labels, length=None):
    """Return rows sorted by class, or in runs of one class."""
    order = np.argsort(labels, kind="stable")
    if length is not None:
        runs = np.array_split(order, len(order) // length)
        order = np.concatenate([runs[i] for i in np.random.default_rng(0).permutation(len(runs))])
    return rows[order], labels[order]


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_the_latest_rows_help_where_neighbours_resemble_each_other(front_end):
    rows, labels = sorted_rows(*shuffled_digits(), length=12)
    right = {}
    for latest_rows in (0, 32):
        parameters = {"latest_rows": latest_rows, "half_life": None}
        model, said, rest = prequential(front_end, rows, labels, step=5, **parameters)
        right[latest_rows] = np.mean(said == labels[rest])
    assert right[32] > right[0]
    errors = model.model.latest_
    assert list(errors) == [None, 0.15, 1.0]
    assert min(errors, key=errors.get) is not None


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_labels_that_change_their_meaning_are_learnt_anew(front_end):
    rows, labels = shuffled_digits()
    rows, labels = np.vstack([rows, rows[::-1]]), np.append(labels, (labels[::-1] + 1) % 10)
    half, late = len(rows) // 2, {}
    for name, parameters in {"never": NEITHER, "auto": BOTH}.items():
        model, said, rest = prequential(front_end, rows, labels, **parameters)
        late[name] = np.mean(said[half + 300 :] == labels[rest][half + 300 :])
    assert late["auto"] > 0.85 > 0.7 > late["never"]
    (forgotten, *_) = model.model.forgotten_
    assert half < forgotten.position <= half + 150
    assert forgotten.kept == 0.0 < forgotten.counted <= 200.0
    assert forgotten.ratio > 2.5


@pytest.mark.parametrize("front_end", FRONT_ENDS)
@pytest.mark.parametrize("length", [None, 30])
def test_an_order_of_rows_is_not_taken_for_a_changed_world(front_end, length):
    rows, labels = shuffled_digits()
    unseen = rows[1200:], labels[1200:]
    rows, labels = sorted_rows(rows[:1200], labels[:1200], length)
    errors = []
    for half_life in ("auto", None):
        model = Model(front_end, "ExpChi2Classifier", D, half_life=half_life)
        errors.append(model.learn(rows, labels).errors(*unseen).mean())
    assert model.model.forgotten_ == ()
    assert errors[0] <= errors[1] + 0.02


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_numbers_that_change_their_meaning_are_forgotten_too(front_end):
    random = np.random.default_rng(0)
    rows = random.dirichlet(np.ones(6), 3200)
    numbers = np.sin(5 * rows[:, 0]) + rows[:, 1] + 0.05 * random.normal(size=3200)
    numbers[2000:] = 1.0 - numbers[2000:]
    errors = {}
    for name, parameters in {"never": NEITHER, "auto": {**NEITHER, "half_life": "auto"}}.items():
        model, said, rest = prequential(front_end, rows, numbers, "ExpChi2Regressor", **parameters)
        errors[name] = np.abs(said - numbers[rest])[2400:].mean()
    assert errors["auto"] < errors["never"] / 2
    assert min(past.position for past in model.model.forgotten_) > 2000


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_heavy_tails_and_new_regions_are_no_other_world(front_end):
    random = np.random.default_rng(1)
    rows = random.dirichlet(np.ones(6), 3000)
    heavy = rows[:, 1] + random.standard_t(2, size=3000)
    smooth = np.sin(5 * rows[:, 0]) + rows[:, 1] + 0.05 * random.normal(size=3000)
    by_target = np.argsort(smooth, kind="stable")
    for order, numbers in ((np.arange(3000), heavy), (by_target, smooth)):
        model = Model(front_end, "ExpChi2Regressor", D, half_life="auto")
        model.learn(rows[order], numbers[order])
        assert all(past.kept for past in model.model.forgotten_)


@pytest.mark.parametrize("factor", [1e-100, 1e50, 1e130])
@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_the_scale_of_targets_and_weights_changes_nothing(front_end, factor):
    rows, labels = shuffled_digits()
    numbers = np.where(np.arange(1500) < 1000, labels[:1500], -labels[:1500]) / 10.0
    said = []
    for target, weight in ((1.0, 1.0), (factor, 1.0), (1.0, factor)):
        model = Model(front_end, "ExpChi2Regressor", 64, **BOTH)
        model.learn(rows[:1500], target * numbers, weight)
        said.append(model.predict(rows[1500:1600]) / target)
        assert [past.kept for past in model.model.forgotten_] == [0.0]
    for other in said[1:]:
        np.testing.assert_allclose(other, said[0], rtol=1e-3, atol=1e-3)


def test_in_random_order_nothing_is_lost():
    rows, labels = shuffled_digits()
    right = []
    for parameters in (BOTH, NEITHER):
        model, said, rest = prequential("dicts", rows, labels, step=1, **parameters)
        right.append(said == labels[rest])
        if parameters is BOTH:
            assert model.model.forgotten_ == ()
    assert abs(np.mean(right[0]) - np.mean(right[1])) < 0.006


def test_what_a_map_learner_forgets_is_refused_elsewhere():
    from streamchi2 import ExpChi2Sampler, StreamingRidge

    for estimator in (ExpChi2Sampler(8, half_life="auto"), StreamingRidge(half_life="auto")):
        with pytest.raises(ValueError, match="only classifiers and regressors with a feature map"):
            estimator.partial_fit(np.eye(4), np.ones(4))
