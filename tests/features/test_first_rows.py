"""What the first rows of a stream decide: scale, number of terms, precision, and a hint."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from maps import spec_of, steps, tracker_of
from scipy import sparse
from strategies import histogram_rows

from streamchi2.errors import BasisHint, PrecisionWarning
from streamchi2.features import Tracker
from streamchi2.features.planning import usual_beta
from streamchi2.kernels import chi2_distance

BASES = ["orthogonal", "subspace", "landmarks"]


def beta_of(rows):
    return usual_beta(rows, np.ones(rows.shape[0]))


@given(histogram_rows(max_rows=40))
def test_beta_of_ordinary_rows_is_one_over_the_mean_distance(rows):
    filled = rows[rows.any(axis=1)]
    distances = chi2_distance(filled if len(np.unique(filled, axis=0)) > 1 else rows)
    apart = distances[distances > 0.0]
    if apart.size and distances.max() <= 5.0 * np.median(apart):
        assert beta_of(rows) == pytest.approx(1.0 / distances.mean(), rel=1e-12)


@given(st.integers(0, 63), st.floats(2.0, 12.0))
@example(0, 6.0)
def test_one_wild_row_does_not_set_the_scale(place, decades):
    rows = np.random.default_rng(0).dirichlet(np.ones(8), size=64)
    before = beta_of(rows)
    rows[place] *= 10.0**decades
    # One row of 64 is left out of the mean, which moves by its share of the pairs.
    assert beta_of(rows) == pytest.approx(before, rel=0.1)


def test_weights_are_repeated_rows():
    rows = np.random.default_rng(0).dirichlet(np.ones(8), size=20)
    rows[3] *= 1e6
    weights = np.arange(1, 21) % 3 + 1
    expected = beta_of(np.repeat(rows, weights, axis=0))
    assert usual_beta(rows, weights.astype(float)) == pytest.approx(expected, rel=1e-12)


def test_empty_rows_do_not_set_the_scale():
    rows = np.random.default_rng(0).dirichlet(np.ones(8), size=64)
    expected = beta_of(rows[:4])
    rows[4:] = 0.0
    for container in (np.asarray, sparse.csr_array):
        assert beta_of(container(rows)) == pytest.approx(expected, rel=1e-12)
    # One row and nothing else: half its sum is the only distance, of 2 * 63 among 64 * 64 pairs.
    rows[1:] = 0.0
    assert beta_of(rows) == pytest.approx(2.0 * 64**2 / (2 * 63))


def warned(spec, rows):
    """Return all that the tracker of a stream says."""
    return [warning for tracker in steps(spec, rows) for warning in tracker.warnings]


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("scale", [1e6, 1e-6])
def test_first_rows_of_another_scale_than_the_rest_are_told(digits, basis, scale):
    rows, spec = digits[0].copy(), spec_of(64, n_components=64, basis=basis, n_terms="auto")
    rows[: spec.first_rows] *= scale
    (warning,) = warned(spec, rows[:1100])
    assert isinstance(warning, PrecisionWarning)
    assert f"set by the first {spec.first_rows} rows" in str(warning)


def test_first_rows_of_one_class_are_not_of_another_scale(digits):
    rows, labels = digits
    said = warned(spec_of(64, n_components=64), rows[np.argsort(labels, kind="stable")])
    assert said == []


def test_a_beta_that_was_given_is_not_judged(digits):
    assert warned(spec_of(64, beta=1e-9), digits[0][:300]) == []


@pytest.mark.parametrize("offset", [0.1, 1e-3, 1e-5])
def test_rows_that_differ_within_a_bin_get_terms_and_digits_enough(digits, offset):
    close = 1.0 + offset * digits[0]
    tracker = tracker_of(spec_of(64, n_terms="auto"), close)
    # One term and float32 had an error of .23 here; of distances of 1e-12 float64 leaves little.
    assert tracker.parts[0].kernel_error().rms < 0.07


def sparse_counts(n_columns):
    random = np.random.default_rng(0)
    return sparse.csr_array(
        random.poisson(0.02, size=(300, n_columns)) + 1e-3 * np.eye(300, n_columns)
    )


def test_wide_and_sparse_rows_bring_a_hint_once():
    rows, spec = sparse_counts(600), spec_of(600, n_components=128, basis="subspace")
    (hint,) = warned(spec, rows)
    assert isinstance(hint, BasisHint)
    assert "basis='additive' with n_components=4096" in str(hint)
    assert Tracker.planned(spec, rows[:64], np.ones(64), final=False).warnings == ()


def test_others_bring_no_hint():
    rows = sparse_counts(600)
    for basis in ("additive", "orthogonal"):
        assert warned(spec_of(600, n_components=128, basis=basis), rows) == []
    for each in (sparse_counts(100), rows.toarray()):
        spec = spec_of(each.shape[1], n_components=128, basis="subspace")
        assert warned(spec, each) == []
