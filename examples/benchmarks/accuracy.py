"""How accurate is learning at linear cost? Against linear models and the exact kernel.

Run with ``python examples/benchmarks/accuracy.py [--quick]``. The whole takes about eight
minutes on one core, ``--quick`` one. Three questions:

1. At equal training rows, where do we stand between linear ridge and exact exp-chi2 kernel ridge?
2. What does a stream of many more rows, which the exact kernel cannot take, add to that?
3. Do rows without labels help, by better principal components?
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from data_sets import load
from scipy.linalg import cho_factor, cho_solve
from sklearn.metrics.pairwise import chi2_kernel

from streamchi2.estimators.classifier import ExpChi2Classifier
from streamchi2.estimators.streaming_ridge import StreamingRidgeClassifier

SETS = (("fashion_bow", "X"), ("fashion_hog", "X"), ("cifar10_three", "hog"), ("spambase", "X"))
PENALTIES = (0.01, 0.1, 0.3, 1.0, 3.0)


def split(name, descriptor, n_train, n_test, seed=0):
    """Draw training and test rows from the two parts of a data set; None where it is absent."""
    loaded = load(name, descriptor=descriptor)
    if loaded is None:
        return None
    rows, labels, boundary = loaded
    random = np.random.default_rng(seed)
    train = random.permutation(boundary)[:n_train]
    test = boundary + random.permutation(len(labels) - boundary)[:n_test]
    return rows[train], labels[train], rows[test], labels[test]


def exact_ridge(rows, labels, test_rows, test_labels, beta):
    """Accuracy of exact kernel ridge; the penalty is chosen on every fifth training row."""
    kernel = chi2_kernel(rows, gamma=beta / 2.0)
    held_out = np.arange(len(labels)) % 5 == 0
    scores = [
        np.mean(kernel_predictions(kernel, labels, ~held_out, held_out, alpha) == labels[held_out])
        for alpha in PENALTIES
    ]
    alpha = PENALTIES[int(np.argmax(scores))]
    between = chi2_kernel(test_rows, rows, gamma=beta / 2.0)
    everything = np.ones(len(labels), dtype=bool)
    predicted = kernel_predictions(kernel, labels, everything, between, alpha)
    return np.mean(predicted == test_labels)


def kernel_predictions(kernel, labels, chosen, targets, alpha):
    """Labels for rows of the kernel, chosen by a mask or given as kernel values."""
    classes, codes = np.unique(labels, return_inverse=True)
    one_hot = np.eye(classes.size)[codes[chosen]]
    mean = one_hot.mean(axis=0)
    raised = kernel[np.ix_(chosen, chosen)]
    raised.flat[:: raised.shape[0] + 1] += alpha
    dual = cho_solve(cho_factor(raised, overwrite_a=True), one_hot - mean)
    between = kernel[np.ix_(targets, chosen)] if targets.ndim == 1 else targets
    return classes[(between @ dual + mean).argmax(axis=1)]


def compare(n_train, n_test, n_features, n_pca):
    """Table of accuracies at equal training rows."""
    heads = ("linear", "square roots", f"D={n_features}", f"PCA {3 * n_features}->{n_pca}", "exact")
    print(f"{n_train} training rows".ljust(24), *(head.rjust(14) for head in heads))
    for name, descriptor in SETS:
        data = split(name, descriptor, n_train, n_test)
        if data is None:
            continue
        rows, labels, test_rows, test_labels = data
        linear = StreamingRidgeClassifier(alpha="auto")
        plain = ExpChi2Classifier(n_features, random_state=0)
        inside = ExpChi2Classifier(3 * n_features, n_pca=n_pca, random_state=0)
        accuracies = [
            linear.fit(rows, labels).score(test_rows, test_labels),
            linear.fit(np.sqrt(rows), labels).score(np.sqrt(test_rows), test_labels),
            plain.fit(rows, labels).score(test_rows, test_labels),
            inside.fit(rows, labels).score(test_rows, test_labels),
            exact_ridge(rows, labels, test_rows, test_labels, plain.beta_),
        ]
        what = f"{name} {descriptor}".removesuffix(" X")
        print(what.ljust(24), *(f"{accuracy:14.4f}" for accuracy in accuracies), flush=True)


def stream_everything(n_features, batch=500):
    """Accuracy along a stream of all 60000 bags of words in batches."""
    data = split("fashion_bow", "X", 60000, 10000)
    if data is None:
        return
    rows, labels, test_rows, test_labels = data
    model = ExpChi2Classifier(n_features, n_jobs=-1, random_state=0)
    learning = 0.0
    print(f"\nfashion_bow streamed in batches of {batch}, D={n_features}")
    print("exact kernel ridge on 12000 rows reaches .8645")
    for start in range(0, len(rows), batch):
        began = time.perf_counter()
        model.partial_fit(rows[start : start + batch], labels[start : start + batch])
        learning += time.perf_counter() - began
        seen = start + batch
        if seen in (3000, 12000, 30000, len(rows)):
            began = time.perf_counter()
            accuracy = model.score(test_rows, test_labels)
            reading = time.perf_counter() - began
            print(
                f"{seen:6d} rows: accuracy {accuracy:.4f}, {learning:.0f} s of learning, "
                f"{reading:.0f} s for the model and {len(test_rows)} predictions",
                flush=True,
            )


def unlabelled(n_labelled, n_unlabelled, n_features, n_pca, n_seeds):
    """Measure what rows without labels add: differences of accuracy, seed by seed."""
    print(
        f"\n{n_labelled} labelled rows, PCA {n_features}->{n_pca}; with {n_unlabelled} unlabelled"
    )
    for name, descriptor in SETS[:2]:
        pairs = []
        for seed in range(n_seeds):
            data = split(name, descriptor, n_labelled + n_unlabelled, 3000, seed)
            if data is None:
                break
            rows, labels, test_rows, test_labels = data
            params = {"n_pca": n_pca, "n_jobs": -1, "random_state": seed}
            alone = ExpChi2Classifier(n_features, **params)
            alone.partial_fit(rows[:n_labelled], labels[:n_labelled])
            helped = ExpChi2Classifier(n_features, **params)
            helped.partial_fit(rows[:n_labelled], labels[:n_labelled]).observe(rows[n_labelled:])
            pairs.append([model.score(test_rows, test_labels) for model in (alone, helped)])
        if pairs:
            before, after = np.transpose(pairs)
            error = (after - before).std(ddof=1) / np.sqrt(n_seeds)
            print(
                f"{name:14s} {before.mean():.4f} -> {after.mean():.4f}, difference "
                f"{(after - before).mean():+.4f} with standard error {error:.4f} "
                f"({n_seeds} seeds)",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows, no long stream")
    if parser.parse_args().quick:
        compare(n_train=1500, n_test=2000, n_features=400, n_pca=400)
        unlabelled(n_labelled=200, n_unlabelled=2000, n_features=512, n_pca=128, n_seeds=3)
        return
    compare(n_train=5000, n_test=3000, n_features=1000, n_pca=1000)
    for n_pca in (100, 300):
        unlabelled(n_labelled=500, n_unlabelled=9500, n_features=1024, n_pca=n_pca, n_seeds=10)
    stream_everything(n_features=4096)


if __name__ == "__main__":
    main()
