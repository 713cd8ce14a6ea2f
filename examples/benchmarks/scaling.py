"""How does the cost grow? Seconds against n, d, D, classes and workers, with log-log slopes.

Run with ``python examples/benchmarks/scaling.py``; it takes one to two minutes. Every line varies
one number and keeps the others (n = 4096 rows, d = 128 columns, D = 1024 features, 10 classes).
Cost is processor time on one BLAS thread, the median of some runs; with several workers it is wall
time.
A slope of one means twice the cost for twice the number. It is that of a straight line through
all points, the last step alone is beside it: costs that are small at first bend the line.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence

import numpy as np
from threadpoolctl import threadpool_limits

from streamchi2 import ExpChi2Classifier, ExpChi2Sampler

ROWS, COLUMNS, FEATURES, CLASSES = 4096, 128, 1024, 10
Clock = Callable[[], float]


def histograms(n_rows: int, n_columns: int) -> np.ndarray:
    """Return rows that sum to one, most of the weight in a few columns."""
    random = np.random.default_rng(0)
    rows = random.gamma(0.3, size=(n_rows, n_columns)) + 1e-6
    return rows / rows.sum(axis=1, keepdims=True)


def labels(n_rows: int, n_classes: int) -> np.ndarray:
    """Return every class, in random order."""
    return np.random.default_rng(1).permutation(np.arange(n_rows) % n_classes)


def seconds(
    work: Callable[[], object], clock: Clock = time.process_time, repeats: int = 3
) -> float:
    """Return the median of some runs."""
    spent = []
    for _ in range(repeats):
        start = clock()
        work()
        spent.append(clock() - start)
    return float(np.median(spent))


def transforming(n_rows: int, n_columns: int, n_features: int) -> float:
    """Return the cost of features of rows, the map planned before."""
    rows = histograms(n_rows, n_columns)
    sampler = ExpChi2Sampler(n_features, random_state=0).partial_fit(rows[:256])
    return seconds(lambda: sampler.transform(rows))


def model_of(n_rows: int, n_columns: int, n_features: int, n_classes: int) -> ExpChi2Classifier:
    """Return a learner with a map, past the rows that are kept for the dual form."""
    model = ExpChi2Classifier(n_features, basis="orthogonal", random_state=0)
    rows = histograms(max(n_rows, n_features + n_features // 8), n_columns)
    return model.partial_fit(rows, labels(len(rows), n_classes), classes=range(n_classes))


def learning(n_rows: int, n_columns: int, n_features: int, n_classes: int) -> float:
    """Return the cost of ``partial_fit`` of a batch."""
    model = model_of(1024, n_columns, n_features, n_classes)
    rows, targets = histograms(n_rows, n_columns), labels(n_rows, n_classes)
    return seconds(lambda: model.partial_fit(rows, targets))


def solving(n_rows: int, n_columns: int, n_features: int, n_classes: int) -> float:
    """Return the cost of the first ``predict`` after learning, the penalty chosen."""
    model = model_of(n_rows, n_columns, n_features, n_classes)
    rows, targets = histograms(1, n_columns), labels(1, n_classes)
    return seconds(lambda: model.partial_fit(rows, targets).predict(rows))


def workers(n_jobs: int) -> float:
    """Return the wall time of features, shared out among threads."""
    rows = histograms(ROWS, COLUMNS)
    sampler = ExpChi2Sampler(FEATURES, n_jobs=n_jobs, random_state=0).partial_fit(rows[:256])
    return seconds(lambda: sampler.transform(rows), time.perf_counter, repeats=7)


def report(what: str, name: str, values: Sequence[int], spent: Sequence[float]) -> None:
    """Print one line of the table."""
    slope = np.polyfit(np.log(values), np.log(spent), 1)[0]
    last = np.log(spent[-1] / spent[-2]) / np.log(values[-1] / values[-2])
    cells = "  ".join(f"{v:>6d}: {s:7.4f}" for v, s in zip(values, spent, strict=True))
    print(f"{what:12s} {name:8s} {cells}   slope {slope:5.2f}, last step {last:5.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two small points a line")
    quick = parser.parse_args().quick
    n_points = 2 if quick else 4

    def steps(first: int) -> list[int]:
        return [first * 2**power for power in range(n_points)]

    tables: list[tuple[str, str, list[int], Callable[[int], float]]] = [
        ("transform", "n", steps(1024), lambda n: transforming(n, COLUMNS, FEATURES)),
        ("transform", "d", steps(64), lambda d: transforming(ROWS, d, FEATURES)),
        ("transform", "D", steps(512), lambda size: transforming(ROWS, COLUMNS, size)),
        ("partial_fit", "n", steps(1024), lambda n: learning(n, COLUMNS, FEATURES, CLASSES)),
        ("partial_fit", "d", steps(64), lambda d: learning(ROWS, d, FEATURES, CLASSES)),
        ("partial_fit", "D", steps(256), lambda size: learning(ROWS, COLUMNS, size, CLASSES)),
        ("partial_fit", "classes", steps(10), lambda c: learning(ROWS, COLUMNS, FEATURES, c)),
        ("predict", "n", steps(2048), lambda n: solving(n, COLUMNS, FEATURES, CLASSES)),
        ("predict", "D", steps(256), lambda size: solving(ROWS, COLUMNS, size, CLASSES)),
        ("predict", "classes", steps(10), lambda c: solving(ROWS, COLUMNS, FEATURES, c)),
    ]
    print("seconds; predict: the first one after learning, with the penalty chosen")
    with threadpool_limits(1):
        for what, name, values, cost in tables:
            tried = [value // 4 for value in values] if quick else values
            report(what, name, tried, [cost(value) for value in tried])
        report("transform", "workers", [1, 2], [workers(1), workers(2)])


if __name__ == "__main__":
    main()
