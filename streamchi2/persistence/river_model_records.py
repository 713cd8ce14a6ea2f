"""How the models of river's estimators are saved: the one in force, and all that solves the next.

A model is saved as it is, not solved again: it was solved at the last refresh, with a penalty that
may since have been looked at again.
"""

from __future__ import annotations

import math
from typing import Any

from streamchi2.feature_map import FeatureMap
from streamchi2.map_plan import MapSettings
from streamchi2.persistence import river_checks as checks
from streamchi2.persistence.array_fields import Array, Labels, PlainLabels, UpperTriangle
from streamchi2.persistence.fields import Flag, Integer, Maybe, Number, Scalar
from streamchi2.persistence.map_records import value_record
from streamchi2.persistence.tree import Group, Record, Values
from streamchi2.river.live_model import LiveModel
from streamchi2.river.positions import maturity
from streamchi2.river.refresh import Refresher
from streamchi2.river.young_stream import YoungStream
from streamchi2.solvers.dual_ridge import DualRidge
from streamchi2.solvers.linear_model import LinearModel
from streamchi2.statistics.row_buffer import Block

_POSITIVE = Number(low=0.0)

LINEAR_MODEL = value_record(
    LinearModel,
    {"coef": Array(2), "intercept": Array(), "centre": Array(), "alpha": _POSITIVE},
    checks.linear_rules,
)
LIVE_MODEL = value_record(
    LiveModel,
    {"linear": LINEAR_MODEL, "labels": PlainLabels(), "inverse_temperature": _POSITIVE},
    checks.live_rules,
)


def _refresher(values: Values) -> Refresher:
    refresher = Refresher(labels=values["labels"])
    refresher.__dict__.update(values)
    return refresher


REFRESHER = Record(
    Refresher,
    {
        "labels": Flag(),
        "alpha": Scalar(),
        "model": Maybe(LIVE_MODEL),
        "_penalty": Maybe(_POSITIVE),
        "_inverse_temperature": _POSITIVE,
        "_audited_at": Integer(),
    },
    _refresher,
    rules=checks.refresher_rules,
)


def _dual_values(ridge: DualRidge) -> Values:
    known = not math.isnan(ridge._alpha)
    return {
        "features": ridge.features,
        "weights": ridge.weights,
        # Columns of the factor are rows of its transpose, an upper triangle.
        "factor": ridge._factor.T if known else None,
        "alpha": ridge._alpha if known else None,
    }


def _dual_ridge(values: Values) -> DualRidge:
    features, factor = values["features"], values["factor"]
    ridge = DualRidge(features.shape[1])
    ridge.n_rows = features.shape[0]
    ridge._features, ridge.weights = features, values["weights"]
    if factor is not None:
        # In the order in memory that the original had: triangular solvers round by it.
        ridge._factor, ridge._alpha = factor.T, values["alpha"]
    return ridge


DUAL_RIDGE = Record(
    DualRidge,
    {
        "features": Array(2),
        "weights": Array(),
        "factor": Maybe(UpperTriangle()),
        "alpha": Maybe(_POSITIVE),
    },
    _dual_ridge,
    taken=_dual_values,
    rules=checks.dual_rules,
)
YOUNG = Group({"ridge": DUAL_RIDGE, "targets": Maybe(Labels())})


def young_values(young: YoungStream) -> Values:
    """Return what a young stream has that does not follow from the stream around it."""
    return {"ridge": young.ridge, "targets": young.targets() if young._targets else None}


def young_stream(
    values: Values | None,
    settings: MapSettings,
    recipe: FeatureMap | None,
    blocks: list[Block],
) -> YoungStream | None:
    """Return the young stream under the map in force, with the blocks of a provisional one."""
    if values is None:
        return None
    young = YoungStream(settings.n_components, settings.half_life, maturity(settings))
    targets: Any = values["targets"]
    young.ridge, young._recipe, young._raw = values["ridge"], recipe, blocks
    young._targets = [] if targets is None else [targets]
    return young
