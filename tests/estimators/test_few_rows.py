"""Fewer rows than features: what is solved, how often, and that accuracy does not suffer."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose, assert_array_equal

from streamchi2 import ExpChi2Classifier, ExpChi2Regressor
from streamchi2 import stream as stream_module

N_ROWS, N_FEATURES = 100, 1024


@pytest.fixture
def shapes(monkeypatch):
    """Shapes of all square matrices that are handed to LAPACK."""
    shapes = []

    def recording(work):
        def recorded(matrix, *arguments, **named):
            shapes.append(np.shape(matrix))
            return work(matrix, *arguments, **named)

        return recorded

    for module, names in (
        (np.linalg, ("cholesky", "eigh", "inv", "svd", "qr", "solve")),
        (scipy.linalg, ("cholesky", "eigh", "inv", "svd", "qr", "solve", "cho_factor")),
        (scipy.linalg.lapack, ("dsyevr", "dsyevd", "dpotrf", "dtrtrs", "dpstrf")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, recording(getattr(module, name)))
    return shapes


@pytest.mark.parametrize("kind", [ExpChi2Classifier, ExpChi2Regressor])
def test_a_hundred_rows_of_many_features_are_solved_as_a_hundred_equations(kind, digits, shapes):
    rows, labels = digits
    model = kind(N_FEATURES, basis="orthogonal", random_state=0)
    for start in (0, N_ROWS // 2):
        part = slice(start, start + N_ROWS // 2)
        model.partial_fit(rows[part], labels[part])
    assert np.corrcoef(model.predict(rows[N_ROWS:300]), labels[N_ROWS:300])[0, 1] > 0.5
    assert max((max(shape) for shape in shapes), default=0) <= N_ROWS


def test_a_second_prediction_solves_nothing(digits, monkeypatch):
    rows, labels = digits
    model = ExpChi2Classifier(N_FEATURES, random_state=0)
    model.partial_fit(rows[:N_ROWS], labels[:N_ROWS])
    first = model.predict_proba(rows[N_ROWS:300])
    with monkeypatch.context() as patched:
        patched.setattr(stream_module, "fit", None)
        patched.setattr(stream_module, "choose", None)
        assert_array_equal(model.predict_proba(rows[N_ROWS:300]), first)
        assert_array_equal(model.predict(rows[N_ROWS:300]), model.classes_[first.argmax(axis=1)])
    model.partial_fit(rows[300:310], labels[300:310])
    assert (model.predict_proba(rows[N_ROWS:300]) != first).any()


# Rounding, 6e-8 of features below one, times coefficients whose sizes add up to some hundreds.
@pytest.mark.parametrize("n_rows", [200, 600])
def test_light_weights_change_predictions_by_rounding_alone(n_rows, digits):
    rows, labels = digits
    learnt, unseen = slice(0, n_rows), slice(n_rows, None)
    heavy, light = (
        ExpChi2Classifier(256, random_state=0).fit(
            rows[learnt], labels[learnt], sample_weight=np.full(n_rows, weight)
        )
        for weight in (1.0, 1.0 / 128.0)
    )
    assert_allclose(light.alpha_, heavy.alpha_ / 128.0, rtol=1e-5)
    scores = [model.decision_function(rows[unseen]) for model in (heavy, light)]
    assert_allclose(scores[1], scores[0], atol=2e-5)
    assert light.score(rows[unseen], labels[unseen]) > 0.8
