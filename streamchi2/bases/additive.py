"""The additive basis: the coordinates of the series themselves, without the exponential.

The paper's Chi2 row. Inner products of features tend to the additive chi2 kernel: linear in
cost and in model, and the right tool where the exponential brings little, as on sparse, wide text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.bases.base import Basis, BasisPlan
from streamchi2.checks.params import as_positive_float, as_positive_int
from streamchi2.checks.rows import Floats, Rows
from streamchi2.kernels import chi2_distance
from streamchi2.saving import saved


@saved("basis.additive")
@dataclass(frozen=True)
class AdditiveBasis(Basis):
    r"""Series coordinates as features.

    .. math:: z(x)^\top z(y) \approx \sum_i \frac{2 x_i y_i}{x_i + y_i}

    Exact up to the error of the series where D is at least the number of coordinates (features
    beyond them are zero). Where it is smaller, the map folds the coordinates into D hash buckets
    before they reach the basis, and inner products are unbiased.

    Parameters
    ----------
    n_inputs : int
        Width of the rows of coordinates, or number of buckets.
    n_components : int
        Number of features D, at least ``n_inputs``.
    beta : float, default=1.0
        Not used by the kernel, which has no scale; the map keeps it for its error estimates.

    References
    ----------
    Li, Lebanon and Sminchisescu (2013), the row "Chi2" of the tables, arXiv:1206.4074; Weinberger
    et al. (2009), doi:10.1145/1553374.1553516.

    Examples
    --------
    >>> features = np.empty((1, 4))
    >>> AdditiveBasis(n_inputs=3, n_components=4).features(np.array([[0.5, 0.1, 0.2]]), features)
    >>> features
    array([[0.5, 0.1, 0.2, 0. ]])
    """

    sizes_itself: ClassVar[bool] = True
    dof: ClassVar[float] = 2.0  # type: ignore[misc]  # the kernel has none

    n_inputs: int
    n_components: int
    beta: float = 1.0

    def __post_init__(self) -> None:
        as_positive_int(self.n_inputs, name="n_inputs")
        as_positive_int(self.n_components, name="n_components", minimum=self.n_inputs)
        as_positive_float(self.beta, name="beta")

    @classmethod
    def check_params(cls, n_components: int | None, dof: float) -> None:
        """Refuse degrees of freedom: there is no exponential that could have others."""
        if dof != 2:
            raise ValueError(f"dof must be 2 with basis='additive', got {dof!r}")

    @classmethod
    def default_buckets(cls, n_coordinates: int, n_components: int | None) -> int | None:
        """Return D where there are more coordinates than that."""
        return None if n_components is None or n_components >= n_coordinates else n_components

    @classmethod
    def plan(cls, plan: BasisPlan) -> Self:
        """Return the basis; without ``n_components``, one feature a coordinate."""
        n_features = plan.n_inputs if plan.n_components is None else plan.n_components
        return cls(plan.n_inputs, n_features, plan.beta)

    def features(self, inputs: Floats, out: Floats) -> None:
        """Fill ``out`` with the coordinates."""
        out[:, : self.n_inputs] = inputs
        out[:, self.n_inputs :] = 0.0

    def exact_kernel(self, rows: Rows) -> NDArray[np.float64]:
        r"""Return :math:`\tfrac12(\lVert x\rVert_1 + \lVert y\rVert_1) - \chi^2(x, y)`."""
        lengths = np.asarray(rows.sum(axis=1), dtype=np.float64).ravel()
        kernel: NDArray[np.float64] = (lengths[:, None] + lengths) / 2.0 - chi2_distance(rows)
        return kernel
