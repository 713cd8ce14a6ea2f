"""The provenance of a stream: how many rows of which source it has learnt, each of them once.

A provenance is a plain dict from the name of a source to what was learnt of it. Streams share it
with their copies, so it is replaced and never changed: every function here returns a new one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TypeAlias

from streamchi2.errors import StateMismatchError
from streamchi2.saving import saved

DIGEST_SIZE = 16  # bytes: two of 2**64 contents are as likely to agree as not

_MAX_NAME = 500
_MAX_SHOWN = 64  # characters of a file's name, its end: thousands of files are common


@saved("provenance.entry")
@dataclass(frozen=True)
class LearntRows:
    """What was learnt of one source: its first rows, and a digest of them if there is one.

    Parameters
    ----------
    n_rows : int
        How many. A source is read from its first row on.
    digest : bytes or None
        16 bytes, see :mod:`streamchi2.sources.tables`: later runs compare the source with it.
    """

    n_rows: int
    digest: bytes | None = None

    def check_state(self) -> None:
        """Raise ValueError unless there are rows."""
        if self.n_rows < 1:
            raise ValueError(f"n_rows must be at least 1, got {self.n_rows}")


Provenance: TypeAlias = dict[str, LearntRows]


def n_learnt(provenance: Provenance, source: str | None) -> int:
    """Return how many rows of a source have been learnt; none of one without a name.

    >>> n_learnt({"day.csv": LearntRows(500)}, "day.csv"), n_learnt({}, "day.csv")
    (500, 0)
    """
    return provenance[source].n_rows if source in provenance else 0


def with_rows(
    provenance: Provenance, source: str, start: int, stop: int, digest: bytes | None = None
) -> Provenance:
    """Return the provenance after rows ``start`` to ``stop`` (exclusive) of a source, or refuse.

    ``digest`` is that of all rows of the source up to ``stop``.

    >>> morning = with_rows({}, "day.csv", 0, 500)
    >>> with_rows(morning, "day.csv", 500, 900)
    {'day.csv': LearntRows(n_rows=900, digest=None)}
    >>> with_rows(morning, "day.csv", 400, 900)
    Traceback (most recent call last):
        ...
    streamchi2.errors.StateMismatchError: every row must be learnt once: rows 400 to 500 of \
'day.csv' have been learnt already
    """
    if start == stop:
        return provenance
    n_rows = n_learnt(provenance, source)
    if start < n_rows:
        raise StateMismatchError(
            f"every row must be learnt once: rows {start} to {min(stop, n_rows)} of {source!r} "
            "have been learnt already"
        )
    if start > n_rows:
        raise StateMismatchError(
            f"a source must be learnt from its first row on without gaps: got rows {start} to "
            f"{stop} of {source!r} after {n_rows} rows"
        )
    return {**provenance, source: LearntRows(stop, digest)}


def merged_provenance(mine: Provenance, theirs: Provenance) -> Provenance:
    """Return the provenance of two streams together, or refuse sources that both have learnt.

    Both have learnt the first rows of such a source, whatever the digests.

    Law: commutative and associative where it is defined.

    >>> merged_provenance({"monday.csv": LearntRows(9)}, {"monday.csv": LearntRows(5)})
    Traceback (most recent call last):
        ...
    streamchi2.errors.StateMismatchError: every row must be learnt once: both sides have learnt \
the first 5 rows of 'monday.csv'; merge shards of different sources
    """
    for name in mine.keys() & theirs.keys():
        n_rows = min(mine[name].n_rows, theirs[name].n_rows)
        raise StateMismatchError(
            f"every row must be learnt once: both sides have learnt the first {n_rows} rows of "
            f"{name!r}; merge shards of different sources"
        )
    return {**mine, **theirs}


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
