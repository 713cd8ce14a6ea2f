"""Data for the benchmarks: digits always, the larger real sets where they are at hand.

The folder of the larger sets is named by the environment variable STREAMCHI2_DATA.
"""

import os
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits

FOLDER = Path(os.environ.get("STREAMCHI2_DATA", Path(__file__).parents[3] / "shared" / "data"))


def load(name, *, descriptor="X"):
    """Return rows divided by their sums, labels and the number of training rows, or None."""
    if name == "digits":
        rows, labels = load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(labels))
        return _normalised(rows[order]), labels[order], 1200
    path = FOLDER / f"{name}.npz"
    if not path.exists():
        print(f"({name} is left out: STREAMCHI2_DATA does not name a folder that holds it)")
        return None
    with np.load(path) as stored:
        n_train = int(stored["n_train"]) if "n_train" in stored else len(stored["y"])
        if "indptr" in stored:
            parts = (stored["data"].astype(float), stored["indices"].astype(np.int32))
            rows = sparse.csr_array((*parts, stored["indptr"]), shape=tuple(stored["shape"]))
        else:
            rows = stored[descriptor].astype(float)
        return _normalised(rows), stored["y"], n_train


def _normalised(rows):
    if sparse.issparse(rows):
        rows = rows.copy()
        rows.data /= np.repeat(rows.sum(axis=1), np.diff(rows.indptr))
        return rows
    return rows / rows.sum(axis=1, keepdims=True)
