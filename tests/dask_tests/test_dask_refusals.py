"""What Dask is not asked to do, and what is said of it."""

import sys

import dask.array as da
import pytest
from dask.delayed import delayed
from saved_examples import NUMBERS, ROWS, WORDS

import streamchi2.dask
from streamchi2 import ExpChi2Classifier, ExpChi2Regressor, ExpChi2Sampler
from streamchi2.files import dumped

REFUSALS = {
    "another estimator": (lambda: streamchi2.dask.fit(object(), [delayed(ROWS)]), TypeError,
        "one of this library"),
    "half_life": (lambda: streamchi2.dask.fit(ExpChi2Sampler(8, half_life=9.0), [delayed(ROWS)]),
        ValueError, "half_life must be None"),
    "an array of numpy": (lambda: streamchi2.dask.fit(ExpChi2Sampler(8), ROWS), TypeError,
        "X must be a Dask array"),
    "targets of numpy": (
        lambda: streamchi2.dask.fit(ExpChi2Classifier(8), da.from_array(ROWS), WORDS), TypeError,
        "y must be a Dask array"),
    "no targets": (lambda: streamchi2.dask.fit(ExpChi2Classifier(8), da.from_array(ROWS)),
        ValueError, "y must hold the targets"),
    "no targets anywhere": (lambda: streamchi2.dask.fit(ExpChi2Regressor(8), [delayed(ROWS)]),
        ValueError, "target"),
    "targets twice": (
        lambda: streamchi2.dask.fit(
            ExpChi2Regressor(8), [delayed((ROWS, NUMBERS))], [delayed(NUMBERS)]
        ),
        ValueError,
        "got both in partition 0",
    ),
    "other partitions": (lambda: streamchi2.dask.fit(ExpChi2Classifier(8), [delayed(ROWS)], []),
        ValueError, "got 0 of y for 1 of X"),
    "no partitions": (lambda: streamchi2.dask.fit(ExpChi2Sampler(8), []), ValueError,
        "at least one partition"),
    "no rows": (lambda: streamchi2.dask.fit(ExpChi2Sampler(8), [delayed(ROWS[:0])]), ValueError,
        "at least one row"),
    "fan_in": (lambda: streamchi2.dask.fit(ExpChi2Sampler(8), [delayed(ROWS)], fan_in=1),
        ValueError, "fan_in must be at least 2"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSALS)
def test_what_cannot_be_fitted_is_refused(case):
    call, error, message = REFUSALS[case]
    with pytest.raises(error, match=message):
        call()


def test_a_refused_partition_leaves_the_estimator_as_it_was():
    model = ExpChi2Classifier(8, random_state=0).fit(ROWS[:90], WORDS[:90])
    before = dumped(model)
    with pytest.raises(ValueError, match="Negative values") as caught:
        streamchi2.dask.fit(model, [delayed((ROWS, WORDS)), delayed((-ROWS, WORDS))])
    assert dumped(model) == before
    assert caught.value.__notes__[0].startswith("in partition 1 of delayed-")


def test_without_dask_the_extra_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "streamchi2.dask")
    monkeypatch.setitem(sys.modules, "dask.delayed", None)
    with pytest.raises(ImportError, match=r"streamchi2\[dask\]"):
        import streamchi2.dask  # noqa: F401
    monkeypatch.undo()
