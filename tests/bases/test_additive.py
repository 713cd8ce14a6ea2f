"""The additive basis: the exact additive kernel, hashing without bias, and values too large."""

import numpy as np
import pytest
from maps import plan, spec_of, tracker_of
from numpy.testing import assert_allclose, assert_array_equal
from references import harmonic_kernel
from scipy import sparse

from streamchi2.bases import AdditiveBasis, HashBuckets
from streamchi2.features import MapBlock, Tracker

RANDOM = np.random.default_rng(0)
N_ROWS, WIDTH = 700, 6
ROWS = RANDOM.gamma(0.5, size=(N_ROWS, WIDTH)) * (RANDOM.random((N_ROWS, WIDTH)) < 0.8)


def spec(n_components=None, **params):
    params = {"n_terms": 4, "dtype": "float64", "adapt": False, "basis": "additive", **params}
    return spec_of(WIDTH, n_components=n_components, **params)


def map_of(n_components=None, **params):
    return plan(spec(n_components, **params), ROWS)


def series_of(feature_map):
    return feature_map.blocks[0].series


@pytest.mark.parametrize("series", ["direct", "chebyshev", "vz"])
@pytest.mark.parametrize("as_csr", [False, True])
def test_inner_products_are_the_additive_kernel_up_to_the_error_of_the_series(series, as_csr):
    feature_map = map_of(series=series, n_terms=5 if series == "vz" else 4)
    features = feature_map.transform(sparse.csr_array(ROWS[:60]) if as_csr else ROWS[:60])
    # Each of the columns errs by no more than the series does; zeros map to zeros exactly.
    positive = ROWS[ROWS > 0.0]
    bound = WIDTH * series_of(feature_map).error_bound(positive.min(), positive.max())
    assert_allclose(features @ features.T, harmonic_kernel(ROWS[:60]), atol=bound + 1e-12)


def test_the_exact_kernel_of_the_basis_is_the_additive_one():
    for rows in (ROWS[:50], sparse.csr_array(ROWS[:50])):
        kernel = AdditiveBasis(4, 4).exact_kernel(rows)
        # Half of the sums of rows, less their distance: sums of twelve numbers of order one.
        assert_allclose(kernel, harmonic_kernel(ROWS[:50]), atol=1e-13)


def test_the_measured_kernel_error_is_that_of_the_additive_kernel():
    tracker = tracker_of(spec(n_terms=2), ROWS)
    (part,) = tracker.parts
    rows = part.sample.rows
    features = tracker.feature_map.transform(rows)
    error = (features @ features.T - harmonic_kernel(rows))[np.triu_indices(len(rows), k=1)]
    assert part.kernel_error().rms == pytest.approx(np.sqrt(np.mean(error**2)), abs=1e-12)
    assert part.kernel_error().worst == pytest.approx(np.abs(error).max(), abs=1e-12)


@pytest.mark.parametrize("n_components", [8, 16])
def test_hashing_into_buckets_is_unbiased(n_components):
    n_seeds, rows = 400, ROWS[:20]
    unfolded = map_of()
    whole, series = unfolded.transform(rows), series_of(unfolded)
    mean = np.zeros((20, 20))
    for seed in range(n_seeds):
        basis = AdditiveBasis(n_components, n_components, unfolded.blocks[0].basis.beta)
        block = MapBlock(series, basis, HashBuckets(n_components, seed), "float64")
        if seed == 0:
            assert map_of(n_components).blocks[0] == block
        features = block.transform(rows)
        mean += features @ features.T / n_seeds
    # Var <= 2 |c|^2 |c'|^2 / D for one seed; 210 correlated pairs within five deviations.
    lengths = np.linalg.norm(whole, axis=1)
    deviation = np.outer(lengths, lengths) * np.sqrt(2.0 / (n_components * n_seeds))
    assert (np.abs(mean - whole @ whole.T) <= 5.0 * deviation).all()


def test_without_a_number_every_coordinate_is_kept_and_more_features_are_zeros():
    feature_map = map_of()
    features = feature_map.transform(ROWS)
    assert_array_equal(features, series_of(feature_map).transform(ROWS))
    padded = map_of(30).transform(ROWS)
    assert_array_equal(padded[:, : 4 * WIDTH], features)
    assert not padded[:, 4 * WIDTH :].any()


def test_named_rows_need_a_number():
    with pytest.raises(TypeError, match="n_components must be an integer, got None"):
        spec_of(2**62, n_components=None, basis="additive")
    with pytest.raises(TypeError, match="n_buckets must be a number or 'auto' for named columns"):
        spec_of(2**62, n_buckets=None)


def test_basis_values_are_checked():
    with pytest.raises(ValueError, match="n_inputs must be at least 1"):
        AdditiveBasis(0, 4)
    with pytest.raises(ValueError, match="n_components must be at least 5, got 4"):
        AdditiveBasis(5, 4)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("dtype", "scale"), [("float32", 1e80), ("float64", 1e290)])
def test_values_whose_features_cannot_be_held_are_refused(container, dtype, scale):
    huge = np.where(ROWS[:100] > 0.0, 0.5, 0.0)
    huge[70, 2] = scale
    with pytest.raises(ValueError, match=r"X must be at most .* at row 70, column 2; divide X"):
        spec(8, dtype=dtype).refuse_too_large(container(huge))
    with pytest.raises(ValueError, match=r"x must be at most .* at key 'c'; divide x"):
        spec(8, dtype=dtype).refuse_too_large(
            container(huge), lambda row, column: f" at key {'abcdef'[column]!r}", name="x"
        )
    assert spec(8, dtype=dtype, norm="l1").refuse_too_large(container(huge)) is None


def test_only_columns_of_an_additive_descriptor_are_held_to_its_largest_value():
    huge = ROWS[:100].copy()
    huge[5, 1] = 1e80
    basis = {"sums": "additive", "rest": "orthogonal"}
    spec_of(WIDTH, basis=basis, columns={"sums": (0, 2), "rest": (1, 3)}).refuse_too_large(huge)
    every = spec_of(WIDTH, basis=basis, columns={"sums": (2, 1), "rest": (3,)})
    with pytest.raises(ValueError, match="at row 5, column 1"):
        every.refuse_too_large(huge)


@pytest.mark.parametrize("series", ["direct", "chebyshev", "vz"])
@pytest.mark.parametrize(("dtype", "scale"), [("float32", 1e59), ("float64", 1e279)])
def test_features_of_values_up_to_the_largest_are_finite(series, dtype, scale):
    rows = ROWS / ROWS.max() * scale
    params = {"series": series, "dtype": dtype, "n_terms": 3}
    features = plan(spec(18, **params), rows[:64]).transform(rows)
    with np.errstate(over="raise"):
        assert np.isfinite((features.astype(np.float64) ** 2).sum())


def test_values_so_small_that_features_vanish_are_told():
    tracker = Tracker.planned(spec(dtype="float32"), 1e-70 * ROWS[:64], np.ones(64))
    (warning,) = tracker.warnings
    assert "vanish in dtype='float32'; multiply X by a constant" in str(warning)
