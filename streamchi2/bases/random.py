"""Cosines and sines of phases that are linear in the coordinates, and the dense Gaussian bases.

The Gaussian bases are the paper's, and the reference for the faster ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.bases.base import Basis, BasisPlan, Inputs, check_dof
from streamchi2.checks.params import as_positive_float, as_positive_int
from streamchi2.checks.rows import Floats
from streamchi2.saving import saved
from streamchi2.threads import one_blas_thread

_MOST_ENTRIES = 1 << 20  # of a matrix of frequencies that is kept: 4 MiB of float32
_MOST_INPUTS = 2048  # each is a unit row to transform
_UNIT_ROWS = 32  # transformed together, always so many, so that their number changes no bit


class PhaseBasis(Basis):
    r"""Cosine and sine of phases :math:`p = \Omega^\top c`.

    .. math:: z = \sqrt{2/D}\,(\cos p_1, \dots, \cos p_M, \sin p_1, \dots, \sin p_M)

    Bases differ in how they apply :math:`\Omega`; where the matrix is small it is found by giving
    the basis unit rows. It serves single rows, and blocks of rows where one product is faster than
    what the basis does otherwise. It is no state: it is made again when it is first needed.

    Law: inputs that are zero in all rows change no bit, nor do they cost anything if most are.
    """

    # Entries of the matrix up to which a product is faster for blocks of rows.
    most_product: ClassVar[int]

    seed: int

    @property
    def features_per_phase(self) -> int:
        """Two, a cosine and a sine, unless a basis says otherwise."""
        return 2

    @property
    def n_phases(self) -> int:
        """Number of phases M."""
        return -(-self.n_components // self.features_per_phase)

    def generator(self, purpose: int) -> np.random.RandomState:
        """Return the frozen random stream for one purpose."""
        return np.random.RandomState([self.seed % 2**32, self.seed >> 32, purpose])

    @cached_property
    def radii(self) -> NDArray[np.float64] | None:
        """Factors of the frequencies for dof below 2, or None."""
        if self.dof == 2.0:
            return None
        shares = self.generator(1).beta(1 - self.dof / 2, self.dof / 2, size=self.n_phases)
        # sqrt(1 + u) with u = share/(1 - share); a share that rounds to 1 is moved just below.
        spread: NDArray[np.float64] = 1.0 / np.sqrt(1.0 - np.minimum(shares, 1.0 - 2.0**-53))
        return spread

    @property
    def has_matrix(self) -> bool:
        """Whether the matrix of frequencies is small enough to be kept."""
        return self.n_inputs <= _MOST_INPUTS and self.n_inputs * self.n_phases <= _MOST_ENTRIES

    def _transformed(self, inputs: Floats) -> Floats:
        """Return the phases, shape (n, M), without the matrix."""
        raise NotImplementedError

    @property
    def has_lines(self) -> bool:
        """Whether phases of a row are a weighted sum of what its inputs add."""
        # Of a single phase the sum over lines would be split: see RowBlock.
        return self.has_matrix and self.n_phases > 1

    @cached_property
    def _made(self) -> dict[np.dtype[np.floating], tuple[Floats, NDArray[np.bool_]]]:
        return {}

    def lines(self, inputs: Inputs, dtype: np.dtype[np.floating]) -> Floats:
        """Return what some inputs add to the phases, (n, M), each worked out when first needed."""
        if dtype not in self._made:
            matrix = np.empty((self.n_inputs, self.n_phases), dtype)
            self._made[dtype] = matrix, np.zeros(self.n_inputs, np.bool_)
        matrix, is_there = self._made[dtype]
        missing = np.unique(np.arange(self.n_inputs)[inputs][~is_there[inputs]])
        if missing.size:
            with one_blas_thread:
                for start in range(0, missing.size, _UNIT_ROWS):
                    part = missing[start : start + _UNIT_ROWS]
                    units = np.zeros((_UNIT_ROWS, self.n_inputs), dtype)
                    units[np.arange(part.size), part] = 1.0
                    matrix[part] = self._transformed(units)[: part.size]
            is_there[missing] = True  # last: other threads may read
        return matrix[inputs]

    def phases(self, inputs: Floats) -> Floats:
        """Return the phases, shape (n, M)."""
        if not self.has_matrix or self.n_inputs * self.n_phases > self.most_product:
            return self._transformed(inputs)
        used = used_columns(inputs)
        phases: Floats = inputs[:, used] @ self.lines(used, inputs.dtype)
        return phases

    def features(self, inputs: Floats, out: Floats) -> None:
        """Fill ``out``, shape (n, D), from ``inputs``, shape (n, n_inputs)."""
        self.fill(self.phases(inputs), out)

    def fill(self, phases: Floats, out: Floats) -> None:
        """Fill ``out`` with the cosines, then the sines; ``phases`` is overwritten.

        They are scaled by sqrt(2/D), so that every row has length one.
        """
        amplitude = phases.dtype.type((2.0 / out.shape[1]) ** 0.5)
        # Scaled on the way from the cache to ``out``, which is large and touched only once.
        cosines, sines = np.cos(phases), np.sin(phases, out=phases)
        n_phases = phases.shape[1]
        np.multiply(cosines, amplitude, out=out[:, :n_phases])
        np.multiply(sines[:, : out.shape[1] - n_phases], amplitude, out=out[:, n_phases:])


@dataclass(frozen=True)
class RandomBasis(PhaseBasis):
    r"""Random frequencies, known by seed and shape alone.

    With phases :math:`p = \Omega^\top c`, :math:`\Omega \sim N(0, \beta)`, the features are

    .. math:: z = \sqrt{2/D}\,(\cos p_1, \dots, \cos p_M, \sin p_1, \dots, \sin p_M), \qquad
              \mathrm{E}\,z(c)^\top z(c') = e^{-\frac\beta2\lVert c-c'\rVert^2}

    For 0 < dof < 2 each frequency is multiplied by :math:`\sqrt{1+u}`,
    :math:`u \sim \mathrm{BetaPrime}(1-v/2, v/2)`, a mixture of exp-chi2 kernels whose mean is
    the p-value kernel :math:`Q(v/2, \beta\chi^2)`.

    Law: equal fields give equal features, in every process and for ever: the draws come from
    numpy's legacy generator, whose stream is frozen.

    Parameters
    ----------
    n_inputs : int
        Width of the rows of coordinates.
    n_components : int
        Number of features D = 2M. Cosine and sine come in pairs; an odd D leaves out the last
        sine, and rows are then only nearly of length one.
    seed : int
        Chooses the frequencies.
    beta : float, default=1.0
        Inverse scale of the kernel.
    dof : float, default=2.0
        Degrees of freedom v, at most 2.
    """

    n_inputs: int
    n_components: int
    seed: int
    beta: float = 1.0
    dof: float = 2.0

    def __post_init__(self) -> None:
        as_positive_int(self.n_inputs, name="n_inputs")
        as_positive_int(self.n_components, name="n_components")
        as_positive_int(self.seed, name="seed", minimum=0)
        as_positive_float(self.beta, name="beta")
        check_dof(self.dof)

    @classmethod
    def plan(cls, plan: BasisPlan) -> Self:
        """Return the basis, which needs no data."""
        return cls(plan.n_inputs, plan.n_components, plan.seed, plan.beta, plan.dof)


@saved("basis.gaussian")
@dataclass(frozen=True)
class GaussianBasis(RandomBasis):
    """Independent Gaussian frequencies, stored as a matrix; cosine and sine of each phase.

    Costs O(n_inputs n_components) a row and as much memory.

    References
    ----------
    Rahimi and Recht (2007), "Random features for large-scale kernel machines".

    Examples
    --------
    >>> basis = GaussianBasis(n_inputs=3, n_components=2000, seed=0)
    >>> features = np.empty((2, 2000))
    >>> basis.features(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), features)
    >>> print(f"{features[0] @ features[1]:.2f}, exactly {np.exp(-0.5):.2f}")
    0.61, exactly 0.61
    """

    has_matrix = True  # there is no other way
    most_product: ClassVar[int] = 2**62

    def lines(self, inputs: Inputs, dtype: np.dtype[np.floating]) -> Floats:
        """Return what some inputs add to the phases: rows of a matrix that is drawn as a whole."""
        if dtype not in self._drawn:
            draws = self.generator(0).standard_normal((self.n_inputs, self.n_phases))
            draws *= np.sqrt(self.beta)
            if self.radii is not None:
                draws *= self.radii
            self._drawn[dtype] = draws.astype(dtype)
        return self._drawn[dtype][inputs]

    @cached_property
    def _drawn(self) -> dict[np.dtype[np.floating], Floats]:
        return {}


@saved("basis.cosine")
@dataclass(frozen=True)
class CosineBasis(GaussianBasis):
    r"""The paper's form, :math:`\sqrt{2/D}\cos(p + b)` with a random shift b for each feature.

    Kept for comparison: at equal D the pairs of :class:`GaussianBasis` have less variance, and
    rows of exactly unit length.

    Examples
    --------
    >>> basis = CosineBasis(n_inputs=3, n_components=2000, seed=0)
    >>> features = np.empty((2, 2000))
    >>> basis.features(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), features)
    >>> print(f"{features[0] @ features[1]:.2f}, exactly {np.exp(-0.5):.2f}")
    0.60, exactly 0.61
    """

    @property
    def features_per_phase(self) -> int:
        """One: a shifted cosine."""
        return 1

    @cached_property
    def _shifts(self) -> NDArray[np.float64]:
        shifts: NDArray[np.float64] = self.generator(2).uniform(0, 2 * np.pi, self.n_phases)
        return shifts

    def fill(self, phases: Floats, out: Floats) -> None:
        """Fill ``out`` with the shifted cosines; ``phases`` is overwritten."""
        phases += self._shifts.astype(phases.dtype)
        np.cos(phases, out=out)
        out *= out.dtype.type(np.sqrt(2.0 / self.n_components))


def used_columns(inputs: Floats) -> Inputs:
    """Return the columns that a product has to read: all, unless most hold nothing but zeros.

    >>> used_columns(np.array([[0.0, 2.0, 0.0]]))
    array([1])
    """
    used = np.flatnonzero(inputs.any(axis=0))
    few = 2 * used.size < inputs.shape[1]  # as in hash buckets of rows that repeat their columns
    return used if few else slice(None)
