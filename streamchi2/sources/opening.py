"""From what a user calls a source to one that can be read."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import DTypeLike

from streamchi2.checks.params import as_positive_int
from streamchi2.provenance import as_source_name
from streamchi2.sources.batches import Source, as_batch, iterable_batches

_FORMATS = {
    "parquet": (".parquet", ".pq"),
    "feather": (".feather", ".arrow"),
    "csv": (".csv", ".csv.gz"),
    "json": (".jsonl", ".ndjson"),
}


def as_source(
    source: Any,
    *,
    target: str | None = None,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    target_dtype: DTypeLike | None = None,
    batch_size: int = 4096,
    name: str | None = None,
) -> Source:
    """Return something to read batches from, or refuse.

    Parameters
    ----------
    source : iterable, path, list of paths, DataFrame, pyarrow Dataset or pyarrow Table
        An iterable of X, (X, y) or (X, y, sample_weight); or a file of Parquet, Feather, CSV or
        JSON lines, a folder of such, a pattern with ``*``, a list of these, or a table.
    target : str, optional
        Name of the column of targets in a table; null means that a row has none.
    weight : str, optional
        Name of the column of weights in a table.
    columns : sequence of str, optional
        Names of the columns to learn from; by default all others that have a name.
    delimiter : str, optional
        What stands between the cells of a CSV file, by default a comma. With it, files of any
        ending are read as CSV.
    target_dtype : dtype, optional
        What targets of a table are read as: str, int or float. By default what they are, which
        in CSV is guessed.
    batch_size : int, default=4096
        Rows that are read from a table at a time.
    name : str, optional
        What the provenance calls the rows. Files are then called by it and their path below the
        folder or pattern, without it by their name and a digest of their whole path.

    Examples
    --------
    >>> as_source([[[0.5, 0.5]], [[0.1, 0.9], [0.2, 0.8]]]).n_rows
    3
    >>> as_source("rows.xlsx")
    Traceback (most recent call last):
        ...
    ValueError: source must name files of one format: .parquet, .pq; or .feather, .arrow; or .csv, \
.csv.gz; or .jsonl, .ndjson; got ['rows.xlsx']; files of other endings are read as CSV if \
delimiter is given
    """
    as_positive_int(batch_size, name="batch_size")
    if name is not None:
        as_source_name(name)
    files = _files_of(source)
    if delimiter is not None and (files is None or len(str(delimiter)) != 1):
        raise ValueError(
            "delimiter must be one character, and left out unless source is a file, got "
            f"{delimiter!r}"
        )
    if files is None and not _may_be_table(source):
        options = {"target": target, "weight": weight, "columns": columns}
        return _iterable_source(source, name, {**options, "target_dtype": target_dtype})
    paths, root = files or ([], None)
    kind = "csv" if files is None or delimiter is not None else _format_of(paths)
    from streamchi2.sources import tables  # needs pyarrow, which batches do not

    target_type = None if target_dtype is None else tables.as_target_type(target_dtype)
    if files is None:
        dataset = tables.dataset_of(source)
    else:
        dataset = tables.file_dataset(paths, kind, delimiter or ",", target, target_type)
    chosen = tables.chosen_columns(dataset.schema, target, weight, columns)
    table = tables.TableReader(dataset, target, weight, chosen, target_type, batch_size, name, root)
    names = tuple(part.name for part in table.parts if part.name is not None)
    return Source(table.batches, names, table.n_rows, may_name_target=True)


def _may_be_table(source: Any) -> bool:
    """Tell whether something is a pyarrow Dataset or Table, or a DataFrame that gives one."""
    # The frames of polars 1.0 have no Arrow stream yet.
    to_table = hasattr(source, "__arrow_c_stream__") or hasattr(source, "to_arrow")
    return (to_table and hasattr(source, "columns")) or hasattr(source, "get_fragments")


def _iterable_source(source: Any, name: str | None, options: dict[str, Any]) -> Source:
    if hasattr(source, "shape") or not isinstance(source, Iterable):
        raise TypeError(
            "source must be an iterable of batches X, (X, y) or (X, y, sample_weight), a path or a "
            f"list of paths, a DataFrame or a pyarrow Dataset or Table, got a "
            f"{type(source).__name__}"
        )
    given = [argument for argument, value in options.items() if value is not None]
    if given:
        raise TypeError(
            f"{given[0]} must be left out unless source is a table, got {options[given[0]]!r} and "
            f"a {type(source).__name__}"
        )
    is_list = isinstance(source, Sequence)
    n_rows = sum(as_batch(item, None, 0).n_rows for item in source) if is_list else None
    names = () if name is None else (name,)
    return Source(partial(iterable_batches, source, name), names, n_rows)


def _files_of(source: Any) -> tuple[list[str], str | None] | None:
    """Return the files that a source stands for, or None where it stands for none.

    Those of a folder or a pattern come in the order of their paths, with the folder that they were
    looked for in; those of a list as they are listed. A single path may be an address.
    """
    if isinstance(source, str | os.PathLike):
        return _files_at(os.fspath(source))
    if not isinstance(source, list | tuple) or not source:
        return None
    if not all(isinstance(path, str | os.PathLike) for path in source):
        return None
    return [path for part in source for path in _files_at(os.fspath(part))[0]], None


def _files_at(path: str) -> tuple[list[str], str | None]:
    is_folder = os.path.isdir(path)
    if not is_folder and (os.path.exists(path) or not glob.has_magic(path)):
        return [path], None
    pattern = os.path.join(glob.escape(path), "**", "*") if is_folder else path
    root = path if is_folder else os.path.dirname(re.split(r"[*?[]", path)[0])
    matches = sorted(file for file in glob.glob(pattern, recursive=True) if os.path.isfile(file))
    # A link to another one is that one: its rows are learnt once.
    by_file = {
        (state.st_dev, state.st_ino): file for file in matches[::-1] for state in [os.stat(file)]
    }
    paths = sorted(by_file.values())
    if is_folder:  # as pyarrow has it, what begins with an underscore or a dot is no data
        paths = [file for file in paths if f"{os.sep}_" not in file[len(root.rstrip(os.sep)) :]]
    if not paths:
        raise FileNotFoundError(f"source must hold or match at least one file, got {path!r}")
    return paths, os.path.abspath(root)


def _format_of(paths: list[str]) -> str:
    """Return what kind of files these are, all of them, or refuse.

    >>> _format_of(["monday.csv", "tuesday.CSV.gz"])
    'csv'
    """
    for kind, endings in _FORMATS.items():
        if all(path.lower().endswith(endings) for path in paths):
            return kind
    formats = "; or ".join(", ".join(endings) for endings in _FORMATS.values())
    examples = [*{Path(path).suffix: path for path in paths}.values()]
    raise ValueError(
        f"source must name files of one format: {formats}; got {examples}; files of other "
        "endings are read as CSV if delimiter is given"
    )
