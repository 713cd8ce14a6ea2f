import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sampler_streams import SEEDED, assert_same_state, feature_map_of, fed, stream
from scipy import sparse
from sklearn.base import clone

from streamchi2 import ExpChi2Sampler, exp_chi2_kernel
from streamchi2.bases import BASES
from streamchi2.errors import StateMismatchError


@pytest.mark.parametrize(
    "params", [{"beta": 2.0}, {"n_components": 32}, {"adapt": False}, {"random_state": 5}]
)
def test_params_must_not_change_in_the_middle_of_a_stream(params):
    sampler = fed(stream(100)).set_params(**params)
    with pytest.raises(ValueError, match="must not change between calls"):
        sampler.partial_fit(stream(10))
    sampler.fit(stream(10))  # but a new stream may have others


def test_fit_after_fit_starts_afresh():
    sampler = fed(stream(500, growth=9.0)).fit(stream(200, width=7))
    assert_same_state(sampler, fed(stream(200, width=7)))
    assert sampler.n_features_in_ == 7


def test_integers_are_not_truncated_and_any_container_will_do():
    counts = np.random.default_rng(0).poisson(2.0, size=(120, 5))
    expected = fed(counts.astype(float))
    stored_zeros = sparse.csr_array(np.ones((120, 5)))
    stored_zeros.data[:] = counts.ravel()
    for given_rows in (counts, counts.tolist(), pd.DataFrame(counts), counts.astype(np.uint8)):
        found = ExpChi2Sampler(**SEEDED).fit(given_rows)
        assert feature_map_of(found) == feature_map_of(expected)
        assert_array_equal(found.transform(given_rows), expected.transform(counts))
    sparse_fit = ExpChi2Sampler(**SEEDED).fit(stored_zeros)
    # Distances of sparse rows round in another order, and so does beta.
    assert_allclose(sparse_fit.beta_, expected.beta_, rtol=1e-12)
    assert sparse_fit.input_histogram_ == expected.input_histogram_
    dropped = stored_zeros.copy()
    dropped.eliminate_zeros()
    assert_same_state(ExpChi2Sampler(**SEEDED).fit(dropped), sparse_fit)


def test_the_audit_measures_the_error_that_there_is(digits):
    rows = digits[0]
    sampler = ExpChi2Sampler(1536, beta=1.5, random_state=0).fit(rows)
    features = sampler.transform(rows[:400]).astype(float)
    error = features @ features.T - exp_chi2_kernel(rows[:400], beta=1.5)
    # 128 rows of 1797: their rms differs from that of 400 others by chance, within a third.
    assert_allclose(sampler.kernel_error().rms, np.sqrt(np.mean(error**2)), rtol=1 / 3)
    assert sampler.kernel_error().rms <= 0.005


@pytest.mark.parametrize("n_rows", [0, 1])
def test_the_audit_needs_two_rows(n_rows):
    sampler = fed(stream(70)).new_shard() if n_rows == 0 else fed(stream(1))
    with pytest.raises(ValueError, match=f"at least two different rows, got {n_rows}"):
        sampler.kernel_error()


def test_k_belongs_to_the_direct_series():
    sampler = fed(stream(70), series="vz")
    with pytest.raises(AttributeError, match="k_ belongs to series='direct'"):
        sampler.k_  # noqa: B018
    assert not hasattr(ExpChi2Sampler(), "transports_")


def test_a_seed_gives_the_same_features_for_ever():
    rows = np.arange(1.0, 31.0).reshape(10, 3) % 7
    sampler = ExpChi2Sampler(32, beta=0.5, n_terms=2, random_state=42).fit(rows)
    found = sampler.transform(rows[:1])[0, [0, 7, 16, 31]]
    # Minimisation finds k to about 1e-6.
    assert_allclose(found, [0.080533, -0.128948, 0.236674, -0.064303], atol=1e-5)
    assert_array_equal(clone(sampler).fit(rows).transform(rows), sampler.transform(rows))


@pytest.mark.parametrize("scale", [1e-200, 1e-30, 1e30, 1e100])
def test_the_scale_of_the_data_does_not_matter(scale):
    rows = stream(200)
    sampler = fed(scale * rows, n_components=512)
    # A deviation of 1/sqrt(512), and a third of it for the series.
    assert sampler.kernel_error().rms < 4 / 3 / np.sqrt(512)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("basis", BASES)
def test_rows_in_single_precision_are_read_as_their_values(basis, make):
    """Warnings are errors here: limits beyond float32 were compared with float32 values."""
    single = stream(100).astype(np.float32)
    features = []
    for rows in (make(single), make(single.astype(np.float64))):
        sampler = ExpChi2Sampler(64, basis=basis, random_state=0).partial_fit(rows)
        features.append(sampler.transform(rows))
    assert_array_equal(*features)


def test_a_million_columns_are_folded():
    random = np.random.default_rng(0)
    places = (np.repeat(np.arange(100), 10), random.integers(0, 10**6, 1000))
    rows = sparse.csr_array((random.random(1000), places), shape=(100, 10**6))
    sampler = ExpChi2Sampler(512, random_state=0).fit(rows)
    assert feature_map_of(sampler).blocks[0].buckets.n_buckets == 4096
    assert sampler.transform(rows).shape == (100, 512)


def test_shards_of_other_columns_are_refused_without_a_trace():
    rows = stream(100)
    frames = [
        pd.DataFrame(rows, columns=[f"{letter}{i}" for i in range(rows.shape[1])])
        for letter in "ab"
    ]
    mine, other = (fed(frame) for frame in frames)
    before = mine.transform(frames[0])
    with pytest.raises(StateMismatchError, match="feature_names_in_ must agree to merge"):
        mine.merge(other)
    assert np.array_equal(mine.transform(frames[0]), before)
    assert mine.input_histogram_.n_rows == 100


@pytest.mark.parametrize("n_rows", [5, 100])
def test_shards_of_another_width_are_refused(n_rows):
    rows = stream(n_rows)
    with pytest.raises(StateMismatchError, match="n_features_in_ must agree to merge"):
        fed(rows).merge(fed(rows[:, 1:]))


def test_a_first_batch_without_weight_is_refused():
    with pytest.raises(ValueError, match="sample_weight must not be zero for every row"):
        ExpChi2Sampler().fit(stream(60), sample_weight=np.zeros(60))
