"""Batches of a source, the plainest source there is, reading ahead and progress."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.provenance import Provenance, n_learnt, with_rows

_ROW = re.compile(r"at row (\d+)\b")


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive rows of a source, with what belongs to them.

    Parameters
    ----------
    rows : array-like, sparse matrix, DataFrame or Table, shape (n, d)
        As the source gives them; they are checked by whoever learns.
    targets : array-like or None
        One per row; None where no row has one.
    weights : array-like or None
        One per row; None where every row weighs one.
    given : ndarray of bool or None
        Which rows have a target; the other targets mean nothing. None where all have.
    source : str or None
        The name under which the provenance records these rows; None keeps them out of it.
    start : int
        Position of the first row in that source.
    shown_as : str or None
        What errors call the source, such as the path of a file; by default its name.
    digest : bytes or None
        Of the source from its first row to the last one of this batch, for the provenance; None
        where the source has none.
    """

    rows: Any
    targets: Any = None
    weights: Any = None
    given: NDArray[np.bool_] | None = None
    source: str | None = None
    start: int = 0
    shown_as: str | None = None
    digest: bytes | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        shape = getattr(self.rows, "shape", None)
        return len(self.rows) if shape is None else int(shape[0])

    def recorded_in(self, provenance: Provenance, n_rows: int | None = None) -> Provenance:
        """Return a provenance after the first rows of this batch, by default all; or refuse.

        A part of a batch, which Ctrl-C leaves, is recorded without a digest; the next whole one
        has the digest of all rows again.

        >>> Batch([[0.5], [0.25]], source="tape").recorded_in({})
        {'tape': LearntRows(n_rows=2, digest=None)}
        """
        if self.source is None:
            return provenance
        n_rows = self.n_rows if n_rows is None else n_rows
        digest = self.digest if n_rows == self.n_rows else None
        return with_rows(provenance, self.source, self.start, self.start + n_rows, digest)

    def refuse_without_targets(self) -> None:
        """Refuse rows without targets, for those who cannot learn from them."""
        if self.targets is None or self.given is not None:
            row = 0 if self.given is None else int(np.argmin(self.given))
            raise ValueError(f"every row must have a target, got none at row {row}")

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Let errors, which count rows from the first of a batch, name the row of the source."""
        try:
            yield
        except Exception as error:
            name = self.shown_as or self.source or "the source"
            text = str(error)
            rows = list(_ROW.finditer(text))
            if rows and error.args[:1] == (text,):  # some errors make their text of other things
                last = rows[-1]  # before it there may be a label that reads like one
                row = f"at row {self.start + int(last[1])} of {name}"
                error.args = (text[: last.start()] + row + text[last.end() :], *error.args[1:])
            else:
                error.add_note(f"in the batch that begins at row {self.start} of {name}")
            raise

    def part(self, start: int, stop: int | None = None) -> Self:
        """Return some consecutive rows of the batch."""
        rows, targets, weights, given = (
            # Plain brackets of pandas look up labels where there are some.
            None if values is None else getattr(values, "iloc", values)[start:stop]
            for values in (self.rows, self.targets, self.weights, self.given)
        )
        position = self.start + start
        return type(self)(rows, targets, weights, given, self.source, position, self.shown_as)


class Source(NamedTuple):
    """Where batches come from.

    Parameters
    ----------
    batches : callable
        From a provenance to the batches that hold rows which it does not, in order.
    names : tuple of str
        Names under which the provenance records the rows; none where they go unrecorded.
    n_rows : int or None
        Number of rows, where that can be told without reading them.
    may_name_target : bool
        Whether a column may hold the targets.
    """

    batches: Callable[[Provenance], Generator[Batch]]
    names: tuple[str, ...]
    n_rows: int | None
    may_name_target: bool = False


def iterable_batches(
    iterable: Iterable[Any], name: str | None, learnt: Provenance
) -> Generator[Batch]:
    """Yield what an iterable gives, without the rows at the beginning that have been learnt.

    Parameters
    ----------
    iterable : iterable
        Of X, (X, y) or (X, y, sample_weight). A list can be read again, a generator only once.
        What comes from anything but a list or a tuple is copied, since whoever reads ahead holds
        several batches and a generator may fill one buffer again and again.
    name : str or None
        For the provenance.
    learnt : provenance
        What was learnt before.

    Examples
    --------
    >>> batches = [([[1.0]], ["ham"]), ([[2.0], [3.0]], ["ham", "spam"])]
    >>> before = with_rows({}, "mail", 0, 2)
    >>> [(batch.start, batch.rows) for batch in iterable_batches(batches, "mail", before)]
    [(2, [[3.0]])]
    """
    n_before, position = n_learnt(learnt, name), 0
    lasting = isinstance(iterable, list | tuple)
    for item in iterable:
        batch = as_batch(item if lasting else deepcopy(item), name, position)
        position += batch.n_rows
        if position > n_before and batch.n_rows:
            yield batch if batch.start >= n_before else batch.part(n_before - batch.start)


def as_batch(item: Any, name: str | None, position: int) -> Batch:
    """Return what an iterable gave, X, (X, y) or (X, y, sample_weight), as a batch."""
    # Loaders of other libraries give lists [X, y]; a list of rows holds no table.
    paired = isinstance(item, list) and item and len(getattr(item[0], "shape", ())) == 2
    parts = tuple(item) if paired or isinstance(item, tuple) else (item,)
    if not 1 <= len(parts) <= 3 or parts[0] is None:
        raise ValueError(
            "source must give batches X, (X, y) or (X, y, sample_weight), got "
            f"{len(parts)} parts at row {position}"
        )
    rows, targets, weights = (*parts, None, None)[:3]
    if hasattr(rows, "tocsr"):  # other sparse formats cannot be cut
        rows = rows.tocsr()
    batch = Batch(rows, targets, source=name, start=position)
    if weights is not None and np.ndim(weights) == 0:
        weights = np.full(batch.n_rows, weights)
    return replace(batch, weights=weights)


def read_ahead(batches: Generator[Batch]) -> Generator[Batch]:
    """Yield batches in order while a thread fetches the next one.

    An error in ``batches`` reaches whoever iterates. Closing this generator ends the thread and
    closes ``batches``; it waits for the one batch that is being fetched.

    >>> batches = iterable_batches([[[0.5]], [[0.25]]], None, {})
    >>> [batch.rows for batch in read_ahead(batches)]
    [[[0.5]], [[0.25]]]
    """
    with ThreadPoolExecutor(1, "streamchi2-read-ahead") as reader:
        try:
            following = reader.submit(next, batches, None)
            while (batch := following.result()) is not None:
                following = reader.submit(next, batches, None)
                yield batch
        finally:
            # By the same thread, after what it is fetching.
            reader.submit(batches.close).result()


@contextmanager
def progress_bar(
    n_rows: int | None,
    *,
    n_done: int = 0,
    verbose: int = 1,
    callback: Callable[[int, int | None], Any] | None = None,
) -> Iterator[Callable[[int], None]]:
    """Show rows as they are reported to the function that this context gives.

    The bar needs tqdm (the extra ``progress``). It is shown on a terminal and in a notebook,
    nowhere else, and not with ``verbose=0``.

    Parameters
    ----------
    n_rows : int or None
        Rows there are, if that is known.
    n_done : int, default=0
        Rows that were learnt in an earlier run.
    verbose : int, default=1
        0 shows no bar; the callback is called all the same.
    callback : callable, optional
        Called after every report with the rows learnt so far and ``n_rows``, by the thread that
        reports. What it raises ends the run.

    Examples
    --------
    >>> with progress_bar(100, verbose=0, callback=print) as report:
    ...     report(60)
    ...     report(40)
    60 100
    100 100
    """
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable with (n_done, n_rows), got {callback!r}")
    bar = None
    # The stderr of a notebook is no terminal.
    if verbose and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        with suppress(ImportError):
            from tqdm.auto import tqdm  # widgets in a notebook that has them, else text

            bar = tqdm(total=n_rows, initial=n_done, unit=" rows", unit_scale=True, file=sys.stderr)

    def report(n_new: int) -> None:
        nonlocal n_done
        n_done += n_new
        if bar is not None:
            bar.update(n_new)
        if callback is not None:
            callback(n_done, n_rows)

    with nullcontext() if bar is None else bar:
        yield report
