"""Features and learners where rows outnumber features, for Figure 2 and the claims."""

import numpy as np

from streamchi2 import ChebyshevSeries, LogHistogram, StreamingPCA, StreamingRidgeClassifier
from streamchi2.bases import GaussianBasis
from streamchi2.features import MapBlock
from streamchi2.plots.inputs import SERIES
from streamchi2.series.transport import RotatedSeries

UNSCALED = "Chebyshev, not scaled"  # as the paper prints it


def fitted_series(name, rows, n_terms):
    """Return a series, as in Figure 1, fitted to the values of rows."""
    if name == UNSCALED:
        return ChebyshevSeries(n_terms)
    make, *_ = SERIES[name]
    return make(LogHistogram().update(rows), n_terms)


def random_features(series, draw, size, *, beta, seed, basis=GaussianBasis, dof=2.0):
    """Return features of training and of test rows."""
    block = MapBlock(
        RotatedSeries(series),
        basis(draw.train.shape[1] * series.n_terms, size, seed, beta, dof),
    )
    return block.transform(draw.train), block.transform(draw.test)


def principal(train, test, size, *, of_all_rows=True):
    """Return the leading components; by default of training and test rows, as the paper has it."""
    rows = np.vstack([train, test]) if of_all_rows else train
    pca = StreamingPCA(min(size, *rows.shape)).fit(rows)
    return pca.transform(train), pca.transform(test)


def ridge_accuracy(features, draw):
    """Return the accuracy of ridge regression, its penalty chosen on the training rows alone."""
    train, test = features
    model = StreamingRidgeClassifier("auto").fit(train, draw.labels)
    return model.score(test, draw.test_labels)


def one_hot(labels):
    """Return the classes, targets less their mean, and that mean."""
    classes, codes = np.unique(labels, return_inverse=True)
    targets = np.eye(classes.size)[codes]
    return classes, targets - targets.mean(axis=0), targets.mean(axis=0)


def left_out_penalty(within, draw):
    """Choose the penalty of kernel ridge regression by leave-one-out on the training rows."""
    targets = one_hot(draw.labels)[1]
    values, vectors = np.linalg.eigh(within)
    turned = vectors.T @ targets
    errors = {}
    for penalty in np.logspace(-3, 1.5, 10):
        shrunk = 1.0 / (np.maximum(values, 0.0) + penalty)
        dual = vectors @ (turned * shrunk[:, None])
        errors[float(np.mean((dual / (vectors**2 @ shrunk)[:, None]) ** 2))] = float(penalty)
    return errors[min(errors)]


def kernel_ridge_accuracy(within, between, draw, penalty=None):
    """Return the accuracy of kernel ridge regression."""
    classes, targets, mean = one_hot(draw.labels)
    raised = within + (penalty or left_out_penalty(within, draw)) * np.eye(len(within))
    # Not Cholesky: a series of few terms may give a matrix that is not quite a kernel.
    scores = between @ np.linalg.solve(raised, targets) + mean
    return float(np.mean(classes[scores.argmax(axis=1)] == draw.test_labels))
