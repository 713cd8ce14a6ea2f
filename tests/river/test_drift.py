"""Drift: detectors on the model's own errors, shorter memory, and a log that can be read."""

import logging

import numpy as np
import pandas as pd
import pytest
from named_streams import histograms, state_of
from river import drift

from streamchi2.river import ExpChi2Classifier

ROWS, LABELS, _ = histograms(1800)
SWAP = {"ash": "birch", "birch": "cedar", "cedar": "ash"}
SWAPPED = [SWAP[label] if i >= 900 else label for i, label in enumerate(LABELS)]


def late_accuracy(model):
    hits = []
    for row, label in zip(ROWS, SWAPPED, strict=True):
        hits.append(model.predict_one(row) == label)
        model.learn_one(row, label)
    return np.mean(hits[1100:])


def test_a_detector_shortens_memory_and_says_so(caplog):
    caplog.set_level(logging.INFO, logger="streamchi2.river")
    plain = ExpChi2Classifier(64, seed=0, basis="orthogonal")
    watching = ExpChi2Classifier(64, seed=0, drift_detector="adwin", basis="orthogonal")
    assert late_accuracy(watching) > late_accuracy(plain) + 0.1
    event = watching.drift_events_[0]
    assert 900 < event.found_at <= event.acted_at < 1100
    assert event.memory == 0.1
    assert f"found_at={event.found_at}" in caplog.text
    assert plain.drift_events_ == ()


def test_half_life_follows_without_a_detector():
    assert late_accuracy(ExpChi2Classifier(64, seed=0, half_life=100.0, basis="orthogonal")) > 0.85


@pytest.mark.parametrize("n_components", [64, 800])  # from moments; from the rows themselves
def test_what_a_detector_does_depends_on_no_cut(n_components):
    params = {"n_components": n_components, "seed": 0, "drift_detector": drift.PageHinkley()}
    one, many = (
        ExpChi2Classifier(**params, basis="orthogonal"),
        ExpChi2Classifier(**params, basis="orthogonal"),
    )
    for row, label in zip(ROWS[600:1300], SWAPPED[600:1300], strict=True):
        one.learn_one(row, label)
    for start in range(600, 1300, 175):
        stop = start + 175
        many.learn_many(pd.DataFrame(ROWS[start:stop]), pd.Series(SWAPPED[start:stop]))
    assert one.drift_events_
    assert state_of(one) == state_of(many)
    assert params["drift_detector"].drift_detected is False  # the user's own is only a pattern
