"""How fast are rows turned into features, and how good is their kernel?

    python examples/benchmarks/featurize.py

Rows of 300 columns (bags of visual words where they are at hand, gamma rows otherwise) to 4096
features, in batches of 4096, 512 and 1 row, by ``ExpChi2Sampler`` with one and two workers and by
scikit-learn's ``AdditiveChi2Sampler(sample_steps=3)`` followed by ``RBFSampler``, in float64 as it
comes and fed with float32. All approximate exp(-beta chi2) with the same beta. Methods take
turns, so that a busy machine slows all alike, each with a burst of calls of which the first is not
counted: it would pay for the cache that the method before has emptied. Times are medians, and the
error is the root mean square over all pairs of 500 rows. Then where the time of one worker
goes, and at the end 1000 features on landmarks against scikit-learn's ``Nystroem(kernel="chi2")``.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from statistics import median
from time import perf_counter

import numpy as np
from data_sets import load
from scipy.fft import dct
from sklearn.kernel_approximation import AdditiveChi2Sampler, Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline

from streamchi2 import ExpChi2Sampler, exp_chi2_kernel
from streamchi2.threads import BLOCK_ROWS

N_COMPONENTS = 4096


def rows_of_300() -> np.ndarray:
    """Return 4096 rows of 300 columns that sum to one."""
    loaded = load("fashion_bow")
    if loaded is not None and loaded[0].shape[1] == 300:
        return np.resize(loaded[0], (4096, 300))
    rows = np.random.default_rng(0).gamma(0.3, size=(4096, 300))
    return rows / rows.sum(axis=1, keepdims=True)


def methods(rows: np.ndarray) -> dict[str, tuple[Callable, np.ndarray, float]]:
    """Return name -> (transform, rows as it takes them, beta)."""
    ours = {
        n_jobs: ExpChi2Sampler(N_COMPONENTS, n_jobs=n_jobs, random_state=0).fit(rows)
        for n_jobs in (1, 2)
    }
    beta = ours[1].beta_
    single = rows.astype(np.float32)

    def scikit_learn(taught: np.ndarray) -> Callable:
        # exp(-gamma ||c - c'||^2) = exp(-2 gamma chi2): gamma is half of beta.
        return (
            make_pipeline(
                AdditiveChi2Sampler(sample_steps=3),
                RBFSampler(gamma=beta / 2, n_components=N_COMPONENTS, random_state=0),
            )
            .fit(taught)
            .transform
        )

    return {
        "scikit-learn, float64": (scikit_learn(rows), rows, beta),
        "scikit-learn, float32": (scikit_learn(single), single, beta),
        "streamchi2, 1 worker": (ours[1].transform, rows, beta),
        "streamchi2, 1, float32 in": (ours[1].transform, single, beta),
        "streamchi2, 2 workers": (ours[2].transform, rows, beta),
    }


def kernel_rmse(transform: Callable, rows: np.ndarray, beta: float) -> float:
    features = np.asarray(transform(rows[:500]), dtype=np.float64)
    error = features @ features.T - exp_chi2_kernel(rows[:500].astype(np.float64), beta=beta)
    return float(np.sqrt(np.mean(error[np.triu_indices(500, 1)] ** 2)))


def median_seconds(
    calls: dict[str, Callable[[], object]], repeats: int, burst: int = 3
) -> dict[str, float]:
    """Median time of each call, taken in turns, the first call of every burst left out."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            call()
            for _ in range(burst - 1):
                start = perf_counter()
                call()
                times[name].append(perf_counter() - start)
    return {name: median(record) for name, record in times.items()}


def compare(rows: np.ndarray, repeats: int) -> None:
    compared = methods(rows)
    errors = {name: kernel_rmse(*method) for name, method in compared.items()}
    for n_rows in (4096, 512, 1):
        seconds = median_seconds(
            {
                name: partial(transform, given[:n_rows])
                for name, (transform, given, _) in compared.items()
            },
            repeats,
            burst=3 if n_rows > 1 else 50,
        )
        print(f"\n{n_rows} rows a call        us a row     rows/s   x f64   x f32   kernel rmse")
        double, fed_single = (seconds[f"scikit-learn, {kind}"] for kind in ("float64", "float32"))
        for name, time in seconds.items():
            print(
                f"{name:26} {1e6 * time / n_rows:9.1f} {n_rows / time:10.0f} {double / time:7.1f} "
                f"{fed_single / time:7.1f} {errors[name]:11.5f}"
            )
        if n_rows > BLOCK_ROWS:
            workers = seconds["streamchi2, 1 worker"] / seconds["streamchi2, 2 workers"]
            print(f"two workers are {workers:.2f} times one")


def profile(rows: np.ndarray, repeats: int) -> None:
    """Print the parts of one block, against what cannot be avoided: cosines, sines and DCTs."""
    sampler = ExpChi2Sampler(N_COMPONENTS, random_state=0).fit(rows)
    (of_all_columns,) = sampler._stream.read().feature_map.blocks
    block = rows[:BLOCK_ROWS].astype(np.float32)
    basis, inputs = of_all_columns.basis, of_all_columns.inputs(block)
    scratch, whole = np.zeros((len(block), basis.block_width), np.float32), basis.phases(inputs)
    scratch[:, : inputs.shape[1]] = inputs[:, : basis.block_width]
    features = np.empty((len(block), N_COMPONENTS), dtype=np.float32)
    phases = dct(scratch, axis=1, norm="ortho")
    half = features[:, : phases.shape[1]]
    seconds = median_seconds(
        {
            "series coordinates": lambda: of_all_columns.inputs(block),
            "one DCT": lambda: dct(phases, axis=1, norm="ortho"),
            "cosine of a block's phases": lambda: np.cos(phases, out=half),
            "sine of a block's phases": lambda: np.sin(phases, out=half),
            "both, scaled": lambda: basis.fill(whole.copy(), features),
            "all of it": lambda: of_all_columns.transform(block),
        },
        20 * repeats,
    )
    each = {name: 1e6 * time / len(block) for name, time in seconds.items()}
    print(
        f"\nwhere the time goes, us a row ({basis.n_blocks} blocks of {basis.block_width} phases)"
    )
    for name, time in each.items():
        print(f"{name:28} {time:6.2f}")
    trigonometry = each["cosine of a block's phases"] + each["sine of a block's phases"]
    floor = basis.n_blocks * trigonometry + (basis.n_blocks + 1) * each["one DCT"]
    print(
        f"{'floor: DCTs, cosines, sines':28} {floor:6.2f}  ({floor / each['all of it']:.0%} of it)"
    )


def landmarks(rows: np.ndarray, repeats: int) -> None:
    """Print what 1000 features on as many landmarks cost, against those of scikit-learn."""
    ours = {
        n_jobs: ExpChi2Sampler(1000, basis="landmarks", n_jobs=n_jobs, random_state=0).fit(rows)
        for n_jobs in (1, 2)
    }
    peer = Nystroem(kernel="chi2", gamma=ours[1].beta_ / 2, n_components=1000, random_state=0)
    peer.fit(rows)
    n_rows, n_peer = 1024, 128  # the peer's time grows with the rows alone
    seconds = median_seconds(
        {
            "scikit-learn's Nystroem": lambda: peer.transform(rows[:n_peer]),
            "streamchi2, 1 worker": lambda: ours[1].transform(rows[:n_rows]),
            "streamchi2, 2 workers": lambda: ours[2].transform(rows[:n_rows]),
        },
        repeats,
    )
    each = {name: 1e6 * time / n_rows for name, time in seconds.items()}
    theirs = each["scikit-learn's Nystroem"] = each["scikit-learn's Nystroem"] * n_rows / n_peer
    print(f"\n1000 landmarks, {ours[1].n_terms_} terms        us a row   x Nystroem")
    for name, time in each.items():
        print(f"{name:26} {time:9.1f} {theirs / time:10.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    rows = rows_of_300()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    compare(rows, repeats)
    profile(rows, repeats)
    landmarks(rows, repeats)


if __name__ == "__main__":
    main()
