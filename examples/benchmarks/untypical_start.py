"""Does a map that is planned on the first rows survive a stream that begins untypically?

    python examples/benchmarks/untypical_start.py              # about an hour on one core
    python examples/benchmarks/untypical_start.py --quick      # digits alone, to see that it runs

Each set is learnt in one pass, its training rows shuffled or sorted by class (classes in random
order): the first 1024 rows of a sorted stream hold one or two classes. The two streams keep their
order in time and every fourth row is for testing, so that what is judged is whether later rows
are described as well as early ones. Set ``files`` is made on the spot: counts of bytes in pieces
of 1024 bytes of the files of this Python, by kind of file. Accuracy is that of ridge with a penalty
by cross-validation, mean and standard error over seeds; seeds choose rows, order and frequencies.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from data_sets import load

from streamchi2 import ExpChi2Classifier

SETS = {
    "digits": ("digits", "X"),
    "files": None,
    "cifar10 hog": ("cifar10_three", "hog"),
    "cifar10 bow": ("cifar10_three", "bow"),
    "cifar10 colour": ("cifar10_three", "colour"),
    "fashion_hog": ("fashion_hog", "X"),
    "fashion_bow": ("fashion_bow", "X"),
    "fsdd_bow": ("fsdd_bow", "X"),
    "spambase": ("spambase", "X"),
    "news20": ("news20_tf", "X"),
    "fashion_rotating": ("fashion_rotating_stream", "X"),
    "spamassassin": ("spamassassin_stream", "X"),
}
STREAMS = ("fashion_rotating", "spamassassin")  # in order of time
BASES = ("orthogonal", "subspace", "landmarks")
KINDS = (".a", ".exe", ".gz", ".h", ".js", ".json", ".npz", ".png", ".py", ".pyc", ".so", ".txt")
PIECE = 1024
FEWEST_PIECES, MOST_PIECES = 200, 1500  # of a kind
BLOCK = 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--bases", nargs="+", default=BASES)
    parser.add_argument("--components", type=int, default=1024)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=12000, help="most rows to learn from")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.sets, arguments.components, arguments.seeds = ["digits"], 128, 2
    print(
        f"{'D = ' + str(arguments.components):28s}" + "".join(f"{b:>18s}" for b in arguments.bases)
    )
    for name in arguments.sets:
        if (loaded := pieces_of_files() if name == "files" else load_set(name)) is None:
            continue
        for order in ("time",) if name in STREAMS else ("shuffled", "sorted"):
            line = f"{name + ', ' + order:28s}"
            for basis in arguments.bases:
                scores = [
                    accuracy(loaded, order, basis, arguments.components, arguments.rows, seed)
                    for seed in range(arguments.seeds)
                ]
                error = np.std(scores) / max(1, len(scores) - 1) ** 0.5
                line += f"{np.mean(scores):11.4f} +-{error:.4f}"
            print(line, flush=True)


def load_set(name):
    file, descriptor = SETS[name]
    return load(file, descriptor=descriptor)


def accuracy(loaded, order, basis, size, most_rows, seed):
    """Learn from a stream in this order, block by block; return the share of test rows right."""
    rows, labels, n_train = loaded
    random = np.random.default_rng(seed)
    if order == "time":
        places = np.arange(rows.shape[0])
        train, test = places[places % 4 != seed % 4], places[places % 4 == seed % 4]
    else:
        train, test = random.permutation(n_train)[:most_rows], np.arange(n_train, rows.shape[0])
    if order == "sorted":
        rank = random.permutation(int(labels.max()) + 1)
        train = train[np.argsort(rank[labels[train]], kind="stable")]
    model = ExpChi2Classifier(size, basis=basis, random_state=seed)
    for start in range(0, train.size, BLOCK):
        block = train[start : start + BLOCK]
        model.partial_fit(rows[block], labels[block])
    return model.score(rows[test], labels[test])


def pieces_of_files():
    """Return shares of bytes in pieces of files, their kinds, and the number of training rows."""
    random = np.random.default_rng(0)
    files = {kind: [] for kind in KINDS}
    for folder in {Path(sys.prefix), Path(np.__file__).parents[1], Path(sys.base_prefix, "lib")}:
        for path in sorted(folder.rglob("*.*")):
            if path.suffix in files and path.is_file() and path.stat().st_size >= PIECE:
                files[path.suffix].append(path)
    rows, labels = [], []
    for paths in files.values():
        places = [
            (path, PIECE * piece)
            for path in paths
            for piece in range(min(40, path.stat().st_size // PIECE))
        ]
        if len(places) < FEWEST_PIECES:
            continue
        label = len(set(labels))
        for chosen in random.permutation(len(places))[:MOST_PIECES]:
            path, offset = places[chosen]
            with path.open("rb") as file:
                file.seek(offset)
                content = np.frombuffer(file.read(PIECE), dtype=np.uint8)
            rows.append(np.bincount(content, minlength=256) / content.size)
            labels.append(label)
    order = random.permutation(len(labels))
    return np.array(rows)[order], np.array(labels)[order], 3 * len(labels) // 4


if __name__ == "__main__":
    main()
