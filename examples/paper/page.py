"""Write README.md from page.md and the CSV files beside it.

python examples/paper/page.py [--folder FOLDER]

Where page.md says {{ name words }} the function of that name in one of the modules below puts a
table or a figure. Figure 2 at the paper's size is drawn from the same files.
"""

import argparse
import re
from pathlib import Path

import curves
import running_time
import tables_1_2
import tables_3_4
from figure_2_paper_size import picture
from paired import Accuracies

PARTS = {
    function.__name__: function
    for module in (tables_1_2, tables_3_4, running_time, curves)
    for function in (*module.TABLES, *module.FIGURES)
}


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
    accuracies = Accuracies(folder)
    text = page((folder / "page.md").read_text(encoding="utf-8"), accuracies)
    (folder / "README.md").write_text(text, encoding="utf-8")
    picture(accuracies, folder / "figure_2_paper_size.png")


if __name__ == "__main__":
    main()
