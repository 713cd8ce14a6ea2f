"""What both front ends say of a stream, of its feature map and of the model on its features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamchi2.bases import LandmarkBasis
from streamchi2.model import Components, components_of, descriptor_entries
from streamchi2.series import DirectSeries
from streamchi2.statistics.buffer import NAMED_WIDTH
from streamchi2.statistics.forgetting import Forgotten
from streamchi2.stream import Stream


class StreamReadings:
    """Readings of a stream: the attribute ``_stream``, which may be None or not be there."""

    _fitted_stream: Any  # method that returns the stream, or says that nothing was learnt

    def summary(self) -> str:
        """Return what has been learnt from and what is in use, as text; no model is solved for it.

        Examples
        --------
        >>> from streamchi2 import ExpChi2Sampler
        >>> print(ExpChi2Sampler(64, beta=2.0).summary())
        ExpChi2Sampler, not fitted
        >>> rows = [[0.1 * i, 1.0 - 0.1 * i] for i in range(1, 10)] * 8
        >>> print(ExpChi2Sampler(64, beta=2.0, n_terms=3).fit(rows).summary())
        ExpChi2Sampler, fitted
          rows seen  72
          columns    2
          features   64
          beta       2
          terms      3
        """
        stream: Stream | None = vars(self).get("_stream")
        facts = {} if stream is None else self._facts(stream)
        state = "fitted" if facts else "not fitted"
        width = max(map(len, facts), default=0)
        lines = [f"  {name:{width}}  {value}" for name, value in facts.items()]
        return "\n".join([f"{type(self).__name__}, {state}", *lines])

    def _facts(self, stream: Stream) -> dict[str, str]:
        """Return names and values that cost no work."""
        facts = {"rows seen": f"{stream.n_rows:,}"}
        if stream.n_features != NAMED_WIDTH:
            facts["columns"] = f"{stream.n_features:,}"
        targets = stream.targets
        if targets is not None and targets.kind == "labels":
            facts["classes"] = f"{targets.n_columns:,}"
        elif targets is not None and not targets.flat:
            facts["targets"] = f"{targets.n_columns:,}"
        return facts

    def _by_descriptor(self, values: tuple[Any, ...]) -> Any:
        """Return what there is for each descriptor under its name, or the only one as it is."""
        spec = self._fitted_stream().spec
        names = None if spec is None else spec.names
        return values[0] if names is None else dict(zip(names, values, strict=True))


class MapReadings(StreamReadings):
    """Readings of a map: each is a dict by descriptor where there are several."""

    _tracker: Any  # method that returns the tracker, pending rows included

    @property
    def k_(self) -> Any:
        """Nodes k of the direct series now in use."""
        return self._of_blocks(_nodes)

    @property
    def n_terms_(self) -> Any:
        """Number of coordinates for each value."""
        return self._of_blocks(lambda block: block.series.n_terms)

    @property
    def beta_(self) -> Any:
        """Inverse scale of the kernel, as given or as estimated from the first rows."""
        return self._of_blocks(lambda block: block.basis.beta)

    @property
    def landmarks_(self) -> Any:
        """With ``basis="landmarks"``: the rows in use, as a copy."""
        return self._of_blocks(_landmarks)

    @property
    def input_histogram_(self) -> Any:
        """Histogram of the values seen so far, as a copy."""
        return self._tracker().each(lambda part: part.histogram.copy())

    @property
    def predicted_kernel_error_(self) -> Any:
        """Error of the kernel due to the series, predicted from the inputs: an upper estimate."""
        return self._tracker().each(lambda part: part.predicted_kernel_error())

    @property
    def transports_(self) -> Any:
        """Re-estimations of k: the row at which each happened, and how far coordinates moved."""
        return self._tracker().each(lambda part: part.transports)

    @property
    def transport_residual_(self) -> Any:
        """How far features may have moved in all since the beginning: the sum of the residuals."""
        return self._tracker().each(lambda part: part.moved)

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
        return self._tracker().each(lambda part: part.kernel_error())

    def _sampled_kernels(self) -> Any:
        """Return what :meth:`kernel_error` compares: products of features and exact kernel."""
        return self._tracker().each(lambda part: part.sampled_kernels())

    def _of_blocks(self, look: Callable[[Any], Any]) -> Any:
        return self._tracker().each(lambda part: look(part.block))

    def _facts(self, stream: Stream) -> dict[str, str]:
        facts = super()._facts(stream)
        if not stream.is_planned:
            return facts | {"map": f"planned at row {stream.plan_at:,}"}
        read = {
            "features": lambda part: f"{part.block.n_components:,}",
            "beta": lambda part: f"{part.block.basis.beta:.4g}",
            "terms": lambda part: str(part.block.series.n_terms),
        }
        for name, look in read.items():
            values = self._tracker().each(look)
            if isinstance(values, dict):
                values = ", ".join(f"{descriptor} {value}" for descriptor, value in values.items())
            facts[name] = values
        return facts


class ModelReadings:
    """Readings of a linear model on features."""

    _model: Any  # method that returns the model which predictions are made with

    @property
    def alpha_(self) -> float:
        """Strength of the penalty, as given or as chosen."""
        alpha: float = self._model().linear.alpha
        return alpha

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Coefficients on the features, shape (n_outputs, D); (D,) for flat targets."""
        model = self._model()
        coef: NDArray[np.float64] = model.linear.coef.T
        return coef[0] if model.targets.flat else coef

    @property
    def intercept_(self) -> Any:
        """Intercepts, shape (n_outputs,); a number for flat targets."""
        model = self._model()
        return model.linear.intercept[0] if model.targets.flat else model.linear.intercept


class ComponentReadings(MapReadings):
    """Readings of the principal components of features."""

    _learner_spec: Any  # method that returns the parameters of the model

    @property
    def explained_variance_ratio_(self) -> Any:
        """With ``n_pca``: share of the features' variance that each principal component holds.

        With several descriptors, of each by itself: a dict.
        """
        components = self._components()
        if self._learner_spec().n_pca is None:
            raise AttributeError("explained_variance_ratio_ needs n_pca, got None")
        return self._by_descriptor(components.variance_shares)

    def _components(self) -> Components:
        """Return principal components of all features seen."""
        stream, n_pca = self._fitted_stream(), self._learner_spec().n_pca
        components: Components = stream.cached(
            ("components", n_pca), lambda: components_of(stream.settled(), n_pca)
        )
        return components


class DescriptorReadings(ModelReadings, ComponentReadings):
    """Readings of a model on the features of a map, of several descriptors if there are some."""

    @property
    def latest_(self) -> dict[float | None, float]:
        """Mean squared errors of predictions one row ahead, by the penalty of the correction.

        None is without a correction. The one with the least error, as of the last end of a block,
        is in use.
        """
        latest = self._fitted_stream().latest
        if latest is None:
            raise AttributeError("latest_ needs latest_rows above 0 and a row with a target")
        errors: dict[float | None, float] = latest.mean_errors
        return errors

    @property
    def forgotten_(self) -> tuple[Forgotten, ...]:
        """With ``half_life="auto"``: when it has forgotten, how much, and why."""
        latest = self._fitted_stream().latest
        return () if latest is None else tuple(latest.forgetting.history)

    @property
    def descriptor_path_(self) -> dict[str, float]:
        """The largest alpha at which a group lasso uses each descriptor, strongest first."""
        names, spec = self._descriptor_names("descriptor_path_"), self._learner_spec()
        stream = self._fitted_stream()
        entries = stream.cached(
            ("descriptor_path_", spec), lambda: descriptor_entries(stream.settled(), spec)
        )
        pairs = zip(names, entries.tolist(), strict=True)
        return dict(sorted(pairs, key=lambda pair: -pair[1]))

    @property
    def descriptor_weights_(self) -> dict[str, float]:
        r"""With ``penalty="group_lasso"``: the weight of each kernel, zero for one left out.

        The model is that of ridge regression, penalty one, with the kernel
        :math:`\sum_g d_g k_g` of these weights.
        """
        names, scales = self._descriptor_names("descriptor_weights_"), self._model().scales
        if scales is None:
            raise AttributeError("descriptor_weights_ needs penalty='group_lasso' and alpha > 0")
        return dict(zip(names, scales.tolist(), strict=True))

    def _descriptor_names(self, reading: str) -> tuple[str, ...]:
        names: tuple[str, ...] | None = self._fitted_stream().spec.names
        if names is None:
            raise AttributeError(f"{reading} needs descriptors, got None")
        return names


def _landmarks(block: Any) -> Any:
    if not isinstance(block.basis, LandmarkBasis):
        raise AttributeError(f"landmarks_ belongs to basis='landmarks', this is {block.basis!r}")
    return block.basis.landmarks.rows.copy()


def _nodes(block: Any) -> NDArray[np.float64]:
    series = block.series.series
    if not isinstance(series, DirectSeries):
        raise AttributeError(f"k_ belongs to series='direct', this is {series!r}")
    return np.array(series.k)
