import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from references import direct_coordinates_loop
from scipy import sparse
from strategies import BAD_ROWS, histogram_rows, nodes, positive_values, value_arrays

from streamchi2 import ChebyshevSeries, DirectSeries, LogHistogram, VZSeries
from streamchi2.series.series import harmonic_mean

EPS = np.finfo(np.float64).eps

some_series = st.one_of(
    nodes.map(DirectSeries),
    st.builds(ChebyshevSeries, st.integers(1, 7), positive_values),
    st.builds(VZSeries, st.sampled_from([1, 3, 5]), st.floats(4.0, 60.0)),
)


@given(nodes, value_arrays, value_arrays)
def test_error_of_the_direct_series_is_its_formula(k, x, y):
    series = DirectSeries(k)
    inner = series.coordinates(x).T @ series.coordinates(y)
    exact = harmonic_mean(x[:, None], y)
    error = series.residual(x)[:, None] * series.residual(y) * exact
    # Each of N products of size at most sqrt(xy) is rounded a few times.
    rounding = 16 * len(k) * EPS * np.sqrt(x[:, None] * y)
    assert np.all(np.abs(exact - inner - error) <= rounding)


@given(nodes, value_arrays, st.randoms(use_true_random=False))
def test_order_of_nodes_does_not_change_the_kernel(k, x, random):
    kernel = [
        coordinates.T @ coordinates
        for coordinates in (
            DirectSeries(k).coordinates(x),
            DirectSeries(random.sample(k, len(k))).coordinates(x),
        )
    ]
    rounding = 16 * len(k) * EPS * np.sqrt(x[:, None] * x)
    assert np.all(np.abs(kernel[0] - kernel[1]) <= rounding)


@given(nodes, positive_values)
def test_direct_coordinates_equal_the_plain_loop(k, x):
    found = DirectSeries(k).coordinates(np.array([x]))[:, 0]
    assert_allclose(found, direct_coordinates_loop(x, k), rtol=1e-13, atol=1e-300)


@given(some_series, histogram_rows())
def test_gram_matrices_are_positive_semi_definite(series, rows):
    gram = (coordinates := series.transform(rows)) @ coordinates.T
    assert np.linalg.eigvalsh(gram)[0] >= -64 * EPS * np.trace(gram)


@given(some_series, value_arrays, value_arrays)
def test_errors_stay_below_the_bound(series, x, y):
    low, high = min(x.min(), y.min()), max(x.max(), y.max())
    error = harmonic_mean(x[:, None], y) - series.coordinates(x).T @ series.coordinates(y)
    # Two bounds come from a grid, whose neighbours differ by far less than 2 %.
    assert np.abs(error).max() <= 1.02 * series.error_bound(low, high) + 1e-12 * high


@given(some_series, histogram_rows())
def test_sparse_rows_give_the_coordinates_of_dense_ones(series, rows):
    found = series.transform(sparse.csr_array(rows))
    assert sparse.issparse(found)
    assert np.array_equal(found.toarray(), series.transform(rows))


@given(some_series, st.floats(-30, 30), st.floats(-3, 3))
def test_float32_stays_finite_and_close_over_sixty_decades(series, exponent, offset):
    # k, s and x may all lie anywhere in [1e-30, 1e30]; offset puts x close to the nodes too.
    middle = series.k[0] if isinstance(series, DirectSeries) else 1.0
    values = np.array([0.0, 10.0**exponent, middle * 10.0**offset], dtype=np.float32)
    narrow = series.coordinates(values)
    wide = series.coordinates(values.astype(np.float64))
    assert narrow.dtype == np.float32
    assert np.all(np.isfinite(narrow))
    assert not narrow[:, 0].any()
    # The recurrences multiply by log x, so rounding grows by that factor with each term.
    growth = (2 + np.abs(np.log(np.maximum(values, 1e-38)))) ** (series.n_terms - 1)
    if isinstance(series, DirectSeries):
        growth = 1.0
    elif isinstance(series, VZSeries):
        growth = 100.0
    tolerance = 32 * series.n_terms * np.finfo(np.float32).eps * growth
    assert np.all(np.abs(narrow - wide) <= tolerance * np.sqrt(values.astype(np.float64)) + 1e-37)


@given(st.floats(-30, 30), st.sampled_from([-2, -1, 1, 2]))
def test_float32_keeps_the_sign_beside_a_node(exponent, steps):
    node = np.float32(10.0**exponent)
    value = node
    for _ in range(abs(steps)):
        value = np.nextafter(value, np.float32(np.inf if steps > 0 else 0))
    second = DirectSeries([node, node]).coordinates(np.array([value]))[1, 0]
    assert np.sign(second) == np.sign(steps)


def test_float32_serves_the_whole_range_of_nodes():
    values = np.array([0.0, 1e-30, 1.0, 1e30], dtype=np.float32)
    for node in (1e-300, 1e-30, 1e30, 1e300):
        assert np.all(np.isfinite(DirectSeries([node, 1.0]).coordinates(values)))


def test_chebyshev_error_falls_like_one_over_n():
    x = np.geomspace(0.01, 100.0, 60)
    errors = []
    for n_terms in (8, 16, 32, 64, 128):
        c = ChebyshevSeries(n_terms).coordinates(x)
        errors.append(np.abs(harmonic_mean(x[:, None], x) - c.T @ c).max())
    halved = np.array(errors[1:]) / errors[:-1]
    assert np.all((halved > 0.4) & (halved < 0.6))


def test_scaled_chebyshev_is_far_better_on_normalised_rows(digits):
    histogram = LogHistogram().update(digits[0])
    series = ChebyshevSeries.from_histogram(histogram, 5)
    values = histogram.centres
    exact = harmonic_mean(values[:, None], values)

    def mean_error(series):
        c = series.coordinates(values)
        return histogram.weights @ np.abs(exact - c.T @ c) @ histogram.weights

    assert mean_error(ChebyshevSeries(5)) > 10 * mean_error(series)


def test_fitted_vz_period_beats_its_neighbours_and_the_fixed_table(digits):
    histogram = LogHistogram().update(digits[0])
    for n_terms, table_interval in ((3, 0.8), (5, 0.5), (7, 0.4)):  # scikit-learn's table
        fitted = VZSeries.from_histogram(histogram, n_terms)
        values = histogram.centres
        exact = harmonic_mean(values[:, None], values)

        def mean_square_error(period, n_terms=n_terms, values=values, exact=exact):
            c = VZSeries(n_terms, period).coordinates(values)
            return histogram.weights @ np.square(exact - c.T @ c) @ histogram.weights

        found = mean_square_error(fitted.period)
        others = [0.9 * fitted.period, 1.1 * fitted.period, 2 * np.pi / table_interval]
        assert found < min(mean_square_error(period) for period in others)


def test_vz_converges_to_the_harmonic_mean():
    # What is left of the spectrum beyond 60 steps of 2 pi/60 is below exp(-2 pi^2), times x.
    x = np.geomspace(0.1, 10.0, 30)
    c = VZSeries(121, period=60.0).coordinates(x)
    assert_allclose(c.T @ c, harmonic_mean(x[:, None], x), atol=10 * np.exp(-2 * np.pi**2))


@pytest.mark.parametrize("series", [DirectSeries([1.0]), ChebyshevSeries(2), VZSeries(3, 10.0)])
@pytest.mark.parametrize("kind", BAD_ROWS)
def test_bad_rows_are_refused(series, kind):
    with pytest.raises((ValueError, TypeError)):
        series.transform(BAD_ROWS[kind])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DirectSeries([]), r"k must be a flat array of at least one node, got shape"),
        (lambda: DirectSeries([[1.0]]), r"flat array .* got shape \(1, 1\)"),
        (lambda: DirectSeries([1.0, 0.0]), "k must be positive and finite, got 0.0 at position 1"),
        (lambda: DirectSeries([np.nan]), "k must be positive and finite, got nan at position 0"),
        (lambda: DirectSeries(["a"]), "k must hold numbers, got dtype"),
        (lambda: ChebyshevSeries(0), "n_terms must be at least 1, got 0"),
        (lambda: ChebyshevSeries(2.5), "n_terms must be an integer, got 2.5"),
        (lambda: ChebyshevSeries(2, -1.0), "scale must be positive and finite, got -1.0"),
        (lambda: VZSeries(4, 10.0), "n_terms must be odd for the vz series, got 4"),
        (lambda: VZSeries(3, np.inf), "period must be positive and finite, got inf"),
        (lambda: DirectSeries([1.0]).error_bound(2.0, 1.0), "low must not exceed high"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
