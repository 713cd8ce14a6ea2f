"""What naive engines got wrong, each find once for both front ends, through public interfaces."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_digits

import streamchi2
from streamchi2 import river

FRONT_ENDS = ["arrays", "dicts"]
D = 256


class Model:
    """A classifier or regressor of either front end, which learns and predicts arrays."""

    def __init__(self, front_end, kind, n_components=D, **parameters):
        self.is_river = front_end == "dicts"
        seed = {"seed": 0} if self.is_river else {"random_state": 0}
        module = river if self.is_river else streamchi2
        if self.is_river:  # as scikit-learn's: what is learnt of all rows
            parameters = {"half_life": None, "latest_rows": 0, **parameters}
        self.model = getattr(module, kind)(n_components, **seed, **parameters)

    def learn(self, rows, targets, weight=1.0):
        if not self.is_river:
            self.model.partial_fit(rows, targets, sample_weight=np.full(len(rows), weight))
        elif weight == 1.0:
            frame = pd.DataFrame(targets).add_prefix("target ")
            self.model.learn_many(
                pd.DataFrame(rows), frame if targets.ndim == 2 else frame.iloc[:, 0]
            )
        else:
            for row, target in zip(pd.DataFrame(rows).to_dict("records"), targets, strict=True):
                self.model.learn_one(row, target.item(), w=weight)
        return self

    def observe(self, rows):
        if self.is_river:
            self.model.observe_many(pd.DataFrame(rows))
        else:
            self.model.observe(rows)
        return self

    def predict(self, rows):
        if self.is_river:
            return self.model.predict_many(pd.DataFrame(rows)).to_numpy()
        return self.model.predict(rows)

    def errors(self, rows, labels):
        return (self.predict(rows) != labels).astype(float)


def assert_no_worse(errors, others):
    """See that errors are no more than others but for four standard errors of the difference."""
    apart = errors - others
    noise = 4 * apart.std() / np.sqrt(apart.size)
    assert apart.mean() <= noise + 1e-12, f"{errors.mean():.3f} against {others.mean():.3f}"


@cache
def shuffled_digits():
    rows, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    return (rows / rows.sum(axis=1, keepdims=True))[order], labels[order]


@cache
def histograms(n_rows, seed=0):
    """Rows of ten classes that overlap."""
    shapes = np.random.default_rng(99).uniform(0.2, 2.0, (10, 32))
    random = np.random.default_rng(seed)
    labels = random.integers(0, 10, n_rows)
    rows = random.standard_gamma(shapes[labels])
    return rows / rows.sum(axis=1, keepdims=True), labels


@pytest.mark.parametrize("again", ["a second epoch", "weights of three"])
@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_copies_of_rows_and_weights_above_one_cost_no_accuracy(front_end, again):
    rows, labels = shuffled_digits()
    random = np.random.default_rng(1)
    # One label in five is wrong, which a penalty that is too small learns by heart.
    noisy = np.where(random.random(500) < 0.2, random.integers(0, 10, 500), labels[:500])
    unseen = rows[1200:], labels[1200:]
    model = Model(front_end, "ExpChi2Classifier", 1024).learn(rows[:500], noisy)
    errors = model.errors(*unseen)
    if again == "weights of three":
        model = Model(front_end, "ExpChi2Classifier", 1024)
    model.learn(rows[:500], noisy, weight=3.0 if again == "weights of three" else 1.0)
    assert_no_worse(model.errors(*unseen), errors)


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_a_target_of_loud_noise_does_not_change_how_another_is_predicted(front_end):
    rows, _ = histograms(1500)
    random = np.random.default_rng(2)
    signal = np.sin(40 * rows[:, 0]) + 30 * rows[:, 1] + 0.3 * random.normal(size=1500)
    kind = "ExpChi2MultiTargetRegressor" if front_end == "dicts" else "ExpChi2Regressor"
    r2 = []
    for scale in (1.0, 1000.0):
        targets = np.column_stack([signal, scale * random.normal(size=1500)])
        model = Model(front_end, kind).learn(rows[:1000], targets[:1000])
        apart = model.predict(rows[1000:])[:, 0] - signal[1000:]
        r2.append(1 - np.mean(apart**2) / signal[1000:].var())
    assert r2[0] > 0.3
    # Both are measured on 500 rows of the same 1500, with other noise beside them.
    assert r2[1] > r2[0] - 0.05


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_few_labelled_rows_after_many_unlabelled_ones_choose_their_penalty(front_end):
    rows, labels = histograms(6200)
    errors = {}
    for alpha in ("auto", 0.01, 0.3):
        model = Model(front_end, "ExpChi2Classifier", 128, alpha=alpha).observe(rows[:5000])
        model.learn(rows[5000:5200], labels[5000:5200])
        errors[alpha] = model.errors(rows[5200:], labels[5200:])
    chosen = errors.pop("auto")
    assert_no_worse(chosen, min(errors.values(), key=np.mean))


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_unlabelled_rows_do_not_age_labelled_ones(front_end):
    rows, labels = histograms(5500)
    model = Model(front_end, "ExpChi2Classifier", 128, half_life=100)
    model.learn(rows[:1000], labels[:1000])
    before = model.errors(rows[4500:], labels[4500:])
    assert_no_worse(model.observe(rows[1000:4000]).errors(rows[4500:], labels[4500:]), before)


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_a_penalty_recovers_from_a_long_run_of_one_class(front_end):
    rows, labels = histograms(4600)
    several = [histograms(4600, seed) for seed in (5, 6, 7)]
    one_class = np.concatenate([some[kinds == 0] for some, kinds in several])[:1200]
    all_rows = np.concatenate([one_class, rows[:3600]])
    all_labels = np.concatenate([np.zeros(1200, int), labels[:3600]])
    models = []
    for order in (np.arange(4800), np.random.default_rng(3).permutation(4800)):
        model = Model(front_end, "ExpChi2Classifier")
        models.append(model.learn(all_rows[order], all_labels[order]))
    sorted_one, shuffled_one = (model.model.alpha_ for model in models)
    assert 1 / 8 < sorted_one / shuffled_one < 8
    unseen = rows[3600:], labels[3600:]
    assert_no_worse(models[0].errors(*unseen), models[1].errors(*unseen))


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_a_stream_sorted_by_class_is_learnt_as_well_as_a_shuffled_one(front_end):
    rows, labels = shuffled_digits()
    errors = []
    for order in (np.argsort(labels[:1200], kind="stable"), np.arange(1200)):
        model = Model(front_end, "ExpChi2Classifier").learn(rows[order], labels[order])
        errors.append(model.errors(rows[1200:], labels[1200:]))
    assert_no_worse(*errors)


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_rows_that_are_their_own_only_neighbours_do_not_choose_a_tiny_penalty(front_end):
    rows, _ = histograms(700)
    numbers = np.random.default_rng(4).normal(size=700)
    # With such a kernel every row is far from every other one, and noise can be learnt by heart.
    model = Model(front_end, "ExpChi2Regressor", beta=200.0).learn(rows[:200], numbers[:200])
    assert np.mean((model.predict(rows[200:]) - numbers[200:]) ** 2) < 1.1 * numbers[200:].var()


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_predictions_in_between_change_no_coefficient(front_end):
    rows, labels = shuffled_digits()
    models = [Model(front_end, "ExpChi2Classifier", 64) for _ in range(2)]
    for start in range(0, 1500, 50):
        for model in models:
            model.learn(rows[start : start + 50], labels[start : start + 50])
        models[0].predict(rows[start + 50 : start + 90])
    read, unread = (model.model.coef_ for model in models)
    assert_array_equal(read, unread)


@pytest.mark.parametrize("front_end", FRONT_ENDS)
def test_512_features_and_2000_rows(front_end):
    rows, labels = histograms(2500)
    model = Model(front_end, "ExpChi2Classifier", 512)
    for start in range(0, 2000, 100):
        model.learn(rows[start : start + 100], labels[start : start + 100])
    plain = Model("arrays", "ExpChi2Classifier", 256).learn(rows[:2000], labels[:2000])
    unseen = rows[2000:], labels[2000:]
    assert_no_worse(model.errors(*unseen), plain.errors(*unseen))
