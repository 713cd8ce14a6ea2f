"""Table 3: several descriptors of the same images, learnt together.

python examples/paper/table_3_descriptors.py [--quick] [--out FOLDER]

Features of each descriptor stand side by side, so the kernel is the sum of the three; principal
components are taken of each descriptor by itself, as in the paper's Algorithm 5.
"""

import numpy as np
from draws import draw, name_of
from methods import (
    fitted_series,
    kernel_ridge_accuracy,
    nystroem,
    principal,
    random_features,
    ridge_accuracy,
)
from results import ANY, Results, arguments, bar

from streamchi2 import ExpChi2Classifier, chi2_distance
from streamchi2.bases import OrthogonalBasis

SETS = ("three hog", "three colour", "three bow")
SERIES_OF = {"Chebyshev": "Chebyshev", "VZ": "VZ", "Direct": "direct, greedy"}
N_TERMS = 5


def side_by_side(parts):
    """Join (training, test) features of the descriptors."""
    return tuple(np.hstack(one) for one in zip(*parts, strict=True))


def one_seed(results, draws, size, seed):
    """Add every method on one draw of rows."""
    rows = draws[0]
    within = [chi2_distance(one.train) for one in draws]
    between = [chi2_distance(one.test, one.train) for one in draws]
    betas = [1.0 / distances.mean() for distances in within]
    linear(results, draws)
    for name, series_name in SERIES_OF.items():
        parts = [
            features_of(series_name, one, size, beta, seed)
            for one, beta in zip(draws, betas, strict=True)
        ]
        results.add(name, size, ridge_accuracy(side_by_side(parts), rows))
        wide = [
            features_of(series_name, one, 3 * size, beta, seed)
            for one, beta in zip(draws, betas, strict=True)
        ]
        inside = [principal(*one, size) for one in wide]
        results.add(f"PCA-{name}", size, ridge_accuracy(side_by_side(inside), rows))
        if name != "VZ":
            inside = [principal(*one, size, of_all_rows=False) for one in wide]
            results.add(f"PCA-training-{name}", size, ridge_accuracy(side_by_side(inside), rows))
    parts = [
        nystroem(one, size, beta=beta, seed=seed) for one, beta in zip(draws, betas, strict=True)
    ]
    results.add("Nyström", size, ridge_accuracy(side_by_side(parts), rows))
    beyond(results, draws, size, betas, seed)
    in_one_estimator(results, draws, size, seed)
    exact(results, rows, within, between, betas)


def features_of(series_name, one, size, beta, seed, **words):
    """Return random features of one descriptor."""
    series = fitted_series(series_name, one.train, N_TERMS)
    return random_features(series, one, size, beta=beta, seed=seed, **words)


def linear(results, draws):
    """Add linear models on the rows, on their roots, and on the series alone."""
    rows = draws[0]
    plain = side_by_side([(one.train, one.test) for one in draws])
    results.add("Linear", ANY, ridge_accuracy(plain, rows))
    results.add(
        "Linear on square roots", ANY, ridge_accuracy([np.sqrt(one) for one in plain], rows)
    )


def beyond(results, draws, size, betas, seed):
    """Add refined landmarks and orthogonal frequencies, together and for each descriptor."""
    rows, parts = draws[0], []
    for what, one, beta in zip(SETS, draws, betas, strict=True):
        parts.append(features_of("direct, refined", one, size, beta, seed, basis=OrthogonalBasis))
        name = f"{what.removeprefix('three ')} alone: Direct, refined, orthogonal"
        results.add(name, size, ridge_accuracy(parts[-1], rows))
    results.add("Direct, refined, orthogonal", size, ridge_accuracy(side_by_side(parts), rows))


def in_one_estimator(results, draws, size, seed):
    """Add what one line of a user gives: the descriptors side by side in X, in one classifier."""
    rows, stops = draws[0], np.cumsum([one.train.shape[1] for one in draws])
    columns = {
        what: slice(int(stop) - one.train.shape[1], int(stop))
        for what, one, stop in zip(SETS, draws, stops, strict=True)
    }
    train, test = side_by_side([(one.train, one.test) for one in draws])
    for name, words in {
        "descriptors=": {},
        "descriptors=, landmarks": {"basis": "landmarks"},
        "descriptors=, landmarks, group lasso": {"basis": "landmarks", "penalty": "group_lasso"},
    }.items():
        model = ExpChi2Classifier(3 * size, descriptors=columns, random_state=seed, **words)
        accuracy = model.fit(train, rows.labels).score(test, rows.test_labels)
        results.add(name, size, accuracy)


def exact(results, rows, within, between, betas):
    """Add kernel ridge on the mean of the exact kernels, and on their product."""
    scaled = [(b * w, b * a) for b, w, a in zip(betas, within, between, strict=True)]
    mean = [sum(np.exp(-one) for one in part) / len(part) for part in zip(*scaled, strict=True)]
    results.add("Exact, mean of kernels, ridge", ANY, kernel_ridge_accuracy(*mean, rows))
    # A third of each distance, so that the product is as wide as each of the kernels.
    product = [np.exp(-sum(part) / len(part)) for part in zip(*scaled, strict=True)]
    results.add("Exact, product of kernels, ridge", ANY, kernel_ridge_accuracy(*product, rows))


def main():
    given = arguments(__doc__)
    n_train, n_test, size = (400, 400, 100) if given.quick else (2000, 1500, 400)
    n_seeds = given.seeds or (2 if given.quick else 5)
    title = f"Table 3: three descriptors ({name_of(SETS[0]).split()[0].strip(',')})"
    results = Results("table_3_descriptors", title, [size], "features a descriptor")
    for seed in bar(range(n_seeds), results.name):
        one_seed(results, [draw(what, n_train, n_test, seed) for what in SETS], size, seed)
        results.save_numbers(given.out)
    results.save(
        given.out,
        f"{n_train} training and {n_test} test rows, {n_seeds} seeds, {N_TERMS} terms, ridge "
        "regression, beta one over the mean distance of each descriptor. Mean ± standard deviation "
        "in per cent; bold: the best, and all that a paired t-test (5 %) cannot tell from it.",
    )


if __name__ == "__main__":
    main()
