"""Saving and loading: one file, no pickle, nothing in it that could be executed.

A file holds parameters as JSON and arrays as plain bytes, under a digest. Loading refuses whatever
is foreign, damaged or of another format with :class:`~streamchi2.errors.FormatError`. What an
object is made of is declared by its class (see :mod:`streamchi2.saving`).
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from importlib import import_module
from typing import Any

from streamchi2.errors import FormatError
from streamchi2.files.codec import decoded, encoded
from streamchi2.files.container import (
    FilePath,
    Json,
    Key,
    packed,
    read_file,
    replace_file,
    unpacked,
)
from streamchi2.saving import name_of

__all__ = ["MAX_BYTES", "dumped", "load", "loaded", "save"]

MAX_BYTES = 1 << 31  # the scatter of 23000 features, one triangle of it


def save(estimator: Any, path: FilePath, *, key: Key = None) -> None:
    """Save an estimator to a file, replacing it as a whole or not at all.

    The file is written beside its place, forced to the disk and renamed: a crash at any instant
    leaves the old file or the new one. Other threads may go on predicting and learning.

    Parameters
    ----------
    estimator : estimator of this library, or LogHistogram
        Fitted or not, those for river included. ``random_state`` must be an int or None.
    path : str or path
        Where to.
    key : bytes, optional
        A secret. The file is then sealed by HMAC-SHA-256: :func:`load` under the same key refuses
        whatever was written by somebody who does not know it.

    Raises
    ------
    TypeError
        If the object, or something in it, is of a kind that files do not hold. Of a pipeline the
        steps of this library are saved one by one: the message says how.

    Notes
    -----
    Equal states give equal bytes. For a learner of D features a file has about 4 D^2 bytes of
    statistics and 4096 D of sampled rows, for a sampler some hundred rows: maps are saved by their
    seed and nodes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from streamchi2 import LogHistogram, load
    >>> path = pathlib.Path(tempfile.mkdtemp(), "histogram.chi2")
    >>> save(LogHistogram().update([[0.25, 0.75]]), path)
    >>> load(path).n_rows
    1
    """
    replace_file(path, packed(*_written(estimator), key=key))


def load(path: FilePath, *, key: Key = None, max_bytes: int = MAX_BYTES) -> Any:
    """Return what was saved: it continues exactly as the original would.

    Nothing in a file is ever executed, imported or opened. Checked are, in this order: size,
    magic, format number, exact length, digest, shapes, dtypes and values; only then is anything
    returned.

    Parameters
    ----------
    path : str or path
        A file that :func:`save` has written.
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
    >>> load(path)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    streamchi2.errors.FormatError: ...notes.txt: not a streamchi2 file: it begins with b'a file o'
    """
    try:
        return loaded(read_file(path, max_bytes), key=key)
    except FormatError as error:
        raise FormatError(f"{os.fspath(path)!s}: {error}") from None


def dumped(estimator: Any, *, key: Key = None) -> bytes:
    """Return the bytes that :func:`save` would write."""
    return b"".join(packed(*_written(estimator), key=key))


def loaded(data: bytes, *, key: Key = None) -> Any:
    """Return what :func:`dumped` has turned into bytes."""
    tree, body = unpacked(data, key=key)
    if isinstance(tree, dict) and str(tree.get("class")).startswith("river."):
        # Importing river takes a second, which only those who use it should wait.
        import_module("streamchi2.river")
    return decoded(tree, body)


def _written(estimator: Any) -> tuple[Json, list[memoryview]]:
    _refuse_pipeline(estimator)
    with estimator._lock() if hasattr(estimator, "_lock") else nullcontext():
        return encoded(estimator)


def _refuse_pipeline(estimator: Any) -> None:
    """Say what to do with a pipeline, scikit-learn's or river's, whose steps may be foreign."""
    steps = getattr(estimator, "steps", None)
    if name_of(type(estimator)) is None and isinstance(steps, list | dict):
        ours = [name for name, step in dict(steps).items() if name_of(type(step)) is not None]
        raise TypeError(
            f"a {type(estimator).__name__} cannot be saved as a whole, since files hold estimators "
            f"of this library only; save its steps {ours} one by one, the others with joblib or "
            "pickle, and make the pipeline again from what load returns"
        )
