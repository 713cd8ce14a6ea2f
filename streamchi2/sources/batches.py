"""Batches of a source, and the plainest source there is: something to iterate over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.provenance import Provenance


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
    """

    rows: Any
    targets: Any = None
    weights: Any = None
    given: NDArray[np.bool_] | None = None
    source: str | None = None
    start: int = 0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        shape = getattr(self.rows, "shape", None)
        return len(self.rows) if shape is None else int(shape[0])

    def refuse_without_targets(self) -> None:
        """Refuse rows without targets, for those who cannot learn from them."""
        if self.targets is None or self.given is not None:
            row = self.start + (0 if self.given is None else int(np.argmin(self.given)))
            raise ValueError(f"every row must have a target, got none at row {row} of the source")

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Let errors, which count rows from the first of a batch, say where that stands."""
        try:
            yield
        except Exception as error:
            source = "the source" if self.source is None else self.source
            error.add_note(f"in the batch that begins at row {self.start} of {source}")
            raise

    def part(self, start: int, stop: int | None = None) -> Self:
        """Return some consecutive rows of the batch."""
        rows, targets, weights, given = (
            _chosen(part, slice(start, stop))
            for part in (self.rows, self.targets, self.weights, self.given)
        )
        return type(self)(rows, targets, weights, given, self.source, self.start + start)


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
        Of rows alone, or of tuples. A list can be read again, a generator only once.
    name : str or None
        For the provenance.

    Examples
    --------
    >>> source = IterableSource([([[1.0]], ["ham"]), ([[2.0], [3.0]], ["ham", "spam"])], "mail")
    >>> known = Provenance().with_range("mail", 0, 2)
    >>> [(batch.start, batch.rows) for batch in source.batches(known)]
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
        n_absorbed = 0 if self.name is None else absorbed.beginning(self.name)
        position = 0
        for found in self.iterable:
            batch = as_batch(found, self.name, position)
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
