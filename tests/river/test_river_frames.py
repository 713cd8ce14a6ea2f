"""Frames of any eager backend in, the same backend out; many agree with one."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from named_streams import histograms, learnt

from streamchi2.river import ExpChi2Classifier, ExpChi2Regressor, ExpChi2Sampler

ROWS, LABELS, NUMBERS = histograms(150)
TEST = ROWS[100:]


def as_frame(backend, rows):
    if backend == "pandas":
        return pd.DataFrame(rows, index=np.arange(len(rows)) + 1000)
    return pl.DataFrame(rows) if backend == "polars" else pa.Table.from_pylist(rows)


def as_series(backend, values):
    if backend == "pandas":
        return pd.Series(values, name="answer")
    return pl.Series("answer", values) if backend == "polars" else pa.chunked_array([values])


def listed(column):
    return column.to_pylist() if isinstance(column, pa.ChunkedArray) else list(column)


def columns_of(frame):
    names = frame.column_names if isinstance(frame, pa.Table) else frame.columns
    return {name: listed(frame[name]) for name in names}


@pytest.fixture(params=["pandas", "polars", "pyarrow"])
def backend(request):
    return request.param


@pytest.mark.parametrize("labels", [LABELS, [y == "ash" for y in LABELS]])
def test_classifier_learns_and_answers_in_frames(backend, labels):
    model = ExpChi2Classifier(64, seed=0)
    model.learn_many(as_frame(backend, ROWS[:100]), as_series(backend, labels[:100]))
    one = learnt(ExpChi2Classifier(64, seed=0), ROWS[:100], labels)
    frame = as_frame(backend, TEST)
    guesses, shares = model.predict_many(frame), model.predict_proba_many(frame)
    assert type(shares) is type(frame)
    assert listed(guesses) == [one.predict_one(row) for row in TEST]
    expected = [one.predict_proba_one(row) for row in TEST]
    for label in expected[0]:
        name = label if backend == "pandas" else str(label)
        np.testing.assert_allclose(columns_of(shares)[name], [row[label] for row in expected])
    if backend == "pandas":
        assert guesses.name == "answer"
        assert guesses.index.equals(frame.index)
        assert shares.index.equals(frame.index)


def test_regressor_learns_and_answers_in_frames_with_weights(backend):
    model, weights = ExpChi2Regressor(64, seed=0), [1.0, 2.0] * 50
    frame = as_frame(backend, TEST)
    assert listed(model.predict_many(frame)) == [0.0] * len(TEST)
    model.learn_many(
        as_frame(backend, ROWS[:100]),
        as_series(backend, NUMBERS[:100]),
        w=as_series(backend, weights),
    )
    one = ExpChi2Regressor(64, seed=0)
    for row, number, weight in zip(ROWS, NUMBERS, weights, strict=False):
        one.learn_one(row, number, w=weight)
    np.testing.assert_array_equal(
        listed(model.predict_many(frame)), [one.predict_one(row) for row in TEST]
    )


def test_sampler_names_its_features_alike(backend):
    sampler = ExpChi2Sampler(32, seed=0)
    sampler.learn_many(as_frame(backend, ROWS[:100]))
    frame = as_frame(backend, TEST)
    many = sampler.transform_many(frame)
    assert type(many) is type(frame)
    one = [sampler.transform_one(row) for row in TEST]
    assert list(columns_of(many)) == list(one[0])
    for name, column in columns_of(many).items():
        np.testing.assert_array_equal(column, [row[name] for row in one])
    if backend == "pandas":
        assert many.index.equals(frame.index)


def test_before_any_label_there_is_nothing_to_say(backend):
    model, frame = ExpChi2Classifier(64, seed=0), as_frame(backend, TEST)
    assert listed(model.predict_many(frame)) == [None] * len(TEST)
    assert columns_of(model.predict_proba_many(frame)) == {}


BAD_VALUES = [(None, "missing"), (-1.0, "-1.0 at row 2, column 'b'"), (np.inf, "inf at row 2")]


@pytest.mark.parametrize(("value", "match"), BAD_VALUES)
def test_bad_values_are_refused_by_row_and_column(backend, value, match):
    frame = as_frame(backend, [{"a": 1.0, "b": 2.0}] * 2 + [{"a": 1.0, "b": value}])
    model = ExpChi2Classifier(64, seed=0)
    with pytest.raises(ValueError, match=match):
        model.learn_many(frame, as_series(backend, [0, 1, 0]))
    assert model.n_samples_seen_ == 0


def test_text_and_wrong_lengths_are_refused(backend):
    model = ExpChi2Classifier(64, seed=0)
    with pytest.raises(TypeError, match="column 'b'"):
        model.learn_many(as_frame(backend, [{"a": 1.0, "b": "x"}]), as_series(backend, [0]))
    with pytest.raises(ValueError, match="one target per row: got 2 targets for 1 rows"):
        model.learn_many(as_frame(backend, [{"a": 1.0}]), as_series(backend, [0, 1]))
    with pytest.raises(TypeError, match="one kind"):
        model.learn_many(pd.DataFrame({"a": [1.0, 2.0]}), pd.Series(["x", 1], dtype=object))


def test_frames_may_have_numbered_columns():
    frame = pd.DataFrame([[0.5, 0.5], [0.1, 0.9]])
    sampler = ExpChi2Sampler(16, seed=0)
    sampler.learn_many(frame)
    assert list(sampler.transform_one({1: 0.5, 0: 0.5}).values()) == list(
        sampler.transform_many(frame).iloc[0]
    )


def test_an_empty_frame_changes_nothing():
    model = ExpChi2Classifier(64, seed=0)
    empty = pd.DataFrame({"a": np.empty(0)})
    model.learn_many(empty, pd.Series([], dtype=object))
    assert model.n_samples_seen_ == 0
    learnt(model, ROWS[:5], LABELS)
    assert model.predict_many(empty).empty
    assert ExpChi2Sampler(16).transform_many(empty).shape == (0, 16)
