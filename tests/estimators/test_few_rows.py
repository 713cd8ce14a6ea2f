"""Fewer rows than features: what is solved, how often, and that accuracy does not suffer."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose, assert_array_equal

from streamchi2 import ExpChi2Classifier, ExpChi2Regressor, StreamingRidge
from streamchi2.testing import check_no_dip

N_ROWS, N_FEATURES = 100, 1024


@pytest.fixture
def factorised(monkeypatch):
    """Shapes of all matrices that the library hands to dense linear algebra."""
    shapes = []

    def recording(work):
        def recorded(matrix, *arguments, **named):
            shapes.append(np.shape(matrix))
            return work(matrix, *arguments, **named)

        return recorded

    names = ("cholesky", "eigh", "eigvalsh", "inv", "svd", "qr", "solve")
    for name in names:
        monkeypatch.setattr(np.linalg, name, recording(getattr(np.linalg, name)))
    dense = [getattr(scipy.linalg, name) for name in (*names, "cho_factor")]
    dense += [scipy.linalg.lapack.dsytrd, scipy.linalg.lapack.dpstrf, scipy.linalg.lapack.dtrtri]
    modules = [module for name, module in sys.modules.items() if name.startswith("streamchi2.")]
    for module in modules:
        for name, found in list(vars(module).items()):
            if any(found is work for work in dense):
                monkeypatch.setattr(module, name, recording(found))
    return shapes


@pytest.mark.parametrize("kind", [ExpChi2Classifier, ExpChi2Regressor])
def test_a_hundred_rows_of_many_features_are_solved_as_a_hundred_equations(
    kind, digits, factorised
):
    rows, labels = digits
    model = kind(N_FEATURES, random_state=0)
    for start in (0, N_ROWS // 2):
        part = slice(start, start + N_ROWS // 2)
        model.partial_fit(rows[part], labels[part])
    assert np.corrcoef(model.predict(rows[N_ROWS:300]), labels[N_ROWS:300])[0, 1] > 0.5
    assert (N_ROWS, N_ROWS) in factorised
    assert max(max(shape) for shape in factorised) == N_ROWS


def test_a_second_prediction_solves_and_featurises_nothing_that_was_learnt(
    digits, factorised, monkeypatch
):
    rows, labels = digits
    model = ExpChi2Classifier(N_FEATURES, random_state=0)
    model.partial_fit(rows[:N_ROWS], labels[:N_ROWS])
    first = model.predict_proba(rows[N_ROWS:300])
    factorised.clear()
    learnt = type(model._reading)._statistics
    monkeypatch.setattr(type(model._reading), "_statistics", lambda self: factorised.append(()))
    assert_array_equal(model.predict_proba(rows[N_ROWS:300]), first)
    assert_array_equal(model.predict(rows[N_ROWS:300]), model.classes_[first.argmax(axis=1)])
    assert not factorised
    monkeypatch.setattr(type(model._reading), "_statistics", learnt)
    model.partial_fit(rows[300:310], labels[300:310]).predict(rows[:1])
    assert factorised  # what has been learnt since is solved


# Rounding, 6e-8 or 1e-16 of features below one, times coefficients whose sizes add up to some
# hundreds or, where moments round, a solve whose condition is at most 1e8.
@pytest.mark.parametrize(("dtype", "atol"), [("float32", 2e-5), ("float64", 2e-8)])
@pytest.mark.parametrize("n_rows", [200, 600])
def test_light_weights_change_predictions_by_rounding_alone(n_rows, dtype, atol, digits):
    rows, labels = digits
    learnt, unseen = slice(0, n_rows), slice(n_rows, None)
    heavy, light = (
        ExpChi2Classifier(256, dtype=dtype, random_state=0).fit(
            rows[learnt], labels[learnt], sample_weight=np.full(n_rows, weight)
        )
        for weight in (1.0, 0.01)
    )
    assert_allclose(light.alpha_, 0.01 * heavy.alpha_, rtol=1e-5)
    scores = [model.decision_function(rows[unseen]) for model in (heavy, light)]
    assert_allclose(scores[1], scores[0], atol=atol)
    assert light.score(rows[unseen], labels[unseen]) > 0.8


@pytest.mark.parametrize("basis", ["orthogonal", "landmarks", "subspace"])
def test_the_learning_curve_does_not_dip_where_rows_are_as_many_as_features(basis, digits):
    rows, labels = digits
    order = np.random.default_rng(0).permutation(len(labels))
    model = ExpChi2Classifier(128, basis=basis, random_state=0)
    sizes = [64, 96, 112, 120, 124, 127, 128, 129, 132, 144, 160, 192, 256, 512]
    check_no_dip(model, rows[order], labels[order], sizes=sizes)


def test_nor_does_that_of_plain_features():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(900, 60))
    targets = rows[:, :5].sum(axis=1) + rng.normal(size=900)
    sizes = [20, 40, 50, 55, 58, 60, 61, 62, 65, 80, 120, 300]
    check_no_dip(StreamingRidge("auto"), rows, targets, sizes=sizes)
