"""Landmarks on a stream of named rows: drawn from the first 2D, served by fewer until then."""

import numpy as np
import pytest
from named_streams import histograms, learnt, state_of

from streamchi2 import exp_chi2_kernel
from streamchi2.estimators.classifier import ExpChi2Classifier as MatrixClassifier
from streamchi2.river import ExpChi2Classifier, ExpChi2Sampler
from streamchi2.river.dict_rows import DictReader
from streamchi2.statistics.row_buffer import as_matrix

ROWS, LABELS, _ = histograms(460)
D = 100
PARAMS = {"n_components": D, "basis": "landmarks"}


def test_before_the_warm_up_ends_the_rows_there_are_serve():
    params = {**PARAMS, "n_terms": 8**16}
    sampler = ExpChi2Sampler(seed=0, **params)
    assert np.isfinite(list(sampler.transform_one(ROWS[0]).values())).all()
    learnt(sampler, ROWS[:20])
    rows = ROWS[:16]  # at which the last map was drawn up, all of them its landmarks
    features = np.array([list(sampler.transform_one(row).values()) for row in rows])
    assert features.shape == (16, D)
    exact = exp_chi2_kernel([list(row.values()) for row in rows], beta=sampler.beta_)
    # 8 colours of 8 terms in 2^16 buckets: two of them meet with a chance of .03, not at this seed.
    # What is left is the error of eight terms, which are fitted to these very values.
    assert np.abs(features @ features.T - exact).max() < 1e-3


def test_landmarks_change_at_powers_of_four_and_at_2d_and_then_no_more():
    model = ExpChi2Classifier(seed=0, **PARAMS)
    changes, last = [], None
    for position, (row, label) in enumerate(zip(ROWS, LABELS, strict=True), 1):
        model.learn_one(row, label)
        landmarks = model._present_map().blocks[0].basis.landmarks
        if last is None or landmarks is not last:
            changes.append((position, landmarks.shape[0]))
        last = landmarks
    assert changes == [(1, 1), (4, 4), (16, 16), (64, 64), (2 * D, D)]


def test_the_estimator_on_matrices_draws_the_same_landmarks():
    drawn = int(np.random.RandomState(7).randint(np.iinfo(np.int32).max))
    model = learnt(ExpChi2Classifier(seed=drawn, alpha=0.05, **PARAMS), ROWS[:320], LABELS)
    matrix = as_matrix([DictReader().read(row) for row in ROWS])
    matrices = MatrixClassifier(random_state=7, alpha=0.05, **PARAMS)
    matrices.fit(matrix[:320], LABELS[:320])
    assert model._present_map() == matrices._reading.feature_map
    guesses = [model.predict_one(row) for row in ROWS[320:]]
    assert guesses == matrices.predict(matrix[320:]).tolist()


def test_the_model_is_good_at_every_stage():
    model, right = ExpChi2Classifier(seed=0, **PARAMS), []
    for row, label in zip(ROWS, LABELS, strict=True):
        right.append(model.predict_one(row) == label)
        model.learn_one(row, label)
    # Who guesses is right a third of the time, give or take .07 in fifty rows: four times that
    # above it. A map drawn up anew under the old coefficients would be no better than guessing.
    for start in (17, 65, 150, 201, 250):
        assert np.mean(right[start : start + 50]) > 0.33 + 4 * 0.07, start


@pytest.mark.parametrize("n_large", [150, 250])  # within the warm-up and after it
def test_a_side_without_a_map_hands_its_rows_over(n_large):
    large = learnt(ExpChi2Classifier(seed=0, **PARAMS), ROWS[:n_large], LABELS)
    small = learnt(ExpChi2Classifier(seed=0, **PARAMS), ROWS[n_large:300], LABELS[n_large:300])
    whole = learnt(ExpChi2Classifier(seed=0, **PARAMS), ROWS[:300], LABELS)
    large.merge(small)
    assert state_of(large) == state_of(whole)
