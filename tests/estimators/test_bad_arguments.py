"""Arguments that validation once let pass, or refused by accident."""

import numpy as np
import pytest
from saved_examples import CODES, ROWS, WORDS

from streamchi2 import ExpChi2Classifier, ExpChi2Sampler
from streamchi2.estimators.streaming_pca import StreamingPCA
from streamchi2.estimators.streaming_ridge_classifier import StreamingRidgeClassifier


def test_text_of_any_length_is_learnt_as_text():
    labels = WORDS.astype(np.dtypes.StringDType())
    model = ExpChi2Classifier(8, random_state=0).partial_fit(ROWS, labels)
    plain = ExpChi2Classifier(8, random_state=0).partial_fit(ROWS, WORDS)
    np.testing.assert_array_equal(model.predict(ROWS), plain.predict(ROWS))


def test_no_classes_at_all_are_refused_by_name():
    model = StreamingRidgeClassifier().partial_fit(ROWS, CODES)
    with pytest.raises(ValueError, match="classes must hold at least one label"):
        model.partial_fit(ROWS, CODES, classes=[])


def test_too_many_buckets_are_refused_with_the_first_batch_not_with_the_64th_row():
    with pytest.raises(ValueError, match="n_buckets must be below 2\\^31"):
        ExpChi2Sampler(8, n_buckets=2**40).partial_fit(ROWS[:1])


def test_a_random_state_that_became_nonsense_is_refused():
    sampler = ExpChi2Sampler(8, random_state=0).partial_fit(ROWS[:5])
    with pytest.raises(ValueError, match="seed"):
        sampler.set_params(random_state="nonsense").partial_fit(ROWS[:5])


def test_inverse_transform_refuses_what_is_not_finite_numbers():
    pca = StreamingPCA(2).partial_fit(ROWS)
    with pytest.raises(ValueError, match="finite"):
        pca.inverse_transform([[1.0, np.inf]])
    with pytest.raises(TypeError, match="numbers"):
        pca.inverse_transform(np.array([["2020-01-01"] * 2], dtype="datetime64[D]"))
