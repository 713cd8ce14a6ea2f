"""How accurate is one pass, against what people use for it today?

    python examples/benchmarks/peers.py [--sets digits ...] [--learners NAME ...] [--seeds 2]
    python examples/benchmarks/peers.py --draw docs/peers.png

Two ways to meet the same rows. *In batches*: every learner sees 4000 rows once, in batches of 500,
and is asked about 2000 others (or as many as there are). Inputs are those that one would choose
for histograms: square roots of shares for linear models, naive Bayes on shares, scikit-learn's
additive chi2 series, its Nyström features of the exp-chi2 kernel, a neural network with 256 hidden
units (with five passes too), and LightGBM, which is no stream, where it is installed. Where a
peer has a penalty or a rate, the best of three on the test rows counts, to its advantage; ours are
chosen on the training rows. The exact kernel is no stream: all pairs of rows are held in memory.
*Row by row*: river's learners as they come (and a softmax regression and naive
Bayes at better settings), each row predicted, then learnt: 2000 rows, or as many as a learner
reaches in 15 seconds. What it has reached is judged, beside ours on the same rows.

Seconds are processor time of one core. Each measurement is a line of a file (``--results``): what
is there is not measured again, so that a run can be stopped. Further seeds, other orders of the
rows, are measured for our defaults, the linear ridge and the network alone. ``--learners`` takes
names or parts of them; ``--forget`` measures those again.
"""

import argparse
import itertools
import json
import time
import warnings
from pathlib import Path

import numpy as np
from data_sets import load
from drift import named
from peers_report import draw, report
from river import compose, ensemble, forest, linear_model, naive_bayes, neighbors, optim, tree
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import AdditiveChi2Sampler, Nystroem
from sklearn.linear_model import PassiveAggressiveClassifier, RidgeClassifier, SGDClassifier
from sklearn.metrics.pairwise import chi2_kernel
from sklearn.naive_bayes import MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from streamchi2 import ExpChi2Classifier, chi2_distance
from streamchi2.errors import BasisHint
from streamchi2.river import ExpChi2Classifier as RowByRowClassifier

try:
    import lightgbm
except ImportError:  # measured where it is installed
    lightgbm = None

BATCH = 500
SETS = {
    "digits": ("digits", "X"),
    "fashion, words": ("fashion_bow", "X"),
    "fashion, HOG": ("fashion_hog", "X"),
    "cifar10, HOG": ("cifar10_three", "hog"),
    "cifar10, colour": ("cifar10_three", "colour"),
    "cifar10, words": ("cifar10_three", "bow"),
    "spoken digits": ("fsdd_bow", "X"),
    "spambase": ("spambase", "X"),
    "20 newsgroups": ("news20_tf", "X"),
}
STREAMS = {
    "digits": ("digits", "X"),
    "fashion, HOG": ("fashion_hog", "X"),
    "fashion, rotating": ("fashion_rotating_stream", "X"),
    "spam": ("spamassassin_stream", "X"),
    "20 newsgroups": ("news20_tf", "X"),
}
IN_TIME = ("fashion, rotating", "spam")
EXACT_ON = ("digits", "fashion, words", "fashion, HOG", "cifar10, HOG")


def roots(rows):
    return rows.sqrt() if sparse.issparse(rows) else np.sqrt(rows)


def as_is(rows):
    return rows


def one_pass(learner, batches, labels, test_rows, test_labels, n_passes=1):
    """Return accuracy and seconds of a learner that sees batches once, or some times."""
    began = time.process_time()
    classes = np.unique(labels)
    for _ in range(n_passes):
        for start, batch in zip(range(0, len(labels), BATCH), batches, strict=True):
            learner.partial_fit(batch, labels[start : start + BATCH], classes=classes)
    accuracy = learner.score(test_rows, test_labels)
    return accuracy, time.process_time() - began


def best_of(learners, prepared, rows, labels, test_rows, test_labels, n_passes=1):
    """Return the best accuracy of several learners on prepared rows, and the seconds of one."""
    began = time.process_time()
    batches = [prepared(rows[start : start + BATCH]) for start in range(0, len(labels), BATCH)]
    test_rows = prepared(test_rows)
    spent = time.process_time() - began
    asked = (batches, labels, test_rows, test_labels, n_passes)
    runs = [one_pass(learner, *asked) for learner in learners]
    return max(run[0] for run in runs), spent + min(run[1] for run in runs)


def ours(n_components, **params):
    def run(rows, labels, test_rows, test_labels, seed):
        model = ExpChi2Classifier(n_components, random_state=seed, **params)
        return best_of([model], as_is, rows, labels, test_rows, test_labels)

    return run


def ours_by_rows(rows, labels, test_rows, test_labels, seed):
    stream, asked = named(rows, labels), named(test_rows, test_labels)
    model, began = RowByRowClassifier(seed=seed), time.process_time()
    for row, label in stream:
        model.learn_one(row, label)
    right = [model.predict_one(row) == label for row, label in asked]
    return float(np.mean(right)), time.process_time() - began


def linear(prepare):
    def run(rows, labels, test_rows, test_labels, seed):
        began = time.process_time()
        prepared = prepare(rows, seed)
        planned = time.process_time() - began
        learners = [
            SGDClassifier(loss="log_loss", alpha=alpha, random_state=seed)
            for alpha in (1e-6, 1e-5, 1e-4)
        ]
        accuracy, seconds = best_of(learners, prepared, rows, labels, test_rows, test_labels)
        return accuracy, planned + seconds

    return run


def additive_series(rows, seed):
    return AdditiveChi2Sampler(sample_steps=2).fit(rows[:BATCH]).transform


def nystroem(rows, seed):
    gamma = beta_of(rows) / 2
    landmarks = Nystroem(kernel="chi2", gamma=gamma, n_components=1000, random_state=seed)
    return landmarks.fit(rows[:2000]).transform


def beta_of(rows):
    return 1 / chi2_distance(rows[:200]).mean()


def bayes(*data):
    return best_of([MultinomialNB(alpha=a) for a in (1e-3, 1e-2, 0.1)], as_is, *data[:-1])


def passive_aggressive(rows, labels, test_rows, test_labels, seed):
    learners = [PassiveAggressiveClassifier(C=step, random_state=seed) for step in (1e-2, 0.1, 1.0)]
    return best_of(learners, roots, rows, labels, test_rows, test_labels)


def network(n_passes):
    def run(rows, labels, test_rows, test_labels, seed):
        scale = np.sqrt(rows.shape[1])
        learners = [
            MLPClassifier(256, batch_size=32, learning_rate_init=rate, random_state=seed)
            for rate in (3e-4, 1e-3, 3e-3)
        ]
        prepared = lambda rows: scale * roots(rows)  # noqa: E731
        return best_of(learners, prepared, rows, labels, test_rows, test_labels, n_passes)

    return run


def boosting(rows, labels, test_rows, test_labels, seed):
    began = time.process_time()
    model = lightgbm.LGBMClassifier(n_jobs=1, random_state=seed, verbose=-1).fit(rows, labels)
    accuracy = float(np.mean(model.predict(test_rows) == test_labels))
    return accuracy, time.process_time() - began


def ridge(rows, labels, test_rows, test_labels, seed):
    began, scores = time.process_time(), []
    rows, test_rows = roots(rows), roots(test_rows)
    for penalty in (0.01, 0.1, 1.0):
        model = RidgeClassifier(penalty, solver="sparse_cg" if sparse.issparse(rows) else "auto")
        scores.append(model.fit(rows, labels).score(test_rows, test_labels))
    return max(scores), (time.process_time() - began) / 3


def exact(rows, labels, test_rows, test_labels, seed):
    gamma, began = beta_of(rows) / 2, time.process_time()
    kernel, between = chi2_kernel(rows, gamma=gamma), chi2_kernel(test_rows, rows, gamma=gamma)
    spent = time.process_time() - began
    scores = []
    for penalty in (1.0, 10.0, 100.0):
        model = SVC(C=penalty, kernel="precomputed").fit(kernel, labels)
        scores.append(model.score(between, test_labels))
    return max(scores), spent + (time.process_time() - began - spent) / 3


# Learner, whether it takes wide sparse rows, and whether further seeds are measured.
IN_BATCHES = {
    "streamchi2": (ours(1024), True, True),
    "streamchi2, river": (ours_by_rows, True, True),
    "streamchi2, landmarks": (ours(1024, basis="landmarks"), True, False),
    "streamchi2, additive, 4096": (ours(4096, basis="additive"), True, False),
    "linear on roots, SGD": (linear(lambda rows, seed: roots), True, False),
    "passive-aggressive on roots": (passive_aggressive, True, False),
    "naive Bayes": (bayes, True, False),
    "linear ridge on roots": (ridge, True, True),
    "additive chi2 series, SGD": (linear(additive_series), False, False),
    "neural network": (network(1), False, True),
    "neural network, 5 passes": (network(5), False, False),
    "Nyström chi2, SGD": (linear(nystroem), False, False),
    "exact kernel, SVC": (exact, False, False),
}
if lightgbm is not None:
    IN_BATCHES["LightGBM"] = (boosting, False, False)


def of_roots():
    return compose.FuncTransformer(_roots_of_dict)


def _roots_of_dict(x):
    return {key: value**0.5 for key, value in x.items()}


BY_ROWS = {
    "streamchi2": lambda seed: RowByRowClassifier(seed=seed),
    "ARFClassifier": lambda seed: forest.ARFClassifier(seed=seed),
    "SRPClassifier": lambda seed: ensemble.SRPClassifier(seed=seed),
    "HoeffdingAdaptiveTree": lambda seed: tree.HoeffdingAdaptiveTreeClassifier(seed=seed),
    "KNNClassifier": lambda seed: neighbors.KNNClassifier(),
    "SoftmaxRegression": lambda seed: linear_model.SoftmaxRegression(),
    "Softmax on roots, rate 1": lambda seed: (
        of_roots() | linear_model.SoftmaxRegression(optim.SGD(1.0))
    ),
    "MultinomialNB, alpha .01": lambda seed: naive_bayes.MultinomialNB(alpha=0.01),
}


def split(title, n_rows, seed):
    """Return training and test rows with their labels, or None where the set is not at hand."""
    name, descriptor = SETS[title]
    loaded = load(name, descriptor=descriptor)
    if loaded is None:
        return None
    rows, labels, boundary = loaded
    if sparse.issparse(rows):  # scikit-learn's linear models want short indices
        rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    draws = np.random.default_rng(seed)
    train = draws.permutation(boundary)[:n_rows]
    test = boundary + draws.permutation(len(labels) - boundary)[:2000]
    return rows[train], labels[train], rows[test], labels[test]


def stream_of(title, n_rows):
    """Return rows as dicts with labels; those of a stream in time, evenly spaced, in order."""
    name, descriptor = STREAMS[title]
    loaded = load(name, descriptor=descriptor)
    if loaded is None:
        return None
    rows, labels, boundary = loaded
    if title in IN_TIME:
        chosen = np.linspace(0, len(labels) - 1, min(n_rows, len(labels))).astype(int)
    else:
        chosen = np.random.default_rng(0).permutation(boundary)[:n_rows]
    return named(rows[chosen], labels[chosen])


def progressive(model, stream, seconds):
    """Return which rows were predicted right, as text, and the seconds that took."""
    hits, began = [], time.process_time()
    for row, label in stream:
        hits.append(model.predict_one(row) == label)
        model.learn_one(row, label)
        if time.process_time() - began > seconds:
            break
    return "".join("01"[hit] for hit in hits), time.process_time() - began


def measurements(arguments):
    """Yield way, set, learner, seed and a function that measures, one after the other."""
    for title, seed in itertools.product(arguments.sets or SETS, range(arguments.seeds)):
        if title not in SETS:
            continue
        data = None
        for learner, (run, takes_sparse, more) in IN_BATCHES.items():
            wide = SETS[title][0] == "news20_tf"
            if wide > takes_sparse or (seed and not more):
                continue
            if learner.startswith("exact") and title not in EXACT_ON:
                continue
            if learner.endswith("4096") and not wide:
                continue  # what one would choose it for

            def measure(run=run, title=title, seed=seed):
                nonlocal data
                data = data or split(title, arguments.rows, seed)
                if data is None:
                    return None
                accuracy, spent = run(*data, seed)
                return {"accuracy": accuracy, "seconds": spent, "rows": len(data[1])}

            yield "batches", title, learner, seed, measure
    for title in arguments.sets or STREAMS:
        if title not in STREAMS:
            continue
        stream = None
        for learner, make in BY_ROWS.items():

            def measure(make=make, title=title):
                nonlocal stream
                stream = stream or stream_of(title, arguments.rows // 2)
                if stream is None:
                    return None
                hits, spent = progressive(make(0), stream, arguments.seconds)
                return {"hits": hits, "seconds": spent, "rows": len(stream)}

            yield "rows", title, learner, 0, measure


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", help="names of sets and streams; all by default")
    parser.add_argument("--learners", nargs="*", default=[""], help="names or parts of names")
    parser.add_argument("--rows", type=int, default=4000, help="in batches; half of it row by row")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=15.0, help="row by row, a learner")
    parser.add_argument("--results", type=Path, default=Path("peers.jsonl"))
    parser.add_argument("--forget", action="store_true", help="measure these learners again")
    parser.add_argument("--draw", type=Path, help="where to draw the picture of all results")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", BasisHint)
    warnings.simplefilter("ignore", ConvergenceWarning)
    lines = arguments.results.read_text().splitlines() if arguments.results.exists() else []
    results = {tuple(key): result for key, result in map(json.loads, lines)}
    chosen = lambda name: any(part in name for part in arguments.learners)  # noqa: E731
    if arguments.forget:
        results = {key: result for key, result in results.items() if not chosen(key[2])}
        arguments.results.write_text("".join(f"{json.dumps(p)}\n" for p in results.items()))
    with threadpool_limits(1):
        for *key, measure in measurements(arguments):
            if tuple(key) in results or not chosen(key[2]):
                continue
            if (result := measure()) is None:
                continue
            results[tuple(key)] = result
            with arguments.results.open("a") as file:
                file.write(f"{json.dumps([key, result])}\n")
            share = result.get("accuracy", np.mean([hit == "1" for hit in result.get("hits", "0")]))
            way, title, learner, seed = key
            print(
                f"{way:8} {title:18} {learner:26} {seed} {share:.3f} {result['seconds']:7.2f} s",
                flush=True,
            )
    print(report(results))
    if arguments.draw is not None:
        draw(results, arguments.draw)


if __name__ == "__main__":
    main()
