import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from strategies import histogram_rows

from streamchi2.bases import HashBuckets
from streamchi2.bases.hash_buckets import column_of_name
from streamchi2.hashing import mixed_bits


def folded_loop(buckets, rows, coordinates):
    """The plain definition: one coordinate after the other."""
    folded = np.zeros((rows.shape[0], buckets.n_buckets))
    n_terms = len(coordinates)
    for row in range(rows.shape[0]):
        for entry in range(rows.indptr[row], rows.indptr[row + 1]):
            for term in range(n_terms):
                key = np.array([int(rows.indices[entry]) * n_terms + term], dtype=np.uint64)
                bits = int(mixed_bits(key, buckets.seed)[0])
                bucket = (bits >> 32) * buckets.n_buckets >> 32
                folded[row, bucket] += (2 * (bits & 1) - 1) * coordinates[term, entry]
    return folded


@given(histogram_rows(), st.integers(1, 3), st.integers(1, 9), st.integers(0, 2**40))
def test_folding_equals_the_plain_loop(dense, n_terms, n_buckets, seed):
    rows = sparse.csr_array(dense)
    coordinates = np.arange(1.0, n_terms + 1)[:, None] * rows.data
    found = HashBuckets(n_buckets, seed).fold(rows, coordinates)
    # At most 18 numbers meet in a bucket, added in one order or another.
    rounding = 18 * 2.3e-16 * np.abs(coordinates).sum(initial=0.0)
    assert_allclose(
        found, folded_loop(HashBuckets(n_buckets, seed), rows, coordinates), atol=rounding
    )


def test_inner_products_are_unbiased_with_the_stated_variance():
    random = np.random.default_rng(0)
    dense = random.gamma(0.5, size=(2, 60))
    rows = sparse.csr_array(dense)
    coordinates = np.stack([rows.data, np.sqrt(rows.data)])
    sides = coordinates.reshape(2, 2, 60).transpose(1, 0, 2).reshape(2, 120)
    n_buckets, n_seeds = 32, 2000
    products = np.empty(n_seeds)
    for seed in range(n_seeds):
        left, right = HashBuckets(n_buckets, seed).fold(rows, coordinates)
        products[seed] = left @ right
    bound = 2 / n_buckets * np.prod(np.square(sides).sum(axis=1))
    # The mean of 2000 within four deviations; the sample variance within 20 % of the bound.
    assert abs(products.mean() - sides[0] @ sides[1]) < 4 * np.sqrt(bound / n_seeds)
    assert products.var() < 1.2 * bound


def test_buckets_are_filled_evenly():
    keys = np.arange(100_000)
    rows = sparse.csr_array((np.ones(keys.size), keys, [0, keys.size]), shape=(1, keys.size))
    folded = HashBuckets(50, seed=3).fold(rows, np.ones((1, keys.size)))
    # Sums of 2000 random signs: deviation 45, the largest of 50 below four of them.
    assert np.abs(folded).max() < 4 * np.sqrt(2000)


def test_hashing_never_changes():
    rows = sparse.csr_array(
        (np.ones(4), np.array([0, 1, 999_999, 2**61]), [0, 4]), shape=(1, 2**62)
    )
    coordinates = np.array([[1.0, 2.0, 4.0, 8.0], [16.0, 32.0, 64.0, 128.0]])
    folded = HashBuckets(12, seed=2024).fold(rows, coordinates)
    assert_array_equal(folded[0], [0, -64, 0, 2, 4, 0, -128, -1, -8, 16, -32, 0])
    assert [column_of_name(name) for name in ("red", "", "größe")] == [
        2941416306605685315,
        3255150753318709689,
        4208205599390334525,
    ]
