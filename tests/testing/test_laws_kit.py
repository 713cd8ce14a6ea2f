"""Every law of the kit fails on an estimator that breaks it, and says so in code that runs."""

import broken_estimators as planted
import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import MultinomialNB

from streamchi2 import ExpChi2Sampler
from streamchi2.testing import (
    LawError,
    check_all,
    check_cut,
    check_late_classes,
    check_merge,
    check_no_trace,
    check_save,
    check_threads,
    check_weights,
    readings,
    refusal,
)
from streamchi2.testing.laws import LAWS, literal

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.random((30, 3)) * (RANDOM.random((30, 3)) < 0.7)
LABELS = np.arange(30) % 3

BUGS = {
    planted.CountsBatches: "cut",
    planted.MergesByHalf: "merge",
    planted.NotNeutral: "merge",
    planted.Steals: "merge",
    planted.LearnsBeforeItChecks: "no trace",
    planted.AcceptsAnything: "no trace",
    planted.DependsOnWorkers: "threads",
    planted.SeesStoredZeros: "absent = 0",
    planted.PrefersAnnounced: "late classes",
    planted.Forgetful: "save",
    planted.CountsReadings: "pure reads",
    planted.LearnsFromReadings: "pure reads",
    planted.RemembersReadings: "pure reads",
    planted.IgnoresWeights: "weights",
    planted.TakesWeightsForRows: "weights",
    planted.TiresOut: "no dip",
    planted.WearsOut: "no dip",
    planted.FearsWeights: "no dip",
    planted.DictCutBug: "cut",
    planted.DictMergeBug: "merge",
    planted.DictTraceBug: "no trace",
    planted.DictZeroBug: "absent = 0",
    planted.DictSaveBug: "save",
    planted.DictReadBug: "pure reads",
    planted.DictScaleBug: "weights",
    planted.DictTiresOut: "no dip",
}  # fmt: skip


@pytest.mark.parametrize(
    "sound", [planted.MeanScaler, planted.NearestMean, planted.DictMeans, planted.DictNearestMean]
)
def test_a_sound_estimator_keeps_every_law(sound):
    report = check_all(sound())
    assert set(report) == set(LAWS)
    assert str(report).count("holds") >= 5


@pytest.mark.parametrize(("bug", "law"), BUGS.items())
def test_the_planted_bug_is_caught_by_its_law_and_again_by_the_code_of_the_message(bug, law):
    # A bug may break more laws than the one it was planted for.
    with pytest.raises(LawError) as caught:
        check_all(bug(), skip=dict.fromkeys(set(LAWS) - {law}, "another bug"))
    said, code = str(caught.value), caught.value.code
    assert caught.value.law == law
    assert said.startswith(f"law {law!r} is broken by {bug.__name__}(")
    assert said.endswith(f"To see it again:\n\n{code}\n")
    with pytest.raises(LawError) as again:
        exec(code, {})
    assert str(again.value) == said


def test_hypothesis_makes_the_failure_small():
    with pytest.raises(LawError) as caught:
        check_all(planted.CountsBatches())
    names = {}
    exec(caught.value.code.rpartition("\n")[0], names)
    assert names["rows"].shape[0] <= 4


@pytest.mark.parametrize(
    "values",
    [ROWS.astype(np.float32), np.array(["a", "bc"]), np.array([[np.nan, -np.inf]]),
     np.zeros((0, 3)), RANDOM.random((600, 2)), np.array([{"a": 1.0}])],
    ids=["floats", "words", "not finite", "empty", "many", "dicts"],
)  # fmt: skip
def test_literals_give_arrays_back(values):
    names = {}
    exec("import base64, zlib\nimport numpy as np\nfrom numpy import array, inf, nan", names)
    back = eval(literal(values), names)
    assert back.dtype == values.dtype
    np.testing.assert_array_equal(back, values)


def test_too_many_values_are_not_printed():
    assert len(literal(np.zeros((1000, 1000)))) < 100


VACUOUS = {
    "a class": (TypeError, "estimator must be one with", lambda: check_all(MultinomialNB)),
    "no stream": (TypeError, "partial_fit or learn_one, got 3", lambda: check_save(3, ROWS)),
    "silent": (TypeError, "estimator must have one of .*'transform', .* got Silent",
        lambda: check_all(planted.Silent())),
    "no cut": (ValueError, "cuts must be one or more from 1 to 29, got \\[\\]",
        lambda: check_cut(planted.MeanScaler(), ROWS, cuts=[])),
    "a cut at the end": (ValueError, "cuts must be .* from 1 to 29, got \\[30\\]",
        lambda: check_save(planted.MeanScaler(), ROWS, cuts=[30])),
    "no rows": (ValueError, "rows must be of shape",
        lambda: check_cut(planted.MeanScaler(), ROWS[:0], cuts=[1])),
    "no dicts": (ValueError, "rows must be a list of dicts",
        lambda: check_cut(planted.DictMeans(), [1.0], cuts=[1])),
    "targets too few": (ValueError, "targets must be one per row, got 3",
        lambda: check_cut(planted.NearestMean(), ROWS, LABELS[:3], cuts=[1])),
    "no merge": (TypeError, "law 'merge' does not apply .* no merge",
        lambda: check_merge(planted.NearestMean(), ROWS, LABELS, cuts=[3])),
    "no workers": (TypeError, "law 'threads' does not apply .* no n_jobs",
        lambda: check_threads(planted.NearestMean(), ROWS, LABELS)),
    "one class": (ValueError, "targets must be of two classes",
        lambda: check_late_classes(planted.NearestMean(), ROWS, 0 * LABELS)),
    "counts of one": (ValueError, "counts must be one per row and not all 1",
        lambda: check_weights(planted.MeanScaler(), ROWS, counts=np.ones(30, int))),
    "no seed": (ValueError, "random_state must be an int for clones to draw the same, got None",
        lambda: check_all(ExpChi2Sampler(8))),
    "an unknown law": (ValueError, "skip must name laws among .* got \\['order'\\]",
        lambda: check_all(planted.MeanScaler(), skip={"order": "no"})),
}  # fmt: skip


@pytest.mark.parametrize("case", VACUOUS)
def test_a_check_that_could_see_nothing_raises(case):
    error, message, call = VACUOUS[case]
    with pytest.raises(error, match=message):
        call()


def test_a_crash_and_a_welcome_are_no_refusals():
    model = planted.MeanScaler().partial_fit(ROWS)
    with pytest.raises(AssertionError, match="it raised ZeroDivisionError"):
        refusal(model, lambda _: 1 / 0)
    with pytest.raises(LawError, match="nothing was refused"):
        check_no_trace(planted.MeanScaler(), ROWS, arguments={"X": ROWS})


def test_estimators_of_scikit_learn_may_be_tried_too():
    model = SGDClassifier(shuffle=False, random_state=0)
    promised = {"cut", "save", "pure reads"}
    skip = dict.fromkeys(set(LAWS) - promised, "not promised")
    report = check_all(model, rtol=1e-6, skip=skip)
    assert {law for law, said in report.items() if said == "holds"} == promised


def test_readings_are_arrays_one_for_each_key_of_dicts():
    assert list(readings(planted.MeanScaler().partial_fit(ROWS), ROWS)) == ["transform"]
    model = planted.DictMeans()
    model.learn_one({"a": 1.0})
    assert readings(model, [{"a": 3.0}]) == {"transform_one['a']": [2.0]}
