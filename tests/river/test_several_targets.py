"""Several labels or numbers a row: dicts of targets, whose names may come late and in any order."""

import pickle

import numpy as np
import pandas as pd
import pytest
from named_streams import histograms, learnt, state_of, statistics_of

from streamchi2.errors import StateMismatchError
from streamchi2.files import dumped, loaded
from streamchi2.river import ExpChi2MultiLabelClassifier, ExpChi2MultiTargetRegressor

ROWS, WORDS, NUMBERS = histograms(400)
LABELS = [
    {"ash": word == "ash", "large": number > 1.0, 3: number > 1.5}
    for word, number in zip(WORDS, NUMBERS, strict=True)
]
PAIRS = [{"plain": number, "squared": number**2} for number in NUMBERS]
KINDS = {
    "labels": (ExpChi2MultiLabelClassifier, LABELS),
    "numbers": (ExpChi2MultiTargetRegressor, PAIRS),
}
each_kind = pytest.mark.parametrize("kind", KINDS)
# Rows are kept to the end, or become moments at row 64.
each_size = pytest.mark.parametrize("n_components", [48, 600])


def new(kind, n_components=48, **params):
    params = {"alpha": 0.1, "seed": 0, "basis": "orthogonal", **params}
    return KINDS[kind][0](n_components, **params)


def said(model, rows=ROWS[:30]):
    """Return the scores of rows by name, as one table with sorted columns, by all rows learnt."""
    names = sorted(model.target_names_, key=str)
    columns = [model.target_names_.index(name) for name in names]
    solved = model._stream.model(model._learner_spec())
    features = [solved.feature_map.transform_row(*model._reader.read(row)) for row in rows]
    return names, np.array([solved.scores_of_row(row) for row in features])[:, columns]


def assert_alike(ours, theirs, atol=1e-9):
    # Equations of condition below 1e4 (features no longer than one, 400 rows, alpha 0.1), solved in
    # float64 from sums of at most 400 terms in another order: 1e4 * 400 * 2e-16.
    assert said(ours)[0] == said(theirs)[0]
    np.testing.assert_allclose(said(ours)[1], said(theirs)[1], rtol=0, atol=atol)


@each_size
@pytest.mark.parametrize("first", [1, 30, 200])
def test_a_label_that_comes_late_was_false_before(n_components, first):
    late = [
        {**y, "late": place % 3 == 0} if place >= first else y for place, y in enumerate(LABELS)
    ]
    announced = [{"late": False, **y} for y in late]
    model = learnt(new("labels", n_components), ROWS, late)
    assert model.target_names_ == ["ash", "large", 3, "late"]
    other = learnt(new("labels", n_components), ROWS, announced)
    assert other.target_names_ == ["late", "ash", "large", 3]
    assert_alike(model, other)


@each_size
def test_a_label_that_is_not_named_is_false(n_components):
    named = [{label: True for label, has in y.items() if has} for y in LABELS]
    assert {} in named[:20]
    ours = learnt(new("labels", n_components), ROWS, named)
    assert_alike(ours, learnt(new("labels", n_components), ROWS, LABELS))


def test_rows_without_any_label_may_come_first():
    y = [{}, *LABELS[1:]]
    model = new("labels")
    assert model.predict_one(ROWS[0]) == model.predict_proba_one(ROWS[0]) == {}
    assert learnt(model, ROWS[:1], y).predict_one(ROWS[0]) == {}
    model = learnt(loaded(dumped(model)), ROWS[1:], y[1:])
    zeros = [dict.fromkeys(LABELS[0], False), *LABELS[1:]]
    assert_alike(model, learnt(new("labels"), ROWS, zeros))


def test_a_new_label_is_false_until_the_model_is_solved_again():
    model = learnt(new("labels"), ROWS[:100], LABELS)
    model.learn_one(ROWS[100], {"new": True})
    assert model.predict_one(ROWS[100])["new"] is False
    assert model.predict_proba_one(ROWS[100])["new"] == {False: 1.0, True: 0.0}
    assert model.coef_.shape == (3, 48)
    learnt(model, ROWS[101:120], [{"new": True}] * 19)
    assert model.coef_.shape == (4, 48)
    assert model.predict_proba_one(ROWS[100])["new"][True] > 0.0


@each_kind
@each_size
def test_merged_shards_equal_one_pass_whatever_the_order_of_names(kind, n_components):
    targets = KINDS[kind][1]
    turned = [dict(reversed(y.items())) for y in targets]
    if kind == "labels":
        turned = [{**y, "only here": place % 2 == 0} for place, y in enumerate(turned)]
    start = learnt(new(kind, n_components), ROWS[:100], targets)
    shards = [start.new_shard(), start.new_shard()]
    learnt(shards[0], ROWS[:250], targets)
    learnt(shards[1], ROWS[250:], turned[250:])
    whole = learnt(start.new_shard(), ROWS, [*targets[:250], *turned[250:]])
    for order in (shards, shards[::-1]):
        merged = start.new_shard()
        for shard in order:
            merged.merge(shard)
        assert merged.n_samples_seen_ == 400
        assert_alike(merged, whole, 1e-4)  # other blocks: products of float32


@each_kind
def test_rows_that_are_pending_are_handed_over(kind):
    targets = KINDS[kind][1]
    turned = [dict(reversed(y.items())) for y in targets]
    large = learnt(new(kind), ROWS[:200], targets)
    small = learnt(new(kind), ROWS[200:250], turned[200:])
    whole = learnt(new(kind), ROWS[:250], targets)
    small_first = pickle.loads(pickle.dumps(small))
    small_first.merge(large)
    large.merge(small)
    assert statistics_of(large) == statistics_of(whole) == statistics_of(small_first)


@each_kind
def test_frames_of_targets_give_the_same_bits_as_single_rows(kind):
    targets = KINDS[kind][1]
    single = learnt(new(kind), ROWS[:300], targets)
    batches = new(kind)
    rows, answers = pd.DataFrame(ROWS[:300]), pd.DataFrame(targets[:300])
    for start, stop in ((0, 1), (1, 90), (90, 300)):
        batches.learn_many(rows[start:stop], answers[start:stop])
    assert state_of(batches) == state_of(single)
    found = batches.predict_many(rows[5:9])
    assert found.index.tolist() == [5, 6, 7, 8]
    assert found.to_dict("records") == [single.predict_one(row) for row in ROWS[5:9]]
    if kind == "labels":
        shares = batches.predict_proba_many(rows[5:9])
        ones = [
            {name: p[True] for name, p in single.predict_proba_one(row).items()}
            for row in ROWS[5:9]
        ]
        assert shares.to_dict("records") == ones
    assert new(kind).predict_many(rows[:2]).shape == (2, 0)


REFUSED = {
    "one label": ("labels", "ash", TypeError, "y must be a dict with a value for each target"),
    "a word": (
        "labels",
        {"ash": "yes"},
        ValueError,
        "True or False for each label, got 'yes' for 'ash'",
    ),
    "nothing": ("labels", {"ash": None}, ValueError, "got None for 'ash'"),
    "two": ("labels", {"ash": 2}, ValueError, "got 2 for 'ash'"),
    "an odd name": (
        "labels",
        {True: True},
        TypeError,
        "names of targets in y must be text or whole",
    ),
    "one number": ("numbers", 3.0, TypeError, "y must be a dict"),
    "not finite": ("numbers", {"plain": np.nan, "squared": 1.0}, ValueError, "got nan for 'plain'"),
    "text": ("numbers", {"plain": "1", "squared": 1.0}, TypeError, "a number, got '1' for 'plain'"),
    "one is missing": ("numbers", {"plain": 1.0}, ValueError, r"\['plain', 'squared'\] as before"),
    "one too many": ("numbers", {"plain": 1.0, "squared": 1.0, "new": 2.0}, ValueError, "'new'"),
    "no target": ("numbers", {}, ValueError, "an empty dict"),
}


@pytest.mark.parametrize(("kind", "target", "error", "message"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("n_rows", [5, 100])
def test_bad_targets_leave_no_trace(kind, target, error, message, n_rows):
    model = learnt(new(kind), ROWS[:n_rows], KINDS[kind][1])
    before = dumped(model)
    with pytest.raises(error, match=message):
        model.learn_one(ROWS[0], target)
    good = [KINDS[kind][1][0], target]
    if isinstance(target, dict):
        with pytest.raises((error, ValueError)):
            model.learn_many(pd.DataFrame(ROWS[:2]), pd.DataFrame(good).astype(object))
    assert dumped(model) == before


def test_streams_of_other_targets_are_refused():
    other = learnt(new("numbers"), ROWS[:100], [{"other": number} for number in NUMBERS])
    model = learnt(new("numbers"), ROWS[:100], PAIRS)
    before = dumped(model)
    with pytest.raises(StateMismatchError, match="targets must have the same"):
        model.merge(other)
    assert dumped(model) == before
