"""Which half-life suits a stream that changes, and what do river's own learners make of it?

    python examples/benchmarks/drift.py [--quick] [--peers] [--streams abrupt none ...]

Progressive validation: each row is predicted, then learnt, and counts are divided by their sums.
Ours are the classifier for river with no forgetting and with four half-lives; ``--peers`` adds
river's adaptive random forest, streaming random patches, nearest neighbours in a window and an
adaptive Hoeffding tree. A learner whose processor time is up (``--seconds``) is judged by the rows
it has reached, beside the first of the learners on the same rows. Every accuracy has its standard
error over ``--seeds`` parts or orders of a stream, and the processor time a row stands beside it.

Streams. rotating and spam are in order of time. Of the others the rows are shuffled, and the labels
change their meaning: at every quarter (abrupt), back and forth every eighth (recurring), one row
after the other in the middle half (gradual); shifted changes the inputs instead: at every quarter
the columns move on by one; none, digits, segments and phishing do not change.

Measured: the first three streams with D = 512, up to 6043 rows and two seeds (standard errors up to
.009), the next four with D = 256, 2000 rows and three seeds (up to .018), the last three with
D = 256, at most 2000 rows and one seed.

    stream     never    64    256   1024
    rotating   .661   .735   .762   .745
    spam       .949   .924   .948   .958
    none       .853   .781   .834   .849
    abrupt     .237   .669   .511   .304
    recurring  .377   .548   .412   .365
    gradual    .188   .201   .229   .210
    shifted    .596   .680   .663   .614
    digits     .945   .930   .947   .946
    segments   .919   .878   .915   .920
    phishing   .910   .894   .909   .910

Decided from this. The default stays half_life=None: where nothing changes a half-life costs
accuracy, and where something does the best one is anything from 64 to 1024 rows.
"""

import argparse
import time

import numpy as np
from data_sets import load
from river import datasets, ensemble, forest, neighbors, tree
from scipy import sparse

from streamchi2.river import ExpChi2Classifier

HALF_LIVES = (64.0, 256.0, 1024.0, 4096.0)
STREAMS = (
    *("rotating", "spam", "abrupt", "none", "recurring"),
    *("gradual", "shifted", "digits", "segments", "phishing"),
)


def ours(n_components, seed):
    """Our learners by name."""

    def make(**params):
        return ExpChi2Classifier(n_components, seed=seed, **params)

    models = {"no forgetting": make()}
    for half_life in HALF_LIVES:
        models[f"half_life={half_life:.0f}"] = make(half_life=half_life)
    return models


def peers(seed):
    """River's learners that follow a change, as they come."""
    return {
        "ARFClassifier": forest.ARFClassifier(seed=seed),
        "SRPClassifier": ensemble.SRPClassifier(seed=seed),
        "KNNClassifier": neighbors.KNNClassifier(),
        "HoeffdingAdaptiveTree": tree.HoeffdingAdaptiveTreeClassifier(seed=seed),
    }


def named(rows, labels):
    """Return rows as dicts, with their labels."""
    if not sparse.issparse(rows):
        names = [f"bin {i}" for i in range(rows.shape[1])]
        dicts = (dict(zip(names, row, strict=True)) for row in rows.tolist())
        return list(zip(dicts, labels.tolist(), strict=True))
    rows = sparse.csr_array(rows)
    names, values = [f"word {i}" for i in rows.indices.tolist()], rows.data.tolist()
    ends = zip(rows.indptr[:-1], rows.indptr[1:], labels.tolist(), strict=True)
    return [(dict(zip(names[a:b], values[a:b], strict=True)), y) for a, b, y in ends]


def of_river(source, n_rows):
    """Return a stream that comes with river, columns with negative values left out."""
    pairs = list(source)[:n_rows]
    signed = {key for row, _ in pairs for key, value in row.items() if value < 0}
    return [({k: v for k, v in row.items() if k not in signed}, y) for row, y in pairs]


def in_time(name, n_rows, seed):
    """Return every so many-th row of a stream in order of time."""
    loaded = load(name)
    if loaded is None:
        return None
    rows, labels, _ = loaded
    every = max(1, len(labels) // n_rows)
    return named(rows[seed % every :: every], labels[seed % every :: every])


def shuffled(name, n_rows, seed, change, descriptor="X"):
    """Return rows in random order whose labels or columns have been changed by a function."""
    loaded = load(name, descriptor=descriptor)
    if loaded is None:
        return None
    rows, labels, n_train = loaded
    chosen = np.random.default_rng(1000 + seed).permutation(n_train)[:n_rows]
    return named(*change(rows[chosen], labels[chosen], seed))


def still(rows, labels, seed):
    return rows, labels


def renamed(labels, concept):
    return (labels + 3 * concept) % 10


def abrupt(rows, labels, seed):
    return rows, renamed(labels, 4 * np.arange(len(labels)) // len(labels))


def recurring(rows, labels, seed):
    return rows, renamed(labels, 8 * np.arange(len(labels)) // len(labels) % 2)


def gradual(rows, labels, seed):
    chance = np.clip(2 * np.arange(len(labels)) / len(labels) - 0.5, 0, 1)
    return rows, renamed(labels, np.random.default_rng(seed).random(len(labels)) < chance)


def shifted(rows, labels, seed):
    quarters = 4 * np.arange(len(labels)) // len(labels)
    return np.concatenate([np.roll(rows[quarters == q], q, axis=1) for q in range(4)]), labels


def stream(name, n_rows, seed):
    """Return rows with labels, in order, or None where the set is not at hand."""
    made = {
        "rotating": lambda: in_time("fashion_rotating_stream", n_rows, seed),
        "spam": lambda: in_time("spamassassin_stream", n_rows, seed),
        "abrupt": lambda: shuffled("fashion_hog", n_rows, seed, abrupt),
        "none": lambda: shuffled("fashion_hog", n_rows, seed, still),
        "recurring": lambda: shuffled("fashion_bow", n_rows, seed, recurring),
        "gradual": lambda: shuffled("cifar10_three", n_rows, seed, gradual, "colour"),
        "shifted": lambda: shuffled("fashion_bow", n_rows, seed, shifted),
        "digits": lambda: shuffled("digits", n_rows, seed, still),
        "segments": lambda: of_river(datasets.ImageSegments(), n_rows),
        "phishing": lambda: of_river(datasets.Phishing(), n_rows),
    }
    return made[name]()


def validate(model, rows, seconds):
    """Return which rows were predicted right, and processor time a row in milliseconds."""
    hits, start = [], time.process_time()
    for row, label in rows:
        hits.append(model.predict_one(row) == label)
        model.learn_one(row, label)
        if time.process_time() - start > seconds:
            break
    return hits, 1000.0 * (time.process_time() - start) / len(hits)


def compare(name, arguments):
    results = {}
    for seed in range(arguments.seeds):
        rows = stream(name, arguments.rows, seed)
        if rows is None:
            return
        learners = ours(arguments.components, seed)
        learners |= peers(seed) if arguments.peers else {}
        for title in arguments.learners or learners:
            model = learners[title]
            results.setdefault(title, []).append(validate(model, rows, arguments.seconds))
    title_of_first, first = next(iter(results.items()))
    print(f"\n{name}: {len(rows)} rows, {arguments.seeds} seeds", flush=True)
    for title, runs in results.items():
        reached = [len(hits) for hits, _ in runs]
        means = [np.mean(hits) for hits, _ in runs]
        error = " " * 10
        if len(means) > 1:
            error = f" +- {np.std(means, ddof=1) / np.sqrt(len(means)):.4f}"
        note = ""
        if min(reached) < len(rows):
            beside = [np.mean(hits[:n]) for (hits, _), n in zip(first, reached, strict=True)]
            note = f"   first {min(reached)} rows, {title_of_first} {np.mean(beside):.4f} there"
        cost = np.median([milliseconds for _, milliseconds in runs])
        print(
            f"  {title:22} {np.mean(means):.4f}{error}   {cost:6.2f} ms a row{note}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", nargs="*", default=STREAMS, choices=STREAMS)
    parser.add_argument("--components", type=int, default=512)
    parser.add_argument("--rows", type=int, default=6000, help="of each stream at most")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=120.0, help="of each learner at most")
    parser.add_argument("--learners", nargs="*", help="some of them by name")
    parser.add_argument("--peers", action="store_true", help="river's learners too")
    parser.add_argument("--quick", action="store_true", help="2000 rows, D = 256, one seed")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rows, arguments.components, arguments.seeds = 2000, 256, 1
    for name in arguments.streams:
        compare(name, arguments)


if __name__ == "__main__":
    main()
