"""The page's Tables 1 and 2, and what follows from them, from the accuracies of all cells."""

from itertools import combinations

from methods import UNSCALED
from paired import Difference, mean_of, n_tests, names_in, signed, significant, table
from tables import (
    LEARNERS,
    METHODS,
    N_ROWS,
    N_TRAIN,
    OF_BETA,
    OF_TERMS,
    SERIES,
    SETS,
    SIZES,
    count,
    mean,
    table_with_tests,
    tested,
)


def one_set(accuracies, *words):
    """Return the accuracies on one descriptor."""
    data, rows = " ".join(words), []
    for method in METHODS:
        cells = [
            accuracies.of(data, method, size, learner=one) for one in LEARNERS for size in SIZES
        ]
        if any(cells):
            texts = [mean(cell) or _same(method, size)
                     for cell, size in zip(cells, SIZES * len(LEARNERS), strict=True)]  # fmt: skip
            rows.append([method, count(*cells), *texts])
    return table(["features", "seeds", *_columns()], rows)


def _same(method, size):
    """Return which other row has the features of a cell that is empty for that reason."""
    if method.startswith("PCA"):
        n_rows = N_TRAIN if "training" in method else N_ROWS
        return "as 3D" if size >= n_rows - 1 else ""
    if method.startswith(("Nyström", "Landmarks")) and size >= N_TRAIN:
        return "as exact"
    return ""


def _columns():
    return [f"{learner}, {size}" for learner in LEARNERS for size in SIZES]


def differences(accuracies):
    """Return the table of differences to Direct."""
    columns = [(learner, size) for learner in LEARNERS for size in SIZES]
    return table_with_tests("features", _to_direct(accuracies), METHODS, columns)


def less(accuracies, learner, size, *words):
    """Return how much better a method is than Direct, in points: mean ± standard error."""
    return _to_direct(accuracies)[" ".join(words), learner, int(size)].text()


def _to_direct(accuracies):
    """Return differences to Direct at equal size over the draws of all descriptors."""
    return {
        (method, learner, size): Difference.joined(
            Difference(
                accuracies.of(data, method, size, learner=learner),
                accuracies.of(data, "Direct", size, learner=learner),
            )
            for data in SETS
        )
        for method in METHODS
        for learner in LEARNERS
        for size in SIZES
        if method != "Direct"
    }


def orderings(accuracies, *words):
    """Return Direct less other series, which the paper's ordering is about: "one / another"."""
    others = names_in(words)
    gains = _of_series(accuracies, others)
    names = [f"{learner}, {data}" for learner in LEARNERS for data in SETS]
    columns = list(dict.fromkeys(key[1:] for key in gains))
    return table_with_tests("data", gains, names, columns) + "\n\n" + _pooled(accuracies, others)


def counts(accuracies, *words):
    """Return in words how often Direct is better than other series, and by a test."""
    gains = _of_series(accuracies, names_in(words))
    means = [one.values.mean() for one in gains.values() if one.is_tested]
    sure = [gains[key].values.mean() for key in significant(gains)]
    return (
        f"of {len(means)} comparisons the mean favours Direct in {sum(m > 0 for m in means)}; "
        f"with Holm's adjustment {sum(m > 0 for m in sure)} of them are in its favour "
        f"and {sum(m < 0 for m in sure)} against it"
    )


def _of_series(accuracies, others):
    """Return Direct less other series, by learner and descriptor, and by size."""
    columns = [(f"Direct − {other}", size) for other in others for size in SIZES]
    gains = {}
    for learner in LEARNERS:
        for label, size in columns:
            for data in SETS:
                pair = label.split(" − ")
                sides = (accuracies.of(data, one, size, learner=learner) for one in pair)
                gains[f"{learner}, {data}", label, size] = Difference(*sides)
    return gains


def _pooled(accuracies, others):
    """Return a line for each comparison: the mean over sets and sizes, by seed."""
    lines = []
    for learner in LEARNERS:
        for pair in combinations(("Direct", *others), 2):
            pooled = _mean_over_all(accuracies, learner, pair)
            if pooled.is_tested:
                p = pooled.p_value
                lines.append(
                    f"* {learner}, {' − '.join(pair)}: {pooled.text()} points, "
                    f"p {f'= {p:.3f}' if p >= 0.001 else '< 0.001'} ({pooled.values.size} seeds)"
                )
    head = (
        "Mean over the four descriptors and the three sizes, one number a seed; "
        f"{len(lines)} tests, p not adjusted:"
    )
    return "\n".join([head, "", *lines]) if lines else "Too few seeds for a test of the means."


def ordering(accuracies, learner, *words):
    """Return Direct less another series in one cell: words are "descriptor / size / series"."""
    data, size, other = names_in(words)
    cell = f"{learner}, {data}", f"Direct − {other}", int(size)
    return _of_series(accuracies, [other])[cell].text()


def over_all(accuracies, learner, *words):
    """Return Direct less another series over descriptors and sizes: "series" or "series / beta"."""
    other, *beta = names_in(words)
    return _mean_over_all(accuracies, learner, ("Direct", other), *beta).text()


def _mean_over_all(accuracies, learner, pair, beta="auto"):
    """Return the difference of two methods, a mean over sets and sizes for each seed."""
    sides = (
        mean_of([accuracies.of(data, name, size, beta=beta, learner=learner)
                 for data in SETS for size in SIZES])
        for name in pair
    )  # fmt: skip
    return Difference(*sides)


def components(accuracies):
    """Return what PCA from 3D to D adds, and what 3D features add without PCA."""
    gains = _of_components(accuracies)
    names = [f"{learner}, {data}" for learner in LEARNERS for data in (*SETS, "all")]
    columns = list(dict.fromkeys(key[1:] for key in gains))
    return table_with_tests("data", gains, names, columns, "all")


def gain(accuracies, learner, size, *words):
    """Return a figure of that table over all draws."""
    return _of_components(accuracies)[f"{learner}, all", " ".join(words), int(size)].text()


def _of_components(accuracies):
    """Return differences between D and 3D features and PCA, means over the series."""
    kinds = {
        "3D − D": ("{}, 3D features", "{}"),
        "PCA − D": ("PCA-training-{}", "{}"),
        "PCA − 3D": ("PCA-training-{}", "{}, 3D features"),
        "PCA of all rows − 3D": ("PCA-{}", "{}, 3D features"),
    }
    first, *_, last = kinds
    columns = [(kind, SIZES[0]) for kind in kinds]
    columns += [(last, SIZES[1]), *((first, size) for size in SIZES[1:])]
    gains = {}
    for learner in LEARNERS:
        for kind, size in columns:
            for data in SETS:
                sides = (
                    mean_of([accuracies.of(data, label.format(name), size, learner=learner)
                             for name in SERIES])
                    for label in kinds[kind]
                )  # fmt: skip
                gains[f"{learner}, {data}", kind, size] = Difference(*sides)
            parts = [gains[f"{learner}, {data}", kind, size] for data in SETS]
            gains[f"{learner}, all", kind, size] = Difference.joined(parts)
    return gains


def seeds(accuracies, size, *words):
    """Return how many seeds a method has on each descriptor, ridge regression."""
    return count(*(accuracies.of(data, " ".join(words), int(size)) for data in SETS))


def few_terms(accuracies):
    """Return in words what fewer terms than five cost, from two on, over all descriptors.

    The range is that of the series that are fitted to the data.
    """
    gains = _of_terms(accuracies)
    pooled = {key: one for key, one in gains.items() if key[0] == "all" and one.values.size}
    several = [
        one.values.mean()
        for (_, name, number), one in pooled.items()
        if name != UNSCALED and number >= 2
    ]
    low, high = signed(min(several)), signed(max(several))
    sure = {}
    for _, name, number in sorted(significant(pooled)):
        sure.setdefault(number, []).append(name)
    where = [
        f"with {number} by {'all' if len(names) == len(OF_TERMS) else ' and '.join(names)}"
        for number, names in sorted(sure.items())
    ]
    draws = count(*(one.values.tolist() for one in pooled.values()))
    return (
        f"from 2 terms on the mean over {draws} draws differs from that with 5 by {low} to {high} "
        f"points; of {n_tests(pooled)} tests a difference is found {'; '.join(where) or 'nowhere'}"
    )


def term_cost(accuracies, number, *words):
    """Return a number of terms less five of a series, over all descriptors."""
    return _of_terms(accuracies)["all", " ".join(words), int(number)].text()


def _of_terms(accuracies):
    """Return differences between few terms and five, by descriptor and over all of them."""
    size = SIZES[-1]
    gains = {
        (data, name, number): Difference(
            accuracies.of(data, name, size, terms=number),
            accuracies.of(data, name, size, terms=5),
        )
        for data in SETS
        for name in OF_TERMS
        for number in range(1, 5)
    }
    for name in OF_TERMS:  # over all sets
        for number in range(1, 5):
            parts = [gains[data, name, number] for data in SETS]
            gains["all", name, number] = Difference.joined(parts)
    return gains


def terms(accuracies):
    """Return differences between few terms and five, and between five and the exact kernel."""
    size, rows = SIZES[-1], []
    differences = _of_terms(accuracies)
    pooled = {key: one for key, one in differences.items() if key[0] == "all"}
    bold = significant(pooled)
    for data in (*SETS, "all"):
        for name in OF_TERMS:
            keys = [(data, name, number) for number in range(1, 5)]
            some = [differences[key] for key in keys]
            if any(one.values.size for one in some):
                texts = [
                    one.text(bold=key in bold, seeds=True)
                    for key, one in zip(keys, some, strict=True)
                ]
                last = Difference(
                    accuracies.of(data, name, size), accuracies.of(data, "Exact exp-chi2", size)
                )
                rows.append([data, name, *texts, last.text(seeds=True)])
    heads = ["data", "series", *(f"{n} − 5 terms" for n in range(1, 5)), "5 terms − exact"]
    return table(heads, rows, n_left=2) + "\n\n" + tested(pooled, ' in rows "all"')


def betas(accuracies):
    """Return accuracies with the paper's beta."""
    rows = []
    for learner in LEARNERS:
        for data in SETS:
            for name in OF_BETA:
                cells = [
                    accuracies.of(data, name, size, beta="1.5", learner=learner) for size in SIZES
                ]
                if any(cells):
                    rows.append([learner, data, name, count(*cells), *map(mean, cells)])
    return table(["learner", "data", "features", "seeds", *map(str, SIZES)], rows, n_left=3)


def beta_costs(accuracies):
    """Return the differences to one over the mean distance, series and sizes taken together."""
    groups = {"Chebyshev, VZ and Direct, all sizes": SERIES}
    groups |= {name: (name,) for name in OF_BETA if name not in SERIES}
    gains = {}
    for learner in LEARNERS:
        for data in SETS:
            for head, names in groups.items():
                pairs = [
                    [accuracies.of(data, name, size, beta=one, learner=learner)
                     for one in ("1.5", "auto")]
                    for name in names
                    for size in SIZES
                ]  # fmt: skip
                pairs = [pair for pair in pairs if all(pair)]
                sides = map(mean_of, zip(*pairs, strict=True)) if pairs else ({}, {})
                gains[f"{learner}, {data}", head] = Difference(*sides)
    names = dict.fromkeys(name for name, _ in gains)
    return table_with_tests("learner, data", gains, names, [(head,) for head in groups])


TABLES = (one_set, differences, orderings, components, terms, betas, beta_costs)
FIGURES = (less, counts, ordering, over_all, gain, seeds, few_terms, term_cost)
