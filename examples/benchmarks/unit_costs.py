"""What does a plan cost on this machine? Measured unit costs, then any plan from them.

    python examples/benchmarks/unit_costs.py
    python examples/benchmarks/unit_costs.py --descriptors 3 --features 4000 --rows 1e6

Times are seconds of one core, so that a busy machine does not spoil them: divide by the cores you
have. The default plan is the paper's largest. See ``examples/planning.md``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy.linalg import eigh
from threadpoolctl import threadpool_limits

from streamchi2 import ExpChi2Sampler
from streamchi2.sources import as_source
from streamchi2.statistics.moments import Moments
from streamchi2.statistics.targets import matrix

COLUMNS, FEATURES, BLOCK = 1000, 2048, 1024


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the least processor time of some runs."""
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent)


def histograms(n_rows: int) -> np.ndarray:
    random = np.random.default_rng(0)
    rows = random.gamma(0.5, size=(n_rows, COLUMNS)).astype(np.float32)
    rows[random.random(rows.shape) < 0.7] = 0.0
    return rows / rows.sum(axis=1, keepdims=True)


def reading(rows: np.ndarray) -> float:
    """Return seconds a value from Parquet to rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.parquet")
        pq.write_table(pa.table({f"c{i}": rows[:, i] for i in range(rows.shape[1])}), path)
        source = as_source(path)
        return seconds(lambda: list(source.batches({}))) / rows.size


def measured() -> dict[str, float]:
    """Return unit costs in seconds: of a value, a feature, a pair of features and so on."""
    rows = histograms(4 * BLOCK)
    sampler = ExpChi2Sampler(FEATURES, random_state=0).fit(rows)
    features = sampler.transform(rows[:BLOCK])
    labels = np.random.default_rng(1).integers(0, 1000, BLOCK)
    origin, weights, answers = np.zeros(FEATURES), np.ones(BLOCK), matrix(labels, 1000)
    plain, classes = Moments.empty(origin), Moments.empty(origin, np.zeros(1000))
    plain.add(features, None, weights)
    other = plain.copy()
    scatter, n_pairs = plain.scatter(), FEATURES**2
    update = seconds(lambda: plain.add(features, None, weights))
    update_classes = seconds(lambda: classes.add(features, answers, weights))
    small = scatter[:BLOCK, :BLOCK] + 1e-3 * np.eye(BLOCK)
    cross = np.ones((BLOCK, 100))
    return {
        "value read": reading(rows),
        "feature": seconds(lambda: sampler.transform(rows[:BLOCK])) / (BLOCK * FEATURES),
        "pair learnt": update / (BLOCK * n_pairs),
        "feature with class": max(update_classes - update, 0.0) / (BLOCK * FEATURES),
        "pair merged": seconds(lambda: other.merge(plain)) / n_pairs,
        "cube decomposed": seconds(lambda: eigh(small), 3) / BLOCK**3,
        "cube solved": seconds(lambda: np.linalg.cholesky(small)) / BLOCK**3,
        "product": seconds(lambda: small @ cross) / (BLOCK**2 * 100),
    }


def spoken(amount: float) -> str:
    """Return seconds in words.

    >>> spoken(90), spoken(7200)
    ('1.5 min', '2.0 h')
    """
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if amount >= size:
            return f"{amount / size:.1f} {unit}"
    return f"{amount:.1f} s"


def plans(units: dict[str, float], plan: argparse.Namespace) -> dict[str, list[str]]:
    """Return memory, time to learn and time to solve of one pass and of two."""
    n, groups, width = plan.rows, plan.descriptors, plan.features
    joint, kept = groups * width, groups * plan.pca
    maps = n * (groups * plan.columns * units["value read"] + joint * units["feature"])
    inner = n * groups * width**2 * units["pair learnt"]
    by_class = n * units["feature with class"]
    eigen = groups * width**3 * units["cube decomposed"]
    last = kept**3 * units["cube solved"] + kept**2 * plan.classes * units["product"]
    project = n * groups * width * plan.pca * units["product"]
    means = 8 * plan.classes
    return {
        "one pass, joint scatter": [
            f"{(8 * joint**2 + means * joint) / 1e9:.1f} GB",
            spoken(maps + n * joint**2 * units["pair learnt"] + by_class * joint),
            spoken(eigen + 2 * joint**2 * kept * units["product"] + last),
        ],
        "two passes, PCA first": [
            f"{max(8 * groups * width**2, 8 * kept**2 + means * kept) / 1e9:.1f} GB",
            spoken(
                2 * maps + inner + project + n * kept**2 * units["pair learnt"] + by_class * kept
            ),
            spoken(eigen + last),
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--descriptors", type=int, default=7)
    parser.add_argument("--features", type=int, default=7000, help="of each descriptor")
    parser.add_argument("--columns", type=int, default=5000, help="of each descriptor")
    parser.add_argument("--pca", type=int, default=1000, help="components of each descriptor")
    parser.add_argument("--rows", type=float, default=1.2e6)
    parser.add_argument("--classes", type=int, default=1000)
    plan = parser.parse_args()
    with threadpool_limits(1):
        units = measured()
    print("| unit | nanoseconds of one core |\n|---|---|")
    for name, cost in units.items():
        print(f"| {name} | {cost * 1e9:.3g} |")
    print(
        f"\n{plan.rows:.3g} rows, {plan.descriptors} descriptors of {plan.columns} columns and "
        f"{plan.features} features, {plan.pca} components each, {plan.classes} classes\n"
    )
    print("| plan | memory | learning, one core | solving, one core |\n|---|---|---|---|")
    for name, costs in plans(units, plan).items():
        print(f"| {name} | {' | '.join(costs)} |")
    # Learning r rows takes r D^2 units, sending and merging what they gave D^2 of others.
    sending = 8 / 1e9 + units["pair merged"]
    print(
        "\na partition whose result is sent at 1 GB/s and merged costs as much as learning "
        f"{sending / units['pair learnt']:.0f} rows, whatever D is"
    )


if __name__ == "__main__":
    main()
