"""How accurate is one pass, against what people use for it today?

Run with ``python examples/benchmarks/peers.py [--rows 4000] [SET ...]``. Every learner sees the
same rows once, in batches of 500, and is asked about 2000 others (or as many as there are).
Inputs are those that one would choose for histograms: square roots of shares for linear models,
naive Bayes on counts, scikit-learn's additive chi2 series, its Nyström features of the exp-chi2
kernel, a neural network with 256 hidden units. Where a peer has a penalty or a rate, the best of
three on the test rows counts, to its advantage; ours are chosen on the training rows. The exact
kernel is no stream: all pairs of rows are held in memory. Seconds are of one core, for one run.
"""

import argparse
import time
import warnings

import numpy as np
from data_sets import load
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import AdditiveChi2Sampler, Nystroem
from sklearn.linear_model import RidgeClassifier, SGDClassifier
from sklearn.metrics.pairwise import chi2_kernel
from sklearn.naive_bayes import MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from streamchi2 import ExpChi2Classifier, chi2_distance
from streamchi2.errors import BasisHint

BATCH = 500
SETS = {
    "digits": ("digits", "X"),
    "fashion, bag of words": ("fashion_bow", "X"),
    "fashion, HOG": ("fashion_hog", "X"),
    "cifar10, HOG": ("cifar10_three", "hog"),
    "spambase": ("spambase", "X"),
    "20 newsgroups": ("news20_tf", "X"),
}


def one_pass(learner, prepared, rows, labels, test_rows, test_labels):
    """Return accuracy and seconds of a learner that sees batches once."""
    began = time.process_time()
    for start in range(0, len(labels), BATCH):
        batch = slice(start, start + BATCH)
        learner.partial_fit(prepared(rows[batch]), labels[batch], classes=np.unique(labels))
    accuracy = learner.score(prepared(test_rows), test_labels)
    return accuracy, time.process_time() - began


def roots(rows):
    return rows.sqrt() if sparse.issparse(rows) else np.sqrt(rows)


def best(learners, prepared, *data):
    """Return the best accuracy of several, and the seconds of one."""
    runs = [one_pass(learner, prepared, *data) for learner in learners]
    return max(run[0] for run in runs), min(run[1] for run in runs)


def linear_models():
    return [
        SGDClassifier(loss="log_loss", alpha=alpha, random_state=0) for alpha in (1e-6, 1e-5, 1e-4)
    ]


def networks():
    return [
        MLPClassifier(256, batch_size=32, learning_rate_init=rate, random_state=0)
        for rate in (3e-4, 1e-3, 3e-3)
    ]


def ridge(rows, labels, test_rows, test_labels):
    began, found = time.process_time(), []
    for penalty in (0.01, 0.1, 1.0):
        model = RidgeClassifier(penalty, solver="sparse_cg" if sparse.issparse(rows) else "auto")
        found.append(model.fit(roots(rows), labels).score(roots(test_rows), test_labels))
    return max(found), (time.process_time() - began) / 3


def exact(rows, labels, test_rows, test_labels, beta):
    began = time.process_time()
    kernel = chi2_kernel(rows, gamma=beta / 2)
    between = chi2_kernel(test_rows, rows, gamma=beta / 2)
    spent = time.process_time() - began
    found = []
    for penalty in (1.0, 10.0, 100.0):
        model = SVC(C=penalty, kernel="precomputed").fit(kernel, labels)
        found.append(model.score(between, test_labels))
    return max(found), spent + (time.process_time() - began - spent) / 3


def compare(rows, labels, test_rows, test_labels):
    """Yield name, accuracy and seconds of every learner that can take such rows."""
    data = rows, labels, test_rows, test_labels
    wide = sparse.issparse(rows)
    for name, features, words in (
        ("streamchi2, defaults", 1024, {}),
        ("streamchi2, landmarks", 1024, {"basis": "landmarks"}),
        ("streamchi2, additive", 4096, {"basis": "additive"}),
    ):
        model = ExpChi2Classifier(features, random_state=0, **words)
        yield name, *one_pass(model, as_is, *data)
    yield "linear on roots, SGD", *best(linear_models(), roots, *data)
    yield "naive Bayes", *best([MultinomialNB(alpha=a) for a in (1e-3, 1e-2, 0.1)], as_is, *data)
    yield "linear ridge on roots", *ridge(*data)
    if wide:
        return
    series = AdditiveChi2Sampler(sample_steps=2).fit(rows[:BATCH])
    yield "additive chi2 series, SGD", *best(linear_models(), series.transform, *data)
    scale = np.sqrt(rows.shape[1])
    yield "neural network", *best(networks(), lambda rows: scale * roots(rows), *data)
    beta = 1 / chi2_distance(rows[:200]).mean()
    began = time.process_time()
    nystroem = Nystroem(kernel="chi2", gamma=beta / 2, n_components=1000, random_state=0)
    nystroem.fit(rows[:2000])
    planned = time.process_time() - began
    accuracy, seconds = best(linear_models(), nystroem.transform, *data)
    yield "Nyström chi2, SGD", accuracy, seconds + planned
    yield "exact kernel, SVC", *exact(*data, beta)


def as_is(rows):
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--rows", type=int, default=4000)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", BasisHint)
    warnings.simplefilter("ignore", ConvergenceWarning)
    for title in arguments.sets:
        name, descriptor = SETS[title]
        loaded = load(name, descriptor=descriptor)
        if loaded is None:
            continue
        rows, labels, boundary = loaded
        if sparse.issparse(rows):  # scikit-learn's linear models want short indices
            rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
        draws = np.random.default_rng(0)
        train = draws.permutation(boundary)[: arguments.rows]
        test = boundary + draws.permutation(len(labels) - boundary)[:2000]
        print(
            f"{title}: {len(train)} rows, {rows.shape[1]} columns, {len(test)} to test", flush=True
        )
        with threadpool_limits(1):
            for peer, accuracy, seconds in compare(
                rows[train], labels[train], rows[test], labels[test]
            ):
                print(f"  {peer:26} {accuracy:.3f} {seconds:7.1f} s", flush=True)


if __name__ == "__main__":
    main()
