"""How fresh is a model, row by row, and does it forget where, and only where, the world changes?

    python examples/benchmarks/drift.py [--streams digits ...] [--peers] [--capymoa] [--quick]

Each row is predicted, then learnt. Ours are the classifier and the regressor for river: no
correction by the latest rows and no forgetting, half-lives, corrections alone, forgetting alone,
and both, which is the default. ``--peers`` adds river's learners, behind a StandardScaler where
they are linear, ``--capymoa`` MOA's (``pip install capymoa``; they need Java). A learner whose
processor time is up (``--seconds``) is judged by the rows it has reached.

Streams. In their own order: digits, clothes that turn, mail, the price of electricity (six columns,
three soft bins each). Made: labels that shift, a hyperplane and centres that move, SEA and Agrawal
with a switch. Sorted by class, in runs of 30 and of 100 rows of a class, and in random order:
nothing changes there, and beside the accuracy row by row stands that of the model of all rows on
rows from elsewhere. Of numbers: river's own sets, Friedman's functions with drift, and heavy tails
in random order. Numbers are judged by their mean absolute error.
"""

import argparse
import itertools
import time

import numpy as np
from data_sets import FOLDER, load
from river import datasets, ensemble, forest, linear_model, neighbors, preprocessing, rules
from river.datasets import synth
from scipy import sparse

from streamchi2.river import ExpChi2Classifier, ExpChi2Regressor

NEITHER = {"latest_rows": 0, "half_life": None}
OURS = {
    "neither": NEITHER,
    "half_life=250": NEITHER | {"half_life": 250.0},
    "half_life=1000": NEITHER | {"half_life": 1000.0},
    "half_life=4000": NEITHER | {"half_life": 4000.0},
    "corrections": {"half_life": None},
    "forgetting": {"latest_rows": 0},
    "both": {},
}
MOA = (
    *("SAMkNN", "KNN", "AdaptiveRandomForestClassifier", "StreamingRandomPatches"),
    "StreamingGradientBoostedTrees",
)
N_ELSEWHERE = 2000


def hats(columns, n_first=64):
    """Return three hat functions of each column, with knots at its first values; rows add to one.

    Beyond the outer knots the outermost go on in a straight line.
    """
    low, high = columns[:n_first].min(axis=0), columns[:n_first].max(axis=0)
    varies = high > low
    share = (columns - low) / np.where(varies, high - low, 1.0)
    middle = np.clip(np.median(share[:n_first], axis=0), 0.05, 0.95)
    left = np.maximum(middle - share, 0.0) / middle
    right = np.maximum(share - middle, 0.0) / (1.0 - middle)
    return np.hstack([left, np.maximum(1.0 - left - right, 0.0), right]) / columns.shape[1]


def in_order(name, n_rows, step=1):
    loaded = load(name)
    return None if loaded is None else (loaded[0][::step][:n_rows], loaded[1][::step][:n_rows])


def digits(n_rows):
    from sklearn.datasets import load_digits

    rows, labels = load_digits(return_X_y=True)
    return rows[:n_rows] / rows[:n_rows].sum(axis=1, keepdims=True), labels[:n_rows]


def electricity(n_rows):
    path = FOLDER / "electricity_stream.npz"
    if not path.exists():
        return None
    stored = np.load(path)
    return hats(stored["X"].astype(float))[:n_rows], stored["y"][:n_rows]


def shifted(name, n_rows, at):
    loaded = in_order(name, n_rows)
    if loaded is None:
        return None
    rows, labels = loaded
    return rows, np.where(np.arange(len(labels)) < at, labels, (labels + 1) % 10)


def of_river(stream, n_rows):
    """Return rows of a generator of river's: what columns have, and what they lack."""
    pairs = list(itertools.islice(stream, n_rows))
    columns = np.array([list(map(float, row.values())) for row, _ in pairs])
    low, high = columns[:64].min(axis=0), columns[:64].max(axis=0)
    share = np.clip((columns - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
    return np.hstack([share, 1.0 - share]) / share.shape[1], np.array([y for _, y in pairs])


def switch(before, after, at=3000):
    return synth.ConceptDriftStream(before, after, position=at, width=50, seed=1)


def ordered(name, n_rows, length=None):
    """Return rows sorted by class, or runs of one class in random order."""
    loaded = in_order(name, n_rows)
    if loaded is None:
        return None
    rows, labels = loaded
    order = np.argsort(labels, kind="stable")
    if length is not None:
        runs = np.array_split(order, len(order) // length)
        order = np.concatenate([runs[i] for i in np.random.default_rng(0).permutation(len(runs))])
    return rows[order], labels[order]


def table(source, n_rows):
    """Return a data set of river's with numbers as targets: three hats of every number."""
    pairs = list(itertools.islice(source, n_rows))
    keys = [key for key, value in pairs[0][0].items() if isinstance(value, int | float)]
    columns = np.array([[float(row[key]) for key in keys] for row, _ in pairs])
    return hats(columns), np.array([float(y) for _, y in pairs])


def approval(n_rows):
    """Return the shares that polls give, without the date."""
    pairs = list(itertools.islice(datasets.TrumpApproval(), n_rows))
    keys = [key for key in pairs[0][0] if key != "ordinal_date"]
    columns = np.array([[float(row[key]) for key in keys] for row, _ in pairs])
    return columns / 100.0, np.array([y for _, y in pairs])


def months(n_rows):
    """Return the year that goes on, and the month, of a series of passengers."""
    pairs = list(itertools.islice(datasets.AirlinePassengers(), n_rows))
    year = np.array([[row["month"].year + row["month"].month / 12.0] for row, _ in pairs])
    month = np.eye(12)[[row["month"].month - 1 for row, _ in pairs]]
    return np.hstack([hats(year), month]) / 2.0, np.array([float(y) for _, y in pairs])


def heavy(n_rows):
    random = np.random.default_rng(0)
    rows = random.dirichlet(np.ones(8), n_rows)
    return rows, 5.0 * rows[:, 0] + random.standard_t(2, size=n_rows)


STREAMS = {
    "digits": (digits, 1797),
    "turning": (lambda n: in_order("fashion_rotating_stream", n, 3), 8000),
    "mail": (lambda n: in_order("spamassassin_stream", n), 6043),
    "electricity": (electricity, 20000),
    "shift at 3000": (lambda n: shifted("fashion_hog", n, 3000), 6000),
    "shift at 10000": (lambda n: shifted("fashion_bow", n, 10000), 12000),
    "hyperplane": (
        lambda n: of_river(
            synth.Hyperplane(seed=1, n_features=10, n_drift_features=5, mag_change=0.01), n
        ),
        6000,
    ),
    "centres": (
        lambda n: of_river(
            synth.RandomRBFDrift(
                *(1, 1), n_classes=4, n_features=10, n_centroids=20, change_speed=0.002,
                n_drift_centroids=20,
            ),
            n,
        ),
        6000,
    ),
    "SEA": (
        lambda n: of_river(switch(synth.SEA(seed=1, variant=0), synth.SEA(seed=1, variant=3)), n),
        6000,
    ),
    "Agrawal": (
        lambda n: of_river(
            switch(
                synth.Agrawal(seed=1, classification_function=0),
                synth.Agrawal(seed=1, classification_function=3),
            ),
            n,
        ),
        6000,
    ),
    "words": (lambda n: in_order("fashion_bow", n), 6000),
    "hog": (lambda n: in_order("fashion_hog", n), 6000),
    "spambase": (lambda n: in_order("spambase", n), 3600),
    "words sorted": (lambda n: ordered("fashion_bow", n), 6000),
    "hog sorted": (lambda n: ordered("fashion_hog", n), 6000),
    "words, runs of 30": (lambda n: ordered("fashion_bow", n, 30), 6000),
    "hog, runs of 100": (lambda n: ordered("fashion_hog", n, 100), 6000),
    "ChickWeights": (lambda n: table(datasets.ChickWeights(), n), 578),
    "TrumpApproval": (approval, 1001),
    "AirlinePassengers": (months, 144),
    "Friedman with drift": (
        lambda n: table(synth.FriedmanDrift(seed=1, position=(1500, 3000, 4500)), n),
        6000,
    ),
    "heavy tails": (heavy, 6000),
}  # fmt: skip
ELSEWHERE = {
    "words sorted": "fashion_bow", "hog sorted": "fashion_hog", "words, runs of 30": "fashion_bow",
    "hog, runs of 100": "fashion_hog", "words": "fashion_bow", "hog": "fashion_hog",
}  # fmt: skip


def named(rows, labels):
    """Return rows as dicts, with their labels."""
    names = [f"bin {i}" for i in range(rows.shape[1])]
    if sparse.issparse(rows):
        rows = sparse.csr_array(rows)
        keys, values = [names[i] for i in rows.indices.tolist()], rows.data.tolist()
        ends = itertools.pairwise(rows.indptr.tolist())
        dicts = (dict(zip(keys[a:b], values[a:b], strict=True)) for a, b in ends)
    else:
        dicts = (dict(zip(names, row, strict=True)) for row in rows.tolist())
    return list(zip(dicts, labels.tolist(), strict=True))


def peers(numbers):
    """River's learners, as they come."""
    if numbers:
        scaled = preprocessing.StandardScaler
        return {
            "LinearRegression": scaled() | linear_model.LinearRegression(),
            "BayesianLinearRegression": scaled() | linear_model.BayesianLinearRegression(),
            "KNNRegressor": scaled() | neighbors.KNNRegressor(),
            "ARFRegressor": forest.ARFRegressor(seed=0),
            "AMRules": scaled() | rules.AMRules(),
        }
    return {
        "KNNClassifier": neighbors.KNNClassifier(),
        "ARFClassifier": forest.ARFClassifier(seed=0),
        "SRPClassifier": ensemble.SRPClassifier(seed=0),
        "SoftmaxRegression": preprocessing.StandardScaler() | linear_model.SoftmaxRegression(),
    }


def validate(model, rows, seconds):
    """Return predictions, and processor time a row in microseconds."""
    said, start = [], time.process_time()
    for row, target in rows:
        said.append(model.predict_one(row))
        model.learn_one(row, target)
        if time.process_time() - start > seconds:
            break
    return said, 1e6 * (time.process_time() - start) / len(said)


def of_capymoa(rows, targets, seconds):
    """Yield names, predictions and microseconds a row of MOA's learners."""
    from capymoa import classifier
    from capymoa.stream import NumpyStream

    rows = rows.toarray() if sparse.issparse(rows) else rows
    codes = np.searchsorted(np.unique(targets), targets)
    for name in MOA:
        stream = NumpyStream(rows, codes, target_type="categorical")
        model, said, start = getattr(classifier, name)(stream.get_schema()), [], time.process_time()
        while stream.has_more_instances() and time.process_time() - start < seconds:
            instance = stream.next_instance()
            index = model.predict(instance)
            # Predictions are indices of the schema's labels, in the order in which it has them.
            said.append(-1 if index is None else int(index))
            model.train(instance)
        labels = np.unique(targets)
        said = [None if index < 0 else labels[index] for index in said]
        yield f"MOA's {name}", said, 1e6 * (time.process_time() - start) / len(said)


def report(name, targets, said, cost, note=""):
    n_rows, numbers = len(said), targets.dtype.kind == "f"
    answers = targets[:n_rows]
    if numbers:
        score = np.mean(np.abs(answers - [guess or 0.0 for guess in said]))
    else:
        score = np.mean([one == guess for one, guess in zip(answers, said, strict=True)])
    reached = "" if n_rows == len(targets) else f"   first {n_rows} rows"
    print(f"  {name:28} {score:.4f} {cost:8.0f} us a row{reached}{note}", flush=True)


def elsewhere(model, name):
    """Return the accuracy of the model of all rows on rows that are not of the stream."""
    rows, labels, _ = load(ELSEWHERE[name])
    alone = model.clone({"latest_rows": 0, "half_life": None})
    alone._stream, alone._seed = model._stream.copy(), model._seed
    alone._stream.latest = None
    chosen = slice(-N_ELSEWHERE, None)
    return np.mean([alone.predict_one(row) == y for row, y in named(rows[chosen], labels[chosen])])


def compare(name, arguments):
    make, n_rows = STREAMS[name]
    loaded = make(min(n_rows, arguments.rows))
    if loaded is None:
        return
    matrix, targets = loaded
    rows, numbers = named(matrix, targets), targets.dtype.kind == "f"
    kind = ExpChi2Regressor if numbers else ExpChi2Classifier
    print(f"\n{name}: {len(rows)} rows", flush=True)
    for title in arguments.learners:
        model = kind(arguments.components, seed=0, **OURS[title])
        said, cost = validate(model, rows, arguments.seconds)
        note = f"   elsewhere {elsewhere(model, name):.4f}" if name in ELSEWHERE else ""
        history = model.forgotten_
        if history:
            anew = sum(not past.kept for past in history)
            note += (
                f"   halved {len(history) - anew}, begun anew {anew}, first {history[0].position}"
            )
        report(title, targets, said, cost, note)
    for title, model in peers(numbers).items() if arguments.peers else ():
        report(title, targets, *validate(model, rows, arguments.seconds))
    if arguments.capymoa and not numbers:
        for title, said, cost in of_capymoa(matrix, targets, arguments.seconds):
            report(title, targets, said, cost)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", nargs="*", default=list(STREAMS), choices=list(STREAMS))
    parser.add_argument("--learners", nargs="*", default=list(OURS), choices=list(OURS))
    parser.add_argument("--components", type=int, default=1024)
    parser.add_argument("--rows", type=int, default=50000, help="of each stream at most")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each learner at most")
    parser.add_argument("--peers", action="store_true", help="river's learners too")
    parser.add_argument("--capymoa", action="store_true", help="MOA's learners too")
    parser.add_argument("--quick", action="store_true", help="1200 rows, D = 256")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rows, arguments.components = 1200, 256
    for name in arguments.streams:
        compare(name, arguments)


if __name__ == "__main__":
    main()
