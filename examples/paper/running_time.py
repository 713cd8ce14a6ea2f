"""How long the parts of the scripts take, from the seconds of all cells."""

import numpy as np
from cells import HALF
from paired import table
from tables import OF_TERMS, SIZES


def seconds(accuracies):
    """Return what a descriptor or stream and a seed take, for each table and part."""
    rows = [
        [name, part, len(draws), max(map(len, draws.values())), f"{_median(draws):.0f}"]
        for (name, part), draws in _spent(accuracies).items()
    ]
    return table(["table", "part", "draws", "cells of each", "seconds of each, median"], rows, 2)


def hours(accuracies, n_seeds, *names):
    """Return how long all parts of tables take on all of their sets, with a number of seeds."""
    spent, total = _spent(accuracies), 0.0
    for (name, _), draws in spent.items():
        if name in names:
            n_sets = len({data for data, _ in draws})
            total += _median(draws) * n_sets * int(n_seeds)
    return f"{total / 3600:.0f}"


def _median(draws):
    return float(np.median([sum(cells) for cells in draws.values()]))


def _spent(accuracies):
    """Return (table, part) -> (data, seed) -> seconds of each cell."""
    spent = {}
    for line in accuracies.lines:
        draws = spent.setdefault((line["table"], _part(line)), {})
        cells = draws.setdefault((line["data"], line["seed"]), [])
        cells.append(float(line["seconds"]))
    return dict(sorted(spent.items()))


def _part(line):
    """Return the part of the scripts that a cell belongs to; "nystroem" is one of Table 4 alone."""
    method, streamed = line["method"], line["table"].startswith("table_4")
    for part, belongs in {
        "beta": line["beta"] == "1.5",
        "half_beta": line["beta"] == HALF,
        "terms": line["terms"] in {"1", "2", "3", "4"},
        "pca_larger": streamed and method.startswith("PCA") and line["size"] != str(SIZES[0]),
        "pca": method.startswith("PCA" if streamed else "PCA-training"),
        "pca_all": method.startswith("PCA"),
        "wide": "3D" in method,
        "dof": "1 degree" in method,
        "nystroem": streamed and method == "Nyström",
        "linear": streamed and method.startswith("Linear"),
        "series": method in {*OF_TERMS, "Exact exp-chi2", "Nyström"},
    }.items():
        if belongs:
            return part
    return "others"


TABLES = (seconds,)
FIGURES = (hours,)
