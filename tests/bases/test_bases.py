import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from streamchi2.bases import CosineBasis, GaussianBasis, OrthogonalBasis

ALL = [OrthogonalBasis, GaussianBasis, CosineBasis]
PAIRED = [OrthogonalBasis, GaussianBasis]


def features_of(basis, inputs, dtype="float64"):
    features = np.empty((len(inputs), basis.n_components), dtype=dtype)
    basis.features(np.asarray(inputs, dtype=dtype), features)
    return features


def frequencies_of(basis):
    """Recover the matrix of frequencies from the sines of tiny phases."""
    tiny = 1e-6
    features = features_of(basis, tiny * np.eye(basis.n_inputs))
    sines = features[:, basis.n_phases :] * np.sqrt(basis.n_components / 2)
    return np.arcsin(sines) / tiny


def kernel_between(basis, inputs):
    features = features_of(basis, inputs)
    return features @ features.T


@pytest.fixture
def inputs():
    return np.random.default_rng(5).normal(size=(12, 40)) / np.sqrt(40)


def squared_distances(inputs):
    return np.square(inputs[:, None] - inputs).sum(axis=2)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("beta", [0.3, 2.0])
def test_the_mean_over_seeds_is_the_kernel(kind, beta, inputs):
    n_seeds, n_components = 60, 512
    mean = np.mean(
        [kernel_between(kind(40, n_components, seed, beta), inputs) for seed in range(n_seeds)],
        axis=0,
    )
    exact = np.exp(-beta / 2 * squared_distances(inputs))
    # One product has a variance below 1/D (pairs: (1 - k^2)^2/D), the mean of the seeds a share
    # 1/n_seeds of it; 66 correlated pairs stay within five such deviations. Orthogonal
    # frequencies all have one length, which shifts the mean by less than 0.6/w.
    bias = 0.6 / 256 if kind is OrthogonalBasis else 0.0
    assert np.abs(mean - exact).max() < 5 / np.sqrt(n_components * n_seeds) + bias


def test_a_share_that_rounds_to_one_still_gives_finite_features():
    basis = OrthogonalBasis(4, 4096, seed=0, dof=1e-3)
    assert np.isfinite(features_of(basis, np.ones((2, 4)))).all()


def test_orthogonal_frequencies_are_orthogonal_and_of_one_length():
    basis = OrthogonalBasis(n_inputs=384, n_components=1536, seed=3, beta=2.5)
    assert (basis.block_width, basis.n_blocks) == (384, 2)
    frequencies = frequencies_of(basis)
    for block in (frequencies[:, :384], frequencies[:, 384:]):
        # arcsin(sin(1e-6 f))/1e-6 loses ten digits of sixteen at most.
        assert_allclose(block.T @ block, 2.5 * 384 * np.eye(384), atol=2.5 * 384 * 1e-8)


@pytest.mark.parametrize(
    ("n_inputs", "n_components", "width", "n_blocks"),
    [(900, 4096, 1024, 2), (3, 2000, 360, 3), (5, 8, 5, 1), (5, 2, 5, 1), (5000, 64, 5000, 1)],
)
def test_blocks_are_used_whole(n_inputs, n_components, width, n_blocks):
    basis = OrthogonalBasis(n_inputs, n_components, seed=0)
    assert (basis.block_width, basis.n_blocks) == (width, n_blocks)


@pytest.mark.parametrize("kind", PAIRED)
@given(n_inputs=st.integers(1, 70), n_phases=st.integers(1, 300), seed=st.integers(0, 2**63))
def test_rows_of_pairs_have_length_one(kind, n_inputs, n_phases, seed):
    features = features_of(kind(n_inputs, 2 * n_phases, seed), np.ones((1, n_inputs)))
    # cos^2 + sin^2 of the same number rounds once or twice for each of the phases.
    assert_allclose(np.square(features).sum(), 1.0, rtol=1e-15 * (n_phases + 4))


@pytest.mark.parametrize("kind", PAIRED)
@pytest.mark.parametrize("n_components", [1, 3, 511, 513])
def test_an_odd_number_of_features_leaves_out_the_last_sine(kind, n_components, inputs):
    even = features_of(kind(40, n_components + 1, seed=2), inputs)
    odd = features_of(kind(40, n_components, seed=2), inputs)
    rescaled = even[:, :-1] * np.sqrt((n_components + 1) / n_components)
    assert_allclose(odd, rescaled, rtol=1e-14)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("dof", [1, 2])
def test_single_precision_agrees_with_double(kind, dof, inputs):
    basis = kind(40, 600, seed=4, beta=1.0, dof=dof)
    double, single = features_of(basis, inputs), features_of(basis, inputs, "float32")
    assert single.dtype == np.float32
    # Phases of length |f| |c|, |c| about 1, collect at most 40 roundings of 6e-8; frequencies
    # are below sqrt(w) times the largest radius.
    radius = 1.0 if basis.radii is None else basis.radii.max()
    rounding = 40 * 6e-8 * np.sqrt(320) * radius * np.sqrt(2 / 600)
    assert_allclose(single, double, atol=rounding)


GOLDEN = {  # first two cosines, first and last sine (or what a cosine basis has there)
    (OrthogonalBasis, 2): [0.20011297, 0.21455543, 0.14984925, 0.21131060],
    (OrthogonalBasis, 1): [0.08393820, 0.15044278, 0.23548753, 0.22943367],
    (GaussianBasis, 2): [0.16415503, 0.14922703, -0.18855536, -0.23451797],
    (GaussianBasis, 1): [-0.01554649, -0.00683153, -0.24951615, -0.17033387],
    (CosineBasis, 2): [-0.24071633, -0.18995743, -0.23012014, -0.11770157],
    (CosineBasis, 1): [-0.05316715, -0.20951930, -0.22992105, -0.24825268],
}


@pytest.mark.parametrize(("kind", "dof"), GOLDEN)
def test_a_seed_gives_the_same_frequencies_for_ever(kind, dof):
    features = features_of(kind(5, 32, seed=7, beta=2.0, dof=dof), np.linspace(0.1, 0.5, 5)[None])
    assert_allclose(features[0, [0, 1, 16, 31]], GOLDEN[kind, dof], atol=1e-8)


@given(
    n_inputs=st.integers(1, 90),
    n_components=st.integers(1, 700),
    dof=st.sampled_from([1.0, 2.0]),
    dtype=st.sampled_from(["float32", "float64"]),
)
def test_the_matrix_gives_the_phases_of_the_transforms(n_inputs, n_components, dof, dtype):
    basis = OrthogonalBasis(n_inputs, n_components, seed=3, beta=2.0, dof=dof)
    inputs = np.random.default_rng(n_inputs).normal(size=(4, n_inputs)).astype(dtype)
    matrix = basis.lines(slice(None), inputs.dtype)
    assert matrix.shape == (n_inputs, basis.n_phases)
    longest = np.sqrt(2.0 * basis.block_width) * (1 if basis.radii is None else basis.radii.max())
    # Each of 90 products and of two transforms rounds to a few eps of a phase.
    atol = (n_inputs + 64) * np.finfo(dtype).eps * longest * np.linalg.norm(inputs, axis=1).max()
    assert_allclose(inputs @ matrix, basis._transformed(inputs), atol=atol)


@pytest.mark.parametrize("kind", ALL)
def test_seeds_beyond_32_bits_differ(kind, inputs):
    low, high = (features_of(kind(40, 64, seed), inputs) for seed in (1, 1 + 2**32))
    assert np.abs(low - high).max() > 0.01


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"dof": 2.1}, ValueError, "dof must be at most 2 .* not positive definite"),
        ({"dof": 0}, ValueError, "dof must be positive and finite, got 0"),
        ({"beta": -1.0}, ValueError, "beta must be positive and finite, got -1.0"),
        ({"n_components": 0}, ValueError, "n_components must be at least 1, got 0"),
        ({"n_components": 10.0}, TypeError, "n_components must be an integer, got 10.0"),
        ({"n_inputs": 0}, ValueError, "n_inputs must be at least 1, got 0"),
        ({"seed": -1}, ValueError, "seed must be at least 0, got -1"),
    ],
)
def test_bad_arguments_are_refused(kind, arguments, error, message):
    with pytest.raises(error, match=message):
        kind(**{"n_inputs": 3, "n_components": 8, "seed": 0, **arguments})
