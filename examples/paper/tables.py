"""What the tables of the page have in common: methods, sizes, how a row is written."""

import numpy as np
from methods import UNSCALED
from paired import n_tests, significant, table

SETS = ("fashion_bow", "cifar10_three bow", "fashion_hog", "cifar10_three hog")
SIZES = (3000, 5000, 7000)
N_TRAIN, N_ROWS = 5000, 7000  # N_ROWS with the test rows
LEARNERS = ("ridge", "svm")
SERIES = ("Chebyshev", "VZ", "Direct")
OF_BETA = (*SERIES, UNSCALED, "Nyström", "Exact exp-chi2")  # also run with the paper's beta
OF_TERMS = (*SERIES, UNSCALED, "Direct, refined k")  # also run with fewer terms
METHODS = (
    "Linear",
    "Linear on square roots",
    "Chi2 (additive kernel)",
    "Chi2-Skewed",
    UNSCALED,
    *SERIES,
    "Direct, refined k",
    "Direct, orthogonal",
    "Direct, orthogonal, 1 degree of freedom",
    "Direct, subspace",
    "Landmarks (Nyström by the series)",
    "Nyström",
    *(f"{kind}-{name}" for kind in ("PCA-training", "PCA") for name in SERIES),
    *(f"{name}, 3D features" for name in SERIES),
    "Exact exp-chi2",
    "Exact, 1 degree of freedom",
)


def mean(values):
    """Return mean ± standard deviation of a mapping from seeds."""
    numbers = np.array(list(values.values()))
    if numbers.size == 0:
        return ""
    spread = f" ± {numbers.std(ddof=1):.2f}" if numbers.size > 1 else ""
    return f"{numbers.mean():.2f}{spread}"


def count(*parts):
    """Return a number of seeds, or a range of numbers."""
    sizes = sorted({len(one) for one in parts if one})
    return "" if not sizes else "–".join(map(str, dict.fromkeys((sizes[0], sizes[-1]))))


def tested(differences, where):
    """Return a sentence on the tests of a table."""
    sure = significant(differences)
    return (
        f"Bold: not zero by paired t-tests over draws, Holm's adjustment for the "
        f"{n_tests(differences)} tests{where}, 5 %: {len(sure)} of them."
    )


def table_with_tests(head, gains, names, columns, ends=""):
    """Return a table of differences, (name, *column) -> Difference, and a sentence on its tests.

    Only differences are tested whose names end so.
    """
    family = {key: one for key, one in gains.items() if key[0].endswith(ends)}
    bold, rows = significant(family), []
    for name in names:
        keys = [(name, *column) for column in columns]
        some = [gains[key] for key in keys if key in gains]
        if any(one.values.size for one in some):
            texts = [gains[key].text(bold=key in bold, seeds=True) for key in keys]
            rows.append([name, *texts])
    heads = [head, *(", ".join(map(str, column)) for column in columns)]
    return table(heads, rows) + "\n\n" + tested(family, f' in rows "{ends}"' if ends else " here")
