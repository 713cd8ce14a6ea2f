"""Moments of several descriptors without the scatter between them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from streamchi2.errors import StateMismatchError
from streamchi2.statistics.block_moments import BlockMoments
from streamchi2.statistics.moments import Moments


def test_block_moments_are_the_blocks_of_the_moments():
    rows = np.random.default_rng(0).normal(size=(300, 5))
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    whole, blocks = Moments(5), BlockMoments.of_sizes((2, 3))
    for moments in (whole, blocks):
        moments.update(rows[:200], weights=weights[:200]).fade(0.5)
        moments.merge(moments.copy().update(rows[200:]))
    for own in blocks.owns:
        # The same sums, in panels of another width.
        assert_allclose(blocks.part(own).scatter(), whole.part(own).scatter(), rtol=1e-12)
    assert_allclose(blocks.mean, whole.mean, rtol=1e-12)
    assert blocks.weight == whole.weight
    with pytest.raises(StateMismatchError, match="sizes must agree"):
        blocks.merge(BlockMoments.of_sizes((3, 2)))
