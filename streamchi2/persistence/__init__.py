"""Saving and loading: one file, no pickle, nothing in it that could be executed.

A file holds settings as JSON and arrays as plain bytes, under a digest. Loading refuses whatever
is foreign, damaged, too new or inconsistent with :class:`~streamchi2.errors.FormatError`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from streamchi2.errors import FormatError
from streamchi2.persistence import map_records, tracker_records
from streamchi2.persistence.atomic_file import FilePath, read_file, replace_file
from streamchi2.persistence.container import Key, packed, unpacked
from streamchi2.persistence.estimator_records import ESTIMATORS
from streamchi2.persistence.fields import Place
from streamchi2.persistence.tree import OneOf

__all__ = ["MAX_BYTES", "dumped", "load", "loaded", "save"]

MAX_BYTES = 1 << 31  # the scatter of 23000 features

_TRACKERS = (
    tracker_records.HISTOGRAM,
    tracker_records.RESERVOIR,
    tracker_records.MOMENTS,
    tracker_records.TARGET_MOMENTS,
    tracker_records.CLASS_MOMENTS,
    map_records.FEATURE_MAP,
    map_records.ADAPTIVE_MAP,
    map_records.MAPPED_MOMENTS,
)
_ROOTS = OneOf((*ESTIMATORS, *_TRACKERS, map_records.stream_record(*_TRACKERS)))
_RIVER = ("river.ExpChi2Sampler", "river.ExpChi2Classifier", "river.ExpChi2Regressor")


def save(estimator: Any, path: FilePath, *, key: Key = None) -> None:
    """Save an estimator or a tracker to a file, replacing it as a whole or not at all.

    The file is written beside its place, forced to the disk and renamed: a crash at any instant
    leaves the old file or the new one. Other threads may go on predicting and learning.

    Parameters
    ----------
    estimator : estimator or tracker of this library
        Fitted or not, those for river included. ``random_state`` must be an int or None,
        ``drift_detector`` a word or None.
    path : str or path
        Where to.
    key : bytes, optional
        A secret. The file is then sealed by HMAC-SHA-256: :func:`load` under the same key refuses
        whatever was written by somebody who does not know it.

    Raises
    ------
    TypeError
        If the object, or something in it, is of a kind that files do not hold.

    Notes
    -----
    Equal states give equal bytes. A file has about 4 D^2 bytes for a learner of D features, and a
    few kilobytes for a sampler: maps are saved by their seed and landmarks.

    Examples
    --------
    >>> import tempfile
    >>> from streamchi2 import ExpChi2Sampler
    >>> sampler = ExpChi2Sampler(64, random_state=0).fit([[0.2, 0.8], [0.7, 0.3]])
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     save(sampler, file.name)
    ...     twin = load(file.name)
    >>> bool((twin.transform([[0.5, 0.5]]) == sampler.transform([[0.5, 0.5]])).all())
    True
    """
    replace_file(path, packed(*_written(estimator), key=key))


def load(path: FilePath, *, key: Key = None, max_bytes: int = MAX_BYTES) -> Any:
    """Return what was saved: it continues exactly as the original would.

    Nothing in a file is ever executed, imported or opened. Checked are, in this order: size,
    magic, format number, exact length, digest, dtypes, shapes, values, and that the parts agree
    with each other; only then is anything built.

    Parameters
    ----------
    path : str or path
        A file that :func:`save` has written, in this version or an earlier one.
    key : bytes, optional
        The key under which it was saved.
    max_bytes : int, default=2 GiB
        Refuse larger files. Loading takes up to three times the size of the file in memory.

    Raises
    ------
    FormatError
        If the file is not one that may be trusted to be whole.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "notes.txt")
    >>> n_bytes = path.write_bytes(b"a file of another kind")
    >>> load(path)
    Traceback (most recent call last):
        ...
    streamchi2.errors.FormatError: not a streamchi2 file: it begins with b'a file o'
    """
    return loaded(read_file(path, max_bytes), key=key)


def dumped(estimator: Any, *, key: Key = None) -> bytes:
    """Return the bytes that :func:`save` would write.

    >>> from streamchi2 import LogHistogram
    >>> loaded(dumped(LogHistogram().update([1.0, 2.0])))
    LogHistogram(bins_per_octave=64, half_life=None, n_rows=1, total=2, n_zeros=0, low=1.0, \
high=2.03125)
    """
    return b"".join(packed(*_written(estimator), key=key))


def loaded(data: bytes, *, key: Key = None) -> Any:
    """Return what :func:`dumped` has turned into bytes."""
    content, arrays = unpacked(data, key=key)
    if not isinstance(content, dict) or content.keys() != {"library", "object"}:
        raise FormatError("the content must name the library and hold an object")
    place = Place(arrays)
    found = content["object"]
    named = isinstance(found, dict) and found.get("class") in _RIVER
    thing = (_with_river() if named else _ROOTS).read(found, place)
    if place.n_used != len(arrays):
        raise FormatError(f"{len(arrays)} arrays are stored but {place.n_used} are used")
    return thing


def _written(estimator: Any) -> tuple[Any, Any]:
    from streamchi2 import __version__  # complete only after this module

    place = Place()
    named = type(estimator).__module__.startswith("streamchi2.river.")
    tree = (_with_river() if named else _ROOTS).written(estimator, place)
    return {"library": __version__, "object": tree}, place.arrays


@cache
def _with_river() -> OneOf:
    # Importing river takes a second, which only those who use it should wait.
    from streamchi2.persistence.river_records import RIVER_ESTIMATORS

    return OneOf((*_ROOTS.records, *RIVER_ESTIMATORS))
