"""What the user chose about a feature map: validated once, then frozen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from streamchi2.bases import BASES, OPEN_ENDED, Basis, HashBuckets, LandmarkRows
from streamchi2.checks.params import (
    as_choice,
    as_half_life,
    as_positive_float,
    as_positive_int,
    divided,
    of_each,
)
from streamchi2.checks.rows import Rows, place_of
from streamchi2.features.feature_map import ColumnNumbers, normalized, parts_of, values_of
from streamchi2.hashing import mixed_bits
from streamchi2.saving import Value, same, saved
from streamchi2.series import SERIES, Series
from streamchi2.statistics.log_histogram import LogHistogram

# Features that are not of length one grow as square roots of values. Sums of a million of them must
# fit into float32; in float64 their squares are summed, and weighted.
_LARGEST_VALUES = {"float32": 1e60, "float64": 1e280}
_LEAST_VALUE = 1e-60  # in float32: features of smaller ones vanish in sums, then altogether
_OF_DESCRIPTOR = ("beta", "dof", "series", "n_terms", "basis", "n_buckets")
_SHARED = ("norm", "adapt", "half_life", "latest_rows", "dtype")  # by all descriptors


@saved("block_spec")
@dataclass(frozen=True, eq=False, kw_only=True)
class BlockSpec(Value):
    """What a user may choose about one block of a feature map.

    The names are those of :class:`streamchi2.ExpChi2Sampler`; ``seed`` stands for the
    ``random_state`` and ``n_features`` is the width of the rows.
    """

    n_features: int
    n_components: int | None
    norm: str | None = None
    basis: str
    beta: float | str
    dof: float
    series: str
    n_terms: int | str
    n_buckets: int | str | None = "auto"
    adapt: bool
    half_life: float | str | None
    latest_rows: int = 0
    seed: int
    dtype: str = "float32"
    landmarks: LandmarkRows | None = None  # normalized like all rows

    def __post_init__(self) -> None:
        if self.norm not in (None, "l1"):
            raise ValueError(f"norm must be None or 'l1', got {self.norm!r}")
        as_choice(self.basis, tuple(BASES), name="basis")
        as_choice(self.series, tuple(SERIES), name="series")
        as_choice(self.dtype, ("float32", "float64"), name="dtype")
        as_positive_float(self.dof, name="dof")
        self.basis_class.check_params(self.n_components, self.dof)
        _is_auto(self.beta, as_positive_float, name="beta")
        _is_auto(self.n_terms, self.series_class.check_n_terms, name="n_terms")
        if not isinstance(self.adapt, bool | np.bool_):
            raise TypeError(f"adapt must be True or False, got {self.adapt!r}")
        LogHistogram(half_life=self.fading)
        as_positive_int(self.latest_rows, name="latest_rows", minimum=0)
        sizes_itself = self.basis_class.sizes_itself and self.n_features < OPEN_ENDED
        if self.n_components is not None or not sizes_itself:
            as_positive_int(self.n_components, name="n_components")
        self._check_buckets()
        if self.landmarks is not None:
            self._check_landmarks(self.landmarks)

    @property
    def fading(self) -> float | None:
        """The half-life of rows: inputs of another world are inputs all the same."""
        return None if self.forgets else self.half_life  # type: ignore[return-value]

    @property
    def forgets(self) -> bool:
        """Whether the stream forgets by itself where the world changes."""
        return self.half_life == "auto"

    def _check_buckets(self) -> None:
        n_buckets = self.n_buckets
        if n_buckets is None and self.n_features >= OPEN_ENDED:
            raise TypeError("n_buckets must be a number or 'auto' for named columns, got None")
        if n_buckets is None or _is_auto(n_buckets, as_positive_int, name="n_buckets"):
            return
        HashBuckets(int(n_buckets), seed=0)  # refuses too many
        if self.basis_class.sizes_itself and n_buckets != self.n_components:
            raise ValueError(
                f"n_buckets must be 'auto' or n_components with basis={self.basis!r}, which folds "
                f"into n_components buckets, got {n_buckets} and {self.n_components}"
            )

    def _check_landmarks(self, landmarks: LandmarkRows) -> None:
        if self.basis != "landmarks":
            raise ValueError(
                f"landmarks must be None unless basis is 'landmarks', got {landmarks!r} "
                f"with basis {self.basis!r}"
            )
        n_rows, n_components = landmarks.rows.shape[0], self.n_components
        if n_components is not None and n_rows < n_components:
            raise ValueError(
                f"landmarks must be at least n_components rows, got {n_rows} for "
                f"n_components={n_components}: m landmarks carry m features"
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
    def first_rows(self) -> int:
        """Rows that are kept before the map is planned."""
        return self.basis_class.first_rows(self.n_components, self.landmarks)

    @property
    def has_scale(self) -> bool:
        """Whether beta matters: only the exp-chi2 kernel has one, and features of length one."""
        return self.basis_class.exact_kernel is Basis.exact_kernel

    @property
    def is_limited(self) -> bool:
        """Whether features grow with values, so that those of very large ones cannot be held."""
        return not self.has_scale and self.norm is None

    @property
    def largest_value(self) -> float:
        """The largest value of X whose features can be held, and their squares summed."""
        return _LARGEST_VALUES[self.dtype] if self.is_limited else np.inf

    @property
    def least_value(self) -> float:
        """Rows of no larger values have features that vanish."""
        return _LEAST_VALUE if self.is_limited and self.dtype == "float32" else 0.0

    def normalized(self, rows: Rows) -> Rows:
        """Return rows as the series sees them."""
        return normalized(rows, self.norm)

    def buckets(self, n_terms: int) -> HashBuckets | None:
        """Return the hash buckets for series of so many terms; None where nothing is folded."""
        n_buckets = self.n_buckets
        if isinstance(n_buckets, str) or (n_buckets is None and self.basis_class.sizes_itself):
            n_coordinates = self.n_features * n_terms
            n_buckets = self.basis_class.default_buckets(n_coordinates, self.n_components)
        return None if n_buckets is None else HashBuckets(int(n_buckets), self.seed)


@saved("map_spec")
@dataclass(frozen=True, eq=False)
class MapSpec(Value):
    """What the user chose about every block of a map, and the columns that each reads.

    One block is the ordinary case: ``names`` is then None, and the block reads all columns. With
    descriptors there is a block for each.
    """

    n_features: int  # of whole rows
    blocks: tuple[BlockSpec, ...]
    names: tuple[str, ...] | None = None
    columns: tuple[tuple[int, ...] | range, ...] | None = None

    @classmethod
    def of(
        cls,
        params: Mapping[str, Any],
        n_features: int,
        seed: int,
        columns: Mapping[str, ColumnNumbers] | None = None,
    ) -> MapSpec:
        """Validate constructor parameters and return what they say about the map.

        Parameters
        ----------
        params : mapping
            Constructor parameters of an estimator, by name; those it does not have are "auto"
            (``n_buckets``), "float32" (``dtype``) or None (``landmarks``).
        n_features : int
            Width of whole rows.
        seed : int
            The seeds of all blocks follow from it.
        columns : mapping of str to tuple of int or range, optional
            What each descriptor reads.
        """
        names = None if columns is None else tuple(columns)
        views: list[Any] = [None]
        if columns is not None:
            views = [as_range(each) for each in columns.values()]
        whole = None
        if params.get("landmarks") is not None:
            whole = LandmarkRows.read(params["landmarks"]).rows
            if whole.shape[1] != n_features:
                raise ValueError(
                    "landmarks must have as many columns as X, got "
                    f"{whole.shape[1]} and {n_features}"
                )
        shared = {name: params[name] for name in _SHARED if name in params}
        if "latest_rows" not in params and params["half_life"] is not None:
            as_half_life(params["half_life"])  # which is not "auto"
        divided_params = {
            name: of_each(params[name], names, name=name)
            for name in _OF_DESCRIPTOR
            if name in params
        }
        divided_params["n_components"] = divided(params["n_components"], names, name="n_components")
        blocks = []
        for index, view in enumerate(views):
            here = shared | {name: values[index] for name, values in divided_params.items()}
            here["n_features"] = n_features if view is None else len(view)
            # With several bases they are for the descriptors that rest on landmarks.
            meant = here["basis"] == "landmarks" or not isinstance(params["basis"], Mapping)
            if whole is not None and meant:
                (part,) = parts_of(whole, None if view is None else (view,))
                here["landmarks"] = LandmarkRows(normalized(part, params["norm"]))
            blocks.append(BlockSpec(seed=block_seed(seed, index), **here))
        read = None if names is None else tuple(views)
        return cls(n_features, tuple(blocks), names, read)

    def with_seed(self, seed: int) -> MapSpec:
        """Return the same with the seeds that follow from another one."""
        blocks = enumerate(self.blocks)
        seeded = (replace(block, seed=block_seed(seed, index)) for index, block in blocks)
        return replace(self, blocks=tuple(seeded))

    @property
    def shared(self) -> BlockSpec:
        """The first block: what was chosen once for all, and the seed that others follow from."""
        return self.blocks[0]

    @property
    def first_rows(self) -> int:
        """Rows that are kept before the map is planned, all blocks at once."""
        return max(block.first_rows for block in self.blocks)

    @property
    def made_of_rows(self) -> bool:
        """Whether some features are made of the first rows, so that they are as many as rows."""
        return any(block.basis_class.made_of_rows for block in self.blocks)

    @property
    def descriptors(self) -> dict[str, ColumnNumbers] | None:
        """The columns that each descriptor reads; None without descriptors."""
        if self.names is None or self.columns is None:
            return None
        return dict(zip(self.names, self.columns, strict=True))

    @cached_property
    def is_limited(self) -> bool:
        """Whether there are values whose features could not be held."""
        return any(block.is_limited for block in self.blocks)

    def refuse_too_large(
        self, rows: Rows, where: Callable[[int, int], str] | None = None, *, name: str = "X"
    ) -> None:
        """Refuse validated rows with values whose features could not be held.

        ``where`` says in words which value is at a row and a column.
        """
        views = self.columns or (range(self.n_features),)
        for block, part, view in zip(self.blocks, parts_of(rows, self.columns), views, strict=True):
            values, largest = values_of(part), block.largest_value
            if float(values.max(initial=0.0)) <= largest:
                continue
            first = int(np.argmax(values > largest))
            row, column = place_of(part, first)
            column = view[column]
            place = f" at row {row}, column {column}" if where is None else where(row, column)
            wider = " or dtype='float64'" if block.dtype == "float32" else ""
            raise ValueError(
                f"{name} must be at most {largest:.0e} with basis={block.basis!r} and "
                f"dtype={block.dtype!r}, since features grow as square roots of values, got "
                f"{values[first]}{place}; divide {name} by a constant, or give norm='l1'{wider}"
            )

    def difference(self, other: MapSpec) -> tuple[str, Any, Any] | None:
        """Return the first parameter in which two maps differ, with both values, or None."""
        if not same((self.descriptors, self.names), (other.descriptors, other.names)):
            return "descriptors", self.descriptors, other.descriptors
        names = self.names or (None,)
        for name, mine, theirs in zip(names, self.blocks, other.blocks, strict=True):
            if (difference := first_difference(mine, theirs)) is not None:
                param = difference[0].replace("seed", "random_state")
                where = "" if name is None else f" of descriptor {name!r}"
                return f"{param}{where}", *difference[1:]
        return None


def first_difference(mine: Value, theirs: Value) -> tuple[str, Any, Any] | None:
    """Return the first field in which two values of one class differ, and what it is in both."""
    for field in fields(mine):  # type: ignore[arg-type]
        left, right = getattr(mine, field.name), getattr(theirs, field.name)
        if not same(left, right):
            return field.name, left, right
    return None


def block_seed(seed: int, index: int) -> int:
    """Return the seed of a block; the first one has the seed itself.

    >>> block_seed(7, 0), block_seed(7, 1), block_seed(7, 2)
    (7, 1281163295, 1271108697)
    """
    if index == 0:
        return seed
    return int(mixed_bits(np.array([index], dtype=np.uint64), seed)[0] >> np.uint64(33))


def as_range(columns: ColumnNumbers) -> ColumnNumbers:
    """Return columns that follow one another as a range: two numbers, however many they are.

    >>> as_range((3, 4, 5)), as_range((3, 5))
    (range(3, 6), (3, 5))
    """
    if isinstance(columns, range):
        return columns
    consecutive = range(columns[0], columns[0] + len(columns))
    return consecutive if columns == tuple(consecutive) else columns


def _is_auto(value: Any, check: Callable[..., Any], *, name: str) -> bool:
    """Tell whether a parameter is "auto"; refuse it where it is no valid number either."""
    if isinstance(value, str) and value != "auto":
        raise ValueError(f"{name} must be a number or 'auto', got {value!r}")
    if not isinstance(value, str):
        check(value, name=name)
    return isinstance(value, str)
