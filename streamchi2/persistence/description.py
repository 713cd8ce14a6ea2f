"""What is in a file, in words: for ``python -m streamchi2 info``."""

from __future__ import annotations

import inspect
import os
import reprlib
import warnings
from collections.abc import Mapping
from typing import Any

from streamchi2.estimators.facts import fitted_facts
from streamchi2.persistence.atomic_file import FilePath, read_file
from streamchi2.persistence.container import FORMAT, Key, unpacked

_MOST_RANGES = 4  # of a source that are written out


def description(path: FilePath, *, key: Key = None) -> dict[str, str]:
    """Return what a file holds: class, parameters, rows, provenance, size and kernel error.

    The whole file is loaded and checked, so that what is said is true of a file that loads.

    Parameters
    ----------
    path : str or path
        A file that :func:`streamchi2.save` or a checkpoint has written.
    key : bytes, optional
        The key under which it was saved.

    Raises
    ------
    FormatError
        If it is foreign, damaged, or saved under another key.
    """
    from streamchi2.persistence import loaded

    n_bytes = os.path.getsize(path)
    data = read_file(path, n_bytes)
    thing = loaded(data, key=key)
    library = unpacked(data, key=key)[0]["library"]
    kind = type(thing)
    front_end = " for river" if kind.__module__.startswith("streamchi2.river.") else ""
    found = {
        "class": f"{kind.__name__}{front_end}",
        "file": f"{n_bytes:,} bytes, format {FORMAT}, written by streamchi2 {library}"
        + (", sealed with a key" if key is not None else ""),
    }
    if not hasattr(thing, "summary"):
        return {**found, "content": repr(thing)}
    found["parameters"] = _changed_params(thing)
    facts = fitted_facts(thing)
    if not facts:
        return {**found, "rows seen": "none, not fitted"}
    found.update(facts)
    found.update(_kernel_error(thing))
    sources = thing._stream.provenance.entries
    found["provenance"] = "; ".join(_source(*entry) for entry in sources) or "not recorded"
    return found


def _changed_params(estimator: Any) -> str:
    """Return the parameters that differ from their defaults, as in a call."""
    changed = []
    short = reprlib.Repr()
    short.maxstring = short.maxother = 60
    for name, parameter in inspect.signature(type(estimator)).parameters.items():
        value = getattr(estimator, name)
        same = type(value) is type(parameter.default) and bool(value == parameter.default)
        if not same and value is not parameter.default:
            changed.append(f"{name}={short.repr(value)}")
    return ", ".join(changed) or "all at their defaults"


def _kernel_error(estimator: Any) -> dict[str, str]:
    if not hasattr(estimator, "kernel_error"):
        return {}
    with warnings.catch_warnings(action="ignore"):
        try:
            error = estimator.kernel_error()
        except ValueError:  # of fewer than two rows
            return {}
    several = error.items() if isinstance(error, Mapping) else [("", error)]
    words = [f"{name} rms {own.rms:.2g}, worst {own.worst:.2g}".strip() for name, own in several]
    return {"kernel error": "; ".join(words)}


def _source(name: str, ranges: Any) -> str:
    n_rows = sum(stop - start for start, stop in ranges)
    shown = ", ".join(f"{start:,} to {stop:,}" for start, stop in ranges[:_MOST_RANGES])
    more = f" and {len(ranges) - _MOST_RANGES} more ranges" if len(ranges) > _MOST_RANGES else ""
    return f"{name}: {n_rows:,} rows ({shown}{more})"
