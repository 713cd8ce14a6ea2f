"""Ten minutes of everything: learn, predict, merge, save, load, while the input drifts.

    python examples/benchmarks/soak.py --minutes 10

The scale of the histograms drifts over six orders of magnitude, there and back, again and again.
Each batch is predicted, then learnt, every tenth by a shard that is saved, loaded and merged;
every fifth time the model is replaced by what was saved of it. Measured are resident memory (the
end against a tenth of the way), the audited error of the kernel throughout, and the distance of
the final scores to those of a fresh model that sees the same rows in one pass.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from streamchi2 import ExpChi2Classifier
from streamchi2.files import load, save

N_COLUMNS, N_CLASSES, BATCH = 24, 3, 64
DECADES, PERIOD = 6.0, 16_384  # orders of magnitude, and rows for the way there and back
N_FEATURES = 128
# A penalty that is chosen is chosen afresh after a merge.
PARAMETERS = {"n_components": N_FEATURES, "alpha": 0.01, "random_state": 0}
# A third of the Monte Carlo error is what the series may add to it.
TOLERANCE = (1 + 1 / 3) / np.sqrt(N_FEATURES)
SAME_SCORES, SAME_MEMORY = 1e-4, 0.01


def batch(number):
    """Return rows and labels of one batch; the same number gives the same batch."""
    draws = np.random.default_rng(number)
    labels = draws.integers(0, N_CLASSES, BATCH)
    rows = draws.gamma(1.0 + 3.0 * (np.arange(N_COLUMNS) % N_CLASSES == labels[:, None]))
    rows /= rows.sum(axis=1, keepdims=True)
    phase = (number * BATCH + np.arange(BATCH)) / PERIOD
    scale = 10.0 ** (DECADES / 2 * np.sin(2 * np.pi * phase))
    return rows * scale[:, None], labels


def step(model, number, path):
    """Predict, learn, and now and then save, load and merge; return the model and its hits."""
    rows, labels = batch(number)
    n_right = int((model.predict(rows) == labels).sum()) if number else 0
    if number % 10 == 7:
        save(model.new_shard().partial_fit(rows, labels), path)
        model.merge(load(path))
    else:
        model.partial_fit(rows, labels)
    if number % 5 == 3:
        save(model, path)
        model = load(path)
    return model, n_right


def one_pass(n_batches):
    """Return a model that has seen the same rows and nothing else."""
    model = ExpChi2Classifier(**PARAMETERS)
    for number in range(n_batches):
        model.partial_fit(*batch(number))
    return model


def resident_megabytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1e6


def soak(minutes, path):
    """Return the model, the number of batches, hits, kernel errors and memory on the way."""
    model, number, n_right = ExpChi2Classifier(**PARAMETERS), 0, 0
    errors, memory, began = [], [], time.perf_counter()
    while (passed := time.perf_counter() - began) < 60 * minutes:
        model, hits = step(model, number, path)
        n_right += hits
        number += 1
        if number % 20 == 0:
            errors.append(model.kernel_error().rms)
            memory.append((passed, resident_megabytes()))
        if number % 100 == 0:
            print(f"\r{passed / 60:5.1f} min {number * BATCH:9} rows  ", end="")
            print(f"memory {memory[-1][1]:.1f} MB  error {errors[-1]:.3f}", end="", flush=True)
    print()
    return model, number, n_right, np.array(errors), np.array(memory)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    minutes = parser.parse_args().minutes
    with tempfile.TemporaryDirectory() as folder:
        model, number, n_right, errors, memory = soak(minutes, Path(folder) / "model")
    early = memory[memory[:, 0] > 6 * minutes, 1][:10].mean()
    growth = memory[-10:, 1].mean() / early - 1
    rows = np.concatenate([batch(i)[0] for i in range(0, number, max(number // 20, 1))])
    fresh = one_pass(number)
    mine, theirs = model.decision_function(rows), fresh.decision_function(rows)
    distance = np.abs(mine - theirs).max() / np.abs(theirs).max()
    moves = ", ".join(f"{t.residual:.1%} at row {t.position}" for t in model.transports_)
    print(f"{number} batches, {number * BATCH} rows, accuracy {n_right / (number * BATCH):.3f}")
    print(f"k was re-estimated, coordinates moved: {moves or 'never'}")
    verdicts = {
        f"memory grew by {growth:.2%}, allowed {SAME_MEMORY:.0%}": growth < SAME_MEMORY,
        f"kernel error at most {errors.max():.3f}, allowed {TOLERANCE:.3f}": errors.max()
        < TOLERANCE,
        f"distance to one pass {distance:.1e}, allowed {SAME_SCORES}": distance < SAME_SCORES,
    }
    for verdict, holds in verdicts.items():
        print(f"{'good' if holds else 'BAD '}  {verdict}")
    return 0 if all(verdicts.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
