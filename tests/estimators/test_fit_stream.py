"""fit_stream: the same model as a loop over batches, from any source."""

import signal
import threading

import numpy as np
import pyarrow as pa
import pytest
from example_streams import SEEDED, batches_of, sampler, table_of, without_provenance
from hypothesis import given, settings
from hypothesis import strategies as st
from saved_examples import (
    CODES,
    ESTIMATORS,
    N_ROWS,
    NUMBERS,
    ROWS,
    WEIGHTS,
    WORDS,
    answers,
    estimator_after,
)

from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2Regressor,
    ExpChi2Sampler,
    StreamingRidge,
    StreamingRidgeClassifier,
)
from streamchi2.errors import StateMismatchError
from streamchi2.files import dumped
from streamchi2.sources import Batch, Source
from streamchi2.stream import Stream


@pytest.mark.parametrize("name", SEEDED)
def test_every_estimator_ends_as_a_loop_over_batches_would_have_it(name):
    make, targets = ESTIMATORS[name]
    expected = dumped(estimator_after(name, N_ROWS))
    assert dumped(make().fit_stream(batches_of(targets, 7, 64, 300))) == expected
    weighted = make().fit_stream(batches_of(targets, 100, weights=WEIGHTS), source_name="tape")
    assert weighted.provenance_ == {"tape": N_ROWS}
    assert without_provenance(weighted) == dumped(estimator_after(name, N_ROWS, weighted=True))


@pytest.mark.parametrize("name", ["sampler", "pca", "classifier", "regressor of two", "ridge"])
def test_a_table_is_learnt_like_its_rows_and_names_are_remembered(name):
    make, targets = ESTIMATORS[name]
    if name == "regressor of two":
        targets = NUMBERS
    expected = make().fit(ROWS, targets)
    column = {} if targets is None else {"target": "y"}
    for batch_size in (50, 4096):
        model = make().fit_stream(table_of(ROWS, targets), batch_size=batch_size, **column)
        assert model.feature_names_in_.tolist() == [f"c{i}" for i in range(5)]
        model._stream.names = None  # so that rows without names are no reason for a warning
        np.testing.assert_array_equal(answers(model), answers(expected))


@settings(max_examples=6)
@given(st.lists(st.booleans(), min_size=72, max_size=72), st.booleans())
def test_rows_without_targets_are_observed_where_they_stand(known, text):
    labels = WORDS if text else NUMBERS
    column = pa.array(labels[:72], mask=~np.array(known))
    kind = ExpChi2Classifier if text else ExpChi2Regressor
    model = kind(8, n_pca=4, random_state=0)
    expected = kind(8, n_pca=4, random_state=0)
    if not (text or known[0]):  # the number of targets must be known, as it is in a table
        known = [True, *known[1:]]
        column = pa.array(labels[:72], mask=~np.array(known))
    for row, given_ in enumerate(known):
        if given_:
            expected.partial_fit(ROWS[row : row + 1], labels[row : row + 1])
        else:
            expected.observe(ROWS[row : row + 1])
    model.fit_stream(table_of(ROWS[:72], column), target="y", batch_size=17)
    shares = [side.explained_variance_ratio_ for side in (model, expected)]
    np.testing.assert_array_equal(*shares)
    assert model.input_histogram_ == expected.input_histogram_
    if sum(known) > 1:
        np.testing.assert_array_equal(model.coef_, expected.coef_)


def test_a_regressor_may_begin_with_nulls_and_batches_without_targets_may_follow():
    column = pa.array([None] * 70 + list(NUMBERS[70:]), pa.float64())
    model = ExpChi2Regressor(8, random_state=0)
    model.fit_stream(table_of(ROWS, column), target="y", batch_size=30)
    assert model.n_samples_seen_ == N_ROWS
    model.fit_stream([(ROWS, NUMBERS), ROWS[:10], (ROWS[:5], None)])
    assert model.n_samples_seen_ == N_ROWS + 15


def test_it_forgets_unless_told_to_go_on_and_never_learns_a_row_twice():
    model = ExpChi2Classifier(8, random_state=0).fit(ROWS[:50], CODES[:50])
    parts = list(batches_of(CODES, 100))
    once = dumped(model.fit_stream(parts, source_name="tape"))
    assert dumped(model.fit_stream(parts, source_name="tape")) == once
    assert dumped(model.fit_stream(parts, source_name="tape", forget=False)) == once
    model.fit_stream(parts[:1], source_name="other", forget=False)
    assert model.provenance_ == {"other": 100, "tape": N_ROWS}
    assert model.n_samples_seen_ == N_ROWS + 100


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", [ExpChi2Classifier, StreamingRidgeClassifier])
def test_ctrl_c_inside_a_batch_leaves_a_provenance_that_is_true(kind, weighted, monkeypatch):
    rows = np.tile(ROWS, (20, 1))  # more than two blocks, those without weight left out
    labels = np.tile(CODES, 20)
    weights = np.tile([1.0, 0.0, 2.0], len(rows) // 3)[: len(rows)] if weighted else None
    make = (lambda: kind(8, random_state=0)) if kind is ExpChi2Classifier else kind
    model = make()
    sequel = [(rows, labels, weights)]
    model.fit_stream([(rows[:10], labels[:10], None if weights is None else weights[:10])])
    learn_block, calls = Stream._learn_block, []

    def interrupted(self, *arguments, **named):
        calls.append(1)
        if len(calls) == 2:
            signal.raise_signal(signal.SIGINT)
        return learn_block(self, *arguments, **named)

    monkeypatch.setattr(Stream, "_learn_block", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit_stream(sequel, source_name="rows", forget=False)
    monkeypatch.undo()
    (n_rows,) = model.provenance_.values()
    assert 0 < n_rows < len(rows)
    model.fit_stream(sequel, source_name="rows", forget=False)
    once = make().fit_stream([(rows[:10], labels[:10], None if weights is None else weights[:10])])
    once.fit_stream(sequel, source_name="rows", forget=False)
    assert dumped(model) == dumped(once)


def test_rows_that_have_been_learnt_are_refused_before_they_are_learnt_again(monkeypatch):
    def repeating(learnt):
        for _ in range(2):
            yield Batch(ROWS[:20], source="tape", start=0)

    model = sampler()
    monkeypatch.setattr(
        "streamchi2.estimators.fit_stream.as_source",
        lambda *_, **__: Source(repeating, ("tape",), None),
    )
    with pytest.raises(
        StateMismatchError, match="rows 0 to 20 of 'tape' have been learnt"
    ) as caught:
        model.fit_stream(None)
    monkeypatch.undo()
    assert dumped(model) == dumped(sampler().fit_stream([ROWS[:20]], source_name="tape"))
    assert caught.value.__notes__ == ["in the batch that begins at row 0 of tape"]


def test_an_error_says_where_its_batch_stands():
    with pytest.raises(ValueError, match="at row 21 of the source, column 0"):
        sampler().fit_stream([ROWS[:20], [ROWS[0], -ROWS[1]]])
    with pytest.raises(ValueError, match="4 features") as caught:  # of all rows of the batch
        sampler().fit_stream([ROWS[:20], ROWS[:2, :4]])
    assert caught.value.__notes__ == ["in the batch that begins at row 20 of the source"]


def test_targets_of_a_regressor_in_text_are_numbers_whatever_is_guessed(tmp_path):
    path = tmp_path / "none.csv"
    path.write_text("\n".join(["a,b,y", *("0.5,0.25," for _ in range(9))]))  # guessed: text
    model = ExpChi2Regressor(8, random_state=0).fit_stream(path, target="y")
    assert model.n_samples_seen_ == 9


REFUSALS = {
    "no rows": (sampler, [], {}, ValueError, "at least one row"),
    "bad rows": (sampler, [-ROWS], {}, ValueError, "Negative values"),
    "bad targets": (ExpChi2Regressor, [(ROWS, WORDS)], {}, TypeError, "y must hold numbers"),
    "no targets": (ExpChi2Regressor, [ROWS], {}, ValueError, "requires y"),
    "no target column": (
        lambda: ExpChi2Classifier(8),
        table_of(ROWS, CODES),
        {},
        TypeError,
        "target must name the column",
    ),
    "null where targets are needed": (
        StreamingRidge,
        table_of(ROWS[:3], pa.array([1.0, 2.0, None])),
        {"target": "y"},
        ValueError,
        "every row must have a target, got none at row 2",
    ),
    "a nameless checkpoint": (
        sampler,
        [ROWS],
        {"checkpoint": "run"},
        ValueError,
        "source_name must be given with checkpoint",
    ),
    "a checkpoint nowhere": (
        sampler,
        [ROWS],
        {"checkpoint": "no/such/folder/run", "source_name": "tape"},
        FileNotFoundError,
        "folder that exists",
    ),
    "checkpoints too often": (
        sampler,
        [ROWS],
        {"checkpoint": "run", "checkpoint_every": 0, "source_name": "tape"},
        ValueError,
        "checkpoint_every must be at least 1",
    ),
    "a random state that cannot be saved": (
        lambda: ExpChi2Sampler(8, random_state=np.random.RandomState(0)),
        [ROWS],
        {"checkpoint": "run", "source_name": "tape"},
        TypeError,
        "random_state=None",
    ),
}


@pytest.mark.parametrize("fitted", [False, True])
@pytest.mark.parametrize("case", REFUSALS)
def test_what_cannot_be_learnt_is_refused_and_leaves_no_trace(case, fitted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make, source, options, error, message = REFUSALS[case]
    model = make()
    if fitted:
        model.fit(
            ROWS[:80], NUMBERS[:80] if "Classifier" not in type(model).__name__ else CODES[:80]
        )
    state = vars(model).copy()
    before = dumped(model) if fitted and "saved" not in case else None
    with pytest.raises(error, match=message):
        model.fit_stream(source, **options)
    assert vars(model) == state
    assert before is None or dumped(model) == before
    assert list(tmp_path.iterdir()) == []
    assert not [thread for thread in threading.enumerate() if "read-ahead" in thread.name]


def test_a_batch_of_other_columns_is_refused_by_name():
    model = sampler().fit_stream(table_of(ROWS))
    other = table_of(ROWS).rename_columns(["c0", "c1", "x", "c3", "c4"])
    with pytest.raises(ValueError, match="got 'x' for 'c2' in column 2"):
        model.fit_stream(other, forget=False)
    with pytest.raises(ValueError, match="must have 5 columns, got 4"):
        model.fit_stream(table_of(ROWS[:, :4]), forget=False)
