"""What the error of a series does to chi2 distances: mostly, it scales them.

python examples/paper/series_distances.py [--quick] [--out FOLDER]

For the pairs of some rows the distances that a series gives are compared with the exact ones: the
factor between their means, and the rms error that is left when they are divided by it, relative to
the mean distance. A factor is the same as another beta; only what is left is an error of its own.
"""

from types import SimpleNamespace

import numpy as np
from curves import series_distances, write_lines
from draws import draw, name_of
from experiment import N_TERMS, SERIES_OF, half_squared
from methods import fitted_series
from results import arguments, bar
from streams import STREAMS, first_rows, stream_of

from streamchi2 import chi2_distance

SETS = ("bow", "three bow", "hog", "three hog")


def factor_and_rest(approximate, exact):
    """Return the factor between mean distances, and what is left of the error without it."""
    factor = approximate.mean() / exact.mean()
    return factor, np.sqrt(np.mean((approximate / factor - exact) ** 2)) / exact.mean()


def main():
    given = arguments(__doc__)
    n_fitted, n_rows = (500, 200) if given.quick else (2000, 1000)
    rows = {}
    for what in SETS:
        one = draw(what, n_fitted, n_rows, seed=0)
        rows[name_of(what)] = one.train, one.test
    for what in STREAMS:
        first = first_rows(stream_of(what, quick=given.quick)[0], n_fitted + n_rows, seed=0)
        rows[f"{what} of {name_of('bow')}"] = first[:n_fitted], first[n_fitted:]
    lines = []
    for data in bar(rows, "distances"):
        fitted, others = rows[data]
        pairs = np.triu_indices(len(others), k=1)
        exact = chi2_distance(others)[pairs]
        for name, series in SERIES_OF.items():
            coordinates = fitted_series(series, fitted, N_TERMS).transform(others)
            numbers = factor_and_rest(half_squared(coordinates, len(others))[pairs], exact)
            lines.append([data, name, *(f"{number:.5f}" for number in numbers)])
    write_lines(given.out / "series_distances.csv", ["data", "series", "factor", "rest"], lines)
    print(series_distances(SimpleNamespace(folder=given.out)))


if __name__ == "__main__":
    main()
