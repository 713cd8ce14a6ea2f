"""Figure 2 at the paper's size, 7000 features: accuracy against the number of terms.

python examples/paper/figure_2_paper_size.py [--folder FOLDER]

Drawn from the cells of Tables 1 and 2 in a folder; page.py draws it too.
"""

import argparse
from pathlib import Path

from methods import UNSCALED
from paired import Accuracies, Difference
from results import pyplot
from tables import OF_TERMS, SETS, SIZES

from streamchi2.plots.inputs import SERIES

NAMES = {  # in other figures
    "Direct": "direct, greedy",
    "Direct, refined k": "direct, refined",
    UNSCALED: "Chebyshev",
}
N_TERMS = range(1, 6)


def differences(accuracies, data, name):
    """Return number of terms -> difference to the exact kernel, on the seeds of all numbers."""
    size, exact = SIZES[-1], accuracies.of(data, "Exact exp-chi2", SIZES[-1])
    cells = {n: accuracies.of(data, name, size, terms=n) for n in N_TERMS}
    cells = {n: cell for n, cell in cells.items() if cell}
    common = set.intersection(*(set(cell) for cell in cells.values())) if cells else set()
    return {
        n: Difference({seed: cell[seed] for seed in common}, exact) for n, cell in cells.items()
    }


def picture(accuracies, path):
    """Draw a panel for each descriptor."""
    plt = pyplot()
    if plt is None:
        return
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained", sharey=True)
    for ax, data in zip(axes, SETS, strict=True):
        n_seeds = 0
        for place, name in enumerate(OF_TERMS):
            gains = differences(accuracies, data, name)
            sizes = [n for n, one in gains.items() if one.freedom > 0]
            _, colour, marker = SERIES[NAMES.get(name, name)]
            # Beside each other, so that bars can be told apart.
            ax.errorbar(
                [n + 0.06 * (place - 2) for n in sizes],
                [gains[n].values.mean() for n in sizes],
                [gains[n].error for n in sizes],
                color=colour, marker=marker, ms=4, lw=1.2, label=name,
                **({"ls": ":", "mfc": "white"} if name == UNSCALED else {}),
            )  # fmt: skip
            n_seeds = max([n_seeds, *(gains[n].values.size for n in sizes)])
        ax.axhline(0.0, color="black", lw=1, ls=":")
        ax.set_xticks(N_TERMS)
        ax.set_xlabel("number of terms")
        ax.set_title(f"{data}, {n_seeds} seeds", loc="left", fontsize="medium")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("accuracy less the exact kernel's,\npoints, 7000 features")
    axes[-1].legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=80)
    plt.close(figure)
    print(f"written: {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path(__file__).parent, help="of the cells")
    folder = parser.parse_args().folder
    picture(Accuracies(folder), folder / "figure_2_paper_size.png")


if __name__ == "__main__":
    main()
