"""Models without an intercept, against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import ElasticNet, Lasso, Ridge, RidgeClassifier

from streamchi2 import StreamingRidge, StreamingRidgeClassifier

_rng = np.random.default_rng(0)
ROWS = _rng.normal(size=(200, 6)) + 1.5
TARGETS = np.column_stack([ROWS @ _rng.normal(size=6) + 4.0, ROWS[:, 0] ** 2])
LABELS = (ROWS[:, 0] > 1.2).astype(int) + (ROWS[:, 1] > 2.0)
WEIGHTS = _rng.uniform(0.5, 2.0, 200)
SEVERAL = np.column_stack([LABELS > 0, ROWS[:, 2] > 1.0]).astype(int)
# Two solutions of equations of condition below 1e3, in float64.
ROUNDING = {"rtol": 0.0, "atol": 1e-9}


def streamed(model, rows, targets, weights):
    for part in np.array_split(np.arange(len(rows)), 3):
        model.partial_fit(rows[part], targets[part], sample_weight=weights[part])
    return model


@pytest.mark.parametrize("n_rows", [200, 5])  # 5: fewer than features
@pytest.mark.parametrize("targets", [TARGETS, TARGETS[:, 0]], ids=["two", "one"])
def test_ridge_without_an_intercept_is_that_of_scikit_learn(n_rows, targets):
    own = ROWS[:n_rows], targets[:n_rows], WEIGHTS[:n_rows]
    model = streamed(StreamingRidge(0.3, fit_intercept=False), *own)
    peer = Ridge(0.3, fit_intercept=False).fit(*own)
    assert_allclose(model.coef_, peer.coef_, **ROUNDING)
    assert_allclose(model.predict(ROWS), peer.predict(ROWS), **ROUNDING)
    assert_array_equal(model.intercept_, np.zeros(np.shape(model.intercept_)))


@pytest.mark.parametrize("peer", [Lasso(0.1), ElasticNet(0.1, l1_ratio=0.3)], ids=str)
def test_lasso_and_elastic_net_without_an_intercept_are_those_of_scikit_learn(peer):
    peer.set_params(fit_intercept=False, tol=1e-12, max_iter=10**5)
    peer.fit(ROWS, TARGETS[:, 0], sample_weight=WEIGHTS)
    penalty = "lasso" if isinstance(peer, Lasso) else "elastic_net"
    model = StreamingRidge(0.1, penalty=penalty, l1_ratio=0.3, fit_intercept=False)
    model = streamed(model, ROWS, TARGETS[:, 0], WEIGHTS)
    assert_allclose(model.coef_, peer.coef_, atol=1e-6)


@pytest.mark.parametrize(
    ("labels", "class_weight"),
    [(LABELS, None), (LABELS, "balanced"), (LABELS > 0, "balanced"), (SEVERAL, None)],
    ids=["three", "three balanced", "two balanced", "several"],
)
def test_classes_without_an_intercept_are_those_of_scikit_learn(labels, class_weight):
    options = {"fit_intercept": False, "class_weight": class_weight}
    model = StreamingRidgeClassifier(0.3, **options).fit(ROWS, labels)
    peer = RidgeClassifier(0.3, **options).fit(ROWS, labels)
    scores = model.decision_function(ROWS)
    ours = 2.0 * scores - 1.0 if labels is LABELS else scores
    assert_allclose(ours, peer.decision_function(ROWS), **ROUNDING)
    assert_array_equal(model.predict(ROWS), peer.predict(ROWS))


def test_the_penalty_is_chosen_by_cross_validation_and_likelihood_about_the_origin():
    model = StreamingRidge("auto", fit_intercept=False).fit(ROWS, TARGETS[:, 0])
    values, vectors = np.linalg.eigh(ROWS.T @ ROWS)
    turned = vectors.T @ (ROWS.T @ TARGETS[:, 0])

    def gcv(alpha):
        residual = TARGETS[:, 0] - ROWS @ vectors @ (turned / (values + alpha))
        freedom = 200 - (values / (values + alpha)).sum()
        return residual @ residual / freedom**2

    def reml(alpha):
        objective = TARGETS[:, 0] @ TARGETS[:, 0] - (turned**2 / (values + alpha)).sum()
        return np.log(objective) + np.log1p(values / alpha).sum() / 200

    # The grid has four penalties a decade; of ties the larger is taken.
    grid = values[-1] * np.logspace(-8, 3, 45)
    likeliest = min(grid, key=reml)
    allowed = grid[grid >= likeliest * (1 - 1e-9)]
    assert gcv(model.alpha_) <= min(map(gcv, allowed)) * (1 + 1e-5)
    assert model.alpha_ >= likeliest * (1 - 1e-9)


def test_the_flag_is_checked_and_may_change():
    model = StreamingRidge(fit_intercept=False).fit(ROWS, TARGETS[:, 0])
    model.set_params(fit_intercept=True)
    assert_allclose(model.coef_, Ridge().fit(ROWS, TARGETS[:, 0]).coef_, **ROUNDING)
    with pytest.raises(TypeError, match="fit_intercept must be True or False, got 'no'"):
        StreamingRidge(fit_intercept="no").fit(ROWS, TARGETS[:, 0])
