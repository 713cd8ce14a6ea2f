"""A thousand classes: time and memory of learning, solving and predicting.

    python examples/benchmarks/many_classes.py              # 200,000 rows, D = 2048
    python examples/benchmarks/many_classes.py --quick

A class is a mixture of two training rows of fashion_bow (digits, where that is not at hand); its
rows are that mixture times log-normal noise with half of the values dropped, divided by their
sums. They are made on the fly while ``fit_stream`` learns: no more than some batches are in memory.
"""

from __future__ import annotations

import argparse
import resource
import time

import data_sets
import numpy as np

from streamchi2 import ExpChi2Classifier

BATCH = 4096


def centres(n_classes):
    rows, _, n_train = data_sets.load("fashion_bow") or data_sets.load("digits")
    pairs = np.random.default_rng(0).integers(0, n_train, (n_classes, 2))
    return (0.6 * rows[pairs[:, 0]] + 0.4 * rows[pairs[:, 1]]).astype(np.float32)


def batch_of(middles, n_rows, seed):
    random = np.random.default_rng(seed)
    labels = random.integers(0, len(middles), n_rows)
    noise = np.exp(random.normal(scale=1.2, size=(n_rows, middles.shape[1])).astype(np.float32))
    rows = middles[labels] * noise * (random.random(noise.shape) > 0.5)
    return rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-6), labels


def gigabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    words = parser.parse_args()
    n_classes, n_rows, n_features = (50, 20_000, 256) if words.quick else (1000, 200_000, 2048)
    middles = centres(n_classes)
    sizes = [min(BATCH, n_rows - start) for start in range(0, n_rows, BATCH)]
    batches = (batch_of(middles, size, seed) for seed, size in enumerate(sizes))
    model, start = ExpChi2Classifier(n_features, random_state=0), time.perf_counter()
    model.fit_stream(batches)
    learnt = time.perf_counter() - start
    print(f"{n_classes} classes, {n_rows} rows, D = {n_features}: {gigabytes():.2f} GB resident")
    print(f"learning {learnt:.1f} s, {n_rows / learnt:.0f} rows/s", flush=True)
    rows, labels = batch_of(middles, 5000, seed=10**6)
    start = time.perf_counter()
    shape = model.coef_.shape
    print(f"solving for coefficients of shape {shape}: {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    accuracy = model.score(rows, labels)
    spent = (time.perf_counter() - start) / len(rows)
    print(f"accuracy on {len(rows)} new rows: {accuracy:.3f}, {spent * 1e6:.0f} us a row")
    print(f"most memory held: {gigabytes():.2f} GB")


if __name__ == "__main__":
    main()
