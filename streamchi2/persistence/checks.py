"""What must hold within each saved tracker and map; each function refuses by FormatError."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamchi2.bases import LandmarkBasis, OrthogonalBasis, SubspaceBasis
from streamchi2.bases.landmark_rows import same_rows
from streamchi2.errors import FormatError
from streamchi2.map_plan import BASES

Values = dict[str, Any]

# Where all rows are equal there is no subspace, and frequencies are orthogonal.
_KINDS: dict[str, Any] = {
    "landmarks": LandmarkBasis,
    "subspace": (SubspaceBasis, OrthogonalBasis),
    **BASES,
}
_OCTAVES = 2047  # exponents of a float64, subnormal ones included
_ROUNDING = 1e-6  # of sums that were taken in another order


def require(holds: bool | np.bool_, rule: str) -> None:
    """Refuse unless a rule holds.

    >>> require(False, "weight must not be negative")
    Traceback (most recent call last):
        ...
    streamchi2.errors.FormatError: weight must not be negative
    """
    if not holds:
        raise FormatError(rule)


def histogram_rules(values: Values) -> None:
    """Require counts in one window of bins, of the kind that half-life and weights imply."""
    counts, zeros = values["_counts"], values["_zeros"]
    exact = counts.dtype == np.int64
    require(not (exact and values["half_life"] is not None), "fading counts must be float64")
    require(isinstance(zeros, int if exact else float), "zeros must be counted as the rest")
    require(zeros >= 0, "zeros must not be negative")
    require((counts >= 0).all(), "counts must not be negative")
    require(counts[:1].all() and counts[-1:].all(), "the window must end at occupied bins")
    require(float(counts.sum(dtype=np.float64)) < 2.0**63 or not exact, "counts must be below 2^63")
    last = values["_first_key"] + counts.size
    require(last <= _OCTAVES * values["bins_per_octave"], "bins must lie in the range of floats")
    if values["n_rows"] == 0:
        require(counts.size == 0 and zeros == 0, "counts without rows")


def moments_rules(values: Values) -> None:
    """Require mean and scatter of one width."""
    width = values["n_features"]
    require(values["mean"].shape == (width,), f"mean must have {width} entries")
    require(values["upper"].shape == (width, width), f"scatter must be {width} x {width}")


def block_moments_rules(values: Values) -> None:
    """Require moments of the same rows in every block, faded from outside."""
    parts = values["parts"]
    require(len(parts) > 0, "there must be a block")
    require(all(part.weight == parts[0].weight for part in parts), "blocks must weigh the same")
    require(all(part.half_life is None for part in parts), "blocks are faded from outside")


def target_rules(values: Values) -> None:
    """Require arrays of the widths that features and targets imply."""
    width, n_targets = values["features"].n_features, values["n_targets"]
    for name in ("target_mean", "target_scatter"):
        require(values[name].shape == (n_targets,), f"{name} must have {n_targets} entries")
    require(values["cross"].shape == (width, n_targets), f"cross must be {width} x {n_targets}")
    require((values["target_scatter"] >= 0.0).all(), "target_scatter must not be negative")


def class_rules(values: Values) -> None:
    """Require sorted classes whose weights add up to the weight of all rows."""
    features, classes, weights = values["features"], values["classes"], values["class_weights"]
    label_rules(classes)
    require(weights.shape == classes.shape, "class_weights must be one a class")
    shape = (classes.size, features.n_features)
    require(values["class_means"].shape == shape, f"class_means must have shape {shape}")
    require((weights >= 0.0).all(), "class_weights must not be negative")
    difference = abs(float(weights.sum()) - features.weight)
    # What has faded into the subnormal numbers has few digits left.
    slack = _ROUNDING * features.weight + 1e-300
    require(difference <= slack, "class_weights must add up to the weight of all rows")


def label_rules(labels: Any) -> None:
    """Require labels that are sorted and distinct."""
    require(labels.size < 2 or (labels[1:] > labels[:-1]).all(), "classes must ascend")


def reservoir_rules(values: Values) -> None:
    """Require as many scores, weights and targets as there are rows kept, best first."""
    scores, rows, targets = values["scores"], values["rows"], values["targets"]
    require(scores.size <= min(values["size"], values["n_rows"]), "more rows kept than seen")
    require(values["log_weights"].shape == scores.shape, "log_weights must be one a row")
    require((np.diff(scores) <= 0.0).all(), "scores must descend")
    n_kept = 0 if rows is None else rows.shape[0]
    require(n_kept == scores.size, f"{scores.size} rows must be kept, got {n_kept}")
    require(targets is None or targets.shape == scores.shape, "targets must be one a row")


def block_rules(values: Values) -> None:
    """Require targets and weights for every row of a block."""
    n_rows = values["rows"].shape[0]
    require(n_rows > 0, "a block must hold rows")
    for name in ("targets", "weights"):
        if values[name] is not None:
            require(values[name].shape[0] == n_rows, f"{name} must be one a row")
    weights = values["weights"]
    require(weights is None or (weights >= 0.0).all(), "weights must not be negative")


def buffer_rules(values: Values) -> None:
    """Require rows that begin where the buffer does and end before its next boundary."""
    waiting, position = values["waiting"], values["position"]
    if waiting is not None:
        require(waiting.start == position, "the rows that wait must begin at the position")
        boundary = values["boundaries"].after(position)
        require(waiting.stop < boundary, "the rows that wait must end before the next boundary")


def recipe_rules(values: Values) -> None:
    """Require a basis as wide as the coordinates that reach it."""
    buckets = values["buckets"]
    if buckets is not None:
        require(buckets.n_buckets == values["basis"].n_inputs, "buckets must fill the basis")


def landmark_rules(values: Values) -> None:
    """Require a whitening of as many rows as there are landmarks."""
    landmarks, whitening = values["landmarks"], values["whitening"]
    require(whitening.shape[0] == landmarks.shape[0], "whitening must have a row a landmark")
    require(whitening.shape[1] > 0, "whitening must give features")


def subspace_rules(values: Values) -> None:
    """Require directions, none longer than one, that some input reaches."""
    directions = values["directions"]
    require(min(directions.shape) > 0, "there must be inputs and directions")
    require(np.abs(directions).max() < 1.0 + _ROUNDING, "directions must not be longer than one")


def rotation_rules(values: Values) -> None:
    """Require an orthogonal matrix of the size of the series."""
    rotation, n_terms = values["rotation"], values["series"].n_terms
    if rotation is None:
        return
    require(
        len(rotation) == n_terms and all(len(row) == n_terms for row in rotation),
        f"rotation must be {n_terms} x {n_terms}",
    )
    matrix = np.array(rotation)
    # Entries are bounded first, since their products might overflow.
    require(np.abs(matrix).max() <= 2.0, "rotation must be orthogonal")
    distance = np.abs(matrix @ matrix.T - np.eye(n_terms)).max()
    require(distance < _ROUNDING, "rotation must be orthogonal")


def map_rules(values: Values) -> None:
    """Require a histogram, a sample and a recipe that belong to the settings."""
    settings, recipe, n_rows = values["settings"], values["recipe"], values["n_rows"]
    histogram, sample = values["histogram"], values["sample"]
    require(histogram.n_rows == sample.n_rows == n_rows, f"all must have seen {n_rows} rows")
    for part in (histogram, sample):
        require(part.half_life == settings.half_life, "half_life must be that of the settings")
    require(sample.seed == settings.seed, "the sample must have the seed of the settings")
    require(_width(sample.rows, settings.n_features), "sampled rows must have the right width")
    require(recipe is not None or n_rows == 0, "rows have been seen without a map")
    if recipe is not None:
        planned_rules(settings, recipe)


def planned_rules(settings: Any, recipe: Any) -> None:
    """Require a map that may have been planned under settings."""
    basis, buckets = recipe.basis, recipe.buckets
    planned = (settings.n_components, settings.dof, settings.dtype)
    same_seed = getattr(basis, "seed", settings.seed) == settings.seed  # landmarks have none
    same_kind = isinstance(basis, _KINDS[settings.basis])
    require(
        (basis.n_components, basis.dof, recipe.dtype) == planned and same_seed and same_kind,
        "the map must be one that the settings give",
    )
    landmarks, chosen = getattr(basis, "landmarks", None), settings.landmarks
    require(_width(landmarks, settings.n_features), "landmarks must have the right width")
    require(
        chosen is None or (landmarks is not None and same_rows(landmarks, chosen.rows)),
        "landmarks must be those of the settings",
    )
    n_coordinates = settings.n_features * recipe.series.n_terms
    n_inputs = n_coordinates if buckets is None else buckets.n_buckets
    require(basis.n_inputs == n_inputs, f"the basis must have {n_inputs} inputs")


def joint_settings_rules(values: Values) -> None:
    """Require distinct columns within the rows for every descriptor, and words shared by all."""
    names, columns, parts = values["names"], values["columns"], values["parts"]
    require(len(names) > 0, "there must be a descriptor")
    require(len(names) == len(columns) == len(parts), "columns and settings must be one a name")
    require(all(isinstance(name, str) and name for name in names), "names must be words")
    require(len(set(names)) == len(names), "names must differ")
    for own, part in zip(columns, parts, strict=True):
        require(len(set(own)) == len(own) == part.n_features, "columns must be as many as read")
        require(max(own) < values["n_features"], "columns must lie within the rows")
        for word in ("half_life", "adapt", "dtype"):
            require(getattr(part, word) == getattr(parts[0], word), f"{word} must be shared")


def joint_map_rules(values: Values) -> None:
    """Require one map a descriptor under its settings, all planned or none, at one position."""
    settings, parts = values["settings"], values["parts"]
    require(tuple(part.settings for part in parts) == settings.parts, "maps of other settings")
    require(all(part.n_rows == values["n_rows"] for part in parts), "all must have seen the rows")
    planned = [part.recipe is not None for part in parts]
    require(all(planned) or not any(planned), "all descriptors must have a map, or none")


def projection_rules(values: Values) -> None:
    """Require components of all features, and the share of variance of each."""
    blocks, shares = values["vectors"].blocks, values["variance_shares"]
    require(len(blocks) > 0, "there must be components")
    sizes = [block.shape[1] for block in blocks]
    require([own.size for own in shares] == sizes, "each component must have a share")
    require(all(sizes), "each descriptor must have components")
    require(sum(block.shape[0] for block in blocks) == values["mean"].size, "means of all features")


def projected_map_rules(values: Values) -> None:
    """Require components of the features of each descriptor, after the second pass."""
    inner, projection = values["inner"], values["projection"]
    sizes = [part.n_components for part in inner.settings.parts]
    found = [block.shape[0] for block in projection.vectors.blocks]
    require(found == sizes, "components must be those of the features")
    require(inner.recipe is not None, "components must be those of a map")
    require(values["n_reread"] is None, "the second pass must be complete")


def mapped_rules(values: Values) -> None:
    """Require moments as wide as the features, and a sample where there are classes."""
    settings, labelled, sample = values["map"].settings, values["labelled"], values["sample"]
    parts = [] if labelled is None else [labelled.features]
    parts += [] if values["unlabelled"] is None else [values["unlabelled"]]
    for moments in parts:
        width = values["map"].n_components
        require(moments.n_features == width, "moments must be those of the map")
        require(moments.half_life is None, "moments of features are faded from outside")
    require((sample is None) == (not hasattr(labelled, "classes")), "classes come with a sample")
    if sample is not None:
        require(sample.half_life == settings.half_life, "half_life must be that of the settings")
        require(_width(sample.rows, settings.n_features), "sampled rows must have the right width")
        n_kept = sample.scores.size
        require((sample.targets is None) == (n_kept == 0), "sampled rows must have their labels")
        require(n_kept == 0 or np.isin(sample.targets, labelled.classes).all(), "unknown labels")


def _width(rows: Any, width: int) -> bool:
    return rows is None or int(rows.shape[1]) == width
