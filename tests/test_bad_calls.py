"""No bad call leaks: each is refused with a documented error and leaves the state bit for bit."""

import numpy as np
import pytest
from bad_calls import TABLE as PLAIN_TABLE
from bad_calls import fitted
from river_bad_calls import RIVER_TABLE
from saved_examples import ROWS

from streamchi2.files import dumped
from streamchi2.testing import refusal

TABLE = PLAIN_TABLE | RIVER_TABLE


@pytest.mark.parametrize("section", TABLE)
def test_bad_calls_are_refused_without_a_trace(section):
    leaks = []
    for case, make, call in TABLE[section]():
        try:
            if not str(refusal(make(), call)):
                leaks.append(f"{case}: an error without a message")
        except AssertionError as leak:
            leaks.append(f"{case}: {leak}")
    assert not leaks, "\n".join(leaks)


def test_the_table_is_as_large_as_it_was():
    assert sum(len(list(calls())) for calls in TABLE.values()) >= 3500


@pytest.mark.parametrize("name", ["sampler", "classifier"])
def test_a_refused_first_batch_draws_nothing_from_a_shared_random_state(name):
    random = np.random.RandomState(0)
    before = random.get_state()[2]
    estimator = fitted(name).__class__(8, random_state=random, beta=-1.0)
    with pytest.raises(ValueError, match="beta"):
        estimator.partial_fit(ROWS[:5], *([] if name == "sampler" else [[0, 1, 0, 1, 0]]))
    assert random.get_state()[2] == before


def test_refused_merges_leave_the_other_side_as_it_was():
    mine, other = fitted("classifier"), fitted("classifier", alpha=7.0)
    before = dumped(other)
    with pytest.raises(ValueError, match="alpha must agree"):
        mine.merge(other)
    assert dumped(other) == before
