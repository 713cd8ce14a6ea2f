"""Tables as sources: Parquet, CSV, Feather and whatever else a pyarrow Dataset can read."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from streamchi2.errors import StateMismatchError
from streamchi2.provenance import (
    Provenance,
    as_source_name,
    file_source_name,
    n_learnt,
    shown_name,
)
from streamchi2.sources.batches import Batch
from streamchi2.sources.row_digest import RowDigest
from streamchi2.validation import Table

try:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.dataset
except ImportError as error:  # pragma: no cover
    raise ImportError("reading tables needs pyarrow: pip install 'streamchi2[arrow]'") from error

_CASTS = {pa.bool_(): pa.uint8(), pa.float16(): pa.float32()}  # which tensors do not mix
_TARGET_TYPES = {"U": pa.string(), "i": pa.int64(), "u": pa.uint64(), "f": pa.float64()}
_UNNAMED = re.compile(r"|Unnamed: \d+")  # how pandas writes an index to CSV, and reads it


@dataclass(frozen=True, eq=False)
class Part:
    """What is read from its first row to its last: a file, or a table in memory.

    Parameters
    ----------
    name : str or None
        For the provenance.
    place : str
        What errors call it.
    fragments : list of pyarrow.dataset.Fragment
        Its pieces in order.
    """

    name: str | None
    place: str
    fragments: list[Any]


@dataclass(frozen=True, eq=False)
class TableSource:
    """Batches of a table, file by file.

    The provenance knows a file by its name and path, or by ``name`` and its path below ``root``,
    and keeps a digest of the rows that were read. Where some were absorbed before, they are read
    and compared before any that follow: a file that grew is gone on with, one that was rewritten
    is refused.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        What is read.
    target, weight : str or None
        Columns of targets and of weights.
    columns : tuple of str
        Columns to learn from.
    batch_size : int
        Rows read at a time.
    name : str or None
        For the provenance.
    target_type : pyarrow.DataType or None
        What targets are made to be.
    root : str or None
        Folder below which ``name`` holds; None takes the names of files alone.
    in_order : bool
        Whether files are read as they come, else in the order of their paths.
    """

    dataset: Any
    target: str | None
    weight: str | None
    columns: tuple[str, ...]
    batch_size: int
    name: str | None
    target_type: Any
    root: str | None
    in_order: bool

    @classmethod
    def over(
        cls,
        dataset: Any,
        *,
        target: str | None,
        weight: str | None,
        columns: Sequence[str] | None,
        batch_size: int,
        name: str | None,
        target_type: Any,
        root: str | None,
        in_order: bool,
    ) -> Self:
        """Return the source, or refuse columns that are not there or hold no numbers."""
        schema = dataset.schema
        others = [column for column in (target, weight) if column is not None]
        if columns is None:
            left_out = {*others, *_index_columns(schema), *_unnamed_columns(schema, others)}
            columns = [column for column in schema.names if column not in left_out]
        chosen = _as_column_names(columns, others)
        for column in (*chosen, *others):
            _refuse_missing(column, schema.names)
        for column in (*chosen, *(() if weight is None else (weight,))):
            _refuse_other_types(column, schema.field(column).type)
        if not chosen:
            raise ValueError("columns must name at least one column, got none")
        source = cls(dataset, target, weight, chosen, batch_size, name, target_type, root, in_order)
        _refuse_repeated_names(source.parts)
        return source

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Files, or the one table in memory."""
        found = list(self.dataset.get_fragments())
        if not all(hasattr(fragment, "path") for fragment in found):
            return (Part(self.name, self.name or "the table", found),)
        if not self.in_order:
            found.sort(key=lambda fragment: str(fragment.path))
        return tuple(
            Part(self._file_name(fragment), str(fragment.path), [fragment]) for fragment in found
        )

    def _file_name(self, fragment: Any) -> str:
        path, kind = str(fragment.path), fragment.filesystem.type_name
        if kind == "local":
            path = os.path.abspath(path).replace(os.sep, "/")
        if self.name is None:
            return file_source_name(path if kind == "local" else f"{kind}:{path}")
        below = path.rsplit("/", 1)[-1]
        if self.root is not None and kind == "local":
            below = os.path.relpath(path, self.root).replace(os.sep, "/")
        return as_source_name(f"{self.name}/{below}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the files, or the one name of a table in memory."""
        return tuple(part.name for part in self.parts if part.name is not None)

    @property
    def n_rows(self) -> int | None:
        """Number of rows; None for text, which would have to be read."""
        if isinstance(getattr(self.dataset, "format", None), pyarrow.dataset.CsvFileFormat):
            return None
        return int(self.dataset.count_rows())

    def batches(self, absorbed: Provenance) -> Iterator[Batch]:
        """Return the batches, without the rows at the beginning of files that are absorbed."""
        elsewhere = self._elsewhere(absorbed)
        for part in self.parts:
            name = part.name
            if name is not None and name not in absorbed:
                name = self._moved_from(part, absorbed, elsewhere.get(shown_name(name), []))
            yield from self._batches_of(part, name, absorbed)

    def _batches_of(self, part: Part, name: str | None, absorbed: Provenance) -> Iterator[Batch]:
        n_absorbed = n_learnt(absorbed, name)
        expected = absorbed[name].digest if name in absorbed else None
        digest, position = RowDigest(), 0
        for found in self._read(part):
            for piece in _cut(found, n_absorbed - position):
                batch = self._batch(piece, part.place, position)
                position += batch.n_rows
                if name is not None:
                    before, digest = digest, _updated(digest, batch)
                    after = digest.digest()
                if position > n_absorbed:
                    yield batch if name is None else _named(batch, name, before, after)
                elif position == n_absorbed and expected not in (None, after):
                    raise _rewritten(part, n_absorbed, "other ones now")
        if position < n_absorbed:
            raise _rewritten(part, n_absorbed, f"{position} rows now")

    def _elsewhere(self, absorbed: Provenance) -> dict[str, list[str]]:
        """Return names of files that were absorbed and are not here, by what they are called."""
        here, found = set(self.names), dict[str, list[str]]()
        for name in absorbed:
            if name not in here and absorbed[name].digest is not None and "#" in name:
                found.setdefault(shown_name(name), []).append(name)
        return found

    def _moved_from(self, part: Part, absorbed: Provenance, names: list[str]) -> str | None:
        """Return the name under which a file was absorbed in another folder, or its own.

        A name that is found is taken off ``names``: a second copy is another file.
        """
        lengths = {absorbed[name].n_rows: name for name in names}
        known = {absorbed[name].digest: name for name in names}
        digest, position = RowDigest(), 0
        for found in self._read(part) if lengths else ():
            rest = found
            while rest.num_rows:
                stops = [length - position for length in lengths if length > position]
                if not stops:
                    return part.name
                piece, rest = rest.slice(0, min(stops)), rest.slice(min(stops))
                digest = _updated(digest, self._batch(piece, part.place, position))
                position += piece.num_rows
                name = known.get(digest.digest())
                if name is not None and absorbed[name].n_rows == position:
                    names.remove(name)
                    return name
        return part.name

    def _read(self, part: Part) -> Iterator[Any]:
        """Return the record batches of a file or table that hold rows."""
        read = [*self.columns, *(name for name in (self.target, self.weight) if name is not None)]
        for fragment in part.fragments:
            try:
                for found in fragment.to_batches(
                    schema=self.dataset.schema,
                    columns=read,
                    batch_size=self.batch_size,
                    # One thread of ours reads ahead already; more would only hold more in memory.
                    batch_readahead=1,
                    fragment_readahead=1,
                    fragment_scan_options=_scan_options(fragment),
                ):
                    if found.num_rows:
                        yield found
            except pa.ArrowException as error:  # of types that differ between files, it names none
                error.add_note(f"while reading {part.place}")
                if self.target is not None and "conversion error" in str(error):
                    error.add_note(
                        "labels that are numbers in some rows only need target_dtype=str"
                    )
                raise

    def _batch(self, found: Any, place: str, start: int) -> Batch:
        table = found.select(self.columns)
        _refuse_nulls(table, "X", place, start)
        rows = Table(_as_array(table), np.array(self.columns, dtype=object))
        targets = given = weights = None
        if self.target is not None:
            targets, given = _as_targets(found.column(self.target), self.target_type)
        if self.weight is not None:
            _refuse_nulls(found.select([self.weight]), "weight", place, start)
            weights = found.column(self.weight).cast(pa.float64()).to_numpy(zero_copy_only=False)
        return Batch(rows, targets, weights, given, None, start, place)


def _updated(digest: RowDigest, batch: Batch, n_rows: int | None = None) -> RowDigest:
    cut = batch if n_rows is None else batch.part(0, n_rows)
    return digest.copy().update(cut.rows.rows, cut.targets, cut.given, cut.weights)


def _named(batch: Batch, name: str, before: RowDigest, after: bytes) -> Batch:
    """Return a batch with what the provenance needs of it."""

    def digest_after(n_rows: int) -> bytes:
        # Part of a batch is recorded after Ctrl-C alone, so only then is it hashed again.
        return after if n_rows == batch.n_rows else _updated(before, batch, n_rows).digest()

    return replace(batch, source=name, digest_after=digest_after)


def _cut(found: Any, n_rows: int) -> tuple[Any, ...]:
    if 0 < n_rows < found.num_rows:
        return found.slice(0, n_rows), found.slice(n_rows)
    return (found,)


def _rewritten(part: Part, n_absorbed: int, found: str) -> StateMismatchError:
    return StateMismatchError(
        f"{part.place} must begin with the {n_absorbed} rows that have been learnt from it, got "
        f"{found}: it was rewritten, or is read with another target, weight or columns; learn "
        "afresh with forget=True (and without the old checkpoint), or give it another name or "
        "source_name if its rows are new"
    )


def dataset_of(source: Any) -> Any:
    """Return the dataset that a pyarrow object or a DataFrame is or holds, or None."""
    if isinstance(source, pyarrow.dataset.Dataset):
        return source
    if hasattr(source, "to_arrow"):  # polars, whose stream has types that few functions know
        source = source.to_arrow()
    elif hasattr(source, "__arrow_c_stream__") and hasattr(source, "columns"):
        source = pa.table(source)
    return pyarrow.dataset.dataset(source) if isinstance(source, pa.Table) else None


def file_dataset(paths: str | list[str], kind: str) -> Any:
    """Return the dataset of Parquet or Feather files."""
    return pyarrow.dataset.dataset(paths, format=kind)


def csv_dataset(
    paths: str | list[str],
    *,
    target: str | None,
    weight: str | None = None,
    columns: Sequence[str] | None = None,
    delimiter: str = ",",
    target_type: Any = None,
) -> Any:
    """Return the dataset of CSV files, columns to learn from and weights as float64.

    The type of a column is otherwise guessed from its first rows, and histograms often begin
    with whole numbers. So is that of the target unless ``target_type`` says what it is.
    """
    parsed = pyarrow.csv.ParseOptions(delimiter=delimiter)
    kind = pyarrow.dataset.CsvFileFormat(parse_options=parsed)
    guessed = pyarrow.dataset.dataset(paths, format=kind).schema
    for name in (target, weight):
        if name is not None:
            _refuse_missing(name, guessed.names)
    learnt = guessed.names if columns is None else columns
    types = {name: pa.float64() for name in (*learnt, weight) if name not in (target, None)}
    if target is not None and target_type is not None:
        types[target] = target_type
    elif target is not None and pa.types.is_null(guessed.field(target).type):
        types[target] = pa.string()
    options = pyarrow.csv.ConvertOptions(column_types=types, strings_can_be_null=True)
    kind = pyarrow.dataset.CsvFileFormat(parse_options=parsed, convert_options=options)
    return pyarrow.dataset.dataset(paths, format=kind)


def as_target_type(dtype: DTypeLike | None) -> Any:
    """Return the type that targets are read as, or None for the one they have.

    >>> as_target_type(str), as_target_type("int32")
    (DataType(string), DataType(int64))
    >>> as_target_type(complex)
    Traceback (most recent call last):
        ...
    TypeError: target_dtype must be str, int, float or None, got <class 'complex'>
    """
    if dtype is None:
        return None
    try:
        kind = "U" if isinstance(dtype, str) and dtype == "string" else np.dtype(dtype).kind
        return _TARGET_TYPES[kind]
    except (TypeError, KeyError):
        raise TypeError(f"target_dtype must be str, int, float or None, got {dtype!r}") from None


def _scan_options(fragment: Any) -> Any:
    """Return options that hold less of a row group: fetching all of it at once is for networks."""
    if not isinstance(fragment, pyarrow.dataset.ParquetFileFragment):
        return None
    near = fragment.filesystem.type_name == "local"
    return pyarrow.dataset.ParquetFragmentScanOptions(pre_buffer=not near)


def _index_columns(schema: Any) -> list[str]:
    """Return the columns that hold the index of a DataFrame, which is none of its columns."""
    described = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in described if isinstance(name, str)]  # others are ranges


def _unnamed_columns(schema: Any, others: list[str]) -> list[str]:
    found = [name for name in schema.names if _UNNAMED.fullmatch(name) and name not in others]
    if found:
        warnings.warn(
            f"columns without a name, as pandas writes an index, are left out: {found}; name the "
            "columns to learn from to learn from these, too, or write the file with index=False",
            stacklevel=_levels_to_caller(),
        )
    return found


def _levels_to_caller() -> int:
    """Return the level at which a warning names whoever called this package, however deep."""
    level, frame = 0, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(
        "streamchi2."
    ):
        level, frame = level + 1, frame.f_back
    return level + 1


def _as_column_names(columns: Sequence[str], others: list[str]) -> tuple[str, ...]:
    if isinstance(columns, str):
        raise TypeError(f"columns must be a sequence of names, got {columns!r}")
    chosen = tuple(columns)
    if len({*chosen, *others}) < len(chosen) + len(others):
        raise ValueError(
            f"columns must be distinct and not hold the target or the weight {others}, got "
            f"{list(chosen)}"
        )
    return chosen


def _refuse_missing(column: str, names: list[str]) -> None:
    if names.count(column) != 1:
        hint = "; is delimiter right?" if len(names) == 1 else ""
        raise ValueError(f"source must have one column {column!r}, got {names}{hint}")


def _refuse_repeated_names(parts: tuple[Part, ...]) -> None:
    seen = dict[str, str]()
    for part in parts:
        if part.name is not None and seen.setdefault(part.name, part.place) != part.place:
            raise ValueError(
                f"files must have different names if source_name is given, got {seen[part.name]} "
                f"and {part.place}; leave source_name out to know them by their paths"
            )


def _refuse_nulls(table: Any, what: str, place: str, start: int) -> None:
    for name, column in zip(table.schema.names, table.columns, strict=True):
        if column.null_count:
            row = start + int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
            raise ValueError(
                f"{what} must not be null, got null at row {row} of {place}, column {name!r}"
            )


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


def _as_targets(
    column: Any, target_type: Any
) -> tuple[NDArray[Any] | None, NDArray[np.bool_] | None]:
    """Return targets and which rows have one, where not all have; no text is no target."""
    given = None
    if target_type is not None and column.type != target_type:
        column = column.cast(target_type)
    if pa.types.is_null(column.type):
        column = column.cast(pa.float64())
    if column.null_count:
        given = column.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = column.dictionary_encode()
    if pa.types.is_dictionary(column.type):
        words = column.dictionary.to_pylist()
        # Fixed width loses what text ends with if that is NUL.
        exact = any(isinstance(word, str) and word.endswith("\0") for word in words)
        values = np.array(words, dtype=object if exact else None)
        if not values.size:
            return None, None
        codes = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
        return values[codes], given
    if given is not None:
        column = column.fill_null(False if pa.types.is_boolean(column.type) else 0)
    return column.to_numpy(zero_copy_only=False), given
