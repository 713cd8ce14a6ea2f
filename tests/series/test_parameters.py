import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from references import harmonic_kernel
from scipy.optimize import check_grad
from strategies import positive_values, value_arrays

from streamchi2 import (
    ChebyshevSeries,
    DirectSeries,
    LogHistogram,
    VZSeries,
    greedy_parameters,
    refined_parameters,
    zolotarev_parameters,
)
from streamchi2.series import predicted_error
from streamchi2.series.parameters import _LogError
from streamchi2.series.series import bins_and_shares

SETS = ["digits", "fashion_bow", "fashion_hog", "spambase", "news20_tf"]

ranges = st.tuples(positive_values, st.floats(0.01, 12)).map(lambda t: (t[0], t[0] * 10 ** t[1]))


@given(ranges, st.integers(1, 8))
def test_zolotarev_residual_equioscillates(ends, n_terms):
    low, high = ends
    k = zolotarev_parameters(low, high, n_terms)
    series = DirectSeries(k)
    # The extremes: both ends, and the geometric means of their optimal interlacing points.
    grid = np.geomspace(low, high, 20_001)
    height = np.abs(series.residual(grid))
    peaks = [part.max() for part in np.split(height, np.searchsorted(grid, np.sort(k)))]
    assert len(peaks) == n_terms + 1
    # The grid misses a peak by half a step h: a relative error of about (h/2)^2 / width^2.
    assert_allclose(peaks, np.max(peaks), rtol=1e-4, atol=1e-13)
    assert np.all(np.diff(k) < 0)


@given(ranges, st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_no_other_nodes_have_a_smaller_worst_residual(ends, n_terms, seed):
    low, high = ends
    grid = np.geomspace(low, high, 4001)
    best = zolotarev_parameters(low, high, n_terms)
    random = np.random.default_rng(seed)
    close = best * np.exp(random.normal(0.0, 0.1, n_terms))
    far = np.exp(random.uniform(np.log(low), np.log(high), n_terms))
    for other in (close, far):
        worst = np.abs(DirectSeries(other).residual(grid)).max()
        assert np.abs(DirectSeries(best).residual(grid)).max() <= worst * (1 + 1e-4) + 1e-13


def test_zolotarev_survives_a_point_and_three_hundred_decades():
    assert_allclose(zolotarev_parameters(3.0, 3.0, 4), 3.0)
    k = zolotarev_parameters(1e-300, 1.0, 6)
    assert_allclose(np.log(k) + np.log(k[::-1]), np.log(1e-300), rtol=1e-12)


@given(value_arrays, st.integers(1, 5))
def test_refined_is_never_worse_than_greedy(values, n_terms):
    histogram = LogHistogram().update(values)
    greedy = predicted_error(histogram, greedy_parameters(histogram, n_terms)).rms
    refined = predicted_error(histogram, refined_parameters(histogram, n_terms)).rms
    assert refined <= greedy * (1 + 1e-9) + 1e-12 * values.max()


@settings(max_examples=8)
@given(st.floats(-9, 9), st.integers(1, 4))
def test_nodes_follow_the_scale_of_the_data(exponent, n_terms):
    values = np.random.default_rng(0).gamma(0.5, size=500)
    scale = 2.0 ** round(exponent * 3)  # a power of two leaves the bins where they were
    for choose in (greedy_parameters, refined_parameters):
        plain = choose(LogHistogram().update(values), n_terms)
        scaled = choose(LogHistogram().update(values * scale), n_terms)
        assert_allclose(scaled, plain * scale, rtol=1e-6)


def test_refined_halves_the_error_of_greedy_on_real_data(digits, shared_set):
    ratios = []
    for name in SETS:
        rows = digits[0] if name == "digits" else shared_set(name)
        histogram = LogHistogram().update(rows)
        for n_terms in (2, 3, 4, 5):
            greedy = predicted_error(histogram, greedy_parameters(histogram, n_terms)).rms
            ratios.append(
                greedy / predicted_error(histogram, refined_parameters(histogram, n_terms)).rms
            )
    assert min(ratios) >= 1
    assert np.exp(np.mean(np.log(ratios))) >= 2


def test_analytic_gradient_agrees_with_differences():
    random = np.random.default_rng(0)
    problem = _LogError(np.geomspace(1e-3, 1.0, 50), random.dirichlet(np.ones(50)))
    for _ in range(5):
        at = random.uniform(np.log(1e-3), 0.0, 4)
        slope = np.linalg.norm(problem(at)[1])
        assert check_grad(lambda k: problem(k)[0], lambda k: problem(k)[1], at) < 1e-5 * slope


@pytest.mark.parametrize(
    "make",
    [
        lambda h: DirectSeries(greedy_parameters(h, 3)),
        lambda h: ChebyshevSeries.from_histogram(h, 3),
        lambda h: VZSeries.from_histogram(h, 3),
    ],
    ids=["direct", "chebyshev", "vz"],
)
def test_predicted_error_is_the_error_measured_on_samples(make):
    random = np.random.default_rng(0)
    histogram = LogHistogram().update(random.gamma(0.5, size=5000))
    series = make(histogram)
    shares = histogram.weights / histogram.weights.sum()
    x, y = random.choice(histogram.centres, size=(2, 200_000), p=shares)
    inner = (series.coordinates(x) * series.coordinates(y)).sum(axis=0)
    squares = (2 * x * y / (x + y) - inner) ** 2
    predicted = predicted_error(histogram, series)
    noise = squares.std() / np.sqrt(squares.size)
    # Beside the noise: bins are joined to at most 384, which moves values by up to 1 %.
    assert abs(squares.mean() - predicted.rms**2) < 4 * noise + 0.02 * predicted.rms**2
    lost = x - np.square(series.coordinates(x)).sum(axis=0)
    noise = lost.std() / np.sqrt(lost.size)
    assert abs(lost.mean() - predicted.shrinkage) < 4 * noise + 0.02 * abs(predicted.shrinkage)
    assert predicted.worst >= np.sqrt(squares.max()) * 0.99


def test_five_terms_reach_five_millionths_on_digits(digits):
    rows = digits[0][::6]
    k = refined_parameters(LogHistogram().update(digits[0]), 5)
    coordinates = DirectSeries(k).transform(rows)
    error = np.abs(coordinates @ coordinates.T - harmonic_kernel(rows))
    assert error.mean() <= 5e-6


def test_a_single_value_needs_a_single_node():
    histogram = LogHistogram().update([0.25] * 10)
    for choose in (greedy_parameters, refined_parameters):
        k = choose(histogram, 3)
        assert np.all((k >= histogram.low) & (k <= histogram.high))


@pytest.mark.parametrize("choose", [greedy_parameters, refined_parameters])
@pytest.mark.parametrize(
    ("histogram", "n_terms", "message"),
    [
        (LogHistogram(), 3, "histogram must hold at least one non-zero value"),
        (LogHistogram().update([0.0, 0.0]), 3, "histogram must hold at least one non-zero value"),
        (LogHistogram().update([1.0]), 0, "n_terms must be at least 1, got 0"),
        (LogHistogram().update([1.0]), "3", "n_terms must be an integer, got '3'"),
    ],
)
def test_impossible_requests_are_refused(choose, histogram, n_terms, message):
    with pytest.raises((ValueError, TypeError), match=message):
        choose(histogram, n_terms)


def test_zolotarev_refuses_an_empty_range():
    with pytest.raises(ValueError, match=r"low must be positive and finite, got 0\.0"):
        zolotarev_parameters(0.0, 1.0, 3)
    with pytest.raises(ValueError, match="low must not exceed high"):
        zolotarev_parameters(2.0, 1.0, 3)


@pytest.mark.parametrize(
    "values",
    [[1e-250, 0.3, 0.5, 1.0], [1e-300, 1e300], [5e-324, 1.0], [5e-324, 1e308], [1e-170, 2.0, 3.0]],
    ids=str,
)
@pytest.mark.parametrize("n_terms", [1, 2, 5])
def test_values_of_any_spread_have_nodes_within_their_range(values, n_terms):
    histogram = LogHistogram().update(values)
    nodes = refined_parameters(histogram, n_terms)
    centres, _ = bins_and_shares(histogram)
    low, high = centres[[0, -1]]
    # Descent is in log k, whose rounding errors grow with its size, up to 710.
    rounding = 1000 * np.finfo(np.float64).eps
    assert (nodes >= low * (1 - rounding)).all()
    assert (nodes <= high * (1 + rounding)).all()
    greedy = predicted_error(histogram, greedy_parameters(histogram, n_terms))
    assert predicted_error(histogram, nodes).rms <= greedy.rms * (1 + rounding)
