"""How well a model does while it learns: every row is predicted before it is learnt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length

from streamchi2.plots.canvas import BLUE, GREY, LEGEND, SKY, axes_to_draw_on, put_title
from streamchi2.plots.memory_band import MemoryWeights
from streamchi2.plots.streams import is_rivers, predicted_before_learning
from streamchi2.validation import as_positive_int

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_N_WINDOWS = 20


@dataclass
class ProgressDisplay:
    """Prequential accuracy, or loss, along a stream, with what happened on the way.

    One line is the mean over all rows so far, the other over the last ``window`` rows. Vertical
    lines mark re-estimations of the nodes k. With
    ``half_life="auto"`` a band below shows which memory was trusted when.

    Parameters
    ----------
    scores : ndarray, shape (n,)
        For each row in order: whether it was right, or its absolute error.
    metric : {"accuracy", "absolute error"}
        What the scores are.
    window : int
        Rows in the moving mean.
    start : int
        Rows that were learnt before the first was predicted.
    transports : tuple of int
        Positions to mark.
    memory : MemoryWeights or None
        Weights of memories along the stream.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure that holds them.
    line_, window_line_ : matplotlib Line2D
        The mean over all rows and over the last ones.
    areas_ : list of matplotlib collections
        The weights of the memories, from the shortest to the one that never forgets.

    References
    ----------
    Gama, Sebastião and Rodrigues (2013), "On evaluating stream learning algorithms",
    doi:10.1007/s10994-012-5320-9.

    Examples
    --------
    >>> display = ProgressDisplay.from_predictions([1, 2, 1, 2], [1, 1, 1, 2], window=2)
    >>> display.running_mean(), display.moving_mean()
    (array([1.        , 0.5       , 0.66666667, 0.75      ]), array([1. , 0.5, 0.5, 1. ]))
    """

    scores: NDArray[np.float64]
    metric: str
    window: int
    start: int = 0
    transports: tuple[int, ...] = ()
    memory: MemoryWeights | None = None

    ax_: Axes | None = None
    figure_: Figure | None = None
    line_: Line2D | None = None
    window_line_: Line2D | None = None
    areas_: list[Any] | None = None

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        estimator: Any = None,
        window: int | None = None,
        start: int = 0,
    ) -> Self:
        """Return the display of predictions made along a stream; draws nothing yet.

        Parameters
        ----------
        y_true, y_pred : array-like, shape (n,)
            Targets and what was predicted before each was learnt. Floats are judged by their
            absolute error, everything else by accuracy.
        estimator : optional
            The estimator after the stream: its ``transports_`` are marked, and its
            ``memory_history_`` is drawn.
        window : int, optional
            Rows in the moving mean, a twentieth of the stream by default.
        start : int, default=0
            Rows that were learnt before the first was predicted.

        Returns
        -------
        ProgressDisplay
        """
        targets, predicted = np.asarray(y_true), np.asarray(y_pred)
        check_consistent_length(targets, predicted)
        if targets.ndim != 1 or predicted.ndim != 1 or targets.size == 0:
            raise ValueError(
                "y_true and y_pred must be flat and not empty, got shapes "
                f"{targets.shape} and {predicted.shape}"
            )
        numbers = targets.dtype.kind == "f"
        scores = np.abs(targets - predicted) if numbers else targets == predicted
        window = max(1, targets.size // _N_WINDOWS) if window is None else window
        return cls(
            np.asarray(scores, dtype=np.float64),
            "absolute error" if numbers else "accuracy",
            as_positive_int(window, name="window"),
            start,
            _positions(getattr(estimator, "transports_", ())),
            MemoryWeights.of(estimator),
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        batch_size: int = 100,
        window: int | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Run a clone of an estimator along a stream and draw its progress.

        Parameters
        ----------
        estimator : estimator with ``partial_fit`` and ``predict``, or one of river's
            A clone of it learns; itself it stays as it is.
        X : array-like or sparse matrix, shape (n, d); for river also a list of dicts
            Rows in the order of the stream.
        y : array-like, shape (n,)
            Targets.
        batch_size : int, default=100
            Rows that are predicted, then learnt, at a time; the first batch is only learnt. River's
            estimators take one row at a time.
        window : int, optional
            Rows in the moving mean, a twentieth of the stream by default.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        ProgressDisplay
        """
        batch_size = as_positive_int(batch_size, name="batch_size")
        targets = np.asarray(y)
        check_consistent_length(X, targets)
        if not is_rivers(estimator) and targets.shape[0] <= batch_size:
            raise ValueError(
                f"batch_size must be below the number of rows, got {batch_size} for "
                f"{targets.shape[0]} rows"
            )
        model, predicted, start = predicted_before_learning(estimator, X, targets, batch_size)
        return cls.from_predictions(
            targets[start:], predicted, estimator=model, window=window, start=start
        ).plot(ax)

    def running_mean(self) -> NDArray[np.float64]:
        """Return the mean over all rows so far, for each row."""
        return np.cumsum(self.scores) / np.arange(1, self.scores.size + 1)

    def moving_mean(self) -> NDArray[np.float64]:
        """Return the mean over the last ``window`` rows, of as many as there are, for each row."""
        sums = np.cumsum(np.concatenate([[0.0], self.scores]))
        ends = np.arange(1, self.scores.size + 1)
        starts = np.maximum(ends - self.window, 0)
        means: NDArray[np.float64] = (sums[ends] - sums[starts]) / (ends - starts)
        return means

    def why_it_begins(self) -> str:
        """Return why the lines begin where they do.

        Examples
        --------
        >>> ProgressDisplay(np.ones(500), "accuracy", 50, start=100).why_it_begins()
        'from row 150: the first 100 rows were learnt unpredicted, and a mean needs 50 predictions'
        """
        window = min(self.window, self.scores.size)
        begin, reasons = self.start + window, []
        if self.start:
            rows = "row was" if self.start == 1 else f"{self.start} rows were"
            reasons.append(f"the first {rows} learnt unpredicted")
        if window > 1:
            reasons.append(f"a mean needs {window} predictions")
        why = ", and ".join(reasons) or "every row was predicted before it was learnt"
        return f"from row {begin}: {why}"

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on Axes, or on those of a new figure, and return this display."""
        ax = axes_to_draw_on(ax)
        self._mark(ax, self.transports, "k estimated again", color=GREY, ls=":")
        rows = self.start + np.arange(1, self.scores.size + 1)
        # A mean over fewer rows than the window says little and would stretch the axis.
        full = slice(min(self.window, rows.size) - 1, None)
        (self.window_line_,) = ax.plot(
            rows[full], self.moving_mean()[full], color=SKY, lw=1.2,
            label=f"last {self.window} rows",
        )  # fmt: skip
        (self.line_,) = ax.plot(
            rows[full], self.running_mean()[full], color=BLUE, lw=2.0, label="all rows so far"
        )
        ax.set(xlabel="rows seen", ylabel=f"{self.metric} before learning")
        ax.set_xlim(0, rows[-1])
        if self.memory is not None:
            self.areas_ = self.memory.draw(ax)
        ax.legend(loc="best", **LEGEND)
        put_title(ax, "Predicted, then learnt", self.why_it_begins())
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        return self

    @staticmethod
    def _mark(ax: Axes, positions: tuple[int, ...], label: str, **style: Any) -> None:
        for index, position in enumerate(positions):
            ax.axvline(position, lw=1.2, label=label if index == 0 else None, **style)


def _positions(transports: Any) -> tuple[int, ...]:
    """Return where k was estimated again, for whichever of several descriptors."""
    several = transports.values() if isinstance(transports, Mapping) else [transports]
    return tuple(sorted({event.position for events in several for event in events}))


def plot_progress(
    estimator: Any, X: Any, y: ArrayLike, *, batch_size: int = 100, ax: Axes | None = None
) -> Axes:
    """Run a clone of an estimator along a stream and draw its prequential accuracy or loss.

    Parameters
    ----------
    estimator : estimator with ``partial_fit`` and ``predict``
        A clone of it learns.
    X : array-like or sparse matrix, shape (n, d)
        Rows in the order of the stream.
    y : array-like, shape (n,)
        Targets.
    batch_size : int, default=100
        Rows that are predicted, then learnt, at a time.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        See :class:`ProgressDisplay` for what is on them, and its ``from_predictions`` for a loop of
        your own or river.
    """
    drawn = ProgressDisplay.from_estimator(estimator, X, y, batch_size=batch_size, ax=ax).ax_
    assert drawn is not None
    return drawn
