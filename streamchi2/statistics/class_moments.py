"""Moments of features together with class labels, at a cost that ignores the number of classes.

A one-hot target needs no products: its cross scatter with the features is the class weight times
the distance of the class mean from the mean of all, and class means are grouped sums.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.checks import Floats, positions_of_labels, union_of_labels
from streamchi2.errors import StateMismatchError
from streamchi2.state import Array, Kind, Labels, Object, Saved, require, same_state
from streamchi2.statistics.centred_block import CentredBlock, centred_block, unit_weights
from streamchi2.statistics.change import Change
from streamchi2.statistics.moments import Moments
from streamchi2.statistics.target_moments import RegressionMoments

_BLOCK_ROWS = 2048  # as in the moments of the features
_ROUNDING = 1e-6  # of sums that were taken in another order


class ClassMoments(Saved):
    r"""Moments of features plus weight :math:`n_c` and mean :math:`\mu_c` of every class.

    For one-hot targets the cross scatter, target mean and target scatter follow:

    .. math:: C_c = n_c (\mu_c - \mu), \qquad \bar y_c = n_c / n, \qquad S_c = n_c (1 - n_c / n)

    Law: a class that first appears late gives the same state as one announced at the start, and
    merging equals having seen both streams.

    Parameters
    ----------
    n_features : int
        Width D of the rows.
    classes : ndarray, optional
        Labels to announce before any of their rows.

    Attributes
    ----------
    classes : ndarray, shape (c,)
        Labels known so far, sorted.
    class_weights, class_means : ndarray, shapes (c,) and (c, n_features)
        Weight and mean of each, zeros before its first row.

    Notes
    -----
    Beyond the scatter of the features a block of n rows costs O(n D), whatever the number of
    classes; the state grows by D + 1 numbers a class.

    Examples
    --------
    >>> rows = np.array([[1.0], [3.0], [8.0]])
    >>> moments = ClassMoments(1).update(rows, np.array(["b", "b", "a"]))
    >>> moments.classes, moments.summary().cross
    (array(['a', 'b'], dtype='<U1'), array([[ 4., -4.]]))
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "features": Object((Moments,)),
        "classes": Labels(),
        "class_weights": Array(),
        "class_means": Array(2),
    }

    def __init__(self, n_features: int, *, classes: NDArray[Any] | None = None) -> None:
        self.features = Moments(n_features)
        self.classes: NDArray[Any] = np.empty(0, np.int64 if classes is None else classes.dtype)
        self.class_weights = np.zeros(0)
        self.class_means = np.zeros((0, n_features))
        if classes is not None:
            self.announce(classes)

    def announce(self, labels: NDArray[Any]) -> Self:
        """Make the classes among ``labels`` known; those known already are unaffected."""
        known = union_of_labels(self.classes, labels)
        if known.size > self.classes.size:
            places = positions_of_labels(self.classes, known)
            weights, means = np.zeros(known.size), np.zeros((known.size, self.features.n_features))
            weights[places], means[places] = self.class_weights, self.class_means
            self.class_weights, self.class_means = weights, means
        self.classes = known
        return self

    def update(
        self, rows: Floats, labels: NDArray[Any], *, weights: NDArray[np.float64] | None = None
    ) -> Self:
        """Absorb rows of shape (n, n_features) with labels of shape (n,)."""
        self.features.check_width(rows)
        if labels.shape != (rows.shape[0],):
            raise ValueError(f"labels must have shape {(rows.shape[0],)}, got {labels.shape}")
        for start in range(0, rows.shape[0], _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            share = unit_weights(rows[part]) if weights is None else weights[part]
            self.pooling(rows[part], labels[part], share).finish()
        return self

    def pooling(self, rows: Floats, labels: NDArray[Any], weights: NDArray[np.float64]) -> Change:
        """Return what absorbs a block once it is finished; until then nothing changes."""
        block = centred_block(rows, weights)
        classes = self._own_classes()
        classes.announce(labels)
        classes._absorb_classes(block, labels, weights)
        names = ("classes", "class_means", "class_weights")
        values = {name: vars(classes)[name] for name in names}
        return Change(self, values, (self.features.pooling(block),))

    def fade(self, factor: float) -> Self:
        """Let everything seen so far count ``factor`` times as much; means stay."""
        self.__dict__.update(vars(self.faded(factor)))
        return self

    def faded(self, factor: float) -> Self:
        """Return moments in which everything seen so far counts ``factor`` times as much."""
        twin = self._own_classes()
        twin.class_weights *= factor
        twin.features = self.features.faded(factor)
        return twin

    def merge(self, other: Self) -> Self:
        """Absorb everything ``other`` has seen; ``other`` is untouched."""
        self.features.check_same_width(other.features)
        if self.classes.size and other.classes.size:
            is_text = [side.classes.dtype.kind == "U" for side in (self, other)]
            if is_text[0] != is_text[1]:
                raise StateMismatchError(
                    "classes must be all text or all numbers to merge, got "
                    f"{self.classes[0]!r} and {other.classes[0]!r}"
                )
        if other.classes.size:
            self.announce(other.classes)
            places = positions_of_labels(other.classes, self.classes)
            self._pool(places, other.class_weights, other.class_means)
            self.features.merge(other.features)
        return self

    def summary(self, *, whole: bool = True) -> RegressionMoments:
        """Return what the solvers read for one-hot targets in the order of ``classes``.

        See :meth:`TargetMoments.summary` for ``whole``.
        """
        features, weights = self.features, self.class_weights
        # Where nothing has been seen every numerator is zero too.
        shares = weights / (features.weight or 1.0)
        cross = (weights[:, None] * (self.class_means - features.mean)).T
        return RegressionMoments(
            features.weight,
            features.count,
            features.mean.copy(),
            features.scatter() if whole else features.upper.T,
            shares,
            np.ascontiguousarray(cross),
            weights * (1.0 - shares),
        )

    def copy(self) -> Self:
        """Return an independent object in the same state."""
        twin = self._own_classes()
        twin.features = self.features.copy()
        return twin

    def _own_classes(self) -> Self:
        """Return an object that shares nothing but the features."""
        twin = object.__new__(type(self))
        twin.__dict__.update(
            self.__dict__,
            class_weights=self.class_weights.copy(),
            class_means=self.class_means.copy(),
        )
        return twin

    def _absorb_classes(
        self, block: CentredBlock, labels: NDArray[Any], weights: NDArray[np.float64]
    ) -> None:
        n_rows = labels.size
        present, codes = np.unique(labels, return_inverse=True)
        weight_of: NDArray[np.float64] = np.bincount(codes, weights).astype(np.float64)
        # The rows are already scaled by sqrt(w), so the one-hot matrix carries the other half.
        one_hot = sparse.csr_array(
            (np.sqrt(weights).astype(block.scaled.dtype), (codes, np.arange(n_rows))),
            shape=(present.size, n_rows + 1),
        )
        means = (one_hot @ block.scaled).astype(np.float64, copy=False)  # sums of deviations
        # A class without weight has sums of zero too, and is not pooled.
        means /= np.where(weight_of > 0.0, weight_of, 1.0)[:, None]
        means += block.mean
        self._pool(positions_of_labels(present, self.classes), weight_of, means)

    def _pool(
        self,
        places: NDArray[np.intp],
        weights: NDArray[np.float64],
        means: NDArray[np.float64],
    ) -> None:
        heavy = weights > 0.0
        if not heavy.all():
            places, weights, means = places[heavy], weights[heavy], means[heavy]
        known = self.class_means[places]
        total = self.class_weights[places] + weights
        # A class not seen before has mean zero and takes a share of one: exactly the new mean.
        steps = means - known
        steps *= (weights / total)[:, None]
        known += steps
        self.class_means[places] = known
        self.class_weights[places] = total

    def validate(self) -> None:
        """Require sorted classes whose weights add up to the weight of all rows."""
        classes, weights = self.classes, self.class_weights
        require(classes.size < 2 or (classes[1:] > classes[:-1]).all(), "classes must ascend")
        require(weights.shape == classes.shape, "class_weights must be one a class")
        shape = (classes.size, self.features.n_features)
        require(self.class_means.shape == shape, f"class_means must have shape {shape}")
        require((weights >= 0.0).all(), "class_weights must not be negative")
        difference = abs(float(weights.sum()) - self.features.weight)
        # What has faded into the subnormal numbers has few digits left.
        slack = _ROUNDING * self.features.weight + 1e-300
        require(difference <= slack, "class_weights must add up to the weight of all rows")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and same_state(self.__dict__, other.__dict__)

    __hash__ = None  # type: ignore[assignment]  # it changes with every block

    def __repr__(self) -> str:
        return f"ClassMoments(n_classes={self.classes.size}, features={self.features!r})"
