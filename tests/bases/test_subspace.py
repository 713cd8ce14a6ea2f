"""Random frequencies in the subspace where rows vary: filter, floor, sketch, and the map."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from maps import spec_of, tracker_of
from numpy.testing import assert_allclose

from streamchi2 import exp_chi2_kernel
from streamchi2.bases import OrthogonalBasis, SubspaceBasis
from streamchi2.bases.base import BasisPlan
from streamchi2.bases.subspace import filter_shares, informative_directions

WARM_UP = 128


def planned(rows, **params):
    spec = spec_of(rows.shape[1], **{"n_components": WARM_UP, "basis": "subspace", **params})
    return tracker_of(spec, rows)


@pytest.mark.parametrize("dof", [1.0, 2.0])
def test_features_give_the_kernel_of_filtered_coordinates(dof):
    random = np.random.default_rng(0)
    inputs, n_features = random.normal(size=(300, 6)) * [2, 1, 0.5, 0.3, 0.1, 0.1], 20000
    directions = informative_directions(inputs, np.ones(len(inputs)), 40)
    basis = SubspaceBasis(directions, n_features, seed=1, beta=0.7, dof=dof)
    features = np.empty((300, n_features))
    basis.features(inputs.copy(), features)
    filtered = inputs @ directions
    # exp_chi2_kernel takes chi2 distances of rows; the p-value kernel of a distance t is that of
    # the rows (t, 0) and (0, 0), whose chi2 distance is t/2.
    half_squares = ((filtered[:1] - filtered) ** 2).sum(axis=1) / 2
    pairs = np.column_stack([2 * half_squares, np.zeros(300)])
    expected = exp_chi2_kernel(pairs, np.zeros((1, 2)), beta=0.7, dof=dof)[:, 0]
    # Each value is a mean of 10000 cosines: a deviation of at most .01, of 300 below 4 of them.
    assert_allclose(features @ features[0], expected, atol=0.04)


def kernel_basis(inputs, n_components, **words):
    words = {"seed": 0, "beta": 1.0, "dof": 2.0, **words}
    plan = BasisPlan(
        n_inputs=inputs.shape[1], n_components=n_components, rows=inputs,
        weights=np.ones(len(inputs)), coordinates=lambda rows: rows, **words,
    )  # fmt: skip
    return SubspaceBasis.plan(plan)


def features_of(basis, inputs):
    out = np.empty((inputs.shape[0], basis.n_components))
    basis.features(inputs.copy(), out)
    return out


def test_the_floor_adds_its_share_of_every_direction_to_the_kernel():
    random = np.random.default_rng(0)
    inputs, n_features = random.normal(size=(300, 6)) * [2, 1, 0.5, 0.3, 0.1, 0.0], 20000
    directions = informative_directions(inputs, np.ones(len(inputs)), 40, floor=0.2)
    basis = SubspaceBasis(directions, n_features, seed=1, beta=0.3, floor=0.2)
    inputs[:, 5] = random.normal(size=300)  # where nothing had varied
    features = features_of(basis, inputs)
    seen = ((inputs[:1] - inputs) @ directions.astype(np.float64)) ** 2
    squares = seen.sum(axis=1) + 0.2 * ((inputs[:1] - inputs) ** 2).sum(axis=1)
    # 6 inputs have a bucket each, so that the sketch is exact; deviations as in the test above.
    assert_allclose(features @ features[0], np.exp(-0.15 * squares), atol=0.04)


@given(st.integers(1, 60), st.integers(0, 40), st.integers(1, 400))
def test_no_direction_has_less_than_the_floor_nor_more_than_one(n_seen, n_unseen, n_components):
    n_inputs = n_seen + n_unseen
    random = np.random.default_rng(n_inputs)
    inputs = np.zeros((80, n_inputs))
    inputs[:, :n_seen] = random.normal(size=(80, n_seen)) * np.geomspace(1.0, 0.01, n_seen)
    basis = kernel_basis(inputs, n_components)
    if isinstance(basis, OrthogonalBasis):
        # All directions have a full share: there are no more of them than D/32.
        assert n_inputs <= n_components / 32
        return
    assert basis.floor == min(1.0, n_components / 32 / n_inputs)
    gram = basis.directions.T.astype(np.float64) @ basis.directions
    # float32 rounds each share to 2^-23 of itself
    assert_allclose(gram, np.diag(gram.diagonal()), atol=1e-6)
    assert np.all(gram.diagonal() + basis.floor <= 1.0 + 1e-6)
    assert np.all(gram.diagonal() > 0.0)


@given(st.integers(1, 50), st.integers(1, 200), st.integers(0, 1000))
def test_the_sketch_keeps_squared_lengths_in_the_mean(n_inputs, n_components, seed):
    directions = np.zeros((n_inputs, 1), dtype=np.float32)
    basis = SubspaceBasis(directions, n_components, seed, beta=1.0, floor=0.25)
    n_buckets = min(n_inputs, max(1, n_components // 4))
    sketch = basis._filtered(np.eye(n_inputs))[:, 1 : 1 + n_buckets]
    # Each coordinate goes whole to one bucket; signs that are independent do the rest, since the
    # products of two coordinates in one bucket cancel in the mean.
    gram = 4.0 * sketch @ sketch.T
    places = np.arange(n_inputs) % n_buckets
    assert np.array_equal(np.abs(gram), 1.0 * (places[:, None] == places))
    assert np.array_equal(gram.diagonal(), np.ones(n_inputs))


def test_inputs_that_are_always_zero_cost_no_direction_anything():
    random = np.random.default_rng(0)
    inputs = random.normal(size=(40, 12)) * np.geomspace(1.0, 0.1, 12)
    places = np.sort(random.permutation(200)[:12])
    spread = np.zeros((40, 200))
    spread[:, places] = inputs
    few, many = (
        informative_directions(each, np.ones(40), 64, floor=0.01) for each in (inputs, spread)
    )
    assert np.array_equal(few, many[places])
    assert not np.delete(many, places, axis=0).any()


@pytest.mark.parametrize("floor", [-0.1, 1.1, np.nan])
def test_a_floor_that_is_no_share_is_refused(floor):
    with pytest.raises(ValueError, match=f"floor must be a share, from 0 to 1, got {floor}"):
        SubspaceBasis(np.eye(2, dtype=np.float32), 16, seed=0, beta=1.0, floor=floor)


def test_rows_that_differ_where_the_first_rows_do_not_vary_are_told_apart():
    random = np.random.default_rng(0)
    early, late = np.zeros((2, 200, 40))
    early[:, :20], late[:, 20:] = random.normal(size=(2, 200, 20))
    found = kernel_basis(early, 256, beta=0.05)
    directions = informative_directions(early, np.ones(200), 256)
    blind = SubspaceBasis(directions, 256, seed=0, beta=0.05)
    variance = [np.var(features_of(basis, late), axis=0).sum() for basis in (found, blind)]
    # Squared distances of about 40, times beta/2 = .025 and the floor of .2: kernel values of
    # e^-.2, which are one less a variance of .18 in all; none at all without a floor.
    assert variance[0] > 0.1
    assert variance[1] < 1e-12


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30), st.floats(0.05, 40.0))
def test_shares_add_up_to_their_total_and_follow_the_variances(variances, total):
    variances = np.sort(variances)[::-1]
    shares = filter_shares(variances, total)
    # The root is found to 4 eps of itself, and a share moves by a quarter of that: with the
    # rounding of the sums, less than 100 eps for each of at most 30.
    assert abs(shares.sum() - min(total, len(variances))) <= 3000 * 2.0**-52
    assert np.all(np.diff(shares) <= 0.0)
    assert shares[0] <= 1.0


def test_directions_are_principal_however_rows_and_columns_compare():
    inputs = np.random.default_rng(0).normal(size=(40, 60)) * np.geomspace(2, 0.1, 60)
    tall = informative_directions(np.vstack([inputs, inputs]), np.ones(80), 32)
    wide = informative_directions(inputs, np.ones(len(inputs)), 32)
    assert_allclose(tall, wide, atol=1e-5)  # float32
    gram = wide.T.astype(float) @ wide
    assert_allclose(gram, np.diag(gram.diagonal()), atol=1e-6)
    covariance = np.cov(inputs.T, ddof=0)
    variances = np.einsum("ij,jk,ki->i", wide.T, covariance, wide) / gram.diagonal()
    assert_allclose(variances, np.linalg.eigvalsh(covariance)[::-1][:8], rtol=1e-5)


def test_a_weight_of_two_is_a_repeated_row():
    random = np.random.default_rng(0)
    inputs, weights = random.normal(size=(50, 4)), random.integers(1, 4, 50)
    weighted = informative_directions(inputs, weights.astype(float), 16)
    repeated = informative_directions(
        np.repeat(inputs, weights, axis=0), np.ones(weights.sum()), 16
    )
    assert_allclose(weighted, repeated, atol=1e-6)


def test_directions_are_frozen_after_the_first_rows_and_k_is_not():
    rows = np.random.default_rng(0).gamma(0.5, size=(2000, 6))
    rows[WARM_UP:] *= 10.0  # the k of the first rows are too small for what comes
    first, later = planned(rows[:WARM_UP]), planned(rows)
    (part,) = later.parts
    assert part.transports
    assert part.block.basis == first.parts[0].block.basis
    before, after = (side.feature_map.transform(rows[:50]) for side in (first, later))
    # Phases move by the residual of the transport times their size, which is a few radians here.
    assert np.linalg.norm(after - before) / np.linalg.norm(before) < 5 * part.moved


def test_more_features_follow_the_exact_kernel_more_closely(digits):
    few, many = (
        planned(digits[0], n_components=size).parts[0].kernel_error().rms for size in (64, 2048)
    )
    # 2048 features: Monte Carlo alone would leave at most 1/sqrt(2048) = .022, the rest is bias.
    assert many < 0.1 < few


@pytest.mark.parametrize("value", [0.0, 0.1], ids=["zeros", "equal"])
def test_rows_that_do_not_vary_leave_plain_frequencies(value):
    (block,) = planned(np.full((200, 3), value)).feature_map.blocks
    assert isinstance(block.basis, OrthogonalBasis)
