"""Examples of every estimator at various moments of its life, and what they say about rows."""

from __future__ import annotations

import numpy as np

from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    ExpChi2Sampler,
    StreamingPCA,
    StreamingRidge,
    StreamingRidgeClassifier,
    river,
)

N_ROWS, WIDTH = 360, 5
ROWS = np.random.default_rng(0).dirichlet(np.ones(WIDTH), size=N_ROWS)
ROWS[::7, 1] = 0.0
CODES = np.random.default_rng(1).integers(0, 3, N_ROWS)
WORDS = np.array(["ham", "spam", "eggs"])[CODES]
NUMBERS = np.sin(6 * ROWS[:, 0]) + ROWS[:, 1]
# Labels that rows have, by name; "late" and 7 come while rows are kept, and when they are moments.
SEVERAL = [
    {"ham": code == 0}
    | ({"late": code == 1} if place > 40 else {})
    | ({7: True} if place > 200 else {})
    for place, code in enumerate(CODES.tolist())
]
TWO = [{"up": number, 2: -number} for number in NUMBERS.tolist()]
WEIGHTS = np.random.default_rng(2).uniform(0.5, 2.0, N_ROWS)
for shared in (ROWS, CODES, WORDS, NUMBERS, WEIGHTS):
    shared.flags.writeable = False

LEFT_RIGHT = {"left": slice(0, 2), "right": [4, 2, 3]}
S = {"random_state": 0}  # and in river "seed"
ORTHOGONAL = {"basis": "orthogonal", **S}

# Constructor, parameters and targets of every estimator; None where it takes none.
EXAMPLES = {
    "sampler": (ExpChi2Sampler, {"n_components": 16, **S}, None),
    "gaussian sampler": (
        ExpChi2Sampler,
        {"n_components": 12, "basis": "gaussian", "series": "vz", "dof": 1.5, "half_life": 90}
        | {"n_buckets": 32, "random_state": 3},
        None,
    ),
    "chebyshev sampler": (ExpChi2Sampler,
        {"n_components": 12, "series": "chebyshev", "dtype": "float64"}, None),
    "landmark classifier": (ExpChi2Classifier,
        {"n_components": 12, "basis": "landmarks", "alpha": 0.1, **S}, WORDS),
    "subspace classifier": (ExpChi2Classifier, {"n_components": 96, "alpha": 0.1, **S}, WORDS),
    "additive classifier": (ExpChi2Classifier, {"n_components": None, "basis": "additive", **S},
        WORDS),
    "folded additive regressor": (ExpChi2Regressor,
        {"n_components": 8, "basis": "additive", "half_life": 120, **S}, NUMBERS),
    "chosen landmarks": (ExpChi2Regressor,
        {"n_components": 8, "basis": "landmarks", "landmarks": ROWS[:12], **S}, NUMBERS),
    "pca": (ExpChi2PCA, {"n_components": 16, "n_pca": 4, "half_life": 200.5, **ORTHOGONAL}, None),
    "classifier": (ExpChi2Classifier, {"n_components": 16, "n_pca": 0.9, **ORTHOGONAL}, WORDS),
    "classifier of several labels": (ExpChi2Classifier, {"n_components": 16, **ORTHOGONAL},
        np.column_stack([CODES == 0, CODES > 0]).astype(int)),
    "fading classifier": (
        ExpChi2Classifier,
        {"n_components": 16, "class_shift": "quantile", "class_weight": {0: 2.0, 2: 0.5}}
        | {"half_life": 50, **ORTHOGONAL},
        CODES,
    ),
    "balanced classifier": (ExpChi2Classifier,
        {"n_components": 16, "class_weight": "balanced", "norm": "l1", **S}, WORDS),
    "regressor": (ExpChi2Regressor,
        {"n_components": 16, "penalty": "lasso", "alpha": 0.01, "basis": "orthogonal"}, NUMBERS),
    "descriptor classifier": (
        ExpChi2Classifier,
        {"n_components": {"left": 12, "right": 16}, "descriptors": LEFT_RIGHT}
        | {"n_pca": {"left": 5, "right": 0.9}, "beta": {"left": 2.0, "right": "auto"}}
        | {"penalty": "group_lasso", "alpha": 0.003, **ORTHOGONAL},
        WORDS,
    ),
    "descriptor pca": (
        ExpChi2PCA,
        {"n_components": 12, "descriptors": {"a": [0, 1, 2], "b": slice(2, None)}, "n_pca": 5}
        | {"half_life": 90, "basis": "orthogonal"},
        None,
    ),
    "regressor of two": (ExpChi2Regressor, {"n_components": 16, "n_jobs": 2, **ORTHOGONAL},
        np.column_stack([NUMBERS, -NUMBERS])),
    "streaming pca": (StreamingPCA, {"n_components": 2}, None),
    "fading pca": (StreamingPCA, {"n_components": 2, "half_life": 80}, None),
    "ridge": (StreamingRidge, {"alpha": "auto", "half_life": 70}, NUMBERS),
    "elastic net": (StreamingRidge, {"alpha": 0.01, "penalty": "elastic_net"}, NUMBERS[:, None]),
    "ridge classifier": (StreamingRidgeClassifier, {}, CODES > 0),
    "river sampler": (river.ExpChi2Sampler, {"n_components": 8, "seed": 0}, None),
    "river classifier": (river.ExpChi2Classifier,
        {"n_components": 16, "half_life": 99.0, "basis": "orthogonal", "latest_rows": 0, "seed": 0},
        CODES),
    "river dual classifier": (river.ExpChi2Classifier,
        {"n_components": 80, "class_weight": "balanced", "basis": "orthogonal", "seed": 0}, WORDS),
    "latest rows": (ExpChi2Classifier,
        {"n_components": 16, "latest_rows": 20, "half_life": "auto", **ORTHOGONAL}, WORDS),
    "river landmark classifier": (river.ExpChi2Classifier,
        {"n_components": 40, "basis": "landmarks", "seed": 0}, WORDS),
    "river regressor": (river.ExpChi2Regressor,
        {"n_components": 24, "basis": "subspace", "n_pca": 6, "half_life": 80.0, "latest_rows": 8}
        | {"seed": 0},
        NUMBERS),
    "river classifier of several labels": (river.ExpChi2MultiLabelClassifier,
        {"n_components": 24, "latest_rows": 8, "seed": 0}, SEVERAL),
    "river regressor of two": (river.ExpChi2MultiTargetRegressor,
        {"n_components": 80, "latest_rows": 8, "seed": 0}, TWO),
}  # fmt: skip
ESTIMATORS = {
    name: (lambda kind=kind, params=params: kind(**params), targets)
    for name, (kind, params, targets) in EXAMPLES.items()
}


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


def answers(estimator, rows=ROWS[:20]):
    """Return whatever an estimator says about rows."""
    for name in ("transform_one", "predict_proba_one"):
        if hasattr(estimator, name):
            said = [list(getattr(estimator, name)(row).values()) for row in named(rows)]
            several = isinstance(said[0][0], dict)  # for each label the probability of True
            return np.array([[p[True] for p in row] for row in said] if several else said)
    if hasattr(estimator, "predict_one"):
        said = [estimator.predict_one(row) for row in named(rows)]
        several = isinstance(said[0], dict)
        return np.array([list(row.values()) for row in said] if several else said)
    if hasattr(estimator, "decision_function"):
        return estimator.decision_function(rows)
    return estimator.predict(rows) if hasattr(estimator, "predict") else estimator.transform(rows)
