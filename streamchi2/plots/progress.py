"""How well a model does while it learns: every row is predicted before it is learnt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length

from streamchi2.checks import as_positive_int
from streamchi2.plots import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def moving_mean(scores: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Return the mean over the last ``window`` scores, of as many as there are, for each.

    >>> moving_mean(np.array([1.0, 0.0, 1.0, 1.0]), 2)
    array([1. , 0.5, 0.5, 1. ])
    """
    sums = np.cumsum(np.concatenate([[0.0], scores]))
    ends = np.arange(1, scores.size + 1)
    starts = np.maximum(ends - window, 0)
    means: NDArray[np.float64] = (sums[ends] - sums[starts]) / (ends - starts)
    return means


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
        The estimator after the stream: where it has estimated k again is marked.
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
    for index, position in enumerate(_transport_positions(estimator)):
        label = "k estimated again" if index == 0 else None
        ax.axvline(position, lw=1.2, color=canvas.GREY, ls=":", label=label)
    rows = start + np.arange(1, scores.size + 1)
    # A mean over fewer rows than the window says little and would stretch the axis.
    full = slice(window - 1, None)
    recent, overall = moving_mean(scores, window)[full], moving_mean(scores, scores.size)[full]
    ax.plot(rows[full], recent, color=canvas.SKY, lw=1.2, label=f"last {window} rows")
    ax.plot(rows[full], overall, color=canvas.BLUE, lw=2.0, label="all rows so far")
    ax.set(xlabel="rows seen", ylabel=f"{metric} before learning", xlim=(0, rows[-1]))
    ax.legend(**canvas.LEGEND)
    return ax


def _transport_positions(estimator: Any) -> list[int]:
    """Return where k was estimated again, for whichever of several descriptors."""
    transports = getattr(estimator, "transports_", ())
    several = transports.values() if isinstance(transports, Mapping) else [transports]
    return sorted({event.position for events in several for event in events})
