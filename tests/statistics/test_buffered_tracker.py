"""The cut law, bit for bit, and reading while another thread learns."""

from __future__ import annotations

import pickle
import threading
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamchi2.statistics.buffered_tracker import BufferedTracker
from streamchi2.statistics.class_moments import ClassMoments
from streamchi2.statistics.moments import Moments

ROWS = np.random.default_rng(0).normal(size=(3000, 4))
LABELS = np.random.default_rng(1).integers(0, 3, 3000)
WEIGHTS = np.random.default_rng(2).uniform(0.1, 2.0, 3000)

cuts = st.lists(st.integers(0, 3000), max_size=12).map(lambda c: [0, *sorted(c), 3000])


def streamed(edges, half_life=None):
    stream = BufferedTracker(ClassMoments(4, half_life=half_life))
    for start, stop in pairwise(edges):
        part = slice(start, stop)
        stream.update(ROWS[part], LABELS[part], weights=WEIGHTS[part])
    return stream


@given(cuts, st.sampled_from([None, 300.0]))
@settings(max_examples=40)
def test_any_cutting_gives_the_same_state_bit_for_bit(edges, half_life):
    cut, whole = streamed(edges, half_life), streamed([0, 3000], half_life)
    assert cut == whole
    assert cut.snapshot() == whole.snapshot()


def test_rows_one_by_one_give_the_same_state_bit_for_bit():
    assert streamed(range(0, 3001)) == streamed([0, 3000])


def test_reading_includes_waiting_rows_and_changes_nothing():
    stream = streamed([0, 3000])
    before = stream.copy()
    seen = stream.snapshot()
    assert seen.features.weight == pytest.approx(WEIGHTS.sum(), rel=1e-12)
    assert stream == before
    assert stream.snapshot() == seen


@pytest.mark.parametrize("at", [0, 10, 2048, 2500, 3000])
def test_merging_an_empty_side_gives_the_other_bit_for_bit(at):
    stream = streamed([0, at])
    empty = streamed([0, 0])
    assert stream.copy().merge(empty) == stream
    assert empty.copy().merge(stream) == stream
    assert empty == streamed([0, 0])


def test_a_merged_stream_goes_on_from_the_sum_of_both_positions():
    left, right = streamed([0, 1500]), streamed([0, 1200])
    before = right.copy()
    left.merge(right)
    assert right == before
    assert (left.n_rows, left.buffer.n_pending) == (2700, 0)
    left.update(ROWS[:900], LABELS[:900])
    assert left.buffer.position == 3072


def test_a_side_without_a_block_hands_its_rows_over():
    left, right = streamed([0, 1500]), streamed([0, 700])
    expected = streamed([0, 1500]).update(ROWS[:700], LABELS[:700], weights=WEIGHTS[:700])
    assert left.copy().merge(right) == expected
    assert right.copy().merge(left) == expected


def test_pickles_continue_exactly():
    stream = streamed([0, 1500])
    twin = pickle.loads(pickle.dumps(stream))
    assert twin == stream
    assert twin.update(ROWS, LABELS) == stream.update(ROWS, LABELS)


def test_a_reader_sees_only_states_between_two_updates():
    stream = BufferedTracker(Moments(4))
    seen, done = [], threading.Event()

    def read():
        while not done.is_set():
            seen.append(stream.snapshot().weight)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(20):
        stream.update(ROWS)
    done.set()
    reader.join()
    assert all(weight % 3000 == 0 for weight in seen)
    assert seen == sorted(seen)
