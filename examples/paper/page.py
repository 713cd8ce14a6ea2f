"""Write README.md from page.md and the CSV files beside it.

python examples/paper/page.py [--folder FOLDER]

Where page.md says {{ name words }} the function of that name in tables.py puts a table or a figure.
"""

import argparse
import re
from pathlib import Path

from paired import Accuracies
from tables import FIGURES, TABLES

PARTS = {function.__name__: function for function in (*TABLES, *FIGURES)}


def page(text, accuracies):
    """Return the page with every {{ name words }} replaced."""

    def replaced(match):
        name, *words = match[1].split()
        return PARTS[name](accuracies, *words)

    return re.sub(r"\{\{ (.*?) \}\}", replaced, text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    folder = Path(__file__).parent
    parser.add_argument("--folder", type=Path, default=folder, help="of page.md and the CSV files")
    folder = parser.parse_args().folder
    text = page((folder / "page.md").read_text(encoding="utf-8"), Accuracies(folder))
    (folder / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
