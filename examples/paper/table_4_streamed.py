"""Table 4: many rows and many classes, streamed in one pass, with the paper's calibration.

python examples/paper/table_4_streamed.py [--quick] [--out FOLDER] [--parts NAME ...] [--sets ...]

Of the two streams of streams.py, "pairs" and "thousand", rows pass once in batches; nothing is kept
but statistics and the last tenth of the rows, which choose the penalty and are learnt last. The
calibration, as the paper has it, needs scores of rows that were learnt: up to 60000 of them pass
again.
"""

import time

import numpy as np
from cells import ANY, HALF, Cell, CellFile
from draws import name_of
from experiment import N_TERMS, NONE, OF_THE_PAPER, SERIES_OF, half_squared
from methods import fitted_series
from one_pass import WIDER, Learner
from results import arguments, draws
from scipy.linalg import cholesky
from scipy.linalg.blas import strsm
from streams import STREAMS, first_rows, stream_of

from streamchi2 import ExpChi2Sampler
from streamchi2.bases import GaussianBasis

FIRST = 2000  # rows that choose nodes and beta


def random_features(first, series_name, n_features, panel, seed, share=1.0):
    """Return a function from rows to random features, panel by panel; a share of the usual beta."""
    series, beta = fitted_series(series_name, first, N_TERMS), share / mean_distance(first)
    width = first.shape[1] * N_TERMS
    bases = [
        GaussianBasis(width, panel, 1000 * seed + place, beta)
        for place in range(n_features // panel)
    ]

    def features(rows):
        inputs = series.transform(rows).astype(np.float32)
        features = np.empty((len(rows), n_features), dtype=np.float32)
        for place, basis in enumerate(bases):
            basis.features(inputs, features[:, panel * place : panel * (place + 1)])
        return features

    return features


def nystroem_features(first, landmarks):
    """Return a function from rows to Nyström features; the first D are those of D landmarks."""
    series, beta = fitted_series("direct, refined", first, N_TERMS), 1.0 / mean_distance(first)
    anchors = series.transform(landmarks).astype(np.float32)
    kernel = np.exp(-beta * half_squared(anchors, len(anchors)).astype(np.float64))
    factor = cholesky((kernel + kernel.T) / 2 + 1e-4 * np.eye(len(kernel)), lower=True)
    factor = np.asfortranarray(factor, dtype=np.float32)
    lengths = np.einsum("ij,ij->i", anchors, anchors) / 2

    def features(rows):
        inputs = series.transform(rows).astype(np.float32)
        distances = lengths + np.einsum("ij,ij->i", inputs, inputs)[:, None] / 2
        distances -= inputs @ anchors.T
        features = np.exp(-np.float32(beta) * np.maximum(distances, 0.0))
        return np.ascontiguousarray(strsm(1.0, factor, features.T, lower=True).T)

    return features


def mean_distance(rows):
    """Return the mean chi2 distance of rows."""
    coordinates = fitted_series("direct, refined", rows, 10).transform(rows)
    return float(half_squared(coordinates, len(rows)).mean())


PARTS = ("linear", "series", "nystroem", "subspace", "half_beta", "pca", "pca_larger")


def run(cells, what, seed, part, *, quick):
    """Run one part on one stream, cells that are not in the file yet."""
    n_rows, panel = (3000 if what == "pairs" else 6000, 40) if quick else (60_000, 1000)
    stream, n_classes = stream_of(what, quick=quick)
    learner = Learner(stream, n_rows, n_classes, seed)
    sizes = tuple(panel * n for n in (3, 5, 7))
    data = f"{what} of {name_of('bow')}"

    def note(method, sizes, make, terms, beta="auto", *, pca=False):
        kinds = "ridge", "calibrated ridge"

        def cell(size, kind):
            label = ANY if terms == NONE else str(size // WIDER if pca else size)
            return Cell(data, method, label, str(terms), beta, kind, str(seed))

        wanted = [s for s in sizes if any(cell(s, kind) not in cells for kind in kinds)]
        if not wanted:
            return
        began = time.perf_counter()
        for size, penalty, *accuracies in learner.run(make(max(wanted)), wanted, pca=pca):
            for kind, accuracy in zip(kinds, accuracies, strict=True):
                if cell(size, kind) not in cells:
                    cells.add(cell(size, kind), accuracy, penalty, time.perf_counter() - began)
                began = time.perf_counter()

    first = first_rows(stream, min(FIRST, n_rows // 4), seed)
    width = first.shape[1]
    if part == "linear":
        single = np.float32
        note("Linear", [width], lambda _: lambda rows: rows.astype(single), NONE, NONE)
        note("Linear on square roots", [width],
             lambda _: lambda rows: np.sqrt(rows).astype(single), NONE, NONE)  # fmt: skip
    if part == "series":
        for name in OF_THE_PAPER:
            note(name, sizes, lambda size, name=name: random_features(
                first, SERIES_OF[name], size, panel, seed), N_TERMS)  # fmt: skip
    if part == "half_beta":  # whether a series is ahead because its distances are smaller
        for name in OF_THE_PAPER:
            note(name, sizes[:1], lambda size, name=name: random_features(
                first, SERIES_OF[name], size, panel, seed, 0.5), N_TERMS, HALF)  # fmt: skip
    if part == "nystroem":
        note("Nyström", sizes, lambda size: nystroem_features(
            first, first_rows(stream, size, seed)), N_TERMS)  # fmt: skip
    if part == "subspace":
        for size in sizes:
            sampler = ExpChi2Sampler(size, basis="subspace", random_state=seed)
            note("Direct, subspace", [size],
                 lambda _, sampler=sampler: sampler.fit(first).transform, "auto")  # fmt: skip
    # The eigenvectors of 15000 and 21000 features take ten times as long as those of 9000.
    for name in OF_THE_PAPER:
        for size in {"pca": sizes[:1], "pca_larger": sizes[1:]}.get(part, ()):
            note(f"PCA-{name}", [WIDER * size], lambda size, name=name: random_features(
                first, SERIES_OF[name], size, panel, seed), N_TERMS, pca=True)  # fmt: skip


def main():
    given = arguments(__doc__, parts=PARTS, sets=STREAMS)
    cells = CellFile(given.out / "table_4_streamed.csv")
    seeds = range(given.first_seed, given.seeds or (1 if given.quick else 3))
    for seed, what in draws(seeds, given.sets):
        for part in given.parts:
            run(cells, what, seed, part, quick=given.quick)


if __name__ == "__main__":
    main()
