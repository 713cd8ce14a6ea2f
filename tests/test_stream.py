"""The laws of a stream: cutting, merging, failing, reading, and featurising every row once."""

from __future__ import annotations

import pickle
import threading
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from streamchi2.errors import StateMismatchError
from streamchi2.feature_map import (
    AdaptiveFeatureMap,
    BlockParams,
    FeatureMap,
    MapBlock,
    MapParams,
)
from streamchi2.model import ModelParams, fit
from streamchi2.persistence import dumped, loaded
from streamchi2.solvers.problem import PenaltyParams
from streamchi2.statistics.feature_statistics import FeatureStatistics
from streamchi2.statistics.row_buffer import Boundaries
from streamchi2.statistics.targets import ClassTargets, NumericTargets, with_labels
from streamchi2.stream import Stream

WIDTH, N_ROWS = 4, 1500
_rng = np.random.default_rng(0)
ROWS = _rng.gamma(0.5, size=(N_ROWS, WIDTH))
LABELS = (ROWS[:, 0] > 0.3).astype(np.int64) + (ROWS[:, 1] > 0.5)
MARKED = with_labels(LABELS, np.arange(N_ROWS) % 7 > 0)
NUMBERS = np.column_stack([np.sin(3 * ROWS[:, 0]), ROWS[:, 1] - ROWS[:, 2]])
WEIGHTS = _rng.uniform(0.1, 2.0, N_ROWS)
KNOWN = ClassTargets(np.arange(3))


def block_params(**params):
    usual = {
        "n_features": WIDTH, "n_components": 32, "beta": "auto", "dof": 2.0, "series": "direct",
        "n_terms": 3, "basis": "orthogonal", "n_buckets": "auto", "adapt": True, "half_life": None,
        "seed": 0, "dtype": "float32",
    }  # fmt: skip
    return BlockParams(**{**usual, **params})


def mapped(targets=KNOWN, **params):
    adaptive = AdaptiveFeatureMap(MapParams.of_one(block_params(**params)))
    return Stream(WIDTH, feature_map=adaptive, targets=targets)


STREAMS = {
    "features and classes": lambda: Stream(WIDTH, targets=KNOWN),
    "fading features": lambda: Stream(WIDTH, targets=NumericTargets(2, False), half_life=300.0),
    "features alone": lambda: Stream(WIDTH),
    "classes": mapped,
    "many features": lambda: mapped(n_components=300),
    "numbers": lambda: mapped(NumericTargets(2, False)),
    "fading": lambda: mapped(half_life=200.0),
    "no targets": lambda: mapped(None),
    "subspace": lambda: mapped(basis="subspace"),
    "landmarks": lambda: mapped(basis="landmarks"),
    "additive": lambda: mapped(basis="additive", n_components=None),
    "inputs alone": lambda: Stream(
        WIDTH, feature_map=AdaptiveFeatureMap(MapParams.of_one(block_params())), learns=False
    ),
}
each_stream = pytest.mark.parametrize("name", STREAMS)
cuts = st.lists(st.integers(0, N_ROWS), max_size=12).map(lambda c: [0, *sorted(c), N_ROWS])


def targets_for(stream):
    if stream.targets is None:
        return None
    return MARKED if isinstance(stream.targets, ClassTargets) else NUMBERS


def fed(stream, edges, *, weighted=True):
    targets = targets_for(stream)
    for start, stop in pairwise(edges):
        part = slice(start, stop)
        own = None if targets is None else targets[part]
        stream.update(ROWS[part], own, WEIGHTS[part] if weighted else None)
    return stream


@cache
def bits_of(name, stop=N_ROWS):
    """Return the state after the first rows in one batch, as bytes."""
    return dumped(fed(STREAMS[name](), [0, stop]))


def read(stream):
    """Return all that a reading is made of, as bytes."""
    reading = stream.reading()
    found = [reading.n_rows]
    if reading.has_map:
        found += [reading.feature_map, reading.inputs.get_state()]
    if stream.learns:
        found.append(reading.statistics.get_state())
    return pickle.dumps(found)


# Cutting


@each_stream
@given(edges=cuts)
@settings(max_examples=4)
def test_any_cutting_gives_the_same_state_bit_for_bit(name, edges):
    assert dumped(fed(STREAMS[name](), edges)) == bits_of(name)


@pytest.mark.parametrize("name", ["classes", "fading", "features and classes"])
def test_rows_one_by_one_give_the_same_state_bit_for_bit(name):
    assert dumped(fed(STREAMS[name](), range(401))) == bits_of(name, 400)


@given(cuts)
@settings(max_examples=4)
def test_reading_between_updates_changes_no_bit(edges):
    for name in ("classes", "many features"):
        stream = STREAMS[name]()
        for start, stop in pairwise(edges):
            fed(stream, [start, stop])
            if stop > 0:
                read(stream)
        assert dumped(stream) == bits_of(name)


# Reading


@each_stream
@pytest.mark.parametrize("n_rows", [1, 64, 1400])
def test_reading_includes_pending_rows_and_changes_nothing(name, n_rows):
    stream = fed(STREAMS[name](), [0, n_rows])
    before = dumped(stream)
    seen = read(stream)
    assert dumped(stream) == before
    assert read(stream) == seen
    assert stream.reading().n_rows == n_rows
    if stream.learns:
        statistics = stream.reading().statistics
        assert statistics.n_rows == n_rows
        assert stream.reading().statistics is statistics  # worked out once
        if stream.half_life is None:
            weight = statistics.folded().feature_moments().weight
            assert_allclose(weight, WEIGHTS[:n_rows].sum(), rtol=1e-12)
    if stream.feature_map is not None:
        assert stream.reading().inputs.n_rows == n_rows


@each_stream
def test_what_is_read_is_what_flushing_would_give(name):
    stream = fed(STREAMS[name](), [0, 1300])
    if stream.learns:
        flushed = stream.copy().flush()
        assert flushed.buffer.pending is None
        statistics, sample = stream.reading().statistics_and_sample
        state = {**statistics.get_state(), "sample": None if sample is None else sample()}
        assert pickle.dumps(state) == pickle.dumps(flushed.statistics.get_state())


@each_stream
def test_copies_pickles_and_files_continue_exactly(name):
    stream = fed(STREAMS[name](), [0, 1100])
    for twin in (stream.copy(), pickle.loads(pickle.dumps(stream)), loaded(dumped(stream))):
        assert dumped(fed(twin, [1100, N_ROWS])) == bits_of(name)


def test_a_reader_sees_only_states_between_two_updates():
    stream = Stream(WIDTH)
    stream.update(ROWS)
    seen, done = [], threading.Event()

    def look():
        while not done.is_set():
            seen.append(stream.reading().statistics.feature_moments().weight)

    reader = threading.Thread(target=look)
    reader.start()
    for _ in range(20):
        stream.update(ROWS)
    done.set()
    reader.join()
    assert all(weight % N_ROWS == 0 for weight in seen)
    assert seen == sorted(seen)


def test_a_reading_stays_what_it_was_while_the_stream_goes_on():
    stream = fed(mapped(), [0, 1000])
    reading = stream.reading()
    before = pickle.dumps(reading.statistics.get_state())
    fed(stream, [1000, 1500])
    assert pickle.dumps(reading.statistics.get_state()) == before


# Both forms of the regression


@pytest.mark.parametrize("name", ["classes", "numbers", "features and classes"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
def test_the_dual_form_is_the_primal_one_up_to_rounding(name, weighted, alpha):
    new = {
        "classes": lambda: mapped(n_components=512, dtype="float64"),
        "numbers": lambda: mapped(NumericTargets(2, False), n_components=512, dtype="float64"),
        "features and classes": lambda: Stream(60, targets=KNOWN),
    }[name]
    stream = new()
    if name == "features and classes":
        rows = np.random.default_rng(1).normal(size=(50, 60))
        stream.update(rows, MARKED[:50], WEIGHTS[:50] if weighted else None)
    else:
        rows = ROWS[:40]
        fed(stream, [0, 300], weighted=weighted)
    reading = stream.reading()
    assert reading.statistics.is_dual
    params = ModelParams(penalty=PenaltyParams(alpha=alpha))
    dual = fit(reading, params)
    primal = fit(_folded(stream).reading(), params)
    features = reading.feature_map.transform(rows) if reading.has_map else rows
    # Scores of order one; the scatter of at most 300 rows of length one has a condition of at most
    # 600/alpha, and eps times that is below 2e-10.
    assert_allclose(dual.linear.scores(features), primal.linear.scores(features), atol=1e-8)
    assert dual.linear.alpha == primal.linear.alpha == alpha


def _folded(stream):
    """Return the stream with moments in place of rows, as it would be with more rows."""
    twin = stream.copy().flush()
    twin.statistics.fold()
    return twin


@given(cuts)
@settings(max_examples=4)
def test_keeping_rows_first_changes_no_bit_of_the_moments(edges):
    # Of the same blocks: where they end depends on the number of features that are to come.
    stream = fed(mapped(n_components=300), edges)
    plain = FeatureStatistics((300,), 0, sample_seed=1)
    assert stream.statistics.n_kept == 0
    start, boundaries = 0, stream.buffer.boundaries
    feature_map = stream.feature_map.feature_map
    while (stop := boundaries.after(start)) <= stream.buffer.position:
        part = slice(start, stop)
        plain.update(feature_map.transform(ROWS[part]), ROWS[part], MARKED[part], WEIGHTS[part])
        start = stop
    assert stream.feature_map.parts[0].transports == ()  # all rows were under this map
    assert pickle.dumps(plain.labelled) == pickle.dumps(stream.statistics.labelled)
    assert pickle.dumps(plain.unlabelled) == pickle.dumps(stream.statistics.unlabelled)


# Featurising once


@pytest.fixture
def featurised(monkeypatch):
    """How many rows have been featurised so far."""
    counted = []
    transform = MapBlock.transform

    def counting(self, rows, **how):
        counted.append(rows.shape[0])
        return transform(self, rows, **how)

    monkeypatch.setattr(MapBlock, "transform", counting)
    return counted


def test_rows_are_featurised_once_however_they_arrive(featurised):
    stream = fed(mapped(), range(0, N_ROWS + 1, 100))
    assert sum(featurised) == stream.buffer.position
    stream.flush()
    assert sum(featurised) == N_ROWS


def test_reading_featurises_complete_chunks_once(featurised):
    stream = fed(mapped(), [0, 1024])
    featurised.clear()
    chunk = stream.feature_map.feature_map.block_rows
    for start in range(1024, 1500, 34):
        fed(stream, [start, start + 34])
        for _ in range(3):
            assert stream.reading().statistics.n_rows == start + 34
    n_readings = len(range(1024, 1500, 34))
    # Beyond each row once, a reading does the rows after the last complete chunk again.
    assert sum(featurised) <= 476 + n_readings * chunk
    assert len(featurised) <= 2 * n_readings


@pytest.mark.parametrize("basis", ["orthogonal", "subspace", "gaussian"])
def test_a_stream_read_where_models_are_solved_featurises_each_row_once(featurised, basis):
    stream = fed(mapped(basis=basis), [0, 128])
    assert stream.is_planned
    assert stream.reading().statistics.n_rows == 128
    featurised.clear()
    position, growing = 128, Boundaries.growing()
    while position < N_ROWS:
        stop = min(growing.after(position), N_ROWS)
        fed(stream, [position, stop])
        assert stream.reading().statistics.n_rows == stop
        position = stop
    assert sum(featurised) == N_ROWS - 128


def test_a_map_of_the_first_256_rows_serves_until_it_is_planned(featurised):
    stream, plans = mapped(n_components=1024, basis="subspace"), []
    for stop in (255, 256, 300, 500):
        fed(stream, [stream.n_rows, stop])
        reading = stream.reading()
        plans.append(reading.feature_map)
        assert reading.inputs.n_rows == stop
        assert reading.inputs.feature_map == reading.feature_map
        assert reading.statistics.n_rows == stop
    few, first, *later = plans
    assert few != first
    assert all(found == first for found in later)
    assert not stream.is_planned
    whole = fed(mapped(n_components=1024, basis="subspace"), [0, 256]).flush()
    assert whole.feature_map.feature_map == first


def test_a_map_is_planned_on_all_rows_where_the_first_are_equal():
    stream = mapped(n_components=1024, basis="subspace")
    stream.update(np.repeat(ROWS[:1], 256, axis=0), MARKED[:256])
    stream.update(ROWS[256:400], MARKED[256:400])
    assert stream.reading().feature_map == stream.copy().flush().feature_map.feature_map


def test_a_model_that_is_read_again_is_not_featurised_again(featurised):
    stream = fed(mapped(n_components=512), [0, 300])
    for _ in range(3):
        fit(stream.reading(), ModelParams())
    assert sum(featurised) == 300


# Merging


@each_stream
@pytest.mark.parametrize("at", [0, 10, 1400])
def test_an_empty_side_changes_no_bit(name, at):
    new, expected = STREAMS[name], bits_of(name, at)
    stream, empty = loaded(expected), new()
    assert dumped(stream.copy().merge(empty)) == expected
    assert dumped(new().merge(stream)) == expected
    assert dumped(empty) == dumped(new())


def shard_of(stream):
    return stream.new_shard(stream.reading().feature_map) if stream.feature_map else None


@pytest.mark.parametrize("name", ["classes", "many features", "numbers", "no targets", "subspace"])
@given(order=st.permutations(range(3)))
@settings(max_examples=3)
def test_merging_shards_of_one_map_equals_one_pass(name, order):
    params = {"dtype": "float64", "adapt": False}
    new = {
        "classes": lambda: mapped(**params),
        "many features": lambda: mapped(n_components=300, **params),
        "numbers": lambda: mapped(NumericTargets(2, False), **params),
        "no targets": lambda: mapped(None, **params),
        "subspace": lambda: mapped(basis="subspace", **params),
    }[name]
    first = fed(new(), [0, 300])
    shards = [fed(shard_of(first), edges) for edges in ([300, 500], [500, 1300], [1300, 1500])]
    for place in order:
        before = dumped(shards[place])
        first.merge(shards[place])
        assert dumped(shards[place]) == before
    whole = fed(new(), [0, 1500])
    assert first.n_rows == whole.n_rows == 1500
    found, expected = (side.reading().statistics.folded() for side in (first, whole))
    mine, theirs = found.feature_moments(), expected.feature_moments()
    # Sums of 1500 products of features of at most one, weights up to two.
    assert_allclose(mine.weight, theirs.weight, rtol=1e-12)
    assert_allclose(mine.scatter(), theirs.scatter(), atol=1e-10)
    histograms = [side.reading().inputs.parts[0].histogram for side in (first, whole)]
    assert_allclose(histograms[0].weights, histograms[1].weights, rtol=1e-12)


def test_a_merged_stream_goes_on_from_the_sum_of_both_positions():
    left, right = (fed(Stream(WIDTH, targets=KNOWN), [0, stop]) for stop in (1400, 1100))
    before = dumped(right)
    left.merge(right)
    assert dumped(right) == before
    assert (left.n_rows, left.buffer.n_pending) == (2500, 0)
    fed(left, [0, 900])
    assert left.buffer.position == 3072


def test_a_side_without_a_block_hands_its_rows_over():
    left, right = (fed(Stream(WIDTH, targets=KNOWN), [0, stop]) for stop in (1400, 700))
    expected = dumped(fed(fed(Stream(WIDTH, targets=KNOWN), [0, 1400]), [0, 700]))
    assert dumped(left.copy().merge(right)) == expected
    assert dumped(right.copy().merge(left)) == expected


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda: Stream(5, targets=KNOWN), "n_features_in_ must agree to merge, got 4 and 5"),
        (lambda: Stream(4, names=np.array(list("abcd")), targets=KNOWN), "feature_names_in_ must"),
        (lambda: fed(mapped(seed=1), [0, 100]), "random_state must agree to merge"),
        (lambda: fed(mapped(half_life=9.0), [0, 100]), "half_life must agree to merge"),
        (lambda: fed(mapped(NumericTargets(2, False)), [0, 100]), "targets must be labels"),
        (lambda: fed(mapped(None), [0, 100]), "streams must both have targets"),
        (lambda: fed(Stream(WIDTH, targets=KNOWN), [0, 100]), "streams must both have a map"),
        (lambda: mapped().update(9.0 * ROWS[:100], MARKED[:100]), r"new_shard\(\)"),
    ],
)
def test_refused_merges_leave_no_trace(other, message):
    mine, theirs = fed(mapped(), [0, 400]), other()
    before = dumped(mine), dumped(theirs)
    with pytest.raises(StateMismatchError, match=message):
        mine.merge(theirs)
    assert (dumped(mine), dumped(theirs)) == before


# Failing


@each_stream
@pytest.mark.parametrize("failing", [0, 1, 4])
def test_a_failed_update_leaves_whole_blocks(name, failing, monkeypatch):
    new = STREAMS[name]
    stream = fed(new(), [0, 50])
    pending, calls = stream.buffer.n_pending, []
    method = Stream.learn_block

    def learn_block(self, block, features=None):
        if len(calls) == failing:
            raise MemoryError("no room")
        calls.append(block.stop)
        method(self, block, features)

    with monkeypatch.context() as patch:
        patch.setattr(Stream, "learn_block", learn_block)
        try:
            fed(stream, [50, N_ROWS])
        except MemoryError:
            pass
        else:
            pytest.skip("fewer blocks than that")
    learnt = calls[-1] if calls else 50
    assert stream.n_rows == learnt
    assert stream.buffer.n_pending == (0 if calls else pending)
    assert dumped(stream) == dumped(fed(new(), [0, learnt]))
    assert dumped(fed(stream, [learnt, N_ROWS])) == bits_of(name)


@pytest.mark.parametrize("name", ["classes", "many features", "fading", "landmarks"])
@pytest.mark.parametrize("place", ["transform", "absorb"])
def test_a_block_that_fails_inside_is_not_learnt_at_all(name, place, monkeypatch):
    learnt = bits_of(name, 1000)
    stream = loaded(learnt)
    broken = {"transform": (MapBlock, "transform"), "absorb": (AdaptiveFeatureMap, "adapt")}[place]

    def fail(*_, **__):
        raise MemoryError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(*broken, fail)
        with pytest.raises(MemoryError):
            fed(stream, [1000, 1200])
    assert dumped(stream) == learnt
    assert dumped(fed(stream, [1000, N_ROWS])) == bits_of(name)


def test_classes_of_a_batch_that_failed_are_not_known(monkeypatch):
    stream = mapped(ClassTargets(np.arange(2)))
    stream.update(ROWS[:50], with_labels(LABELS[:50] % 2))
    with monkeypatch.context() as patch:
        patch.setattr(MapBlock, "transform", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            stream.update(ROWS[:50], with_labels(LABELS[:50]), None, KNOWN)
    assert_array_equal(stream.targets.labels, [0, 1])
    assert stream.n_rows == 50


# Other rows, and fading on request


@pytest.mark.parametrize("name", ["classes", "additive"])
def test_sparse_rows_give_what_dense_ones_give(name):
    params = {"additive": {"basis": "additive", "n_components": None}}.get(name, {})
    rows = np.where(ROWS < 0.1, 0.0, ROWS)
    dense, stored = (mapped(dtype="float64", **params) for _ in range(2))
    dense.update(rows[:500], MARKED[:500])
    stored.update(sparse.csr_array(rows[:500]), MARKED[:500])
    moments = [side.reading().statistics.feature_moments() for side in (dense, stored)]
    assert_allclose(moments[0].scatter(), moments[1].scatter(), atol=1e-11)


def test_the_last_pending_row_can_be_taken_back():
    stream = fed(mapped(), [0, 1100])
    before, pending = dumped(stream), stream.buffer.copy()
    fed(stream, [1100, 1101]).hold_again(pending)
    assert dumped(stream) == before


def test_a_provisional_map_serves_the_first_rows_and_leaves_no_trace():
    stream = mapped()
    stream.stepwise = True
    for stop, n_first in ((1, 1), (3, 1), (4, 4), (15, 4), (16, 16), (63, 16)):
        fed(stream, [stream.n_rows, stop], weighted=False)
        before = dumped(stream)
        found = stream.reading().feature_map
        assert dumped(stream) == before
        assert isinstance(found, FeatureMap)
        assert found == stream.feature_map.provisional(ROWS[:n_first], None)
        assert not stream.is_planned
