"""One draw of rows: the Gram matrices of every method, and the cells that are noted for them.

Random features come in panels, each with a seed of its own; D features are the first panels.
"""

import time
from functools import cached_property

import numpy as np
from cells import ANY, Cell
from draws import draw, name_of
from gram import LEARNERS, PanelSum, centred, gram_of, principal_of_all
from methods import UNSCALED, fitted_series
from scipy.linalg import cholesky, solve_triangular

from streamchi2 import ExpChi2Sampler
from streamchi2.bases import GaussianBasis, OrthogonalBasis
from streamchi2.features import MapBlock
from streamchi2.series.transport import RotatedSeries

SERIES_OF = {
    "Chebyshev": "Chebyshev",
    UNSCALED: UNSCALED,
    "VZ": "VZ",
    "Direct": "direct, greedy",
    "Direct, refined k": "direct, refined",
}
OF_THE_PAPER = ("Chebyshev", "VZ", "Direct")
N_TERMS = 5  # as in the paper
EXACT_TERMS = 10  # distances to 5e-5, measured on 90000 pairs of fashion_hog
NONE = "-"  # terms or beta of a method that has none


class Sizes:
    """Numbers of rows and features: the paper's, or small ones."""

    def __init__(self, quick):
        self.n_train, self.n_test = (250, 250) if quick else (5000, 2000)
        self.panel = 40 if quick else 1000
        self.features = tuple(self.panel * n for n in (3, 5, 7))


class Experiment:
    """All that is measured on one draw of rows."""

    def __init__(self, cells, what, seed, sizes):
        self.cells, self.what, self.seed, self.sizes = cells, what, seed, sizes
        self.panel, self.n_train = sizes.panel, sizes.n_train

    # The rows.

    @cached_property
    def draw(self):
        """Training and test rows with their labels."""
        return draw(self.what, self.sizes.n_train, self.sizes.n_test, self.seed)

    @cached_property
    def rows(self):
        """Training rows, then test rows."""
        return np.vstack([self.draw.train, self.draw.test])

    def coordinates(self, series_name, n_terms):
        """Return all rows in the coordinates of a series."""
        series = fitted_series(series_name, self.draw.train, n_terms)
        return series.transform(self.rows).astype(np.float32)

    @cached_property
    def distances(self):
        """Chi2 distances of all rows to the training rows."""
        return half_squared(self.coordinates("direct, refined", EXACT_TERMS), self.n_train)

    @cached_property
    def mean_distance(self):
        """Mean distance of training rows."""
        return float(self.distances[: self.n_train].mean(dtype=np.float64))

    def beta(self, given="auto"):
        """Return the number: "auto" is one over the mean distance."""
        return 1.0 / self.mean_distance if given == "auto" else float(given)

    # The cells.

    def cell(self, method, size, terms, beta, learner):
        """Return the name of a cell."""
        data, seed = name_of(self.what), str(self.seed)
        return Cell(data, method, str(size), str(terms), beta, learner, seed)

    def lacks(self, method, size, terms=N_TERMS, beta="auto"):
        """Tell whether a learner's cell is not in the file yet."""
        cells = (self.cell(method, size, terms, beta, learner) for learner in LEARNERS)
        return any(cell not in self.cells for cell in cells)

    def measure(self, gram, method, size, terms=N_TERMS, beta="auto", *, since):
        """Note the accuracies of the learners on a Gram matrix that was begun at a time."""
        for learner, accuracy_of in LEARNERS.items():
            cell = self.cell(method, size, terms, beta, learner)
            if cell not in self.cells:
                accuracy, penalty = accuracy_of(gram, self.draw)
                self.cells.add(cell, accuracy, penalty, time.perf_counter() - since)
            since = time.perf_counter()

    def one(self, method, make, size=ANY, terms=NONE, beta=NONE):
        """Note the accuracies of a method, if they are not in the file yet."""
        if self.lacks(method, size, terms, beta):
            since = time.perf_counter()
            self.measure(make(), method, size, terms, beta, since=since)

    # The Gram matrices.

    def random_features(self, name, stops, terms=N_TERMS, beta="auto"):
        """Yield numbers of random features, those in stops, and their Gram matrices."""
        for n_features, panels in self._sums(name, stops, terms, beta, self.n_train):
            yield n_features, panels.gram()

    def components_of_all(self, name, sizes):
        """Yield each size and the Gram matrix of PCA from 3D to D, of all rows together."""
        stops = tuple(3 * size for size in sizes)
        for n_features, panels in self._sums(name, stops, N_TERMS, "auto", len(self.rows)):
            size = n_features // 3
            yield size, principal_of_all(panels.products(), size, self.n_train)

    def _sums(self, name, stops, terms, beta, n_first):
        """Yield numbers of random features, those in stops, and the sum of their panels so far."""
        if stops:
            panels = PanelSum(len(self.rows), n_first)
            for features in self._panels(name, max(stops), terms, beta):
                panels.add(features)
                if self.panel * panels.n_panels in stops:
                    yield self.panel * panels.n_panels, panels

    def _panels(self, name, n_features, terms, beta):
        """Yield random features of all rows, some at a time, always in the same array."""
        coordinates, number = self.coordinates(SERIES_OF[name], terms), self.beta(beta)
        features = np.empty((len(coordinates), self.panel), dtype=np.float32)
        for place in range(n_features // self.panel):
            seed = 1000 * self.seed + place
            basis = GaussianBasis(coordinates.shape[1], self.panel, seed, number)
            basis.features(coordinates, features)
            yield features

    def orthogonal(self, size, dof=2.0):
        """Return the Gram matrix of orthogonal random features, with refined nodes."""
        series, width = fitted_series("direct, refined", self.draw.train, N_TERMS), N_TERMS
        width *= self.rows.shape[1]
        block = MapBlock(
            RotatedSeries(series), OrthogonalBasis(width, size, self.seed, self.beta(), dof)
        )
        return gram_of(block.transform(self.rows), self.n_train)

    def sampled(self, basis, size):
        """Return the Gram matrix of the library's sampler with a basis of its own."""
        sampler = ExpChi2Sampler(size, basis=basis, beta=self.beta(), random_state=self.seed)
        return gram_of(sampler.fit(self.draw.train).transform(self.rows), self.n_train)

    def nystroem(self, size, beta="auto"):
        """Return the exact kernel projected onto some training rows, drawn evenly."""
        chosen = np.random.default_rng(self.seed).permutation(self.n_train)[:size]
        kernel = np.exp(-self.beta(beta) * self.distances[:, chosen].astype(np.float64))
        inner = kernel[chosen]
        factor = cholesky((inner + inner.T) / 2 + 1e-6 * np.eye(size), lower=True)
        return gram_of(solve_triangular(factor, kernel.T, lower=True).T, self.n_train)

    def kernel(self, products):
        """Return the Gram matrix of a kernel, all rows to the training rows."""
        return centred(products.astype(np.float32), self.n_train)

    def exact(self, beta="auto"):
        """Return the exact exp-chi2 kernel."""
        return self.kernel(np.exp(-self.beta(beta) * self.distances))

    def additive(self):
        """Return the chi2 kernel without the exponential."""
        return gram_of(self.coordinates("direct, refined", EXACT_TERMS), self.n_train)


def half_squared(coordinates, n_train):
    """Return half the squared distances of all rows to the training rows."""
    lengths = np.einsum("ij,ij->i", coordinates, coordinates) / 2
    distances = coordinates @ coordinates[:n_train].T
    np.subtract(lengths[:n_train], distances, out=distances)
    distances += lengths[:, None]
    return np.maximum(distances, 0.0, out=distances)
