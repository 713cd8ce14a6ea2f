"""How much does a feature carry? Accuracy against the number of features, for every basis.

    python examples/benchmarks/quality.py                      # all sets at D = 250, 500, 1000
    python examples/benchmarks/quality.py --quick              # digits and spambase
    python examples/benchmarks/quality.py --sizes 2000 4000 --sets "cifar10 hog" spambase
    python examples/benchmarks/quality.py --seeds 5 --no-exact --methods landmarks Nystroem

At most 5000 training and 3000 test rows, beta = one over the mean distance of the first rows for
every method, penalties by generalised cross-validation (exact kernel: by a fifth of the rows held
out). Beside each accuracy stand microseconds of processor time a row to learn and to predict; below
each set, how far subspace and landmarks are from the exact kernel and from scikit-learn's Nystroem,
with several seeds of the features beside the standard error over them.
A picture of accuracy against prediction time is saved as quality.png where matplotlib is installed.
"""

import argparse
import time

import numpy as np
from data_sets import load
from scipy.linalg import cho_factor, cho_solve
from sklearn.kernel_approximation import Nystroem

from streamchi2 import (
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
PENALTIES = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003)


def rows_of(name, descriptor):
    loaded = load(name, descriptor=descriptor)
    if loaded is None:
        return None
    rows, labels, n_train = loaded
    random = np.random.default_rng(0)
    train = random.permutation(n_train)[:5000]
    test = n_train + random.permutation(len(labels) - n_train)[:3000]
    return rows[train], labels[train], rows[test], labels[test]


class TwoSteps:
    """Features by ``transform``, then ridge."""

    def __init__(self, transform):
        self.transform = transform
        self.ridge = StreamingRidgeClassifier("auto")

    def fit(self, rows, labels):
        """Learn from rows."""
        self.ridge.fit(self.transform(rows), labels)
        return self

    def score(self, rows, labels):
        """Return the accuracy."""
        return self.ridge.score(self.transform(rows), labels)


def model_of(method, size, train, beta, seed):
    params = {"beta": beta, "random_state": seed}
    if method == "PCA from 3D":
        return ExpChi2Classifier(3 * size, n_pca=size, **params)
    if method == "Nystroem":
        size = min(size, len(train))
        nystroem = Nystroem("chi2", gamma=beta / 2, n_components=size, random_state=seed)
        return TwoSteps(nystroem.fit(train).transform)
    return ExpChi2Classifier(size, basis=method, **params)


def measured(model, train, labels, test, test_labels):
    start = time.process_time()
    model.fit(train, labels)
    model.score(test[:10], test_labels[:10])  # solves
    learnt = time.process_time()
    accuracy = model.score(test, test_labels)
    done = time.process_time()
    return accuracy, 1e6 * (learnt - start) / len(train), 1e6 * (done - learnt) / len(test)


def exact_accuracy(train, labels, test, test_labels, beta):
    """Kernel ridge on all pairs of rows; the penalty by the last fifth of them, held out."""
    kernel = np.exp(-beta * chi2_distance(train))
    classes = np.unique(labels)
    targets = (labels[:, None] == classes).astype(float)
    shares = targets.mean(axis=0)
    targets -= shares
    kept = len(train) * 4 // 5
    errors = []
    for penalty in PENALTIES:
        weights = ridge_weights(kernel[:kept, :kept], targets[:kept], penalty)
        errors.append(np.sum((kernel[kept:, :kept] @ weights - targets[kept:]) ** 2))
        if errors[-1] > min(errors):
            break
    weights = ridge_weights(kernel, targets, PENALTIES[int(np.argmin(errors))])
    scores = np.exp(-beta * chi2_distance(test, train)) @ weights
    return np.mean(classes[(scores + shares).argmax(axis=1)] == test_labels)


def ridge_weights(kernel, targets, penalty):
    raised = kernel.copy()
    raised.flat[:: len(kernel) + 1] += penalty
    factor = cho_factor(raised, lower=True, overwrite_a=True, check_finite=False)
    return cho_solve(factor, targets, check_finite=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sizes", type=int, nargs="+", default=[250, 500, 1000])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--no-exact", action="store_true", help="leave out what takes longest")
    parser.add_argument("--seeds", type=int, default=1, help="draws of the features")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    arguments = parser.parse_args()
    names = ["digits", "spambase"] if arguments.quick else arguments.sets
    points = {}
    for name in names:
        if (parts := rows_of(*SETS[name])) is not None:
            points[name] = compared(name, parts, arguments)
    save_picture(points)


def compared(name, parts, arguments):
    """Measure and print every method on one set; return what was measured."""
    train, n_test, sizes = parts[0], len(parts[3]), arguments.sizes
    beta = ExpChi2Sampler(2, random_state=0).fit(train).beta_
    print(f"\n{name}: {len(train)} rows, beta {beta:.3g}")
    points = {}
    if not arguments.no_exact:
        points["exact"] = exact = exact_accuracy(*parts, beta)
        error = (exact * (1 - exact) / n_test) ** 0.5
        print(f"exact kernel ridge {exact:.4f}, standard error {error:.4f}")
    print(f"{'accuracy, learn, predict us/row':32}" + "".join(f"{d:>22}" for d in sizes))
    for method in arguments.methods:
        runs = np.array(
            [
                [measured(model_of(method, size, train, beta, seed), *parts) for size in sizes]
                for seed in range(arguments.seeds)
            ]
        )  # seeds x sizes x (accuracy, learn, predict)
        points[method] = runs
        text = "".join(f"{a:10.4f} {f:5.0f} {p:5.0f}" for a, f, p in runs.mean(axis=0))
        print(f"{method:32}{text}", flush=True)
    for method in [method for method in ("subspace", "landmarks") if method in points]:
        for peer in [peer for peer in ("exact", "Nystroem") if peer in points]:
            print_gaps(method, peer, points)
    return points


def print_gaps(method, peer, points):
    theirs = points[peer] if peer == "exact" else points[peer][..., 0]
    gaps = points[method][..., 0] - theirs
    text = [f"{gap:+10.4f}" for gap in gaps.mean(axis=0)]
    if len(gaps) > 1:
        errors = gaps.std(axis=0, ddof=1) / len(gaps) ** 0.5
        text = [f"{gap} +- {error:.4f}" for gap, error in zip(text, errors, strict=True)]
    print(f"{f'{method} minus {peer}':32}{''.join(f'{cell:22}' for cell in text)}".rstrip())


def save_picture(points):
    try:
        import matplotlib as mpl
    except ImportError:
        return
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    columns = min(4, len(points))
    rows = -(-len(points) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(3.4 * columns, 3.1 * rows), layout="constrained", squeeze=False
    )
    colours = dict(zip(METHODS, COLOURS, strict=True))
    for axis, (name, results) in zip(axes.flat, points.items(), strict=False):
        for method in [method for method in METHODS if method in results]:
            scores, _, times = results[method].mean(axis=0).T
            axis.plot(times, scores, "o-", ms=3, lw=1.2, color=colours[method], label=method)
        if "exact" in results:
            axis.axhline(results["exact"], color="black", lw=0.8, ls=":")
        axis.set(title=name, xscale="log", xlabel="prediction, CPU us a row")
        low, high = axis.get_xlim()
        ticks = [tick for tick in (3, 10, 30, 100, 300, 1000, 3000) if low < tick < high]
        axis.set_xticks(ticks, labels=map(str, ticks))
        axis.minorticks_off()
    axes[0, 0].set_ylabel("accuracy (dotted: exact kernel)")
    axes[0, 0].legend(frameon=False, fontsize=7)
    figure.savefig("quality.png", dpi=120)
    print("\npicture saved as quality.png")


if __name__ == "__main__":
    main()
