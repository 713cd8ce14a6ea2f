"""The orthogonal basis: sign flips and cosine transforms instead of a matrix.

Frequencies that are orthogonal to each other cover the space evenly, so kernels that are not too
narrow are approximated several times better than with independent ones; and since a discrete
cosine transform applies them, nothing is stored and a row costs O(D log D).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.fft import dct, next_fast_len

from streamchi2.bases.random import RandomBasis
from streamchi2.checks.rows import Floats
from streamchi2.saving import saved

_LEAST_WIDTH = 256


@saved("basis.orthogonal")
@dataclass(frozen=True)
class OrthogonalBasis(RandomBasis):
    r"""Blocks of orthogonal frequencies of equal length, two rounds of flips and transforms.

    .. math:: p = \sqrt{\beta w}\; F S_2 F S_1 c

    with F the orthonormal DCT of width w and S diagonal random signs. One block gives w
    phases; further blocks share the first round :math:`F S_1 c`, which only spreads each row
    evenly, and draw their own second signs (measured: as good as separate first rounds, at two
    thirds of the cost). The width is chosen so that blocks are used whole: half a block is no
    better than independent frequencies.

    All frequencies have length :math:`\sqrt{\beta w}` exactly where Gaussian ones would vary by
    :math:`1/\sqrt{2w}`: the mean of the features' kernel differs from the exact one by less than
    0.6/w, and w is at least 256 unless D is small.

    References
    ----------
    Yu et al. (2016), arXiv:1610.09072; Choromanski et al. (2017), arXiv:1703.00864.

    Examples
    --------
    >>> basis = OrthogonalBasis(n_inputs=3, n_components=2000, seed=0)
    >>> basis.block_width, basis.n_blocks
    (360, 3)
    >>> features = np.empty((2, 2000))
    >>> basis.features(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), features)
    >>> print(f"{features[0] @ features[1]:.2f}, exactly {np.exp(-0.5):.2f}")
    0.60, exactly 0.61
    """

    # One thread, float32, us a row by product | by transforms: 64 inputs and 512 phases .8 | 1.5,
    # 192 and 128 .6 | .8, 192 and 512 2.1 | 1.5, 576 and 128 1.6 | 2.2, 576 and 512 6.1 | 2.2.
    most_product: ClassVar[int] = 1 << 16

    @property
    def n_blocks(self) -> int:
        """Number of second rounds."""
        return -(-self.n_phases // self.block_width)

    @cached_property
    def block_width(self) -> int:
        """Width w of the transform: no narrower than the inputs, phases shared out evenly."""
        narrowest = max(self.n_inputs, min(_LEAST_WIDTH, self.n_phases))
        n_blocks = max(1, self.n_phases // narrowest)
        return int(next_fast_len(max(narrowest, -(-self.n_phases // n_blocks)), real=True))

    @cached_property
    def _flips(self) -> tuple[Floats, Floats]:
        """First signs, and second signs times the length of the frequencies."""
        shape = (self.n_blocks + 1, self.block_width)
        signs = 2.0 * self.generator(0).randint(0, 2, shape, dtype=np.int64) - 1.0
        return signs[0], signs[1:] * np.sqrt(self.beta * self.block_width)

    def _transformed(self, inputs: Floats) -> Floats:
        """Return the phases, shape (n, M), by flips and cosine transforms."""
        first, second = (signs.astype(inputs.dtype) for signs in self._flips)
        (n_rows, n_inputs), width = inputs.shape, self.block_width
        padded = np.zeros((n_rows, width), dtype=inputs.dtype)
        np.multiply(inputs, first[:n_inputs], out=padded[:, :n_inputs])
        spread = dct(padded, axis=1, norm="ortho", overwrite_x=True)
        flipped = np.empty_like(spread)
        phases: Floats = np.empty((n_rows, self.n_phases), dtype=inputs.dtype)
        for start, signs in zip(range(0, self.n_phases, width), second, strict=True):
            part = phases[:, start : start + width]
            np.multiply(spread, signs, out=flipped)
            part[...] = dct(flipped, axis=1, norm="ortho", overwrite_x=True)[:, : part.shape[1]]
        if self.radii is not None:
            phases *= self.radii.astype(phases.dtype)
        return phases
