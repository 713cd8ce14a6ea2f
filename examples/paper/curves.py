"""The page's tables and figures that are not made of cells: each from a CSV file of its own."""

import csv

from methods import UNSCALED
from paired import names_in, signed, table


def error_curves(accuracies):
    """Return the table of Figure 1: a line for each series, a column for each number of terms."""
    curves = _curves(accuracies.folder)
    numbers = sorted({n for curve in curves.values() for n in curve})
    rows = [
        [*names, *(f"{curve[n]:.1e}" if n in curve else "" for n in numbers)]
        for names, curve in curves.items()
    ]
    return table(["data", "series", *numbers], rows, n_left=2)


def error_ratios(accuracies, *words):
    """Return the least and the largest ratio over the numbers of terms: data, series / series."""
    curves = _curves(accuracies.folder)
    data, *pair = names_in(words)
    above, below = (curves[data, name] for name in pair)
    ratios = [above[n] / below[n] for n in above.keys() & below.keys()]
    low, high = (f"{float(f'{ratio:.2g}'):g}" for ratio in (min(ratios), max(ratios)))
    return f"{low} to {high} times"


def _curves(folder):
    """Return (data, series) -> number of terms -> error."""
    curves = {}
    for line in _lines(folder, "figure_1_error"):
        curve = curves.setdefault((line["data"], line["series"]), {})
        curve[int(line["terms"])] = float(line["mean absolute error"])
    return curves


def limit_costs(accuracies, n_terms, *words):
    """Return what a number of terms costs against the exact kernel, over the sets.

    Words name a series; without them it is over all series that are fitted to the data.
    """
    series, costs = " ".join(words), []
    for name in ("figure_2_bow_limit", "figure_2_hog_limit"):
        means = {}
        for line in _lines(accuracies.folder, name):
            scores = means.setdefault((line["method"], line["size"]), [])
            scores.append(100 * float(line["accuracy"]))
        means = {key: sum(scores) / len(scores) for key, scores in means.items()}
        exact = means["Exact exp-chi2", "any"]
        costs += [
            exact - mean
            for (method, size), mean in means.items()
            if size == n_terms and (method == series if series else method != UNSCALED)
        ]
    return f"{min(costs):.1f} to {max(costs):.1f}"


def series_distances(accuracies):
    """Return the table of distances by each series: their factor, and what is left of the error."""
    distances, data = _distances(accuracies.folder), {}
    for (name, series), (factor, rest) in distances.items():
        data.setdefault(name, {})[series] = f"{factor:.3f}, {100 * rest:.2g} %"
    heads = list(dict.fromkeys(series for _, series in distances))
    rows = [[name, *(line[head] for head in heads)] for name, line in data.items()]
    return table(["data", *heads], rows)


def distance_range(accuracies, column, *words):
    """Return the least and largest "factor" or "rest" of some series: words are "one / another"."""
    place = ("factor", "rest").index(column)
    names = names_in(words)
    ratios = [
        numbers[place]
        for (_, series), numbers in _distances(accuracies.folder).items()
        if series in names
    ]
    low, high = min(ratios), max(ratios)
    return f"{low:.2f} to {high:.2f}" if place == 0 else f"{100 * low:.1g} to {100 * high:.1g} %"


def _distances(folder):
    """Return (data, series) -> factor and the rest of the error."""
    return {
        (line["data"], line["series"]): (float(line["factor"]), float(line["rest"]))
        for line in _lines(folder, "series_distances")
    }


def claims(accuracies):
    """Return the table of the claims: paired differences in points."""
    rows = []
    for line in _lines(accuracies.folder, "claims"):
        mean, error = float(line["mean"]), float(line["error"])
        text = _gain(line)
        text = f"**{text}**" if abs(mean) > 2 * error else text
        comparison = line["difference of accuracy"]
        rows.append([f"({line['claim']})", line["data"], comparison, text, line["seeds"]])
    heads = ["claim", "data", "difference of accuracy, in points", "mean ± error", "seeds"]
    return table(heads, rows, n_left=3) + "\n\nBold: more than two standard errors from zero."


def claim(accuracies, letter, data, *words):
    """Return the one difference of a claim on a set whose name has these words."""
    lines = [
        line
        for line in _lines(accuracies.folder, "claims")
        if (line["claim"], line["data"]) == (letter, data)
        and " ".join(words) in line["difference of accuracy"]
    ]
    (line,) = lines
    return _gain(line)


def _gain(line):
    return f"{signed(100 * float(line['mean']))} ± {100 * float(line['error']):.2f}"


def kernel_errors(accuracies):
    """Return the table of the kernel's error with orthogonal and independent frequencies."""
    lines = _lines(accuracies.folder, "kernel_errors")
    heads = list(lines[0])
    return table(heads, [[line[head] for head in heads] for line in lines], n_left=2)


def write_lines(path, heads, lines):
    """Write a CSV file that these functions read."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([heads, *lines])


def _lines(folder, name):
    with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


TABLES = (error_curves, series_distances, claims, kernel_errors)
FIGURES = (error_ratios, distance_range, limit_costs, claim)
