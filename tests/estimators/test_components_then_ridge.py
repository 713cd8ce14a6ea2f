"""The paper's Algorithm 5 in two steps: components of each descriptor, then ridge inside them."""

import numpy as np
from mapped_models import LABELS, ROWS, TARGETS, feature_map_of
from numpy.testing import assert_allclose, assert_array_equal

from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    StreamingRidge,
    StreamingRidgeClassifier,
)

N = 1100
PARAMS = {
    "n_components": 24,
    "descriptors": {"low": slice(0, 2), "high": [4, 2, 3]},
    "n_pca": 9,
    "n_terms": 3,
    "random_state": 0,
    "adapt": False,
}
N_PCA = (5, 4)  # nine, divided evenly
ALPHA = 0.5


def in_batches(model, rows, *targets):
    for start, stop in ((0, 150), (150, 600), (600, N)):
        model.partial_fit(rows[start:stop], *(target[start:stop] for target in targets))
    return model


def rounding(model, coef):
    """Return how far scores may differ whose statistics were added in another order.

    A sum of n products of features below one errs by less than eps n times the sum of their sizes:
    dH is at most eps n tr(H + n m m') in norm. A leading subspace turns by dH over the gap behind
    it (Davis and Kahan, 1970), so the scatter inside it moves by 2 |H| times that, and the solution
    of (H + aI) w = C by (|dH| |w| + |dC|) / a, with C = (H + aI) w.
    """
    features = feature_map_of(model).transform(ROWS[:N])
    moved = np.finfo(np.float64).eps * N * np.square(features).sum()
    turned, largest = 0.0, 0.0
    for part, number in zip(np.split(features, 2, axis=1), N_PCA, strict=True):
        values = np.linalg.svd(part - part.mean(axis=0), compute_uv=False) ** 2
        turned = max(turned, moved / (values[number - 1] - values[number]))
        largest = max(largest, values[0])
    scatter = moved + 2.0 * turned * largest
    length = np.linalg.norm(coef, 2)
    moved_cross = moved + turned * (largest + ALPHA) * length
    # Both sides err, and a row of two descriptors has length sqrt(2).
    return 2.0 * np.sqrt(2.0) * (scatter * length + moved_cross) / ALPHA


def test_a_ridge_classifier_inside_components_is_the_classifier_of_one_pass():
    components = in_batches(ExpChi2PCA(**PARAMS), ROWS)
    inside = components.transform(ROWS)
    ridge = in_batches(StreamingRidgeClassifier(ALPHA), inside, LABELS)
    one = ExpChi2Classifier(alpha=ALPHA, **PARAMS).fit(ROWS[:N], LABELS[:N])
    tolerance = rounding(one, one.coef_)
    assert tolerance < 1e-5
    assert_array_equal(ridge.classes_, one.classes_)
    scores = ridge.decision_function(inside)
    assert_allclose(scores, one.decision_function(ROWS), rtol=0, atol=tolerance)


def test_a_ridge_regression_inside_components_is_the_regressor_of_one_pass():
    components = in_batches(ExpChi2PCA(**PARAMS), ROWS)
    inside = components.transform(ROWS)
    ridge = in_batches(StreamingRidge(ALPHA), inside, TARGETS)
    one = ExpChi2Regressor(alpha=ALPHA, **PARAMS).fit(ROWS[:N], TARGETS[:N])
    tolerance = rounding(one, one.coef_)
    assert_allclose(ridge.predict(inside), one.predict(ROWS), rtol=0, atol=tolerance)
