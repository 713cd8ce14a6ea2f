"""One small example of everything that can be saved, in several states of its life."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    ExpChi2Sampler,
    LogHistogram,
    river,
)
from streamchi2.estimators.streaming_pca import StreamingPCA
from streamchi2.estimators.streaming_ridge import StreamingRidge
from streamchi2.estimators.streaming_ridge_classifier import StreamingRidgeClassifier
from streamchi2.feature_map import AdaptiveFeatureMap
from streamchi2.statistics.reservoir import Reservoir
from streamchi2.statistics.targets import ClassTargets, NumericTargets, with_labels
from streamchi2.stream import Stream

N_ROWS, WIDTH = 360, 5
ROWS = np.random.default_rng(0).dirichlet(np.ones(WIDTH), size=N_ROWS)
ROWS[::7, 1] = 0.0
CODES = np.random.default_rng(1).integers(0, 3, N_ROWS)
WORDS = np.array(["ham", "spam", "eggs"])[CODES]
NUMBERS = np.sin(6 * ROWS[:, 0]) + ROWS[:, 1]
# Labels that rows have, by name; "late" and 7 come while rows are kept, and when they are moments.
SEVERAL = [
    {
        "ham": code == 0,
        **({"late": code == 1} if place > 40 else {}),
        **({7: 1} if place > 200 else {}),
    }
    for place, code in enumerate(CODES.tolist())
]
WEIGHTS = np.random.default_rng(2).uniform(0.5, 2.0, N_ROWS)
for shared in (ROWS, CODES, WORDS, NUMBERS, WEIGHTS):
    shared.flags.writeable = False

# Constructor and targets of every estimator; None where it takes none.
ESTIMATORS = {
    "sampler": (lambda: ExpChi2Sampler(16, random_state=0), None),
    "gaussian sampler": (
        lambda: ExpChi2Sampler(
            12, basis="gaussian", series="vz", dof=1.5, n_buckets=32, half_life=90, random_state=3
        ),
        None,
    ),
    "cosine sampler": (
        lambda: ExpChi2Sampler(12, basis="cosine", series="chebyshev", dtype="float64"),
        None,
    ),
    "landmark classifier": (
        lambda: ExpChi2Classifier(12, basis="landmarks", alpha=0.1, random_state=0),
        WORDS,
    ),
    "subspace classifier": (
        lambda: ExpChi2Classifier(96, basis="subspace", alpha=0.1, random_state=0),
        WORDS,
    ),
    "additive classifier": (
        lambda: ExpChi2Classifier(None, basis="additive", random_state=0),
        WORDS,
    ),
    "folded additive regressor": (
        lambda: ExpChi2Regressor(8, basis="additive", half_life=120, random_state=0),
        NUMBERS,
    ),
    "chosen landmarks": (
        lambda: ExpChi2Regressor(
            8, basis="landmarks", landmarks=ROWS[:12], half_life=90, random_state=0
        ),
        NUMBERS,
    ),
    "pca": (
        lambda: ExpChi2PCA(16, n_pca=4, half_life=200.5, random_state=0, basis="orthogonal"),
        None,
    ),
    "classifier": (
        lambda: ExpChi2Classifier(16, n_pca=0.9, random_state=0, basis="orthogonal"),
        WORDS,
    ),
    "classifier of several labels": (
        lambda: ExpChi2Classifier(16, random_state=0, basis="orthogonal"),
        np.column_stack([CODES == 0, CODES > 0]).astype(int),
    ),
    "fading classifier": (
        lambda: ExpChi2Classifier(
            16,
            class_shift="quantile",
            class_weight={0: 2.0, 2: 0.5},
            half_life=50,
            random_state=0,
            basis="orthogonal",
        ),
        CODES,
    ),
    "regressor": (
        lambda: ExpChi2Regressor(16, penalty="lasso", alpha=0.01, basis="orthogonal"),
        NUMBERS,
    ),
    "descriptor classifier": (
        lambda: ExpChi2Classifier(
            {"left": 12, "right": 16},
            descriptors={"left": slice(0, 2), "right": [4, 2, 3]},
            n_pca={"left": 5, "right": 0.9},
            beta={"left": 2.0, "right": "auto"},
            penalty="group_lasso",
            alpha=0.003,
            class_shift="quantile",
            random_state=0,
            basis="orthogonal",
        ),
        WORDS,
    ),
    "descriptor pca": (
        lambda: ExpChi2PCA(
            12,
            descriptors={"a": [0, 1, 2], "b": slice(2, None)},
            n_pca=5,
            half_life=90,
            basis="orthogonal",
        ),
        None,
    ),
    "regressor of two": (
        lambda: ExpChi2Regressor(16, n_jobs=2, random_state=0, basis="orthogonal"),
        np.column_stack([NUMBERS, -NUMBERS]),
    ),
    "streaming pca": (lambda: StreamingPCA(2), None),
    "fading pca": (lambda: StreamingPCA(2, half_life=80), None),
    "ridge": (lambda: StreamingRidge(alpha="auto", half_life=70), NUMBERS),
    "elastic net": (
        lambda: StreamingRidge(alpha=0.01, penalty="elastic_net"),
        NUMBERS[:, None],
    ),
    "ridge classifier": (StreamingRidgeClassifier, CODES > 0),
    "ridge classifier of words": (
        lambda: StreamingRidgeClassifier("auto", class_weight={"ham": 2.0}),
        WORDS,
    ),
    "river sampler": (lambda: river.ExpChi2Sampler(8, n_buckets=16, seed=0), None),
    "river classifier": (
        lambda: river.ExpChi2Classifier(16, half_life=99.0, seed=0, basis="orthogonal"),
        CODES,
    ),
    "river dual classifier": (  # fewer rows than features for a while after the map is planned
        lambda: river.ExpChi2Classifier(80, seed=0, basis="orthogonal"),
        WORDS,
    ),
    "river landmark classifier": (
        lambda: river.ExpChi2Classifier(40, n_buckets=64, basis="landmarks", seed=0),
        WORDS,
    ),
    "river additive classifier": (
        lambda: river.ExpChi2Classifier(
            24, basis="additive", class_shift="quantile", class_weight="balanced", seed=0
        ),
        WORDS,
    ),
    "river subspace regressor": (
        lambda: river.ExpChi2Regressor(24, basis="subspace", n_pca=6, half_life=80.0, seed=0),
        NUMBERS,
    ),
    "river regressor": (
        lambda: river.ExpChi2Regressor(16, alpha=0.1, basis="gaussian", seed=0),
        NUMBERS,
    ),
    "river classifier of several labels": (
        lambda: river.ExpChi2MultiLabelClassifier(24, seed=0, basis="orthogonal"),
        SEVERAL,
    ),
    "river regressor of two": (
        lambda: river.ExpChi2MultiTargetRegressor(80, half_life=99.0, seed=0, basis="orthogonal"),
        [{"up": number, 2: -number} for number in NUMBERS.tolist()],
    ),
}

# Rows after which an example is kept as a file: river's models pass through more forms, from
# provisional maps (1, 5) over the dual form (66) to moments (300).
STAGES = {name: (1, 5, 66, 300) if name.startswith("river") else (66,) for name in ESTIMATORS}


def stage_name(name, n_rows):
    """Return the name of an example after some rows."""
    return name if n_rows == 66 else f"{name} after {n_rows}"


def named(rows):
    """Return rows as river has them: a missing key is a zero."""
    return [{f"cell {i}": value for i, value in enumerate(row) if value} for row in rows.tolist()]


def _learn_one_by_one(estimator, targets, start, stop, weighted):
    for place, row in enumerate(named(ROWS[start:stop]), start):
        if targets is None:
            estimator.learn_one(row)
        else:
            target = targets[place]
            target = target if isinstance(target, dict) else target.item()
            estimator.learn_one(row, target, WEIGHTS[place] if weighted else 1.0)
    return estimator


def learn(estimator, targets, start, stop, weighted=False):
    """Let an estimator learn rows ``start`` to ``stop``."""
    if hasattr(estimator, "learn_one"):
        return _learn_one_by_one(estimator, targets, start, stop, weighted)
    arguments = [] if targets is None else [targets[start:stop]]
    weights = {"sample_weight": WEIGHTS[start:stop]} if weighted else {}
    return estimator.partial_fit(ROWS[start:stop], *arguments, **weights)


def estimator_after(name, n_rows, *, weighted=False):
    """Return an estimator that has learnt the first rows."""
    make, targets = ESTIMATORS[name]
    return learn(make(), targets, 0, n_rows, weighted) if n_rows else make()


def parameters(estimator):
    """Return the constructor parameters of an estimator of either kind."""
    return estimator.get_params() if hasattr(estimator, "get_params") else estimator._get_params()


def merged(estimator, other):
    """Return an estimator after it has absorbed another."""
    estimator.merge(other)
    return estimator


def answers(estimator, rows=ROWS[:20]):
    """Return whatever an estimator says about rows."""
    for name in ("transform_one", "predict_proba_one"):
        if hasattr(estimator, name):
            read = getattr(estimator, name)
            found = [list(read(row).values()) for row in named(rows)]
            several = isinstance(found[0][0], dict)  # for each label the probability of True
            return np.array([[p[True] for p in row] for row in found] if several else found)
    if hasattr(estimator, "predict_one"):
        found = [estimator.predict_one(row) for row in named(rows)]
        several = isinstance(found[0], dict)
        return np.array([list(row.values()) for row in found] if several else found)
    if hasattr(estimator, "decision_function"):
        return estimator.decision_function(rows)
    return estimator.predict(rows) if hasattr(estimator, "predict") else estimator.transform(rows)


def _reservoir():
    reservoir = Reservoir(7, 3, half_life=20.0)
    reservoir.absorb(sparse.csr_array(ROWS[:50]), WEIGHTS[:50], WORDS[:50])
    return reservoir


def _map(kind=ExpChi2Sampler, **params):
    params = kind(8, **params)._map_params(WIDTH, 4)
    return AdaptiveFeatureMap(params)


def _planned(kind=ExpChi2Sampler, **params):
    return _map(kind, **params).absorb(ROWS[:64])


def _stream_of_map():
    stream = Stream(WIDTH, feature_map=_map(), learns=False)
    return stream.update(sparse.csr_array(ROWS[:100]), weights=WEIGHTS[:100])


def _stream_of_labels():
    stream = Stream(WIDTH, feature_map=_map(), targets=ClassTargets(np.unique(WORDS)))
    given = CODES[:100] != 1
    return stream.update(ROWS[:100], with_labels(WORDS[:100], given), WEIGHTS[:100])


def _stream_of_numbers():
    stream = Stream(WIDTH, targets=NumericTargets(1, flat=True), half_life=9.0)
    return stream.update(ROWS[:99], NUMBERS[:99, None]).flush().update(ROWS[:3], NUMBERS[:3, None])


# What can be saved beside: statistics, maps and streams.
PARTS = {
    "empty histogram": LogHistogram,
    "histogram": lambda: LogHistogram().update(ROWS),
    "weighted histogram": lambda: LogHistogram(16).update(ROWS, WEIGHTS),
    "fading histogram": lambda: LogHistogram(half_life=3).update(ROWS),
    "reservoir": _reservoir,
    "empty reservoir": lambda: Reservoir(5, 0),
    "feature map": _planned,
    "map in a subspace": lambda: _planned(basis="subspace"),
    "map on landmarks": lambda: _planned(basis="landmarks"),
    "map of two": lambda: _planned(ExpChi2PCA, descriptors={"a": [0, 1, 2], "b": slice(2, None)}),
    "folded map": lambda: _planned(n_buckets=16, series="vz"),
    "stream of a map": _stream_of_map,
    "stream of labels": _stream_of_labels,
    "stream of numbers": _stream_of_numbers,
    "stream of rows": lambda: Stream(WIDTH).update(ROWS[:9]),
}
