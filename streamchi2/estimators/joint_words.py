"""Constructor words where there are several descriptors: shared, divided, or one for each."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from types import SimpleNamespace
from typing import Any

from streamchi2.bases import LandmarkRows
from streamchi2.estimators.descriptor_columns import Columns
from streamchi2.estimators.map_words import MapWords
from streamchi2.joint_map import JointSettings, descriptor_seed, read
from streamchi2.solvers.principal import check_n_pca
from streamchi2.validation import as_positive_int

_SHARED = ("adapt", "half_life", "dtype", "n_jobs", "random_state")  # by all descriptors


def joint_settings(
    words: Mapping[str, Any],
    columns: Mapping[str, Columns],
    n_features: int,
    seed: int,
    known: JointSettings | None = None,
) -> JointSettings:
    """Check the constructor words for every descriptor and return them as a value.

    Parameters
    ----------
    words : mapping
        All constructor words of an estimator.
    columns : mapping of str to tuple of int
        What each descriptor reads.
    n_features : int
        Width of whole rows.
    seed : int
        The seeds of all descriptors follow from it.
    known : JointSettings, optional
        Of an earlier call, whose landmarks need not be read again.
    """
    names = tuple(columns)
    numbers = divided(words["n_components"], names, name="n_components")
    landmarks = _landmarks(words, columns, n_features, known)
    parts = []
    for place, name in enumerate(names):
        own = {
            word: value if word in _SHARED else of_descriptor(value, name, names, word=word)
            for word, value in words.items()
            if word not in ("descriptors", "n_pca", "landmarks")
        }
        own |= {"n_components": numbers[place], "landmarks": words["landmarks"]}
        if isinstance(words["basis"], Mapping) and own["basis"] != "landmarks":
            own["landmarks"] = None  # they are for the descriptors that rest on landmarks
        here = (len(columns[name]), descriptor_seed(seed, place), landmarks[place])
        parts.append(MapWords._map_settings(SimpleNamespace(**own), *here))
    return JointSettings(n_features, names, tuple(columns.values()), tuple(parts))


def _landmarks(
    words: Mapping[str, Any],
    columns: Mapping[str, Columns],
    n_features: int,
    known: JointSettings | None,
) -> list[LandmarkRows | None]:
    """Return the columns that each descriptor reads of landmarks, which are whole rows."""
    given = words["landmarks"]
    if given is None:
        return [None] * len(columns)
    before = [] if not isinstance(known, JointSettings) else [p.landmarks for p in known.parts]
    if len(before) == len(columns) and all(p is None or p.is_read_from(given) for p in before):
        return before
    whole = LandmarkRows.read(given)
    if whole.width != n_features:
        raise ValueError(
            f"landmarks must have as many columns as X, got {whole.width} and {n_features}"
        )
    return [LandmarkRows(read(whole.rows, own), given) for own in columns.values()]


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
    shares = tuple(of_descriptor(n_pca, name, names, word="n_pca") for name in names)
    for name, share in zip(names, shares, strict=True):
        check_n_pca(share, name=f"n_pca[{name!r}]" if isinstance(n_pca, Mapping) else "n_pca")
    return shares


def divided(number: Any, names: tuple[str, ...], *, name: str) -> tuple[int, ...]:
    """Return one number a descriptor: as given, or a total divided evenly, one at the least.

    >>> divided(8, ("hog", "colour", "bow"), name="n_components")
    (3, 3, 2)
    """
    if isinstance(number, Mapping):
        given = [of_descriptor(number, one, names, word=name) for one in names]
        pairs = zip(given, names, strict=True)
        return tuple(as_positive_int(part, name=f"{name}[{one!r}]") for part, one in pairs)
    total = as_positive_int(number, name=name)
    share, rest = divmod(max(total, len(names)), len(names))
    return tuple(share + (place < rest) for place in range(len(names)))


def of_descriptor(value: Any, name: str, names: tuple[str, ...], *, word: str) -> Any:
    """Return the value of a word for one descriptor: its own, or the one for all.

    >>> of_descriptor({"hog": 2.0, "bow": "auto"}, "bow", ("hog", "bow"), word="beta")
    'auto'
    """
    if not isinstance(value, Mapping):
        return value
    if set(value) != set(names):
        raise ValueError(
            f"{word} must have a value for each of the descriptors {', '.join(names)}, "
            f"got {dict(value)!r}"
        )
    return value[name]
