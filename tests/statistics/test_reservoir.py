import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from streamchi2.errors import StateMismatchError
from streamchi2.hashing import gumbel_noise
from streamchi2.statistics.reservoir import Reservoir


def reservoir_of(rows, weights=None, *, size=5, half_life=None, cuts=()):
    reservoir = Reservoir(size, seed=3, half_life=half_life)
    for start, stop in zip([0, *cuts], [*cuts, rows.shape[0]], strict=True):
        reservoir.absorb(rows[start:stop], None if weights is None else weights[start:stop])
    return reservoir


def assert_same(left, right):
    assert_array_equal(left.scores, right.scores)
    assert_array_equal(left.importance(), right.importance())
    assert left.n_rows == right.n_rows
    assert (left.rows is None) == (right.rows is None)
    if left.rows is not None:
        assert_array_equal(left.rows.toarray(), right.rows.toarray())


@given(
    st.integers(0, 30).flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.integers(0, n), max_size=6).map(sorted))
    ),
    st.sampled_from([None, 4.0, 1e-3]),
    st.booleans(),
)
def test_the_sample_does_not_depend_on_the_cutting(stream, half_life, weighted):
    n_rows, cuts = stream
    random = np.random.default_rng(n_rows)
    rows = random.gamma(0.5, size=(n_rows, 3))
    weights = random.gamma(1.0, size=n_rows) if weighted else None
    whole = reservoir_of(rows, weights, half_life=half_life)
    assert_same(reservoir_of(rows, weights, half_life=half_life, cuts=cuts), whole)


def test_sparse_rows_are_kept_like_dense_ones():
    rows = np.random.default_rng(0).poisson(0.7, size=(30, 6)).astype(float)
    assert_same(reservoir_of(sparse.csr_array(rows), cuts=[7, 9]), reservoir_of(rows))


@given(st.integers(0, 12), st.integers(0, 12), st.sampled_from([None, 4.0]))
def test_merging_does_not_depend_on_the_order(n_left, n_right, half_life):
    random = np.random.default_rng(100 * n_left + n_right)
    # Every row sums to one and equal positions have equal noise: the hardest case of ties.
    left, right = (random.multinomial(8, [0.25] * 4, size=n) / 8 for n in (n_left, n_right))
    one, two = (reservoir_of(rows, half_life=half_life) for rows in (left, right))
    together, reverse = one.copy().merge(two), two.copy().merge(one)
    # Equal scores may hold equal rows in either place; freshness adds in another order.
    assert_allclose(together.scores, reverse.scores, rtol=1e-12)
    if together.rows is not None:
        assert_array_equal(together.rows.toarray(), reverse.rows.toarray())
    assert together.n_rows == n_left + n_right


def test_an_empty_reservoir_is_the_identity_of_merge():
    rows = np.random.default_rng(0).gamma(0.5, size=(20, 3))
    for half_life in (None, 5.0):
        full = reservoir_of(rows, half_life=half_life)
        empty = Reservoir(5, 3, half_life)
        assert_same(full.copy().merge(empty), full)
        assert_same(empty.copy().merge(full), full)


def test_merging_leaves_the_other_side_alone_and_copies_are_independent():
    rows = np.random.default_rng(0).gamma(0.5, size=(20, 3))
    one, two = reservoir_of(rows[:9]), reservoir_of(rows[9:])
    before = pickle.dumps(two)
    one.merge(two)
    twin = two.copy()
    twin.absorb(rows)
    assert pickle.dumps(two) == before


@pytest.mark.parametrize("other", [Reservoir(4, 3), Reservoir(5, 2), Reservoir(5, 3, 7.0)])
def test_other_settings_do_not_merge(other):
    mine = reservoir_of(np.ones((3, 2)))
    before = pickle.dumps(mine)
    with pytest.raises(StateMismatchError, match="size, seed and half_life must agree"):
        mine.merge(other)
    assert pickle.dumps(mine) == before


def places(n_rows, size, n_seeds, *, weights=None, half_life=None):
    """How often each position was kept."""
    kept = np.zeros(n_rows)
    rows = np.eye(n_rows)
    for seed in range(n_seeds):
        reservoir = Reservoir(size, seed, half_life)
        reservoir.absorb(rows, weights)
        kept[reservoir.rows.indices] += 1
    return kept / n_seeds


def test_every_row_is_as_likely_to_be_kept():
    share = places(40, 10, 1000)
    # Binomial with p = 1/4: deviation .0137, the largest of 40 within four of them.
    assert_allclose(share, 0.25, atol=4 * np.sqrt(0.25 * 0.75 / 1000))


def test_weight_and_freshness_count_in_proportion():
    weights = np.array([1.0, 3.0, 1.0, 3.0])
    # A single place goes to each row in proportion.
    assert_allclose(places(4, 1, 4000, weights=weights), weights / 8, atol=4 * 0.5 / 4000**0.5)
    fresh = 2.0 ** (np.arange(4) / 2)
    found = places(4, 1, 4000, half_life=2.0)
    assert_allclose(found, fresh / fresh.sum(), atol=4 * 0.5 / 4000**0.5)


def test_importance_is_the_weight_while_all_rows_have_a_place():
    weights = np.array([1.0, 2.0, 4.0])
    reservoir = reservoir_of(np.eye(3), weights)
    assert_allclose(reservoir.importance()[reservoir.rows.indices.argsort()], weights, rtol=1e-12)
    fading = reservoir_of(np.eye(3), half_life=1.0)
    assert_allclose(fading.importance()[fading.rows.indices.argsort()], [0.25, 0.5, 1], rtol=1e-12)


def test_importance_estimates_totals_without_bias():
    random = np.random.default_rng(0)
    rows, weights = random.gamma(1.0, size=(200, 1)), random.gamma(2.0, size=200)
    estimates = []
    for seed in range(400):
        reservoir = Reservoir(40, seed)
        reservoir.absorb(rows, weights)
        estimates.append(reservoir.importance() @ reservoir.rows.toarray()[:, 0])
    deviation = np.std(estimates) / np.sqrt(400)
    assert abs(np.mean(estimates) - weights @ rows[:, 0]) < 4 * deviation


def test_noise_is_standard_gumbel_and_never_changes():
    noise = gumbel_noise(np.arange(100_000), seed=11)
    # Mean Euler's constant, variance pi^2/6; four deviations of the mean.
    assert abs(noise.mean() - np.euler_gamma) < 4 * np.sqrt(np.pi**2 / 6 / 100_000)
    assert_allclose(
        gumbel_noise(np.array([0, 7, 2**40]), seed=5), [-0.080913, 0.486205, -0.208501], atol=1e-6
    )


def test_huge_values_do_not_overflow():
    reservoir = reservoir_of(np.full((9, 4), 1.7e308))
    assert reservoir.rows.shape == (5, 4)


def test_a_faded_sample_is_that_of_lighter_rows():
    rows = np.random.default_rng(0).dirichlet(np.ones(10), size=80)
    faded, lighter = Reservoir(10, seed=0), Reservoir(10, seed=0)
    faded.absorb(rows[:40])
    faded.fade(0.01)
    faded.absorb(rows[40:])
    lighter.absorb(rows, np.repeat([0.01, 1.0], 40))
    np.testing.assert_allclose(faded.rows.toarray(), lighter.rows.toarray())
    np.testing.assert_allclose(faded.importance(), lighter.importance())
