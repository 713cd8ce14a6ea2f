"""The provenance of a stream: which rows of which source it has learnt, each of them once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self, TypeAlias

from streamchi2.errors import StateMismatchError
from streamchi2.state import Int, Kind, Param, SavedValue, TupleOf

Ranges: TypeAlias = tuple[tuple[int, int], ...]  # half-open, ascending, with gaps between them

_MAX_NAME = 500


@dataclass(frozen=True)
class Provenance(SavedValue):
    """Half-open ranges of positions, by the name of their source.

    Positions count rows of a file or a named stream, or partitions of a Dask collection. A value:
    every change gives a new provenance.

    Law: merging is commutative and associative where it is defined, and it is defined where no
    position is held on both sides.

    Parameters
    ----------
    entries : tuple of (str, ranges), default=()
        Names in order, each with its ranges.

    Examples
    --------
    >>> morning = Provenance().with_range("day.csv", 0, 500)
    >>> day = morning.merged(Provenance().with_range("day.csv", 500, 900))
    >>> day.ranges("day.csv")
    ((0, 900),)
    >>> day.merged(morning)
    Traceback (most recent call last):
        ...
    streamchi2.errors.StateMismatchError: every row must be learnt once: 0 to 500 of 'day.csv' \
have been absorbed already
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "sources": TupleOf(Param()),
        "ends": TupleOf(TupleOf(Int())),
    }

    entries: tuple[tuple[str, Ranges], ...] = ()

    def __post_init__(self) -> None:
        names = [name for name, _ in self.entries]
        if names != sorted(set(names)):
            raise ValueError(f"sources must be distinct and in order, got {names}")
        for name, ranges in self.entries:
            as_source_name(name)
            ends = [end for pair in ranges for end in pair]
            if not ends or ends[0] < 0 or any(left >= right for left, right in pairwise(ends)):
                raise ValueError(f"ranges of {name!r} must ascend with gaps, got {ranges}")

    def get_state(self) -> dict[str, Any]:
        """Return the names and, for each, the ends of its ranges."""
        return {
            "sources": tuple(source for source, _ in self.entries),
            "ends": tuple(
                tuple(end for pair in ranges for end in pair) for _, ranges in self.entries
            ),
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the provenance from names and ends."""
        pairs = [tuple(zip(ends[::2], ends[1::2], strict=True)) for ends in state["ends"]]
        return cls(tuple(zip(state["sources"], pairs, strict=True)))

    def ranges(self, source: str) -> Ranges:
        """Return what has been absorbed of a source."""
        return dict(self.entries).get(source, ())

    def beginning(self, source: str) -> int:
        """Return how many positions from the first on have been absorbed of a source.

        Sources are read from their beginning, so anything but one range from zero is refused.
        """
        ranges = self.ranges(source)
        if len(ranges) > 1 or (ranges and ranges[0][0] > 0):
            raise StateMismatchError(
                f"what has been absorbed of {source!r} must be its beginning, got {ranges}"
            )
        return ranges[0][1] if ranges else 0

    def with_range(self, source: str, start: int, stop: int) -> Self:
        """Return the provenance after positions ``start`` to ``stop`` (exclusive), or refuse."""
        return self if start == stop else self.merged(type(self)(((source, ((start, stop),)),)))

    def merged(self, other: Self) -> Self:
        """Return the provenance of both, or refuse positions that both hold."""
        if not other.entries:
            return self
        together = dict(self.entries)
        for source, ranges in other.entries:
            together[source] = _joined(source, (*together.get(source, ()), *ranges))
        return type(self)(tuple(sorted(together.items())))


def as_source_name(name: object) -> str:
    """Return the name of a source if it can be one.

    >>> as_source_name("")
    Traceback (most recent call last):
        ...
    ValueError: source_name must have 1 to 500 characters, got 0
    """
    if not isinstance(name, str):
        raise TypeError(f"source_name must be a word, got {name!r}")
    if not 0 < len(name) <= _MAX_NAME:
        raise ValueError(f"source_name must have 1 to {_MAX_NAME} characters, got {len(name)}")
    return name


def _joined(source: str, ranges: Iterable[tuple[int, int]]) -> Ranges:
    joined: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        if joined and start < joined[-1][1]:
            raise StateMismatchError(
                f"every row must be learnt once: {start} to {min(stop, joined[-1][1])} of "
                f"{source!r} have been absorbed already"
            )
        touching = joined and start == joined[-1][1]
        joined.append((joined.pop()[0] if touching else start, stop))
    return tuple(joined)
