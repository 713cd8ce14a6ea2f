"""Group lasso in the estimators: which descriptors count."""

from __future__ import annotations

import numpy as np
import pytest
from mapped_models import LABELS, ROWS
from numpy.testing import assert_allclose, assert_array_equal

from streamchi2 import ExpChi2Classifier

TWO = {"low": slice(0, 2), "high": [4, 2, 3]}


def test_a_pure_noise_descriptor_is_dropped_by_group_lasso_and_kept_by_ridge(digits):
    rows, labels = digits
    noise = np.random.default_rng(0).dirichlet(np.ones(20), len(rows))
    rows = np.hstack([rows, noise])
    halves = {"top": slice(0, 32), "bottom": slice(32, 64), "noise": slice(64, None)}
    ridge, lasso = (
        ExpChi2Classifier(
            300, descriptors=halves, penalty=penalty, random_state=0, basis="orthogonal"
        )
        for penalty in ("ridge", "group_lasso")
    )
    for model in (ridge, lasso):
        model.fit(rows[:1000], labels[:1000])
    assert ridge.coef_[:, 200:].any(axis=0).all()
    assert not lasso.coef_[:, 200:].any()
    assert lasso.descriptor_weights_["noise"] == 0.0
    assert lasso.coef_[:, :200].any(axis=0).all()
    assert list(ridge.descriptor_path_)[-1] == "noise"
    assert ridge.descriptor_path_ == lasso.descriptor_path_
    assert lasso.score(rows[1000:], labels[1000:]) >= ridge.score(rows[1000:], labels[1000:])
    assert_allclose(lasso.predict_proba(rows[1000:]).sum(axis=1), 1.0)


@pytest.mark.parametrize("basis", ["orthogonal", "subspace", "landmarks"])
def test_a_choice_among_descriptors_of_a_handful_of_rows_needs_no_warning(basis):
    # More features than rows fit them exactly, and scales grow until rounding shows.
    for few in (slice(9, 12), slice(25, 30), slice(48, 51)):
        params = {"penalty": "group_lasso", "descriptors": TWO, "random_state": 0}
        model = ExpChi2Classifier(60, basis=basis, **params).fit(ROWS[few], LABELS[few])
        assert set(model.descriptor_path_) == set(model.descriptor_weights_) == set(TWO)


def test_a_single_class_chooses_no_descriptor():
    params = {"penalty": "group_lasso", "descriptors": TWO, "random_state": 0}
    model = ExpChi2Classifier(24, **params, basis="orthogonal").fit(ROWS[:100], np.full(100, "ash"))
    assert not any(model.descriptor_weights_.values())
    assert not any(model.descriptor_path_.values())
    assert_array_equal(model.predict_proba(ROWS[:3]), np.ones((3, 1)))
