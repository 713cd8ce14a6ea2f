"""When things happen: blocks, plans and choices are functions of what a stream remembers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamchi2.learnt import Settings
from streamchi2.statistics import schedule
from streamchi2.statistics.targets import Targets
from streamchi2.stream import Stream

sizes = st.integers(1, 10**6)


def learnt_one_by_one(codes, half_life=None):
    """Yield positions, labelled rows that count and marks of choices at the ends of blocks."""
    stream = Stream(Settings(2, half_life=half_life), targets=Targets("labels", ("a", "b")))
    rows = np.random.default_rng(0).random((len(codes), 2))
    for row, code in zip(rows, codes, strict=True):
        stream.learn(row[None], np.array([code]))
        if stream.learnt is not None and not stream.pending.n_rows:
            statistics = stream.learnt.statistics
            yield stream.learnt.position, statistics.counted, statistics, stream.learnt.mark


@given(st.floats(16, 1e9))
def test_a_block_is_a_sixteenth_to_an_eighth_of_the_rows_that_count(counted):
    length = schedule.block_rows(counted)
    assert length == 1024 or counted / 16 < length * (1 + 1e-5) <= counted / 8 * (1 + 2e-5)
    assert schedule.block_rows(counted * (1 - 1e-9)) == length  # rounding moves no position


@pytest.mark.parametrize("half_life", [None, 60.0])
def test_ends_of_blocks_follow_from_the_rows_that_count(half_life):
    ends = list(learnt_one_by_one(np.zeros(1500, int), half_life))
    assert ends[0][0] == schedule.FIRST_ROWS
    for (start, counted, *_), (end, *_) in itertools.pairwise(ends):
        assert end - start == schedule.block_rows(counted)
    rate = 1.0 if half_life is None else 0.5 ** (1 / half_life)
    for end, counted, *_ in ends:
        assert counted == pytest.approx(sum(rate**age for age in range(end)))
    longest = 128 if half_life is None else schedule.block_rows(1 / (1 - rate))
    assert ends[-1][0] - ends[-2][0] == longest


def due(counted, n_labelled, last):
    """Tell by the words of the design whether a choice is due."""
    if last is None:
        return n_labelled > 0
    new = n_labelled - last[1]
    return new > 0 and (counted >= 2 * last[0] or counted <= last[0] / 2 or new >= counted)


@pytest.mark.parametrize("half_life", [None, 60.0, 400.0])
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_a_choice_is_due_when_rows_have_doubled_halved_or_come_anew(half_life, share):
    codes = np.where(np.random.default_rng(1).random(2500) < share, 0, -1)
    last, n_choices = None, 0
    for end, counted, statistics, mark in learnt_one_by_one(codes, half_life):
        assert statistics.n_labelled == np.count_nonzero(codes[:end] == 0)
        if due(counted * (1 + 1e-6), statistics.n_labelled, last):
            last, n_choices = (counted, statistics.n_labelled), n_choices + 1
        assert mark == last
    assert n_choices >= (math.log2(2500 * share / 64) // 1 if half_life is None else 5)


@given(st.floats(0, 1e6), sizes, st.none() | st.tuples(st.floats(1, 1e6), sizes))
def test_a_choice_is_due_by_the_words_of_the_design(counted, n_labelled, last):
    expected = {due(counted * by, n_labelled, last) for by in (1 - 2e-6, 1 + 2e-6)}
    assert schedule.choice_due(counted, n_labelled, last) in expected
    assert not schedule.choice_due(counted, 0, last)


@pytest.mark.parametrize("half_life", [None, 50.0])
def test_rows_without_labels_make_no_choice_due_and_age_no_labelled_row(half_life):
    codes = np.append(np.zeros(300, int), np.full(2000, -1))
    ends = list(learnt_one_by_one(codes, half_life))
    labelled = [end for end in ends if end[0] >= 300]
    assert len({(counted, mark) for _, counted, _, mark in labelled}) == 1
    assert labelled[-1][2].n_unlabelled > 1500


@given(sizes, st.integers(1, 5000))
def test_young_blocks_end_after_the_rows_there_are_and_at_every_plan(n_rows, first_rows):
    n_rows %= first_rows
    end, plan = schedule.young_block_end(n_rows, first_rows), schedule.last_plan
    assert n_rows < end <= first_rows
    assert all(schedule.young_block_end(n, first_rows) == end for n in range(n_rows, end))
    if plan(end, first_rows) != plan(max(n_rows, 1), first_rows):
        assert plan(end, first_rows) == end
    if end < first_rows:
        assert end == 4 ** round(math.log(plan(end, first_rows), 4)) or end > plan(end, first_rows)


@given(sizes, sizes, sizes, st.sampled_from([1, 64, 1000]), st.none() | st.floats(1, 1e6))
def test_estimations_are_due_at_positions_however_blocks_end(one, two, three, first, half_life):
    start, middle, end = sorted((one, two, three))

    def is_due(before, after):
        return schedule.reestimation_due(before, after, first, half_life)

    assert not is_due(start, start)
    if start >= first:
        assert is_due(start, end) == (is_due(start, middle) or is_due(middle, end))
    for position in (256, 1024, 4096):
        assert is_due(position - 1, position) == (position > first) or half_life is not None


@pytest.mark.parametrize("n_rows", [1, 63, 64, 700, 1023, 1024, 5000])
def test_equal_rows_are_looked_at_again_until_there_are_1024(n_rows):
    assert schedule.postponed(n_rows) > n_rows
    assert schedule.is_grown_up(n_rows, 64, all_equal=True) == (n_rows >= 1024)
    assert schedule.is_grown_up(n_rows, 64, all_equal=False) == (n_rows >= 64)
