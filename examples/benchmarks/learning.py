"""What does learning cost? Ratios of medians at D = 2048 features, in about two minutes.

Run with ``python examples/benchmarks/learning.py``. Every line compares two pieces of work that are
measured in turn, on one BLAS thread, so that a busy machine slows both alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.linalg.blas import ssyrk
from sklearn.decomposition import IncrementalPCA
from threadpoolctl import threadpool_limits

from streamchi2.estimators.classifier import ExpChi2Classifier
from streamchi2.estimators.sampler import ExpChi2Sampler
from streamchi2.estimators.streaming_pca import StreamingPCA
from streamchi2.estimators.streaming_ridge import StreamingRidgeClassifier
from streamchi2.solvers.components import principal_components
from streamchi2.statistics.moments import Moments

WIDTH = 2048
BLOCK = 1024


def features(n_rows: int, seed: int = 0) -> np.ndarray:
    """Rows whose variances fall like 1/j, as those of kernel features do."""
    random = np.random.default_rng(seed)
    rows = random.standard_normal((n_rows, WIDTH), dtype=np.float32)
    return rows / np.sqrt(1.0 + np.arange(WIDTH, dtype=np.float32)) + np.float32(0.1)


def median_seconds(tasks: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each task, measured in turn after one run that does not count."""
    spent: dict[str, list[float]] = {name: [] for name in tasks}
    for repeat in range(repeats + 1):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            if repeat:
                spent[name].append(time.perf_counter() - start)
    return {name: float(np.median(seconds)) for name, seconds in spent.items()}


def report(what: str, ours: float, theirs: float, aim: str) -> None:
    ratio = ours / theirs
    print(f"{what:62s} {ours:9.4f} {theirs:9.4f} {ratio:7.2f} {1 / ratio:7.1f}x  {aim}")


def moment_updates() -> None:
    block = features(BLOCK)
    moments, pca, weights = Moments.empty(np.zeros(WIDTH)), StreamingPCA(300), np.ones(BLOCK)
    spent = median_seconds(
        {
            "syrk": lambda: ssyrk(1.0, block.T),
            "add": lambda: moments.add(block, None, weights),
            "partial_fit": lambda: pca.partial_fit(block),
        },
        repeats=11,
    )
    aim = "ratio at most 1.3"
    report("Moments.add, 1024 rows / one ssyrk", spent["add"], spent["syrk"], aim)
    report("StreamingPCA.partial_fit / one ssyrk", spent["partial_fit"], spent["syrk"], aim)


def incremental_pca() -> None:
    block = features(BLOCK)
    theirs, ours = IncrementalPCA(300), StreamingPCA(300)
    spent = median_seconds(
        {"ours": lambda: ours.partial_fit(block), "theirs": lambda: theirs.partial_fit(block)},
        repeats=3,
    )
    what = "StreamingPCA.partial_fit / IncrementalPCA(300).partial_fit"
    report(what, spent["ours"], spent["theirs"], "10 times faster")


def leading_components() -> None:
    moments, rows = Moments.empty(np.zeros(WIDTH)), features(8 * BLOCK)
    moments.add(rows, None, np.ones(len(rows)))
    scatter = moments.scatter()
    spent = median_seconds(
        {
            "leading": lambda: principal_components(scatter, 256),
            "full": lambda: np.linalg.eigh(scatter),
        },
        repeats=3,
    )
    report("leading 256 components of 2048 / full eigh", spent["leading"], spent["full"], "")


def numbers_of_classes() -> None:
    block = features(BLOCK)
    random = np.random.default_rng(0)
    tasks: dict[str, Callable[[], object]] = {}
    for n_classes in (10, 100, 1000):
        model = StreamingRidgeClassifier()
        labels = random.integers(0, n_classes, BLOCK)
        model.partial_fit(block, labels, classes=range(n_classes))
        tasks[str(n_classes)] = lambda model=model, labels=labels: model.partial_fit(block, labels)
    spent = median_seconds(tasks, repeats=9)
    for n_classes in ("100", "1000"):
        what = f"partial_fit of 1024 rows, {n_classes} classes / 10 classes"
        report(what, spent[n_classes], spent["10"], "ratio below 1.5")


def predictions() -> None:
    block = features(BLOCK)
    model = StreamingRidgeClassifier().fit(block, np.arange(BLOCK) % 10)
    spent = median_seconds({"predict": lambda: model.predict(block)}, repeats=9)
    print(f"  predictions a second, 10 classes: {BLOCK / spent['predict']:.0f}")


def histograms(n_rows: int, width: int = 300, seed: int = 0) -> np.ndarray:
    """Bags of words: 80 of 300 words in each row, some of them common."""
    random = np.random.default_rng(seed)
    shares = random.dirichlet(np.full(width, 0.3), size=n_rows)
    return random.multinomial(80, shares) / 80.0


def mapped_learning() -> None:
    rows, labels = histograms(5 * BLOCK), np.arange(5 * BLOCK) % 10
    # The basis of both: other bases have other features, at another cost.
    model = ExpChi2Classifier(WIDTH, basis="orthogonal", random_state=0).partial_fit(rows, labels)
    sampler = ExpChi2Sampler(WIDTH, random_state=0).partial_fit(rows)
    block, answers = histograms(BLOCK, seed=1), labels[:BLOCK]
    mapped = sampler.transform(block)
    spent = median_seconds(
        {
            "transform": lambda: sampler.transform(block),
            "syrk": lambda: ssyrk(1.0, mapped.T),
            "partial_fit": lambda: model.partial_fit(block, answers),
        },
        repeats=15,
    )
    report(
        "ExpChi2Classifier.partial_fit, 1024 rows / transform + ssyrk",
        spent["partial_fit"],
        spent["transform"] + spent["syrk"],
        "ratio at most 1.3",
    )
    first = median_seconds({"solve": lambda: model.partial_fit(rows[:1], [0]).predict(rows[:1])}, 3)
    later = median_seconds(
        {"block": lambda: model.predict(block), "row": lambda: model.predict(block[:1])}, 9
    )
    print(f"  first prediction after learning, alpha chosen: {first['solve']:.2f} s")
    print(f"  predictions a second: {BLOCK / later['block']:.0f}, singly {1 / later['row']:.0f}")


def mapped_classes() -> None:
    block = histograms(BLOCK)
    random = np.random.default_rng(0)
    tasks: dict[str, Callable[[], object]] = {}
    for n_classes in (10, 100, 1000):
        model = ExpChi2Classifier(WIDTH, random_state=0)
        labels = random.integers(0, n_classes, BLOCK)
        model.partial_fit(block, labels, classes=range(n_classes))
        tasks[str(n_classes)] = lambda model=model, labels=labels: model.partial_fit(block, labels)
    spent = median_seconds(tasks, repeats=9)
    for n_classes in ("100", "1000"):
        what = f"ExpChi2Classifier.partial_fit, {n_classes} classes / 10 classes"
        report(what, spent[n_classes], spent["10"], "ratio below 1.5")


def main() -> None:
    print(
        f"{'seconds (medians)':62s} {'ours':>9s} {'theirs':>9s} {'ratio':>7s} {'faster':>8s}  aim"
    )
    on_features = (
        moment_updates,
        incremental_pca,
        leading_components,
        numbers_of_classes,
        predictions,
    )
    with threadpool_limits(1):
        for part in (*on_features, mapped_learning, mapped_classes):
            part()


if __name__ == "__main__":
    main()
