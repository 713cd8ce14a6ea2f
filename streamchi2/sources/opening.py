"""From what a user calls a source to one that can be read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from streamchi2.provenance import as_source_name
from streamchi2.sources.batches import IterableSource, Source
from streamchi2.validation import as_positive_int

_FORMATS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".csv.gz": "csv"}


def as_source(
    source: Any,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    batch_size: int = 4096,
    name: str | None = None,
    numbers: bool = False,
) -> Source:
    """Return something to read batches from, or refuse.

    Parameters
    ----------
    source : iterable, path, pyarrow Dataset or pyarrow Table
        An iterable of X, (X, y) or (X, y, sample_weight); or a Parquet or CSV file, a folder of
        such, or a table.
    target : str, optional
        Name of the column of targets in a table; null means that a row has none.
    columns : sequence of str, optional
        Names of the columns to learn from; by default all others.
    batch_size : int, default=4096
        Rows that are read from a table at a time.
    name : str, optional
        What the provenance calls rows of a source that is no file.
    numbers : bool, default=False
        Whether targets are numbers, where that is guessed otherwise: in text.

    Examples
    --------
    >>> as_source([[[0.5, 0.5]], [[0.1, 0.9], [0.2, 0.8]]]).n_rows
    3
    >>> as_source("rows.xlsx")
    Traceback (most recent call last):
        ...
    ValueError: source must end in .parquet, .pq, .csv or .csv.gz, or be a folder of such files, \
got 'rows.xlsx'
    """
    as_positive_int(batch_size, name="batch_size")
    if name is not None:
        as_source_name(name)
    dataset = _as_dataset(source, target, columns, numbers=numbers)
    if dataset is not None:
        from streamchi2.sources.tables import TableSource

        return TableSource.over(dataset, target, columns, batch_size, name)
    for word, value in (("target", target), ("columns", columns)):
        if value is not None:
            raise TypeError(f"{word} must be left out unless source is a table, got {value!r}")
    if hasattr(source, "shape") or not isinstance(source, Iterable):
        raise TypeError(
            "source must be an iterable of batches X, (X, y) or (X, y, sample_weight), a path or a "
            f"pyarrow Dataset or Table, got a {type(source).__name__}"
        )
    return IterableSource(source, name)


def _as_dataset(
    source: Any, target: str | None, columns: Sequence[str] | None, *, numbers: bool
) -> Any:
    """Return a pyarrow Dataset, or None where there is no table."""
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        kind = _format_of(path)
        from streamchi2.sources.tables import csv_dataset, parquet_dataset

        if kind == "parquet":
            return parquet_dataset(path)
        return csv_dataset(path, target, columns, numbers=numbers)
    if "pyarrow" not in sys.modules:  # then it cannot be one of its tables
        return None
    from streamchi2.sources.tables import dataset_of

    return dataset_of(source)


def _format_of(path: str) -> str:
    folder = Path(path)
    files = [path]
    if folder.is_dir():
        files = [str(file) for file in sorted(folder.rglob("*")) if _is_shown(file, folder)]
    kinds = {_FORMATS.get(_suffix(file)) for file in files}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is None:
        raise ValueError(
            "source must end in .parquet, .pq, .csv or .csv.gz, or be a folder of such files, "
            f"got {path!r}"
        )
    return kind


def _is_shown(file: Path, folder: Path) -> bool:
    # As pyarrow has it: what begins with a dot or an underscore is no data.
    return file.is_file() and not any(
        part.startswith((".", "_")) for part in file.relative_to(folder).parts
    )


def _suffix(file: str) -> str:
    ending = "".join(Path(file).suffixes[-2:]).lower()
    return ending if ending in _FORMATS else Path(file).suffix.lower()
