"""How much does a feature carry? Accuracy against the number of features, for every basis.

    python examples/benchmarks/quality.py            # all sets at D = 250, 500, 1000
    python examples/benchmarks/quality.py --quick    # digits and spambase
    python examples/benchmarks/quality.py --sizes 2000 4000

At most 5000 training and 3000 test rows, beta = one over the mean distance of the first rows for
every method, penalties by generalised cross-validation (exact kernel: leave-one-out). Beside each
accuracy stand microseconds a row for learning and for predicting. "subspace" draws its frequencies
inside the leading principal directions of the series coordinates: a prototype that lives only here.
A picture is saved as quality.png where matplotlib is installed.
"""

import argparse
import time

import numpy as np
from data_sets import load
from sklearn.kernel_approximation import Nystroem

from streamchi2 import (
    DirectSeries,
    ExpChi2Classifier,
    ExpChi2Sampler,
    StreamingRidgeClassifier,
    chi2_distance,
)

SETS = {
    "digits": ("digits", "X"),
    "spambase": ("spambase", "X"),
    "fsdd_bow": ("fsdd_bow", "X"),
    "fashion_bow": ("fashion_bow", "X"),
    "fashion_hog": ("fashion_hog", "X"),
    "cifar10 hog": ("cifar10_three", "hog"),
    "cifar10 colour": ("cifar10_three", "colour"),
    "cifar10 bow": ("cifar10_three", "bow"),
}
METHODS = ["orthogonal", "gaussian", "subspace", "landmarks", "PCA from 3D", "Nystroem"]
COLOURS = ["#0072b2", "#56b4e9", "#009e73", "#d55e00", "#cc79a7", "#999999"]
N_DIRECTIONS = 120


def rows_of(name, descriptor):
    found = load(name, descriptor=descriptor)
    if found is None:
        return None
    rows, labels, n_train = found
    random = np.random.default_rng(0)
    train = random.permutation(n_train)[:5000]
    test = n_train + random.permutation(len(labels) - n_train)[:3000]
    return rows[train], labels[train], rows[test], labels[test]


class TwoSteps:
    """Features made beforehand by ``transform``, then ridge: the shape of the two prototypes."""

    def __init__(self, transform):
        self.transform = transform
        self.ridge = StreamingRidgeClassifier("gcv")

    def fit(self, rows, labels):
        """Learn from rows."""
        self.ridge.fit(self.transform(rows), labels)
        return self

    def score(self, rows, labels):
        """Return the accuracy."""
        return self.ridge.score(self.transform(rows), labels)


def subspace(train, beta, size):
    """Gaussian frequencies inside the leading principal directions, the rest left out."""
    k = ExpChi2Sampler(size, random_state=0).fit(train).k_
    series = DirectSeries(k)
    coordinates = series.transform(train.astype(np.float32))
    centred = coordinates - coordinates.mean(axis=0)
    n = min(N_DIRECTIONS, coordinates.shape[1])
    directions = np.linalg.svd(centred[:2000], full_matrices=False)[2][:n].T
    draws = np.random.default_rng(0).standard_normal((directions.shape[1], size // 2))
    frequencies = (directions @ draws * np.sqrt(beta)).astype(np.float32)

    def transform(rows):
        phases = series.transform(rows.astype(np.float32)) @ frequencies
        return np.hstack([np.cos(phases), np.sin(phases)]) * np.float32((2 / size) ** 0.5)

    return TwoSteps(transform)


def model_of(method, size, train, beta):
    words = {"beta": beta, "random_state": 0, "n_jobs": -1}
    if method == "PCA from 3D":
        return ExpChi2Classifier(3 * size, n_pca=size, **words)
    if method == "Nystroem":
        size = min(size, len(train))
        nystroem = Nystroem("chi2", gamma=beta / 2, n_components=size, random_state=0).fit(train)
        return TwoSteps(nystroem.transform)
    if method == "subspace":
        return subspace(train, beta, size)
    return ExpChi2Classifier(size, basis=method, **words)


def measured(model, train, labels, test, test_labels):
    start = time.perf_counter()
    model.fit(train, labels)
    model.score(test[:10], test_labels[:10])  # solves
    learnt = time.perf_counter()
    accuracy = model.score(test, test_labels)
    done = time.perf_counter()
    return accuracy, 1e6 * (learnt - start) / len(train), 1e6 * (done - learnt) / len(test)


def exact_accuracy(train, labels, test, test_labels, beta):
    kernel = np.exp(-beta * chi2_distance(train))
    classes = np.unique(labels)
    targets = (labels[:, None] == classes) - np.mean(labels[:, None] == classes, axis=0)
    values, vectors = np.linalg.eigh(kernel)
    turned = vectors.T @ targets
    best = None
    for penalty in np.logspace(-3, 1.5, 10):
        weights = vectors @ (turned / (values + penalty)[:, None])
        own = np.einsum("ij,j,ij->i", vectors, 1 / (values + penalty), vectors)
        error = np.mean((weights / own[:, None]) ** 2)  # leave-one-out
        if best is None or error < best[0]:
            best = error, weights
    scores = np.exp(-beta * chi2_distance(test, train)) @ best[1]
    shares = np.mean(labels[:, None] == classes, axis=0)
    return np.mean(classes[(scores + shares).argmax(axis=1)] == test_labels)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", default=[250, 500, 1000])
    arguments = parser.parse_args()
    names = ["digits", "spambase"] if arguments.quick else list(SETS)
    points = {}
    for name in names:
        if (parts := rows_of(*SETS[name])) is None:
            continue
        train = parts[0]
        beta = ExpChi2Sampler(2, random_state=0).fit(train).beta_
        exact = exact_accuracy(*parts, beta)
        print(f"\n{name}: {len(train)} rows, beta {beta:.3g}, exact kernel ridge {exact:.4f}")
        print(
            f"{'accuracy, learn, predict us/row':32}" + "".join(f"{d:>22}" for d in arguments.sizes)
        )
        for method in METHODS:
            cells = []
            for size in arguments.sizes:
                cell = measured(model_of(method, size, train, beta), *parts)
                cells.append(cell)
                points.setdefault((name, method), []).append((cell[2], cell[0]))
            text = "".join(f"{a:10.4f} {f:5.0f} {p:5.0f}" for a, f, p in cells)
            print(f"{method:32}{text}", flush=True)
        points[name, "exact"] = exact
    save_picture(points, names)


def save_picture(points, names):
    try:
        import matplotlib as mpl
    except ImportError:
        return
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = [name for name in names if (name, "exact") in points]
    columns = min(4, len(names))
    figure, axes = plt.subplots(
        -(-len(names) // columns), columns, figsize=(3.4 * columns, 6.2 if len(names) > 4 else 3.4),
        layout="constrained", squeeze=False,
    )  # fmt: skip
    colours = dict(zip(METHODS, COLOURS, strict=True))
    for axis, name in zip(axes.flat, names, strict=False):
        for method in METHODS:
            times, scores = zip(*points[name, method], strict=True)
            axis.plot(times, scores, "o-", ms=3, lw=1.2, color=colours[method], label=method)
        axis.axhline(points[name, "exact"], color="black", lw=0.8, ls=":")
        axis.set(title=name, xscale="log", xlabel="prediction, us a row")
    axes[0, 0].set_ylabel("accuracy (dotted: exact kernel)")
    axes[0, 0].legend(frameon=False, fontsize=7)
    figure.savefig("quality.png", dpi=120)
    print("\npicture saved as quality.png")


if __name__ == "__main__":
    main()
