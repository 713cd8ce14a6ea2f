"""A worker that dies in the middle of the statistics costs a retry and changes no bit."""

import logging
import signal

import dask
import pytest
from dask.delayed import delayed
from distributed import Client, LocalCluster
from killed_worker_batches import batch_of_partition
from sklearn.base import clone

import streamchi2.dask
from streamchi2 import ExpChi2Classifier
from streamchi2.files import dumped


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_worker_killed_during_the_statistics_changes_nothing(tmp_path):
    model = ExpChi2Classifier(32, random_state=0)
    batches = [delayed(batch_of_partition)(number) for number in range(6)]
    undisturbed = streamchi2.dask.fit(clone(model), batches)
    killing = [
        delayed(batch_of_partition)(number, str(tmp_path), dask_key_name=batch.key)
        for number, batch in enumerate(batches)
    ]
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # any free port
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
        dask.config.set(scheduler=client),
    ):
        for nanny in cluster.workers.values():
            nanny.auto_restart = False  # one worker will do, and starting another takes seconds
        survived = streamchi2.dask.fit(clone(model), killing)
        assert len(client.scheduler_info()["workers"]) == 1
    # Read for the histogram, for the statistics, and once more since that worker was lost.
    assert sorted(file.name for file in tmp_path.iterdir()) == ["0", "1", "2"]
    assert dumped(survived) == dumped(undisturbed)
