"""Features of single rows by one weighted sum: the phases that each input adds, in a table.

Phases are linear in the inputs. For one row at a time calling the transforms that serve batches
costs more than what they do: with D = 1024 a sum over the inputs in use took 35 us instead of 74 on
digits, and 80 instead of 103 with 192 columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamchi2.bases.random import fill_pairs
from streamchi2.checks import Floats

_CHUNK_INPUTS = 128  # worked out together, so that they stay in the cache


class PhaseTable:
    """Phases of rows that are one in a single input, worked out when first asked for.

    Law: a row of the table depends on its input alone, not on what was asked for before. Threads
    may share it: what two of them write is the same.

    Parameters
    ----------
    n_inputs, n_phases : int
        Shape of the table.
    dtype : dtype
        Of the phases.
    phases_of : callable
        From places of inputs, shape (n,), to their phases, shape (n, n_phases).

    Examples
    --------
    >>> table = PhaseTable(4, 2, np.dtype("float32"), lambda places: places[:, None] + [0.0, 0.5])
    >>> table.of(np.array([1, 3]))
    array([[1. , 1.5],
           [3. , 3.5]], dtype=float32)
    """

    def __init__(
        self,
        n_inputs: int,
        n_phases: int,
        dtype: np.dtype[np.floating],
        phases_of: Callable[[NDArray[np.intp]], Floats],
    ) -> None:
        self._phases: Floats = np.empty((n_inputs, n_phases), dtype=dtype)
        self._is_known = np.zeros(n_inputs, dtype=np.bool_)
        self._phases_of = phases_of

    def of(self, used: NDArray[np.intp]) -> Floats:
        """Return the phases of some inputs, shape (n_used, n_phases), not to be written to."""
        unknown = used[~self._is_known[used]]
        for start in range(0, unknown.size, _CHUNK_INPUTS):
            places = unknown[start : start + _CHUNK_INPUTS]
            self._phases[places] = self._phases_of(places)
            self._is_known[places] = True
        whole = used.size == self._is_known.size
        return self._phases if whole else self._phases.take(used, axis=0)


@dataclass(frozen=True, eq=False)
class UsedPhases:
    """A basis of random phases for single rows of which most inputs are zero."""

    phases: Floats  # (n_used, M), that each used input adds

    block_rows = 1

    def features(self, inputs: Floats, out: Floats) -> None:
        """Fill ``out``, shape (1, D), from the used inputs, shape (1, n_used)."""
        phases = weighted_sum(inputs[0], self.phases)
        fill_pairs(phases[None, :], out, 0, phases.size)


def weighted_sum(weights: Floats, rows: Floats) -> Floats:
    """Return the sum of rows times their weights, one added after the other.

    So weights of zero change no bit, however many there are. Without BLAS, which adds in another
    order and wakes its threads for microseconds of work.

    >>> weighted_sum(np.array([2.0, 0.0, 1.0]), np.array([[1.0, 0.0], [5.0, 5.0], [0.0, 3.0]]))
    array([2., 3.])
    """
    if rows.shape[1] > 1:
        summed: Floats = np.einsum("i,ij->j", weights, rows)
        return summed
    # Of a single column einsum would add several partial sums.
    products = np.concatenate([np.zeros(1, rows.dtype), weights * rows[:, 0]])
    return np.add.accumulate(products)[-1:]
