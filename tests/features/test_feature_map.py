"""Frozen maps: threads, sparsity and absent columns change nothing; a map is a value."""

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from maps import named, plan, spec_of
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from strategies import histogram_rows

from streamchi2 import (
    ChebyshevSeries,
    DirectSeries,
    LogHistogram,
    VZSeries,
    exp_chi2_kernel,
    refined_parameters,
)
from streamchi2.bases import BASES as ALL_BASES
from streamchi2.bases import CosineBasis, GaussianBasis, HashBuckets, OrthogonalBasis
from streamchi2.features import FeatureMap, MapBlock
from streamchi2.features.feature_map import weighted_sum
from streamchi2.series.transport import RotatedSeries

TURN = ((0.6, 0.8, 0.0), (-0.8, 0.6, 0.0), (0.0, 0.0, 1.0))
SERIES = {
    "direct": RotatedSeries(DirectSeries([0.7, 0.2, 0.06])),
    "turned": RotatedSeries(DirectSeries([0.7, 0.2, 0.06]), TURN),
    "chebyshev": RotatedSeries(ChebyshevSeries(3, scale=0.2)),
    "vz": RotatedSeries(VZSeries(3, period=9.0), TURN),
}
BASES = [OrthogonalBasis, GaussianBasis, CosineBasis]


def block_of(
    width, *, series="direct", basis=OrthogonalBasis, n_buckets=None, dtype="float32", d=64
):
    buckets = None if n_buckets is None else HashBuckets(n_buckets, seed=1)
    n_inputs = 3 * width if n_buckets is None else n_buckets
    return MapBlock(SERIES[series], basis(n_inputs, d, seed=0), buckets, dtype)


def kernel_rmse(features, exact):
    features = features.astype(np.float64)
    return np.sqrt(np.mean((features @ features.T - exact) ** 2))


def gamma_rows(n_rows, width, seed=0):
    rows = np.random.default_rng(seed).gamma(0.4, size=(n_rows, width))
    return rows / rows.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("series", SERIES)
@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("n_buckets", [None, 16])
def test_dense_and_sparse_rows_have_the_same_features(series, basis, n_buckets):
    rows = gamma_rows(150, 7) * (np.random.default_rng(1).random((150, 7)) < 0.6)
    block = block_of(7, series=series, basis=basis, n_buckets=n_buckets, dtype="float64")
    assert_array_equal(block.transform(sparse.csr_array(rows)), block.transform(rows))


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("n_buckets", [None, 16])
@pytest.mark.parametrize("as_csr", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_number_of_workers_does_not_change_a_bit(basis, n_buckets, as_csr, dtype):
    rows = gamma_rows(700, 300)
    rows.flags.writeable = False
    rows = sparse.csr_array(rows) if as_csr else rows
    block = block_of(300, series="turned", basis=basis, n_buckets=n_buckets, dtype=dtype, d=1024)
    one = block.transform(rows)
    assert one.dtype == dtype
    for n_jobs in (1, 2, 7, -1):
        assert_array_equal(block.transform(rows, n_jobs=n_jobs), one)


@given(histogram_rows(max_rows=3), st.integers(1, 10**6))
def test_a_column_not_yet_seen_is_a_column_of_zeros_under_hash_buckets(rows, n_more):
    block = block_of(6, series="turned", n_buckets=32)
    found = sparse.csr_array(rows)
    wider = sparse.csr_array(
        (found.data, found.indices, found.indptr), shape=(len(rows), 6 + n_more)
    )
    assert_array_equal(block.transform(wider), block.transform(rows))


@pytest.mark.parametrize("n_terms", [3, 5])
def test_digits_are_served_well_by_orthogonal_frequencies(digits, n_terms):
    rows = digits[0]
    k = refined_parameters(LogHistogram().update(rows), n_terms)
    exact = exp_chi2_kernel(rows[:500], beta=1.5)
    for seed in range(3):
        basis = OrthogonalBasis(64 * n_terms, 1536, seed, beta=1.5)
        block = MapBlock(RotatedSeries(DirectSeries(k)), basis)
        assert kernel_rmse(block.transform(rows[:500]), exact) <= 0.005


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("dof", [0.5, 1, 1.5])
def test_fewer_degrees_of_freedom_are_served_within_monte_carlo_error(digits, basis, dof):
    rows = digits[0][:200]
    k = refined_parameters(LogHistogram().update(rows), 5)
    block = MapBlock(RotatedSeries(DirectSeries(k)), basis(320, 4096, 3, beta=2.0, dof=dof))
    exact = exp_chi2_kernel(rows, beta=2.0, dof=dof)
    # Each of M products lies in [-1, 1] (cosines with shifts: D of them in [-2, 2] with variance
    # below 1), so the deviation is below sqrt(2/D); the series itself costs under .002.
    assert kernel_rmse(block.transform(rows), exact) < np.sqrt(2 / 4096) + 0.002


def test_a_block_is_a_value_with_a_small_pickle():
    for basis in BASES:
        block = block_of(2000, basis=basis, d=2048)
        before = pickle.dumps(block)
        features = block.transform(gamma_rows(2, 2000))
        assert pickle.dumps(block) == before
        assert len(before) < 1000
        twin = pickle.loads(before)
        assert twin == block
        assert hash(twin) == hash(block)
        assert_array_equal(twin.transform(gamma_rows(2, 2000)), features)
    assert block_of(3) != block_of(3, dtype="float64")
    assert block_of(3) != block_of(3, series="turned")


@pytest.mark.parametrize("as_csr", [False, True])
def test_values_beyond_single_precision_neither_warn_nor_spoil(as_csr):
    rows = np.array([[1e300, 1.0], [1e39, 1.0], [1e-300, 1.0]])
    features = block_of(2).transform(sparse.csr_array(rows) if as_csr else rows)
    assert np.isfinite(features).all()


@pytest.mark.parametrize("scale", [1e-200, 1e-60, 1e60, 1e200])
def test_a_scale_beyond_single_precision_is_worked_on_in_double(scale):
    rows = gamma_rows(40, 5)
    block = MapBlock(
        RotatedSeries(DirectSeries(scale * np.array([0.7, 0.2, 0.06]))),
        OrthogonalBasis(15, 2048, seed=0, beta=2.0 / scale),
        work_dtype="float64",  # as planning finds out
    )
    features = block.transform(scale * rows)
    assert features.dtype == np.float32
    # Three fixed nodes and 2048 features: the deviation of one pair is below 1/sqrt(D).
    assert kernel_rmse(features, exp_chi2_kernel(rows, beta=2.0)) < 1 / np.sqrt(2048) + 0.01


def test_a_million_columns_are_never_made_dense():
    random = np.random.default_rng(0)
    rows = sparse.csr_array(
        (random.random(4000), (np.repeat(np.arange(200), 20), random.integers(0, 10**6, 4000))),
        shape=(200, 10**6),
    )
    block = block_of(1, n_buckets=4096, d=2048)
    block.transform(rows[:1])  # draws the signs
    tracemalloc.start()
    block.transform(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # Features 1.6 MB and scratch of three times 128 x 4096 floats; dense rows would be 800 MB.
    assert peak < 20e6


def test_no_rows_give_no_features():
    assert block_of(3).transform(np.empty((0, 3))).shape == (0, 64)


def test_wide_text_is_folded_without_much_loss(shared_set):
    rows = shared_set("news20_tf")[:300]
    exact = exp_chi2_kernel(rows, beta=1.5)
    k = refined_parameters(LogHistogram().update(rows), 3)
    series, d = RotatedSeries(DirectSeries(k)), 2048
    dense = MapBlock(series, GaussianBasis(3 * rows.shape[1], d, seed=0, beta=1.5))
    errors = []
    for seed in range(3):
        block = MapBlock(series, OrthogonalBasis(4096, d, seed, beta=1.5), HashBuckets(4096, seed))
        errors.append(kernel_rmse(block.transform(rows), exact))
    assert np.mean(errors) < 1.1 * kernel_rmse(dense.transform(rows), exact)


# Single rows with named columns


def named_map(basis="orthogonal", dtype="float32", n_components=64, **params):
    rng = np.random.default_rng(0)
    rows = rng.dirichlet(np.ones(10), size=80) * (rng.random((80, 10)) < 0.7)
    spec = spec_of(2**62, basis=basis, dtype=dtype, n_components=n_components, **params)
    return plan(spec, named(rows, zeros=False)), rows


@pytest.mark.parametrize("basis", ALL_BASES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n_components", [64, 1, 3000])
def test_a_row_alone_has_the_features_of_a_matrix(basis, dtype, n_components):
    n_components = min(n_components, 64) if basis == "landmarks" else n_components
    feature_map, rows = named_map(basis, dtype, n_components)
    alone = feature_map.transform_each(named(rows[:3]))
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    if basis == "landmarks":  # whitening divides by the root of the smallest eigenvalue
        tolerance *= 100
    assert_allclose(alone, feature_map.transform(named(rows[:3])), atol=tolerance)


@pytest.mark.parametrize("basis", ALL_BASES)
@pytest.mark.parametrize("n_components", [64, 1, 3000])
@pytest.mark.parametrize("norm", [None, "l1"])
def test_a_missing_key_and_a_zero_are_the_same_bits(basis, n_components, norm):
    n_components = min(n_components, 64) if basis == "landmarks" else n_components
    feature_map, rows = named_map(basis, n_components=n_components, norm=norm)
    turned = feature_map.blocks[0].series.series
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    series = RotatedSeries(turned, tuple(map(tuple, turn.tolist())))
    feature_map = FeatureMap((feature_map.blocks[0].with_series(series),))
    columns = np.arange(10) * 2**40
    for row in (*rows[:5], np.zeros(10)):
        features = feature_map.transform_row(columns, row)
        kept = row != 0.0
        assert_array_equal(feature_map.transform_row(columns[kept], row[kept]), features)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [1, 2, 3, 16, 257])
def test_rows_of_weight_zero_change_no_bit_of_a_weighted_sum(width, dtype):
    random = np.random.default_rng(width)
    weights, rows = (random.normal(size=shape).astype(dtype) for shape in (300, (300, width)))
    weights[random.random(300) < 0.6] = 0.0
    kept = weights != 0.0
    assert_array_equal(weighted_sum(weights, rows), weighted_sum(weights[kept], rows[kept]))
    exact = weights.astype(np.float64) @ rows.astype(np.float64)
    assert_allclose(weighted_sum(weights, rows), exact, atol=300 * np.finfo(dtype).eps * 10)


def test_no_rows_add_up_to_zero_whatever_stands_behind_them_in_memory():
    # As numpy makes empty selections: of no strides, before memory that is not theirs. einsum read
    # a value there and multiplied it by zero, so that a row without keys was NaN once in a while.
    none = np.lib.stride_tricks.as_strided(np.full(8, np.nan), shape=(0, 8), strides=(0, 0))
    assert_array_equal(weighted_sum(np.ones(8)[:0], none), np.zeros(8))


def test_rows_of_several_descriptors_alone():
    ranges = {"low": range(2**56), "high": range(2**56, 2**57)}
    rows = np.random.default_rng(0).dirichlet(np.ones(6), size=70)
    offsets = np.array([1, 5, 9, 2**56 + 1, 2**56 + 3, 2**56 + 8])
    matrix = sparse.csr_array(
        (rows.ravel(), np.tile(offsets, 70), 6 * np.arange(71)), shape=(70, 2**62)
    )
    feature_map = plan(spec_of(2**62, columns=ranges, n_components=128), matrix)
    assert feature_map.sizes == (64, 64)
    assert_allclose(feature_map.transform_each(matrix), feature_map.transform(matrix), atol=1e-5)


def test_only_wide_rows_are_folded_unless_told():
    folded = {(5462, 256): 4096, (5462, 4096): 8192, (2**62, 64): 1024, (2**56, 1024): 2048}
    for (n_features, n_components), n_buckets in folded.items():
        (block,) = spec_of(n_features, n_components=n_components).blocks
        assert block.buckets(n_terms=3).n_buckets == n_buckets
    assert spec_of(5461).blocks[0].buckets(n_terms=3) is None


# Several blocks


def two_blocks():
    blocks = (block_of(2, d=64), block_of(3, series="turned", basis=GaussianBasis, d=32))
    return FeatureMap(blocks, ((0, 1), (4, 2, 1)))


@pytest.mark.parametrize("as_csr", [False, True])
def test_a_map_of_one_block_has_the_features_of_the_block_bit_for_bit(as_csr):
    rows = gamma_rows(300, 5)
    rows = sparse.csr_array(rows) if as_csr else rows
    block = block_of(5)
    assert_array_equal(FeatureMap((block,)).transform(rows), block.transform(rows))
    named = FeatureMap((block,), (tuple(range(5)),))
    assert_array_equal(named.transform(rows), block.transform(rows))


@pytest.mark.parametrize("as_csr", [False, True])
def test_features_of_several_blocks_stand_side_by_side_and_their_kernels_add_up(as_csr):
    rows, feature_map = gamma_rows(200, 5), two_blocks()
    parts = [
        block.transform(sparse.csr_array(rows[:, own]) if as_csr else rows[:, own])
        for block, own in zip(feature_map.blocks, feature_map.columns, strict=True)
    ]
    features = feature_map.transform(sparse.csr_array(rows) if as_csr else rows)
    assert_array_equal(features, np.hstack(parts))
    assert feature_map.sizes == (64, 32)
    assert feature_map.n_components == 96
    assert feature_map != FeatureMap(feature_map.blocks, ((0, 1), (4, 2, 3)))
    assert pickle.loads(pickle.dumps(feature_map)) == feature_map
