"""How trackers and the rows that wait before them are saved."""

from __future__ import annotations

from streamchi2.persistence import checks
from streamchi2.persistence.array_fields import Array, Labels, StoredRows, Targets, UpperTriangle
from streamchi2.persistence.fields import Integer, Maybe, Number, Scalar, Sequences
from streamchi2.persistence.tree import Record, Values, direct
from streamchi2.provenance import Provenance
from streamchi2.statistics.block_moments import BlockMoments
from streamchi2.statistics.class_moments import ClassMoments
from streamchi2.statistics.log_histogram import LogHistogram
from streamchi2.statistics.moments import Moments
from streamchi2.statistics.reservoir import Reservoir
from streamchi2.statistics.row_buffer import Block, Boundaries, RowBuffer
from streamchi2.statistics.target_moments import TargetMoments
from streamchi2.validation import as_positive_float

_HALF_LIFE = Maybe(Number(low=0.0))


def _histogram(values: Values) -> LogHistogram:
    histogram = LogHistogram(values["bins_per_octave"], values["half_life"])
    histogram.__dict__.update(values)
    return histogram


def _reservoir(values: Values) -> Reservoir:
    if values["half_life"] is not None:
        as_positive_float(values["half_life"], name="half_life")
    reservoir = Reservoir(values["size"], values["seed"], values["half_life"])
    reservoir.__dict__.update(values)
    return reservoir


def _moments(values: Values) -> Moments:
    if values["half_life"] is not None:
        as_positive_float(values["half_life"], name="half_life")
    moments = object.__new__(Moments)  # the constructor would make another square matrix
    moments.__dict__.update(values)
    return moments


def buffer_of(boundaries: Boundaries, position: int, waiting: Block | None) -> RowBuffer:
    """Return a buffer that stands at a position, with the rows that wait in it."""
    buffer = RowBuffer(boundaries, position)
    if waiting is not None:
        buffer._waiting, buffer.n_pending = [waiting], waiting.stop - waiting.start
    return buffer


def _buffer_state(buffer: RowBuffer) -> Values:
    return {
        "boundaries": buffer.boundaries,
        "position": buffer.position,
        "waiting": buffer.pending(),
    }


def _provenance(values: Values) -> Provenance:
    pairs = [tuple(zip(ends[::2], ends[1::2], strict=True)) for ends in values["ends"]]
    return Provenance(tuple(zip(values["sources"], pairs, strict=True)))


def _provenance_state(provenance: Provenance) -> Values:
    return {
        "sources": [source for source, _ in provenance.entries],
        "ends": [[end for pair in ranges for end in pair] for _, ranges in provenance.entries],
    }


def _boundaries(values: Values) -> Boundaries:
    return Boundaries(**values)


def _block(values: Values) -> Block:
    return Block(**values)


HISTOGRAM = Record(
    LogHistogram,
    {
        "bins_per_octave": Integer(low=1),
        "half_life": _HALF_LIFE,
        "n_rows": Integer(),
        "_first_key": Integer(),
        "_counts": Array(1, ("<i8", "<f8")),
        "_zeros": Scalar(),
    },
    _histogram,
    rules=checks.histogram_rules,
)

RESERVOIR = Record(
    Reservoir,
    {
        "size": Integer(low=1),
        "seed": Integer(),
        "half_life": Scalar(),
        "n_rows": Integer(),
        "threshold": Number(or_nothing=True),
        "scores": Array(),
        "log_weights": Array(),
        "rows": Maybe(StoredRows()),
        "targets": Maybe(Labels()),
    },
    _reservoir,
    rules=checks.reservoir_rules,
)

MOMENTS = Record(
    Moments,
    {
        "n_features": Integer(low=1),
        "half_life": _HALF_LIFE,
        "weight": Number(low=0.0),
        "mean": Array(),
        "upper": UpperTriangle(),
    },
    _moments,
    rules=checks.moments_rules,
)

BLOCK_MOMENTS = Record(
    BlockMoments,
    {"parts": Sequences(MOMENTS)},
    direct(BlockMoments),
    rules=checks.block_moments_rules,
)

TARGET_MOMENTS = Record(
    TargetMoments,
    {
        "features": MOMENTS,
        "n_targets": Integer(low=1),
        "target_mean": Array(),
        "target_scatter": Array(),
        "cross": Array(2),
    },
    direct(TargetMoments),
    rules=checks.target_rules,
)

CLASS_MOMENTS = Record(
    ClassMoments,
    {
        "features": MOMENTS,
        "classes": Labels(),
        "class_weights": Array(),
        "class_means": Array(2),
    },
    direct(ClassMoments),
    rules=checks.class_rules,
)

BOUNDARIES = Record(
    Boundaries,
    {"positions": Sequences(Integer(low=1)), "periods": Sequences(Integer(low=1))},
    _boundaries,
)

BLOCK = Record(
    Block,
    {
        "start": Integer(),
        "rows": StoredRows(),
        "targets": Maybe(Targets()),
        "weights": Maybe(Array()),
    },
    _block,
    rules=checks.block_rules,
)

BUFFER = Record(
    RowBuffer,
    {"boundaries": BOUNDARIES, "position": Integer(), "waiting": Maybe(BLOCK)},
    lambda values: buffer_of(**values),
    taken=_buffer_state,
    rules=checks.buffer_rules,
)

PROVENANCE = Record(
    Provenance,
    {"sources": Sequences(Scalar()), "ends": Sequences(Sequences(Integer()))},
    _provenance,
    taken=_provenance_state,
)
