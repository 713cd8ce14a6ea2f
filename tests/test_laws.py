"""The laws of the library, checked by its own public kit; tests/testing shows that it can see."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import is_classifier, is_regressor

from streamchi2 import (
    DirectSeries,
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    ExpChi2Sampler,
    river,
)
from streamchi2.estimators.streaming_pca import StreamingPCA
from streamchi2.estimators.streaming_ridge import StreamingRidge
from streamchi2.estimators.streaming_ridge_classifier import StreamingRidgeClassifier
from streamchi2.testing import (
    LawError,
    check_absent_is_zero,
    check_absent_keys,
    check_cut,
    check_late_classes,
    check_merge,
    check_order_of_k,
    check_pure_reads,
    check_save,
    check_threads,
    cuttings,
    dict_streams,
    histogram_rows,
    labelled_streams,
    nodes,
    realistic_rows,
)

TRANSFORMERS = [
    ExpChi2Sampler(16, random_state=0),
    ExpChi2PCA(16, n_pca=None, random_state=0),
    ExpChi2Sampler(8, basis="landmarks", random_state=0),
    ExpChi2Sampler(16, basis="subspace", random_state=0),
    StreamingPCA(),
]
CLASSIFIERS = [
    ExpChi2Classifier(16, alpha=0.1, random_state=0),
    ExpChi2Classifier(16, alpha=0.1, half_life=30, random_state=0),
    ExpChi2Classifier(8, basis="landmarks", alpha=0.1, random_state=0),
    StreamingRidgeClassifier(),
    ExpChi2Classifier(16, alpha=0.1, class_weight="balanced", random_state=0),
]
REGRESSORS = [ExpChi2Regressor(16, alpha=0.1, random_state=0), StreamingRidge()]


def with_targets(estimator, rows, labels):
    """Return the targets that an estimator learns."""
    if is_classifier(estimator):
        return labels
    return labels + rows[:, 0] if is_regressor(estimator) else None


@pytest.mark.parametrize("estimator", [*TRANSFORMERS, *CLASSIFIERS, *REGRESSORS], ids=str)
@settings(max_examples=6)
@given(labelled_streams(), st.data())
def test_cut_save_and_pure_reads(estimator, stream, data):
    rows, labels = stream
    targets = with_targets(estimator, rows, labels)
    check_cut(estimator, rows, targets, cuts=data.draw(cuttings(len(rows))))
    check_pure_reads(estimator, rows, targets)
    check_save(estimator, rows, targets)


@pytest.mark.parametrize("estimator", [*CLASSIFIERS[:1], *CLASSIFIERS[2:], *REGRESSORS], ids=str)
def test_merge(estimator):
    random = np.random.default_rng(0)
    rows, labels = random.dirichlet(np.ones(5), 190), random.integers(0, 3, 190)
    targets = with_targets(estimator, rows, labels)
    pieces = [slice(0, 70), slice(70, 75), slice(75, 150), slice(150, 190)]
    check_merge(estimator, [(rows[piece], targets[piece]) for piece in pieces])


def test_merge_of_more_rows_than_are_sampled_holds_but_for_probabilities():
    random = np.random.default_rng(0)
    rows = random.dirichlet(np.ones(5), 6000)
    labels = np.where(random.random(6000) < 0.9, rows.argmax(axis=1), 0)
    shards = [(rows[part], labels[part]) for part in (slice(0, 900), slice(900, None))]
    # In float64, so that the order of sums alone stays far below the tolerance.
    estimator = ExpChi2Classifier(16, dtype="float64", random_state=0)
    check_merge(estimator, shards, methods=["decision_function", "predict"])
    with pytest.raises(LawError, match="predict_proba differs"):
        check_merge(estimator, shards)
    with pytest.raises(ValueError, match=r"methods must be among .* got \['transform'\]"):
        check_merge(estimator, shards, methods=["transform"])


def test_merge_of_what_only_maps():
    rows = np.random.default_rng(0).dirichlet(np.ones(5), 190)
    check_merge(TRANSFORMERS[0], [(rows[:70], None), (rows[70:], None)])


@pytest.mark.parametrize("estimator", [TRANSFORMERS[0], CLASSIFIERS[0], REGRESSORS[0]], ids=str)
def test_threads(estimator):
    random = np.random.default_rng(0)
    rows, labels = random.dirichlet(np.ones(5), 700), random.integers(0, 3, 700)
    check_threads(estimator, rows, with_targets(estimator, rows, labels))


@pytest.mark.parametrize("estimator", [TRANSFORMERS[0], CLASSIFIERS[0], REGRESSORS[0]], ids=str)
@settings(max_examples=6)
@given(labelled_streams(max_rows=80, zeros=True))
def test_absent_is_zero(estimator, stream):
    rows, labels = stream
    check_absent_is_zero(estimator, rows, with_targets(estimator, rows, labels), atol=1e-4)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=str)
@settings(max_examples=12)
@given(labelled_streams(labels=("ham", "spam", "eggs")))
def test_late_classes(estimator, stream):
    check_late_classes(estimator, *stream)


@given(nodes.filter(lambda k: len(k) > 1), st.data(), histogram_rows())
def test_order_of_k(k, data, rows):
    in_place = list(range(len(k)))
    order = data.draw(st.permutations(in_place).filter(lambda order: order != in_place))
    check_order_of_k(DirectSeries, k, order, rows)


@pytest.mark.parametrize("kind", [river.ExpChi2Sampler, river.ExpChi2Classifier])
@settings(max_examples=8)
@given(dict_streams())
def test_absent_keys(kind, stream):
    stream = [{"red": 0.0, "blue": 1.0}, *stream]
    targets = [len(row) for row in stream] if kind is river.ExpChi2Classifier else None
    check_absent_keys(kind(8, seed=0), stream, targets)


@given(realistic_rows(min_rows=3))
def test_realistic_rows_can_be_learnt(rows):
    assert np.isfinite(ExpChi2Sampler(8, random_state=0).fit(rows).transform(rows)).all()


def test_without_hypothesis_the_kit_names_the_extra():
    program = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "try:\n    import streamchi2.testing\n"
        "except ImportError as error:\n    print(error)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert b"streamchi2[test]" in said.stdout
