"""The labels that a stream has shown or announced, and whether others may still come."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from streamchi2.errors import StateMismatchError
from streamchi2.validation import as_declared_classes, refuse_other_kind, refuse_unknown


def _no_labels() -> NDArray[Any]:
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class KnownClasses:
    """Labels, sorted: all words or all numbers.

    Parameters
    ----------
    labels : ndarray, default=none
        Those seen or announced.
    complete : bool, default=False
        Whether the user has declared that there are no others.

    Examples
    --------
    >>> known = KnownClasses().with_batch(np.array(["spam", "ham"]))
    >>> known.with_batch(np.array(["eggs"])).labels
    array(['eggs', 'ham', 'spam'], dtype='<U4')
    >>> known.with_batch(np.array(["ham"]), classes=["ham", "spam"]).complete
    True
    """

    labels: NDArray[Any] = field(default_factory=_no_labels)
    complete: bool = False

    def with_batch(self, labels: NDArray[Any], classes: ArrayLike | None = None) -> Self:
        """Return what is known after a batch, or refuse its labels or the classes declared."""
        known = self if classes is None else self._declared(classes)
        refuse_other_kind(labels, self.labels)
        refuse_other_kind(labels, known.labels)
        if known.complete:
            refuse_unknown(labels, known.labels)
            return known
        return type(self)(_union(known.labels, labels))

    def with_shard(self, other: Self) -> Self:
        """Return what two streams know together, or refuse."""
        if self.labels.size and other.labels.size:
            kinds = [side.labels.dtype.kind in "UT" for side in (self, other)]
            if kinds[0] != kinds[1]:
                raise StateMismatchError(
                    "classes must be all words or all numbers to merge, got "
                    f"{self.labels[0].item()!r} and {other.labels[0].item()!r}"
                )
        together = _union(self.labels, other.labels)
        for side in (self, other):
            if side.complete and not np.array_equal(side.labels, together):
                raise StateMismatchError(
                    f"classes were declared as {side.labels.tolist()} and must agree to merge, "
                    f"got {together.tolist()} together"
                )
        return type(self)(together, self.complete or other.complete)

    def _declared(self, classes: ArrayLike) -> Self:
        declared = as_declared_classes(classes)
        refuse_other_kind(declared, self.labels)
        if self.complete and not np.array_equal(declared, self.labels):
            raise ValueError(
                f"classes must stay the same, got {declared.tolist()} after {self.labels.tolist()}"
            )
        refuse_unknown(self.labels, declared)
        return type(self)(declared, complete=True)


def _union(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    # An empty array must not decide the dtype of the labels.
    if not left.size or not right.size:
        return np.unique(right if right.size else left)
    union: NDArray[Any] = np.union1d(left, right)
    return union
