"""The two streams of Table 4: rows are made on the fly, in batches.

"pairs": a row is the bag of words of a picture with two garments, the sum of two rows of the
training set drawn at random; its class is the pair of their labels, one of 55. "thousand": the 1000
classes of examples/benchmarks/many_classes.py. (Where the bags of words are not at hand, both are
made of digits.)
"""

from functools import lru_cache, partial

import numpy as np
from draws import many_classes, whole

BATCH = 2000
STREAMS = ("pairs", "thousand")


def stream_of(what, *, quick=False):
    """Return what yields batches of rows and labels, and the number of classes."""
    if what == "pairs":
        return pairs, 55
    n_classes = 50 if quick else 1000
    return partial(many, n_classes=n_classes), n_classes


def first_rows(stream, n_rows, seed):
    """Return the first rows of a stream."""
    batches = stream(n_rows, of_test_rows=False, seed=seed)
    return np.concatenate([rows for rows, _ in batches])


def pairs(n_rows, *, of_test_rows, seed):
    """Yield batches of rows and labels 0 to 54."""
    rows, labels, boundary = whole("bow")
    first, last = (boundary, len(labels)) if of_test_rows else (0, boundary)
    random = np.random.default_rng([seed, of_test_rows])
    number = np.zeros((10, 10), dtype=np.intp)
    number[np.triu_indices(10)] = np.arange(55)
    for start in range(0, n_rows, BATCH):
        left, right = random.integers(first, last, (2, min(BATCH, n_rows - start)))
        low, high = np.minimum(labels[left], labels[right]), np.maximum(labels[left], labels[right])
        yield (rows[left] + rows[right]) / 2, number[low, high]


def many(n_rows, *, of_test_rows, seed, n_classes):
    """Yield batches of rows and labels of many classes."""
    middles = _centres(n_classes)
    for batch, start in enumerate(range(0, n_rows, BATCH)):
        size = min(BATCH, n_rows - start)
        number = 10**6 * (2 * seed + of_test_rows) + batch
        yield many_classes.batch_of(middles, size, number)


@lru_cache(maxsize=2)
def _centres(n_classes):
    """Return the classes' centres; a stream passes several times, and they take seconds."""
    return many_classes.centres(n_classes)
