"""Landmarks, drawn from the first rows or given by the user: kernels, precision, refusals."""

import numpy as np
import pytest
from maps import spec_of, tracker_of
from numpy.testing import assert_allclose
from scipy import sparse

from streamchi2 import exp_chi2_kernel
from streamchi2.bases import LandmarkBasis, LandmarkRows
from streamchi2.bases.landmarks import drawn_landmarks
from streamchi2.files import dumped

N_LANDMARKS = 40
WARM_UP = 2 * N_LANDMARKS
RANDOM = np.random.default_rng(0)
ROWS = RANDOM.gamma(0.5, size=(150, 5))
CHOSEN = RANDOM.gamma(0.5, size=(20, 5))
CHOSEN[::3, 1] = 0.0


def planned(rows, **params):
    params = {"n_components": N_LANDMARKS, "basis": "landmarks", "n_terms": 5, **params}
    return tracker_of(spec_of(rows.shape[1], **params), rows)


def block_of(tracker):
    (block,) = tracker.feature_map.blocks
    return block


def chosen(landmarks=CHOSEN, **params):
    params = {"n_components": 12, "landmarks": landmarks, "n_terms": 4, **params}
    return planned(ROWS, **params)


# Drawn


def test_features_are_the_exact_kernel_projected_onto_the_landmarks(digits):
    rows = digits[0]
    tracker = planned(rows, dtype="float64", n_terms=8)
    landmarks, beta = block_of(tracker).basis.landmarks.rows, block_of(tracker).basis.beta
    cross = exp_chi2_kernel(rows[:200], landmarks, beta=beta)
    own = exp_chi2_kernel(landmarks, beta=beta)
    expected = cross @ np.linalg.solve(own, cross.T)
    features = tracker.feature_map.transform(rows[:200])
    # The series errs by less than the predicted error in each kernel value, and the projection
    # divides by the smallest eigenvalue of the kernel of the landmarks.
    error = tracker.parts[0].predicted_kernel_error()
    tolerance = 10 * error / np.linalg.eigvalsh(own)[0]
    assert_allclose(features @ features.T, expected, atol=tolerance + 1e-9)


@pytest.mark.parametrize("dof", [1.0, 2.0])
def test_the_kernel_is_exact_on_the_landmarks_themselves(digits, dof):
    tracker = planned(digits[0], dof=dof, dtype="float64", n_terms=8)
    basis = block_of(tracker).basis
    features = tracker.feature_map.transform(basis.landmarks.rows)
    exact = exp_chi2_kernel(basis.landmarks.rows, beta=basis.beta, dof=dof)
    # erfc(sqrt(t)) has an infinite slope at 0: an error e of the distance is one of sqrt(e) there.
    error = tracker.parts[0].predicted_kernel_error()
    assert_allclose(features @ features.T, exact, atol=10 * (error if dof == 2 else error**0.5))


@pytest.mark.parametrize("shape", ["dense", "a permuted triangle", "with landmarks unused"])
def test_whatever_the_shape_of_the_whitening_features_are_the_kernel_times_it(shape):
    random = np.random.default_rng(0)
    landmarks, rows = random.gamma(0.5, size=(200, 4)), random.gamma(0.5, size=(10, 4))
    whitening = random.normal(size=(200, 300))
    if shape != "dense":
        whitening = random.permutation(np.triu(whitening))
    if shape == "with landmarks unused":
        whitening[::3] = 0.0
    basis = LandmarkBasis(LandmarkRows.read(landmarks), whitening, 4, beta=1.0)
    features = np.empty((10, 300))
    basis.bound(lambda rows: rows.toarray())(rows, features)
    squares = np.square(rows[:, None] - landmarks).sum(axis=2)
    # Rounding of sums of 200 products of order one.
    assert_allclose(features, np.exp(-squares / 2) @ whitening, atol=1e-12)


def test_rows_much_alike_lose_nothing_in_float32():
    random = np.random.default_rng(0)
    rows = random.dirichlet(np.ones(30)) * np.exp(1e-4 * random.normal(size=(150, 30)))
    kernels = []
    for dtype in ("float64", "float32"):
        features = planned(rows, dtype=dtype).feature_map.transform(rows)
        kernels.append(features @ features.T)
    # Coordinates are rounded by 6e-8 of themselves and beta is 1e8 or so: phases err by 1e-3.
    assert_allclose(kernels[1], kernels[0], atol=0.02)


def test_landmarks_are_first_rows_and_stay(digits):
    rows = digits[0]
    landmarks = block_of(planned(rows[:WARM_UP])).basis.landmarks
    seen = {row.tobytes() for row in rows[:WARM_UP]}
    assert all(row.tobytes() in seen for row in landmarks.rows.toarray())
    assert block_of(planned(rows)).basis.landmarks == landmarks


def test_a_change_of_k_leaves_features_in_place():
    rows = np.random.default_rng(0).gamma(0.5, size=(2000, 6))
    rows[WARM_UP:] *= 30.0  # the k of the first rows are too small for what comes
    first, later = planned(rows[:WARM_UP]), planned(rows)
    assert later.parts[0].transports
    before, after = (side.feature_map.transform(rows[:50]) for side in (first, later))
    # Series of five terms, fitted to scales thirty times apart, agree this well on kernel values.
    assert np.linalg.norm(after - before) / np.linalg.norm(before) < 0.1


def test_threads_do_not_change_a_bit(digits):
    feature_map = planned(digits[0]).feature_map
    one = feature_map.transform(digits[0])
    assert np.array_equal(feature_map.transform(digits[0], n_jobs=2), one)


def test_sparse_rows_and_hash_buckets_are_served(digits):
    rows = sparse.csr_array(digits[0])
    dense = planned(digits[0], dtype="float64").feature_map.transform(digits[0][:20])
    found = planned(rows, dtype="float64").feature_map.transform(rows[:20])
    assert_allclose(found, dense, atol=1e-8)
    assert planned(rows, n_buckets=2048).parts[0].kernel_error().rms < 0.2


def test_equal_rows_are_one_landmark_and_order_does_not_matter():
    rows = np.random.default_rng(0).gamma(0.5, size=(30, 4))
    weights = np.arange(1.0, 31.0)
    repeated = np.repeat(rows, weights.astype(int), axis=0)
    for n_landmarks in (7, 100):
        drawn = drawn_landmarks(rows, weights, n_landmarks, seed=3).toarray()
        again = drawn_landmarks(repeated[::-1], np.ones(465), n_landmarks, seed=3).toarray()
        assert np.array_equal(drawn, again)
        assert len(drawn) == min(n_landmarks, 30)


@pytest.mark.parametrize("rows", [np.zeros((100, 3)), np.ones((100, 3))], ids=["zeros", "equal"])
def test_rows_that_never_vary_give_features_that_do_not(rows):
    features = planned(rows).feature_map.transform(rows)
    assert np.all(np.isfinite(features))
    assert_allclose((features**2).sum(axis=1), 1.0, atol=1e-5)


# Given


def test_the_map_rests_on_given_rows_and_is_planned_on_the_first_64():
    tracker = chosen()
    assert tracker.spec.first_rows == 64
    assert np.array_equal(block_of(tracker).basis.landmarks.rows.toarray(), CHOSEN)
    assert block_of(tracker).basis.landmarks is tracker.spec.blocks[0].landmarks


def test_of_more_landmarks_the_leading_directions_are_taken():
    few, every = (
        chosen(dtype="float64", n_components=d).feature_map.transform(CHOSEN) for d in (12, 20)
    )
    values, vectors = np.linalg.eigh(every @ every.T)
    leading = (vectors[:, -12:] * values[-12:]) @ vectors[:, -12:].T
    assert_allclose(few @ few.T, leading, atol=1e-9)  # rounding over the smallest eigenvalue


def test_a_file_holds_the_landmarks_once():
    many, rows = RANDOM.gamma(0.5, size=(500, 50)), RANDOM.gamma(0.5, size=(64, 50))
    tracker = planned(rows, n_components=2, landmarks=many, n_terms=1)
    # Values and columns take 12 bytes each; the sampled rows and the whitening a tenth of that.
    assert len(dumped(tracker)) < 1.5 * 12 * many.size


def test_landmarks_are_a_copy_of_what_was_given():
    given = CHOSEN.copy()
    landmarks = LandmarkRows.read(given)
    given *= 2.0
    assert np.array_equal(landmarks.rows.toarray(), CHOSEN)


def test_other_landmarks_are_another_spec():
    difference = chosen().spec.difference(chosen(CHOSEN[::-1]).spec)
    assert difference is not None
    assert difference[0] == "landmarks"
    assert repr(difference[1]) == "<20 rows of 5 columns>"


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
def test_refusals_name_landmarks(params, message):
    with pytest.raises(ValueError, match=message):
        chosen(**params)
