import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from references import chi2_distance_loop
from scipy import sparse
from scipy.special import erfc, gammaincc
from sklearn.metrics.pairwise import chi2_kernel
from strategies import BAD_ROWS, histogram_rows

from streamchi2 import chi2_distance, exp_chi2_kernel

EPS = np.finfo(np.float64).eps


@given(histogram_rows())
def test_distance_equals_the_plain_loop(rows):
    expected = [[chi2_distance_loop(x, y) for y in rows] for x in rows]
    assert_allclose(chi2_distance(rows), expected, rtol=64 * EPS)


@given(histogram_rows(), st.integers(-1000, 1000))
def test_any_scale_of_values_gives_the_distances_of_the_plain_loop(rows, exponent):
    unit = 2.0**exponent  # exact, wherever nothing overflows or becomes subnormal
    scaled = rows * unit
    kept = (scaled / unit == rows) & (scaled < 2.0**1000)
    scaled, rows = np.where(kept, scaled, 0.0), np.where(kept, rows, 0.0)
    expected = np.array([[chi2_distance_loop(x, y) for y in rows] for x in rows])
    # Terms of a distance below the least float64 round to its multiples.
    least = rows.shape[1] * np.finfo(np.float64).smallest_subnormal
    assert_allclose(chi2_distance(scaled), expected * unit, rtol=64 * EPS, atol=least)


def test_the_distance_of_a_row_to_itself_is_a_plain_zero():
    assert not np.signbit(chi2_distance(np.eye(3))).any()


@given(histogram_rows())
def test_sparse_rows_give_the_distances_of_dense_ones(rows):
    # "Not in y" is a difference of sums, so rounding is relative to the sums.
    rounding = 8 * EPS * rows.shape[1] * rows.sum(axis=1).max()
    for left in (rows, sparse.csr_array(rows), sparse.coo_array(rows)):
        found = chi2_distance(left, sparse.csc_array(rows))
        assert_allclose(found, chi2_distance(rows), rtol=1e-13, atol=rounding)
    assert not np.diag(chi2_distance(sparse.csr_array(rows))).any()


def test_exp_chi2_is_scikit_learns_kernel(digits):
    rows = digits[0].copy()  # scikit-learn wants to be able to write
    found = exp_chi2_kernel(rows[:90], rows[90:150], beta=3.0)
    assert_allclose(found, chi2_kernel(rows[:90], rows[90:150], gamma=1.5), rtol=1e-12)


def test_one_degree_of_freedom_is_the_complementary_error_function(digits):
    rows = digits[0][:50]
    expected = erfc(np.sqrt(2.0 * chi2_distance(rows)))
    assert_allclose(exp_chi2_kernel(rows, beta=2.0, dof=1), expected, rtol=1e-12)


@pytest.mark.parametrize("dof", [0.1, 1, 2, 5])
def test_kernel_is_one_at_home_and_falls_with_distance(dof):
    line = np.linspace(0.0, 1.0, 9)
    rows = np.column_stack([line, 1.0 - line])
    kernel = exp_chi2_kernel(rows, rows[:1], beta=4.0, dof=dof)[:, 0]
    assert kernel[0] == 1.0
    assert np.all(np.diff(kernel) < 0)


def test_many_degrees_of_freedom_are_served():
    assert_allclose(exp_chi2_kernel([[40.0]], [[0.0]], dof=40.0), gammaincc(20.0, 20.0), rtol=1e-12)


def test_huge_and_tiny_values_neither_overflow_nor_vanish():
    rows = np.array([[1e308, 1e-300], [9e307, 2e-300], [0.0, 0.0]])
    distance = chi2_distance(rows)
    assert np.all(np.isfinite(distance))
    assert_allclose(distance[0, 1], 0.5 * 1e308 * 0.1**2 / 1.9, rtol=1e-12)
    assert exp_chi2_kernel(rows, beta=1e9)[0, 1] == 0.0


@pytest.mark.parametrize("kind", BAD_ROWS)
@pytest.mark.parametrize("name", ["X", "Y"])
def test_bad_rows_are_refused_by_name(kind, name):
    arguments = {"X": np.ones((2, 2)), "Y": np.ones((2, 2)), name: BAD_ROWS[kind]}
    with pytest.raises((ValueError, TypeError)) as refusal:
        chi2_distance(**arguments)
    if kind in ("negative", "nan", "infinite"):
        row = 1 if kind == "negative" else 0
        assert f"{name} must" in str(refusal.value)
        assert f"at row {row}, column 1" in str(refusal.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"beta": 0.0}, "beta must be positive and finite, got 0.0"),
        ({"beta": np.nan}, "beta must be positive and finite, got nan"),
        ({"dof": -1}, "dof must be positive and finite, got -1"),
        ({"beta": "1"}, "beta must be a number, got '1'"),
        ({"Y": np.ones((2, 3))}, "same number of columns, got 2 and 3"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        exp_chi2_kernel(np.ones((2, 2)), **arguments)


def test_a_bad_value_in_sparse_rows_is_located():
    rows = sparse.csr_array(np.array([[0.0, 1.0], [2.0, 0.0], [0.0, -3.0]]))
    with pytest.raises(ValueError, match=r"got -3.0 at row 2, column 1"):
        chi2_distance(rows)


def test_rows_given_are_not_changed():
    rows = sparse.csr_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    rows.has_canonical_format = False
    before = rows.copy()
    chi2_distance(rows)
    assert np.array_equal(rows.data, before.data)
    assert np.array_equal(rows.indices, before.indices)
