"""Does a long stream through few features beat the exact kernel on the rows that it can hold?

    python examples/benchmarks/streamed_quality.py             # about half an hour on one core
    python examples/benchmarks/streamed_quality.py --quick     # spambase, to see that it runs

All 60000 rows of fashion_bow and all 15000 rows of each descriptor of cifar10_three, in batches of
1000, against exact kernel ridge on 5000 of them (``--held`` for more: its cost grows with the
cube). All test rows are scored. beta is one over the mean distance everywhere.
"""

import argparse
import time

import numpy as np
from data_sets import load
from quality import exact_accuracy

from streamchi2 import ExpChi2Classifier

STREAMS = {
    "fashion_bow": ("fashion_bow", "X"),
    "cifar10 hog": ("cifar10_three", "hog"),
    "cifar10 colour": ("cifar10_three", "colour"),
    "cifar10 bow": ("cifar10_three", "bow"),
}
BASES = ("orthogonal", "subspace", "landmarks")


def streamed(basis, size, rows, labels):
    """Learn batch by batch; return the model and microseconds a row."""
    model = ExpChi2Classifier(size, basis=basis, random_state=0, n_jobs=-1)
    start = time.perf_counter()
    for first in range(0, len(rows), 1000):
        model.partial_fit(rows[first : first + 1000], labels[first : first + 1000])
    return model, 1e6 * (time.perf_counter() - start) / len(rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 2000])
    parser.add_argument("--held", type=int, default=5000, help="rows for the exact kernel")
    parser.add_argument("--sets", nargs="+", default=list(STREAMS), choices=STREAMS)
    arguments = parser.parse_args()
    streams = {name: STREAMS[name] for name in arguments.sets}
    if arguments.quick:
        streams, arguments.sizes, arguments.held = {"spambase": ("spambase", "X")}, [250], 1000
    for name, (file, descriptor) in streams.items():
        if (loaded := load(file, descriptor=descriptor)) is None:
            continue
        rows, labels, n_train = loaded
        order = np.random.default_rng(0).permutation(n_train)
        train, labels_of, test, truth = rows[order], labels[order], rows[n_train:], labels[n_train:]
        n_held = min(arguments.held, n_train)
        beta = ExpChi2Classifier(2, random_state=0).fit(train[:1000], labels_of[:1000]).beta_
        exact = exact_accuracy(train[:n_held], labels_of[:n_held], test, truth, beta)
        error = (exact * (1 - exact) / len(truth)) ** 0.5
        print(
            f"\n{name}: exact kernel ridge on {n_held} rows {exact:.4f} +- {error:.4f}", flush=True
        )
        for size in arguments.sizes:
            for basis in BASES:
                model, cost = streamed(basis, size, train, labels_of)
                score = model.score(test, truth)
                print(f"  {n_train} rows, D = {size}, {basis:11}{score:8.4f}", end="")
                print(f"{score - exact:+8.4f}{cost:7.0f} us a row", flush=True)


if __name__ == "__main__":
    main()
