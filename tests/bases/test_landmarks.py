import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.kernel_approximation import Nystroem

from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    ExpChi2Sampler,
    StreamingRidgeClassifier,
    exp_chi2_kernel,
)
from streamchi2.bases import LandmarkBasis
from streamchi2.bases.landmarks import drawn_landmarks
from streamchi2.errors import StateMismatchError

N_LANDMARKS = 40
WARM_UP = 2 * N_LANDMARKS


def feature_map_of(model):
    return model._stream.reading().feature_map


def basis_of(model):
    (block,) = feature_map_of(model).blocks
    return block.basis


def sampler(**params):
    params = {"n_terms": 5, "random_state": 0, **params}
    return ExpChi2Sampler(N_LANDMARKS, basis="landmarks", **params)


def test_features_are_the_exact_kernel_projected_onto_the_landmarks(digits):
    rows = digits[0]
    found = sampler(dtype="float64", n_terms=8).fit(rows)
    landmarks = basis_of(found).landmarks
    cross = exp_chi2_kernel(rows[:200], landmarks, beta=found.beta_)
    own = exp_chi2_kernel(landmarks, beta=found.beta_)
    expected = cross @ np.linalg.solve(own, cross.T)
    features = found.transform(rows[:200])
    # The series errs by less than predicted_kernel_error_ in each kernel value, and the projection
    # divides by the smallest eigenvalue of the kernel of the landmarks.
    tolerance = 10 * found.predicted_kernel_error_ / np.linalg.eigvalsh(own)[0]
    assert_allclose(features @ features.T, expected, atol=tolerance + 1e-9)


@pytest.mark.parametrize("dof", [1.0, 2.0])
def test_kernel_is_exact_on_the_landmarks_themselves(digits, dof):
    found = sampler(dof=dof, dtype="float64", n_terms=8).fit(digits[0])
    landmarks = basis_of(found).landmarks
    features = found.transform(landmarks)
    exact = exp_chi2_kernel(landmarks, beta=found.beta_, dof=dof)
    # erfc(sqrt(t)) has an infinite slope at 0: an error e of the distance is one of sqrt(e) there.
    error = found.predicted_kernel_error_
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
    basis = LandmarkBasis(sparse.csr_array(landmarks), whitening, 4, beta=1.0)
    features = np.empty((10, 300))
    basis.bind(lambda rows: rows.toarray()).features(rows, features)
    squares = np.square(rows[:, None] - landmarks).sum(axis=2)
    # Rounding of sums of 200 products of order one.
    assert_allclose(features, np.exp(-squares / 2) @ whitening, atol=1e-12)


def test_rows_much_alike_lose_nothing_in_float32():
    random = np.random.default_rng(0)
    rows = random.dirichlet(np.ones(30)) * np.exp(1e-4 * random.normal(size=(150, 30)))
    wide, narrow = (sampler(dtype=dtype).fit(rows) for dtype in ("float64", "float32"))
    # Coordinates are rounded by 6e-8 of themselves and beta is 1e8 or so: phases err by 1e-3.
    kernels = [(found := fitted.transform(rows)) @ found.T for fitted in (wide, narrow)]
    assert_allclose(kernels[1], kernels[0], atol=0.02)


def test_float32_stays_close_to_float64(digits):
    wide = sampler(dtype="float64").fit(digits[0]).transform(digits[0][:100])
    narrow = sampler().fit(digits[0]).transform(digits[0][:100])
    # Kernel values are rounded at 1e-7 of the squared lengths, of order one, times beta, and
    # whitening divides by the root of the smallest eigenvalue kept, here above 1e-2.
    assert_allclose(narrow, wide, atol=1e-4)


@given(st.lists(st.integers(0, 150), max_size=4), st.booleans())
def test_cutting_does_not_change_a_bit(cuts, weighted):
    random = np.random.default_rng(0)
    rows = random.gamma(0.5, size=(150, 5))
    weights = random.uniform(0.5, 2.0, 150) if weighted else None
    whole = sampler().fit(rows, sample_weight=weights).transform(rows)
    cut = sampler()
    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), 150], strict=True):
        if start < stop:
            part = None if weights is None else weights[start:stop]
            cut.partial_fit(rows[start:stop], sample_weight=part)
    assert np.array_equal(cut.transform(rows), whole)


def test_landmarks_are_frozen_after_the_warm_up(digits):
    found = sampler().partial_fit(digits[0][:WARM_UP])
    landmarks = basis_of(found).landmarks.toarray()
    seen = {row.tobytes() for row in digits[0][:WARM_UP]}
    assert all(row.tobytes() in seen for row in landmarks)
    found.partial_fit(digits[0][WARM_UP:])
    assert np.array_equal(basis_of(found).landmarks.toarray(), landmarks)


def test_before_the_warm_up_ends_the_rows_there_are_serve(digits):
    found = sampler().partial_fit(digits[0][:10])
    features = found.transform(digits[0][:10])
    assert features.shape == (10, N_LANDMARKS)
    exact = exp_chi2_kernel(digits[0][:10], beta=found.beta_)
    # Nothing but the series errs where every row is a landmark.
    assert_allclose(features @ features.T, exact, atol=10 * found.predicted_kernel_error_ + 1e-5)


@pytest.mark.filterwarnings("ignore:.* beta is:streamchi2.errors.PrecisionWarning")  # as meant
def test_a_change_of_k_leaves_features_in_place():
    random = np.random.default_rng(0)
    rows = random.gamma(0.5, size=(2000, 6))
    rows[WARM_UP:] *= 30.0  # the k of the first rows are too small for what comes
    found = sampler().partial_fit(rows[:WARM_UP])
    before = found.transform(rows[:50])
    found.partial_fit(rows[WARM_UP:])
    assert found.transports_
    moved = np.linalg.norm(found.transform(rows[:50]) - before) / np.linalg.norm(before)
    # Series of five terms, fitted to scales thirty times apart, agree this well on kernel values.
    assert moved < 0.1


@pytest.mark.parametrize("kind", [ExpChi2Sampler, ExpChi2Classifier])
@pytest.mark.parametrize("basis", ["landmarks", "orthogonal"])
def test_a_map_is_shared_once_it_is_planned_and_not_before(digits, kind, basis):
    rows, labels = digits
    n_first = WARM_UP if basis == "landmarks" else 64
    found = kind(N_LANDMARKS, basis=basis, random_state=0)
    found.partial_fit(rows[: n_first - 1], labels[: n_first - 1])
    # Shards would rest on a map of fewer rows, which nobody else will ever have.
    with pytest.raises(ValueError, match=f"first {n_first} rows of a stream, got {n_first - 1};"):
        found.new_shard()
    shard = found.partial_fit(rows[:1], labels[:1]).new_shard()
    assert found.merge(shard.new_shard()).n_features_in_ == 64  # shards share it, too


def test_shards_merge_under_the_same_landmarks_and_under_no_others(digits):
    rows, labels = digits
    first = ExpChi2Classifier(32, basis="landmarks", random_state=0)
    first.partial_fit(rows[:100], labels[:100])
    shard = first.new_shard().partial_fit(rows[100:900], labels[100:900])
    whole = ExpChi2Classifier(32, basis="landmarks", random_state=0)
    whole.partial_fit(rows[:900], labels[:900])
    merged = first.merge(shard)
    assert np.mean(merged.predict(rows) == whole.predict(rows)) > 0.99
    stranger = ExpChi2Classifier(32, basis="landmarks", random_state=0)
    stranger.partial_fit(rows[900:1200], labels[900:1200])
    with pytest.raises(StateMismatchError, match="transport alone"):
        merged.merge(stranger)


def test_pickles_continue_exactly(digits):
    found = sampler().partial_fit(digits[0][:300])
    found.transform(digits[0][:5])
    twin = pickle.loads(pickle.dumps(found))
    assert np.array_equal(twin.transform(digits[0]), found.transform(digits[0]))
    assert feature_map_of(twin) == feature_map_of(found)


def test_threads_do_not_change_a_bit(digits):
    found = sampler().fit(digits[0])
    one = found.transform(digits[0])
    assert np.array_equal(found.set_params(n_jobs=2).transform(digits[0]), one)


def test_sparse_rows_and_hash_buckets_are_served(digits):
    rows = sparse.csr_array(digits[0])
    dense = sampler(dtype="float64").fit(digits[0]).transform(digits[0][:20])
    found = sampler(dtype="float64").fit(rows).transform(rows[:20])
    assert_allclose(found, dense, atol=1e-8)
    folded = sampler(n_buckets=2048).fit(rows)
    assert folded.kernel_error().rms < 0.2
    assert np.all(np.isfinite(folded.transform(rows)))


def test_equal_rows_are_one_landmark_and_order_does_not_matter():
    rows = np.random.default_rng(0).gamma(0.5, size=(30, 4))
    weights = np.arange(1.0, 31.0)
    repeated = np.repeat(rows, weights.astype(int), axis=0)
    for n_landmarks in (7, 100):
        drawn = drawn_landmarks(rows, weights, n_landmarks, seed=3).toarray()
        again = drawn_landmarks(repeated[::-1], None, n_landmarks, seed=3).toarray()
        assert np.array_equal(drawn, again)
        assert len(drawn) == min(n_landmarks, 30)


@pytest.mark.parametrize("rows", [np.zeros((100, 3)), np.ones((100, 3))], ids=["zeros", "equal"])
def test_rows_that_never_vary_give_features_that_do_not(rows):
    features = sampler().fit(rows).transform(rows)
    assert np.all(np.isfinite(features))
    assert_allclose((features**2).sum(axis=1), 1.0, atol=1e-5)


def test_accuracy_beats_as_many_random_features(digits):
    rows, labels = digits
    scores = {
        basis: ExpChi2Classifier(64, basis=basis, random_state=0)
        .fit(rows[:1200], labels[:1200])
        .score(rows[1200:], labels[1200:])
        for basis in ("landmarks", "orthogonal")
    }
    # 597 test rows: a standard error of about .015 at these accuracies.
    assert scores["landmarks"] > scores["orthogonal"] + 0.015


def test_accuracy_is_that_of_scikit_learns_nystroem(digits):
    rows, labels = digits[0].copy(), digits[1]
    ours = ExpChi2Classifier(200, basis="landmarks", random_state=0)
    ours.fit(rows[:1200], labels[:1200])
    theirs = Nystroem("chi2", gamma=ours.beta_ / 2, n_components=200, random_state=0)
    features = theirs.fit(rows[:1200]).transform(rows)
    model = StreamingRidgeClassifier("auto").fit(features[:1200], labels[:1200])
    reference = model.score(features[1200:], labels[1200:])
    # Two draws of landmarks: each accuracy has a standard error of about .008 on 597 rows.
    assert abs(ours.score(rows[1200:], labels[1200:]) - reference) < 3 * 0.008 * 2**0.5


@pytest.mark.parametrize("estimator", [ExpChi2Classifier, ExpChi2Regressor, ExpChi2PCA])
def test_learners_take_landmarks_and_a_half_life(digits, estimator):
    rows, labels = digits
    model = estimator(32, basis="landmarks", half_life=200.0, random_state=0)
    model.partial_fit(rows[:500], labels[:500])
    read = model.transform if estimator is ExpChi2PCA else model.predict
    assert np.all(np.isfinite(read(rows[500:510])))
