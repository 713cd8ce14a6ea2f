"""Checkpoints: a run that broke off ends with the model of one that did not."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from example_streams import SEEDED, batches_of, sampler, table_of, without_provenance
from saved_examples import CODES, ESTIMATORS, ROWS

from streamchi2 import ExpChi2Classifier, ExpChi2Sampler
from streamchi2.errors import StateMismatchError
from streamchi2.files import dumped, load, save


class StopError(Exception):
    pass


def failing(batches, n_good):
    for number, batch in enumerate(batches):
        if number == n_good:
            raise StopError
        yield batch


@pytest.mark.parametrize("name", SEEDED[:1] + SEEDED[3:])
def test_a_run_that_broke_off_goes_on_from_its_checkpoint_bit_for_bit(name, tmp_path):
    make, targets = ESTIMATORS[name]
    path, ends = tmp_path / "checkpoint", (50, 100, 150, 300)
    whole = make().fit_stream(batches_of(targets, *ends), source_name="tape")
    params = {"source_name": "tape", "checkpoint": path, "checkpoint_every": 90}
    with pytest.raises(StopError):
        make().fit_stream(failing(batches_of(targets, *ends), 3), **params)
    assert load(path).provenance_ == {"tape": 100}
    resumed = make().fit_stream(batches_of(targets, 77), **params)  # cut in another way
    assert dumped(resumed) == dumped(whole)
    assert dumped(load(path)) == dumped(whole)
    again = make().fit_stream(failing(batches_of(targets, *ends), 99), **params)
    assert dumped(again) == dumped(whole)


def test_in_memory_too_a_run_that_broke_off_can_go_on():
    model = ExpChi2Classifier(8, random_state=0)
    with pytest.raises(StopError):
        model.fit_stream(failing(batches_of(CODES, 40, 90), 2), source_name="tape")
    assert model.provenance_ == {"tape": 90}
    model.fit_stream(batches_of(CODES), source_name="tape", forget=False)
    assert without_provenance(model) == dumped(
        ExpChi2Classifier(8, random_state=0).fit(ROWS, CODES)
    )


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_process_killed_half_way_and_started_again_ends_with_the_same_model(
    tmp_path, monkeypatch
):
    rng = np.random.default_rng(0)
    rows, labels = rng.dirichlet(np.ones(6), size=9000), rng.integers(0, 3, 9000)
    pq.write_table(table_of(rows, labels), tmp_path / "rows.parquet", row_group_size=2000)
    params = {"target": "y", "checkpoint": "run", "checkpoint_every": 2000}
    script = textwrap.dedent(
        f"""
        import os, signal
        from streamchi2 import ExpChi2Classifier

        learn = ExpChi2Classifier._learn_batch

        def dying(self, batch, *, first):
            if batch.start >= 5000:
                os.kill(os.getpid(), signal.SIGKILL)
            learn(self, batch, first=first)

        ExpChi2Classifier._learn_batch = dying
        model = ExpChi2Classifier(32, random_state=0)
        model.fit_stream("rows.parquet", batch_size=700, **{params})
        """
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    run = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, check=False)
    assert run.returncode == -signal.SIGKILL
    monkeypatch.chdir(tmp_path)
    assert list(load("run").provenance_.values()) == [4000]
    resumed = ExpChi2Classifier(32, random_state=0).fit_stream("rows.parquet", **params)
    whole = ExpChi2Classifier(32, random_state=0).fit_stream("rows.parquet", target="y")
    assert dumped(resumed) == dumped(whole)


def test_a_checkpoint_that_has_learnt_nothing_is_a_beginning(tmp_path):
    path = tmp_path / "checkpoint"
    save(sampler(), path)
    found = sampler().fit_stream([ROWS], source_name="rows", checkpoint=path)
    assert dumped(found) == dumped(sampler().fit_stream([ROWS], source_name="rows"))


CHECKPOINTS = {
    "another estimator": (
        lambda: ExpChi2Classifier(8, random_state=0).fit(ROWS, CODES),
        "must hold a ExpChi2Sampler, got a ExpChi2Classifier",
    ),
    "another parameter": (
        lambda: ExpChi2Sampler(8, beta=2.0, random_state=0).fit(ROWS),
        "must have beta='auto', got 2.0",
    ),
    "another source": (
        lambda: sampler().fit_stream([ROWS], source_name="other"),
        r"must be of the sources \['tape'\], got \['other'\]",
    ),
}


@pytest.mark.parametrize("case", CHECKPOINTS)
def test_a_checkpoint_of_something_else_is_refused_and_nothing_changes(case, tmp_path):
    make, message = CHECKPOINTS[case]
    path = tmp_path / "checkpoint"
    save(make(), path)
    before, model = path.read_bytes(), sampler().fit(ROWS[:70])
    state = dumped(model)
    with pytest.raises(StateMismatchError, match=message):
        model.fit_stream([ROWS], source_name="tape", checkpoint=path)
    assert (dumped(model), path.read_bytes()) == (state, before)
