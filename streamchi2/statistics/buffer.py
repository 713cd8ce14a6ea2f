"""Rows that wait for the end of their block, so that a model cannot depend on its batches.

Floating-point sums depend on where they are cut. Here rows are pending until their block is
complete, and only whole blocks are learnt: whichever way the same rows arrive, the blocks are the
same, and so is every bit computed from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.checks.rows import Array, Floats, Rows
from streamchi2.saving import saved
from streamchi2.statistics.targets import aligned, has_target

NAMED_WIDTH = 2**62  # of the matrix in which every possible key of a dict has a column


class Row(NamedTuple):
    """One row with named columns: columns in ascending order and their values, zeros included."""

    columns: NDArray[np.int64]
    values: Array


def as_matrix(rows: Sequence[Row]) -> sparse.csr_array:
    """Return rows as one sparse matrix of width 2^62, which stores no zeros.

    >>> matrix = as_matrix([Row(np.array([5, 7, 9]), np.array([0.5, 0.0, 0.25]))])
    >>> matrix.shape[1] == 2**62, matrix.indices.tolist()
    (True, [5, 9])
    """
    if not rows:
        return sparse.csr_array((0, NAMED_WIDTH))
    ends = np.cumsum([0] + [row.columns.size for row in rows], dtype=np.int64)
    values = np.concatenate([row.values for row in rows])
    columns = np.concatenate([row.columns for row in rows])
    matrix = sparse.csr_array((values, columns, ends), shape=(len(rows), NAMED_WIDTH))
    matrix.eliminate_zeros()
    return matrix


@saved("block")
@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows with what belongs to them; None where a stream has no targets.

    Targets are codes of labels, -1 where absent, or columns of numbers, NaN where absent.
    """

    rows: Rows
    targets: NDArray[np.int64] | Annotated[Array, "any"] | None
    weights: Array

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    def part(self, start: int, stop: int) -> Block:
        """Return some of the rows."""
        if (start, stop) == (0, self.n_rows):
            return self  # slicing a sparse matrix copies it
        inside = slice(start, stop)
        targets = None if self.targets is None else self.targets[inside]
        return Block(self.rows[inside], targets, self.weights[inside])

    def copy(self) -> Block:
        """Return a block with arrays of its own."""
        targets = None if self.targets is None else self.targets.copy()
        return Block(self.rows.copy(), targets, self.weights.copy())

    def labelled(self) -> NDArray[np.bool_]:
        """Tell which rows have a target."""
        if self.targets is None:
            return np.zeros(self.n_rows, dtype=np.bool_)
        return has_target(self.targets)


def joined(blocks: Sequence[Block], n_columns: int) -> Block:
    """Return blocks as one; columns of targets that came late have been zero before."""
    if len(blocks) == 1:
        return blocks[0]
    pieces = [block.rows for block in blocks]
    if any(map(sparse.issparse, pieces)):
        rows = sparse.csr_array(sparse.vstack(list(map(sparse.csr_array, pieces)), format="csr"))
    else:
        rows = np.concatenate(pieces)
    given = [block.targets for block in blocks if block.targets is not None]
    targets = np.concatenate([aligned(each, n_columns) for each in given]) if given else None
    return Block(rows, targets, np.concatenate([block.weights for block in blocks]))


class PendingRows:
    """Rows since the end of the last block; single ones keep the features they were given.

    Law: rows come out in the order in which they went in, whatever the batches.
    """

    def __init__(self, blocks: Sequence[Block] = ()) -> None:
        self.blocks = list(blocks)
        # Single rows with named columns after these, each with target, weight and features.
        self.singles: list[tuple[Row, Any, float, Floats | None]] = []
        self.n_rows = sum(block.n_rows for block in blocks)
        self.n_labelled = sum(int(np.count_nonzero(block.labelled())) for block in blocks)

    def append(
        self, row: Row, target: Any, weight: float, features: Floats | None, labelled: bool
    ) -> None:
        """Add one row, at little cost; its target is a code, or an array of numbers, or None."""
        self.singles.append((row, target, weight, features))
        self.n_rows += 1
        self.n_labelled += labelled

    def extend(self, block: Block) -> None:
        """Add rows as a copy: the caller may overwrite its array."""
        if block.n_rows:
            if self.singles:
                self.blocks, self.singles = [*self.blocks, _of_singles(self.singles)], []
            self.blocks.append(block.copy())
            self.n_rows += block.n_rows
            self.n_labelled += int(np.count_nonzero(block.labelled()))

    def part(self, start: int, stop: int, n_columns: int) -> tuple[Block, Floats | None]:
        """Return some rows as a block, with their features where each was given them."""
        first = self.n_rows - len(self.singles)
        singles = self.singles[max(start - first, 0) : max(stop - first, 0)]
        blocks = []
        if start < first:
            blocks = [joined(self.blocks, n_columns).part(start, min(stop, first))]
        if singles:
            blocks.append(_of_singles(singles))
        features = [each for *_, each in singles if each is not None]
        complete = len(features) == stop - start
        return joined(blocks, n_columns), np.stack(features) if complete else None

    def copy(self) -> Self:
        """Return an independent object with the same rows, which are never changed in place."""
        twin = type(self)()
        twin.__dict__.update(self.__dict__, blocks=list(self.blocks), singles=list(self.singles))
        return twin


def _of_singles(singles: Sequence[tuple[Row, Any, float, Floats | None]]) -> Block:
    rows, answers, weights, _ = zip(*singles, strict=True)
    targets: Any = None
    if isinstance(answers[0], np.ndarray):
        width = max(answer.size for answer in answers)
        targets = np.concatenate([aligned(answer[None], width) for answer in answers])
    elif answers[0] is not None:
        targets = np.array(answers, dtype=np.int64)
    return Block(as_matrix(rows), targets, np.array(weights, dtype=np.float64))
