"""What must hold between a tracker, the rows that wait before it and the estimator around it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from streamchi2.adaptive_map import AdaptiveMap
from streamchi2.any_map import AnyMap
from streamchi2.errors import FormatError
from streamchi2.mapped_moments import MappedMoments
from streamchi2.persistence.checks import label_rules, require
from streamchi2.runtime.threads import n_workers
from streamchi2.statistics.class_moments import ClassMoments
from streamchi2.statistics.moments import Moments
from streamchi2.statistics.row_buffer import Block
from streamchi2.statistics.target_moments import TargetMoments

Values = dict[str, Any]


def stream_rules(values: Values) -> None:
    """Require a position that the tracker shares, and waiting rows that it could absorb."""
    tracker, buffer = values["tracker"], values["buffer"]
    seen = _map_of(tracker)
    if seen is not None:
        require(seen.n_rows == buffer.position, "map and buffer must stand at one position")
    if isinstance(tracker, MappedMoments):
        try:
            n_workers(tracker.n_jobs)
        except (ValueError, TypeError) as error:
            raise FormatError(str(error)) from None
    waiting = buffer.pending()
    if waiting is not None:
        _waiting_rules(tracker, waiting)


def _waiting_rules(tracker: Any, waiting: Block) -> None:
    rows, width = waiting.rows, width_of(tracker)
    require(rows.shape[1] == width, f"the rows that wait must have {width} columns")
    seen = _map_of(tracker)
    if seen is None:
        require(not sparse.issparse(rows), "features must be dense")
    elif not sparse.issparse(rows):
        require((rows >= 0.0).all(), "the rows that wait must not be negative")
    labelled, targets = _labelled_of(tracker), waiting.targets
    if isinstance(labelled, ClassMoments):
        marked = seen is not None
        require(targets is not None and targets.ndim == 1, "the rows that wait must have labels")
        assert targets is not None
        require((targets.dtype.names is not None) == marked, "labels of another kind of stream")
    elif isinstance(labelled, TargetMoments):
        shape = (rows.shape[0], labelled.n_targets)
        require(targets is not None and targets.shape == shape, f"targets must have shape {shape}")
        assert targets is not None
        known = seen is not None or np.isfinite(targets).all()
        require(targets.dtype == np.float64 and known, "targets must be finite numbers")
    else:
        require(targets is None, "there must be no targets")


def column_rules(values: Values) -> None:
    """Require a stream of the estimator's width, and as many names as columns."""
    width = width_of(values["_stream"].tracker)
    require(values["n_features_in_"] == width, f"the stream must have {width} columns")
    names = values["feature_names_in_"]
    require(names is None or names.size == width, f"there must be {width} names of columns")


def known_class_rules(values: Values) -> None:
    """Require sorted labels that include all that the stream has shown."""
    column_rules(values)
    known = values["_known"].labels
    label_rules(known)
    shown = [_labelled_of(values["_stream"].tracker).classes]
    waiting = values["_stream"].buffer.pending()
    if waiting is not None:
        targets = waiting.targets
        shown.append(targets["label"][targets["given"]] if targets.dtype.names else targets)
    for labels in shown:
        if labels.size:
            words = [side.dtype.kind == "U" for side in (labels, known)]
            agree = words[0] == words[1] and np.isin(labels, known).all()
            require(agree, "all labels of the stream must be known")


def descriptor_rules(adaptive: Any, words: Any) -> None:
    """Require words for each descriptor where there are descriptors, and nowhere else."""
    n_pca, linear = words.n_pca, words.linear
    if isinstance(adaptive, AdaptiveMap):
        require(not isinstance(n_pca, tuple), "n_pca for each descriptor, but there are none")
        chosen = linear is not None and linear.penalty == "group_lasso"
        require(not chosen, "group_lasso needs descriptors")
    elif n_pca is not None:
        fits = isinstance(n_pca, tuple) and len(n_pca) == len(adaptive.settings.names)
        require(fits, "n_pca must be one for each descriptor")


def target_shape_rules(values: Values) -> None:
    """Require one target a row where targets are flat."""
    column_rules(values)
    labelled = _labelled_of(values["_stream"].tracker)
    require(labelled.n_targets == 1 or not values["_flat_targets"], "flat targets are one a row")


def width_of(tracker: Any) -> int:
    """Return the width of the rows that a tracker absorbs."""
    seen = _map_of(tracker)
    if seen is not None:
        return seen.settings.n_features
    moments: Moments = getattr(tracker, "features", tracker)
    return moments.n_features


def _labelled_of(tracker: Any) -> Any:
    return tracker.labelled if isinstance(tracker, MappedMoments) else tracker


def _map_of(tracker: Any) -> AnyMap | None:
    if isinstance(tracker, MappedMoments):
        found: AnyMap = tracker.map
        return found
    return tracker if isinstance(tracker, AdaptiveMap) else None
