"""Batches of a source, and the plainest source there is: something to iterate over."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

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
        The name under which the provenance knows these rows; None keeps them out of it.
    start : int
        Position of the first row in that source.
    place : str or None
        What errors call the source, such as the path of a file; by default its name.
    digest_after : callable or None
        From a number of rows of this batch to the digest of the source from its first row to
        these, for the provenance; None where the source has none.
    """

    rows: Any
    targets: Any = None
    weights: Any = None
    given: NDArray[np.bool_] | None = None
    source: str | None = None
    start: int = 0
    place: str | None = None
    digest_after: Callable[[int], bytes] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        shape = getattr(self.rows, "shape", None)
        return len(self.rows) if shape is None else int(shape[0])

    def recorded_in(self, provenance: Provenance, n_rows: int | None = None) -> Provenance:
        """Return a provenance after the first rows of this batch, by default all; or refuse.

        >>> Batch([[0.5], [0.25]], source="tape").recorded_in({})
        {'tape': Learnt(n_rows=2, digest=None)}
        """
        n_rows = self.n_rows if n_rows is None else n_rows
        if self.source is None or n_rows == 0:
            return provenance
        digest = None if self.digest_after is None else self.digest_after(n_rows)
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
            place = next((name for name in (self.place, self.source) if name), "the source")
            if not self._row_named(error, place):
                error.add_note(f"in the batch that begins at row {self.start} of {place}")
            raise

    def _row_named(self, error: Exception, place: str) -> bool:
        """Count the row of an error's message from the first of the source, if it names one."""
        text = error.args[0] if error.args else None
        found = list(_ROW.finditer(text)) if isinstance(text, str) else []
        if not found or str(error) != text:  # some errors make their text of other things
            return False
        last = found[-1]  # before it there may be a label that reads like one
        row = self.start + int(last[1])
        error.args = (
            f"{text[: last.start()]}at row {row} of {place}{text[last.end() :]}",
            *error.args[1:],
        )
        return True

    def part(self, start: int, stop: int | None = None) -> Self:
        """Return some consecutive rows of the batch."""
        rows, targets, weights, given = (
            _chosen(part, slice(start, stop))
            for part in (self.rows, self.targets, self.weights, self.given)
        )
        return type(self)(
            rows, targets, weights, given, self.source, self.start + start, self.place
        )


def _chosen(part: Any, chosen: slice) -> Any:
    # Plain brackets of pandas look up labels where there are some.
    return None if part is None else getattr(part, "iloc", part)[chosen]


class Source(Protocol):
    """Where batches come from."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names under which the provenance knows the rows; none where they go unrecorded."""

    @property
    def n_rows(self) -> int | None:
        """Number of rows, where that is known without reading them."""

    def batches(self, absorbed: Provenance) -> Iterator[Batch]:
        """Return the batches that hold rows which the provenance does not, in order."""


@dataclass(frozen=True, eq=False)
class IterableSource:
    """Batches from any iterable of X, (X, y) or (X, y, sample_weight).

    Parameters
    ----------
    iterable : iterable
        Of rows alone, or of tuples. A list can be read again, a generator only once. What
        comes from anything but a list or a tuple is copied, since whoever reads ahead holds
        several batches and a generator may fill one buffer again and again.
    name : str or None
        For the provenance.

    Examples
    --------
    >>> source = IterableSource([([[1.0]], ["ham"]), ([[2.0], [3.0]], ["ham", "spam"])], "mail")
    >>> before = with_rows({}, "mail", 0, 2)
    >>> [(batch.start, batch.rows) for batch in source.batches(before)]
    [(2, [[3.0]])]
    """

    iterable: Iterable[Any]
    name: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The one name, or none."""
        return () if self.name is None else (self.name,)

    @property
    def n_rows(self) -> int | None:
        """Number of rows of a list of batches, else None."""
        if not isinstance(self.iterable, Sequence):
            return None
        return sum(as_batch(found, None, 0).n_rows for found in self.iterable)

    def batches(self, absorbed: Provenance) -> Iterator[Batch]:
        """Return the batches, without the rows at the beginning that have been absorbed."""
        n_absorbed = n_learnt(absorbed, self.name)
        position = 0
        lasting = isinstance(self.iterable, list | tuple)
        for found in self.iterable:
            batch = as_batch(found if lasting else deepcopy(found), self.name, position)
            position += batch.n_rows
            if position > n_absorbed or batch.n_rows == 0:
                yield batch if batch.start >= n_absorbed else batch.part(n_absorbed - batch.start)


def as_batch(found: Any, name: str | None, position: int) -> Batch:
    """Return what an iterable gave, X, (X, y) or (X, y, sample_weight), as a batch."""
    # Loaders of other libraries give lists [X, y]; a list of rows holds no table.
    paired = isinstance(found, list) and found and len(getattr(found[0], "shape", ())) == 2
    parts = tuple(found) if paired or isinstance(found, tuple) else (found,)
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
