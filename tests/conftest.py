"""Shared settings: one hypothesis profile, and the real data sets where they are at hand."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

# Examples are drawn from a fixed seed, so that a red run is red for everyone.
settings.register_profile("streamchi2", max_examples=16, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=200, deadline=None, derandomize=True)
settings.load_profile("streamchi2")

# Matrices are small here: a second BLAS thread only waits, badly so on a busy machine.
threadpool_limits(1, user_api="blas")

# In the background Python inherits an ignored Ctrl-C, for which tests of interrupts would wait.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

DATA = Path(os.environ.get("STREAMCHI2_DATA", Path(__file__).parents[2] / "shared" / "data"))


@pytest.fixture(scope="session")
def digits() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Scikit-learn's digits, rows divided by their sums, with labels; read-only."""
    rows, labels = load_digits(return_X_y=True)
    rows = rows / rows.sum(axis=1, keepdims=True)
    rows.flags.writeable = labels.flags.writeable = False
    return rows, labels


@pytest.fixture(scope="session")
def shared_set() -> Callable[[str], NDArray[np.float64] | sparse.csr_array]:
    """Rows of a named data set divided by their sums, or a skip where the sets are absent."""

    def load(name: str) -> NDArray[np.float64] | sparse.csr_array:
        path = DATA / f"{name}.npz"
        if not path.exists():
            pytest.skip(f"{name} is not here: set STREAMCHI2_DATA to the folder that holds it")
        with np.load(path) as stored:
            if "indptr" not in stored:
                rows = stored["X"].astype(np.float64)
                return rows / rows.sum(axis=1, keepdims=True)
            parts = (stored["data"].astype(np.float64), stored["indices"].astype(np.int32))
            counts = sparse.csr_array((*parts, stored["indptr"]), shape=tuple(stored["shape"]))
        scale = np.repeat(1.0 / counts.sum(axis=1), np.diff(counts.indptr))
        counts.data *= scale
        return counts

    return load


@pytest.fixture(scope="session")
def shared_labels() -> Callable[[str], NDArray[np.int64]]:
    """Labels of a named data set; ask for its rows first, which skips where it is absent."""

    def load(name: str) -> NDArray[np.int64]:
        with np.load(DATA / f"{name}.npz") as stored:
            return stored["y"].astype(np.int64)

    return load
