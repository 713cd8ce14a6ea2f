"""Cells of the tables: one line of a CSV file each, appended when it is done.

A run that was stopped goes on where it stopped, and cells can be run in parts: what is in the file
is not computed again.
"""

import csv
import sys
import time
from pathlib import Path
from typing import NamedTuple

ANY = "any"  # the number of features of a method that has none
HALF = "auto / 2"  # half of the usual beta


class Cell(NamedTuple):
    """What an accuracy belongs to."""

    data: str
    method: str
    size: str
    terms: str
    beta: str
    learner: str
    seed: str


COLUMNS = (*Cell._fields, "accuracy", "penalty", "seconds")


class CellFile:
    """A CSV file of accuracies, read at the start and appended to."""

    def __init__(self, path):
        self.path, self.lines = Path(path), {}
        if self.path.exists():
            self._read()
        else:
            self._append(COLUMNS)

    def _read(self):
        text = self.path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:  # the run was stopped in the middle of a line
            self.path.write_text(whole, encoding="utf-8")
        for line in csv.DictReader(whole.splitlines()):
            self.lines[Cell(*(line[name] for name in Cell._fields))] = line
        if not whole:
            self._append(COLUMNS)

    def _append(self, values):
        with self.path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow(values)

    def __contains__(self, cell):
        return cell in self.lines

    def add(self, cell, accuracy, penalty, seconds):
        """Append one cell."""
        values = (*cell, f"{accuracy:.5f}", f"{penalty:.4g}", f"{seconds:.1f}")
        self._append(values)
        self.lines[cell] = dict(zip(COLUMNS, values, strict=True))
        clock = time.strftime("%H:%M:%S")
        print(f"{clock} {' | '.join(cell)} | {accuracy:.4f}", file=sys.stderr, flush=True)
