"""What the engine does between two blocks: each row is featurised once, models wait to be read."""

import numpy as np
import pytest
from scipy import sparse

import streamchi2.river as chi2
from streamchi2 import ExpChi2Classifier, ExpChi2Sampler
from streamchi2.features import FeatureMap
from streamchi2.learnt import Learnt, Settings
from streamchi2.statistics import schedule
from streamchi2.statistics.buffer import Block
from streamchi2.statistics.targets import Targets
from streamchi2.stream import Stream


@pytest.fixture
def rows(digits):
    """Three hundred digits as dicts, with labels."""
    X, y = digits
    return [
        ({f"x{i}": value for i, value in enumerate(row)}, label)
        for row, label in zip(X[:300].tolist(), y[:300].tolist(), strict=True)
    ]


@pytest.mark.parametrize("predicts", [True, False])
def test_river_featurises_each_row_alone_and_once(rows, monkeypatch, predicts):
    n_rows, transform_row = [0], FeatureMap.transform_row

    def counted(self, columns, values):
        n_rows[0] += 1
        return transform_row(self, columns, values)

    monkeypatch.setattr(FeatureMap, "transform_row", counted)
    model = chi2.ExpChi2Classifier(64, basis="orthogonal", latest_rows=0, half_life=None, seed=0)
    for x, y in rows:
        if predicts:
            model.predict_one(x)
        model.learn_one(x, y)
    assert n_rows[0] <= len(rows)


def test_who_never_predicts_never_waits_for_a_solution(rows, monkeypatch):
    solved = []
    monkeypatch.setattr("streamchi2.stream.fit", lambda *_: solved.append(1))
    monkeypatch.setattr("streamchi2.stream.choose", lambda *_: solved.append(1))
    model = chi2.ExpChi2Classifier(32, basis="orthogonal", latest_rows=0, half_life=None, seed=0)
    for x, y in rows[:100]:  # while the stream is young, or a solution is due at every end
        model.learn_one(x, y)
    assert not solved


def test_models_read_twice_are_solved_once(digits, monkeypatch):
    import streamchi2.stream

    X, y = digits
    model = ExpChi2Classifier(32, basis="orthogonal", random_state=0).fit(X[:300], y[:300])
    n_solved, fit = [0], streamchi2.stream.fit

    def counted(*args):
        n_solved[0] += 1
        return fit(*args)

    monkeypatch.setattr(streamchi2.stream, "fit", counted)
    first, again = model.predict(X[300:400]), model.predict(X[300:400])
    np.testing.assert_array_equal(first, again)
    assert n_solved[0] == 1


def test_a_half_life_keeps_blocks_short(rows):
    model = chi2.ExpChi2Classifier(32, basis="orthogonal", half_life=20, seed=0)
    ends = []
    for number, (x, y) in enumerate(rows):
        model.learn_one(x, y)
        if not model._stream.pending.n_rows:
            ends.append(number)
    counted = 20 / np.log(2)  # rows that count at most
    assert max(np.diff(ends)) <= schedule.block_rows(counted + 1)


def test_blocks_grow_with_rows_without_labels_too(digits):
    def ends(labels):
        stream, found = Stream(Settings(64), targets=Targets("labels", ("a",))), []
        for number, row in enumerate(digits[0][:300]):
            stream.learn(row[None], labels[number : number + 1])
            if not stream.pending.n_rows:
                found.append(number)
        return found

    labels = np.zeros(300, dtype=np.int64)
    unlabelled = np.where(np.arange(300) < 100, labels, -1)
    assert ends(unlabelled) == ends(labels)


def test_solving_is_at_most_half_of_all_operations(rows, monkeypatch):
    import streamchi2.stream

    monkeypatch.setattr(Learnt, "operations_a_row", 1.0)
    monkeypatch.setattr(Learnt, "operations_a_solution", 50.0)
    n_solved, fit = [0], streamchi2.stream.fit

    def counted(*args):
        n_solved[0] += 1
        return fit(*args)

    monkeypatch.setattr(streamchi2.stream, "fit", counted)
    model = chi2.ExpChi2Classifier(32, basis="orthogonal", alpha=1.0, seed=0)
    for number, (x, y) in enumerate(rows):
        model.learn_one(x, y)
        model.predict_one(x)
        if number < schedule.FIRST_ROWS:  # while the stream is young a solution is always due
            n_solved[0] = 0
        elif not model._stream.pending.n_rows:
            assert n_solved[0] == (number + 1) // 50


@pytest.mark.parametrize("n_rows", [60, 200])
def test_wider_rows_and_more_targets_take_more_operations(n_rows):
    def learnt_of(width, n_targets):
        rows = np.random.default_rng(0).random((n_rows, width))
        targets = Targets.of_columns("numbers", rows[:, :n_targets])
        block = Block(rows, rows[:, :n_targets], np.ones(n_rows))
        return Learnt.begun(Settings(width), block, targets, final=True)

    learnt, wider, with_more = (learnt_of(*sizes) for sizes in [(20, 1), (24, 1), (20, 9)])
    assert (learnt.statistics.kept is None) == (n_rows == 200)
    assert wider.operations_a_row > learnt.operations_a_row > 0
    assert wider.operations_a_solution > learnt.operations_a_solution > 0
    # A target more takes as many operations as rows or columns of the factor, twice.
    more = with_more.operations_a_solution - learnt.operations_a_solution
    size = 20 * 20 if n_rows == 200 else n_rows * (n_rows + 20)
    assert more == pytest.approx(8 * 2 * size)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_map_is_planned_for_good_once_two_rows_differ(digits, form):
    rows = digits[0][[0] * 127 + [1]]
    model = ExpChi2Sampler(16, random_state=0).partial_fit(form(rows[:127]))
    assert not model._stream.is_planned
    assert model.partial_fit(form(rows[127:]))._stream.is_planned


def test_a_young_stream_of_many_rows_is_read_under_its_last_plan(digits):
    maps = []
    model = ExpChi2Classifier(512, basis="subspace", random_state=0)
    for start, stop in [(0, 255), (255, 300), (300, 400)]:
        model.partial_fit(digits[0][start:stop], digits[1][start:stop], classes=range(10))
        maps.append(model._stream.read().feature_map)
    assert not model._stream.is_planned
    assert maps[0] != maps[1] == maps[2]


def test_merged_shards_remember_the_rows_of_both(digits):
    X, _ = digits
    merged, whole = (ExpChi2Sampler(16, random_state=0).partial_fit(X[:100]) for _ in range(2))
    merged.merge(merged.new_shard().partial_fit(X[100:200]))
    whole.partial_fit(X[100:200])
    (mine,), (theirs,) = (model._stream.read().tracker.parts for model in (merged, whole))
    np.testing.assert_array_equal(mine.histogram.weights, theirs.histogram.weights)
    np.testing.assert_array_equal(np.sort(mine.sample.keys), np.sort(theirs.sample.keys))
