"""From constructor parameters to the parameters of a feature map, with or without descriptors."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

from streamchi2.bases import LandmarkRows
from streamchi2.checks import as_positive_int
from streamchi2.feature_map import BlockParams, MapParams
from streamchi2.feature_map.feature_map import ColumnNumbers, read
from streamchi2.feature_map.normalization import l1_normalized
from streamchi2.feature_map.params import block_seed
from streamchi2.solvers.components import check_n_pca

_OF_BLOCK = (
    "n_components",
    "beta",
    "dof",
    "series",
    "n_terms",
    "basis",
    "n_buckets",
    "adapt",
    "half_life",
    "dtype",
    "normalize",
)
_SHARED = ("adapt", "half_life", "dtype", "normalize")  # by all descriptors


def map_params(
    params: Mapping[str, Any],
    n_features: int,
    seed: int,
    columns: Mapping[str, ColumnNumbers] | None = None,
    known: MapParams | None = None,
) -> MapParams:
    """Validate the constructor parameters that decide about a map, and return them as a value.

    Parameters
    ----------
    params : mapping
        All constructor parameters of an estimator.
    n_features : int
        Width of whole rows.
    seed : int
        The seeds of all blocks follow from it.
    columns : mapping of str to tuple of int or range, optional
        What each descriptor reads.
    known : MapParams, optional
        Of an earlier call, whose landmarks need not be read again.
    """
    own = {name: params[name] for name in _OF_BLOCK}
    if columns is None:
        before = None if known is None else known.blocks[0].landmarks
        landmarks = _landmarks(params["landmarks"], before, params["normalize"])
        return MapParams.of_one(BlockParams(n_features, **own, seed=seed, landmarks=landmarks))
    columns = {name: as_range(own) for name, own in columns.items()}
    names = tuple(columns)
    sizes = divided(params["n_components"], names, name="n_components")
    parts = _parts_of_landmarks(params, columns, n_features, known)
    blocks = []
    for place, name in enumerate(names):
        here = {
            param: value if param in _SHARED else of_descriptor(value, name, names, param=param)
            for param, value in own.items()
        }
        landmarks = parts[place]
        if isinstance(params["basis"], Mapping) and here["basis"] != "landmarks":
            landmarks = None  # they are for the descriptors that rest on landmarks
        here |= {"n_components": sizes[place], "landmarks": landmarks}
        blocks.append(BlockParams(len(columns[name]), **here, seed=block_seed(seed, place)))
    return MapParams(n_features, names, tuple(columns.values()), tuple(blocks))


def _landmarks(
    given: Any, known: LandmarkRows | None, normalize: str | None
) -> LandmarkRows | None:
    if given is None or (known is not None and known.is_read_from(given)):
        return known if given is not None else None
    found = LandmarkRows.read(given)
    return found if normalize is None else LandmarkRows(l1_normalized(found.rows), given)


def _parts_of_landmarks(
    params: Mapping[str, Any],
    columns: Mapping[str, ColumnNumbers],
    n_features: int,
    known: MapParams | None,
) -> list[LandmarkRows | None]:
    """Return the columns that each descriptor reads of landmarks, which are whole rows."""
    given = params["landmarks"]
    if given is None:
        return [None] * len(columns)
    before = [] if known is None else [block.landmarks for block in known.blocks]
    if len(before) == len(columns) and all(p is None or p.is_read_from(given) for p in before):
        return before
    whole = LandmarkRows.read(given)
    if whole.width != n_features:
        raise ValueError(
            f"landmarks must have as many columns as X, got {whole.width} and {n_features}"
        )
    parts = [read(whole.rows, own) for own in columns.values()]
    if params["normalize"] is not None:
        parts = [l1_normalized(part) for part in parts]
    return [LandmarkRows(part, given) for part in parts]


def as_range(columns: ColumnNumbers) -> ColumnNumbers:
    """Return columns that follow one another as a range: two numbers, however many they are.

    >>> as_range((3, 4, 5)), as_range((3, 5))
    (range(3, 6), (3, 5))
    """
    if isinstance(columns, range):
        return columns
    consecutive = range(columns[0], columns[0] + len(columns))
    return consecutive if columns == tuple(consecutive) else columns


def landmarks_differ(mine: Any, theirs: Any) -> bool:
    """Tell whether two values of the parameter ``landmarks`` differ in content."""
    if mine is None or theirs is None or mine is theirs:
        return mine is not theirs
    return LandmarkRows.read(mine) != LandmarkRows.read(theirs)


def n_pca_of_each(n_pca: Any, names: tuple[str, ...]) -> tuple[float | None, ...] | None:
    """Return how many components of each descriptor, or which share of its variance.

    A number of components is for all together and divided evenly; a share is for each.

    >>> n_pca_of_each(11, ("hog", "bow")), n_pca_of_each(0.9, ("hog", "bow"))
    ((6, 5), (0.9, 0.9))
    """
    if n_pca is None:
        return None
    if isinstance(n_pca, Integral) and not isinstance(n_pca, bool):
        return divided(n_pca, names, name="n_pca")
    shares = tuple(of_descriptor(n_pca, name, names, param="n_pca") for name in names)
    for name, share in zip(names, shares, strict=True):
        check_n_pca(share, name=f"n_pca[{name!r}]" if isinstance(n_pca, Mapping) else "n_pca")
    return shares


def divided(number: Any, names: tuple[str, ...], *, name: str) -> tuple[Any, ...]:
    """Return one number a descriptor: as given, or a total divided evenly, one at the least.

    >>> divided(8, ("hog", "colour", "bow"), name="n_components")
    (3, 3, 2)
    """
    if number is None:
        return (None,) * len(names)
    if isinstance(number, Mapping):
        given = [of_descriptor(number, one, names, param=name) for one in names]
        pairs = zip(given, names, strict=True)
        return tuple(
            None if part is None else as_positive_int(part, name=f"{name}[{one!r}]")
            for part, one in pairs
        )
    total = as_positive_int(number, name=name)
    share, rest = divmod(max(total, len(names)), len(names))
    return tuple(share + (place < rest) for place in range(len(names)))


def of_descriptor(value: Any, name: str, names: tuple[str, ...], *, param: str) -> Any:
    """Return the value of a parameter for one descriptor: its own, or the one for all.

    >>> of_descriptor({"hog": 2.0, "bow": "auto"}, "bow", ("hog", "bow"), param="beta")
    'auto'
    """
    if not isinstance(value, Mapping):
        return value
    if set(value) != set(names):
        raise ValueError(
            f"{param} must have a value for each of the descriptors {', '.join(names)}, "
            f"got {dict(value)!r}"
        )
    return value[name]
