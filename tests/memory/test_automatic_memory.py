"""half_life="auto" through both front ends: the laws, what is refused, and that it pays."""

import pickle

import numpy as np
import pytest

from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    ExpChi2Sampler,
    StreamingRidge,
    river,
)
from streamchi2.errors import StateMismatchError
from streamchi2.estimators.base import drawn_seed
from streamchi2.memory import MemoryLadder, ladder
from streamchi2.persistence import dumped, loaded
from streamchi2.state import Archive, Maybe, Object
from streamchi2.statistics.row_buffer import as_matrix
from streamchi2.stream import Stream

D, N_ROWS = 48, 420
RANDOM = np.random.default_rng(5)
ROWS = RANDOM.dirichlet(np.ones(6), size=N_ROWS)
CODES = ROWS[:, :3].argmax(axis=1)
CODES[N_ROWS // 2 :] = (CODES[N_ROWS // 2 :] + 1) % 3  # labels change their meaning
WORDS = np.array(["ham", "spam", "eggs"])[CODES]
NUMBERS = np.sin(5 * ROWS[:, 0]) * np.repeat([1.0, -1.0], N_ROWS // 2) + ROWS[:, 1]
WEIGHTS = RANDOM.uniform(0.5, 2.0, N_ROWS)
KINDS = {"classifier": WORDS, "regressor": NUMBERS, "two": np.column_stack([NUMBERS, NUMBERS**2])}


def made(kind, **params):
    chosen = ExpChi2Classifier if kind == "classifier" else ExpChi2Regressor
    return chosen(D, half_life="auto", basis="orthogonal", random_state=7, **params)


def named(kind, **params):
    chosen = river.ExpChi2Classifier if kind == "classifier" else river.ExpChi2Regressor
    return chosen(
        D, half_life="auto", basis="orthogonal", n_buckets=512, seed=drawn_seed(7), **params
    )


def bits_of(thing, kind=Stream):
    archive = Archive()
    state = Maybe(Object((kind,))).dump(thing, archive)
    return state, [(array.dtype, array.shape, array.tobytes()) for array in archive.arrays]


@pytest.mark.parametrize("kind", KINDS)
def test_any_cutting_gives_the_same_state_and_answers(kind):
    targets, states, answers = KINDS[kind], [], []
    for cuts in ([N_ROWS], [1, 63, 64, 65, 200, 201, 333, N_ROWS], range(7, N_ROWS + 7, 7)):
        model, start = made(kind), 0
        for stop in cuts:
            own = slice(start, min(stop, N_ROWS))
            model.partial_fit(ROWS[own], targets[own], sample_weight=WEIGHTS[own])
            start = stop
            if start % 5 == 0:
                model.predict(ROWS[:2])  # leaves no mark
        states.append(bits_of(model._stream))
        answers.append(model.predict(ROWS[:50]))
    assert states[0] == states[1] == states[2]
    np.testing.assert_array_equal(answers[0], answers[1])
    np.testing.assert_array_equal(answers[0], answers[2])


@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_both_front_ends_have_the_same_memories_and_models(kind):
    params = {"alpha": 0.05}
    matrices, one_by_one = made(kind, n_buckets=512, **params), named(kind, **params)
    reader, targets = one_by_one._reader, KINDS[kind]
    names = [{f"cell {i}": value for i, value in enumerate(row)} for row in ROWS.tolist()]
    matrix = as_matrix([reader.read(row) for row in names])
    start = 0
    for position in (64, 96, 256, 384):  # ends of blocks, where every memory has been solved
        for place in range(start, position):
            one_by_one.learn_one(names[place], targets[place].item())
        matrices.partial_fit(matrix[start:position], targets[start:position])
        start = position
        both = (one_by_one._stream.memory, matrices._stream.memory)
        assert bits_of(both[0], MemoryLadder) == bits_of(both[1], MemoryLadder)
        assert one_by_one.memory_weights_ == matrices.memory_weights_
        assert one_by_one.n_effective_rows_ == matrices.n_effective_rows_
    if kind == "regressor":
        ours = [one_by_one.predict_one(row) for row in names[:20]]
        theirs = matrices.predict(matrix[:20])
    else:
        found = [one_by_one.predict_proba_one(row) for row in names[:20]]
        ours = [[row[label] for label in sorted(row)] for row in found]
        theirs = matrices.predict_proba(matrix[:20])
    # Sums of D float32 features with coefficients, in another order.
    size = np.abs(one_by_one._schedule.model.linear.coef).sum(axis=0).max()
    sharpness = 1.0
    if kind == "classifier":
        sharpness = one_by_one._schedule.model.calibration.inverse_temperature
    tolerance = 64 * np.finfo(np.float32).eps * size * sharpness
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("position", [10, 64, 300])
def test_what_is_saved_continues_exactly(kind, position):
    targets = KINDS[kind]
    model = made(kind).partial_fit(ROWS[:position], targets[:position])
    twins = [loaded(dumped(model)), pickle.loads(pickle.dumps(model))]
    for one in (model, *twins):
        one.partial_fit(ROWS[position:], targets[position:])
    for twin in twins:
        assert bits_of(twin._stream) == bits_of(model._stream)
        np.testing.assert_array_equal(twin.predict(ROWS), model.predict(ROWS))


def test_reading_changes_nothing():
    model = made("classifier").partial_fit(ROWS[:300], WORDS[:300])
    before = pickle.dumps(model)
    model.predict_proba(ROWS[:5])
    assert sum(model.memory_weights_.values()) == pytest.approx(1.0)
    assert model.n_effective_rows_ > 0
    assert model.memory_history_[0][-1] <= 300
    assert pickle.dumps(model) == before


def test_the_number_of_threads_changes_no_bit():
    one, two = (made("classifier", n_jobs=n).fit(ROWS, WORDS) for n in (1, 2))
    assert bits_of(one._stream) == bits_of(two._stream)


@pytest.mark.parametrize("where", ["fixed_share", "_known", "tuned_ridge"])
def test_a_block_that_fails_leaves_no_trace(where, monkeypatch):
    model = made("classifier").partial_fit(ROWS[:130], WORDS[:130])  # tuned at 64 and 128
    before = bits_of(model._stream)

    def failing(*args, **kwargs):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(ladder, where, failing)
        with pytest.raises(MemoryError):
            model.partial_fit(ROWS[130:150], WORDS[130:150])
    assert bits_of(model._stream) == before
    model.partial_fit(ROWS[130:], WORDS[130:])
    assert bits_of(model._stream) == bits_of(made("classifier").fit(ROWS, WORDS)._stream)


def test_refused_rows_leave_no_trace():
    model = made("classifier").partial_fit(ROWS[:300], WORDS[:300])
    before = bits_of(model._stream)
    for rows, labels in ((-ROWS[300:], WORDS[300:]), (ROWS[300:], CODES[300:])):
        with pytest.raises((ValueError, TypeError), match=r"negative|labels of one kind"):
            model.partial_fit(rows, labels)
    assert bits_of(model._stream) == before


def test_a_class_that_comes_late_equals_one_that_was_announced():
    labels = np.where(np.arange(N_ROWS) < 250, np.where(CODES == 2, 0, CODES), CODES)
    late = made("classifier").fit(ROWS, labels)
    announced = made("classifier").partial_fit(ROWS[:9], labels[:9], classes=[0, 1, 2])
    announced.partial_fit(ROWS[9:], labels[9:])
    np.testing.assert_array_equal(late.predict_proba(ROWS), announced.predict_proba(ROWS))


def test_rows_without_labels_age_the_others_and_nothing_else():
    model = made("classifier").partial_fit(ROWS[:256], WORDS[:256])
    before = model.memory_weights_
    model.observe(ROWS[256:320])
    assert model.memory_weights_ == before
    assert model._stream.memory.position == 320
    unlabelled = made("classifier").observe(ROWS[:200])
    assert unlabelled._stream.memory is None
    unlabelled.partial_fit(ROWS[200:300], WORDS[200:300])
    assert unlabelled.predict(ROWS[:3]).shape == (3,)
    assert bits_of(loaded(dumped(unlabelled))._stream) == bits_of(unlabelled._stream)


def test_short_memories_are_trusted_after_a_change_and_long_ones_without():
    changed = made("classifier").fit(ROWS[:300], WORDS[:300])  # 90 rows after the change
    assert changed.memory_weights_[64.0] + changed.memory_weights_[256.0] > 0.9
    still = made("classifier").fit(ROWS[: N_ROWS // 2], WORDS[: N_ROWS // 2])
    assert still.memory_weights_[None] + still.memory_weights_[1024.0] > 0.5
    assert changed.n_effective_rows_ < still.n_effective_rows_ + 90
    none = ExpChi2Classifier(D, basis="orthogonal", random_state=7).fit(ROWS[:300], WORDS[:300])
    assert changed.score(ROWS[300:], WORDS[300:]) > none.score(ROWS[300:], WORDS[300:]) + 0.2


def test_regression_follows_a_change():
    auto = made("regressor").fit(ROWS[:300], NUMBERS[:300])
    none = ExpChi2Regressor(D, basis="orthogonal", random_state=7).fit(ROWS[:300], NUMBERS[:300])
    errors = [np.mean((m.predict(ROWS[300:]) - NUMBERS[300:]) ** 2) for m in (auto, none)]
    # 90 rows after the sign has changed, rows before it have 2^(-90/64) = .38 of their weight in
    # the shortest memory, so its error is some (2 * .38)^2 of the signal's square, against 2^2 at
    # most for one that has seen more rows of the old kind.
    assert errors[0] < errors[1] / 2


def test_merging_is_refused_but_for_empty_and_pending_sides():
    model = made("classifier").partial_fit(ROWS[:300], WORDS[:300])
    before = bits_of(model._stream)
    model.merge(model.new_shard())
    assert bits_of(model._stream) == before
    shard = model.new_shard().partial_fit(ROWS[300:], WORDS[300:])
    with pytest.raises(StateMismatchError, match="no common order"):
        model.merge(shard)
    assert bits_of(model._stream) == before
    empty = made("classifier").merge(model)
    assert bits_of(empty._stream) == before


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_pca": 5}, "n_pca must be None with half_life='auto'"),
        ({"penalty": "lasso"}, "penalty must be 'ridge' with half_life='auto'"),
        ({"calibrate": "quantile"}, "calibrate must be None with half_life='auto'"),
        ({"class_weight": "balanced"}, "class_weight must be None with half_life='auto'"),
    ],
)
def test_models_that_cannot_be_solved_so_often_are_refused(params, message):
    with pytest.raises(ValueError, match=message):
        made("classifier", **params).fit(ROWS[:9], WORDS[:9])
    one_by_one = named("classifier", **params)
    with pytest.raises(ValueError, match=message):
        one_by_one.learn_one({"a": 1.0}, "ham")
    assert one_by_one.n_samples_seen_ == 0


@pytest.mark.parametrize("kind", [ExpChi2Sampler, ExpChi2PCA, StreamingRidge])
def test_who_predicts_nothing_has_no_automatic_memory(kind):
    targets = [NUMBERS[:9]] if kind is StreamingRidge else []
    with pytest.raises(ValueError, match=f"half_life must be a number or None for {kind.__name__}"):
        kind(half_life="auto").fit(ROWS[:9], *targets)
    with pytest.raises(ValueError, match="half_life must be a number or None for ExpChi2Sampler"):
        river.ExpChi2Sampler(half_life="auto").learn_one({"a": 1.0})


def test_neither_memory_nor_penalty_changes_in_the_middle():
    model = made("classifier").partial_fit(ROWS[:99], WORDS[:99])
    for change, message in (({"half_life": None}, "half_life"), ({"alpha": 1.0}, "alpha")):
        known = model.get_params()
        model.set_params(**change)
        for call in (lambda: model.partial_fit(ROWS[:9], WORDS[:9]), lambda: model.predict(ROWS)):
            with pytest.raises(ValueError, match=f"{message} must not change"):
                call()
        model.set_params(**{name: known[name] for name in change})
    model.partial_fit(ROWS[:9], WORDS[:9])


def test_attributes_belong_to_automatic_memories():
    model = ExpChi2Classifier(D, basis="orthogonal").fit(ROWS[:99], WORDS[:99])
    for name in ("memory_weights_", "memory_history_", "n_effective_rows_"):
        with pytest.raises(AttributeError, match="needs half_life='auto'"):
            getattr(model, name)
