"""What can be read of a feature map that follows a stream: for both front ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamchi2.bases import LandmarkBasis
from streamchi2.feature_map.adaptive import AdaptiveBlock
from streamchi2.reading import Reading
from streamchi2.series import DirectSeries


class MapReadings:
    """Readings of a map, for estimators that have a ``_reading`` of their stream.

    With several descriptors each is a dict from their names to what it is for each.
    """

    _reading: Reading

    @property
    def k_(self) -> Any:
        """Nodes k of the direct series now in use."""
        return self._reading_of_blocks(_k_of)

    @property
    def n_terms_(self) -> Any:
        """Number of coordinates for each value."""
        return self._reading_of_blocks(lambda block: block.series.n_terms)

    @property
    def beta_(self) -> Any:
        """Inverse scale of the kernel, as given or as estimated from the first rows."""
        return self._reading_of_blocks(lambda block: block.basis.beta)

    @property
    def landmarks_(self) -> Any:
        """With ``basis="landmarks"``: the rows in use, as a copy."""
        return self._reading_of_blocks(_landmarks_of)

    @property
    def input_histogram_(self) -> Any:
        """Histogram of the values seen so far, as a copy."""
        return self._reading.inputs.each(lambda part: part.histogram.copy())

    @property
    def predicted_kernel_error_(self) -> Any:
        """Error of the kernel due to the series, predicted from the inputs: an upper estimate."""
        return self._reading.inputs.each(AdaptiveBlock.predicted_kernel_error)

    @property
    def transports_(self) -> Any:
        """Re-estimations of k: the row at which each happened, and how far coordinates moved."""
        return self._reading.inputs.each(lambda part: part.transports)

    @property
    def transport_residual_(self) -> Any:
        """How far features may have moved in all since the beginning: the sum of the residuals."""
        return self._reading.inputs.each(lambda part: part.moved)

    def kernel_error(self) -> Any:
        """Measure the error of the present map on a fair sample of the rows seen.

        Up to 128 rows of the stream are kept for this. Their exact kernel is compared with the
        inner products of their features.

        Returns
        -------
        KernelError
            Root mean square and worst absolute error over all pairs; with several descriptors, a
            dict of them.
        """
        return self._reading.inputs.each(AdaptiveBlock.measured_kernel_error)

    def _sampled_kernels(self) -> Any:
        """Return what :meth:`kernel_error` compares: products of features and exact kernel."""
        return self._reading.inputs.each(AdaptiveBlock.sampled_kernels)

    def _reading_of_blocks(self, look: Callable[[Any], Any]) -> Any:
        blocks = self._reading.feature_map.blocks
        names = self._reading.map_params.names
        if names is None:
            return look(blocks[0])
        return {name: look(block) for name, block in zip(names, blocks, strict=True)}


def _landmarks_of(block: Any) -> Any:
    if not isinstance(block.basis, LandmarkBasis):
        raise AttributeError(f"landmarks_ belongs to basis='landmarks', this is {block.basis!r}")
    return block.basis.landmarks.copy()


def _k_of(block: Any) -> NDArray[np.float64]:
    series = block.series.series
    if not isinstance(series, DirectSeries):
        raise AttributeError(f"k_ belongs to series='direct', this is {series!r}")
    return np.array(series.k)
