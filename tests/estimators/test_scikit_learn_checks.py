"""Scikit-learn's own checks of estimators: once a class, and further parameters if asked for."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    ExpChi2Sampler,
    StreamingPCA,
    StreamingRidge,
    StreamingRidgeClassifier,
)

PLAIN = {"basis": "orthogonal", "n_terms": 2}
# Scikit-learn's checks feed negative rows to decision_function here, whatever the tag says.
NEGATIVE_ROWS = {
    "check_decision_proba_consistency": "its rows are negative, against the tag positive_only; "
    "test_classifier.py checks the same on rows that are not",
    "check_class_weight_classifiers": "the same; test_class_weight.py has it on rows that are not",
}


# Some kernels of BLAS round a float32 product by the place of a row, others do not.
ROUNDING = {
    f"check_sample_weight_equivalence_on_{kind}_data": "features are float32, and the check asks "
    "for equality to 1e-7; the law of weights in test_laws.py has it to rounding"
    for kind in ("dense", "sparse")
}


def expected(estimator):
    if not isinstance(estimator, ExpChi2Classifier | ExpChi2PCA | ExpChi2Regressor):
        return {}
    return ROUNDING | (NEGATIVE_ROWS if isinstance(estimator, ExpChi2Classifier) else {})


@parametrize_with_checks(
    [
        ExpChi2Sampler(),
        ExpChi2PCA(32, n_pca=5, **PLAIN),
        ExpChi2Classifier(32, **PLAIN),
        ExpChi2Regressor(32, **PLAIN),
        StreamingPCA(),
        StreamingRidge(),
        StreamingRidgeClassifier(),
    ],
    expected_failed_checks=expected,
)
@pytest.mark.filterwarnings("ignore:SCIPY_ARRAY_API is not set")
def test_scikit_learn_accepts_the_estimator(estimator, check):
    check(estimator)


@pytest.mark.thorough
@parametrize_with_checks(
    [
        # Float32 matrix products round by the place of a row, which the checks do not forgive.
        ExpChi2Sampler(basis="gaussian", dtype="float64"),
        ExpChi2Sampler(series="vz", dof=1, n_buckets=32, basis="cosine", dtype="float64"),
        # No half_life: under it a row repeated is two rows further on, and not a double weight.
        ExpChi2Sampler(series="chebyshev"),
        ExpChi2Sampler(16, basis="landmarks", dtype="float64"),
        ExpChi2Sampler(32, basis="subspace", dtype="float64"),
        ExpChi2Classifier(32, n_pca=0.9, class_shift="quantile", **PLAIN),
        ExpChi2Regressor(32, n_pca=0.9, penalty="lasso", alpha=0.01, **PLAIN),
        ExpChi2Regressor(
            64,
            descriptors={"first": slice(0, 1), "rest": slice(1, None)},
            penalty="group_lasso",
            alpha=1e-4,
            **PLAIN,
        ),
        StreamingRidgeClassifier(class_weight="balanced"),
    ],
    expected_failed_checks=expected,
)
@pytest.mark.filterwarnings("ignore:SCIPY_ARRAY_API is not set")
def test_scikit_learn_accepts_other_parameters(estimator, check):
    check(estimator)


def test_there_are_as_many_checks_as_there_were():
    checks = list(estimator_checks_generator(ExpChi2Sampler(), expected_failed_checks=None))
    assert len(checks) > 40
