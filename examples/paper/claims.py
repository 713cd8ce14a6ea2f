"""Five claims about the method, each as paired differences of accuracy with standard errors.

python examples/paper/claims.py [--quick] [--out FOLDER]

(a) the direct series reaches the exact kernel's accuracy with 2 to 3 terms where VZ and Chebyshev
    need more; (b) PCA from 3D to D features beats D plain ones; (c) orthogonal frequencies beat
    independent ones at equal D; (d) refined nodes beat greedy ones; (e) unlabelled rows help.
(a) and (d) use the numbers of Figure 2, which are made if they are not in the folder yet.
"""

from functools import partial
from types import SimpleNamespace

import curves
import numpy as np
from draws import draw, name_of
from figure_2_accuracy import EXACT, run_both
from methods import (
    UNSCALED,
    fitted_series,
    kernel_ridge_accuracy,
    principal,
    random_features,
    ridge_accuracy,
)
from results import ANY, Results, arguments, bar, pyplot

from streamchi2 import exp_chi2_kernel
from streamchi2.bases import GaussianBasis, OrthogonalBasis

SETS = ("bow", "hog")


def of_the_series(given):
    """Return (claim, set, comparison, differences) for claims (a) and (d)."""
    results_of = {}
    for what in SETS:
        pair = [Results(f"figure_2_{what}{end}", "", range(1, 20)) for end in ("_limit", "")]
        results_of[what] = [results.read(given.out) for results in pair]
    if any(results is None for pair in results_of.values() for results in pair):
        results_of = run_both(given)
    lines = []
    for what, (limit, plain) in results_of.items():
        exact, greedy = limit.of(EXACT, ANY), "direct, greedy"
        for name, n in ((greedy, 2), (greedy, 3), ("direct, refined", 2), ("Chebyshev", 2),
                        ("Chebyshev", 3), ("VZ", 1), ("VZ", 3),
                        *((UNSCALED, n) for n in (2, 3, 5))):  # fmt: skip
            lines.append(("a", what, f"{name}, {n} terms − exact", limit.of(name, n) - exact))
        for n in (1, 2, 3):
            for results, where in ((limit, "kernel ridge"), (plain, "features")):
                gain = results.of("direct, refined", n) - results.of(greedy, n)
                lines.append(("d", what, f"refined − greedy, {n} terms, {where}", gain))
    return lines


def of_the_features(what, given):
    """Return the lines of claims (b), (c) and (e) on one set."""
    n_train, n_test = (500, 500) if given.quick else (1500, 1500)
    size, few, n_seeds = (100, 50, 3) if given.quick else (300, 100, given.seeds or 12)
    gains = {}
    for seed in bar(range(n_seeds), f"claims on {what}"):
        rows = draw(what, n_train, n_test, seed)
        series = fitted_series("direct, refined", rows.train, 3)
        beta = 1.0 / -np.log(exp_chi2_kernel(rows.train[:300])).mean()
        features = partial(random_features, series, rows, beta=beta, seed=seed)
        plain, wide = features(size), features(3 * size)
        plain_accuracy = ridge_accuracy(plain, rows)
        alone = ridge_accuracy(principal(*wide, size, of_all_rows=False), rows)
        joint = ridge_accuracy(principal(*wide, size), rows)
        key = f"PCA {3 * size} to {size} − {size} features"
        gains.setdefault(("b", key + ", training rows"), []).append(alone - plain_accuracy)
        gains.setdefault(("b", key + ", all rows"), []).append(joint - plain_accuracy)
        for n in (size, 3 * size):
            both = [features(n, basis=basis) for basis in (OrthogonalBasis, GaussianBasis)]
            gain = np.subtract(*(ridge_accuracy(one, rows) for one in both))
            gains.setdefault(("c", f"orthogonal − independent, {n} features"), []).append(gain)
        gains.setdefault(
            ("c", f"orthogonal − independent, {10 * size} features, 700 labels"), []
        ).append(_many_features_gain(series, rows, 10 * size, beta, seed))
        key = f"PCA of all rows − of training rows, {n_train} labels"
        gains.setdefault(("e", key), []).append(joint - alone)
        scarce = rows._replace(train=rows.train[:200], labels=rows.labels[:200])
        key = f"PCA of all rows − of 200 labelled rows, {few} components"
        gains.setdefault(("e", key), []).append(_scarce_gain(wide, scarce, few))
    return [(claim, what, key, np.array(gain)) for (claim, key), gain in gains.items()]


def _many_features_gain(series, rows, n, beta, seed):
    """Gain by orthogonality where features outnumber rows: ridge regression in its dual form."""
    few = rows._replace(train=rows.train[:700], labels=rows.labels[:700])
    accuracies = []
    for basis in (OrthogonalBasis, GaussianBasis):
        train, test = random_features(series, few, n, beta=beta, seed=seed, basis=basis)
        train, test = train.astype(float), test.astype(float)
        accuracies.append(kernel_ridge_accuracy(train @ train.T, test @ train.T, few))
    return np.subtract(*accuracies)


def _scarce_gain(wide, scarce, few):
    """Gain by unlabelled rows where 200 rows have labels and the rest have none."""
    labelled, others = wide[0][:200], np.vstack(wide)
    alone = ridge_accuracy(principal(labelled, wide[1], few, of_all_rows=False), scarce)
    train, test = principal(labelled, others[200:], few)
    return ridge_accuracy((train, test[-len(wide[1]) :]), scarce) - alone


def main():
    given = arguments(__doc__)
    lines = of_the_series(given)
    for what in SETS:
        lines.extend(of_the_features(what, given))
    lines.sort(key=lambda line: line[:2])
    curves.write_lines(
        given.out / "claims.csv",
        ["claim", "data", "difference of accuracy", "mean", "error", "seeds"],
        [[claim, name_of(what), key, *(f"{number:.6f}" for number in summary(gains)), gains.size]
         for claim, what, key, gains in lines],
    )  # fmt: skip
    curves.write_lines(
        given.out / "kernel_errors.csv",
        ["data", "features", "kernel error, orthogonal", "independent"],
        [line for what in SETS for line in kernel_errors(what)],
    )
    for made in (curves.claims, curves.kernel_errors):
        print(made(SimpleNamespace(folder=given.out)), end="\n\n")
    picture(lines, given.out / "claims.png")


def kernel_errors(what, sizes=(300, 900, 3000), n_seeds=5):
    """Return the kernel's rms error on 300 rows, mean over seeds, for claim (c) where it begins."""
    rows = draw(what, 300, 1, 0)
    exact = exp_chi2_kernel(rows.train, beta=1.0)
    beta = 1.0 / -np.log(exact).mean()
    series, pairs = fitted_series("direct, refined", rows.train, 3), np.triu_indices(300, k=1)
    lines = []
    for n in sizes:
        means = []
        for basis in (OrthogonalBasis, GaussianBasis):
            errors = []
            for seed in range(n_seeds):
                features = random_features(series, rows, n, beta=beta, seed=seed, basis=basis)[0]
                products = features.astype(float) @ features.T.astype(float)
                errors.append(np.sqrt(np.mean((products - exact**beta)[pairs] ** 2)))
            means.append(np.mean(errors))
        lines.append([name_of(what), n, *(f"{mean:.4f}" for mean in means)])
    return lines


def summary(differences):
    """Return the mean and its standard error."""
    return differences.mean(), differences.std(ddof=1) / np.sqrt(differences.size)


def picture(lines, path):
    plt = pyplot()
    if plt is None:
        return
    figure, ax = plt.subplots(figsize=(9, 0.22 * len(lines) + 0.8), layout="constrained")
    for place, (_, what, _, differences) in enumerate(reversed(lines)):
        mean, error = summary(100 * differences)
        colour = "#0072b2" if what == "bow" else "#d55e00"
        ax.errorbar(mean, place, xerr=2 * error, fmt="o", ms=4, lw=1.2, color=colour)
    names = [f"({claim}) {name_of(what)}: {key}" for claim, what, key, _ in reversed(lines)]
    ax.set_yticks(range(len(lines)), names, fontsize="small")
    ax.axvline(0.0, color="black", lw=0.8)
    ax.set_xlabel("difference of accuracy in points, with two standard errors")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    figure.savefig(path, dpi=100)
    print(f"written: {path.with_suffix('.csv')} and .png, kernel_errors.csv")


if __name__ == "__main__":
    main()
