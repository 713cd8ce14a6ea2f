"""Figure 2: accuracy against the number of terms of the series.

python examples/paper/figure_2_accuracy.py [--quick] [--out FOLDER]

Two panels a set. On the left the limit of endlessly many features, kernel ridge with the distances
that the series gives: all that is lost is lost by the series. On the right random features, as
in the paper, where their own noise is added. Dotted: the exact kernel, whose penalty, chosen by
leave-one-out, is that of all kernels on the left. Bars: standard errors of differences to it.
"""

import numpy as np
from draws import draw, name_of
from methods import (
    UNSCALED,
    fitted_series,
    kernel_ridge_accuracy,
    left_out_penalty,
    random_features,
    ridge_accuracy,
)
from results import ANY, Results, arguments, bar, pyplot

from streamchi2 import chi2_distance
from streamchi2.plots.inputs import SERIES

EXACT = "Exact exp-chi2"


def series_distances(series, rows):
    """Return chi2 distances as the series sees them: training rows among each other, test to them.

    Half the squared distance of coordinates.
    """
    train, test = series.transform(rows.train), series.transform(rows.test)
    lengths, test_lengths = (np.sum(c**2, axis=1) / 2 for c in (train, test))
    within = lengths[:, None] + lengths - train @ train.T
    between = test_lengths[:, None] + lengths - test @ train.T
    return np.maximum(within, 0.0), np.maximum(between, 0.0)


def run(what, most_terms, n_train, n_test, n_features, n_seeds):
    """Return the results in the limit, and those with random features."""
    title = f"Figure 2, {name_of(what)}"
    sizes = range(1, most_terms + 1)
    limit = Results(f"figure_2_{what}_limit", f"{title}, kernel ridge", sizes, "terms")
    plain = Results(f"figure_2_{what}", f"{title}, {n_features} features", sizes, "terms")
    for seed in bar(range(n_seeds), title):
        rows = draw(what, n_train, n_test, seed)
        within, between = chi2_distance(rows.train), chi2_distance(rows.test, rows.train)
        beta = 1.0 / within.mean()
        penalty = left_out_penalty(np.exp(-beta * within), rows)
        exact = np.exp(-beta * within), np.exp(-beta * between)
        accuracy = kernel_ridge_accuracy(*exact, rows, penalty)
        for results in (limit, plain):
            results.add(EXACT, ANY, accuracy)
        for name in (*SERIES, UNSCALED):
            for n_terms in sizes[:: 2 if name == "VZ" else 1]:
                series = fitted_series(name, rows.train, n_terms)
                seen, across = series_distances(series, rows)
                kernels = np.exp(-beta * seen), np.exp(-beta * across)
                limit.add(name, n_terms, kernel_ridge_accuracy(*kernels, rows, penalty))
                features = random_features(series, rows, n_features, beta=beta, seed=seed)
                plain.add(name, n_terms, ridge_accuracy(features, rows))
    return limit, plain


def run_both(given):
    """Return set -> (results in the limit, results with random features), and save them."""
    numbers = (4, 400, 400, 200) if given.quick else (5, 1000, 1500, 500)
    n_seeds = given.seeds or (2 if given.quick else 10)
    results_of = {what: run(what, *numbers, n_seeds) for what in ("bow", "hog")}
    for pair in results_of.values():
        for results in pair:
            results.save(given.out, f"{numbers[1]} training rows, {n_seeds} seeds.")
    return results_of


def main():
    given = arguments(__doc__)
    results_of = run_both(given)
    picture(results_of, given.out / "figure_2_accuracy.png")


def picture(results_of, path):
    plt = pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(1, 4, figsize=(14, 3.6), layout="constrained")
    panels = [results for pair in results_of.values() for results in pair]
    for ax, results in zip(axes, panels, strict=True):
        for name in (*SERIES, UNSCALED):
            _, colour, marker = SERIES["Chebyshev" if name == UNSCALED else name]
            sizes = [n for n in results.sizes if (name, n) in results.cells]
            scores = np.array([results.of(name, n) for n in sizes]) * 100
            # The spread of differences to the exact kernel: rows are drawn anew for each seed.
            spread = (scores / 100 - results.of(EXACT, ANY)).std(axis=1, ddof=1) * 100
            error = spread / np.sqrt(scores.shape[1])
            ax.errorbar(
                sizes, scores.mean(axis=1), error, color=colour, marker=marker, ms=5, lw=1.4,
                label=name, **({"ls": ":", "mfc": "white"} if name == UNSCALED else {}),
            )  # fmt: skip
        ax.axhline(100 * results.of(EXACT, ANY).mean(), color="black", lw=1, ls=":", label="exact")
        ax.set_xlabel("number of terms")
        ax.set_title(results.title.removeprefix("Figure 2, "), loc="left", fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("accuracy in per cent")
    axes[-1].legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=80)
    print(f"written: {path}")


if __name__ == "__main__":
    main()
