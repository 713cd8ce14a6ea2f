"""Accuracies by method, size and seed, for Figure 2 and the claims: tested, and written."""

import argparse
import csv
import sys
import time
from pathlib import Path

import numpy as np
from scipy.stats import ttest_rel

ANY = "any"  # the size of a method that has none


def arguments(documentation, parts=(), sets=()):
    """Read the words that every script here understands, and parts and sets where there are any."""
    parser = argparse.ArgumentParser(description=documentation.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows and seeds: two minutes")
    parser.add_argument("--out", type=Path, default=Path("paper_results"), help="where to write")
    parser.add_argument("--seeds", type=int, default=None, help="number of seeds")
    if sets:
        parser.epilog = 'How long parts take: README.md beside this script, "What was left out".'
        parser.add_argument("--first-seed", type=int, default=0, help="the first of the seeds")
        for name, choices in (("parts", parts), ("sets", sets)):
            words = {"nargs": "+", "choices": choices, "default": choices, "metavar": "NAME"}
            parser.add_argument(f"--{name}", help=f"some of: {', '.join(choices)}", **words)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    return given


def bar(steps, label):
    """Yield the steps, with a progress bar on the terminal's error stream."""
    steps, began = list(steps), time.perf_counter()
    for done, step in enumerate([*steps, None]):
        marks = "#" * (30 * done // len(steps))
        spent = time.perf_counter() - began
        print(f"\r[{marks:.<30}] {label}, {spent:.0f} s", end="", file=sys.stderr, flush=True)
        if done < len(steps):
            yield step
    print(file=sys.stderr)


def draws(seeds, sets):
    """Yield a seed and a set at a time; before each, say how far the run is, and what is left."""
    steps, clock = [(seed, what) for seed in seeds for what in sets], [time.perf_counter()]
    for done, (seed, what) in enumerate(steps):
        clock.append(time.perf_counter())
        minutes, left = (clock[-1] - clock[0]) / 60, ""
        if done:
            # Of one draw of each set: earlier ones may have been in the file already.
            recent = clock[-1 - min(done, len(sets)) :]
            rate = (recent[-1] - recent[0]) / 60 / (len(recent) - 1)
            left = f", at this rate {rate * (len(steps) - done):.0f} left"
        print(f"draw {done + 1} of {len(steps)}: {what}, seed {seed}; {minutes:.0f} min{left}",
              file=sys.stderr, flush=True)  # fmt: skip
        yield seed, what


class Results:
    """A table of accuracies, one list over seeds per method and size."""

    def __init__(self, name, title, sizes, head="features"):
        self.name, self.title, self.sizes, self.head = name, title, list(sizes), head
        self.cells = {}

    def add(self, method, size, accuracy):
        """Note one accuracy; seeds must come in the same order for every method."""
        self.cells.setdefault((method, size), []).append(float(accuracy))

    def methods(self):
        """Return the methods in order of appearance, those with PCA after those without."""
        names = dict.fromkeys(method for method, _ in self.cells)
        return sorted(names, key=lambda name: name.startswith("PCA") + 2 * name.startswith("Exact"))

    def of(self, method, size):
        """Return the accuracies of a method, whether or not it has sizes; None if there are none.

        A method that was run at one size only has an empty cell elsewhere.
        """
        accuracies = self.cells.get((method, size), self.cells.get((method, ANY)))
        return None if accuracies is None else np.array(accuracies)

    def among_the_best(self, method, size, outside=("Exact",)):
        """Tell whether a paired t-test (5 %, over seeds) finds no difference to the best mean.

        Methods whose names begin with a word of ``outside`` do not take part.
        """
        if method.startswith(outside):
            return False
        rivals = [m for m in self.methods() if not m.startswith(outside)]
        rivals = {m: scores for m in rivals if (scores := self.of(m, size)) is not None}
        best = max(rivals.values(), key=np.mean)
        mine = rivals.get(method)
        if mine is None:
            return False
        if mine is best or np.ptp(mine - best) == 0.0:
            return bool(mine.mean() == best.mean())
        return bool(ttest_rel(mine, best).pvalue > 0.05)

    def markdown(self):
        """Return the table, means and standard deviations over seeds in per cent."""
        heads = [str(size) for size in self.sizes]
        lines = [f"| {self.head}: | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
        for method in self.methods():
            cells = [self._cell(method, size) for size in self.sizes]
            lines.append(f"| {method} | {' | '.join(cells)} |")
        return "\n".join(lines)

    def _cell(self, method, size):
        scores = self.of(method, size)
        if scores is None:
            return ""
        text = f"{100 * scores.mean():.2f}"
        text = f"**{text}**" if self.among_the_best(method, size) else text
        return f"{text} ± {100 * scores.std(ddof=1):.2f}" if scores.size > 1 else text

    def read(self, folder):
        """Take the accuracies from name.csv and return this table; None if there is no file."""
        path = folder / f"{self.name}.csv"
        if not path.exists():
            return None
        with path.open(newline="") as file:
            for line in csv.DictReader(file):
                size = line["size"]
                self.add(line["method"], int(size) if size.isdigit() else size, line["accuracy"])
        return self

    def save_numbers(self, folder):
        """Write name.csv."""
        with (folder / f"{self.name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["method", "size", "seed", "accuracy"])
            for (method, size), scores in self.cells.items():
                writer.writerows([method, size, seed, s] for seed, s in enumerate(scores))

    def save(self, folder, notes=""):
        """Write name.csv and name.md."""
        self.save_numbers(folder)
        text = f"### {self.title}\n\n{notes}\n\n{self.markdown()}\n"
        (folder / f"{self.name}.md").write_text(text, encoding="utf-8")
        print(text)


def pyplot():
    """Return matplotlib's pyplot, drawing to files; None where matplotlib is not installed."""
    try:
        import matplotlib as mpl
    except ImportError:
        print('(no picture: pip install ".[plot]")')
        return None
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt
