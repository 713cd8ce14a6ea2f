"""Accuracy against the number of features on one descriptor: the code of Tables 1 and 2."""

from draws import draw, name_of
from methods import (
    best_skewedness,
    fitted_series,
    kernel_ridge_accuracy,
    kernels,
    nystroem,
    principal,
    random_features,
    ridge_accuracy,
    skewed,
    svm_accuracy,
)
from results import ANY, Results, bar

from streamchi2 import ExpChi2Classifier, chi2_distance
from streamchi2.bases import OrthogonalBasis

SERIES_OF = {"Chebyshev": "Chebyshev", "VZ": "VZ", "Direct": "direct, greedy"}
N_TERMS = 5  # as in the paper


def run(what, name, title, given):
    """Fill one table of the paper, and the rows beyond it."""
    n_train, n_test, n_seeds = (600, 600, 3) if given.quick else (2000, 1500, 10)
    sizes, n_seeds = (100, 200) if given.quick else (200, 400, 700), given.seeds or n_seeds
    results = Results(name, f"{title} ({name_of(what)})", sizes)
    for seed in bar(range(n_seeds), name):
        rows = draw(what, n_train, n_test, seed)
        within, between = chi2_distance(rows.train), chi2_distance(rows.test, rows.train)
        beta = 1.0 / within.mean()
        without_features(results, rows)
        skewedness = best_skewedness(rows, sizes[0], seed=seed)
        for size in sizes:
            features = skewed(rows, size, skewedness=skewedness, seed=seed)
            results.add("Chi2-Skewed", size, ridge_accuracy(features, rows))
            of_the_paper(results, rows, size, beta, seed)
            beyond_the_paper(results, rows, size, beta, seed)
        exact(results, rows, within, between, beta)
        results.save_numbers(given.out)  # a long run that is stopped keeps what it has
    results.save(
        given.out,
        f"{len(rows.labels)} training and {len(rows.test_labels)} test rows, drawn afresh for each "
        f"of {n_seeds} seeds; all methods see the same rows and seeds. Ridge regression with its "
        "penalty from the training rows (generalised cross-validation; exact kernels: leave-one-"
        f"out), {N_TERMS} terms, beta one over the mean distance. Mean ± standard deviation in per "
        "cent; bold: the best, and all that a paired t-test over seeds (5 %) cannot tell from it.",
    )


def without_features(results, rows):
    """Add the rows of the table that have no random features."""
    roots = rows._replace(train=rows.train**0.5, test=rows.test**0.5)
    series = fitted_series("direct, refined", rows.train, 3)
    coordinates = series.transform(rows.train), series.transform(rows.test)
    results.add("Linear", ANY, ridge_accuracy((rows.train, rows.test), rows))
    results.add("Linear on square roots", ANY, ridge_accuracy((roots.train, roots.test), rows))
    results.add("Chi2 (series alone, 3 terms)", ANY, ridge_accuracy(coordinates, rows))


def of_the_paper(results, rows, size, beta, seed):
    """Add Chebyshev, VZ and Direct, plain and with PCA, and Nyström."""
    for name, series_name in SERIES_OF.items():
        series = fitted_series(series_name, rows.train, N_TERMS)
        plain = random_features(series, rows, size, beta=beta, seed=seed)
        results.add(name, size, ridge_accuracy(plain, rows))
        wide = random_features(series, rows, 3 * size, beta=beta, seed=seed)
        inside = principal(*wide, size)
        results.add(f"PCA-{name}", size, ridge_accuracy(inside, rows))
        if name == "Direct":
            inside = principal(*wide, size, of_all_rows=False)
            results.add("PCA-training-Direct", size, ridge_accuracy(inside, rows))
    features = nystroem(rows, size, beta=beta, seed=seed)
    results.add("Nyström", size, ridge_accuracy(features, rows))


def beyond_the_paper(results, rows, size, beta, seed):
    """Add refined landmarks, orthogonal frequencies, one degree of freedom, and two more bases."""
    words = {"beta": beta, "seed": seed}
    series = fitted_series("direct, refined", rows.train, N_TERMS)
    plain = random_features(series, rows, size, **words)
    results.add("Direct, refined k", size, ridge_accuracy(plain, rows))
    orthogonal = random_features(series, rows, size, basis=OrthogonalBasis, **words)
    results.add("Direct, refined, orthogonal", size, ridge_accuracy(orthogonal, rows))
    one = random_features(series, rows, size, basis=OrthogonalBasis, dof=1.0, **words)
    results.add("Direct, refined, orthogonal, 1 dof", size, ridge_accuracy(one, rows))
    wide = random_features(series, rows, 3 * size, basis=OrthogonalBasis, **words)
    results.add(
        "PCA-Direct, refined, orthogonal", size, ridge_accuracy(principal(*wide, size), rows)
    )
    for name, basis in {
        "Subspace (frequencies where rows vary)": "subspace",
        "Landmarks (Nyström by the series)": "landmarks",
    }.items():
        model = ExpChi2Classifier(size, basis=basis, beta=beta, random_state=seed)
        accuracy = model.fit(rows.train, rows.labels).score(rows.test, rows.test_labels)
        results.add(name, size, accuracy)


def exact(results, rows, within, between, beta):
    """Add the exact kernels, which cost a matrix of all pairs."""
    two = kernels(within, between, beta=beta)
    results.add("Exact exp-chi2, kernel ridge", ANY, kernel_ridge_accuracy(*two, rows))
    results.add("Exact exp-chi2, SVM with C = 50", ANY, svm_accuracy(*two, rows))
    one = kernels(within, between, beta=beta, dof=1.0)
    results.add("Exact, 1 dof, kernel ridge", ANY, kernel_ridge_accuracy(*one, rows))
