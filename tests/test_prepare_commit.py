"""Every change is prepared, committed and concluded: what fails where, in both front ends.

What fails before a block is added has changed nothing. An addition that breaks off leaves an
estimator that says that it is torn. What fails afterwards loses nothing.
"""

import functools
import signal
import sys
import warnings

import numpy as np
import pytest
from numpy.linalg import LinAlgError
from saved_examples import ESTIMATORS, ROWS, answers, estimator_after, learn
from sklearn.base import clone

from streamchi2 import ExpChi2Classifier, ExpChi2Sampler, save
from streamchi2 import model as model_module
from streamchi2.errors import PrecisionWarning, StateMismatchError
from streamchi2.features import FeatureMap, Tracker
from streamchi2.files import dumped, loaded
from streamchi2.learnt import Learnt
from streamchi2.statistics import sample as sample_module
from streamchi2.statistics.feature_statistics import FeatureStatistics
from streamchi2.statistics.moments import Moments

START, STOP = 250, 350
ARRAYS = [
    "pca",
    "classifier",
    "fading classifier",
    "balanced classifier",
    "regressor of two",
    "ridge",
]
DICTS = ["river classifier", "river dual classifier", "river regressor of two", "river sampler"]
ERRORS = [MemoryError("no room"), LinAlgError("singular"), RuntimeWarning("made an error")]
PREPARE = {
    "features": (FeatureMap, "transform"),
    "features of single rows": (FeatureMap, "transform_each"),
    "tracker": (Tracker, "absorbed"),
    "keys": (sample_module, "keys_of"),
}
COMMIT = {
    "statistics": (FeatureStatistics, "add"),
    "moments": (Moments, "add"),
}
READ = {"choice": (model_module, "choose"), "solution": (model_module, "fit")}


class Fault:
    """A function that works some times, then does something else once, and then works again."""

    def __init__(self, function, happens, n_calls=0):
        self.function, self.happens, self.n_left, self.fired = function, happens, n_calls, False

    def __call__(self, *arguments, **options):
        if self.n_left == 0 and not self.fired:
            self.fired = True
            self.happens()
        self.n_left -= 1
        return self.function(*arguments, **options)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)


def raises(error):
    def happens():
        raise error

    return happens


def inject(monkeypatch, step, happens, n_calls=0):
    """Let something happen in a function, wherever the library has imported it."""
    owner, name = step
    original = getattr(owner, name)
    fault = Fault(original, happens, n_calls)
    if isinstance(owner, type):
        monkeypatch.setattr(owner, name, fault)
        return fault
    for module in list(sys.modules.values()):
        ours = getattr(module, "__name__", "").startswith("streamchi2")
        if ours and getattr(module, name, None) is original:
            monkeypatch.setattr(module, name, fault)
    return fault


def calls(name, start=START, stop=STOP):
    """Return the ends of calls that learn: at most one block ends in each."""
    step = 1 if name in DICTS else 5
    return [(begin, min(begin + step, stop)) for begin in range(start, stop, step)]


@functools.cache
def undisturbed(name, n_rows=STOP):
    """Return the file of an estimator that has learnt so many rows."""
    make, targets = ESTIMATORS[name]
    model = make()
    for start, stop in [(0, START), *calls(name)] if n_rows >= START else [(0, n_rows)]:
        if stop <= n_rows:
            learn(model, targets, start, stop)
    return dumped(model)


def run_until_it_fails(name, fault, error):
    """Return a model and its rows before and after the call that fails; None where none does."""
    model = loaded(undisturbed(name, START))
    for start, stop in calls(name):
        try:
            learn(model, ESTIMATORS[name][1], start, stop)
        except type(error):
            return model, start, stop
        assert not fault.fired
    return None


def goes_on(model, name, start):
    """Let a model learn the remaining rows."""
    learn(model, ESTIMATORS[name][1], start, STOP)
    return model


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("step", PREPARE)
def test_what_fails_before_the_commit_has_changed_nothing(step, error, monkeypatch):
    reached = set()
    for name in (*ARRAYS, *DICTS):
        undisturbed(name, START)
        with monkeypatch.context() as patch:
            outcome = run_until_it_fails(name, inject(patch, PREPARE[step], raises(error)), error)
        if outcome is not None:
            model, start, _ = outcome
            assert dumped(model) == undisturbed(name, start), name
            assert dumped(goes_on(model, name, start)) == undisturbed(name), name
            reached.add(name in DICTS)
    # One front end makes features in batches, the other row by row.
    of_one = {"features": {False}, "features of single rows": {True}}
    assert reached == of_one.get(step, {False, True})


@pytest.mark.parametrize("n_before", [0, 1], ids=["none", "one"])
def test_the_labels_of_a_batch_are_known_if_a_block_of_it_was_learnt(n_before, monkeypatch):
    random = np.random.default_rng(0)
    rows, labels = random.dirichlet(np.ones(6), 400), np.repeat([0, 1], 200)
    model = ExpChi2Classifier(16, random_state=0).partial_fit(rows[:200], labels[:200])
    with monkeypatch.context() as patch:
        inject(patch, PREPARE["features"], raises(ERRORS[0]), n_before)
        with pytest.raises(MemoryError):
            model.partial_fit(rows[200:], labels[200:])
    assert model._stream.targets.names == ((0, 1) if n_before else (0,))
    n_rows = model._stream.n_rows
    model.partial_fit(rows[n_rows:], labels[n_rows:])
    whole = ExpChi2Classifier(16, random_state=0).partial_fit(rows, labels)
    assert dumped(model) == dumped(whole)


def assert_torn(model, name, tmp_path):
    """See that everything is refused but what needs nothing of what was learnt."""
    targets = ESTIMATORS[name][1]
    healthy = estimator_after(name, START)
    shard = healthy.new_shard() if hasattr(healthy, "new_shard") else estimator_after(name, 5)
    for call in (
        lambda: learn(model, targets, STOP, STOP + 1),
        lambda: answers(model),
        lambda: model.merge(shard),
        lambda: shard.merge(model),
        lambda: save(model, tmp_path / "model"),
    ):
        with pytest.raises(StateMismatchError, match=r"broke off.*last file or checkpoint.*fit"):
            call()
    assert repr(model)
    assert list(tmp_path.iterdir()) == []
    if name in DICTS:
        assert model._get_params() == healthy._get_params()
        fresh = model.clone()
    else:
        assert model.get_params().keys() == healthy.get_params().keys()
        arguments = () if targets is None else (targets[:START],)
        assert model.fit(ROWS[:START], *arguments) is model
        assert dumped(model) == undisturbed(name, START)
        fresh = clone(model)
    assert dumped(learn(fresh, targets, 0, 9)) == dumped(estimator_after(name, 9))


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("step", COMMIT)
def test_an_addition_that_breaks_off_leaves_an_estimator_that_says_so(
    step, error, monkeypatch, tmp_path
):
    reached = set()
    for name in (*ARRAYS, *DICTS):
        undisturbed(name, START)
        with monkeypatch.context() as patch:
            outcome = run_until_it_fails(name, inject(patch, COMMIT[step], raises(error)), error)
        if outcome is not None:
            assert_torn(outcome[0], name, tmp_path)
            reached.add(name in DICTS)
    assert reached == {False, True}


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_what_fails_after_the_commit_loses_nothing(error, monkeypatch):
    for name in (*ARRAYS, *DICTS):
        undisturbed(name, START)
        with monkeypatch.context() as patch:
            fault = inject(patch, (Learnt, "conclude"), raises(error))
            model, start, stop = run_until_it_fails(name, fault, error)
        n_rows = model.n_samples_seen_  # those of the block have been learnt
        assert start < n_rows <= stop
        assert np.isfinite(answers(model)).all()
        goes_on(model, name, n_rows)
        sides = model._stream.settled().statistics, loaded(undisturbed(name))._stream.settled()
        assert sides[0] is sides[1].statistics or dumped(sides[0]) == dumped(sides[1].statistics)


@pytest.mark.parametrize("step", READ)
@pytest.mark.parametrize("name", ["classifier", "fading classifier", "ridge", "river classifier"])
def test_a_prediction_that_fails_is_as_good_the_next_time(step, name, monkeypatch):
    model = estimator_after(name, START)  # a file would hold the choice and the solution
    with monkeypatch.context() as patch:
        fault = inject(patch, READ[step], raises(MemoryError()))
        with pytest.raises(MemoryError):
            answers(model)
    assert fault.fired
    np.testing.assert_array_equal(answers(model), answers(loaded(undisturbed(name, START))))
    assert dumped(model) == undisturbed(name, START)


@pytest.mark.parametrize("step", [*PREPARE, "statistics"])
def test_a_first_batch_that_fails_leaves_an_estimator_that_was_never_fitted(step, monkeypatch):
    for name in ("classifier", "fading classifier", "regressor of two", "ridge"):
        make, targets = ESTIMATORS[name]
        model = make()
        before = dumped(model)
        with monkeypatch.context() as patch:
            fault = inject(patch, (PREPARE | COMMIT)[step], raises(MemoryError()))
            try:
                learn(model, targets, 0, 100)
            except MemoryError:
                pass
            else:
                assert not fault.fired
                continue
        if step != "statistics":
            assert dumped(model) == before
        fitted = model.fit(ROWS[:100], targets[:100])
        assert dumped(fitted) == dumped(clone(model).fit(ROWS[:100], targets[:100]))


def test_a_warning_made_an_error_loses_no_row_that_counts():
    # Where inputs drift far: the rows of the call have been learnt, or can be given again.
    drift = np.random.default_rng(0).dirichlet(np.ones(24), 1200)
    drift[300:] *= 1e6
    model, calm = (ExpChi2Sampler(128, n_terms=2, random_state=0) for _ in range(2))
    n_raised = 0
    for start in range(0, len(drift), 45):
        batch = drift[start : start + 45]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            calm.partial_fit(batch)
        try:
            model.partial_fit(batch)
        except PrecisionWarning:
            n_raised += 1
            if model.n_samples_seen_ == start:
                model.partial_fit(batch)
            assert model.n_samples_seen_ == start + 45
    assert n_raised == 1
    assert dumped(model) == dumped(calm)


@pytest.mark.parametrize("step", ["features", "statistics", "end of a block"])
@pytest.mark.parametrize("name", [*ARRAYS, *DICTS])
def test_ctrl_c_leaves_whole_blocks(name, step, monkeypatch):
    model, targets = loaded(undisturbed(name, START)), ESTIMATORS[name][1]
    with monkeypatch.context() as patch:
        steps = PREPARE | COMMIT | {"end of a block": (Learnt, "conclude")}
        fault = inject(patch, steps[step], lambda: signal.raise_signal(signal.SIGINT))
        try:
            learn(model, targets, START, STOP)
        except KeyboardInterrupt:
            assert fault.fired
        else:
            assert not fault.fired  # it has no such step
    if fault.fired:
        n_rows = model.n_samples_seen_
        assert START < n_rows <= STOP
        calm = loaded(undisturbed(name, START))
        assert dumped(model) == dumped(learn(calm, targets, START, n_rows))
        assert dumped(goes_on(model, name, n_rows)) == undisturbed(name)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
