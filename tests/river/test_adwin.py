"""The window of errors: the alarms of river's ADWIN, from counts alone."""

import random

from hypothesis import given
from hypothesis import strategies as st
from river import drift

from streamchi2.river.adwin import MAX_BUCKETS, Adwin

PARTS = st.lists(st.tuples(st.floats(0, 1), st.integers(1, 500)), min_size=1, max_size=4)


def errors(parts, seed):
    draws = random.Random(seed)
    return [draws.random() < rate for rate, n_rows in parts for _ in range(n_rows)]


# The two sides round the variance differently, by 1e-13 or so; the threshold is a logarithm, so
# that no difference of two fractions comes that close to it except by accident.
@given(PARTS, st.integers(0, 2**32))
def test_alarms_are_those_of_rivers_adwin(parts, seed):
    mine, theirs = Adwin(), drift.ADWIN()
    for row, error in enumerate(errors(parts, seed)):
        mine.update(error)
        theirs.update(error)
        assert mine.drift_detected == theirs.drift_detected, row


def test_there_are_alarms_to_compare():
    window, alarms = Adwin(), []
    for row, error in enumerate(errors([(0.1, 400), (0.6, 400), (0.1, 400)], seed=0)):
        window.update(error)
        if window.drift_detected:
            alarms.append(row)
    assert len(alarms) >= 2


def test_the_window_keeps_every_row_in_few_counts():
    window, stream = Adwin(), errors([(0.3, 20_000)], seed=1)
    for error in stream:
        window.update(error)
    assert window.n_rows == len(stream)
    assert sum(len(buckets) << level for level, buckets in enumerate(window.counts)) == len(stream)
    assert sum(map(sum, window.counts)) == sum(stream)
    assert all(len(buckets) <= MAX_BUCKETS for buckets in window.counts)
