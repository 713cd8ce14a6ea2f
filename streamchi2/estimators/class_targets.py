"""What is known of the labels of a stream before and after ``class_weight`` is looked at."""

from __future__ import annotations

from typing import Any

from streamchi2.statistics.class_weight import as_class_weight
from streamchi2.statistics.targets import ClassTargets


def class_targets(known: ClassTargets | None, class_weight: Any) -> ClassTargets:
    """Return what is known of the labels, in a new stream nothing.

    Moments are kept of each class where classes are weighted, so ``class_weight`` cannot come or go
    in the middle of a stream; its values may change, since they are applied when solving.
    """
    separate = as_class_weight(class_weight) is not None
    if known is None:
        return ClassTargets(separate=separate)
    if known.separate != separate:
        before = "weights" if known.separate else "None"
        raise ValueError(
            "class_weight must not change from or to None in the middle of a stream, which keeps "
            f"moments of each class only where there are weights, got {class_weight!r} after "
            f"{before}; use fit, or a clone, to start afresh"
        )
    return known
