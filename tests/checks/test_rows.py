"""Rows and weights: one layout in memory, and refusals of what is no number or vanishes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator

from streamchi2.checks.rows import (
    Table,
    as_estimator_features,
    as_estimator_rows,
    as_features,
    as_rows,
    as_values,
    as_weights,
)
from streamchi2.checks.targets import as_numbers

ROWS = np.random.default_rng(0).gamma(0.3, size=(301, 37))
LAYOUTS = {
    "column by column": np.asfortranarray(ROWS),
    "strided": np.repeat(np.repeat(ROWS, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": ROWS[::-1, ::-1].copy()[::-1, ::-1],
    "frame": pd.DataFrame(ROWS),
    "polars": pl.DataFrame(ROWS),
    "not aligned": np.frombuffer(b"\0" + ROWS.tobytes(), np.float64, offset=1).reshape(ROWS.shape),
    "other byte order": ROWS.astype(">f8"),
    "objects": ROWS.astype(object),
}
CHECKS = {
    "rows": lambda X: as_estimator_rows(BaseEstimator(), X, reset=True),
    "features": lambda X: as_estimator_features(BaseEstimator(), X, reset=True),
    "plain features": as_features,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("check", CHECKS)
def test_rows_have_one_layout_so_that_sums_round_alike(layout, check):
    rows = CHECKS[check](LAYOUTS[layout])
    assert rows.flags.c_contiguous
    assert rows.flags.aligned
    assert_array_equal(rows, ROWS, strict=True)
    assert as_numbers(None, np.asfortranarray(ROWS), 301).flags.c_contiguous


def test_rows_in_their_layout_are_not_copied_and_strided_sparse_values_become_one_piece():
    assert as_estimator_rows(BaseEstimator(), ROWS, reset=True) is ROWS
    stored = sparse.csr_array(ROWS)
    strided = sparse.csr_array(
        (np.repeat(stored.data, 2)[::2], stored.indices, stored.indptr), shape=ROWS.shape
    )
    rows = as_rows(strided)
    assert rows.data.flags.c_contiguous
    assert_array_equal(rows.toarray(), ROWS)


@pytest.mark.parametrize("check", [*CHECKS.values(), as_rows, as_values])
def test_masked_rows_are_refused_in_lists_too(check):
    masked = np.ma.array(ROWS[:2, :2], mask=[[0, 0], [0, 1]])
    for rows in (masked, [ROWS[0, :2], masked[1]]):
        with pytest.raises(TypeError, match="X must be a plain array, got a masked one"):
            check(rows)
    with pytest.raises(TypeError, match="sample_weight must be a plain array"):
        as_weights(np.ma.array([1.0, 2.0], mask=[False, True]), 2)


DAYS = pd.date_range("2020-01-01", periods=2)


@pytest.mark.parametrize("check", CHECKS.values())
@pytest.mark.parametrize("times", [DAYS, DAYS.tz_localize("UTC"), DAYS - DAYS[0]])
@pytest.mark.parametrize("other", [1.0, 1, "a"])
def test_dates_and_durations_are_refused_by_column(check, times, other):
    with pytest.raises(TypeError, match=r"X must hold numbers, got .* in column 'day'"):
        check(pd.DataFrame({"a": [other] * 2, "day": times}))


@pytest.mark.parametrize("time", [np.timedelta64(3, "s"), np.datetime64("2020-01-01")])
def test_times_among_objects_are_refused(time):
    for check in CHECKS.values():
        with pytest.raises(TypeError, match=r"X must hold numbers, got .* at row 0, column 1"):
            check(np.array([[1.0, time]], dtype=object))
    with pytest.raises(TypeError, match=r"y must hold numbers, got .* at row 1"):
        as_numbers(None, np.array([1.0, time], dtype=object), 2)


@pytest.mark.parametrize("value", [10**400, -(10**400)], ids=["above", "below"])
def test_integers_beyond_float64_are_refused(value):
    for check in CHECKS.values():
        with pytest.raises(ValueError, match=r"got an integer beyond .* at row 1, column 0"):
            check([[1], [value]])
    with pytest.raises(ValueError, match=r"sample_weight must be finite.* beyond .* row 1"):
        as_weights([1, value], 2)


@pytest.mark.parametrize("weight", [1e-308, 5e-324, 1e-151])
def test_weights_that_vanish_in_sums_are_refused(weight):
    with pytest.raises(ValueError, match=r"0 or at least 1e-150.*multiply.* at row 1"):
        as_weights([0.0, weight], 2)
    assert_array_equal(as_weights([0.0, 1e-150], 2), [0.0, 1e-150])


def test_columns_are_compared_before_values():
    frame = pd.DataFrame(ROWS[:3, :2], columns=["red", "blue"])
    estimator = BaseEstimator()
    estimator.n_features_in_, estimator.feature_names_in_ = 2, np.array(["red", "blue"], object)
    assert_array_equal(as_estimator_rows(estimator, frame, reset=False), ROWS[:3, :2])
    table = Table(ROWS[:3, :2], np.array(["red", "blue"], object))
    assert_array_equal(as_estimator_rows(estimator, table, reset=False), ROWS[:3, :2])
    swapped = Table(table.rows, table.columns[::-1])
    for rows in (frame[["blue", "red"]] * np.nan, frame[["red"]], swapped):
        with pytest.raises(ValueError, match=r"feature names|column names"):
            as_estimator_rows(estimator, rows, reset=False)
    del estimator.feature_names_in_
    with pytest.raises(ValueError, match="has 3 features"):
        as_estimator_rows(estimator, np.full((2, 3), np.nan), reset=False)
