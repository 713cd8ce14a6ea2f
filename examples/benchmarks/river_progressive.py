"""Which river model predicts a stream of histograms best, and how many rows a second?

    python examples/benchmarks/river_progressive.py [--sets digits phishing ...] [--memory]

Progressive validation: each row is predicted, then learnt. Histograms are divided by their sums;
image_segments and phishing come with river and are no histograms (columns with negative values are
left out). The two streams are in order of time. Larger sets are found through STREAMCHI2_DATA.
Rows a second of processor time count predict_one and learn_one together; a busy machine slows all
models, so ``x Softmax`` and ``x RBF`` divide by the speed of SoftmaxRegression alone and of
RBFSampler(100) | OneVsRest(LogisticRegression) on the same set in the same run. A model whose time
is up (``--seconds``) is judged by the rows it has reached, and the first of ours by the same rows
beside it; only models that reached the end count as best.
"""

import argparse
import time
import tracemalloc

from data_sets import load
from river import (
    datasets,
    feature_extraction,
    linear_model,
    multiclass,
    optim,
    preprocessing,
)
from scipy import sparse

from streamchi2.river import ExpChi2Classifier, ExpChi2Sampler

SETS = ["digits", "image_segments", "phishing", "fashion_rotating_stream", "spamassassin_stream"]


def logistic(rate=0.01):
    return linear_model.LogisticRegression(optim.SGD(rate))


def one_vs_rest(rate=0.01):
    return multiclass.OneVsRestClassifier(logistic(rate))


def scaler():
    return preprocessing.StandardScaler()


def rbf():
    return feature_extraction.RBFSampler(n_components=100, seed=0)


def models(half_life):
    """Models to compare; those of streams that change are given a half-life too."""
    models = {
        "ExpChi2Classifier(1024)": ExpChi2Classifier(1024, seed=0),
        "ExpChi2Sampler(256) | OneVsRest": ExpChi2Sampler(256, seed=0) | one_vs_rest(1.0),
        "ExpChi2Sampler(256) | Softmax": ExpChi2Sampler(256, seed=0)
        | linear_model.SoftmaxRegression(optim.SGD(1.0)),
        "scaler | OneVsRest": scaler() | one_vs_rest(),
        "scaler | OneVsRest, rate .1": scaler() | one_vs_rest(0.1),
        "Softmax": linear_model.SoftmaxRegression(),
        "scaler | Softmax": scaler() | linear_model.SoftmaxRegression(),
        "scaler | Softmax, rate .1": scaler() | linear_model.SoftmaxRegression(optim.SGD(0.1)),
        "RBFSampler(100) | OneVsRest": rbf() | one_vs_rest(),
        "scaler | RBFSampler(100) | OneVsRest": scaler() | rbf() | one_vs_rest(0.1),
    }
    if half_life is not None:
        name = f"ExpChi2Classifier(1024, half_life={half_life:.0f})"
        models = {name: ExpChi2Classifier(1024, seed=0, half_life=half_life), **models}
    return models


def events(name, limit):
    """Return dict rows with labels, in order, or None where the set is not at hand."""
    if name == "phishing":
        return list(datasets.Phishing())
    if name == "image_segments":
        pairs = list(datasets.ImageSegments())
        signed = {key for row, _ in pairs for key, value in row.items() if value < 0}
        return [({k: v for k, v in row.items() if k not in signed}, y) for row, y in pairs]
    loaded = load(name)
    if loaded is None:
        return None
    rows, labels = loaded[0][:limit], loaded[1][:limit].tolist()
    if not sparse.issparse(rows):
        names = [f"bin {i}" for i in range(rows.shape[1])]
        return [
            (dict(zip(names, row, strict=True)), y)
            for row, y in zip(rows.tolist(), labels, strict=True)
        ]
    names, values = [f"word {i}" for i in rows.indices.tolist()], rows.data.tolist()
    return [
        (dict(zip(names[start:stop], values[start:stop], strict=True)), y)
        for start, stop, y in zip(rows.indptr[:-1], rows.indptr[1:], labels, strict=True)
    ]


def validate(model, stream, seconds):
    """Return which rows were predicted right, and rows a second; stop when time is up."""
    hits, start = [], time.process_time()
    for row, label in stream:
        hits.append(model.predict_one(row) == label)
        model.learn_one(row, label)
        if time.process_time() - start > seconds:
            break
    return hits, len(hits) / (time.process_time() - start)


def compare(name, limit, seconds):
    stream = events(name, limit)
    if stream is None:
        return
    classes = len({label for _, label in stream})
    print(f"\n{name}: {len(stream)} rows, {classes} classes", flush=True)
    half_life = 1500.0 if name.endswith("_stream") else None
    results = {}
    for title, model in models(half_life).items():
        results[title] = hits, speed = validate(model, stream, seconds)
        note = ""
        if len(hits) < len(stream):
            ours = next(iter(results.values()))[0][: len(hits)]
            note = f"   first {len(hits)} rows, ours {sum(ours) / len(ours):.4f} there"
        accuracy = sum(hits) / len(hits)
        print(f"  {title:42} accuracy {accuracy:.4f}   {speed:7.0f} rows/s{note}", flush=True)
    ours = results["ExpChi2Classifier(1024)"][1]
    by_softmax, by_rbf = (
        ours / results[title][1] for title in ("Softmax", "RBFSampler(100) | OneVsRest")
    )
    best = {
        ours: max(
            (
                sum(hits) / len(hits)
                for title, (hits, _) in results.items()
                if ("ExpChi2" in title) == ours and len(hits) == len(stream)
            ),
            default=float("nan"),
        )
        for ours in (True, False)
    }
    print(
        f"  best of ours {best[True]:.4f}, of the others {best[False]:.4f}; "
        f"ExpChi2Classifier(1024) x Softmax: {by_softmax:.2f}, x RBF: {by_rbf:.1f}"
    )


def growing_vocabulary(n_rows=200 * 1024):
    """Print the memory of a model whose rows bring new words without end, where none wait."""
    model = ExpChi2Classifier(64, seed=0)
    tracemalloc.start()
    print(f"\nmemory of ExpChi2Classifier(64), three new words a row, {n_rows} rows")
    for position in range(n_rows):
        row = {f"word {3 * position + i}": 1.0 for i in range(3)} | {f"topic {position % 5}": 2.0}
        model.learn_one(row, position % 5 > 2)
        if (position + 1) % (n_rows // 5) == 0:
            size, process = model._raw_memory_usage / 2**20, tracemalloc.get_traced_memory()[0]
            print(
                f"  {position + 1:7} rows: model {size:.2f} MiB, process {process / 2**20:.1f} MiB"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=SETS, choices=SETS)
    parser.add_argument("--limit", type=int, default=None, help="rows of each set")
    parser.add_argument("--seconds", type=float, default=120.0, help="for each model at most")
    parser.add_argument("--memory", action="store_true", help="also 200,000 rows of new words")
    arguments = parser.parse_args()
    for name in arguments.sets:
        compare(name, arguments.limit, arguments.seconds)
    if arguments.memory:
        growing_vocabulary()


if __name__ == "__main__":
    main()
