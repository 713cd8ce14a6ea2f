"""The provenance of a stream: which rows of which source it has learnt, each of them once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from streamchi2.errors import StateMismatchError
from streamchi2.state import Array, Kind, Saved

Ranges: TypeAlias = tuple[tuple[int, int], ...]  # half-open, ascending, with gaps between them
State: TypeAlias = dict[str, NDArray[Any]]

DIGEST_SIZE = 16  # bytes: two of 2**64 contents are as likely to agree as not

_MAX_NAME = 500
_MAX_SHOWN = 64  # characters of a file's name, its end: thousands of files are common
_NO_DIGEST = bytes(DIGEST_SIZE)
_STATE = {"names": 1, "name_lengths": 1, "n_ranges": 1, "ends": 2, "digests": 2}  # dimensions


class Entry(NamedTuple):
    """What is known of one source: ranges of positions, and a digest of their rows if there is one.

    A digest covers the rows from the first to the end of the one range there is then.
    """

    ranges: Ranges
    digest: bytes | None = None


class Provenance(Saved):
    """Half-open ranges of positions, by the name of their source.

    Positions count rows of a file or a named stream, or partitions of a Dask collection. A value:
    every change gives a new provenance, which shares what it can with the old one. Adding a range
    costs O(log n) dictionary operations, amortised over n sources.

    Law: merging is commutative and associative where it is defined, and it is defined where no
    position is held on both sides.

    Parameters
    ----------
    entries : iterable of (str, ranges), default=()
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
        "names": Array(1, ("|u1",)),
        "name_lengths": Array(1, ("<i8",)),
        "n_ranges": Array(1, ("<i8",)),
        "ends": Array(2, ("<i8",)),
        "digests": Array(2, ("|u1",)),
    }
    __slots__ = ("_levels",)

    # Disjoint in age, not in names: a later level wins. Each is more than twice as long as the
    # next, so there are O(log n), and an entry is copied O(log n) times. None is changed once made.
    _levels: tuple[dict[str, Entry], ...]

    def __init__(self, entries: Iterable[tuple[str, Ranges]] = ()) -> None:
        found = [(name, Entry(tuple(ranges))) for name, ranges in entries]
        self._levels = _levels_of(dict(_checked(found)))

    @property
    def entries(self) -> tuple[tuple[str, Ranges], ...]:
        """Names in order, each with its ranges; made anew each time, in O(n log n)."""
        return tuple((name, entry.ranges) for name, entry in self._sorted())

    def __len__(self) -> int:
        """Return the number of sources."""
        return len(self._flat())

    def __contains__(self, source: object) -> bool:
        return any(source in level for level in self._levels)

    def __iter__(self) -> Iterator[str]:
        return iter(self._flat())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Provenance) and self._flat() == other._flat()

    def __hash__(self) -> int:
        return hash(tuple(self._sorted()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.entries!r})"

    def __deepcopy__(self, memo: object) -> Self:
        return self  # a value

    def __getstate__(self) -> State:
        return self.get_state()

    def __setstate__(self, state: State) -> None:
        self._levels = type(self).from_state(state)._levels

    def ranges(self, source: str) -> Ranges:
        """Return what has been absorbed of a source."""
        return self._entry(source).ranges

    def digest(self, source: str) -> bytes | None:
        """Return the digest of the rows that have been absorbed of a source, if there is one."""
        return self._entry(source).digest

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

    def with_range(self, source: str, start: int, stop: int, digest: bytes | None = None) -> Self:
        """Return the provenance after positions ``start`` to ``stop`` (exclusive), or refuse.

        Parameters
        ----------
        source : str
            Its name.
        start, stop : int
            The positions.
        digest : bytes, optional
            Of all rows of the source up to ``stop``, 16 bytes; see :class:`RowDigest
            <streamchi2.sources.row_digest.RowDigest>`. It is kept where all of these rows have
            been absorbed, so that a later run can tell whether the source still begins with them.
        """
        if start == stop:
            return self
        ((_, new),) = _checked([(source, Entry(((start, stop),), digest))])
        ranges = _joined(source, (*self.ranges(source), *new.ranges))
        return self._with({source: Entry(ranges, digest if ranges == ((0, stop),) else None)})

    def merged(self, other: Self) -> Self:
        """Return the provenance of both, or refuse positions that both hold.

        Files of one name in two folders are refused if their digests agree: that is the same
        file, read from two places.
        """
        mine, theirs = self._flat(), other._flat()
        known = {_content(name, entry): name for name, entry in mine.items()}
        new = dict[str, Entry]()
        for name, entry in theirs.items():
            ranges = _joined(name, (*self.ranges(name), *entry.ranges))
            same = known.get(_content(name, entry), name)
            if same != name:
                raise StateMismatchError(
                    f"every row must be learnt once: {name!r} holds the rows of {same!r}, which "
                    "have been absorbed already"
                )
            new[name] = entry if ranges == entry.ranges else Entry(ranges)
        return self._with(new) if new else self

    def get_state(self) -> State:
        """Return everything as plain arrays, sources in the order of their names.

        ``names`` (uint8) holds the names in UTF-8 one after another, ``name_lengths`` (int64) their
        bytes, ``n_ranges`` (int64) how many ranges each has, ``ends`` (int64, two columns) the
        ranges, ``digests`` (uint8, 16 columns) the digests, zeros where there is none.

        >>> state = Provenance().with_range("day.csv", 0, 500).get_state()
        >>> {name: values.shape for name, values in state.items()}
        {'names': (7,), 'name_lengths': (1,), 'n_ranges': (1,), 'ends': (1, 2), 'digests': (1, 16)}
        >>> Provenance.from_state(state)
        Provenance((('day.csv', ((0, 500),)),))
        """
        found = self._sorted()
        names = [name.encode("utf-8", "surrogatepass") for name, _ in found]
        ends = [pair for _, entry in found for pair in entry.ranges]
        digests = b"".join(entry.digest or _NO_DIGEST for _, entry in found)
        return {
            "names": np.frombuffer(b"".join(names), np.uint8).copy(),
            "name_lengths": np.array([len(name) for name in names], np.int64),
            "n_ranges": np.array([len(entry.ranges) for _, entry in found], np.int64),
            "ends": np.array(ends, np.int64).reshape(-1, 2),
            "digests": np.frombuffer(digests, np.uint8).reshape(-1, DIGEST_SIZE).copy(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> Self:
        """Return the provenance that :meth:`get_state` describes, or refuse with ValueError."""
        if set(state) != set(_STATE):
            raise ValueError(f"arrays of a provenance must be {[*_STATE]}, got {sorted(state)}")
        names, lengths, counts, ends, digests = (
            _as_state_array(state, part, n_axes) for part, n_axes in _STATE.items()
        )
        n = len(lengths)
        sums = (int(lengths.sum()), int(counts.sum()))
        if (
            {len(counts), len(digests)} != {n}
            or min(lengths.min(initial=1), counts.min(initial=1)) < 1
            or sums != (len(names), len(ends))
            or (ends.shape[1], digests.shape[1]) != (2, DIGEST_SIZE)
        ):
            shapes = {part: np.shape(state[part]) for part in _STATE}
            raise ValueError(f"arrays of a provenance must agree in length, got {shapes}")
        text, pairs = names.tobytes(), [(start, stop) for start, stop in ends.tolist()]
        name_ends, range_ends = (np.cumsum(part).tolist() for part in (lengths, counts))
        found = list[tuple[str, Entry]]()
        for place in range(n):
            name_start, range_start = (
                (name_ends[place - 1], range_ends[place - 1]) if place else (0, 0)
            )
            name = text[name_start : name_ends[place]].decode("utf-8", "surrogatepass")
            digest = digests[place].tobytes()
            ranges = tuple(pairs[range_start : range_ends[place]])
            if digest != _NO_DIGEST and (len(ranges) > 1 or ranges[0][0] > 0):
                raise ValueError(f"digest of {name!r} must cover one range from 0, got {ranges}")
            found.append((name, Entry(ranges, None if digest == _NO_DIGEST else digest)))
        provenance = cls()
        provenance._levels = _levels_of(dict(_checked(found)))
        return provenance

    def _entry(self, source: str) -> Entry:
        for level in reversed(self._levels):
            if source in level:
                return level[source]
        return Entry(())

    def _flat(self) -> dict[str, Entry]:
        if len(self._levels) == 1:
            return self._levels[0]
        return {name: entry for level in self._levels for name, entry in level.items()}

    def _sorted(self) -> list[tuple[str, Entry]]:
        return sorted(self._flat().items())

    def _with(self, new: dict[str, Entry]) -> Self:
        levels = list(self._levels)
        while levels and len(levels[-1]) <= 2 * len(new):
            new = {**levels.pop(), **new}
        changed = type(self)()
        changed._levels = (*levels, new)
        return changed


def as_source_name(name: object) -> str:
    """Return the name of a source if it can be one.

    >>> as_source_name("")
    Traceback (most recent call last):
        ...
    ValueError: source_name must have 1 to 500 characters, got 0
    """
    if not isinstance(name, str):
        raise TypeError(f"source_name must be a str, got {name!r}")
    if not 0 < len(name) <= _MAX_NAME:
        raise ValueError(f"source_name must have 1 to {_MAX_NAME} characters, got {len(name)}")
    return name


def file_source_name(path: str) -> str:
    """Return what the provenance calls a file: its name, shortened, and a digest of its path.

    >>> file_source_name("/data/monday/rows.csv"), file_source_name("/data/tuesday/rows.csv")
    ('rows.csv#ddc878d158148b11', 'rows.csv#92a93aea99189899')
    """
    digest = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{path.rsplit('/', 1)[-1][-_MAX_SHOWN:]}#{digest}"


def shown_name(source: str) -> str:
    """Return the name of a file without the digest of its path; other names as they are.

    >>> shown_name("rows.csv#2da7f6f8a41ea33b")
    'rows.csv'
    """
    return source.rpartition("#")[0] or source


def _content(name: str, entry: Entry) -> tuple[str, bytes | str]:
    """Return what two entries of one file have in common, wherever it was read."""
    return (name, "") if entry.digest is None else (shown_name(name), entry.digest)


def _levels_of(flat: dict[str, Entry]) -> tuple[dict[str, Entry], ...]:
    return (flat,) if flat else ()


def _checked(found: list[tuple[str, Entry]]) -> list[tuple[str, Entry]]:
    """Return names with their entries, or refuse what is not spelled in the one way there is."""
    for (left, _), (right, _) in pairwise(found):
        if left >= right:
            raise ValueError(f"sources must be distinct and in order, got {right!r} after {left!r}")
    for name, (ranges, digest) in found:
        as_source_name(name)
        ends = [end for pair in ranges for end in pair]
        if not ends or ends[0] < 0 or any(left >= right for left, right in pairwise(ends)):
            raise ValueError(f"ranges of {name!r} must ascend with gaps, got {ranges}")
        if digest is not None and (len(digest) != DIGEST_SIZE or digest == _NO_DIGEST):
            raise ValueError(f"digest of {name!r} must be {DIGEST_SIZE} bytes, got {digest!r}")
    return found


def _as_state_array(state: Mapping[str, NDArray[Any]], part: str, n_axes: int) -> NDArray[Any]:
    values = np.asarray(state[part])
    wanted = np.uint8 if part in ("names", "digests") else np.int64
    if values.dtype != wanted or values.ndim != n_axes:
        raise ValueError(
            f"{part} of a provenance must be {np.dtype(wanted)} with {n_axes} axes, got "
            f"{values.dtype} with {values.ndim}"
        )
    return values


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
