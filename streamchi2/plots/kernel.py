"""Products of features against the exact kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from streamchi2.kernels import exp_chi2_kernel
from streamchi2.plots.canvas import BLUE, axes_to_draw_on, one_of, put_title, reading
from streamchi2.plots.streams import as_array, as_dicts, is_rivers
from streamchi2.validation import as_positive_int

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


@dataclass
class KernelDisplay:
    r"""Inner products of features against the exact kernel, a point for each pair of rows.

    Points on the diagonal are exact. What is off it is the error of the random features, which
    falls as :math:`1/\sqrt D`, and that of the series.

    Parameters
    ----------
    exact, approximate : ndarray, shape (n_pairs,)
        Kernel and inner product of features, for each pair of rows.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure that holds them.
    line_ : matplotlib Line2D
        The points.

    Examples
    --------
    >>> display = KernelDisplay.from_features([[1.0, 0.0], [0.6, 0.7]], [[1.0, 0.5], [0.5, 1.0]])
    >>> print(f"{display.rms:.2f} {display.worst:.2f}")
    0.10 0.10
    """

    exact: NDArray[np.float64]
    approximate: NDArray[np.float64]

    ax_: Axes | None = None
    figure_: Figure | None = None
    line_: Line2D | None = None

    @property
    def rms(self) -> float:
        """Root mean square of the error."""
        return float(np.sqrt(np.mean((self.approximate - self.exact) ** 2)))

    @property
    def worst(self) -> float:
        """Largest absolute error."""
        return float(np.abs(self.approximate - self.exact).max())

    @classmethod
    def from_features(cls, features: ArrayLike, kernel: ArrayLike) -> Self:
        """Return the display of features, shape (n, D), and a kernel, (n, n); draws nothing yet."""
        values, exact = np.asarray(features, np.float64), np.asarray(kernel, np.float64)
        if values.ndim != 2 or len(values) < 2 or exact.shape != (len(values), len(values)):
            raise ValueError(
                "features must be of shape (n, D) and kernel of shape (n, n), n at least 2, got "
                f"shapes {values.shape} and {exact.shape}"
            )
        pairs = np.triu_indices(len(values), k=1)
        return cls(exact[pairs], (values @ values.T)[pairs])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        descriptor: str | None = None,
        max_rows: int = 150,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the features of a fitted estimator against the exact kernel.

        Parameters
        ----------
        estimator : estimator with a feature map
            Such as a fitted :class:`~streamchi2.ExpChi2Classifier`, of either front end. With
            principal components it is the features before them that are drawn.
        X : array-like or sparse matrix, shape (n, d); for river also a list of dicts; optional
            Rows to compare, best some that were not learnt, for an ``ExpChi2Sampler``. By default
            the sample of up to 128 rows seen that ``kernel_error()`` uses, for any estimator.
        descriptor : str, optional
            Whose features, for an estimator with several descriptors.
        max_rows : int, default=150
            As many of the first rows of X are used: all pairs of 150 are 11175 points.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        KernelDisplay
        """
        max_rows = as_positive_int(max_rows, name="max_rows")
        if X is None:
            sampled = reading(
                estimator, "_sampled_kernels", needed_for="the exact kernel", whole=True
            )()
            products, exact = one_of(sampled, descriptor)
            return cls(exact, products).plot(ax)
        if hasattr(estimator, "explained_variance_ratio_"):
            raise TypeError(
                "estimator must give features whose products are the kernel, got "
                f"{type(estimator).__name__}, which rotates and centres them: use ExpChi2Sampler"
            )
        if getattr(estimator, "basis", None) == "additive":
            raise ValueError(
                "basis must be one of the exp-chi2 kernel to be compared with it, got 'additive'"
            )
        if is_rivers(estimator):
            dicts = as_dicts(X)[:max_rows]
            transform = reading(estimator, "transform_one", needed_for="given rows")
            dense, features = as_array(dicts), as_array([transform(row) for row in dicts])
        else:
            transform = reading(estimator, "transform", needed_for="given rows")
            rows: Any = (sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X))[:max_rows]
            dense = rows.toarray() if sparse.issparse(rows) else rows
            features = transform(rows)
        if getattr(estimator, "normalize", None) == "l1":
            dense = dense / np.maximum(dense.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        beta = reading(estimator, "beta_", needed_for="the exact kernel")
        kernel = exp_chi2_kernel(dense, beta=beta, dof=getattr(estimator, "dof", 2.0))
        return cls.from_features(features, kernel).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on Axes, or on those of a new figure, and return this display."""
        ax = axes_to_draw_on(ax)
        (self.line_,) = ax.plot(
            self.exact, self.approximate, ".", ms=1.5, color=BLUE, alpha=0.4, rasterized=True
        )
        ax.axline((0, 0), slope=1, color=ax.spines["left"].get_edgecolor(), lw=0.8)
        ax.set(xlabel="exact kernel of two rows", ylabel="product of features")
        put_title(
            ax,
            "Features and exact kernel",
            f"{self.exact.size} pairs of rows: rms error {self.rms:.3g}, worst {self.worst:.3g}",
        )
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self


def plot_kernel(
    estimator: Any,
    X: Any = None,
    *,
    descriptor: str | None = None,
    max_rows: int = 150,
    ax: Axes | None = None,
) -> Axes:
    """Draw products of features against the exact kernel.

    Parameters
    ----------
    estimator : estimator with a feature map
        Fitted.
    X : array-like or sparse matrix, shape (n, d); for river also a list of dicts; optional
        Rows to compare, for an ``ExpChi2Sampler``; by default a sample of the rows seen.
    descriptor : str, optional
        Whose features, for an estimator with several descriptors.
    max_rows : int, default=150
        As many of the first rows of X are used.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        See :class:`KernelDisplay` for what is on them.
    """
    drawn = KernelDisplay.from_estimator(
        estimator, X, descriptor=descriptor, max_rows=max_rows, ax=ax
    ).ax_
    assert drawn is not None
    return drawn
