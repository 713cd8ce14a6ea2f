"""Rows divided by their sums, as part of the map."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from strategies import histogram_rows

from streamchi2 import ExpChi2Classifier, ExpChi2PCA, ExpChi2Regressor, ExpChi2Sampler, river
from streamchi2.features.normalization import l1_normalized
from streamchi2.files import dumped, loaded

EPS = np.finfo(np.float64).eps


@given(histogram_rows(), st.sampled_from([np.float32, np.float64]))
def test_rows_sum_to_one_or_stay_zero(rows, dtype):
    rows = rows.astype(dtype)
    found = l1_normalized(rows)
    assert found.dtype == dtype
    sums = found.astype(np.float64).sum(axis=1)
    # Each of d shares is rounded once to its dtype, and d of them are added.
    rounding = 2 * rows.shape[1] * np.finfo(dtype).eps
    assert_allclose(sums[rows.any(axis=1)], 1.0, atol=rounding)
    assert not found[~rows.any(axis=1)].any()


@given(histogram_rows())
def test_absent_values_and_zeros_give_the_same_bits(rows):
    dense, stored = l1_normalized(rows), l1_normalized(sparse.csr_array(rows))
    assert np.array_equal(dense, stored.toarray())
    for row, expected in zip(rows, dense, strict=True):
        kept = row != 0.0
        if kept.any():
            assert np.array_equal(l1_normalized(row[kept][None, :])[0], expected[kept])


def test_sums_beyond_the_range_of_floats_are_taken():
    rows = np.full((1, 4), 1e308)
    assert_allclose(l1_normalized(rows), 0.25)
    assert_allclose(l1_normalized(sparse.csr_array(rows)).toarray(), 0.25)


@pytest.mark.parametrize("basis", ["orthogonal", "subspace", "landmarks", "additive"])
def test_the_model_is_that_of_rows_divided_before(digits, basis):
    rows, labels = digits
    scaled = rows * np.random.default_rng(0).uniform(1.0, 50.0, (len(rows), 1))
    inside = ExpChi2Classifier(96, basis=basis, norm="l1", random_state=0)
    outside = ExpChi2Classifier(96, basis=basis, random_state=0)
    inside.fit(scaled[:500], labels[:500])
    outside.fit(rows[:500], labels[:500])
    # Rows differ by rounding of float64; features are float32, and so are the differences.
    differences = inside.decision_function(scaled[500:]) - outside.decision_function(rows[500:])
    assert np.abs(differences).max() < 1e-4
    assert_allclose(inside.kernel_error(), outside.kernel_error(), atol=1e-5)


def test_given_landmarks_are_divided_too(digits):
    rows, labels = digits
    params = {"basis": "landmarks", "norm": "l1", "random_state": 0}
    one = ExpChi2Classifier(40, landmarks=rows[:50], **params).fit(rows[:300], labels[:300])
    other = ExpChi2Classifier(40, landmarks=16.0 * rows[:50], **params)
    other.fit(rows[:300], labels[:300])
    # Sixteen is a power of two: the same bits.
    assert np.array_equal(one.predict_proba(rows), other.predict_proba(rows))


@pytest.mark.parametrize("kind", [ExpChi2Sampler, ExpChi2PCA])
def test_each_descriptor_or_row_has_its_own_sum(digits, kind):
    rows, _ = digits
    model = kind(16, norm="l1", random_state=0).fit(rows[:100])
    found = model.transform(rows[100:120])
    assert np.array_equal(found, model.transform(4.0 * rows[100:120]))
    assert np.array_equal(found, loaded(dumped(model)).transform(rows[100:120]))


def test_descriptors_are_divided_by_their_own_sums(digits):
    rows, labels = digits
    views = {"top": slice(0, 32), "bottom": slice(32, 64)}
    model = ExpChi2Classifier(40, descriptors=views, norm="l1", random_state=0)
    model.fit(rows[:300], labels[:300])
    scaled = rows * np.repeat([2.0, 8.0], 32)
    assert np.array_equal(model.predict_proba(scaled), model.predict_proba(rows))


def test_in_river_the_scale_of_a_row_does_not_matter(digits):
    rows, labels = digits
    model = river.ExpChi2Classifier(64, norm="l1", seed=0)
    for row, label in zip(rows[:200].tolist(), labels[:200].tolist(), strict=True):
        model.learn_one(dict(enumerate(row)), label)
    row = dict(enumerate(rows[300].tolist()))
    expected = model.predict_proba_one(row)
    assert model.predict_proba_one({key: 2.0 * value for key, value in row.items()}) == expected
    assert model.predict_proba_one({key: value for key, value in row.items() if value}) == expected
    assert loaded(dumped(model)).predict_proba_one(row) == expected


@pytest.mark.parametrize("kind", [ExpChi2Sampler, ExpChi2Regressor])
def test_another_normalization_is_refused(kind):
    arguments = ([[1.0, 2.0]],) if kind is ExpChi2Sampler else ([[1.0, 2.0]], [1.0])
    with pytest.raises(ValueError, match="norm must be None or 'l1', got 'l2'"):
        kind(8, norm="l2").fit(*arguments)
