"""Saving and loading: one file, no pickle, nothing in it that could be executed.

A file holds parameters as JSON and arrays as plain bytes, under a digest. Loading refuses whatever
is foreign, damaged, of another format or inconsistent with
:class:`~streamchi2.errors.FormatError`. What an object is made of is declared by its class (see
:mod:`streamchi2.state`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

from streamchi2.errors import FormatError
from streamchi2.estimators.classifier import ExpChi2Classifier
from streamchi2.estimators.pca import ExpChi2PCA
from streamchi2.estimators.regressor import ExpChi2Regressor
from streamchi2.estimators.sampler import ExpChi2Sampler
from streamchi2.estimators.streaming_pca import StreamingPCA
from streamchi2.estimators.streaming_ridge import StreamingRidge
from streamchi2.estimators.streaming_ridge_classifier import StreamingRidgeClassifier
from streamchi2.feature_map import FeatureMap
from streamchi2.persistence.atomic_file import FilePath, read_file, replace_file
from streamchi2.persistence.container import Key, packed, unpacked
from streamchi2.state import Archive, Object, Saved
from streamchi2.statistics.log_histogram import LogHistogram
from streamchi2.statistics.reservoir import Reservoir
from streamchi2.stream import Stream

__all__ = ["MAX_BYTES", "dumped", "load", "loaded", "save"]

MAX_BYTES = 1 << 31  # the scatter of 23000 features

# What a file may hold.
_CLASSES: tuple[type[Saved], ...] = (
    ExpChi2Sampler,
    ExpChi2PCA,
    ExpChi2Classifier,
    ExpChi2Regressor,
    StreamingPCA,
    StreamingRidge,
    StreamingRidgeClassifier,
    LogHistogram,
    Reservoir,
    FeatureMap,
    Stream,
)


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
    Equal states give equal bytes. A file has about 4 D^2 bytes for a learner of D features, and a
    few kilobytes for a sampler: maps are saved by their seed and nodes.

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
    with each other; only then is anything returned.

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
    archive, found = Archive(arrays), content["object"]
    name = found.get("class") if isinstance(found, dict) else None
    thing = _root(isinstance(name, str) and name.startswith("river.")).load(found, archive)
    if archive.n_used != len(arrays):
        raise FormatError(f"{len(arrays)} arrays are stored but {archive.n_used} are used")
    return thing


def _written(estimator: Any) -> tuple[Any, Any]:
    from streamchi2 import __version__  # complete only after this module

    _refuse_pipeline(estimator)
    archive = Archive()
    named = type(estimator).__module__.startswith("streamchi2.river.")
    tree = _root(named).dump(estimator, archive)
    return {"library": __version__, "object": tree}, archive.arrays


def _refuse_pipeline(estimator: Any) -> None:
    """Say what to do with a pipeline, scikit-learn's or river's, whose steps may be foreign."""
    steps = getattr(estimator, "steps", None)
    if isinstance(estimator, Saved) or not isinstance(steps, list | dict):
        return
    named = dict(steps)
    own = [name for name, step in named.items() if isinstance(step, Saved)]
    kind = type(estimator).__name__
    if not own:
        raise TypeError(
            f"a {kind} cannot be saved here: none of its steps is of this library; use joblib or "
            "pickle"
        )
    others = [name for name in named if name not in own]
    calls = ", ".join(f"save(pipeline[{name!r}], path)" for name in own)
    rest = f", keep {others} with joblib or pickle" if others else ""
    raise TypeError(
        f"a {kind} cannot be saved as a whole, since files hold estimators of this library only: "
        f"{calls}{rest}, and make the pipeline again from what load returns"
    )


@cache
def _root(named: bool) -> Object:
    """Return what a file may hold; ``named`` says whether it is of river's estimators."""
    if not named:
        return Object(_CLASSES)
    # Importing river takes a second, which only those who use it should wait.
    import streamchi2.river as online

    classes = (
        online.ExpChi2Sampler,
        online.ExpChi2Classifier,
        online.ExpChi2Regressor,
        online.ExpChi2MultiLabelClassifier,
        online.ExpChi2MultiTargetRegressor,
    )
    return Object(classes)
