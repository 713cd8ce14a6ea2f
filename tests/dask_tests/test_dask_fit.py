"""Dask: one map, statistics of partitions, one model."""

from itertools import pairwise
from unittest.mock import patch

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.delayed import delayed
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import streamchi2.dask
from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    ExpChi2Sampler,
    StreamingPCA,
    StreamingRidge,
    StreamingRidgeClassifier,
)
from streamchi2.dask.fitting import reestimated
from streamchi2.errors import StateMismatchError
from streamchi2.estimators.mapped import MapEstimator
from streamchi2.files import dumped, loaded
from streamchi2.stream import choose

RANDOM = np.random.default_rng(0)
N, WIDTH = 1500, 6
# The rows on which a map is planned are of another kind, so that k has something to adapt to; what
# that means for beta is told by a warning.
pytestmark = pytest.mark.filterwarnings("ignore:.* beta is:streamchi2.errors.PrecisionWarning")
ROWS = np.vstack([RANDOM.dirichlet(np.full(WIDTH, c), n) for c, n in ((50.0, 300), (0.3, 1200))])
LABELS = np.array(["ham", "spam", "eggs"])[np.argmax(ROWS[:, :3], axis=1)]
NUMBERS = np.sin(6 * ROWS[:, 0]) + ROWS[:, 1]

# Moments are sums of n products of float32 blocks, accumulated in float64: sums in another order
# differ by the rounding of features, 6e-8, times the condition of the ridge system, about
# n / alpha = 1.5e3 with the penalty below.
RTOL, ATOL = 1e-3, 1e-4
LEARNERS = {
    "classifier": (ExpChi2Classifier(16, alpha=1.0, random_state=0), LABELS),
    "pca classifier": (ExpChi2Classifier(16, n_pca=8, alpha=1.0, random_state=0), LABELS),
    "landmark classifier": (ExpChi2Classifier(40, basis="landmarks", alpha=1.0, random_state=0),
        LABELS),
    "descriptor classifier": (
        ExpChi2Classifier(
            16, descriptors={"left": slice(0, 3), "right": slice(3, 6)}, alpha=1.0, random_state=0
        ),
        LABELS,
    ),
    "regressor": (ExpChi2Regressor(16, alpha=1.0, random_state=0), NUMBERS),
    "regressor of two": (ExpChi2Regressor(16, alpha=1.0, random_state=0),
        np.column_stack([NUMBERS, -NUMBERS])),
    "ridge": (StreamingRidge(), NUMBERS),
    "ridge classifier": (StreamingRidgeClassifier(), LABELS),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def delayed_batches(*ends, targets=LABELS, unlabelled=()):
    """The rows cut at some positions, some parts without targets."""
    cuts = [0, *ends, N]
    parts = [slice(start, stop) for start, stop in pairwise(cuts)]
    return [
        delayed((ROWS[part], None if number in unlabelled else targets[part]), traverse=False)
        for number, part in enumerate(parts)
    ]


def feature_map_of(model):
    return model._stream.read().feature_map


def answers(model):
    for name in ("decision_function", "predict", "transform"):
        if hasattr(model, name):
            return getattr(model, name)(ROWS[::10])
    raise AssertionError(model)


@pytest.mark.parametrize("name", LEARNERS)
def test_without_adaptation_it_equals_the_fit_of_one_machine(name):
    model, targets = LEARNERS[name]
    if "adapt" in model.get_params():
        model = clone(model).set_params(adapt=False)
    alone = clone(model).fit(ROWS, targets)
    parts = delayed_batches(0, 30, 700, 710, 1500, targets=targets)  # two of them empty
    together = streamchi2.dask.fit(clone(model), parts)
    assert together.n_samples_seen_ == N
    np.testing.assert_allclose(answers(together), answers(alone), RTOL, ATOL)
    if isinstance(model, MapEstimator):
        assert feature_map_of(together) == feature_map_of(alone)
        assert together.input_histogram_ == alone.input_histogram_


def _centred(features):
    return features - features.mean(axis=0)


@settings(max_examples=6)
@given(st.lists(st.integers(0, N), max_size=6), st.sets(st.integers(0, 6)))
def test_moments_are_those_of_all_rows_under_the_final_map(ends, unlabelled):
    parts = delayed_batches(*sorted(ends), unlabelled=unlabelled)
    model = ExpChi2Classifier(64, n_terms=2, beta=1.0, n_pca=10, random_state=0)
    model = streamchi2.dask.fit(model, parts, fan_in=2)
    features = feature_map_of(model).transform(ROWS).astype(np.float64)
    statistics = model._stream.read().statistics
    moments, centred = statistics.features(), _centred(features)
    # Entries are means of n products of numbers below 1 in size, each rounded to float32.
    np.testing.assert_allclose(moments.mean, features.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(moments.scatter() / N, centred.T @ centred / N, atol=1e-6)
    n_rows = np.diff([0, *sorted(ends), N])
    assert statistics.n_labelled == N - sum(
        n_rows[number] for number in unlabelled & {*range(len(n_rows))}
    )


def test_no_partition_adapts_the_map_to_itself_and_k_is_that_of_all_rows():
    rows = ROWS * np.where(np.arange(N) < 256, 10.0, 1.0)[:, None]
    parts = [delayed((rows[part], LABELS[part])) for part in (slice(0, 256), slice(256, N))]
    model = ExpChi2Classifier(64, n_terms=2, beta=1.0, random_state=0)
    together = streamchi2.dask.fit(clone(model), parts)
    assert [transport.position for transport in together.transports_] == [N]
    tracker = clone(model).fit(rows[:64], LABELS[:64])._stream.learnt.tracker
    of_all = reestimated(tracker.absorbed(rows[64:], np.ones(N - 64), N, adapt=False), N)
    assert feature_map_of(together) == of_all.feature_map
    of_one = reestimated(tracker.absorbed(rows[64:256], np.ones(192), 256, adapt=False), 256)
    assert feature_map_of(together) != of_one.feature_map
    assert together.input_histogram_ == clone(model).fit(rows, LABELS).input_histogram_
    assert together.partial_fit(rows[:600], LABELS[:600]).n_samples_seen_ == N + 600


def test_shards_choose_no_penalty():
    chosen = []
    parts = delayed_batches(400, 800)
    model = ExpChi2Classifier(16, adapt=False, random_state=0)
    with patch("streamchi2.stream.choose", side_effect=lambda *a: chosen.append(1) or choose(*a)):
        together = streamchi2.dask.fit(model, parts)
        assert not chosen
        assert together.alpha_ > 0.0
        assert len(chosen) == 1


def test_it_goes_on_streaming_and_can_be_saved():
    model = streamchi2.dask.fit(ExpChi2Classifier(16, random_state=0), delayed_batches(100, 900))
    twin = loaded(dumped(model))
    for start in range(0, N, 500):
        for side in (model, twin):
            side.partial_fit(ROWS[start : start + 500], LABELS[start : start + 500])
    assert dumped(model) == dumped(twin)
    assert model.n_samples_seen_ == 2 * N


@pytest.mark.parametrize("ends", [(), (1480,), (10, 20)], ids=str)
@pytest.mark.parametrize("n_rows", [N, 30])
def test_every_row_is_counted_once_by_the_map(ends, n_rows):
    cuts = [0, *(end for end in ends if end < n_rows), n_rows]
    parts = [delayed((ROWS[start:stop], LABELS[start:stop])) for start, stop in pairwise(cuts)]
    model = streamchi2.dask.fit(ExpChi2Classifier(16, random_state=0), parts)
    model.partial_fit(ROWS, LABELS)
    assert model.input_histogram_.total == (n_rows + N) * WIDTH
    assert model.n_samples_seen_ == n_rows + N


@pytest.mark.parametrize("kind", [StreamingPCA, StreamingRidge, StreamingRidgeClassifier])
def test_a_partition_without_weight_is_as_good_as_none(kind):
    targets = (ROWS[:, 0] > 0.2).astype(int)
    heavy = delayed((ROWS[100:], targets[100:], np.ones(N - 100)))
    light = delayed((ROWS[:100], targets[:100], np.zeros(100)))
    together = streamchi2.dask.fit(kind(), [light, heavy])
    alone = kind().fit(ROWS[100:], targets[100:], sample_weight=np.ones(N - 100))
    assert together.n_samples_seen_ == N - 100
    np.testing.assert_array_equal(answers(together), answers(alone))


@pytest.mark.parametrize("kind", [ExpChi2Sampler, ExpChi2PCA, StreamingPCA])
def test_transformers_are_fitted_too(kind):
    parameters = {} if kind is StreamingPCA else {"random_state": 0, "adapt": False}
    model = kind(5, **parameters)
    alone = clone(model).fit(ROWS)
    together = streamchi2.dask.fit(clone(model), da.from_array(ROWS, chunks=(400, 2)))
    if kind is ExpChi2Sampler:
        np.testing.assert_array_equal(together.transform(ROWS), alone.transform(ROWS))
        assert together.input_histogram_ == alone.input_histogram_
        assert together.kernel_error().rms < 1
    else:
        # Signs of components are free, the space they span is not.
        spans = [side.components_.T @ side.components_ for side in (together, alone)]
        np.testing.assert_allclose(spans[0], spans[1], atol=1e-4)


def test_arrays_frames_and_delayed_batches_give_one_model():
    model = ExpChi2Regressor(16, random_state=0)
    chunks = (400, 400, 400, 300)
    ends = np.cumsum(chunks)[:-1]
    expected = streamchi2.dask.fit(clone(model), delayed_batches(*ends, targets=NUMBERS))
    rows, numbers = da.from_array(ROWS, chunks=(chunks, 3)), da.from_array(NUMBERS, chunks=700)
    frame = dd.from_map(
        lambda start: pd.DataFrame(ROWS[start : start + 400], columns=list("abcdef")),
        [0, 400, 800, 1200],
    )
    series = dd.from_map(lambda start: pd.Series(NUMBERS[start : start + 400]), [0, 400, 800, 1200])
    for X, y in (
        (rows, numbers),
        (frame, series),
        (
            [delayed(ROWS[e - n : e]) for e, n in zip(np.cumsum(chunks), chunks, strict=True)],
            [delayed(NUMBERS[e - n : e]) for e, n in zip(np.cumsum(chunks), chunks, strict=True)],
        ),
    ):
        found = streamchi2.dask.fit(clone(model), X, y)
        np.testing.assert_array_equal(found.coef_, expected.coef_)
        assert list(found.provenance_.values()) == [*chunks]
        again = streamchi2.dask.fit(clone(model), X, y)
        with pytest.raises(StateMismatchError, match="learnt once: both sides"):
            again.merge(found)


def test_weights_count_and_rows_of_weight_zero_do_not():
    weights = np.tile([0.0, 1.0, 2.0], N // 3)
    weights[:90] = 0.0
    model = ExpChi2Classifier(16, alpha=1.0, adapt=False, random_state=0)
    parts = [delayed((ROWS[s], LABELS[s], weights[s])) for s in (slice(0, 95), slice(95, N))]
    together = streamchi2.dask.fit(clone(model), parts)
    alone = clone(model).fit(ROWS, LABELS, sample_weight=weights)
    assert feature_map_of(together) == feature_map_of(alone)
    np.testing.assert_allclose(answers(together), answers(alone), RTOL, ATOL)
