"""What every basis is: features of series coordinates, planned on the first rows of a stream.

A new basis is one file with a class that has these members, and one line in the registry
(:data:`streamchi2.bases.BASES`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.fft import next_fast_len

from streamchi2.checks.params import as_positive_float
from streamchi2.checks.rows import Floats, Rows, as_rows
from streamchi2.kernels import exp_chi2_kernel
from streamchi2.saving import Value, saved
from streamchi2.statistics.schedule import FIRST_ROWS

Inputs: TypeAlias = NDArray[np.intp] | slice  # some or all of a row's

_MAX_UNFOLDED = 1 << 14  # more coordinates than this are folded into hash buckets
_FEWEST_BUCKETS = 4096
_FEWEST_FOR_NAMES = 1024  # where every row is folded by itself, and time goes by their number
OPEN_ENDED = 1 << 40  # wider than any matrix: columns stand for names, which keep arriving


@saved("landmark_rows")
@dataclass(frozen=True, eq=False, repr=False)
class LandmarkRows(Value):
    """Rows that are landmarks, in canonical form: a value, which a file holds once.

    Examples
    --------
    >>> LandmarkRows.read([[0.5, 0.0, 0.5], [1.0, 0.0, 0.0]])
    <2 rows of 3 columns>
    >>> LandmarkRows.read([[0.5, 0.5]]) == LandmarkRows.read(sparse.csr_array([[0.5, 0.5]]))
    True
    """

    rows: sparse.csr_array

    @classmethod
    def read(cls, given: Any) -> Self:
        """Return rows as they come from a user, checked as any rows are, as a copy."""
        try:
            rows = as_rows(given, name="landmarks")
        except (TypeError, ValueError) as error:
            if "landmarks" in str(error):
                raise
            # Whatever has no shape (m, d) is refused by scikit-learn, which calls it X.
            raise type(error)(f"landmarks must be rows of numbers: {error}") from error
        return cls(sparse.csr_array(rows, dtype=np.float64, copy=True))

    def __repr__(self) -> str:
        return "<{} rows of {} columns>".format(*self.rows.shape)


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
    n_components: Any  # only the additive basis may find None
    seed: int
    beta: float
    dof: float
    rows: Rows
    weights: NDArray[np.float64]
    coordinates: Callable[[Rows], NDArray[np.float64]]
    landmarks: LandmarkRows | None = None


class Basis(Value, ABC):
    """Coordinates of a row to its features: a frozen value, equal wherever its fields are.

    Law: equal bases give equal features, in every process.
    """

    # Whether features move as far as coordinates do when k changes, so that the user is warned.
    moves_with_series: ClassVar[bool] = True
    # Whether n_components may be None.
    sizes_itself: ClassVar[bool] = False
    # Whether the features are made of rows, so that there are no more of them than rows.
    made_of_rows: ClassVar[bool] = False
    # Rows that are worked on together: they hide the interpreter and stay in the cache.
    block_rows: ClassVar[int] = 128

    n_inputs: int
    n_components: int
    beta: float
    dof: float

    @classmethod
    def first_rows(cls, n_components: int | None, landmarks: LandmarkRows | None) -> int:
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
        fewest = _FEWEST_BUCKETS if n_coordinates < OPEN_ENDED else _FEWEST_FOR_NAMES
        return int(next_fast_len(max(fewest, 2 * (n_components or 1)), real=True))

    @classmethod
    @abstractmethod
    def plan(cls, plan: BasisPlan) -> Basis:
        """Return the basis for a stream that begins with the rows of a plan."""

    def bound(self, inputs_of: Callable[[Rows], Floats]) -> Callable[[Floats, Floats], None]:
        """Return what fills features from inputs, where ``inputs_of`` gives the inputs of rows."""
        return self.features

    def features(self, inputs: Floats, out: Floats) -> None:
        """Fill ``out``, shape (n, D), from ``inputs``, shape (n, n_inputs)."""
        raise NotImplementedError  # of a basis that must be bound to the inputs of its rows first

    @property
    def has_lines(self) -> bool:
        """Whether phases of a row are a weighted sum of what its inputs add: few enough to keep."""
        return False

    def lines(self, inputs: Inputs, dtype: np.dtype[np.floating]) -> Floats:
        """Return what some inputs add to the phases of a row, shape (n, M), where there are lines.

        The array may be shared: it is not to be written to.
        """
        raise NotImplementedError

    def fill(self, phases: Floats, out: Floats) -> None:
        """Fill ``out`` from phases, which are overwritten, where a basis has them."""
        raise NotImplementedError

    def exact_kernel(self, rows: Rows) -> NDArray[np.float64]:
        """Return the kernel that inner products of features approximate, over pairs of rows.

        A basis with a kernel of its own has no scale: ``beta`` is not judged, and values are
        limited to what additive features can hold.
        """
        return exp_chi2_kernel(rows, beta=self.beta, dof=self.dof)


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
