"""The dense Gaussian bases: the paper's, and the reference for the faster one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from streamchi2.bases.random import RandomBasis
from streamchi2.checks import Floats
from streamchi2.saving import saved


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

    def _frequencies(self) -> NDArray[np.float64]:
        draws = self.generator(0).standard_normal((self.n_inputs, self.n_phases))
        draws *= np.sqrt(self.beta)
        if self.radii is not None:
            draws *= self.radii
        return draws


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
