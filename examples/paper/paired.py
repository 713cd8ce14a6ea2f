"""Accuracies by seed, paired differences with their tests, and how both are written."""

import csv

import numpy as np
from scipy.stats import t

LEAST_FREEDOM = 2  # for a test: three draws of one group
LEAST_ERROR = 1e-9  # points: below, draws differ by rounding alone


class Accuracies:
    """What the CSV files of the tables hold, in per cent."""

    def __init__(self, folder):
        self.folder, self.lines = folder, []
        for path in sorted(folder.glob("table_*.csv")):
            with path.open(newline="", encoding="utf-8") as file:
                self.lines += [{"table": path.stem, **line} for line in csv.DictReader(file)]
        self._by_cell = {}
        for line in self.lines:
            key = tuple(line[name] for name in ("data", "method", "size", "beta", "learner"))
            seeds = self._by_cell.setdefault((*key, line["terms"]), {})
            seeds[int(line["seed"])] = 100 * float(line["accuracy"])

    def of(self, data, method, size, *, terms=None, beta="auto", learner="ridge"):
        """Return seed -> accuracy of a cell; empty if it was not run.

        Where terms are not given: the largest number, or the only choice that a method has. A
        method without a number of features or a beta has the same accuracy for all of them.
        """
        for own_size in (str(size), "any"):
            for own_beta in (beta, "-"):
                for own_terms in ("5", "auto", "-") if terms is None else (str(terms),):
                    key = (data, method, own_size, own_beta, learner, own_terms)
                    if key in self._by_cell:
                        return self._by_cell[key]
        return {}


class Difference:
    """One method less another, on the seeds that both have."""

    def __init__(self, first, second):
        common = sorted(first.keys() & second.keys())
        self.groups = [np.array([first[seed] - second[seed] for seed in common])]

    @classmethod
    def joined(cls, parts):
        """Return the differences of several groups, each with a mean of its own."""
        joined = cls({}, {})
        joined.groups = [part.values for part in parts if part.values.size]
        return joined

    @property
    def values(self):
        """All differences."""
        return np.concatenate([*self.groups, np.empty(0)])

    @property
    def error(self):
        """Standard error of the mean, from the variance within groups."""
        squares = sum(float(((group - group.mean()) ** 2).sum()) for group in self.groups)
        return np.sqrt(squares / self.freedom / self.values.size)

    @property
    def freedom(self):
        """Degrees of freedom of that variance."""
        return self.values.size - len(self.groups)

    @property
    def is_tested(self):
        """Whether there are draws enough for a test, and a spread."""
        return self.freedom >= LEAST_FREEDOM and self.error > LEAST_ERROR

    @property
    def p_value(self):
        """Of a t-test of the mean against zero."""
        return float(2.0 * t.sf(abs(self.values.mean()) / self.error, self.freedom))

    def text(self, *, bold=False, seeds=False):
        """Return mean ± standard error, without it where there is one draw; and their number."""
        if self.values.size == 0:
            return ""
        text = signed(self.values.mean())
        if self.freedom > 0:
            text += f" ± {self.error:.2f}"
        text = f"**{text}**" if bold else text
        return f"{text} ({self.values.size})" if seeds else text


def significant(differences, level=0.05):
    """Return which of the differences are not zero, by Holm's procedure over all that are tested.

    Parameters
    ----------
    differences : dict of Difference

    Returns
    -------
    set of keys
    """
    p_values = {key: one.p_value for key, one in differences.items() if one.is_tested}
    keys = set()
    for left, key in zip(range(len(p_values), 0, -1), sorted(p_values, key=p_values.get),
                         strict=True):  # fmt: skip
        if p_values[key] * left > level:
            break
        keys.add(key)
    return keys


def n_tests(differences):
    """Return how many of the differences are tested."""
    return sum(one.is_tested for one in differences.values())


def mean_of(parts):
    """Return seed -> mean over parts, mappings from seeds, of the seeds that all of them have."""
    common = set.intersection(*(set(part) for part in parts))
    return {seed: float(np.mean([part[seed] for part in parts])) for seed in common}


def names_in(words):
    """Return the names in words of page.md, which are parted by " / "."""
    return [name.strip() for name in " ".join(words).split("/")]


def signed(points):
    """Return a difference in points with its sign."""
    return f"{points:+.2f}".replace("-", "−")


def table(heads, rows, n_left=1):
    """Return a table in Markdown, the first columns to the left, rows of strings."""
    marks = ["---"] * n_left + ["---:"] * (len(heads) - n_left)
    lines = [heads, marks, *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
