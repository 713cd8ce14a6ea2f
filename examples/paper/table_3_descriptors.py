"""Table 3: several descriptors of the same images, learnt together.

python examples/paper/table_3_descriptors.py [--quick] [--out FOLDER] [--parts NAME ...]

Features of each descriptor stand side by side, so the kernel is the sum of the three; principal
components are taken of each descriptor by itself, as in the paper's Algorithm 5. Each descriptor
has as many features as the smallest column of Tables 1 and 2.
"""

import time
from functools import partial

import numpy as np
from cells import CellFile
from experiment import N_TERMS, NONE, OF_THE_PAPER, Experiment, Sizes
from gram import Gram, gram_of, principal
from results import arguments, draws

DESCRIPTORS = ("three hog", "three colour", "three bow")
PARTS = ("series", "others", "pca", "pca_all")


class Joint(Experiment):
    """Several descriptors of one draw of rows; cells are those of all of them together."""

    def __init__(self, cells, seed, sizes):
        super().__init__(cells, DESCRIPTORS[0], seed, sizes)
        self.each = [Experiment(cells, what, seed, sizes) for what in DESCRIPTORS]
        self.size = sizes.features[0]

    def cell(self, *words):
        """Return the cell, its data named without the descriptor."""
        cell = super().cell(*words)
        return cell._replace(data=cell.data.split()[0].strip(","))

    def summed(self, make):
        """Return the sum of the Gram matrices of the descriptors."""
        within, between = zip(*(make(one) for one in self.each), strict=True)
        return Gram(np.sum(within, axis=0), np.sum(between, axis=0))

    def series(self, *, pca):
        """Random features of each series: D of them, 3D, and PCA from 3D to D."""
        for name in reversed(OF_THE_PAPER):
            labels = {
                name: self.size,
                f"{name}, 3D features": 3 * self.size,
                f"PCA-training-{name}": 3 * self.size,
            }
            labels = {
                method: n
                for method, n in labels.items()
                if method.startswith("PCA") == pca and self.lacks(method, self.size)
            }
            if not labels:
                continue
            began, stops = time.perf_counter(), tuple(set(labels.values()))
            grams = [dict(one.random_features(name, stops)) for one in self.each]
            for method, n_features in labels.items():
                parts = [gram[n_features] for gram in grams]
                if pca:
                    parts = [principal(gram, self.size) for gram in parts]
                gram = Gram(*(np.sum(both, axis=0) for both in zip(*parts, strict=True)))
                self.measure(gram, method, self.size, since=began)
                began = time.perf_counter()

    def components_of_all_rows(self):
        """PCA from 3D to D of training and test rows together: the series of the paper's table."""

        def components(one, name):
            return next(gram for _, gram in one.components_of_all(name, [self.size]))

        for name in ("Direct", "Chebyshev"):
            make = partial(self.summed, partial(components, name=name))
            self.one(f"PCA-{name}", make, self.size, N_TERMS, "auto")

    def others(self):
        """Linear models, Nyström, bases beyond the paper's, and the exact kernels."""
        rows = np.hstack([one.rows for one in self.each])
        self.one("Linear", lambda: gram_of(rows, self.n_train))
        self.one("Linear on square roots", lambda: gram_of(np.sqrt(rows), self.n_train))
        self.one("Chi2 (additive kernel)", lambda: self.summed(Experiment.additive))
        for (name, terms), make in {
            ("Nyström", NONE): lambda one: one.nystroem(self.size),
            ("Direct, orthogonal", N_TERMS): lambda one: one.orthogonal(self.size),
            ("Direct, subspace", "auto"): lambda one: one.sampled("subspace", self.size),
            ("Landmarks (Nyström by the series)", "auto"): lambda one: one.sampled(
                "landmarks", self.size
            ),
        }.items():
            self.one(name, lambda make=make: self.summed(make), self.size, terms, "auto")
        self.one("Exact, sum of kernels", lambda: self.summed(Experiment.exact), beta="auto")
        self.one("Exact, product of kernels", self.product, beta="auto")

    def product(self):
        """Return the product of the kernels, a third of each distance: as wide as each of them."""
        scaled = sum(one.distances / one.mean_distance for one in self.each)
        return self.kernel(np.exp(-scaled / len(self.each)))


def main():
    given = arguments(__doc__, parts=PARTS, sets=("all",))
    cells, sizes = CellFile(given.out / "table_3_descriptors.csv"), Sizes(given.quick)
    seeds = range(given.first_seed, given.seeds or (2 if given.quick else 5))
    for seed, _ in draws(seeds, given.sets):
        joint = Joint(cells, seed, sizes)
        if "series" in given.parts:
            joint.series(pca=False)
        if "others" in given.parts:
            joint.others()
        if "pca" in given.parts:
            joint.series(pca=True)
        if "pca_all" in given.parts:
            joint.components_of_all_rows()


if __name__ == "__main__":
    main()
