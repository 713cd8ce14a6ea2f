"""What an estimator says of itself: true, without work, without a trace."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    ExpChi2Sampler,
    StreamingRidge,
)
from streamchi2.estimators.facts import fitted_facts
from streamchi2.river import ExpChi2Classifier as RiverClassifier
from streamchi2.river import ExpChi2Sampler as RiverSampler

ROWS = np.random.default_rng(0).dirichlet(np.ones(6), 300)
LABELS = (ROWS[:, 0] > ROWS[:, 1]).astype(int)


def learnt(model, n_rows=300):
    for row, label in zip(ROWS[:n_rows].tolist(), LABELS.tolist(), strict=False):
        model.learn_one(dict(enumerate(row)), label)
    return model


def test_the_facts_are_those_of_the_attributes():
    model = ExpChi2Classifier(32, random_state=0).fit(ROWS, LABELS)
    facts = fitted_facts(model)
    assert "alpha" not in facts  # which nobody has needed yet
    model.predict(ROWS[:2])
    facts = fitted_facts(model)
    assert facts["rows seen"] == "300"
    assert facts["columns"] == "6"
    assert facts["classes"] == "2"
    assert float(facts["beta"]) == pytest.approx(model.beta_, rel=1e-3)
    assert float(facts["alpha"]) == pytest.approx(model.alpha_, rel=1e-3)
    assert int(facts["terms"]) == model.n_terms_
    assert int(facts["features"]) == 32


def test_facts_of_river_are_known_at_once():
    model = learnt(RiverClassifier(16, seed=0))
    facts = fitted_facts(model)
    assert float(facts["alpha"]) == pytest.approx(model.alpha_, rel=1e-3)
    assert float(facts["beta"]) == pytest.approx(model.beta_, rel=1e-3)
    assert "columns" not in facts  # keys may come and go
    assert model.summary().startswith("ExpChi2Classifier, fitted\n  rows seen  300")


def test_descriptors_are_named():
    columns = {"hog": slice(0, 3), "bow": slice(3, 6)}
    model = ExpChi2Regressor(32, descriptors=columns, beta={"hog": 1.0, "bow": 2.0}, alpha=0.5)
    facts = fitted_facts(model.fit(ROWS, ROWS[:, 0]))
    assert facts["beta"] == "hog 1, bow 2"
    assert facts["features"] == "hog 16, bow 16"


def test_before_the_map_is_planned_it_says_when():
    model = ExpChi2Sampler(16, random_state=0).fit(ROWS[:5])
    assert fitted_facts(model)["map"] == "planned at row 64"
    assert ExpChi2Sampler().summary() == "ExpChi2Sampler, not fitted"
    assert RiverSampler().summary() == "ExpChi2Sampler, not fitted"


@pytest.mark.parametrize(
    "model",
    [
        ExpChi2Classifier(16, random_state=0).fit(ROWS, LABELS),
        ExpChi2PCA(16, n_pca=4, random_state=0).fit(ROWS[:30]),
        StreamingRidge().fit(ROWS, ROWS[:, 0]),
        learnt(RiverClassifier(16, seed=0), 40),
    ],
    ids=lambda model: type(model).__name__,
)
def test_showing_an_estimator_changes_nothing_and_works_nothing_out(model):
    before, reading = pickle.dumps(model), model._stream._reading
    shown = [model.summary(), repr(model), model._repr_html_(), dir(model)]
    assert shown[:2] == [model.summary(), repr(model)]
    assert "rows seen" in shown[2]
    assert {"summary", "n_samples_seen_", "merge"} <= set(shown[3])
    assert pickle.dumps(model) == before
    # The diagram of a transformer names its outputs, and only components tell how many they are.
    if not isinstance(model, ExpChi2PCA):
        assert model._stream._reading is reading


def test_the_diagram_of_scikit_learn_has_the_facts_below():
    model = ExpChi2Sampler(16, beta=2.5, random_state=0)
    plain = model._repr_html_()
    assert "rows seen" not in plain
    model.fit(ROWS)
    shown = model._repr_html_()
    assert "sk-" in shown
    assert "<td" in shown
    assert "rows seen" in shown
    assert model._repr_mimebundle_()["text/html"].count("rows seen") == 1
    assert model._repr_mimebundle_()["text/plain"] == repr(model)
    assert "rows seen" not in repr(model)
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert "text/html" not in model._repr_mimebundle_()
        assert repr(model) == "ExpChi2Sampler(beta=2.5, n_components=16, random_state=0)"
    assert "ExpChi2Sampler" in make_pipeline(Normalizer("l1"), model)._repr_html_()
    assert clone(model).get_params() == model.get_params()


def test_an_estimator_with_nonsense_for_a_parameter_can_still_be_shown():
    model = StreamingRidge().fit(ROWS, ROWS[:, 0]).set_params(alpha="nonsense", penalty=3)
    assert "rows seen" in model.summary()
    assert "rows seen" in model._repr_html_()


def test_words_of_a_user_do_not_become_html():
    columns = {"<b>": slice(0, 3), "&": slice(3, 6)}
    model = ExpChi2PCA(32, n_pca=4, descriptors=columns, random_state=0).fit(ROWS)
    assert "<b> 16" not in model._repr_html_()
    assert "&lt;b&gt; 16, &amp; 16" in model._repr_html_()
    assert "<b> 16, & 16" in model.summary()
