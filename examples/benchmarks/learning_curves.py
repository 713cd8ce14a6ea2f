"""Does accuracy ever fall as rows arrive? Learning curves from n = D/8 to 10 D, both front ends.

Run with ``python examples/benchmarks/learning_curves.py [set ...] [--alpha auto .1 ...]``; by
default on digits, in about a minute. Every line is one curve: accuracy on held-out rows after n
training rows, mean over seeds, and the largest fall below an earlier point, in standard errors.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from data_sets import load
from threadpoolctl import threadpool_limits

from streamchi2 import ExpChi2Classifier
from streamchi2.errors import PrecisionWarning

FRACTIONS = (1 / 8, 1 / 4, 1 / 2, 3 / 4, 0.97, 1.0, 1.03, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
TEST_ROWS = 1500
DESCRIPTORS = {"cifar_hog": "hog", "cifar_colour": "colour", "cifar_bow": "bow"}


def split(name: str, seed: int):
    """Return training rows and labels in random order, and held-out ones; None if not at hand."""
    descriptor = DESCRIPTORS.get(name)
    loaded = load("cifar10_three", descriptor=descriptor) if descriptor else load(name)
    if loaded is None:
        return None
    rows, labels, n_train = loaded
    rng = np.random.default_rng(seed)
    if n_train == len(labels):  # a stream: any rows may be held out
        order = rng.permutation(n_train)
        cut = int(0.8 * n_train)
        train, test = order[:cut], order[cut:]
    else:
        train = rng.permutation(n_train)
        test = n_train + rng.permutation(len(labels) - n_train)
    test = test[:TEST_ROWS]
    return rows[train], labels[train], rows[test], labels[test]


def estimator_curve(parts, sizes, params) -> list[float]:
    """Accuracies of one ExpChi2Classifier that learns by partial_fit."""
    rows, labels, test_rows, test_labels = parts
    model, before, accuracies = ExpChi2Classifier(**params), 0, []
    for n in sizes:
        model.partial_fit(rows[before:n], labels[before:n], classes=np.unique(labels))
        accuracies.append(float(np.mean(model.predict(test_rows) == test_labels)))
        before = n
    return accuracies


def river_curve(parts, sizes, params) -> list[float]:
    """Accuracies of the river classifier, which takes the same rows one at a time."""
    from streamchi2.river import ExpChi2Classifier as RiverClassifier

    rows, labels, test_rows, test_labels = parts
    rest = {key: value for key, value in params.items() if key != "random_state"}
    model, before, accuracies = RiverClassifier(**rest, seed=params["random_state"]), 0, []
    tests = [dict(enumerate(row)) for row in _dense(test_rows)]
    for n in sizes:
        for row, label in zip(_dense(rows[before:n]), labels[before:n], strict=True):
            model.learn_one(dict(enumerate(row)), label.item())
        predicted = [model.predict_one(row) for row in tests]
        accuracies.append(float(np.mean(np.array(predicted) == test_labels)))
        before = n
    return accuracies


def _dense(rows):
    return (rows.toarray() if hasattr(rows, "toarray") else rows).tolist()


def largest_fall(curve: np.ndarray, n_tests: int) -> float:
    """Return the largest fall below an earlier point, in standard errors of an accuracy."""
    fall = np.maximum.accumulate(curve) - curve
    standard_error = np.sqrt(np.maximum(curve * (1.0 - curve), 1e-4) / n_tests)
    return float((fall / standard_error).max())


def report(name: str, basis: str, alpha, arguments) -> None:
    curves = []
    for seed in range(arguments.seeds):
        parts = split(name, seed)
        if parts is None:
            return
        width = arguments.n_components
        sizes = [n for n in (round(width * f) for f in FRACTIONS) if n <= len(parts[1])]
        params = {
            "n_components": width,
            "basis": basis,
            "alpha": alpha,
            "random_state": seed,
        }
        curve = river_curve if arguments.river else estimator_curve
        curves.append(curve(parts, sizes, params))
    mean = np.mean(curves, axis=0)
    # Seeds share most of the held-out rows, so these count once.
    fall = largest_fall(mean, len(parts[3]))
    points = " ".join(f"{n}:{accuracy:.3f}" for n, accuracy in zip(sizes, mean, strict=True))
    print(f"{name:20s} {basis:10s} alpha={alpha!s:5s} fall {fall:5.1f} se  {points}", flush=True)


def number_or_name(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["digits"])
    parser.add_argument("--alpha", nargs="+", type=number_or_name, default=["auto"])
    parser.add_argument("--basis", nargs="+", default=["orthogonal", "subspace", "landmarks"])
    parser.add_argument("--n-components", type=int, default=256)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--river", action="store_true", help="the river front end")
    arguments = parser.parse_args()
    # Coarse features are part of the question here.
    warnings.simplefilter("ignore", PrecisionWarning)
    with threadpool_limits(1, user_api="blas"):
        for name in arguments.sets:
            for basis in arguments.basis:
                for alpha in arguments.alpha:
                    report(name, basis, alpha, arguments)


if __name__ == "__main__":
    main()
