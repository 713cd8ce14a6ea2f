"""What an estimator says of itself: true, without solving a model, without a trace."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    ExpChi2Sampler,
    StreamingRidge,
)
from streamchi2 import stream as stream_module

ROWS = np.random.default_rng(0).dirichlet(np.ones(6), 300)
LABELS = (ROWS[:, 0] > ROWS[:, 1]).astype(int)


def facts_of(model):
    lines = model.summary().splitlines()[1:]
    return dict(line.strip().split("  ", 1) for line in lines)


def test_the_summary_says_what_the_attributes_say():
    model = ExpChi2Classifier(32, random_state=0).fit(ROWS, LABELS)
    facts = {name: value.strip() for name, value in facts_of(model).items()}
    assert (facts["rows seen"], facts["columns"], facts["classes"]) == ("300", "6", "2")
    assert (facts["features"], facts["terms"]) == ("32", str(model.n_terms_))
    assert float(facts["beta"]) == pytest.approx(model.beta_, rel=1e-3)


def test_descriptors_are_named():
    columns = {"hog": slice(0, 3), "bow": slice(3, 6)}
    model = ExpChi2Regressor(32, descriptors=columns, beta={"hog": 1.0, "bow": 2.0}, alpha=0.5)
    facts = facts_of(model.fit(ROWS, ROWS[:, 0]))
    assert facts["beta"].strip() == "hog 1, bow 2"
    assert facts["features"].strip() == "hog 16, bow 16"


def test_before_the_map_is_planned_it_says_when():
    model = ExpChi2Sampler(16, random_state=0).fit(ROWS[:5])
    assert facts_of(model)["map"].strip() == "planned at row 64"
    assert ExpChi2Sampler().summary() == "ExpChi2Sampler, not fitted"


@pytest.mark.parametrize(
    "model",
    [
        ExpChi2Classifier(16, random_state=0).fit(ROWS, LABELS),
        ExpChi2PCA(16, n_pca=4, random_state=0).fit(ROWS[:30]),
        StreamingRidge().fit(ROWS, ROWS[:, 0]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_showing_an_estimator_changes_nothing_and_solves_nothing(model, monkeypatch):
    monkeypatch.setattr(stream_module, "fit", None)
    before = pickle.dumps(model)
    assert model.summary().startswith(f"{type(model).__name__}, fitted\n  rows seen  ")
    assert repr(model).startswith(type(model).__name__)
    assert "sk-" in model._repr_html_()
    assert {"summary", "n_samples_seen_", "merge"} <= set(dir(model))
    assert pickle.dumps(model) == before


def test_tab_completion_shows_what_can_be_used_and_nothing_else():
    names = {name for name in dir(ExpChi2Classifier()) if not name.startswith("_")}
    assert not names & {"STATE", "from_state", "get_state", "standing_still", "validate"}
    assert "set_output" not in names
    assert "set_output" in dir(ExpChi2PCA())


def test_the_diagram_of_scikit_learn_is_shown_and_can_be_switched_off():
    model = ExpChi2Sampler(16, beta=2.5, random_state=0).fit(ROWS)
    assert model._repr_mimebundle_()["text/plain"] == repr(model)
    assert "ExpChi2Sampler" in make_pipeline(Normalizer("l1"), model)._repr_html_()
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert repr(model) == "ExpChi2Sampler(beta=2.5, n_components=16, random_state=0)"


def test_an_estimator_with_nonsense_for_a_parameter_can_still_be_shown():
    model = StreamingRidge().fit(ROWS, ROWS[:, 0]).set_params(alpha="nonsense", penalty=3)
    assert "rows seen" in model.summary()
    assert "nonsense" in model._repr_html_()
