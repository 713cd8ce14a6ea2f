"""Partitions for workers, in a module of their own: workers need not import a test to read them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np


def batch_of_partition(number, folder=None):
    """Return rows and labels; with a folder, partition 3 kills whoever reads it a second time."""
    if number == 3 and folder is not None:
        reading = len(os.listdir(folder))
        Path(folder, str(reading)).touch(exist_ok=False)
        if reading == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    rows = np.random.default_rng(number).dirichlet(np.ones(6), size=250)
    return rows, rows.argmax(axis=1)
