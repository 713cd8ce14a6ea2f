"""Models: their progress along a stream, their components and their descriptors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length

from streamchi2.checks.params import as_positive_int
from streamchi2.plots import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_progress(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    estimator: Any = None,
    window: int | None = None,
    start: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw prequential accuracy, or absolute error, along a stream.

    One line is the mean over all rows so far, the other over the last ``window`` rows.

    Parameters
    ----------
    y_true, y_pred : array-like, shape (n,)
        Targets, and what was predicted before each was learnt. Floats are judged by their absolute
        error, everything else by accuracy.
    estimator : optional
        The estimator after the stream: where it has estimated k again, or forgotten, is marked.
    window : int, optional
        Rows in the moving mean, a twentieth of the stream by default.
    start : int, default=0
        Rows that were learnt before the first was predicted.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        With two labelled lines, the moving mean first.

    References
    ----------
    Gama, Sebastião and Rodrigues (2013), "On evaluating stream learning algorithms",
    doi:10.1007/s10994-012-5320-9.
    """
    targets, predicted = np.asarray(y_true), np.asarray(y_pred)
    check_consistent_length(targets, predicted)
    if targets.ndim != 1 or predicted.ndim != 1 or targets.size == 0:
        raise ValueError(
            "y_true and y_pred must be flat and not empty, got shapes "
            f"{targets.shape} and {predicted.shape}"
        )
    window = max(1, targets.size // 20) if window is None else window
    window = min(as_positive_int(window, name="window"), targets.size)
    numbers = targets.dtype.kind == "f"
    scores = (np.abs(targets - predicted) if numbers else targets == predicted).astype(float)
    metric = "absolute error" if numbers else "accuracy"
    ax = canvas.axes_to_draw_on(ax, f"Prequential {metric} {scores.mean():.3g}")
    forgotten = getattr(estimator, "forgotten_", ())
    events = {
        "k estimated again": (canvas.GREY, ":", _transport_positions(estimator)),
        "the past counts half": (canvas.GREEN, "-.", [f.position for f in forgotten if f.kept]),
        "begun anew": (canvas.VERMILLION, "--", [f.position for f in forgotten if not f.kept]),
    }
    for label, (colour, style, positions) in events.items():
        for index, position in enumerate(positions):
            said = None if index else label
            ax.axvline(position, lw=1.2, color=colour, ls=style, label=said)
    # A mean over fewer rows than the window says little and would stretch the axis.
    counts = np.arange(window, targets.size + 1)
    sums = np.append(0.0, np.cumsum(scores))
    recent, overall = (sums[window:] - sums[:-window]) / window, sums[window:] / counts
    rows = start + counts
    ax.plot(rows, recent, color=canvas.SKY, lw=1.2, label=f"last {window} rows")
    ax.plot(rows, overall, color=canvas.BLUE, lw=2.0, label="all rows so far")
    ax.set(xlabel="rows seen", ylabel=f"{metric} before learning", xlim=(0, rows[-1]))
    ax.legend(**canvas.LEGEND)
    return ax


def _transport_positions(estimator: Any) -> list[int]:
    """Return where k was estimated again, for whichever of several descriptors."""
    transports = getattr(estimator, "transports_", ())
    several = transports.values() if isinstance(transports, Mapping) else [transports]
    return sorted({event.position for events in several for event in events})


def plot_spectrum(estimator: Any, *, descriptor: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the share of the variance along each principal component, on logarithmic axes.

    Dotted lines tell how many components hold 50, 90 and 99 % of the variance: where ``n_pca`` may
    be set. A straight fall is a power law, which is what kernels of real data show.

    Parameters
    ----------
    estimator : estimator with ``explained_variance_ratio_``
        :class:`~streamchi2.ExpChi2PCA`, :class:`~streamchi2.StreamingPCA`, a classifier or
        regressor with ``n_pca``, or scikit-learn's ``PCA``; fitted.
    descriptor : str, optional
        Whose components, for an estimator with several descriptors.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        With the spectrum as the first line.
    """
    ratios = canvas.reading(estimator, "explained_variance_ratio_", descriptor)
    shares = np.asarray(ratios, dtype=np.float64)
    ax = canvas.axes_to_draw_on(ax, f"Spectrum: {shares.sum():.1%} in {shares.size} components")
    numbers = np.arange(1, shares.size + 1)
    ax.plot(numbers, np.where(shares > 0, shares, np.nan), color=canvas.BLUE, lw=1.8)
    ax.set(xscale="log", yscale="log", xlabel="principal component", ylabel="share of the variance")
    for level, colour in ((0.5, canvas.GREY), (0.9, canvas.SKY), (0.99, canvas.GREEN)):
        enough = 1 + int(np.searchsorted(shares.cumsum(), level * (1 - 1e-12)))  # rounded sums
        if enough <= shares.size:
            ax.axvline(enough, color=colour, lw=1.0, ls=":", label=f"{level:.0%} in {enough}")
    if ax.get_legend_handles_labels()[1]:
        ax.legend(**canvas.LEGEND)
    return ax


def plot_descriptor_path(estimator: Any, *, ax: Axes | None = None) -> Axes:
    """Draw at which penalties of a group lasso each descriptor is in the model, as bars.

    A bar reaches from the left to the largest alpha at which its descriptor still has a weight.
    Descriptors that tell most about the targets come in first, and are on top. With
    ``penalty="group_lasso"`` a dashed line is at the alpha in use.

    Parameters
    ----------
    estimator : estimator with ``descriptor_path_``
        A fitted :class:`~streamchi2.ExpChi2Classifier` or :class:`~streamchi2.ExpChi2Regressor`
        with ``descriptors``, whatever its penalty.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        With a bar for each descriptor that is ever in, from the top.
    """
    entries = canvas.fitted_attribute(estimator, "descriptor_path_")
    ax = canvas.axes_to_draw_on(ax, "Path of the group lasso")
    names = sorted(entries, key=lambda name: -entries[name])
    ends = np.array([entries[name] for name in names])
    # A logarithmic axis has no zero: who is never in has no bar.
    low = 0.3 * ends[ends > 0].min(initial=1.0)
    for row, (name, end) in enumerate(zip(names, ends.tolist(), strict=True)):
        if end > 0:
            ax.barh(row, end - low, 0.6, left=low, color=canvas.BLUE, label=name)
    ax.set(xscale="log", xlabel="penalty alpha", ylim=(len(names) - 0.4, -0.6))
    ax.set_yticks(range(len(names)), labels=names)
    if hasattr(estimator, "descriptor_weights_"):
        ax.axvline(float(estimator.alpha_), color=canvas.VERMILLION, lw=1.2, ls="--")
    return ax
