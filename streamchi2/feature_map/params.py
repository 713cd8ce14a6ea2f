"""The parameters of a feature map: of each block, and of all of them together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from streamchi2.bases import BASES, Basis, HashBuckets, LandmarkRows
from streamchi2.checks import (
    Floats,
    Rows,
    as_choice,
    as_positive_float,
    as_positive_int,
    place_of,
)
from streamchi2.errors import StateMismatchError
from streamchi2.feature_map.normalization import NORMALIZATIONS
from streamchi2.hashing import mixed_bits
from streamchi2.series import SERIES, Series
from streamchi2.state import Columns, Int, Kind, Maybe, Object, Param, SavedValue, TupleOf, require
from streamchi2.statistics.log_histogram import LogHistogram

# Features that are not of length one grow as square roots of values. Sums of a million of them must
# fit into float32; in float64 their squares are summed, and weighted.
_LARGEST_VALUES = {"float32": 1e60, "float64": 1e280}
_LEAST_VALUE = 1e-60  # in float32: features of smaller ones vanish in sums, then altogether


@dataclass(frozen=True)
class BlockParams(SavedValue):
    """What a user may choose about one block of a feature map; validated, comparable, printable.

    The names are those of :class:`streamchi2.ExpChi2Sampler`; ``seed`` stands for the
    ``random_state`` and ``n_features`` is the width of the rows.
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "n_features": Int(1),
        "n_components": Maybe(Int(1)),
        "beta": Param(),
        "dof": Param(),
        "series": Param(),
        "n_terms": Param(),
        "basis": Param(),
        "n_buckets": Param(),
        "adapt": Param(),
        "half_life": Param(),
        "seed": Int(),
        "dtype": Param(),
        "landmarks": Maybe(Object((LandmarkRows,))),
        "normalize": Param(),
    }

    n_features: int
    n_components: int | None
    beta: float | str
    dof: float
    series: str
    n_terms: int | str
    basis: str
    n_buckets: int | str | None
    adapt: bool
    half_life: float | None
    seed: int
    dtype: str
    landmarks: LandmarkRows | None = None  # normalized like all rows
    normalize: str | None = None

    def __post_init__(self) -> None:
        if self.normalize not in NORMALIZATIONS:
            raise ValueError(f"normalize must be None or 'l1', got {self.normalize!r}")
        as_choice(self.basis, tuple(BASES), name="basis")
        as_choice(self.series, tuple(SERIES), name="series")
        as_choice(self.dtype, ("float32", "float64"), name="dtype")
        as_positive_float(self.dof, name="dof")
        self.basis_class.check_params(self.n_components, self.dof)
        _number_or_text(self.beta, "auto", as_positive_float, name="beta")
        _number_or_text(self.n_terms, "auto", as_positive_int, name="n_terms")
        if not isinstance(self.n_terms, str):
            self.series_class.check_n_terms(self.n_terms)
        self._check_buckets()
        if not isinstance(self.adapt, bool | np.bool_):
            raise TypeError(f"adapt must be True or False, got {self.adapt!r}")
        LogHistogram(half_life=self.half_life)
        if self.n_components is not None or not self.basis_class.sizes_itself:
            as_positive_int(self.n_components, name="n_components")
        if self.landmarks is not None:
            self._check_landmarks(self.landmarks)

    def _check_buckets(self) -> None:
        if self.n_buckets is None:
            return
        _number_or_text(self.n_buckets, "auto", as_positive_int, name="n_buckets")
        if isinstance(self.n_buckets, str):
            return
        HashBuckets(int(self.n_buckets), seed=0)  # refuses too many
        if self.basis_class.sizes_itself and self.n_buckets != self.n_components:
            raise ValueError(
                f"n_buckets must be 'auto' or n_components with basis={self.basis!r}, which folds "
                f"into n_components buckets, got {self.n_buckets} and {self.n_components}"
            )

    def _check_landmarks(self, landmarks: LandmarkRows) -> None:
        if self.basis != "landmarks":
            raise ValueError(
                f"landmarks must be None unless basis is 'landmarks', got {landmarks!r} "
                f"with basis {self.basis!r}"
            )
        if landmarks.width != self.n_features:
            raise ValueError(
                f"landmarks must have as many columns as X, got {landmarks.width} and "
                f"{self.n_features}"
            )
        assert self.n_components is not None
        if landmarks.n_rows < self.n_components:
            raise ValueError(
                f"landmarks must be at least n_components rows, got {landmarks.n_rows} for "
                f"n_components={self.n_components}: m landmarks carry m features"
            )

    @property
    def basis_class(self) -> type[Basis]:
        """The class of the basis."""
        return BASES[self.basis]

    @property
    def series_class(self) -> type[Series]:
        """The class of the series."""
        return SERIES[self.series]

    @property
    def has_scale(self) -> bool:
        """Whether beta matters: only the exp-chi2 kernel has one, and features of length one."""
        return self.basis_class.exact_kernel is Basis.exact_kernel

    @property
    def largest_value(self) -> float:
        """The largest value of X whose features can be held, and their squares summed."""
        unlimited = self.has_scale or self.normalize is not None
        return np.inf if unlimited else _LARGEST_VALUES[self.dtype]

    @property
    def least_value(self) -> float:
        """Rows of no larger values have features that vanish."""
        limited = self.largest_value < np.inf and self.dtype == "float32"
        return _LEAST_VALUE if limited else 0.0

    def refuse_too_large(self, values: Floats, where: Callable[[int], str], *, name: str) -> None:
        """Refuse validated values above the largest; ``where`` says which is the one at a place."""
        largest = self.largest_value
        if largest == np.inf or float(values.max(initial=0.0)) <= largest:
            return
        first = int(np.argmax(values > largest))
        wider = " or dtype='float64'" if self.dtype == "float32" else ""
        raise ValueError(
            f"{name} must be at most {largest:.0e} with basis={self.basis!r} and "
            f"dtype={self.dtype!r}, since features grow as square roots of values, got "
            f"{values.flat[first]}{where(first)}; divide {name} by a constant, or give "
            f"normalize='l1'{wider}"
        )

    @property
    def first_rows(self) -> int:
        """Rows that are kept before the map is planned."""
        return self.basis_class.first_rows(self.n_components, self.landmarks)

    def buckets(self, n_terms: int) -> HashBuckets | None:
        """Return the hash buckets for series of so many terms; None where nothing is folded."""
        n_buckets = self.n_buckets
        if isinstance(n_buckets, str) or (n_buckets is None and self.basis_class.sizes_itself):
            n_coordinates = self.n_features * n_terms
            n_buckets = self.basis_class.default_buckets(n_coordinates, self.n_components)
        return None if n_buckets is None else HashBuckets(int(n_buckets), self.seed)

    def first_difference(self, other: BlockParams) -> tuple[str, Any, Any] | None:
        """Return the first parameter in which two blocks differ, with both values, or None."""
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if mine != theirs:
                return "random_state" if field.name == "seed" else field.name, mine, theirs
        return None


@dataclass(frozen=True)
class MapParams(SavedValue):
    """The parameters of every block of a map, and the columns that it reads.

    One block is the ordinary case: ``names`` is then None, and the block reads all columns. With
    descriptors there is a block for each.
    """

    STATE: ClassVar[dict[str, Kind]] = {
        "n_features": Int(1),
        "names": Maybe(TupleOf(Param())),
        "columns": Maybe(TupleOf(Columns())),
        "blocks": TupleOf(Object((BlockParams,))),
    }

    n_features: int  # of whole rows
    names: tuple[str, ...] | None
    columns: tuple[tuple[int, ...] | range, ...] | None
    blocks: tuple[BlockParams, ...]

    @classmethod
    def of_one(cls, block: BlockParams) -> MapParams:
        """Return the parameters of a map of one block that reads whole rows."""
        return cls(block.n_features, None, None, (block,))

    @property
    def half_life(self) -> float | None:
        """One for all: descriptors are of the same rows."""
        return self.blocks[0].half_life

    @property
    def adapt(self) -> bool:
        """Whether the series follow the stream."""
        return bool(self.blocks[0].adapt)

    @property
    def seed(self) -> int:
        """The one that all others follow from."""
        return self.blocks[0].seed

    @property
    def first_rows(self) -> int:
        """Rows that are kept before the map is planned, all blocks at once."""
        return max(block.first_rows for block in self.blocks)

    @property
    def provisional_rows(self) -> int | None:
        """Rows of which a map is planned meanwhile at most; None is all there are."""
        each = [block.basis_class.provisional_rows for block in self.blocks]
        return None if None in each else max(filter(None, each))

    @property
    def is_limited(self) -> bool:
        """Whether there are values whose features could not be held."""
        return any(block.largest_value < np.inf for block in self.blocks)

    def refuse_too_large_row(
        self,
        columns: NDArray[np.int64],
        values: NDArray[np.float64],
        where: Callable[[float], str],
        *,
        name: str,
    ) -> None:
        """Refuse a validated row of named columns, in ascending order; ``where`` names a value."""
        for block, read in zip(self.blocks, self.columns or (None,), strict=True):
            own = values
            if read is not None:
                ends = columns.searchsorted((read[0], read[-1] + 1))
                own = values[slice(*ends.tolist())]

            def place(first: int, own: NDArray[np.float64] = own) -> str:
                return where(float(own[first]))

            block.refuse_too_large(own, place, name=name)

    def refuse_too_large(self, rows: Rows) -> None:
        """Refuse validated rows with values whose features could not be held."""
        for block, columns in zip(self.blocks, self.columns or (None,), strict=True):
            if block.largest_value == np.inf:
                continue
            own = rows if columns is None else rows[:, list(columns)]
            values = own.data if isinstance(own, sparse.csr_array) else own

            def where(first: int, own: Rows = own, columns: Any = columns) -> str:
                row, column = place_of(own, first)
                return f" at row {row}, column {column if columns is None else columns[column]}"

            block.refuse_too_large(values, where, name="X")

    def with_seed(self, seed: int) -> MapParams:
        """Return the same with the seeds that follow from another one."""
        blocks = tuple(
            replace(block, seed=block_seed(seed, place)) for place, block in enumerate(self.blocks)
        )
        return replace(self, blocks=blocks)

    def without_adapting(self) -> MapParams:
        """Return the same for a map whose series stay as they are."""
        return replace(self, blocks=tuple(replace(block, adapt=False) for block in self.blocks))

    def check_same(self, other: MapParams) -> None:
        """Refuse to merge with parameters that differ, naming the first difference."""
        if (difference := self.first_difference(other)) is not None:
            name, mine, theirs = difference
            raise StateMismatchError(f"{name} must agree to merge, got {mine!r} and {theirs!r}")

    def first_difference(self, other: MapParams) -> tuple[str, Any, Any] | None:
        """Return the first parameter in which two maps differ, with both values, or None."""
        if self.descriptors != other.descriptors or self.names != other.names:
            return "descriptors", self.descriptors, other.descriptors
        names = self.names or (None,)
        for name, mine, theirs in zip(names, self.blocks, other.blocks, strict=True):
            if (difference := mine.first_difference(theirs)) is not None:
                param, *values = difference
                where = "" if name is None else f" of descriptor {name!r}"
                return f"{param}{where}", *values
        return None

    @property
    def descriptors(self) -> dict[str, tuple[int, ...] | range] | None:
        """The columns that each descriptor reads; None without descriptors."""
        if self.names is None or self.columns is None:
            return None
        return dict(zip(self.names, self.columns, strict=True))

    def validate(self) -> None:
        """Require distinct columns within the rows for every descriptor, and shared parameters."""
        blocks = self.blocks
        if self.names is None or self.columns is None:
            require(self.names is None and self.columns is None, "columns belong to descriptors")
            whole = len(blocks) == 1 and blocks[0].n_features == self.n_features
            require(whole, "without descriptors one block reads whole rows")
            return
        require(len(self.names) > 0, "there must be a descriptor")
        require(len(self.names) == len(self.columns) == len(blocks), "one block a name")
        require(all(isinstance(name, str) and name for name in self.names), "names must be text")
        require(len(set(self.names)) == len(self.names), "names must differ")
        for own, block in zip(self.columns, blocks, strict=True):
            distinct = isinstance(own, range) or len(set(own)) == len(own)
            require(distinct and len(own) == block.n_features, "as many columns as are read")
            last = own[-1] if isinstance(own, range) else max(own)
            require(last < self.n_features, "columns must lie within the rows")
            for name in ("half_life", "adapt", "dtype"):
                require(getattr(block, name) == getattr(blocks[0], name), f"{name} must be shared")


def block_seed(seed: int, place: int) -> int:
    """Return the seed of the block at a place; the first one has the seed itself.

    >>> block_seed(7, 0), block_seed(7, 1), block_seed(7, 2)
    (7, 1281163295, 1271108697)
    """
    if place == 0:
        return seed
    return int(mixed_bits(np.array([place], dtype=np.uint64), seed)[0] >> np.uint64(33))


def _number_or_text(value: Any, text: str, check: Any, *, name: str) -> None:
    if isinstance(value, str) and value != text:
        raise ValueError(f"{name} must be a number or {text!r}, got {value!r}")
    if not isinstance(value, str):
        check(value, name=name)
