"""What all random bases share: how many phases, which seed, how the radii are spread."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.validation import Floats, Rows, as_positive_float, as_positive_int


@dataclass(frozen=True)
class RandomBasis(ABC):
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
        check_sampled_dof(self.dof)

    @property
    def features_per_phase(self) -> int:
        """Two, a cosine and a sine, unless a basis says otherwise."""
        return 2

    @property
    def n_phases(self) -> int:
        """Number of phases M."""
        return -(-self.n_components // self.features_per_phase)

    @property
    def scratch_width(self) -> int:
        """Width of the array that :meth:`features` takes; inputs first, then zeros."""
        return self.n_inputs

    def ready(self, inputs_of: Callable[[Rows], Floats]) -> Self:
        """Return what makes features of coordinates: this basis itself, which needs no rows."""
        return self

    @abstractmethod
    def features(self, inputs: Floats, out: Floats) -> None:
        """Fill ``out``, shape (n, D), from ``inputs``, shape (n, scratch_width), a scratch array.

        ``inputs`` may be overwritten.
        """

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


def check_sampled_dof(dof: float) -> float:
    """Return ``dof`` if random features exist for it.

    >>> check_sampled_dof(3)
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
