"""Moments of the features of every class by itself, so that classes can be weighted later."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from streamchi2.checks import Floats, positions_of_labels, union_of_labels
from streamchi2.errors import StateMismatchError
from streamchi2.state import Int, Kind, Labels, Object, Saved, TupleOf, require, same_state
from streamchi2.statistics.change import Change
from streamchi2.statistics.class_moments import ClassMoments
from streamchi2.statistics.moments import Moments, effective_count


class SeparateMoments(Saved):
    r"""Weight, mean and scatter of every class, from which those of weighted classes follow.

    With weights :math:`a_c` of the classes, chosen when all rows have been seen, and class c having
    weight :math:`n_c`, mean :math:`\mu_c` and scatter :math:`S_c`,

    .. math:: H = \sum_c a_c S_c + \sum_c a_c n_c (\mu_c - \mu)(\mu_c - \mu)^\top,
              \qquad \mu = \frac{\sum_c a_c n_c \mu_c}{\sum_c a_c n_c}

    One scatter of all classes together, as in :class:`ClassMoments`, cannot be weighted afterwards.

    Law: weighted classes have the moments of weighted rows; merging equals having seen both
    streams; a class that first appears late gives the same state as one announced at the start.

    Parameters
    ----------
    n_features : int
        Width D of the rows.

    Attributes
    ----------
    classes : ndarray, shape (c,)
        Labels known so far, sorted.
    parts : tuple of Moments
        Those of each class.

    Notes
    -----
    A row costs D^2 operations, as without classes; the state is D^2 numbers a class.

    Examples
    --------
    >>> rows = np.array([[1.0], [3.0], [8.0]])
    >>> moments = SeparateMoments(1).update(rows, np.array(["b", "b", "a"]))
    >>> moments.weighted(np.array([2.0, 1.0])).features.mean  # the row of "a" counts twice
    array([5.])
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "n_features": Int(1),
        "classes": Labels(),
        "parts": TupleOf(Object((Moments,))),
    }

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        self.classes: NDArray[Any] = np.empty(0, np.int64)
        self.parts: tuple[Moments, ...] = ()

    @property
    def features(self) -> Moments:
        """The moments of all rows, classes unweighted: a new object."""
        return self._pooled(np.ones(self.classes.size))

    @property
    def weights(self) -> NDArray[np.float64]:
        """The weight of each class."""
        return np.array([part.weight for part in self.parts])

    @property
    def count(self) -> float:
        """Number of rows that the weights stand for, classes unweighted."""
        squared = sum(part.squared_weight for part in self.parts)
        return effective_count(float(self.weights.sum()), float(squared))

    def weighted(self, factors: NDArray[np.float64]) -> ClassMoments:
        """Return the moments in which each class counts its factor times as much."""
        moments = ClassMoments(self.n_features)
        moments.classes, moments.class_weights = self.classes, factors * self.weights
        means = [part.mean for part in self.parts]
        moments.class_means = np.array(means).reshape(-1, self.n_features)
        moments.features = self._pooled(factors)
        return moments

    def _pooled(self, factors: NDArray[np.float64]) -> Moments:
        pooled = Moments(self.n_features)
        for part, factor in zip(self.parts, factors.tolist(), strict=True):
            if factor > 0.0:
                pooled.merge(part if factor == 1.0 else part.faded(factor))
        return pooled

    def announce(self, labels: NDArray[Any]) -> Self:
        """Make the classes among ``labels`` known; those known already are unaffected."""
        known = union_of_labels(self.classes, labels)
        if known.size > self.classes.size:
            parts: list[Moments | None] = [None] * known.size
            places = positions_of_labels(self.classes, known).tolist()
            for place, part in zip(places, self.parts, strict=True):
                parts[place] = part
            self.parts = tuple(part or Moments(self.n_features) for part in parts)
        self.classes = known
        return self

    def update(
        self, rows: Floats, labels: NDArray[Any], *, weights: NDArray[np.float64] | None = None
    ) -> Self:
        """Absorb rows of shape (n, n_features) with labels of shape (n,)."""
        if labels.shape != (rows.shape[0],):
            raise ValueError(f"labels must have shape {(rows.shape[0],)}, got {labels.shape}")
        present, codes = np.unique(labels, return_inverse=True)
        twin = self._twin().announce(present)
        parts = list(twin.parts)
        for code, place in enumerate(positions_of_labels(present, twin.classes).tolist()):
            own = codes == code
            # What changes is a copy: an update that fails half-way leaves this object as it was.
            part = parts[place].copy()
            parts[place] = part.update(rows[own], weights=None if weights is None else weights[own])
        self.classes, self.parts = twin.classes, tuple(parts)
        return self

    def pooling(self, rows: Floats, labels: NDArray[Any], weights: NDArray[np.float64]) -> Change:
        """Return what absorbs a block once it is finished; until then nothing changes."""
        twin = self._twin().update(rows, labels, weights=weights)
        return Change(self, {"classes": twin.classes, "parts": twin.parts})

    def fade(self, factor: float) -> Self:
        """Let everything seen so far count ``factor`` times as much; means stay."""
        self.parts = tuple(part.faded(factor) for part in self.parts)
        return self

    def faded(self, factor: float) -> Self:
        """Return moments in which everything seen so far counts ``factor`` times as much."""
        return self._twin().fade(factor)

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has seen; ``other`` is untouched."""
        if self.n_features != other.n_features:
            raise StateMismatchError(
                f"n_features must agree to merge, got {self.n_features} and {other.n_features}"
            )
        twin = self._twin().announce(other.classes)
        parts = list(twin.parts)
        places = positions_of_labels(other.classes, twin.classes).tolist()
        for place, part in zip(places, other.parts, strict=True):
            parts[place] = parts[place].copy().merge(part)
        self.classes, self.parts = twin.classes, tuple(parts)
        return self

    def copy(self) -> Self:
        """Return an independent object in the same state."""
        return self._twin()  # parts are replaced, never changed

    def _twin(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        return twin

    def validate(self) -> None:
        """Require sorted classes, each with moments of the features."""
        classes = self.classes
        require(classes.size < 2 or (classes[1:] > classes[:-1]).all(), "classes must ascend")
        require(len(self.parts) == classes.size, "moments must be one a class")
        width = self.n_features
        fits = all(part.n_features == width for part in self.parts)
        require(fits, f"moments must have {width} features")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and same_state(self.__dict__, other.__dict__)

    __hash__ = None  # type: ignore[assignment]  # it changes with every block

    def __repr__(self) -> str:
        return f"SeparateMoments(n_features={self.n_features}, n_classes={self.classes.size})"
