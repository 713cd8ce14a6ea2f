"""Moments of each class: weighting classes afterwards equals weighting their rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from streamchi2.errors import StateMismatchError
from streamchi2.statistics.class_moments import ClassMoments
from streamchi2.statistics.class_weight import as_class_weight, class_factors
from streamchi2.statistics.separate_moments import SeparateMoments

N_ROWS = 60
_rng = np.random.default_rng(0)
ROWS = _rng.normal(size=(N_ROWS, 4)) + 100.0
LABELS = np.array(["a", "b", "c"])[_rng.choice(3, N_ROWS, p=[0.7, 0.2, 0.1])]
WEIGHTS = _rng.uniform(0.5, 2.0, N_ROWS)
# Sums of 60 squares of about 1 about a mean of 100, taken in another order.
ROUNDING = {"rtol": 1e-10, "atol": 1e-10}

factors_of_classes = st.lists(st.sampled_from([0.0, 0.25, 1.0, 7.0]), min_size=3, max_size=3)


@given(factors_of_classes)
@example([0.0, 0.0, 0.0])
def test_weighted_classes_have_the_moments_of_weighted_rows(factors):
    moments = SeparateMoments(4).update(ROWS, LABELS, weights=WEIGHTS)
    found = moments.weighted(np.array(factors)).summary()
    weights = WEIGHTS * np.array(factors)[np.searchsorted(moments.classes, LABELS)]
    direct = ClassMoments(4, classes=np.array(["a", "b", "c"]))
    direct.update(ROWS[weights > 0], LABELS[weights > 0], weights=weights[weights > 0])
    for name, expected in vars(direct.summary()).items():
        assert_allclose(getattr(found, name), expected, err_msg=name, **ROUNDING)


@given(st.integers(0, N_ROWS), st.integers(0, N_ROWS))
def test_merging_equals_having_seen_both_and_fading_commutes(first, second):
    left = SeparateMoments(4).update(ROWS[:first], LABELS[:first])
    right = SeparateMoments(4).update(ROWS[second:], LABELS[second:])
    both = SeparateMoments(4).update(
        np.concatenate([ROWS[:first], ROWS[second:]]),
        np.concatenate([LABELS[:first], LABELS[second:]]),
    )
    merged = left.copy().merge(right)
    assert np.array_equal(merged.classes, both.classes)
    assert_allclose(merged.weights, both.weights)
    assert_allclose(merged.features.scatter(), both.features.scatter(), **ROUNDING)
    faded = left.faded(0.5).merge(right.faded(0.5))
    assert_allclose(faded.weights, 0.5 * both.weights)
    assert left == SeparateMoments(4).update(ROWS[:first], LABELS[:first])  # nothing was shared


def test_a_late_class_gives_the_state_of_one_announced():
    announced = SeparateMoments(4).announce(np.array(["a", "b", "c", "d"]))
    assert announced.update(ROWS, LABELS).weighted(np.ones(4)).class_weights[3] == 0.0
    assert announced == SeparateMoments(4).update(ROWS, LABELS).announce(np.array(["d"]))


def test_a_refused_update_or_merge_leaves_no_trace():
    moments = SeparateMoments(4).update(ROWS, LABELS)
    before = moments.copy()
    wide = np.concatenate([ROWS, ROWS], axis=1)
    with pytest.raises(ValueError, match="4 columns"):
        moments.update(wide, LABELS)
    with pytest.raises(ValueError, match="labels must have shape"):
        moments.update(ROWS, LABELS[:-1])
    with pytest.raises(StateMismatchError, match="n_features must agree"):
        moments.merge(SeparateMoments(5))
    assert moments == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("heavy", "class_weight must be None, 'balanced' or a dict"),
        ({"a": -1.0}, "class_weight must be a non-negative finite number, got -1.0"),
        ({"a": np.nan}, "class_weight must be a non-negative finite number, got nan"),
    ],
)
def test_weights_that_are_none_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        as_class_weight(given)


def test_balanced_classes_have_equal_weight_whatever_was_only_announced():
    weights = np.array([6.0, 2.0, 0.0])
    factors = class_factors("balanced", np.arange(3), weights)
    assert_allclose(factors * weights, [4.0, 4.0, 0.0])
