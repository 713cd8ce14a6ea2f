"""Labels of a batch, one a row or several, validated against those that came before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamchi2.checks import as_indicators, as_labels, is_indicator
from streamchi2.statistics.class_weight import as_class_weight
from streamchi2.statistics.targets import ClassTargets, IndicatorTargets, with_labels


def class_targets(known: Any, class_weight: Any) -> ClassTargets:
    """Return what is known of the labels, in a new stream nothing.

    Moments are kept of each class where classes are weighted, so ``class_weight`` cannot come or go
    in the middle of a stream; its values may change, since they are applied when solving.
    """
    separate = as_class_weight(class_weight) is not None
    if known is None:
        return ClassTargets(separate=separate)
    assert isinstance(known, ClassTargets)
    if known.separate != separate:
        before = "weights" if known.separate else "None"
        raise ValueError(
            "class_weight must not change from or to None in the middle of a stream, which keeps "
            f"moments of each class only where there are weights, got {class_weight!r} after "
            f"{before}; use fit, or a clone, to start afresh"
        )
    return known


def labelled_batch(
    estimator: Any, y: Any, classes: ArrayLike | None, given: NDArray[np.bool_] | None = None
) -> Callable[..., Any]:
    """Return a function that validates labels where something is known of earlier ones.

    An array with two columns or more is an indicator matrix, as in scikit-learn. ``given`` tells
    which rows have labels, where not all have.
    """

    def validated(known: Any, n_rows: int, heavy: NDArray[np.bool_] | None) -> Any:
        several = is_indicator(y)
        if known is not None and several != isinstance(known, IndicatorTargets):
            found = "a column for each label" if several else "one label a row"
            raise ValueError(
                f"y must keep its form, {_form(known)}, got {found}; rows without labels that are "
                "observed first count as one label a row"
            )
        if several:
            return _indicators(estimator, known, y, classes, n_rows, given)
        _refuse_weights(classes, n_rows)
        labels = as_labels(estimator, y, n_rows)
        batch = with_labels(labels, given)
        heard = labels[batch["given"] & (True if heavy is None else heavy)]
        targets = class_targets(known, estimator.class_weight)
        return targets.with_batch(heard, classes), batch

    return validated


def _indicators(
    estimator: Any,
    known: IndicatorTargets | None,
    y: Any,
    classes: ArrayLike | None,
    n_rows: int,
    given: NDArray[np.bool_] | None,
) -> tuple[IndicatorTargets, NDArray[np.float64]]:
    for name in ("class_weight", "calibrate"):
        value = getattr(estimator, name, None)
        if value is not None:
            raise ValueError(
                f"{name} must be None where y has a column for each label, got {value!r}: it is "
                "defined for one label a row"
            )
    targets = as_indicators(y, n_rows)
    found = IndicatorTargets(targets.shape[1])
    if classes is not None and not np.array_equal(classes, np.arange(found.n_targets)):
        raise ValueError(
            "classes must be the numbers of the columns of y where it has a column for each label, "
            f"got {np.asarray(classes).tolist()} for {found.n_targets} columns"
        )
    if known is not None and found != known:
        raise ValueError(f"y must keep its shape {known.shape}, got {targets.shape}")
    if given is not None:
        targets[~given] = np.nan
    return found, targets


def _refuse_weights(classes: ArrayLike | None, n_rows: int) -> None:
    """Refuse what was meant as weights: numbers, one a row, broken or not distinct."""
    given = np.asarray([] if classes is None else classes)
    if given.shape != (n_rows,) or given.dtype.kind not in "iuf" or not n_rows:
        return
    if np.unique(given).size < n_rows or (given != np.floor(given)).any():
        raise ValueError(
            "classes must be distinct labels, got numbers that look like weights, one for each of "
            f"{n_rows} rows: the third argument of partial_fit is classes, weights go by name, "
            "sample_weight="
        )


def _form(known: ClassTargets | IndicatorTargets) -> str:
    if isinstance(known, ClassTargets):
        return "one label a row"
    return f"a column for each of {known.n_targets} labels"
