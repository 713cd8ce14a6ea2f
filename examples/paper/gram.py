"""Gram matrices of features, and learners on them: the size of the paper, rows fewer than features.

With n rows and D > n features all that a linear learner needs is the Gram matrix, n x n. It adds up
over panels of features, so that one pass over the panels gives every number of features on the way.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, eigh
from scipy.linalg.blas import sgemm
from scipy.linalg.lapack import spotrf
from sklearn.svm import SVC

PENALTIES = tuple(10.0 ** (power / 2) for power in range(-6, 7))
START = PENALTIES.index(10.0**-0.5)  # where the search for the best begins
C = 50.0  # of the support vector machine, as in the paper


class Gram(NamedTuple):
    """Inner products of centred features."""

    within: np.ndarray  # (n_train, n_train)
    between: np.ndarray  # (n_test, n_train)


class PanelSum:
    """The sum of the Gram matrices of panels of features, training rows first."""

    def __init__(self, n_rows, n_train):
        # In Fortran's order, so that the product is added where it stands.
        self._sum = np.zeros((n_train, n_rows), dtype=np.float32, order="F")
        self.n_panels = 0

    def add(self, features):
        """Add a panel, shape (n_rows, any), single precision, rows of about unit length."""
        left = features[: len(self._sum)].T
        self._sum = sgemm(
            1.0, left, features.T, beta=1.0, c=self._sum, trans_a=True, overwrite_c=True
        )
        self.n_panels += 1

    def products(self):
        """Return the mean of the panels' Gram matrices, all rows to the first ones."""
        return self._sum.T / np.float32(self.n_panels)

    def gram(self):
        """Return the same centred, training rows apart from the others."""
        return centred(self.products(), len(self._sum))


def gram_of(features, n_train):
    """Return the Gram matrix of features, training rows first."""
    panels = PanelSum(len(features), n_train)
    panels.add(np.ascontiguousarray(features, dtype=np.float32))
    return panels.gram()


def centred(products, n_train):
    """Return inner products, all rows to the training rows, about the training rows' mean."""
    means = products.mean(axis=1, dtype=np.float64)
    whole = means[:n_train].mean()
    products = products - means[:n_train].astype(np.float32)
    products -= (means - whole).astype(np.float32)[:, None]
    return Gram(products[:n_train], products[n_train:])


def principal(gram, size):
    """Return the Gram matrix of the leading principal components of the training rows.

    There are at most n - 1 of them: for a larger size nothing is left out.
    """
    if size >= len(gram.within) - 1:
        return gram
    values, vectors = leading(gram.within, size)
    return Gram((vectors * values) @ vectors.T, (gram.between @ vectors) @ vectors.T)


def principal_of_all(products, size, n_train):
    """Return the same with the components of all rows, from the products of all with all."""
    values, vectors = leading(centred(products, len(products)).within, size)
    return centred((vectors * values) @ vectors[:n_train].T, n_train)


def leading(within, size):
    """Return the largest eigenvalues and their eigenvectors."""
    values, vectors = eigh(within, driver="evd", check_finite=False)
    return values[-size:], np.ascontiguousarray(vectors[:, -size:])


def one_hot(labels):
    """Return the classes, and targets less their mean with that mean."""
    classes, codes = np.unique(labels, return_inverse=True)
    targets = np.eye(classes.size, dtype=np.float32)[codes]
    return classes, targets - targets.mean(axis=0), targets.mean(axis=0)


def dual(within, targets, penalty):
    """Solve (K + penalty I) A = T; None where single precision cannot hold the penalty."""
    raised = within.copy()
    raised.flat[:: len(raised) + 1] += np.float32(penalty)
    factor, failed = spotrf(raised.T, lower=False, clean=False, overwrite_a=True)
    if failed:
        return None
    return cho_solve((factor, False), targets, check_finite=False)


def downhill(error):
    """Return penalty -> error, as far as looked at: from START on to the bottom of the valley."""
    errors, best = {}, START

    def error_at(place):
        if place not in errors:
            errors[place] = error(PENALTIES[place])
        return errors[place]

    while True:
        near = [place for place in (best - 1, best, best + 1) if 0 <= place < len(PENALTIES)]
        lowest = min(near, key=error_at)
        if lowest == best:
            return {PENALTIES[place]: value for place, value in errors.items()}
        best = lowest


def held_out_errors(within, targets):
    """Return penalty -> squared error on the last fifth of the rows."""
    cut = len(within) * 4 // 5

    def error(penalty):
        solution = dual(within[:cut, :cut], targets[:cut], penalty)
        if solution is None:
            return np.inf
        return float(np.mean((targets[cut:] - within[cut:, :cut] @ solution) ** 2))

    return downhill(error)


def ridge_accuracy(gram, draw):
    """Return the accuracy of ridge regression and its penalty, chosen on the training rows."""
    classes, targets, mean = one_hot(draw.labels)
    errors = held_out_errors(gram.within, targets)
    penalty = min(errors, key=errors.get)
    scores = gram.between @ dual(gram.within, targets, penalty) + mean
    return float(np.mean(classes[scores.argmax(axis=1)] == draw.test_labels)), penalty


def svm_accuracy(gram, draw):
    """Return the accuracy of the paper's support vector machine, and its C."""
    model = SVC(C=C, kernel="precomputed", cache_size=1000).fit(gram.within, draw.labels)
    return model.score(gram.between, draw.test_labels), C


LEARNERS = {"ridge": ridge_accuracy, "svm": svm_accuracy}
