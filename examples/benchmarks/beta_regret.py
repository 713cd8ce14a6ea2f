"""What does beta="auto" cost? Accuracy over a grid of betas, and the regret of two rules.

    python examples/benchmarks/beta_regret.py              # all sets, D = 1000
    python examples/benchmarks/beta_regret.py --quick      # digits and spambase, D = 250

At most 5000 training and 3000 test rows. The grid is 1/4 to 8 over the mean chi2 distance of the
first rows, one over which is what "auto" takes. Beside it stands a supervised rule: the beta whose
features have the least generalised cross-validation score on the first 1024 rows. Regret is the
best accuracy of the grid minus that of the rule.
"""

import argparse

import numpy as np
from quality import SETS, exact_accuracy, rows_of

from streamchi2 import ExpChi2Classifier, ExpChi2Sampler

GRID = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
BASES = ("orthogonal", "subspace", "landmarks")
FIRST_ROWS = 1024
PENALTIES = np.logspace(-6, 0, 13)  # of the number of rows; below, GCV meets interpolation


def cross_validation_score(features, labels):
    """Return the least GCV score of ridge over the penalties, in the dual: one eigh of n x n."""
    targets = (labels[:, None] == np.unique(labels)).astype(float)
    targets -= targets.mean(axis=0)
    centred = (features - features.mean(axis=0)).astype(float)
    n = len(labels)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    energies = ((vectors.T @ targets) ** 2).sum(axis=1)
    fits = [np.maximum(values, 0.0) / (np.maximum(values, 0.0) + n * p) for p in PENALTIES]
    return min(n * (energies @ (1 - fit) ** 2) / (n - 1 - fit.sum()) ** 2 for fit in fits)


def over_the_grid(basis, size, parts, usual):
    """Return accuracies and scores of a basis for each beta."""
    train, labels, test, test_labels = parts
    accuracies, scores = [], []
    for factor in GRID:
        model = ExpChi2Classifier(size, basis=basis, beta=factor * usual, random_state=0)
        accuracies.append(model.fit(train, labels).score(test, test_labels))
        features = model._stream.read().feature_map.transform(train[:FIRST_ROWS])
        scores.append(cross_validation_score(features, labels[:FIRST_ROWS]))
    return np.array(accuracies), np.array(scores)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--exact", action="store_true", help="the exact kernel too: slow")
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    arguments = parser.parse_args()
    names = ["digits", "spambase"] if arguments.quick else arguments.sets
    size = 250 if arguments.quick else arguments.size
    print(f"{'D = ' + str(size):28}" + "".join(f"{factor:>7g}" for factor in GRID), end="")
    print("   regret of 1   regret of GCV's choice")
    for name in names:
        if (parts := rows_of(*SETS[name])) is None:
            continue
        usual = ExpChi2Sampler(2, random_state=0).fit(parts[0]).beta_
        for basis in BASES:
            accuracies, scores = over_the_grid(basis, size, parts, usual)
            regrets = accuracies.max() - accuracies
            chosen = int(scores.argmin())
            text = "".join(f"  {accuracy:.3f}" for accuracy in accuracies)
            print(f"{name + ', ' + basis:28}{text}{regrets[GRID.index(1.0)]:14.3f}", end="")
            print(f"{regrets[chosen]:11.3f} ({GRID[chosen]:g})", flush=True)
        if arguments.exact:
            exact = np.array([exact_accuracy(*parts, factor * usual) for factor in GRID])
            text = "".join(f"  {accuracy:.3f}" for accuracy in exact)
            print(f"{name + ', exact':28}{text}{exact.max() - exact[GRID.index(1.0)]:14.3f}")


if __name__ == "__main__":
    main()
