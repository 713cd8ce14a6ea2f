"""Ridge regression in one pass over a stream, for several numbers of features at once.

The first D features of a wider map have the leading block of its scatter matrix: one pass gives
every D on the way, with PCA or without, and the paper's calibration.
"""

from typing import NamedTuple

import numpy as np
from gram import downhill
from scipy import sparse
from scipy.linalg import cho_solve, eigh
from scipy.linalg.blas import ssymm, ssyrk
from scipy.linalg.lapack import spotrf
from streams import BATCH

# The paper shifts each class so that its 500th highest score is the same; its classes have about
# 1260 rows each.
SHARE = 500 / 1260
RANKED = 60_000  # rows whose scores are ranked for it
WIDER = 3  # features for each principal component that is kept, as in the paper


class Problem(NamedTuple):
    """What ridge regression needs: of the features, or of principal components of them."""

    mean: np.ndarray  # of the features
    scatter: np.ndarray  # lower triangle
    sums: np.ndarray  # of each class, about the mean
    directions: np.ndarray | None = None  # (features, components)


class Statistics:
    """What one pass leaves: scatter of the features, sums of each class."""

    def __init__(self, n_features, n_classes):
        self.scatter = np.zeros((n_features, n_features), dtype=np.float32, order="F")
        self.sums = np.zeros((n_classes, n_features))
        self.counts = np.zeros(n_classes)
        self.shift = None  # near the mean, so that single precision holds the scatter

    def add(self, features, codes):
        """Add a batch, shape (n, D), single precision; it is overwritten."""
        if self.shift is None:
            self.shift = features.mean(axis=0)
        features -= self.shift
        self.scatter = ssyrk(
            1.0, features.T, beta=1.0, c=self.scatter, lower=True, overwrite_c=True
        )
        members = sparse.csr_array(
            (np.ones(len(codes), np.float32), (codes, np.arange(len(codes)))),
            shape=(len(self.counts), len(codes)),
        )
        self.sums += members @ features
        self.counts += np.bincount(codes, minlength=len(self.counts))

    def problem(self, size, directions=None):
        """Return the regression on the first features, or on their components in directions."""
        n = self.counts.sum()
        mean = self.sums[:, :size].sum(axis=0) / n
        scatter = self.scatter[:size, :size].copy(order="F")
        scatter -= (n * mean[:, None]).astype(np.float32) * mean.astype(np.float32)
        sums = self.sums[:, :size] - self.counts[:, None] * mean
        if directions is not None:
            scatter = np.asfortranarray(directions.T @ ssymm(1.0, scatter, directions, lower=True))
            sums = sums @ directions
        return Problem(mean, scatter, sums, directions)

    def directions(self, size):
        """Return the leading principal directions of the first features, a third of them."""
        vectors = eigh(
            self.problem(size).scatter, lower=True, driver="evd", overwrite_a=True,
            check_finite=False,
        )[1]  # fmt: skip
        return np.asfortranarray(vectors[:, size - size // WIDER :])

    def model(self, problem, penalty):
        """Return coefficients and intercept of ridge regression, for features less the shift."""
        raised = problem.scatter.copy(order="F")
        raised[np.diag_indices(len(raised))] += np.float32(penalty)
        factor, failed = spotrf(raised, lower=True, clean=False, overwrite_a=True)
        if failed:
            return None
        coef = cho_solve((factor, True), problem.sums.T.astype(np.float32), check_finite=False)
        if problem.directions is not None:
            coef = problem.directions @ coef
        return coef, self.counts / self.counts.sum() - problem.mean @ coef


class Ranked:
    """The highest scores of each class, down to the rank of the paper's calibration."""

    def __init__(self, n_rows, n_classes):
        self.rank = max(1, round(SHARE * n_rows / n_classes))
        self.highest = np.full((self.rank, n_classes), -np.inf)

    def add(self, scores):
        """Take note of the scores of a batch."""
        joined = np.concatenate([self.highest, scores])
        self.highest = np.partition(joined, -self.rank, axis=0)[-self.rank :]

    def shifts(self):
        """Return what is taken off each class, so that all are equal at the rank."""
        return self.highest.min(axis=0)


class Learner:
    """One pass over a stream with one kind of features, for several numbers of them."""

    def __init__(self, stream, n_rows, n_classes, seed):
        self.stream, self.n_rows, self.n_classes, self.seed = stream, n_rows, n_classes, seed

    def run(self, make_features, sizes, *, pca=False):
        """Yield size, penalty, accuracy, accuracy after calibration.

        With PCA a size is that of the features; a third as many components are learnt. Their
        directions are those of the rows before the last tenth: labels play no part in them.
        """
        statistics, last = Statistics(max(sizes), self.n_classes), []
        for place, (rows, codes) in enumerate(
            self.stream(self.n_rows, of_test_rows=False, seed=self.seed)
        ):
            features = make_features(rows)
            if (place + 1) * BATCH <= self.n_rows * 9 // 10:
                statistics.add(features, codes)
            else:
                last.append((features - statistics.shift, codes))
        directions = {size: statistics.directions(size) if pca else None for size in sizes}
        penalties = {
            size: self._penalty(statistics, statistics.problem(size, directions[size]), last)
            for size in sizes
        }
        for features, codes in last:
            statistics.add(features + statistics.shift, codes)
        models = {
            size: statistics.model(statistics.problem(size, directions[size]), penalty)
            for size, penalty in penalties.items()
        }
        n_ranked = min(self.n_rows, RANKED)
        ranked = {size: Ranked(n_ranked, self.n_classes) for size in sizes}
        for rows, _ in self.stream(n_ranked, of_test_rows=False, seed=self.seed):
            features = make_features(rows) - statistics.shift
            for size, (coef, intercept) in models.items():
                ranked[size].add(features[:, :size] @ coef + intercept)
        right = {size: [] for size in sizes}
        for rows, codes in self.stream(5000, of_test_rows=True, seed=self.seed):
            features = make_features(rows) - statistics.shift
            for size, (coef, intercept) in models.items():
                scores = features[:, :size] @ coef + intercept
                both = scores, scores - ranked[size].shifts()
                right[size].append([one.argmax(axis=1) == codes for one in both])
        for size in sizes:
            yield size, penalties[size], *np.concatenate(right[size], axis=1).mean(axis=1)

    def _penalty(self, statistics, problem, last):
        """Return the penalty of the least squared error on rows that are not learnt yet."""

        def error(penalty):
            model = statistics.model(problem, penalty)
            if model is None:
                return np.inf
            total = 0.0
            for features, codes in last:
                scores = features[:, : len(model[0])] @ model[0] + model[1]
                # |s - e_y|^2 = |s|^2 - 2 s_y + 1
                chosen = scores[np.arange(len(codes)), codes]
                total += float((scores**2).sum() - 2.0 * chosen.sum())
            return total

        errors = downhill(error)
        return min(errors, key=errors.get)
