"""Streams for the tests of the sampler, and what it means that two samplers are the same."""

from itertools import pairwise

import numpy as np

from streamchi2 import ExpChi2Sampler
from streamchi2.files import dumped

SEEDED = {"n_components": 64, "n_terms": 3, "random_state": 0}


def stream(n_rows, *, seed=0, width=5, growth=1.0):
    """Rows whose scale grows along the stream, so that k has to follow."""
    rows = np.random.default_rng(seed).gamma(0.5, size=(n_rows, width))
    return rows * np.linspace(1.0, growth, n_rows)[:, None]


def fed(rows, cuts=(), weights=None, **params):
    sampler = ExpChi2Sampler(**{**SEEDED, **params})
    for start, stop in pairwise([0, *cuts, rows.shape[0]]):
        if start < stop:
            part = None if weights is None else weights[start:stop]
            sampler.partial_fit(rows[start:stop], sample_weight=part)
    return sampler


def feature_map_of(sampler):
    return sampler._stream.read().feature_map


def sampled(sampler):
    """Return the rows that are kept to measure the kernel error."""
    return sampler._stream.read().tracker.parts[0].sample


def assert_same_state(left, right):
    assert feature_map_of(left) == feature_map_of(right)
    assert left.transports_ == right.transports_
    assert left.input_histogram_ == right.input_histogram_
    assert dumped(left) == dumped(right)  # all of the above, pending rows and provenance


WAYS = {
    "plain": {},
    "narrow": {"n_terms": 2, "n_components": 4000, "beta": 1.0},
    "fading": {"half_life": 800.0, "n_terms": 2},
    "folded": {"n_buckets": 16, "basis": "gaussian"},
}
