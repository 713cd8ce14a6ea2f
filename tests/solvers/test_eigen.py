"""Leading eigenpairs against LAPACK, from nothing and from a start."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from streamchi2.solvers.eigen import Eigenpairs, leading_eigenpairs

EPS = np.finfo(np.float64).eps


def scatter_of(n_rows, width, decay, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, width)) * (1.0 + np.arange(width)) ** -decay
    turn, _ = np.linalg.qr(rng.normal(size=(width, width)))
    rows = rows @ turn
    return rows.T @ rows


@given(st.integers(1, 12), st.data())
@settings(max_examples=40)
def test_small_matrices_get_the_answer_of_lapack_with_fixed_signs(width, data):
    n = data.draw(st.integers(1, width))
    scatter = scatter_of(20, width, 1.0, seed=data.draw(st.integers(0, 1000)))
    pairs = leading_eigenpairs(scatter, n)
    exact = np.linalg.eigvalsh(scatter)[::-1][:n]
    atol = 64 * EPS * width * exact[0]
    assert_allclose(pairs.values, exact, atol=atol, rtol=0)
    assert_allclose(scatter @ pairs.vectors, pairs.vectors * pairs.values, atol=atol, rtol=0)
    assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(n), atol=64 * EPS * width)
    largest = np.abs(pairs.vectors).argmax(axis=0)
    assert (pairs.vectors[largest, np.arange(n)] > 0).all()


@pytest.mark.parametrize("decay", [0.5, 1.0])
def test_a_warm_start_captures_the_variance_of_the_exact_answer(decay):
    before, after = scatter_of(4000, 600, decay), scatter_of(4500, 600, decay)
    first = leading_eigenpairs(before, 40)
    warm = leading_eigenpairs(after, 40, first)
    exact = leading_eigenpairs(after, 40)
    assert warm.n_steps > 0
    assert exact.n_steps == 0
    # The residual estimate admits 1e-4; it is an estimate, hence the factor.
    assert 0.0 <= 1.0 - warm.values.sum() / exact.values.sum() < 3e-4
    assert_allclose(warm.vectors.T @ warm.vectors, np.eye(40), atol=1e-10)
    captured = np.einsum("ij,ij->j", warm.vectors, after @ warm.vectors)
    assert_allclose(captured, warm.values, rtol=1e-9)


def test_refreshing_the_same_matrix_again_and_again_converges():
    scatter = scatter_of(3000, 600, 1.0)
    exact = pairs = leading_eigenpairs(scatter, 30)
    for _ in range(5):
        pairs = leading_eigenpairs(scatter, 30, pairs)
    assert pairs.n_steps == 1
    assert_allclose(pairs.values, exact.values, rtol=1e-6)


@pytest.mark.parametrize(
    "scatter",
    [np.eye(600), np.zeros((600, 600)), np.diag(np.arange(600) < 5).astype(float)],
    ids=["flat", "zero", "low rank"],
)
def test_matrices_that_defeat_the_iteration_fall_back_to_lapack(scatter):
    start = leading_eigenpairs(scatter_of(700, 600, 1.0), 20)
    pairs = leading_eigenpairs(scatter, 20, start)
    assert_allclose(pairs.values, np.linalg.eigvalsh(scatter)[::-1][:20], atol=1e-12)
    assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(20), atol=1e-12)


def test_a_start_of_another_width_is_ignored():
    scatter = scatter_of(50, 6, 1.0)
    start = leading_eigenpairs(scatter_of(50, 7, 1.0), 2)
    assert_array_equal(
        leading_eigenpairs(scatter, 2, start).vectors, leading_eigenpairs(scatter, 2).vectors
    )


@pytest.mark.parametrize(
    ("n", "error", "message"),
    [
        (0, ValueError, "n must be at least 1, got 0"),
        (4, ValueError, "n must be at most the width 3, got 4"),
        (1.5, TypeError, "n must be an integer"),
    ],
)
def test_impossible_numbers_of_pairs_are_refused(n, error, message):
    with pytest.raises(error, match=message):
        leading_eigenpairs(np.eye(3), n)


def test_eigenpairs_cannot_be_changed():
    pairs = leading_eigenpairs(np.eye(3), 1)
    assert isinstance(pairs, Eigenpairs)
    with pytest.raises(AttributeError):
        pairs.values = np.zeros(1)
