"""Rows and targets for models with a map, and what can be read of them."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np

N_ROWS, WIDTH = 1200, 5
_rng = np.random.default_rng(0)
ROWS = _rng.gamma(0.6, size=(N_ROWS, WIDTH))
LABELS = np.array(["ham", "spam", "eggs"])[(ROWS[:, 0] > 0.4).astype(int) + (ROWS[:, 1] > 1)]
TARGETS = np.column_stack([np.sin(3 * ROWS[:, 0]), ROWS[:, 1] - ROWS[:, 2]])


def flat(reading):
    """Return a reading as one array, those of several descriptors one after the other."""
    parts = reading.values() if isinstance(reading, dict) else [reading]
    return np.concatenate([_numbers(part) for part in parts])


def _numbers(part):
    if isinstance(part, tuple):  # of Transports
        part = [astuple(transport) for transport in part]
    return np.ravel(np.array(part, dtype=float))


def feature_map_of(model):
    """Return the map from rows to features that a model uses now."""
    return model._stream.read().feature_map


def features_of(model, rows):
    """Return the features of rows under the map of a model, in float64."""
    return feature_map_of(model).transform(rows).astype(np.float64)
