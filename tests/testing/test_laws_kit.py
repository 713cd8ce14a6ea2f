"""Every law of the kit fails on an estimator that breaks it, and says so in code that runs."""

import base64
import re
import zlib

import broken_estimators as planted
import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import IncrementalPCA
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import MultinomialNB

from streamchi2 import (
    DirectSeries,
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    ExpChi2Sampler,
    StreamingPCA,
    StreamingRidge,
    StreamingRidgeClassifier,
    river,
)
from streamchi2.testing import (
    LawError,
    check_absent_is_zero,
    check_absent_keys,
    check_all,
    check_cut,
    check_late_classes,
    check_merge,
    check_no_dip,
    check_no_trace,
    check_order_of_k,
    check_pure_reads,
    check_repeated_rows,
    check_save,
    check_scale_of_weights,
    check_threads,
    cuttings,
    readings,
)
from streamchi2.testing.all_laws import LAWS
from streamchi2.testing.reproduction import literal

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.random((30, 3)) * (RANDOM.random((30, 3)) < 0.7)
LABELS = np.arange(30) % 3
SHARDS = [(ROWS[:10], None), (ROWS[10:25], None), (ROWS[25:], None)]
COUNTS = np.arange(30) % 4

ARRAY_BUGS = {
    "cut": [planted.CountsBatches],
    "merge": [planted.MergesByHalf, planted.NotNeutral, planted.Steals],
    "no trace": [planted.LearnsBeforeItChecks, planted.AcceptsAnything],
    "threads": [planted.DependsOnWorkers],
    "absent = 0": [planted.SeesStoredZeros],
    "classes": [planted.PrefersAnnounced],
    "save": [planted.Forgetful],
    "pure reads": [planted.CountsReadings, planted.LearnsFromReadings],
    "scale of weights": [planted.IgnoresWeights, planted.TakesWeightsForRows],
    "no dip": [planted.TiresOut],
}
DICT_BUGS = {
    "cut": [planted.DictCutBug],
    "merge": [planted.DictMergeBug],
    "no trace": [planted.DictTraceBug],
    "absent = 0": [planted.DictZeroBug],
    "save": [planted.DictSaveBug],
    "pure reads": [planted.DictReadBug],
    "scale of weights": [planted.DictScaleBug],
    "no dip": [planted.DictTiresOut],
}
BUGS = [
    (law, bug) for bugs in (ARRAY_BUGS, DICT_BUGS) for law, some in bugs.items() for bug in some
]


def checks_of(bug):
    """Return the single checks by law, for arrays and for dicts."""
    estimator = bug()
    if hasattr(estimator, "predict_one"):
        return {}
    if hasattr(estimator, "predict"):
        return {"classes": lambda: check_late_classes(estimator, ROWS, LABELS)}
    checks = {
        "cut": lambda: check_cut(estimator, ROWS, cuts=[2, 20]),
        "merge": lambda: check_merge(estimator, SHARDS),
        "save": lambda: check_save(estimator, ROWS),
        "pure reads": lambda: check_pure_reads(estimator, ROWS),
    }
    if hasattr(estimator, "learn_one"):
        dicts = [{"red": 0.0, "blue": 1.0}, {"red": 2.0}]
        scale = {"scale of weights": lambda: check_scale_of_weights(estimator, ROWS)}
        return checks | scale | {"absent = 0": lambda: check_absent_keys(estimator, dicts)}
    return checks | {
        "threads": lambda: check_threads(estimator, ROWS),
        "absent = 0": lambda: check_absent_is_zero(estimator, ROWS),
        "scale of weights": lambda: (
            check_repeated_rows(estimator, ROWS, weights=COUNTS),
            check_scale_of_weights(estimator, ROWS),
        ),
    }


@pytest.mark.parametrize(
    "sound", [planted.MeanScaler, planted.NearestMean, planted.DictMeans, planted.DictNearestMean]
)
def test_a_sound_estimator_passes_every_law(sound):
    report = check_all(sound())
    assert set(report.checked) | set(report.not_applicable) == set(LAWS)
    assert all(report.not_applicable.values())
    for law in report.checked:
        assert re.search(rf"^  {law} +holds$", str(report), re.MULTILINE)
    for law, check in checks_of(sound).items():
        if law in report.checked:
            check()


@pytest.mark.parametrize(("law", "bug"), BUGS)
def test_check_all_finds_the_planted_bug(law, bug):
    # A bug may break more laws than the one it was planted for.
    others = dict.fromkeys(LAWS, "another bug")
    for name in [law, "repeated rows"] if law == "scale of weights" else [law]:
        del others[name]
    with pytest.raises(LawError) as found:
        check_all(bug(), skip=others)
    assert found.value.law == law
    assert f"law {law!r} is broken by {bug.__name__}(" in str(found.value)


@pytest.mark.parametrize(("law", "bug"), [(law, bug) for law, bug in BUGS if law in checks_of(bug)])
def test_the_single_check_finds_it_and_its_code_finds_it_again(law, bug):
    with pytest.raises(LawError, match=f"law '{law}' is broken by {bug.__name__}") as found:
        checks_of(bug)[law]()
    said, code = str(found.value), found.value.code
    assert f"To see it again:\n\n{code}" in said
    with pytest.raises(LawError) as again:
        exec(code, {})
    assert str(again.value) == said


def test_the_code_of_a_bad_call_shows_the_trace(capsys):
    with pytest.raises(LawError, match="no trace") as found:
        check_all(planted.LearnsBeforeItChecks(), skip={"cut": "", "merge": ""})
    exec(found.value.code, {})
    assert "state unchanged: False" in capsys.readouterr().out


def test_a_long_stream_is_shown_too():
    rows = np.random.default_rng(1).random((500, 4))
    with pytest.raises(LawError) as found:
        check_cut(planted.CountsBatches(), rows, cuts=[7])
    assert len(found.value.code) < 40_000
    with pytest.raises(LawError) as again:
        exec(found.value.code, {})
    assert str(again.value) == str(found.value)


def test_hypothesis_makes_the_failure_small():
    with pytest.raises(LawError) as found:
        check_all(planted.CountsBatches())
    names = {}
    exec(found.value.code.rpartition("\n")[0], names)
    assert names["rows"].shape[0] <= 4


@pytest.mark.parametrize(
    "value",
    [
        ROWS,
        ROWS.astype(np.float32),
        LABELS,
        np.array(["a", "bc"]),
        np.array([1, "a"], dtype=object),
        np.array([[np.nan, -np.inf]]),
        np.zeros((0, 3)),
        RANDOM.random((600, 2)),
        [{"a": 1.0, ("b", 1): np.inf}],
        ("a", None, True, (1,)),
    ],
    ids=lambda value: str(type(value).__name__),
)
def test_literals_give_the_value_back(value):
    names = {"np": np, "sparse": sparse, "zlib": zlib, "base64": base64}
    back = eval(literal(value), names)
    assert type(back) is type(value)
    if isinstance(value, np.ndarray):
        assert back.dtype == value.dtype
        np.testing.assert_array_equal(back, value)
    else:
        assert back == value
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        packed = eval(literal(sparse.csr_array(value)), names)
        np.testing.assert_array_equal(packed.toarray(), value)


def test_too_many_values_are_not_printed():
    assert literal(np.zeros((300, 200))).startswith("...  # 300 x 200 values")


VACUOUS = {
    "no method to compare": (
        TypeError, "estimator must have one of transform, .* for a law to compare, got Silent",
        lambda: check_cut(planted.Silent(), ROWS, cuts=[3]),
    ),
    "no method, all laws": (
        TypeError, "estimator must have one of transform", lambda: check_all(planted.Silent()),
    ),
    "no method to learn": (
        TypeError, "with partial_fit or learn_one, got float", lambda: check_all(3.0),
    ),
    "a class": (
        TypeError, "must be an instance, got the class Silent", lambda: check_all(planted.Silent),
    ),
    "cuts beyond the rows": (
        ValueError, "cuts must lie between 1 and 29 for 30 rows, got 30",
        lambda: check_cut(planted.MeanScaler(), ROWS, cuts=[3, 30]),
    ),
    "a cut at zero": (
        ValueError, "cuts must lie between 1 and 29 for 30 rows, got 0",
        lambda: check_cut(planted.MeanScaler(), ROWS, cuts=[0]),
    ),
    "no cuts": (
        ValueError, "cuts must hold a position",
        lambda: check_cut(planted.MeanScaler(), ROWS, cuts=[]),
    ),
    "cuts of one row": (
        ValueError, "n_rows must be at least 2 to be cut, got 1", lambda: cuttings(1),
    ),
    "no rows": (
        ValueError, r"rows must be of shape \(n, d\) with n > 0, got shape \(0, 3\)",
        lambda: check_pure_reads(planted.MeanScaler(), ROWS[:0]),
    ),
    "no dicts": (
        ValueError, "rows must be an array .* or a list of dicts",
        lambda: check_pure_reads(planted.DictMeans(), []),
    ),
    "too few targets": (
        ValueError, "targets must be one per row, got 29 targets for 30 rows",
        lambda: check_cut(planted.NearestMean(), ROWS, LABELS[1:], cuts=[3]),
    ),
    "no learn_many": (
        TypeError, "must have learn_many for the law 'cut', got DictNearestMean",
        lambda: check_cut(planted.DictNearestMean(), ROWS, LABELS, cuts=[3]),
    ),
    "no merge": (
        TypeError, "must have merge, got IncrementalPCA",
        lambda: check_merge(IncrementalPCA(), SHARDS),
    ),
    "one shard": (
        ValueError, "shards must be two at least for a merge, got 1",
        lambda: check_merge(planted.MeanScaler(), SHARDS[:1]),
    ),
    "no n_jobs": (
        TypeError, "must have n_jobs, got IncrementalPCA",
        lambda: check_threads(IncrementalPCA(), ROWS),
    ),
    "one number of workers": (
        ValueError, r"n_jobs must hold a number other than 1 to compare, got \[1\]",
        lambda: check_threads(planted.MeanScaler(), ROWS, n_jobs=[1]),
    ),
    "no zero": (
        ValueError, "rows must hold a zero",
        lambda: check_absent_is_zero(MultinomialNB(), ROWS + 1),
    ),
    "no absent key": (
        ValueError, "rows must have a zero or a key that some of them lack",
        lambda: check_absent_keys(planted.DictMeans(), [{"a": 1.0}, {"a": 2.0}]),
    ),
    "one class": (
        ValueError, r"labels must be of two classes for one to be late, got \[0\]",
        lambda: check_late_classes(planted.NearestMean(), ROWS, LABELS * 0),
    ),
    "nothing learnt before saving": (
        ValueError, "at must leave rows .* between 1 and 29 for 30 rows, got 30",
        lambda: check_save(planted.MeanScaler(), ROWS, at=30),
    ),
    "nodes in place": (
        ValueError, r"order must permute the positions of 2 nodes and move some, got \[0, 1\]",
        lambda: check_order_of_k(DirectSeries, [1.0, 2.0], [0, 1], ROWS),
    ),
    "no order": (
        ValueError, "order must permute",
        lambda: check_order_of_k(DirectSeries, [1.0, 2.0], [1, 1], ROWS),
    ),
    "weights of one": (
        ValueError, "weights must be whole numbers, .* not all one",
        lambda: check_repeated_rows(planted.MeanScaler(), ROWS, weights=COUNTS * 0 + 1),
    ),
    "weights in part": (
        ValueError, "weights must be whole numbers",
        lambda: check_repeated_rows(planted.MeanScaler(), ROWS, weights=COUNTS / 2),
    ),
    "no weights": (
        TypeError, "estimator must take weights, .* got IncrementalPCA",
        lambda: check_scale_of_weights(IncrementalPCA(), ROWS),
    ),
    "a scale of one": (
        ValueError, "scale must be positive, finite and not 1, got 1.0",
        lambda: check_scale_of_weights(planted.MeanScaler(), ROWS, scale=1.0),
    ),
    "one size": (
        ValueError, "sizes must be two or more, ascending, from 1 to the 20 rows",
        lambda: check_no_dip(planted.NearestMean(), ROWS, LABELS, sizes=[20]),
    ),
    "nothing unseen": (
        ValueError, "n_unseen must leave rows to learn and to predict, got 0 of 30 rows",
        lambda: check_no_dip(planted.NearestMean(), ROWS, LABELS, n_unseen=0),
    ),
    "nothing to predict": (
        TypeError, "estimator must have predict, got MeanScaler",
        lambda: check_no_dip(planted.MeanScaler(), ROWS, LABELS),
    ),
    "no targets": (
        ValueError, "targets must be given for the law 'no dip', got None",
        lambda: check_no_dip(planted.NearestMean(), ROWS, None),
    ),
    "no seed": (
        ValueError, "random_state must be an int for clones to draw the same, got None",
        lambda: check_all(ExpChi2Sampler(8)),
    ),
    "an unknown law": (
        ValueError, r"skip must name laws among .* got \['order'\]",
        lambda: check_all(planted.MeanScaler(), skip={"order": "no"}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", VACUOUS)
def test_a_check_that_could_see_nothing_raises(case):
    error, message, call = VACUOUS[case]
    with pytest.raises(error, match=message):
        call()


def test_no_trace_tells_a_crash_and_a_welcome_from_a_refusal():
    model = planted.MeanScaler().partial_fit(ROWS)
    with pytest.raises(LawError, match="it raised ZeroDivisionError, which is no refusal"):
        check_no_trace(model, lambda _: 1 / 0)
    with pytest.raises(LawError, match="nothing was refused"):
        check_no_trace(model, lambda model: model.transform(ROWS))


def test_the_order_of_nodes_is_seen():
    with pytest.raises(LawError, match="law 'order of k' is broken by"):
        check_order_of_k(lambda k: DirectSeries(k[:1]), [1.0, 2.0], [1, 0], ROWS)


def test_classes_are_announced_to_those_that_must_be_told():
    report = check_all(
        SGDClassifier(shuffle=False, random_state=0),
        rtol=1e-6,
        skip=dict.fromkeys(set(LAWS) - {"cut", "save", "pure reads", "classes"}, "not promised"),
    )
    assert report.not_applicable["classes"] == "partial_fit wants all classes at the first call"
    with pytest.raises(ValueError, match="classes must be passed"):
        check_late_classes(SGDClassifier(random_state=0), ROWS, LABELS)


def test_labels_may_differ_where_scores_tie_but_nowhere_else():
    class Ties(planted.NearestMean):
        def __init__(self, prefer=0, n_jobs=1):
            self.prefer, self.n_jobs = prefer, n_jobs

        def decision_function(self, X):
            return np.column_stack([X[:, 0], X[:, 0], X[:, 0] - 1.0])

        def predict(self, X):
            return np.full(len(X), self.n_jobs if self.prefer == 0 else 2 * (self.n_jobs > 1))

    from streamchi2.testing.comparison import compare

    one, two = (Ties(n_jobs=n).partial_fit(ROWS, LABELS) for n in (0, 1))
    compare("threads", one, two, ROWS, case="", rtol=1e-6)
    with pytest.raises(LawError, match="predict differs"):
        compare("threads", one, two, ROWS, case="")


def test_reading_gives_dense_arrays_and_lists_of_answers():
    found = readings(planted.MeanScaler().partial_fit(ROWS), ROWS)
    assert list(found) == ["transform"]
    model = planted.DictMeans()
    model.learn_one({"a": 1.0})
    assert readings(model, [{"a": 3.0}]) == {"transform_one": [{"a": 2.0}]}


OURS = [
    ExpChi2Sampler(16, random_state=0),
    ExpChi2PCA(16, n_pca=None, random_state=0),
    ExpChi2Classifier(16, alpha=0.1, random_state=0),
    ExpChi2Classifier(16, alpha=0.1, half_life=30, random_state=0),
    ExpChi2Regressor(16, alpha=0.1, random_state=0),
    StreamingPCA(),
    StreamingRidge(),
    StreamingRidgeClassifier(),
    river.ExpChi2Sampler(8, seed=0),
    river.ExpChi2Regressor(8, alpha=0.1, seed=0),
]


@pytest.mark.parametrize("estimator", OURS, ids=lambda estimator: str(estimator)[:60])
def test_our_own_estimators_keep_every_law(estimator):
    report = check_all(estimator, max_examples=2)
    assert {"cut", "no trace", "save", "pure reads"} <= set(report.checked)


def test_river_classifier_keeps_every_law_of_its_labels():
    model = river.ExpChi2Classifier(8, alpha=0.1, seed=0)
    merge = {"merge": "probabilities are calibrated where a model is solved"}
    assert "no dip" in check_all(model, max_examples=2, skip=merge).checked


@pytest.mark.parametrize(
    "estimator", [ExpChi2Classifier(16, random_state=0), ExpChi2Regressor(16, random_state=0)]
)
def test_a_chosen_penalty_does_not_depend_on_the_scale_of_weights(estimator):
    assert "scale of weights" in check_all(estimator, max_examples=2).checked


def test_many_rows_merge_within_the_usual_tolerance(digits):
    rows, labels = (np.concatenate([part] * 4)[:6000] for part in digits)
    model = ExpChi2Classifier(64, normalize="l1", random_state=0)
    shards = [(rows[:3000], labels[:3000]), (rows[3000:], labels[3000:])]
    check_merge(model, shards, methods=["predict", "decision_function"])
