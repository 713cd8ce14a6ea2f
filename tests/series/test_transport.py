import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from strategies import nodes, value_arrays

from streamchi2 import (
    DirectSeries,
    LogHistogram,
    VZSeries,
    refined_parameters,
    zolotarev_parameters,
)
from streamchi2.errors import StateMismatchError
from streamchi2.series.transport import RotatedSeries, misalignment, transported

EPS = np.finfo(np.float64).eps


@st.composite
def two_node_sets(draw):
    old = draw(nodes)
    return old, draw(st.permutations(old)), [k * draw(st.floats(0.5, 2.0)) for k in old]


def sampled_histogram(values):
    return LogHistogram().update(values)


@given(two_node_sets(), value_arrays)
def test_the_rotation_is_orthogonal_and_leaves_the_kernel_alone(node_sets, values):
    old, _, near = node_sets
    new, _ = transported(
        RotatedSeries(DirectSeries(old)), DirectSeries(near), sampled_histogram(values)
    )
    turn = np.array(new.rotation)
    assert_allclose(turn @ turn.T, np.eye(len(old)), atol=64 * EPS)
    plain, turned = DirectSeries(near).coordinates(values), new.coordinates(values)
    # A product of N terms, each rounded N times, relative to the lengths.
    lengths = np.linalg.norm(plain, axis=0)
    rounding = 64 * EPS * np.outer(lengths, lengths).max()
    assert_allclose(turned.T @ turned, plain.T @ plain, atol=rounding)


@given(two_node_sets(), value_arrays)
def test_the_order_of_k_is_undone_by_transport(node_sets, values):
    old, shuffled, _ = node_sets
    histogram = sampled_histogram(values)
    new, residual = transported(RotatedSeries(DirectSeries(old)), DirectSeries(shuffled), histogram)
    # The residual is the root of a difference of squares: rounding enters by its root.
    assert residual < 1e-6
    lengths = np.sqrt(histogram.centres)
    moved = np.abs(
        new.coordinates(histogram.centres) - DirectSeries(old).coordinates(histogram.centres)
    )
    assert (moved.max(axis=0) <= 1e-5 * lengths.max()).all()


def test_the_residual_is_the_relative_distance_of_coordinates(digits):
    values = digits[0][digits[0] > 0]
    histogram = LogHistogram(bins_per_octave=4096).update(values)
    old = RotatedSeries(DirectSeries(zolotarev_parameters(1e-4, 1.0, 4)))
    new, residual = transported(old, DirectSeries(refined_parameters(histogram, 4)), histogram)
    before, after = old.coordinates(values), new.coordinates(values)
    measured = np.sqrt(np.square(before - after).sum() / np.square(before).sum())
    # The histogram is read in at most 384 bins over some six octaves: within 2 % of the values.
    assert_allclose(residual, measured, rtol=0.05)
    assert_allclose(misalignment(old, new, histogram), residual, rtol=1e-12)


def test_no_other_rotation_is_better(digits):
    histogram = LogHistogram().update(digits[0])
    old = RotatedSeries(DirectSeries(zolotarev_parameters(1e-4, 1.0, 3)))
    new, residual = transported(old, DirectSeries(refined_parameters(histogram, 3)), histogram)
    random = np.random.default_rng(0)
    for spread in (1e-3, 1e-2, 1.0):
        for _ in range(20):
            turn, upper = np.linalg.qr(np.array(new.rotation) + spread * random.normal(size=(3, 3)))
            other = RotatedSeries(new.series, tuple(map(tuple, turn * np.sign(np.diag(upper)))))
            assert misalignment(old, other, histogram) >= residual * (1 - 1e-9)


def test_a_chain_of_many_estimates_stays_near_the_first_coordinates(digits):
    rows = digits[0]
    first = RotatedSeries(DirectSeries(refined_parameters(LogHistogram().update(rows[:64]), 3)))
    present, total = first, 0.0
    random = np.random.default_rng(1)
    for seen in np.linspace(100, len(rows), 40).astype(int):
        histogram = LogHistogram().update(rows[:seen])
        k = random.permutation(refined_parameters(histogram, 3))  # a nuisance, to be turned away
        present, residual = transported(present, DirectSeries(k), histogram)
        total += residual
    turn = np.array(present.rotation)
    assert_allclose(turn @ turn.T, np.eye(3), atol=64 * EPS)  # does not decay along the chain
    drift = misalignment(first, present, LogHistogram().update(rows))
    assert drift < 0.01
    # Distances add up at most, but each was measured under the histogram of its time: twice that.
    assert drift < 2 * total


def test_series_of_other_kinds_can_be_transported(digits):
    histogram = LogHistogram().update(digits[0])
    old = RotatedSeries(DirectSeries(refined_parameters(histogram, 7)))
    _, residual = transported(old, VZSeries.from_histogram(histogram, 7), histogram)
    assert residual < 0.05
    assert misalignment(old, VZSeries.from_histogram(histogram, 7), histogram) > 0.5


def test_numbers_of_terms_must_agree():
    old = RotatedSeries(DirectSeries([0.1, 0.2]))
    with pytest.raises(StateMismatchError, match=r"n_terms must agree .* got 2 and 3"):
        transported(old, DirectSeries([0.1, 0.2, 0.3]), LogHistogram().update([0.1]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rotated_coordinates_fill_the_room_they_are_given(dtype):
    turned = RotatedSeries(DirectSeries([0.1, 0.01]), ((0.6, 0.8), (-0.8, 0.6)))
    values = np.random.default_rng(0).gamma(0.5, size=(5, 4)).astype(dtype)
    room = np.empty((5, 2, 4), dtype=dtype).transpose(1, 0, 2)
    assert turned.coordinates(values, out=room) is room
    assert_array_equal(room, turned.coordinates(values))
    assert room.dtype == dtype
    assert not turned.coordinates(np.zeros(3)).any()
