"""What must hold within the streams of river's estimators; each function refuses by FormatError."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from streamchi2.adaptive_map import AdaptiveMap
from streamchi2.errors import FormatError
from streamchi2.mapped_moments import MappedMoments
from streamchi2.persistence.checks import buffer_rules, planned_rules, require
from streamchi2.persistence.stream_checks import stream_rules
from streamchi2.persistence.tracker_records import buffer_of
from streamchi2.river.adwin import MAX_BUCKETS
from streamchi2.river.dict_rows import WIDTH
from streamchi2.river.positions import map_positions, maturity, model_positions
from streamchi2.statistics.class_moments import ClassMoments
from streamchi2.statistics.row_buffer import Block, Boundaries
from streamchi2.statistics.target_moments import TargetMoments
from streamchi2.validation import as_positive_float

Values = dict[str, Any]

_MOST_LEVELS = 63  # of buckets of 2^j rows


def error_window_rules(values: Values) -> None:
    """Require buckets that hold as many rows as the window, and no more errors than rows."""
    counts = values["counts"]
    require(1 <= len(counts) <= _MOST_LEVELS, "a window has at least one size of buckets")
    require(all(len(buckets) <= MAX_BUCKETS for buckets in counts), "too many buckets of a size")
    sizes = [1 << level for level in range(len(counts))]
    n_rows = sum(size * len(buckets) for size, buckets in zip(sizes, counts, strict=True))
    require(n_rows == values["n_rows"], f"the buckets hold {n_rows} rows")
    for size, buckets in zip(sizes, counts, strict=True):
        require(all(count <= size for count in buckets), "more errors than rows in a bucket")


def linear_rules(values: Values) -> None:
    """Require arrays of one width and one number of outputs."""
    shape = (values["centre"].size, values["intercept"].size)
    require(values["coef"].shape == shape, f"coef must have shape {shape}")
    require(shape[1] > 0, "there must be an output")


def live_rules(values: Values) -> None:
    """Require a label for every output, where there are labels."""
    labels, n_outputs = values["labels"], values["linear"].intercept.size
    require(len(labels) == n_outputs or not labels, "labels must be one an output")


def refresher_rules(values: Values) -> None:
    """Require a penalty that can be asked for, and labels where there are to be some."""
    alpha, model = values["alpha"], values["model"]
    if alpha != "gcv":
        try:
            as_positive_float(alpha, name="alpha")
        except (TypeError, ValueError) as error:
            raise FormatError(str(error)) from None
    if model is not None:
        require(bool(model.labels) == values["labels"], "labels belong to classes")


def dual_rules(values: Values) -> None:
    """Require a weight for every row, and a factor with its penalty that is no larger."""
    n_rows, factor = values["features"].shape[0], values["factor"]
    require(values["weights"].shape == (n_rows,), "weights must be one a row")
    require((values["weights"] >= 0.0).all(), "weights must not be negative")
    require((factor is None) == (values["alpha"] is None), "a factor comes with its penalty")
    if factor is not None:
        require(1 <= factor.shape[0] <= n_rows, "the factor must have at most a line a row")
        require((factor.diagonal() > 0.0).all(), "the factor must have a positive diagonal")


def positions_of(values: Values) -> tuple[Boundaries, Boundaries]:
    """Return where a stream hands rows on, and where they are absorbed."""
    if "detector" in values:
        watched = values["detector"] is not None
        return model_positions(values["tracker"].map.settings, watched=watched)
    return map_positions(values["tracker"].settings)


def map_stream_rules(values: Values) -> None:
    """Require parts that stand at one position of one stream, and a map if it has begun."""
    tracker = values["tracker"]
    adaptive = tracker.map if isinstance(tracker, MappedMoments) else tracker
    settings, start = adaptive.settings, values["queue"]["start"]
    require(settings.n_features == WIDTH, f"named rows must have {WIDTH} columns")
    require(isinstance(settings.n_buckets, int), "names need buckets")
    handed_on, absorbed = positions_of(values)
    queue_rules = {"position": start, "waiting": values["queue"]["waiting"]}
    buffer_rules({"boundaries": handed_on, **queue_rules})
    buffer_rules({"boundaries": absorbed, **values["absorbing"]})
    buffer = buffer_of(absorbed, **values["absorbing"])
    stream_rules({"tracker": tracker, "buffer": buffer})
    require(buffer.stop == start, "what is absorbed must end where the queue begins")
    for block in (values["absorbing"]["waiting"], values["queue"]["waiting"], values["first"]):
        _block_rules(block)
    _beginning_rules(values, adaptive, start)


def _beginning_rules(values: Values, adaptive: AdaptiveMap, start: int) -> None:
    first, provisional = values["first"], values["provisional"]
    young = adaptive.recipe is None
    require((provisional is not None) == (young and start > 0), "one map must be in force")
    n_first = 0 if first is None else first.rows.shape[0]
    require(n_first == (start if young else 0), "rows are kept until there is a map")
    require(first is None or first.start == 0, "the first rows must be the first")
    for recipe in (provisional, adaptive.recipe):
        if recipe is not None:
            require(recipe.buckets is not None, "names need buckets")
            planned_rules(adaptive.settings, recipe)


def _block_rules(block: Block | None) -> None:
    if block is not None:
        require(sparse.issparse(block.rows), "named rows must be sparse")
        require(block.rows.shape[1] == WIDTH, f"named rows must have {WIDTH} columns")
        require(block.weights is None or (block.weights > 0.0).all(), "weights must be positive")


def model_stream_rules(values: Values) -> None:
    """Require a model that belongs to the map, and statistics of the rows that went by."""
    map_stream_rules(values)
    moments, refresher, start = values["tracker"], values["refresher"], values["queue"]["start"]
    settings, model, labelled = moments.map.settings, refresher.model, moments.labelled
    kind = ClassMoments if refresher.labels else TargetMoments
    require(type(labelled) is kind, f"targets must be tracked by {kind.__name__}")
    require(refresher.labels or labelled.n_targets == 1, "there must be one target a row")
    require((model is None) == (start == 0), "a model must be in force from the first row on")
    if model is not None:
        fits = model.linear.centre.size == settings.n_components
        require(fits, "the model must be one of the map's features")
        require(refresher.labels or model.linear.intercept.size == 1, "there must be one output")
    if moments.sample is not None:
        seen = moments.sample.n_rows == moments.map.n_rows and labelled.features.weight > 0.0
        require(seen or moments.map.n_rows == 0, "rows must have been seen by all")
        require(moments.sample.scores.size > 0 or not seen, "rows must have been sampled")
    require(0.0 < values["memory"] <= 1.0, "memory must be above 0 and at most 1")
    if values["detector"] is not None or values["events"]:
        require(refresher.labels, "drift is found in labels")
    if values["young"] is not None:
        _young_rules(values["young"], settings, start)
    _target_rules(values)


def _target_rules(values: Values) -> None:
    """Require targets of one kind wherever rows are kept: words, numbers, or float64."""
    blocks = (values["queue"]["waiting"], values["first"])
    kept = [block.targets for block in blocks if block is not None]
    if values["young"] is not None and values["young"]["targets"] is not None:
        kept.append(values["young"]["targets"])
    for targets in kept:
        flat = targets is not None and targets.ndim == 1 and targets.dtype.names is None
        require(flat, "rows must have targets, one each")
    refresher, classes = values["refresher"], getattr(values["tracker"].labelled, "classes", None)
    if classes is None:
        for targets in kept:
            finite = targets.dtype == np.float64 and np.isfinite(targets).all()
            require(finite, "targets must be finite numbers")
        return
    words = {targets.dtype.kind == "U" for targets in (*kept, classes) if targets.size}
    known = [] if refresher.model is None else refresher.model.labels
    words |= {isinstance(label, str) for label in known}
    require(len(words) < 2, "labels must be all words or all numbers")


def _young_rules(young: Values, settings: Any, start: int) -> None:
    ridge, targets = young["ridge"], young["targets"]
    require(ridge.features.shape == (start, settings.n_components), "every row must be kept")
    require((0 if targets is None else targets.size) == start, "targets must be one a row")
    require((targets is None) == (start == 0), "rows must have targets")
    require(start < maturity(settings), "so many rows are not kept")


def seed_rules(values: Values) -> None:
    """Require the stream to have the seed of the estimator."""
    stream = values["_stream"]
    if stream is not None:
        same = stream.adaptive.settings.seed == values["_seed"]
        require(same, "seed must be that of the stream")


def classifier_rules(values: Values) -> None:
    """Require labels of the kind that the model has, words or numbers."""
    seed_rules(values)
    stream, labels = values["_stream"], values["_labels"]
    if stream is None:
        return
    require(stream.refresher.labels, "a classifier has labels")
    if stream.model is not None:
        known = stream.model.labels
        same = bool(labels) and isinstance(labels[0], str) == isinstance(known[0], str)
        require(same, "labels must be of the kind that the model has")


def regressor_rules(values: Values) -> None:
    """Require a stream of numbers."""
    seed_rules(values)
    stream = values["_stream"]
    require(stream is None or not stream.refresher.labels, "a regressor has no labels")
