"""Short runs of the scripts that are meant to run for minutes."""

import os
import sys

import pytest

from examples.benchmarks import soak
from examples.reliability import call_sequences, crash_test, faults, fuzz_load


@pytest.mark.parametrize("what", faults.FAULTS)
@pytest.mark.parametrize("name", faults.CASES)
def test_a_fault_at_any_line_leaves_whole_blocks_or_says_that_it_has_not(name, what):
    counts = faults.trials(name, faults.FAULTS[what], every=97, first=len(name) + len(what))
    expected = {"whole"} if what == "Ctrl-C" else {"whole", "torn"}
    assert {state for _, state in counts} <= expected, counts
    raised = sum(n for (outcome, _), n in counts.items() if outcome != "completed")
    assert raised == counts.total() > 5  # every fault was seen


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and limits of address space")
def test_a_real_lack_of_memory_leaves_no_half_block():
    outcome, state = faults.limited(kibibytes=500)
    assert outcome == "MemoryError"
    assert state in ("whole", "torn")


def test_thousands_of_mutated_files_are_refused_or_whole():
    counts = fuzz_load.fuzz(2000, progress=False)
    assert counts["refused"] > 1300
    assert sum(counts.values()) == 2000


def test_random_sequences_of_calls_are_those_of_one_pass():
    call_sequences.CALLS.clear()
    counts = call_sequences.run(6, n_steps=8)
    assert counts["sequences"] >= 12  # six of each front end
    assert counts["learn"] + counts["observe"] > 12


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_kills_lose_no_file(tmp_path):
    states = crash_test.states()[:3]
    models = [crash_test.loaded(data) for data in states]
    assert crash_test.n_lost(models, set(states), tmp_path / "model", crash_test.save, 10) == 0


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_a_short_soak_stays_close_to_one_pass(tmp_path):
    model, number, _, errors, memory = soak.soak(0.02, tmp_path / "model")
    assert number > 0
    assert len(errors) == len(memory)
    for number_of_batches in (30,):
        mixed = soak.ExpChi2Classifier(**soak.PARAMETERS)
        for batch in range(number_of_batches):
            mixed, _ = soak.step(mixed, batch, tmp_path / "model")
        rows = soak.batch(3)[0]
        expected = soak.one_pass(number_of_batches).decision_function(rows)
        assert abs(mixed.decision_function(rows) - expected).max() < soak.SAME_SCORES
    assert model.n_samples_seen_ == number * soak.BATCH
