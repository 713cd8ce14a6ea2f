"""Table 4: many rows and many classes, streamed in one pass.

python examples/paper/table_4_streamed.py [--quick] [--out FOLDER]

A row is the bag of words of a picture with two garments: the sum of two rows of the training set,
drawn at random. Its class is the pair of their labels, one of 55. (Where the bags of words are
not at hand, two digits.) Batches of 1000 rows pass once; nothing is kept but statistics.
"""

import numpy as np
from draws import _whole, name_of
from results import ANY, Results, arguments, bar

from streamchi2 import ExpChi2Classifier, StreamingRidgeClassifier

BATCH = 1000


def pairs(n_rows, *, of_test_rows, seed):
    """Yield batches of rows and labels."""
    rows, labels, boundary = _whole("bow")
    first, last = (boundary, len(labels)) if of_test_rows else (0, boundary)
    random = np.random.default_rng([seed, of_test_rows])
    for start in range(0, n_rows, BATCH):
        size = min(BATCH, n_rows - start)
        left, right = random.integers(first, last, (2, size))
        low, high = np.minimum(labels[left], labels[right]), np.maximum(labels[left], labels[right])
        yield (rows[left] + rows[right]) / 2, 10 * low.astype(np.int64) + high


def methods(size, seed):
    """Return name -> (estimator, whether it reads square roots)."""

    def ours(n_components=size, series="direct", basis="gaussian", **words):
        n_terms = 5 if basis == "gaussian" else "auto"
        return ExpChi2Classifier(
            n_components, series=series, n_terms=n_terms, basis=basis, random_state=seed, **words
        )

    return {
        "Chebyshev": ours(series="chebyshev"),
        "VZ": ours(series="vz"),
        "Direct": ours(),
        "Direct, orthogonal": ours(basis="orthogonal"),
        "Direct, orthogonal, calibrated": ours(basis="orthogonal", calibrate="quantile"),
        "Nyström (landmarks)": ours(basis="landmarks"),
        "Subspace": ours(basis="subspace"),
        "PCA-Chebyshev": ours(3 * size, series="chebyshev", n_pca=size),
        "PCA-VZ": ours(3 * size, series="vz", n_pca=size),
        "PCA-Direct": ours(3 * size, n_pca=size),
    }


def accuracy(model, n_rows, seed, change=lambda rows: rows):
    """Learn the stream in one pass and return the accuracy on 5000 rows of other pictures."""
    for rows, labels in pairs(n_rows, of_test_rows=False, seed=seed):
        model.partial_fit(change(rows), labels)
    right = [
        model.predict(change(rows)) == labels
        for rows, labels in pairs(5000, of_test_rows=True, seed=seed)
    ]
    return np.mean(np.concatenate(right))


def main():
    given = arguments(__doc__)
    n_rows, sizes = (3000, (100,)) if given.quick else (60000, (250, 500, 1000))
    n_seeds = given.seeds or (2 if given.quick else 3)
    title = f"Table 4: {n_rows} rows of 55 classes, streamed (pairs of {name_of('bow')})"
    results = Results("table_4_streamed", title, sizes)
    tasks = [(seed, size) for seed in range(n_seeds) for size in (ANY, *sizes)]
    for seed, size in bar(tasks, results.name):
        if size == ANY:
            results.add("Linear", ANY, accuracy(StreamingRidgeClassifier("auto"), n_rows, seed))
            roots = accuracy(StreamingRidgeClassifier("auto"), n_rows, seed, np.sqrt)
            results.add("Linear on square roots", ANY, roots)
            continue
        for name, model in methods(size, seed).items():
            results.add(name, size, accuracy(model, n_rows, seed))
            results.save_numbers(given.out)
    results.save(
        given.out,
        f"One pass in batches of {BATCH}, {n_seeds} seeds that choose pairs and features; ridge "
        "regression, refined landmarks, 5 terms (orthogonal and landmarks: as many as they need). "
        "Mean ± standard deviation in per cent on 5000 pairs of test rows; bold: the best, and all "
        "that a paired t-test (5 %) cannot tell from it.",
    )


if __name__ == "__main__":
    main()
