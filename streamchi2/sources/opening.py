"""From what a user calls a source to one that can be read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from numpy.typing import DTypeLike

from streamchi2.provenance import as_source_name
from streamchi2.sources.batches import IterableSource, Source
from streamchi2.sources.file_paths import FilePaths
from streamchi2.validation import as_positive_int


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
    numbers: bool = False,
) -> Source:
    """Return something to read batches from, or refuse.

    Parameters
    ----------
    source : iterable, path, list of paths, DataFrame, pyarrow Dataset or pyarrow Table
        An iterable of X, (X, y) or (X, y, sample_weight); or a Parquet, Feather or CSV file, a
        folder of such, a pattern with ``*``, a list of these, or a table.
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
    numbers : bool, default=False
        Whether targets are numbers, where that is guessed otherwise: in CSV.

    Examples
    --------
    >>> as_source([[[0.5, 0.5]], [[0.1, 0.9], [0.2, 0.8]]]).n_rows
    3
    >>> as_source("rows.xlsx")
    Traceback (most recent call last):
        ...
    ValueError: source must end in .parquet, .pq, .feather, .arrow, .csv or .csv.gz, or be a \
folder of such files, got 'rows.xlsx'; files of other endings are read as CSV if delimiter is given
    """
    as_positive_int(batch_size, name="batch_size")
    if name is not None:
        as_source_name(name)
    files = FilePaths.named_by(source)
    kind = None if files is None else files.format(delimited=delimiter is not None)
    if delimiter is not None:
        _refuse_delimiter(delimiter, kind)
    if files is None and not _may_be_table(source):
        for argument, value in (
            ("target", target),
            ("weight", weight),
            ("columns", columns),
            ("target_dtype", target_dtype),
        ):
            if value is None:
                continue
            if isinstance(source, list | tuple) and not source:
                raise ValueError("source must name at least one file, got an empty list")
            raise TypeError(f"{argument} must be left out unless source is a table, got {value!r}")
        return _as_iterable(source, name)
    # Needs pyarrow, which batches do not.
    from streamchi2.sources.tables import (
        TableSource,
        as_target_type,
        csv_dataset,
        dataset_of,
        file_dataset,
    )

    target_type = as_target_type(target_dtype)
    if numbers and target_type is not None and target_type == as_target_type(str):
        raise TypeError(f"target_dtype must be int or float for a regressor, got {target_dtype!r}")
    if files is None:
        dataset = dataset_of(source)
    elif kind == "csv":
        guessed = as_target_type(float) if numbers else None
        dataset = csv_dataset(
            files.paths,
            target=target,
            weight=weight,
            columns=columns,
            delimiter="," if delimiter is None else delimiter,
            target_type=guessed if target_type is None else target_type,
        )
    else:
        dataset = file_dataset(files.paths, str(kind))
    return TableSource.over(
        dataset,
        target=target,
        weight=weight,
        columns=columns,
        batch_size=batch_size,
        name=name,
        target_type=target_type,
        root=None if files is None else files.root,
        in_order=files is not None,
    )


def _may_be_table(source: Any) -> bool:
    """Tell whether something is a pyarrow Dataset or Table, or a DataFrame that gives one."""
    if hasattr(source, "get_fragments"):
        return True
    # The frames of polars 1.0 know no stream yet.
    arrow = hasattr(source, "__arrow_c_stream__") or hasattr(source, "to_arrow")
    return arrow and hasattr(source, "columns")


def _as_iterable(source: Any, name: str | None) -> IterableSource:
    if hasattr(source, "shape") or not isinstance(source, Iterable):
        raise TypeError(
            "source must be an iterable of batches X, (X, y) or (X, y, sample_weight), a path or a "
            f"list of paths, a DataFrame or a pyarrow Dataset or Table, got a "
            f"{type(source).__name__}"
        )
    return IterableSource(source, name)


def _refuse_delimiter(delimiter: str, kind: str | None) -> None:
    if kind != "csv":
        raise TypeError(f"delimiter must be left out unless source is a file, got {delimiter!r}")
    if not isinstance(delimiter, str) or len(delimiter) != 1:
        raise ValueError(f"delimiter must be one character, got {delimiter!r}")
