"""Accuracy against the number of features on one descriptor: the parts of Tables 1 and 2."""

import time

import numpy as np
from cells import CellFile
from experiment import N_TERMS, NONE, OF_THE_PAPER, SERIES_OF, Experiment, Sizes
from gram import PanelSum, gram_of, held_out_errors, one_hot, principal
from methods import UNSCALED
from results import arguments, draws
from scipy.special import erfc
from sklearn.kernel_approximation import SkewedChi2Sampler

PARTS = ("series", "others", "wide", "beta", "terms", "pca", "dof", "pca_all")
SKEWS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)


def run_parts(one, parts):
    """Run parts of the table on one draw of rows; together they share Gram matrices."""
    if "series" in parts:
        exact(one)
    if {"series", "wide", "pca"} & set(parts):
        random_features(one, {"series", "wide", "pca"} & set(parts))
    if "others" in parts:
        others(one)
        skewed(one)
    if "beta" in parts:
        exact(one, beta="1.5")
        random_features(one, {"series"}, beta="1.5", names=(*OF_THE_PAPER, UNSCALED))
    if "terms" in parts:
        fewer_terms(one)
    if "dof" in parts:
        one_degree_of_freedom(one)
    if "pca_all" in parts:
        components_of_all_rows(one)


def exact(one, beta="auto"):
    """Measure the exact kernel, and Nyström's features of it."""
    one.one("Exact exp-chi2", lambda: one.exact(beta), beta=beta)
    for size in one.sizes.features:
        if size < one.n_train:
            make = lambda size=size: one.nystroem(size, beta)  # noqa: E731
            one.one("Nyström", make, size, NONE, beta)


def random_features(one, parts, beta="auto", names=tuple(SERIES_OF)):
    """Measure random features of each series: D of them, 3D ("wide"), PCA from 3D to D ("pca")."""
    for name in names:
        wanted = {}  # number of features -> cells

        def want(n_features, method, size, wanted=wanted):
            if one.lacks(method, size, beta=beta):
                wanted.setdefault(n_features, []).append((method, size))

        for size in one.sizes.features:
            if "series" in parts:
                want(size, name, size)
            if "wide" in parts and name in OF_THE_PAPER:
                want(3 * size, f"{name}, 3D features", size)
            # There are n - 1 components at most: beyond, PCA leaves nothing out.
            if "pca" in parts and name in OF_THE_PAPER and size < one.n_train - 1:
                want(3 * size, f"PCA-training-{name}", size)
        measure_on_the_way(one, name, wanted, N_TERMS, beta)


def components_of_all_rows(one):
    """Measure PCA from 3D to D of training and test rows together, as the paper has it."""
    # There are n - 1 components at most: beyond, PCA leaves nothing out.
    sizes = [size for size in one.sizes.features if size < len(one.rows) - 1]
    for name in OF_THE_PAPER:
        method, since = f"PCA-{name}", time.perf_counter()
        wanted = [size for size in sizes if one.lacks(method, size)]
        for size, gram in one.components_of_all(name, wanted):
            one.measure(gram, method, size, since=since)
            since = time.perf_counter()


def measure_on_the_way(one, name, wanted, terms, beta="auto"):
    """Measure on the way to more features; wanted: their number -> cells (method, size)."""
    since = time.perf_counter()
    for n_features, gram in one.random_features(name, tuple(wanted), terms, beta):
        for method, size in wanted[n_features]:
            inside = principal(gram, size) if method.startswith("PCA") else gram
            one.measure(inside, method, size, terms, beta, since=since)
            since = time.perf_counter()


def fewer_terms(one):
    """Measure the largest number of features with fewer terms of the series."""
    size = one.sizes.features[-1]
    for terms in range(1, N_TERMS):
        for name in SERIES_OF:
            # VZ has an odd number of terms.
            if (name != "VZ" or terms % 2) and one.lacks(name, size, terms):
                measure_on_the_way(one, name, {size: [(name, size)]}, terms)


def others(one):
    """Measure methods without random features, and bases beyond the paper's."""
    one.one("Linear", lambda: gram_of(one.rows, one.n_train))
    one.one("Linear on square roots", lambda: gram_of(np.sqrt(one.rows), one.n_train))
    one.one("Chi2 (additive kernel)", one.additive)
    for size in one.sizes.features:
        makes = {
            ("Direct, orthogonal", N_TERMS): lambda size=size: one.orthogonal(size),
            ("Direct, subspace", "auto"): lambda size=size: one.sampled("subspace", size),
        }
        if size < one.n_train:
            name = "Landmarks (Nyström by the series)"
            makes[name, "auto"] = lambda size=size: one.sampled("landmarks", size)
        for (name, terms), make in makes.items():
            one.one(name, make, size, terms, "auto")


def one_degree_of_freedom(one):
    """Measure the kernel with one degree of freedom, exact and by random features."""
    one.one("Exact, 1 degree of freedom",
            lambda: one.kernel(erfc(np.sqrt(one.beta() * one.distances))), beta="auto")  # fmt: skip
    size = one.sizes.features[-1]
    one.one("Direct, orthogonal, 1 degree of freedom",
            lambda: one.orthogonal(size, dof=1.0), size, N_TERMS, "auto")  # fmt: skip


def skewed(one):
    """Measure Chi2-Skewed, its skewedness chosen on half of the training rows with one panel."""
    wanted = [s for s in one.sizes.features if one.lacks("Chi2-Skewed", s, NONE, NONE)]
    if not wanted:
        return
    since, half = time.perf_counter(), one.n_train // 2
    targets = one_hot(one.draw.labels)[1][:half]

    def features(skewedness, rows, place=0):
        sampler = SkewedChi2Sampler(
            skewedness=skewedness, n_components=one.panel, random_state=1000 * one.seed + place
        )
        return sampler.fit_transform(rows).astype(np.float32)

    def error(skewedness):
        within = gram_of(features(skewedness, one.rows[:half]), half).within
        return min(held_out_errors(within, targets).values())

    skewedness = min(SKEWS, key=error)
    panels = PanelSum(len(one.rows), one.n_train)
    for place in range(max(wanted) // one.panel):
        panels.add(features(skewedness, one.rows, place))
        size = one.panel * panels.n_panels
        if size in wanted:
            one.measure(panels.gram(), "Chi2-Skewed", size, NONE, NONE, since=since)
            since = time.perf_counter()


def main(documentation, name, sets):
    """Run a table: seed by seed, set by set, part by part."""
    given = arguments(documentation, parts=PARTS, sets=sets)
    sizes, cells = Sizes(given.quick), CellFile(given.out / f"{name}.csv")
    seeds = range(given.first_seed, given.seeds or (2 if given.quick else 10))
    for seed, what in draws(seeds, given.sets):
        run_parts(Experiment(cells, what, seed, sizes), given.parts)
