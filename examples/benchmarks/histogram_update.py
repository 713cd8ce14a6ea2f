"""Measure how much faster than ``np.histogram`` an update of ``LogHistogram`` is.

Both count the same values in the same logarithmic range with the same number of bins; numpy is
given its edges ready-made. The figure is the median time of an update over repeated runs, the two
taken in turns so that a busy machine slows both alike. ``update`` includes the checks of its
input, ``absorb`` is what an estimator calls after its own.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np
from scipy import sparse

from streamchi2.statistics.log_histogram import LogHistogram


def sample(dtype: type, share_of_zeros: float, shape: tuple[int, int], seed: int) -> np.ndarray:
    """Draw log-normal rows of which a share is zero."""
    random = np.random.default_rng(seed)
    rows = random.lognormal(sigma=2.0, size=shape)
    return np.where(random.random(shape) < share_of_zeros, 0.0, rows).astype(dtype)


def median_times(calls: list[Callable[[], object]], repeats: int) -> list[float]:
    """Median seconds of each call, the calls taken in turns; the first round is a rehearsal."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats + 1):
        for call, record in zip(calls, times, strict=True):
            start = perf_counter()
            call()
            record.append(perf_counter() - start)
    return [median(record[1:]) for record in times]


def compare(rows: np.ndarray, *, as_csr: bool, repeats: int) -> list[float]:
    """Seconds for ``np.histogram``, ``update`` and ``absorb`` on the same rows."""
    histogram = LogHistogram().update(rows)
    n_bins = round(64 * np.log2(histogram.high / histogram.low))
    edges = np.geomspace(histogram.low, histogram.high, n_bins + 1).astype(rows.dtype)
    ours = sparse.csr_array(rows) if as_csr else rows
    theirs = ours.data if as_csr else rows
    return median_times(
        [
            lambda: np.histogram(theirs, bins=edges),
            lambda: histogram.update(ours),
            lambda: histogram.absorb(ours),
        ],
        repeats,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parser.parse_args()
    cases = [
        ("dense", 0.0, False, arguments.rows),
        ("dense, 80 % zeros", 0.8, False, arguments.rows),
        ("CSR, 80 % zeros", 0.8, True, arguments.rows),
        ("one row", 0.0, False, 1),
    ]
    print("values             dtype    np.histogram     update     absorb   ratio (update, absorb)")
    print("                              ns a value  ns a value ns a value")
    for name, share_of_zeros, as_csr, n_rows in cases:
        for dtype in (np.float32, np.float64):
            rows = sample(dtype, share_of_zeros, (n_rows, 300), seed=0)
            repeats = arguments.repeats if n_rows > 1 else 50 * arguments.repeats
            numpy_time, update, absorb = compare(rows, as_csr=as_csr, repeats=repeats)
            n_values = np.count_nonzero(rows) if as_csr else rows.size
            each = [1e9 * seconds / n_values for seconds in (numpy_time, update, absorb)]
            print(
                f"{name:18} {np.dtype(dtype).name:8} {each[0]:12.1f} {each[1]:10.1f} "
                f"{each[2]:10.1f} {numpy_time / update:8.1f} {numpy_time / absorb:8.1f}"
            )


if __name__ == "__main__":
    main()
