"""Tables as sources: Parquet, CSV and whatever else a pyarrow Dataset can read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.provenance import Provenance
from streamchi2.sources.batches import Batch
from streamchi2.validation import Table

try:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.dataset
except ImportError as error:  # pragma: no cover
    raise ImportError("reading tables needs pyarrow: pip install 'streamchi2[arrow]'") from error

_CASTS = {pa.bool_(): pa.uint8(), pa.float16(): pa.float32()}  # which tensors do not mix
_PROBE = 1 << 16  # bytes at both ends of a file that, with its size, tell it from others


@dataclass(frozen=True, eq=False)
class TableSource:
    """Batches of a table, file by file in the order of their paths.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        What is read.
    target : str or None
        Column of targets.
    columns : tuple of str
        Columns to learn from.
    batch_size : int
        Rows read at a time.
    name : str or None
        For the provenance, where rows are in memory; files have their own names.
    """

    dataset: Any
    target: str | None
    columns: tuple[str, ...]
    batch_size: int
    name: str | None

    @classmethod
    def over(
        cls,
        dataset: Any,
        target: str | None,
        columns: Sequence[str] | None,
        batch_size: int,
        name: str | None,
    ) -> Self:
        """Return the source, or refuse columns that are not there or hold no numbers."""
        schema = dataset.schema
        if columns is None:
            left_out = {target, *_index_columns(schema)}
            columns = [column for column in schema.names if column not in left_out]
        chosen = _as_column_names(columns, target)
        for column in (*chosen, *(() if target is None else (target,))):
            if schema.names.count(column) != 1:
                raise ValueError(f"source must have one column {column!r}, got {schema.names}")
        for column in chosen:
            _refuse_other_types(column, schema.field(column).type)
        if not chosen:
            raise ValueError("columns must name at least one column, got none")
        return cls(dataset, target, chosen, batch_size, name)

    @cached_property
    def fragments(self) -> tuple[tuple[str | None, Any], ...]:
        """Files with their names in the provenance, or parts of a table in memory."""
        found = list(self.dataset.get_fragments())
        if not all(hasattr(fragment, "path") for fragment in found):
            return tuple((self.name, fragment) for fragment in found)
        found.sort(key=lambda fragment: str(fragment.path))
        return tuple((_name_of(fragment), fragment) for fragment in found)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the files, or the one name of a table in memory."""
        return tuple({name: None for name, _ in self.fragments if name is not None})

    @property
    def n_rows(self) -> int | None:
        """Number of rows; None for text, which would have to be read."""
        text = pyarrow.dataset.CsvFileFormat
        if any(isinstance(getattr(part, "format", None), text) for _, part in self.fragments):
            return None
        return int(self.dataset.count_rows())

    def batches(self, absorbed: Provenance) -> Iterator[Batch]:
        """Return the batches, without the rows at the beginning of files that are absorbed."""
        positions: dict[str | None, int] = {}
        for name, fragment in self.fragments:
            position = positions.get(name, 0)  # parts of one table, and equal files, count on
            n_absorbed = 0 if name is None else absorbed.beginning(name)
            skipped, rest = _without_row_groups(fragment, n_absorbed - position)
            positions[name] = position = position + skipped
            for found in self._read(rest):
                batch_start, position = position, position + found.num_rows
                positions[name] = position
                if found.num_rows and position > n_absorbed:
                    late = max(n_absorbed - batch_start, 0)
                    yield self._batch(found.slice(late), name, batch_start + late)

    def _read(self, fragment: Any) -> Iterator[Any]:
        read = [*self.columns, *(() if self.target is None else (self.target,))]
        try:
            yield from fragment.to_batches(
                schema=self.dataset.schema,
                columns=read,
                batch_size=self.batch_size,
                # One thread of ours reads ahead already; more would only hold more in memory.
                batch_readahead=1,
                fragment_readahead=1,
                fragment_scan_options=_scan_options(fragment),
            )
        except pa.ArrowException as error:  # of types that differ between files, it names none
            error.add_note(f"while reading {getattr(fragment, 'path', 'the table')}")
            raise

    def _batch(self, found: Any, name: str | None, start: int) -> Batch:
        table = found.select(self.columns)
        for place, column in enumerate(table.columns):
            if column.null_count:
                row = start + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
                where = f"row {row} of {name or 'the table'}, column {self.columns[place]!r}"
                raise ValueError(f"X must not be null, got null at {where}")
        rows = Table(_as_array(table), np.array(self.columns, dtype=object))
        if self.target is None:
            return Batch(rows, source=name, start=start)
        targets, given = _as_targets(found.column(self.target))
        return Batch(rows, targets, None, given, name, start)


def dataset_of(source: Any) -> Any:
    """Return the dataset that a pyarrow object is or holds, or None for anything else."""
    if isinstance(source, pyarrow.dataset.Dataset):
        return source
    return pyarrow.dataset.dataset(source) if isinstance(source, pa.Table) else None


def parquet_dataset(path: str) -> Any:
    """Return the dataset of a Parquet file or a folder of such."""
    return pyarrow.dataset.dataset(path, format="parquet")


def csv_dataset(
    path: str, target: str | None, columns: Sequence[str] | None, *, numbers: bool = False
) -> Any:
    """Return the dataset of a CSV file or a folder of such, columns to learn from as float64.

    The type of a column is otherwise guessed from its first rows, and histograms often begin
    with whole numbers. With ``numbers`` the target is float64, too.
    """
    guessed = pyarrow.dataset.dataset(path, format="csv").schema
    if target is not None and target not in guessed.names:
        raise ValueError(f"source must have one column {target!r}, got {guessed.names}")
    learnt = guessed.names if columns is None else columns
    types = {name: pa.float64() for name in learnt if name != target}
    if target is not None and numbers:
        types[target] = pa.float64()
    elif target is not None and pa.types.is_null(guessed.field(target).type):
        types[target] = pa.string()
    options = pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=True)
    kind = pyarrow.dataset.CsvFileFormat(convert_options=options)
    return pyarrow.dataset.dataset(path, format=kind)


def _name_of(fragment: Any) -> str:
    """Return the file's name with a fingerprint, so that equal names in two folders differ."""
    path, digest = str(fragment.path), hashlib.sha256()
    with fragment.filesystem.open_input_file(path) as file:
        size = file.size()
        digest.update(size.to_bytes(8, "little"))
        digest.update(file.read_at(min(size, _PROBE), 0))
        digest.update(file.read_at(min(size, _PROBE), max(size - _PROBE, 0)))
    return f"{path.rsplit('/', 1)[-1]}#{digest.hexdigest()[:16]}"


def _scan_options(fragment: Any) -> Any:
    """Return options that hold less of a row group: fetching all of it at once is for networks."""
    if not isinstance(fragment, pyarrow.dataset.ParquetFileFragment):
        return None
    near = fragment.filesystem.type_name == "local"
    return pyarrow.dataset.ParquetFragmentScanOptions(pre_buffer=not near)


def _without_row_groups(fragment: Any, n_absorbed: int) -> tuple[int, Any]:
    """Return how many rows need not be decoded, and a fragment without them."""
    if n_absorbed <= 0 or not isinstance(fragment, pyarrow.dataset.ParquetFileFragment):
        return 0, fragment
    skipped, kept = 0, list[int]()
    for group in fragment.row_groups:
        if not kept and skipped + group.num_rows <= n_absorbed:
            skipped += group.num_rows
        else:
            kept.append(group.id)
    return skipped, fragment.subset(row_group_ids=kept)


def _index_columns(schema: Any) -> list[str]:
    """Return the columns that hold the index of a DataFrame, which is none of its columns."""
    described = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in described if isinstance(name, str)]  # others are ranges


def _as_column_names(columns: Sequence[str], target: str | None) -> tuple[str, ...]:
    if isinstance(columns, str):
        raise TypeError(f"columns must be a sequence of names, got {columns!r}")
    chosen = tuple(columns)
    if len(set(chosen)) < len(chosen) or target in chosen:
        raise ValueError(
            f"columns must be distinct and not hold the target {target!r}, got {list(chosen)}"
        )
    return chosen


def _refuse_other_types(column: str, kind: Any) -> None:
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise TypeError(
            f"column {column!r} must hold numbers, got {kind}; name the columns to learn from"
        )


def _as_array(table: Any) -> NDArray[Any]:
    """Return the columns of a record batch as rows in one piece."""
    if any(field.type in _CASTS for field in table.schema):
        columns = [
            column.cast(_CASTS[column.type]) if column.type in _CASTS else column
            for column in table.columns
        ]
        table = pa.RecordBatch.from_arrays(columns, names=table.schema.names)
    rows: NDArray[Any] = table.to_tensor(row_major=True).to_numpy()
    return rows


def _as_targets(column: Any) -> tuple[NDArray[Any] | None, NDArray[np.bool_] | None]:
    """Return targets and which rows have one, where not all have; no words are no targets."""
    given = None
    if pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    if column.null_count:
        given = column.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.dictionary_encode()
    if pa.types.is_dictionary(column.type):
        values = np.array(column.dictionary.to_pylist())
        if not values.size:
            return None, None
        codes = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return values[codes], given
    if given is not None:
        column = column.fill_null(False if pa.types.is_boolean(column.type) else 0)
    return column.to_numpy(zero_copy_only=False), given
