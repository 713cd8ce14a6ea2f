"""Targets that have names: dicts and frames in, dicts and frames out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river.utils.dataframe import into_frame, to_native_frame

from streamchi2.river.dict_rows import column_names
from streamchi2.stream import Stream


def checked_by_name(y: Any, check: Callable[[Any, str], float]) -> dict[str | int, float]:
    """Return targets by plain names, or refuse them; ``check`` is given each value and its place.

    >>> checked_by_name({np.str_("wave"): 2}, lambda value, where: float(value))
    {'wave': 2.0}
    """
    if not isinstance(y, Mapping):
        raise TypeError(f"y must be a dict with a value for each target, got {y!r}")
    return {_as_name(name): check(value, f" for {name!r}") for name, value in y.items()}


def _as_name(name: Any) -> str | int:
    plain: str | int = name.item() if isinstance(name, np.generic) else name
    if type(plain) not in (str, int):
        raise TypeError(f"names of targets in y must be text or whole numbers, got {name!r}")
    return plain


def dicts_of_frame(y: Any) -> list[dict[Any, Any]]:
    """Return the targets of a frame as one dict a row."""
    frame = into_frame(y)
    names = column_names(frame, "y")
    columns = [frame[:, index].to_list() for index in range(len(names))]
    rows = zip(*columns, strict=True) if columns else [()] * len(frame)
    return [dict(zip(names, row, strict=True)) for row in rows]


def names_of(stream: Stream | None) -> list[Any]:
    """Return the names of the targets of a stream in the order in which they came."""
    return [] if stream is None or stream.targets is None else list(stream.targets.names)


def by_name(stream: Stream | None, values: Sequence[float]) -> list[tuple[Any, float]]:
    """Return each name with its value; those that came after the last solution have zero."""
    names = names_of(stream)
    padded = [*values, *[0.0] * len(names)][
        : len(names)
    ]  # before the first name there is one value
    return list(zip(names, padded, strict=True))


def frame_of(rows: Sequence[NDArray[Any]], names: Sequence[Any], dtype: type, like: Any) -> Any:
    """Return a frame like another: values of rows, zero for names that came after them."""
    values: NDArray[Any] = np.zeros((len(like), len(names)), dtype=dtype)
    for index, row in enumerate(rows):
        values[index, : row.size] = row[: len(names)]
    return to_native_frame(values, columns=list(names), like=like)
