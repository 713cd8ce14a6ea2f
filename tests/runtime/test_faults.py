"""Out of memory, or Ctrl-C, at any line: whole blocks are left."""

import sys

import numpy as np
import pytest

from examples.reliability import faults
from streamchi2.persistence import dumped, loaded
from streamchi2.state import same_state
from streamchi2.statistics import moments
from streamchi2.statistics.class_moments import ClassMoments
from streamchi2.statistics.moments import Moments
from streamchi2.statistics.target_moments import TargetMoments
from streamchi2.stream import Stream


@pytest.mark.parametrize("what", faults.FAULTS)
@pytest.mark.parametrize("name", faults.CASES)
def test_a_fault_in_the_middle_leaves_whole_blocks(name, what):
    counts = faults.trials(name, faults.FAULTS[what], every=97, first=len(name) + len(what))
    assert all(state == "whole" for _, state in counts), counts
    raised = sum(n for (outcome, _), n in counts.items() if outcome != "completed")
    assert raised == counts.total() > 10  # every fault was seen


@pytest.mark.parametrize("name", ["river classifier", "river regressor", "classifier"])
def test_a_fault_between_writing_a_change_down_and_making_it_tears_nothing(monkeypatch, name):
    make, end = faults.CASES[name]
    start = faults.started(make)
    calm, model = loaded(start), loaded(start)
    faults.learn(calm, faults.BEGIN, faults.END)
    made, fired = Stream.finish, []

    def failing(self):
        if self._unfinished is not None and not fired:
            fired.append(True)
            raise MemoryError
        made(self)

    monkeypatch.setattr(Stream, "finish", failing)
    with pytest.raises(MemoryError):
        faults.learn(model, faults.BEGIN, end)
    assert fired
    assert faults.ending(model, end) == dumped(calm)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["features", "classes", "numbers"])
def test_a_block_that_failed_on_its_way_is_finished_later(monkeypatch, kind, dtype):
    monkeypatch.setattr(moments, "_PANEL_COLUMNS", 4)
    monkeypatch.setattr(moments, "_STRIP_ROWS", 2)
    monkeypatch.setattr(moments, "_FEW_ROWS", 0)  # so that products of float32 are added in steps
    rows = np.random.default_rng(0).normal(size=(30, 10)).astype(dtype)
    labels, weights = np.arange(30) % 3, np.linspace(0.5, 2.0, 30)

    def started():
        if kind == "classes":
            found = ClassMoments(10).update(rows, labels, weights=weights)
            return found, found.pooling(rows[::-1], labels, weights)
        if kind == "numbers":
            found = TargetMoments(10, 1).update(rows, rows[:, :1].astype(float), weights=weights)
            return found, found.pooling(rows[::-1], rows[:, :1].astype(float), weights)
        found = Moments(10).update(rows, weights=weights)
        return found, found.pooling_rows(rows[::-1], weights)

    expected, change = started()
    change.finish()
    number, fired = 0, True
    while fired:
        found, change = started()
        tracer = faults.FaultAtLine(number, faults.out_of_memory)
        before = sys.gettrace()
        try:
            sys.settrace(tracer)
            change.finish()
        except MemoryError:
            pass
        finally:
            sys.settrace(before)
        change.finish()
        assert same_state(vars(found), vars(expected)), f"at line {number}"
        number, fired = number + 1, tracer.fired
    assert number > 10


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and limits of address space")
def test_a_real_lack_of_memory_leaves_whole_blocks():
    assert faults.limited(kibibytes=500) == ("MemoryError", "whole")
