"""Training and test rows for the paper's experiments: the larger sets, or digits in their place."""

import sys
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
import many_classes  # noqa: F401  (here because it is beside data_sets)
from data_sets import FOLDER, load

SETS = {
    "bow": ("fashion_bow", "X"),
    "hog": ("fashion_hog", "X"),
    "three hog": ("cifar10_three", "hog"),
    "three colour": ("cifar10_three", "colour"),
    "three bow": ("cifar10_three", "bow"),
}


class Draw(NamedTuple):
    """Rows divided by their sums, with labels."""

    train: np.ndarray
    labels: np.ndarray
    test: np.ndarray
    test_labels: np.ndarray


def name_of(what):
    """Return the name of the data that stands for a descriptor here."""
    name, column = SETS[what]
    if (FOLDER / f"{name}.npz").exists():
        return name if column == "X" else f"{name} {column}"
    return f"digits, {_ON_DIGITS[what]}"


def draw(what, n_train, n_test, seed):
    """Draw rows at random, training and test rows from their own parts of the set."""
    rows, labels, boundary = whole(what)
    random = np.random.default_rng(seed)
    train = random.permutation(boundary)[:n_train]
    test = boundary + random.permutation(len(labels) - boundary)[:n_test]
    return Draw(rows[train], labels[train], rows[test], labels[test])


@lru_cache(maxsize=3)
def whole(what):
    """Return all rows divided by their sums, labels and the number of training rows."""
    name, column = SETS[what]
    if (FOLDER / f"{name}.npz").exists():
        return load(name, descriptor=column)
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    counts = _DESCRIPTORS[_ON_DIGITS[what]](images[order].reshape(-1, 8, 8))
    return counts / counts.sum(axis=1, keepdims=True), labels[order], 1100


_ON_DIGITS = {
    "bow": "ink",
    "hog": "edges",
    "three hog": "edges",
    "three colour": "profiles",
    "three bow": "ink",
}
_DESCRIPTORS = {
    "ink": lambda images: images.reshape(-1, 64),
    "edges": lambda images: np.hstack(
        [np.abs(np.diff(images, axis=axis)).reshape(len(images), -1) for axis in (1, 2)]
    ),
    "profiles": lambda images: np.hstack([images.sum(axis=1), images.sum(axis=2)]),
}
