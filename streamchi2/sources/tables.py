"""Tables as sources: Parquet, Feather, CSV, JSON lines and whatever a pyarrow Dataset reads."""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from streamchi2.checks.rows import Table
from streamchi2.errors import StateMismatchError
from streamchi2.provenance import (
    DIGEST_SIZE,
    LearntRows,
    Provenance,
    as_source_name,
    file_source_name,
)
from streamchi2.sources.batches import Batch

try:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.dataset as ds
except ImportError as error:  # pragma: no cover
    raise ImportError("reading tables needs pyarrow: pip install 'streamchi2[arrow]'") from error

_UNNAMED = re.compile(r"|Unnamed: \d+")  # how pandas writes an index to CSV, and reads it


class Part(NamedTuple):
    """What is read from its first row to its last: a file, or a table in memory.

    Parameters
    ----------
    name : str or None
        For the provenance.
    shown_as : str
        What errors call it.
    fragments : list of pyarrow.dataset.Fragment
        Its pieces in order.
    """

    name: str | None
    shown_as: str
    fragments: list[Any]


@dataclass(frozen=True, eq=False)
class TableReader:
    """Reader of a table in batches, file by file.

    The provenance names a file by its name and path, or by ``name`` and its path below ``root``,
    and keeps a digest of the rows that were read. Where some were learnt before, they are read
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
    target_type : pyarrow.DataType or None
        What targets are made to be.
    batch_size : int
        Rows read at a time.
    name : str or None
        For the provenance.
    root : str or None
        Folder below which ``name`` holds; None takes the names of files alone.
    """

    dataset: Any
    target: str | None
    weight: str | None
    columns: tuple[str, ...]
    target_type: Any
    batch_size: int
    name: str | None
    root: str | None

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Files, or the one table in memory."""
        fragments = list(self.dataset.get_fragments())
        if not all(hasattr(fragment, "path") for fragment in fragments):
            return (Part(self.name, self.name or "the table", fragments),)
        parts = tuple(Part(self._file_name(file), str(file.path), [file]) for file in fragments)
        counts = Counter(part.name for part in parts)
        repeated = [part.shown_as for part in parts if counts[part.name] > 1]
        if repeated:
            raise ValueError(
                f"every file must be named once, got {repeated}; under source_name files of "
                "several folders need one folder or pattern above them"
            )
        return parts

    def _file_name(self, fragment: Any) -> str:
        path = str(fragment.path)
        if fragment.filesystem.type_name == "local":
            path = os.path.abspath(path).replace(os.sep, "/")
        if self.name is None:
            return file_source_name(path)
        below = os.path.basename(path) if self.root is None else os.path.relpath(path, self.root)
        return as_source_name(f"{self.name}/{below}".replace(os.sep, "/"))

    @property
    def n_rows(self) -> int | None:
        """Number of rows; None for text, which would have to be read."""
        text = (ds.CsvFileFormat, ds.JsonFileFormat)
        is_text = isinstance(getattr(self.dataset, "format", None), text)
        return None if is_text else int(self.dataset.count_rows())

    def batches(self, learnt: Provenance) -> Generator[Batch]:
        """Yield the batches, without the rows at the beginning of files that were learnt."""
        for part in self.parts:
            before = learnt.get(part.name or "", LearntRows(0))
            stop = 0
            for batch in self._read(part, before.n_rows):
                stop = batch.start + batch.n_rows
                if batch.start >= before.n_rows:
                    yield batch
                elif stop == before.n_rows and before.digest not in (None, batch.digest):
                    raise _rewritten(part, before.n_rows, "other ones now")
            if stop < before.n_rows:
                raise _rewritten(part, before.n_rows, f"{stop} rows now")

    def _read(self, part: Part, end: int) -> Iterator[Batch]:
        """Yield the rows of a part in batches, one of which ends at a position."""
        hashed, start = hashlib.sha256(), 0
        for table in self._record_batches(part):
            inside = [end - start] if 0 < end - start < table.num_rows else []
            for first, stop in pairwise([0, *inside, table.num_rows]):
                batch = self._batch(table.slice(first, stop - first), part, start)
                start += batch.n_rows
                if part.name is not None:
                    hashed.update(hashed_rows(batch).data)
                    batch = replace(batch, digest=hashed.digest()[:DIGEST_SIZE])
                yield batch

    def _record_batches(self, part: Part) -> Iterator[Any]:
        others = [name for name in (self.target, self.weight) if name is not None]
        for fragment in part.fragments:
            try:
                for table in fragment.to_batches(
                    schema=self.dataset.schema,
                    columns=[*self.columns, *others],
                    batch_size=self.batch_size,
                    # One thread of ours reads ahead already; more would only hold more in memory.
                    batch_readahead=1,
                    fragment_readahead=1,
                ):
                    if table.num_rows:
                        yield table
            except pa.ArrowException as error:  # which names no file
                error.add_note(f"while reading {part.shown_as}")
                if self.target is not None:
                    error.add_note("labels that are numbers in some rows need target_dtype=str")
                raise

    def _batch(self, table: Any, part: Part, start: int) -> Batch:
        # Nulls become nan, which whoever learns refuses with row and column.
        rows = Table(_as_array(table.select(self.columns)), np.array(self.columns, dtype=object))
        targets = given = weights = None
        if self.target is not None:
            targets, given = _as_targets(table.column(self.target), self.target_type)
        if self.weight is not None:
            weights = table.column(self.weight).cast(pa.float64()).to_numpy(zero_copy_only=False)
        return Batch(rows, targets, weights, given, part.name, start, part.shown_as)


def dataset_of(source: Any) -> Any:
    """Return the dataset that a pyarrow object or a DataFrame is or holds."""
    if hasattr(source, "to_arrow"):  # polars, whose stream has types that few functions take
        source = source.to_arrow()
    elif hasattr(source, "__arrow_c_stream__"):
        source = pa.table(source)
    return ds.dataset(source) if isinstance(source, pa.Table) else source


def file_dataset(
    paths: list[str], kind: str, delimiter: str, target: str | None, target_type: Any
) -> Any:
    """Return the dataset of files of one kind: parquet, feather, csv or json.

    In text the type of a column is guessed from its first rows, and histograms often begin with
    whole numbers: there all but the target is read as float64, once it is read.
    """
    files = paths[0] if len(paths) == 1 else paths  # one alone may be an address
    file_format = _file_format(kind, delimiter, target_type, is_far="://" in paths[0])
    dataset = ds.dataset(files, format=file_format)
    if kind not in ("csv", "json"):
        return dataset
    fields = []
    for field in dataset.schema:
        declared = target_type if field.name == target else pa.float64()
        if declared is None:  # of the first file that has a value at its beginning
            schemas = (part.physical_schema for part in dataset.get_fragments())
            types = (schema.field(target).type for schema in schemas if target in schema.names)
            # Text holds whatever follows.
            declared = next((each for each in types if not pa.types.is_null(each)), pa.string())
        fields.append(field.with_type(declared))
    return ds.dataset(files, format=file_format, schema=pa.schema(fields))


def _file_format(kind: str, delimiter: str, target_type: Any, *, is_far: bool) -> Any:
    if kind == "parquet":  # fetching a whole row group at once is for networks
        options = ds.ParquetFragmentScanOptions(pre_buffer=is_far)
        return ds.ParquetFileFormat(default_fragment_scan_options=options)
    if kind != "csv":
        return kind
    # Quoted text is text, and where targets are text so is "NA".
    convert = pyarrow.csv.ConvertOptions(strings_can_be_null=True, quoted_strings_can_be_null=False)
    if target_type == pa.string():
        convert.null_values = [""]
    return ds.CsvFileFormat(pyarrow.csv.ParseOptions(delimiter=delimiter), None, convert)


def as_target_type(dtype: DTypeLike) -> Any:
    """Return the type that targets are read as.

    >>> as_target_type(str), as_target_type("int32")
    (DataType(string), DataType(int32))
    >>> as_target_type(complex)
    Traceback (most recent call last):
        ...
    TypeError: target_dtype must be str, int or float, got <class 'complex'>
    """
    try:
        return pa.from_numpy_dtype(np.dtype(dtype))
    except (TypeError, pa.ArrowException):
        raise TypeError(f"target_dtype must be str, int or float, got {dtype!r}") from None


def hashed_rows(batch: Batch) -> NDArray[np.float64]:
    """Return what is hashed of a batch, row by row, so that it does not matter how rows are cut.

    Columns are the features, the weight, whether there is a target, and the target as a number;
    numbers count as float64, however they are held. Hashing costs about a nanosecond a byte and
    lets other threads run.

    >>> hashed_rows(Batch(Table(np.array([[0.5, 2.0]]), None), np.array([7])))
    array([[0.5, 2. , 1. , 1. , 7. ]])
    """
    rows, targets, weights = batch.rows.rows, batch.targets, batch.weights
    ones = np.ones(len(rows))
    given = ones * (targets is not None) if batch.given is None else batch.given
    numbers = 0.0 * ones if targets is None else np.where(given, _as_numbers(targets), 0.0)
    return np.column_stack([rows, ones if weights is None else weights, given, numbers])


def _as_numbers(targets: NDArray[Any]) -> NDArray[np.float64]:
    """Return numbers as they are, and 48 bits of a digest for each text."""
    if targets.dtype.kind in "biuf":
        return targets.astype(np.float64)
    words, codes = np.unique(targets, return_inverse=True)
    texts = [str(word).encode("utf-8", "surrogatepass") for word in words.tolist()]
    digests = [hashlib.sha256(text).digest() for text in texts]
    return np.array([int.from_bytes(digest[:6]) for digest in digests], np.float64)[codes]


def _rewritten(part: Part, n_rows: int, now: str) -> StateMismatchError:
    return StateMismatchError(
        f"{part.shown_as} must begin with the {n_rows} rows that have been learnt from it, got "
        f"{now}: it was rewritten, or is read with another target, weight or columns; learn "
        "afresh with forget=True (and without the old checkpoint), or give it another name or "
        "source_name if its rows are new"
    )


def chosen_columns(
    schema: Any, target: str | None, weight: str | None, columns: Sequence[str] | None
) -> tuple[str, ...]:
    """Return the columns to learn from, or refuse some that are not there or hold no numbers."""
    if isinstance(columns, str):
        raise TypeError(f"columns must be a sequence of names, got {columns!r}")
    others = [column for column in (target, weight) if column is not None]
    chosen = _columns_to_learn(schema, others) if columns is None else tuple(columns)
    if not chosen:
        raise ValueError("columns must name at least one column, got none")
    if len({*chosen, *others}) < len(chosen) + len(others):
        raise ValueError(
            f"columns must be distinct and not hold the target or the weight {others}, got "
            f"{list(chosen)}"
        )
    for column in (*others, *chosen):
        if schema.names.count(column) != 1:
            hint = "; is delimiter right?" if len(schema.names) == 1 else ""
            raise ValueError(f"source must have one column {column!r}, got {schema.names}{hint}")
        kind = schema.field(column).type
        if column != target and not (
            pa.types.is_primitive(kind) and not pa.types.is_temporal(kind)
        ):
            raise TypeError(
                f"column {column!r} must hold numbers, got {kind}; name the columns to learn from"
            )
    return chosen


def _columns_to_learn(schema: Any, others: list[str]) -> tuple[str, ...]:
    """Return all columns but targets, weights and what pandas has written of an index."""
    described = (schema.pandas_metadata or {}).get("index_columns", [])
    names = [name for name in schema.names if name not in others and name not in described]
    unnamed = [name for name in names if _UNNAMED.fullmatch(name)]
    if unnamed:
        warnings.warn(
            f"columns without a name, as pandas writes an index, are left out: {unnamed}; name the "
            "columns to learn from to learn from these, too, or write the file with index=False",
            stacklevel=5,  # whoever calls fit_stream
        )
    return tuple(name for name in names if name not in unnamed)


def _as_array(table: Any) -> NDArray[Any]:
    """Return the columns of a record batch as rows in one piece; nulls become nan."""
    return np.column_stack([column.to_numpy(zero_copy_only=False) for column in table.columns])


def _as_targets(
    column: Any, target_type: Any
) -> tuple[NDArray[Any] | None, NDArray[np.bool_] | None]:
    """Return targets and which rows have one, where not all have; no text is no target."""
    if target_type is not None:
        column = column.cast(target_type)
    values = column.to_pylist()
    some = np.array([value for value in values if value is not None])
    if some.size == len(values):
        return some, None
    if not (some.size or pa.types.is_primitive(column.type) or pa.types.is_null(column.type)):
        return None, None
    given = np.array([value is not None for value in values])
    targets = np.zeros(given.size, some.dtype)
    targets[given] = some
    return targets, given
