"""Labels that emerge, their types, their probabilities, and what is said before the first."""

import numpy as np
import pytest
from named_streams import histograms, learnt

from streamchi2.river import ExpChi2Classifier, ExpChi2Regressor

ROWS, LABELS, _ = histograms(300)


def test_before_learning_predictions_are_what_river_expects():
    assert ExpChi2Classifier().predict_one({"a": 1.0}) is None
    assert ExpChi2Classifier().predict_proba_one({"a": 1.0}) == {}
    assert ExpChi2Regressor().predict_one({"a": 1.0}) == 0.0


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ([True, False], bool),
        ([np.True_, np.False_], bool),
        (["u", "v"], str),
        ([np.str_("u"), np.str_("v")], str),
        ([7, -7], int),
        ([np.int32(7), np.int32(8)], int),
        ([0.5, 1.5], float),
    ],
)
def test_labels_keep_their_type(given, kind):
    model = learnt(ExpChi2Classifier(64, seed=0), ROWS[:40], given * 20)
    shares = model.predict_proba_one(ROWS[50])
    assert {type(label) for label in shares} == {kind}
    assert type(model.predict_one(ROWS[50])) is kind
    assert set(shares) == set(given)


def test_probabilities_add_up_from_the_first_label_on():
    model = ExpChi2Classifier(64, seed=0)
    for row, label in zip(ROWS[:80], LABELS, strict=False):
        model.learn_one(row, label)
        shares = model.predict_proba_one(row)
        assert sum(shares.values()) == pytest.approx(1.0)
        assert min(shares.values()) >= 0.0


def test_a_label_that_appears_between_refreshes_is_there_with_probability_zero():
    model = learnt(ExpChi2Classifier(64, seed=0), ROWS[:128], LABELS)
    model.learn_one(ROWS[128], "elm")
    assert model.predict_proba_one(ROWS[128])["elm"] == 0.0
    learnt(model, ROWS[129:144], LABELS[129:144])
    assert model.predict_proba_one(ROWS[128])["elm"] > 0.0


def test_probabilities_are_calibrated_and_the_model_is_good():
    model, losses, hits = ExpChi2Classifier(128, seed=0), [], []
    for row, label in zip(ROWS, LABELS, strict=True):
        shares = model.predict_proba_one(row)
        hits.append(model.predict_one(row) == label)
        losses.append(-np.log(max(shares.get(label, 0.0), 1e-9)))
        model.learn_one(row, label)
    assert np.mean(hits[60:]) > 0.93
    # The log-loss of saying what share of guesses is right, and no more, is an upper bound.
    wrong = 1.0 - np.mean(hits[60:])
    assert np.mean(losses[60:]) < -np.log1p(-wrong) * (1 - wrong) - wrong * np.log(wrong / 2) + 0.1
