"""Landmarks chosen by the user: what they do, what is refused, what survives."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone

from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    ExpChi2Sampler,
    exp_chi2_kernel,
)
from streamchi2.bases import LandmarkRows
from streamchi2.errors import StateMismatchError
from streamchi2.estimators.map_params import landmarks_differ
from streamchi2.files import dumped, loaded

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.gamma(0.5, size=(150, 5))
LABELS = RANDOM.integers(0, 2, 150)
CHOSEN = RANDOM.gamma(0.5, size=(20, 5))
CHOSEN[::3, 1] = 0.0
CHOSEN.flags.writeable = False


def feature_map_of(model):
    return model._stream.reading().feature_map


def sampler(landmarks=CHOSEN, **params):
    params = {"n_terms": 4, "random_state": 0, "basis": "landmarks", **params}
    return ExpChi2Sampler(12, landmarks=landmarks, **params)


def test_the_map_rests_on_these_rows_and_is_planned_on_the_first_64():
    found = sampler().partial_fit(ROWS[:64])
    assert np.array_equal(found.landmarks_.toarray(), CHOSEN)
    before = found.transform(ROWS)
    assert np.array_equal(found.partial_fit(ROWS[64:]).transform(ROWS), before)


def test_as_many_features_as_landmarks_are_exact_on_them():
    found = sampler(CHOSEN[:12], dtype="float64", n_terms=8).fit(ROWS)
    features = found.transform(CHOSEN[:12])
    kernel = exp_chi2_kernel(CHOSEN[:12], beta=found.beta_)
    # The series alone errs, by at most ten times its predicted mean error.
    assert_allclose(features @ features.T, kernel, atol=10 * found.predicted_kernel_error_ + 1e-9)


def test_of_more_landmarks_the_leading_directions_are_taken():
    few, every = (
        sampler(dtype="float64").set_params(n_components=d).fit(ROWS).transform(CHOSEN)
        for d in (12, 20)
    )
    values, vectors = np.linalg.eigh(every @ every.T)
    leading = (vectors[:, -12:] * values[-12:]) @ vectors[:, -12:].T
    assert_allclose(few @ few.T, leading, atol=1e-9)  # rounding over the smallest eigenvalue


@pytest.mark.parametrize(
    "form",
    [sparse.csr_array, sparse.csc_matrix, pd.DataFrame, np.ndarray.tolist, np.asfortranarray],
)
def test_every_form_of_the_same_rows_gives_the_same_map(form):
    found = sampler(form(CHOSEN)).fit(ROWS)
    assert feature_map_of(found) == feature_map_of(sampler().fit(ROWS))


@settings(max_examples=20)
@given(st.lists(st.integers(0, 150), max_size=4))
def test_cutting_does_not_change_a_bit(cuts):
    whole, cut = sampler().fit(ROWS), sampler()
    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), 150], strict=True):
        if start < stop:
            cut.partial_fit(ROWS[start:stop])
    assert np.array_equal(cut.transform(ROWS), whole.transform(ROWS))


@pytest.mark.parametrize("kind", [ExpChi2Sampler, ExpChi2PCA, ExpChi2Classifier, ExpChi2Regressor])
def test_constructors_keep_what_they_are_given_and_copies_continue_exactly(kind):
    model = kind(12, basis="landmarks", landmarks=CHOSEN, random_state=0)
    assert model.get_params()["landmarks"] is CHOSEN
    model.partial_fit(ROWS[:100], LABELS[:100])
    twins = [pickle.loads(pickle.dumps(model)), loaded(dumped(model))]
    for twin in twins:
        twin.partial_fit(ROWS[100:], LABELS[100:])
    model.partial_fit(ROWS[100:], LABELS[100:])
    again = clone(model).fit(ROWS, LABELS)
    read = "predict" if hasattr(model, "predict") else "transform"
    for twin in (*twins, again):
        assert np.array_equal(getattr(twin, read)(ROWS), getattr(model, read)(ROWS))


def test_a_file_holds_the_landmarks_once():
    many, rows = RANDOM.gamma(0.5, size=(500, 50)), RANDOM.gamma(0.5, size=(64, 50))
    found = ExpChi2Sampler(2, basis="landmarks", landmarks=many, n_terms=1, random_state=0)
    found.fit(rows)
    # Values and columns take 12 bytes each; the sampled rows and the whitening a tenth of that.
    assert len(dumped(found)) < 1.5 * 12 * many.size
    twin = loaded(dumped(found))
    assert not landmarks_differ(twin.landmarks, many)
    assert dumped(twin) == dumped(found)


def test_changing_the_array_afterwards_changes_nothing():
    own = CHOSEN.copy()
    found = sampler(own).fit(ROWS)
    before = found.transform(ROWS)
    own *= 2.0
    assert np.array_equal(found.partial_fit(ROWS).transform(ROWS), before)


def test_the_same_rows_in_another_object_are_no_change():
    found = sampler().partial_fit(ROWS[:70])
    found.set_params(landmarks=sparse.csr_array(CHOSEN)).partial_fit(ROWS[70:])
    assert np.array_equal(found.transform(ROWS), sampler().fit(ROWS).transform(ROWS))
    with pytest.raises(ValueError, match="landmarks must not change between calls"):
        found.set_params(landmarks=2 * CHOSEN).partial_fit(ROWS)


@pytest.mark.parametrize("kind", [ExpChi2Sampler, ExpChi2Classifier])
def test_merging_compares_content(kind):
    def learnt(landmarks, part):
        params = {"basis": "landmarks", "landmarks": landmarks, "beta": 0.5, "random_state": 0}
        return kind(12, n_terms=3, **params).partial_fit(ROWS[part], LABELS[part])

    first = learnt(CHOSEN, slice(0, 75))
    shard = first.new_shard().partial_fit(ROWS[75:], LABELS[75:])
    shard.set_params(landmarks=CHOSEN.tolist())
    first.merge(shard)
    assert first._stream.n_rows == 150
    fresh = kind(12, basis="landmarks", landmarks=CHOSEN, beta=0.5, n_terms=3, random_state=0)
    assert fresh.merge(first)._stream.n_rows == 150
    for other in (CHOSEN[::-1], None):
        params = {"basis": "landmarks", "landmarks": other, "beta": 0.5, "n_terms": 3}
        unlike = kind(12, random_state=0, **params)
        with pytest.raises(StateMismatchError, match="landmarks must agree to merge"):
            unlike.merge(first)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"basis": "orthogonal"}, "landmarks must be None unless basis is 'landmarks', got <20"),
        ({"landmarks": CHOSEN[:, :4]}, "landmarks must have as many columns as X, got 4 and 5"),
        ({"landmarks": CHOSEN[:11]}, "landmarks must be at least n_components rows, got 11"),
        ({"landmarks": -CHOSEN}, "landmarks must be non-negative"),
        ({"landmarks": CHOSEN * np.nan}, "landmarks must not contain NaN"),
        ({"landmarks": CHOSEN[:0]}, "landmarks must be rows of numbers"),
        ({"landmarks": "every tenth"}, "landmarks must be rows of numbers"),
        ({"landmarks": CHOSEN[0]}, "landmarks must be rows of numbers"),
    ],
)
def test_refusals_name_landmarks_and_leave_no_trace(params, message):
    model = sampler().set_params(**params)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(ROWS)
    assert vars(model) == before


@pytest.mark.parametrize("kind", [ExpChi2Sampler, ExpChi2Regressor])
def test_frames_must_have_the_same_columns_in_the_same_order(kind):
    frame, landmarks = (pd.DataFrame(rows, columns=list("abcde")) for rows in (ROWS, CHOSEN))
    model = kind(12, basis="landmarks", landmarks=landmarks[list("edcba")])
    with pytest.raises(ValueError, match="landmarks must have the columns of X in their order"):
        model.fit(frame, LABELS)
    model.set_params(landmarks=landmarks).fit(frame, LABELS)


def test_chosen_rows_are_a_value_that_prints_briefly():
    assert repr(LandmarkRows.read(CHOSEN)) == "<20 rows of 5 columns>"
    assert LandmarkRows.read(CHOSEN) != LandmarkRows.read(CHOSEN[1:])
    assert LandmarkRows.read(CHOSEN) != CHOSEN.shape


def test_only_landmarks_have_landmarks():
    with pytest.raises(AttributeError, match="landmarks_ belongs to basis='landmarks'"):
        _ = ExpChi2Sampler(8).fit(ROWS).landmarks_
