"""Small streams of named rows for the tests of the river estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
from river import base

from streamchi2.refit import RefitSchedule
from streamchi2.river import ExpChi2Classifier, ExpChi2Regressor, ExpChi2Sampler
from streamchi2.state import Archive, Maybe, Object
from streamchi2.stream import Stream

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
    """Return the model after one row at a time."""
    for i, row in enumerate(rows):
        if targets is None:
            model.learn_one(row)
        else:
            model.learn_one(row, targets[i])
    return model


def state_of(model: Any) -> Any:
    """Return everything that decides what a model says next, for comparisons bit for bit."""
    archive = Archive()
    state = [Maybe(Object((Stream,))).dump(model._stream, archive)]
    if hasattr(model, "_schedule"):
        state.append(Object((RefitSchedule,)).dump(model._schedule, archive))
    return state, [(array.dtype, array.shape, array.tobytes()) for array in archive.arrays]


# A key may belong to two descriptors, or to none.
DESCRIPTORS = {"few": ["colour 1", "colour 0"], "all": "colour "}

MODELS = {
    "classifier": lambda: ExpChi2Classifier(n_components=96, seed=3, basis="orthogonal"),
    "dual classifier": lambda: ExpChi2Classifier(n_components=700, seed=3, basis="orthogonal"),
    "balanced classifier": lambda: ExpChi2Classifier(
        n_components=96, seed=3, class_weight="balanced", basis="orthogonal"
    ),
    "fading classifier": lambda: ExpChi2Classifier(
        n_components=96, seed=3, half_life=130.0, basis="orthogonal"
    ),
    "regressor": lambda: ExpChi2Regressor(n_components=96, seed=3, basis="orthogonal"),
    "fading dual regressor": lambda: ExpChi2Regressor(
        n_components=700, seed=3, half_life=99.0, basis="orthogonal"
    ),
    "landmark classifier": lambda: ExpChi2Classifier(60, basis="landmarks", seed=3),
    "fading landmark regressor": lambda: ExpChi2Regressor(
        150, basis="landmarks", half_life=130.0, seed=3
    ),
    "subspace classifier": lambda: ExpChi2Classifier(150, basis="subspace", seed=3),
    "additive classifier": lambda: ExpChi2Classifier(64, basis="additive", seed=3),
    "classifier of components": lambda: ExpChi2Classifier(96, n_pca=5, seed=3, basis="orthogonal"),
    "lasso regressor": lambda: ExpChi2Regressor(
        64, penalty="lasso", alpha=0.02, seed=3, basis="orthogonal"
    ),
    "descriptor classifier": lambda: ExpChi2Classifier(
        90, descriptors=DESCRIPTORS, basis={"few": "additive", "all": "orthogonal"}, seed=3
    ),
    "group lasso regressor": lambda: ExpChi2Regressor(
        64, descriptors=DESCRIPTORS, penalty="group_lasso", alpha=0.5, seed=3, basis="orthogonal"
    ),
    "sampler": lambda: ExpChi2Sampler(n_components=32, seed=3),
}
