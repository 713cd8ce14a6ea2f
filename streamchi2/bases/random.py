"""What all random bases share: how many phases, which seed, how the radii are spread."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.bases.base import Basis, BasisPlan, check_dof
from streamchi2.checks import Floats, as_positive_float, as_positive_int
from streamchi2.state import Float, Int, Kind, SavedValue


@dataclass(frozen=True)
class RandomBasis(SavedValue, Basis):
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

    STATE: ClassVar[dict[str, Kind]] = {
        "n_inputs": Int(1),
        "n_components": Int(1),
        "seed": Int(),
        "beta": Float(0.0),
        "dof": Float(0.0),
    }

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

    @property
    def features_per_phase(self) -> int:
        """Two, a cosine and a sine, unless a basis says otherwise."""
        return 2

    @property
    def n_phases(self) -> int:
        """Number of phases M."""
        return -(-self.n_components // self.features_per_phase)

    @classmethod
    def plan(cls, plan: BasisPlan) -> Self:
        """Return the basis, which needs no data."""
        return cls(plan.n_inputs, plan.n_features, plan.seed, plan.beta, plan.dof)

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

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def fill_pairs(phases: Floats, out: Floats, first: int, n_phases: int) -> None:
    """Write cosines and sines of phases ``first``... where they belong in ``out``.

    They are scaled by sqrt(2/D), so that every row has length one. ``phases`` is overwritten.
    """
    amplitude = phases.dtype.type((2.0 / out.shape[1]) ** 0.5)
    last = first + phases.shape[1]
    # Scaled on the way from the cache to ``out``, which is large and touched only once.
    cosines, sines = np.cos(phases), np.sin(phases, out=phases)
    for start, waves in ((0, cosines), (n_phases, sines)):
        part = out[:, start + first : start + last]
        np.multiply(waves[:, : part.shape[1]], amplitude, out=part)
