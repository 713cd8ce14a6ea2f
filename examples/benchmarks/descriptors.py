"""Several descriptors of the same images: one by one, together, and which of them count.

    python examples/benchmarks/descriptors.py                      # D = 3000 in all
    python examples/benchmarks/descriptors.py --size 1500 --bases landmarks --no-exact

cifar10_three: gradient orientations (hog), colours and visual words (bow) of 20000 small images.
Accuracy on 3000 test images, penalties by generalised cross-validation; every model has the same
number of features D in all, "together" a third of them a descriptor; "chosen" is the same by group
lasso instead of ridge. Beta is a multiple of one over
the mean distance of the first rows, the same for all descriptors. The exact kernel ridge takes its
penalty by leave-one-out; together its kernel is the sum of the three. At last a descriptor of pure
noise is added, and the path of the group lasso printed.
"""

import argparse
import time

import numpy as np
from data_sets import load

from streamchi2 import ExpChi2Classifier, chi2_distance

DESCRIPTORS = ("hog", "colour", "bow")
PENALTIES = np.logspace(-3, 1.5, 10)


def images():
    """Return the three descriptors side by side, their columns, labels and two parts."""
    parts = [load("cifar10_three", descriptor=name) for name in DESCRIPTORS]
    if any(part is None for part in parts):
        return None
    ends = np.cumsum([0] + [part[0].shape[1] for part in parts])
    columns = {
        name: slice(int(start), int(stop))
        for name, start, stop in zip(DESCRIPTORS, ends[:-1], ends[1:], strict=True)
    }
    _, labels, n_train = parts[0]
    random = np.random.default_rng(0)
    train = random.permutation(n_train)
    test = n_train + random.permutation(len(labels) - n_train)[:3000]
    return np.hstack([part[0] for part in parts]), columns, labels, train, test


def choices(columns):
    """Return every descriptor by itself, then all together by ridge and by group lasso."""
    models = {name: ({name: part}, "ridge") for name, part in columns.items()}
    return models | {"together": (columns, "ridge"), "chosen": (columns, "group_lasso")}


def usual_betas(rows, columns):
    """Return one over the mean distance of the first rows, for each descriptor."""
    first = {name: chi2_distance(rows[:256, part]) for name, part in columns.items()}
    return {name: 1.0 / float(distances.mean()) for name, distances in first.items()}


def measured(data, chosen, n_rows, **params):
    """Return the accuracy of a model of some descriptors, and how long it took."""
    rows, _, labels, train, test = data
    start = time.perf_counter()
    model = ExpChi2Classifier(descriptors=chosen, random_state=0, n_jobs=-1, **params)
    for begin in range(0, n_rows, 1000):
        part = train[begin : min(begin + 1000, n_rows)]
        model.partial_fit(rows[part], labels[part])
    return model.score(rows[test], labels[test]), time.perf_counter() - start


def exact_accuracies(data, betas, n_rows=5000):
    """Return the accuracies of exact kernel ridge regression, by itself and together."""
    rows, columns, labels, train, test = data
    train = train[:n_rows]
    classes = np.unique(labels)
    targets = (labels[train][:, None] == classes) * 1.0
    shares = targets.mean(axis=0)
    both, whole, scores = 0.0, 0.0, {}
    for name, part in columns.items():
        inner = np.exp(-betas[name] * chi2_distance(rows[train, part]))
        outer = np.exp(-betas[name] * chi2_distance(rows[test, part], rows[train, part]))
        both, whole = both + inner, whole + outer
        scores[name] = _solved(inner, outer, targets - shares, shares)
    scores["together"] = _solved(both, whole, targets - shares, shares)
    truth = labels[test]
    return {name: float(np.mean(classes[best] == truth)) for name, best in scores.items()}


def _solved(inner, outer, targets, shares):
    values, vectors = np.linalg.eigh(inner)
    turned, best = vectors.T @ targets, (np.inf, None)
    for penalty in PENALTIES:
        weights = vectors @ (turned / (values + penalty)[:, None])
        diagonal = (vectors**2 / (values + penalty)).sum(axis=1)
        error = float(np.mean((weights / diagonal[:, None]) ** 2))  # leave-one-out
        best = min(best, (error, weights), key=lambda pair: pair[0])
    return (outer @ best[1] + shares).argmax(axis=1)


def table(data, arguments):
    """Print the accuracy of every descriptor and of all, for every basis."""
    betas = usual_betas(data[0][data[3]], data[1])
    titles = "".join(f"{name:>11}" for name in choices(data[1]))
    for multiple in arguments.betas:
        scaled = {name: multiple * beta for name, beta in betas.items()}
        print(f"\nbeta = {multiple:g} / mean distance, D = {arguments.size}\n{'':26}{titles}")
        if not arguments.no_exact:
            _line("exact, 5000 rows", exact_accuracies(data, scaled))
        for basis in arguments.bases:
            for n_rows in arguments.rows:
                scores, seconds = {}, {}
                for name, (chosen, penalty) in choices(data[1]).items():
                    params = {"n_components": arguments.size, "basis": basis, "penalty": penalty}
                    params["beta"] = {name: scaled[name] for name in chosen}
                    scores[name], seconds[name] = measured(data, chosen, n_rows, **params)
                _line(f"{basis}, {n_rows} rows", scores, f"  {seconds['together']:.0f} s together")


def _line(title, scores, note=""):
    print(f"{title:26}" + "".join(f"{score:11.4f}" for score in scores.values()) + note, flush=True)


def noise_path(data, arguments):
    """Add a descriptor of noise, and print what ridge and group lasso make of it."""
    rows, columns, labels, train, test = data
    noise = np.random.default_rng(1).dirichlet(np.ones(300), len(rows))
    data = np.hstack([rows, noise]), columns, labels, train, test
    columns = columns | {"noise": slice(rows.shape[1], None)}
    params = {"n_components": arguments.path_size, "basis": arguments.bases[-1]}
    print(f"\nwith a descriptor of noise, D = {arguments.path_size}, 5000 rows")
    for penalty in ("ridge", "group_lasso"):
        model = ExpChi2Classifier(descriptors=columns, penalty=penalty, random_state=0, **params)
        model.fit(data[0][train[:5000]], labels[train[:5000]])
        score = model.score(data[0][test], labels[test])
        lengths = dict(zip(columns, np.split(model.coef_, len(columns), axis=1), strict=True))
        kept = ", ".join(f"{name} {np.linalg.norm(part):.2f}" for name, part in lengths.items())
        print(f"{penalty:12} accuracy {score:.4f}, length of the coefficients: {kept}")
    print("group lasso: alphas at which descriptors enter")
    for name, alpha in model.descriptor_path_.items():
        print(f"{name:>12} {alpha:.5f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=3000)
    parser.add_argument("--path-size", type=int, default=1200)
    parser.add_argument("--rows", type=int, nargs="+", default=[5000, 15000])
    parser.add_argument("--betas", type=float, nargs="+", default=[1.0, 2.0])
    parser.add_argument("--bases", nargs="+", default=["orthogonal", "subspace", "landmarks"])
    parser.add_argument("--no-exact", action="store_true")
    arguments = parser.parse_args()
    if (data := images()) is None:
        return
    table(data, arguments)
    noise_path(data, arguments)


if __name__ == "__main__":
    main()
