"""What every basis is: features of series coordinates, planned on the first rows of a stream.

A new basis is one file with a class that has these members, and one line in the registry
(:data:`streamchi2.bases.BASES`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.fft import next_fast_len

from streamchi2.bases.landmark_rows import LandmarkRows
from streamchi2.checks import Floats, Rows, as_positive_float
from streamchi2.kernels import exp_chi2_kernel
from streamchi2.state import Saved

FIRST_ROWS = 64  # an estimate of beta and k from fewer is too rough
_MAX_UNFOLDED = 1 << 14  # more coordinates than this are folded into hash buckets
_FEWEST_BUCKETS = 4096


@dataclass(frozen=True, eq=False)
class BasisPlan:
    """All that a basis may be planned from.

    Parameters
    ----------
    n_inputs : int
        Width of the rows of coordinates that reach the basis.
    n_components : int or None
        Number of features D; None leaves it to the basis.
    seed : int
        Chooses whatever is random.
    beta, dof : float
        Of the kernel.
    rows, weights : csr_array or ndarray
        The first rows of the stream.
    coordinates : callable
        From rows to their coordinates, shape (n, n_inputs), float64.
    landmarks : LandmarkRows or None
        Rows that the user has given.
    """

    n_inputs: int
    n_components: int | None
    seed: int
    beta: float
    dof: float
    rows: Rows
    weights: NDArray[np.float64] | None
    coordinates: Callable[[Rows], NDArray[np.float64]]
    landmarks: LandmarkRows | None = None

    @property
    def n_features(self) -> int:
        """The number of features where the user must give one."""
        assert self.n_components is not None
        return self.n_components


class BoundBasis(Protocol):
    """A basis in the coordinates of one map: what turns a block of coordinates into features."""

    @property
    def block_rows(self) -> int:
        """Rows of a block that pays; depends on nothing but the kind of basis."""

    def features(self, inputs: Floats, out: Floats) -> None:
        """Fill ``out``, shape (n, D), from ``inputs``, shape (n, scratch_width)."""


class Basis(Saved):
    """Coordinates of a row to its features: a frozen value, equal wherever its fields are.

    Law: equal bases give equal features, in every process.
    """

    # Whether new nodes of the series move the features by no more than the error of the series.
    moves_with_series: ClassVar[bool] = True
    # Whether n_components may be None.
    sizes_itself: ClassVar[bool] = False
    block_rows: ClassVar[int] = 128  # hides the interpreter, stays in the cache
    # Whether one row alone gives the bits that it gives among others.
    is_rowwise: ClassVar[bool] = False

    # Rows from which a map is planned, at most, that serves until all first rows are there; None
    # where the features are made of the rows, so that all of them are wanted.
    provisional_rows: ClassVar[int | None] = 4 * FIRST_ROWS

    n_inputs: int
    n_components: int
    beta: float
    dof: float

    @classmethod
    def first_rows(cls, n_components: int | None, landmarks: Any) -> int:
        """Return how many rows are kept before a basis is planned."""
        return FIRST_ROWS

    @classmethod
    def check_params(cls, n_components: int | None, dof: float) -> None:
        """Refuse parameters that this kind of basis cannot have."""
        check_dof(dof)

    @classmethod
    def default_buckets(cls, n_coordinates: int, n_components: int | None) -> int | None:
        """Return into how many buckets coordinates are folded by default; None folds nothing."""
        if n_coordinates <= _MAX_UNFOLDED:
            return None
        # Four buckets a phase keep what folding adds to the error below a tenth of it.
        return int(next_fast_len(max(_FEWEST_BUCKETS, 2 * (n_components or 1)), real=True))

    @classmethod
    def plan(cls, plan: BasisPlan) -> Basis:
        """Return the basis for a stream that begins with the rows of a plan."""
        raise NotImplementedError

    @classmethod
    def planned_classes(cls) -> tuple[type[Basis], ...]:
        """Return the classes that :meth:`plan` may return."""
        return (cls,)

    @property
    def scratch_width(self) -> int:
        """Width of the array that :meth:`features` takes; inputs first, then zeros."""
        return self.n_inputs

    def bind(self, inputs_of: Callable[[Rows], Floats]) -> BoundBasis | Self:
        """Return the basis in the coordinates that ``inputs_of`` gives: this one needs no rows."""
        return self

    def features(self, inputs: Floats, out: Floats) -> None:
        """Fill ``out``, shape (n, D), from ``inputs``, which may be overwritten."""
        raise NotImplementedError

    def of_inputs(self, used: NDArray[np.intp], dtype: np.dtype[Any]) -> BoundBasis | None:
        """Return the basis for single rows that are zero but in some inputs, which it reads alone.

        Further zeros among the inputs must not change a bit. None where all inputs must be read.
        """
        return None

    def exact_kernel(self, rows: Rows) -> NDArray[np.float64]:
        """Return the kernel that inner products of features approximate, over pairs of rows."""
        return exp_chi2_kernel(rows, beta=self.beta, dof=self.dof)

    def check_planned(self, n_components: int | None, seed: int, landmarks: Any) -> None:
        """Refuse parameters under which this basis cannot have been planned."""
        if n_components is not None and self.n_components != n_components:
            raise ValueError(f"the basis must have {n_components} features")
        if getattr(self, "seed", seed) != seed:
            raise ValueError("the basis must have the seed of the parameters")


def check_dof(dof: float) -> float:
    """Return ``dof`` if features exist for it.

    >>> check_dof(3)
    Traceback (most recent call last):
        ...
    ValueError: dof must be at most 2 for features, got 3: above 2 the kernel is not positive \
definite in every dimension, so no features can give it; use exp_chi2_kernel instead
    """
    as_positive_float(dof, name="dof")
    if dof > 2:
        raise ValueError(
            f"dof must be at most 2 for features, got {dof!r}: above 2 the kernel is not positive "
            "definite in every dimension, so no features can give it; use exp_chi2_kernel instead"
        )
    return float(dof)
