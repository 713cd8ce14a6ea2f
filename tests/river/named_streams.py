"""Small streams of named rows for the tests of the river estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from river import base

from streamchi2.files import dumped
from streamchi2.river import ExpChi2Classifier, ExpChi2Regressor, ExpChi2Sampler

Rows = list[dict[Any, float]]


def histograms(n_rows: int, seed: int = 0) -> tuple[Rows, list[str], list[float]]:
    """Shares of eight colours, a label that depends on them, and a number."""
    random = np.random.default_rng(seed)
    centres = random.dirichlet(np.ones(8), size=3)
    codes = random.integers(0, 3, n_rows)
    shares = np.array([random.dirichlet(20 * centres[code] + 0.1) for code in codes])
    shares[random.random(shares.shape) < 0.2] = 0.0
    rows = [{f"colour {i}": value for i, value in enumerate(row)} for row in shares.tolist()]
    labels = [("ash", "birch", "cedar")[code] for code in codes]
    return rows, labels, (3.0 * shares[:, 0] + np.sin(7.0 * shares[:, 1])).tolist()


def learnt(model: base.Estimator, rows: Rows, targets: list[Any] | None = None) -> Any:
    """Return the model after one row at a time; a target of None is none."""
    for i, row in enumerate(rows):
        if targets is None:
            model.learn_one(row)
        elif targets[i] is None:
            model.observe_one(row)
        else:
            model.learn_one(row, targets[i])
    return model


def learnt_in_frames(
    model: base.Estimator, rows: Rows, targets: list[Any] | None, cuts: list[int]
) -> Any:
    """Return the model after frames that end at ``cuts``."""
    for start, stop in zip([0, *cuts], cuts, strict=False):
        frame = pd.DataFrame(rows[start:stop], columns=list(rows[0]))
        if targets is None:
            model.learn_many(frame)
        else:
            model.learn_many(frame, pd.Series(targets[start:stop], dtype=object))
    return model


def state_of(model: Any) -> bytes:
    """Return everything that decides what a model says next, for comparisons bit for bit."""
    model._conclude()
    return dumped(model._stream)


def statistics_of(model: Any) -> bytes:
    """Return all that has been learnt, pending rows included, but not how much was solved."""
    model._conclude()
    return dumped(model._stream.settled())


# A key may belong to two descriptors, or to none.
DESCRIPTORS = {"few": ["colour 1", "colour 0"], "all": "colour "}
CLASSIFIERS = {
    "classifier": {"basis": "orthogonal"},
    "dual classifier": {"n_components": 700, "basis": "orthogonal"},
    "balanced classifier": {"class_weight": "balanced", "basis": "orthogonal"},
    "fading classifier": {"half_life": 130.0, "basis": "orthogonal"},
    "landmark classifier": {"n_components": 60, "basis": "landmarks"},
    "subspace classifier": {"n_components": 150},
    "classifier of components": {"n_pca": 5, "basis": "orthogonal"},
    "descriptor classifier": {
        "n_components": 90,
        "descriptors": DESCRIPTORS,
        "basis": {"few": "additive", "all": "orthogonal"},
    },
}
REGRESSORS = {
    "regressor": {"basis": "orthogonal"},
    "fading dual regressor": {"n_components": 700, "half_life": 99.0, "basis": "orthogonal"},
    "lasso regressor": {"n_components": 64, "penalty": "lasso", "alpha": 0.02, "norm": "l1"},
    "group lasso regressor": {
        "n_components": 64,
        "descriptors": DESCRIPTORS,
        "penalty": "group_lasso",
        "alpha": 0.5,
        "basis": "orthogonal",
    },
}
NAMES = [*CLASSIFIERS, *REGRESSORS, "sampler"]


def make(name: str, **more: Any) -> Any:
    """Return a new estimator of that name."""
    if name == "sampler":
        return ExpChi2Sampler(**{"n_components": 32, "seed": 3, **more})
    kind, table = (
        (ExpChi2Classifier, CLASSIFIERS) if name in CLASSIFIERS else (ExpChi2Regressor, REGRESSORS)
    )
    return kind(**{"n_components": 96, "seed": 3, **table[name], **more})


def targets_for(name: str, labels: list[Any], numbers: list[Any]) -> Any:
    """Return what an estimator of that name learns beside its rows."""
    if name == "sampler":
        return None
    return labels if name in CLASSIFIERS else numbers
