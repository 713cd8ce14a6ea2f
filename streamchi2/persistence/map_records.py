"""How feature maps and what is seen through them are saved: by seed and k, never by matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from streamchi2.adaptive_map import AdaptiveMap, Transport
from streamchi2.bases import CosineBasis, GaussianBasis, HashBuckets, LandmarkRows, OrthogonalBasis
from streamchi2.bases.landmarks import LandmarkBasis
from streamchi2.bases.subspace import SubspaceBasis
from streamchi2.feature_map import FeatureMap
from streamchi2.joint_map import JointMap, JointSettings
from streamchi2.map_plan import MapSettings
from streamchi2.mapped_moments import MappedMoments
from streamchi2.persistence import checks, tracker_records
from streamchi2.persistence.array_fields import Array, Landmarks
from streamchi2.persistence.fields import (
    Field,
    Integer,
    Later,
    Maybe,
    Number,
    Scalar,
    Sequences,
)
from streamchi2.persistence.stream_checks import stream_rules
from streamchi2.persistence.tree import OneOf, Record, Values, direct
from streamchi2.projected_map import ProjectedMap, Projection
from streamchi2.provenance import Provenance
from streamchi2.series import ChebyshevSeries, DirectSeries, VZSeries
from streamchi2.series.transport import RotatedSeries
from streamchi2.solvers.block_vectors import BlockVectors
from streamchi2.statistics.buffered_tracker import BufferedTracker

_POSITIVE = Number(low=0.0)


def _fields_of(value: Any) -> Values:
    # Not the attributes: bases also hold matrices that they have drawn.
    return {field.name: getattr(value, field.name) for field in fields(value)}


def value_record(
    kind: type,
    kinds: dict[str, Field],
    rules: Callable[[Values], None] = lambda values: None,
) -> Record:
    """Return the record of a frozen dataclass, whose constructor checks what it is given."""
    return Record(kind, kinds, lambda values: kind(**values), taken=_fields_of, rules=rules)


_SERIES = OneOf(
    (
        value_record(DirectSeries, {"k": Sequences(_POSITIVE)}),
        value_record(ChebyshevSeries, {"n_terms": Integer(low=1), "scale": _POSITIVE}),
        value_record(VZSeries, {"n_terms": Integer(low=1), "period": _POSITIVE}),
    )
)

ROTATED_SERIES = value_record(
    RotatedSeries,
    {"series": _SERIES, "rotation": Maybe(Sequences(Sequences(Number())))},
    checks.rotation_rules,
)

_BASIS_FIELDS: dict[str, Field] = {
    "n_inputs": Integer(low=1),
    "n_components": Integer(low=1),
    "seed": Integer(),
    "beta": _POSITIVE,
    "dof": _POSITIVE,
}
_LANDMARKS = value_record(
    LandmarkBasis,
    {
        "landmarks": Landmarks(),
        "whitening": Array(2),
        "n_inputs": Integer(low=1),
        "beta": _POSITIVE,
        "dof": _POSITIVE,
    },
    checks.landmark_rules,
)
_SUBSPACE = value_record(
    SubspaceBasis,
    {
        "directions": Array(2, ("<f4",)),
        "n_components": Integer(low=1),
        "seed": Integer(),
        "beta": _POSITIVE,
        "dof": _POSITIVE,
    },
    checks.subspace_rules,
)
_RANDOM = (OrthogonalBasis, GaussianBasis, CosineBasis)
_BASES = OneOf((*(value_record(kind, _BASIS_FIELDS) for kind in _RANDOM), _SUBSPACE, _LANDMARKS))

FEATURE_MAP = value_record(
    FeatureMap,
    {
        "series": ROTATED_SERIES,
        "basis": _BASES,
        "buckets": Maybe(
            value_record(HashBuckets, {"n_buckets": Integer(low=1), "seed": Integer()})
        ),
        "dtype": Scalar(),
    },
    checks.recipe_rules,
)

_CHOSEN = Record(
    LandmarkRows,
    {"rows": Landmarks()},
    lambda values: LandmarkRows(values["rows"].astype(np.float64, copy=False)),
    taken=lambda chosen: {"rows": chosen.rows},
)

SETTINGS = value_record(
    MapSettings,
    {
        "n_features": Integer(low=1),
        "n_components": Integer(low=1),
        "beta": Scalar(),
        "dof": Scalar(),
        "series": Scalar(),
        "n_terms": Scalar(),
        "basis": Scalar(),
        "n_buckets": Scalar(),
        "adapt": Scalar(),
        "half_life": Scalar(),
        "seed": Integer(),
        "dtype": Scalar(),
        "landmarks": Later(_CHOSEN),
    },
)

TRANSPORT = Record(
    Transport,
    {"position": Integer(), "residual": _POSITIVE},
    lambda values: Transport(**values),
    taken=lambda transport: transport._asdict(),
)

ADAPTIVE_MAP = Record(
    AdaptiveMap,
    {
        "settings": SETTINGS,
        "recipe": Maybe(FEATURE_MAP),
        "histogram": tracker_records.HISTOGRAM,
        "sample": tracker_records.RESERVOIR,
        "n_rows": Integer(),
        "transports": Sequences(TRANSPORT),
        "warned_at": Later(Integer(low=1)),
    },
    direct(AdaptiveMap),
    rules=checks.map_rules,
)

JOINT_SETTINGS = value_record(
    JointSettings,
    {
        "n_features": Integer(low=1),
        "names": Sequences(Scalar()),
        "columns": Sequences(Sequences(Integer())),
        "parts": Sequences(SETTINGS),
    },
    checks.joint_settings_rules,
)

JOINT_MAP = Record(
    JointMap,
    {"settings": JOINT_SETTINGS, "parts": Sequences(ADAPTIVE_MAP), "n_rows": Integer()},
    direct(JointMap),
    rules=checks.joint_map_rules,
)

PROJECTION = value_record(
    Projection,
    {
        "vectors": value_record(BlockVectors, {"blocks": Sequences(Array(2))}),
        "mean": Array(),
        "variance_shares": Sequences(Array()),
    },
    checks.projection_rules,
)

PROJECTED_MAP = Record(
    ProjectedMap,
    {"inner": JOINT_MAP, "projection": PROJECTION, "n_reread": Maybe(Integer())},
    direct(ProjectedMap),
    rules=checks.projected_map_rules,
)

MAPPED_MOMENTS = Record(
    MappedMoments,
    {
        "map": OneOf((ADAPTIVE_MAP, JOINT_MAP, PROJECTED_MAP)),
        "labelled": Maybe(OneOf((tracker_records.CLASS_MOMENTS, tracker_records.TARGET_MOMENTS))),
        "unlabelled": Maybe(OneOf((tracker_records.MOMENTS, tracker_records.BLOCK_MOMENTS))),
        "sample": Maybe(tracker_records.RESERVOIR),
        "n_jobs": Scalar(),
    },
    direct(MappedMoments),
    rules=checks.mapped_rules,
)


def _stream(values: Values) -> BufferedTracker[Any]:
    stream = BufferedTracker(values["tracker"], values["buffer"].boundaries)
    stream.buffer, stream.provenance = values["buffer"], values["provenance"] or Provenance()
    return stream


def stream_record(*trackers: Record) -> Record:
    """Return the record of a stream through one of some trackers."""
    return Record(
        BufferedTracker,
        {
            "tracker": OneOf(trackers),
            "buffer": tracker_records.BUFFER,
            "provenance": Later(tracker_records.PROVENANCE),
        },
        _stream,
        taken=lambda stream: {
            "tracker": stream.tracker,
            "buffer": stream.buffer,
            "provenance": stream.provenance if stream.provenance.entries else None,
        },
        rules=stream_rules,
        guard=lambda stream: stream.lock,
    )
