"""Figure 1: error of the chi2 kernel against the number of terms, for every series.

python examples/paper/figure_1_error.py [--quick] [--out FOLDER]

The error is measured, not predicted: over all pairs of held-out rows, the mean absolute difference
between the sum of 2xy/(x+y) and the inner product of coordinates. Series are fitted to other rows.
"""

from types import SimpleNamespace

import numpy as np
from curves import error_curves, write_lines
from draws import draw, name_of
from methods import UNSCALED, fitted_series
from results import arguments, bar, pyplot
from sklearn.metrics.pairwise import additive_chi2_kernel

from streamchi2.plots.inputs import SERIES


def errors_of(what, most_terms, n_rows):
    """Return name -> (numbers of terms, errors)."""
    rows = draw(what, 2000, n_rows, seed=0)
    # (x-y)^2/(x+y) = x + y - 4xy/(x+y), and sums of rows are one.
    exact = 1.0 + additive_chi2_kernel(rows.test, rows.test) / 2.0
    pairs = np.triu_indices(len(exact), k=1)
    curves_of = {}
    for name in bar([*SERIES, UNSCALED], f"figure 1, {what}"):
        terms = np.arange(1, most_terms + 1, 2 if name == "VZ" else 1)
        errors = []
        for n in terms:
            coordinates = fitted_series(name, rows.train, int(n)).transform(rows.test)
            errors.append(np.abs(exact - coordinates @ coordinates.T)[pairs].mean())
        curves_of[name] = terms, np.array(errors)
    return curves_of


def main():
    given = arguments(__doc__)
    most_terms, n_rows = (6, 150) if given.quick else (10, 400)
    curves_of = {what: errors_of(what, most_terms, n_rows) for what in ("bow", "hog")}
    lines = [[name_of(what), name, n, error] for what, curves in curves_of.items()
             for name, (terms, errors) in curves.items()
             for n, error in zip(terms, errors, strict=True)]  # fmt: skip
    heads = ["data", "series", "terms", "mean absolute error"]
    write_lines(given.out / "figure_1_error.csv", heads, lines)
    print(error_curves(SimpleNamespace(folder=given.out)))
    picture(curves_of, given.out / "figure_1_error.png")


def picture(curves_of, path):
    plt = pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
    for ax, (what, curves) in zip(axes, curves_of.items(), strict=True):
        for name, (terms, errors) in curves.items():
            _, colour, marker = SERIES["Chebyshev" if name == UNSCALED else name]
            style = {"lw": 1, "ls": ":", "ms": 3} if name == UNSCALED else {"lw": 1.5, "ms": 5}
            ax.plot(terms, errors, color=colour, marker=marker, label=name, **style)
        ax.set(yscale="log", xlabel="number of terms")
        ax.locator_params(axis="x", integer=True)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_title(name_of(what), loc="left", fontweight="bold")
    axes[0].set_ylabel("mean absolute error of the chi2 kernel")
    axes[1].legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=100)
    print(f"written: {path.with_suffix('.csv')} and .png")


if __name__ == "__main__":
    main()
