"""What the engine does between two blocks: each row is featurised once, models wait to be read."""

import numpy as np
import pytest

import streamchi2.river as chi2
from streamchi2 import ExpChi2Classifier
from streamchi2.features import FeatureMap
from streamchi2.statistics import schedule


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
    model = chi2.ExpChi2Classifier(64, basis="orthogonal", seed=0)
    for x, y in rows:
        if predicts:
            model.predict_one(x)
        model.learn_one(x, y)
    assert n_rows[0] <= len(rows)


def test_who_never_predicts_never_waits_for_a_solution(rows, monkeypatch):
    solved = []
    monkeypatch.setattr("streamchi2.stream.fit", lambda *_: solved.append(1))
    monkeypatch.setattr("streamchi2.stream.choose", lambda *_: solved.append(1))
    model = chi2.ExpChi2Classifier(32, basis="orthogonal", seed=0)
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
