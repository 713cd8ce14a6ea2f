"""Fading on request, single folded rows and nested limits: what the river adapter relies on."""

import numpy as np
import pytest
from scipy import sparse

from streamchi2.adaptive_map import AdaptiveMap
from streamchi2.map_plan import BASES, MapSettings, planned_map
from streamchi2.mapped_moments import MappedMoments, with_labels
from streamchi2.runtime.blas import _blas, one_blas_thread
from streamchi2.statistics.class_moments import ClassMoments
from streamchi2.statistics.log_histogram import LogHistogram
from streamchi2.statistics.reservoir import Reservoir
from streamchi2.statistics.target_moments import TargetMoments

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.dirichlet(np.ones(10), size=80) * (RANDOM.random((80, 10)) < 0.7)


def settings(**words):
    usual = {
        "n_features": 2**62, "n_components": 64, "beta": "auto", "dof": 2.0, "series": "direct",
        "n_terms": 3, "basis": "orthogonal", "n_buckets": 128, "adapt": True, "half_life": None,
        "seed": 0, "dtype": "float32",
    }  # fmt: skip
    return MapSettings(**{**usual, **words})


def wide(rows):
    return sparse.csr_array(
        (rows.ravel(), np.tile(np.arange(10) * 2**40, len(rows)), 10 * np.arange(len(rows) + 1)),
        shape=(len(rows), 2**62),
    )


@pytest.mark.parametrize("half_life", [None, 30.0])
def test_a_faded_histogram_is_that_of_lighter_rows(half_life):
    faded = LogHistogram(half_life=half_life).update(ROWS[:40]).fade(0.25).update(ROWS[40:])
    weights = np.repeat([0.25, 1.0], 40)
    lighter = LogHistogram(half_life=half_life).update(ROWS, sample_weight=weights)
    np.testing.assert_allclose(faded.weights, lighter.weights)
    assert faded.n_zeros == pytest.approx(lighter.n_zeros)


def test_a_faded_sample_is_that_of_lighter_rows():
    faded, lighter = Reservoir(10, seed=0), Reservoir(10, seed=0)
    faded.absorb(ROWS[:40])
    faded.fade(0.01)
    faded.absorb(ROWS[40:])
    lighter.absorb(ROWS, np.repeat([0.01, 1.0], 40))
    np.testing.assert_allclose(faded.rows.toarray(), lighter.rows.toarray())
    np.testing.assert_allclose(faded.importance(), lighter.importance())


def test_faded_statistics_are_those_of_lighter_rows():
    labels = with_labels(np.arange(80) % 3)
    words = settings(adapt=False)
    recipe = planned_map(words, wide(ROWS), None, LogHistogram().update(ROWS))
    faded, lighter = (MappedMoments(AdaptiveMap(words, recipe), ClassMoments(64)) for _ in range(2))
    faded.update(wide(ROWS[:40]), labels[:40]).fade(0.5)
    faded.update(wide(ROWS[40:]), labels[40:])
    lighter.update(wide(ROWS), labels, weights=np.repeat([0.5, 1.0], 40))
    ours, theirs = faded.labelled.summary(), lighter.labelled.summary()
    np.testing.assert_allclose(ours.scatter, theirs.scatter, atol=1e-5)
    np.testing.assert_allclose(ours.cross, theirs.cross, atol=1e-5)


def test_re_estimation_on_request_happens_at_any_position():
    adaptive = AdaptiveMap(settings(n_components=4096, beta=3.0))
    adaptive.update(wide(30.0 * ROWS[:64]))  # so that k is far too large for what follows
    for _ in range(5):
        adaptive.absorb(wide(ROWS))
    assert not adaptive.transports
    adaptive.fade(0.01).reestimate()
    assert [transport.position for transport in adaptive.transports] == [464]


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_folded_row_has_the_features_of_a_matrix(basis, dtype):
    recipe = planned_map(
        settings(basis=basis, dtype=dtype), wide(ROWS), None, LogHistogram().update(ROWS)
    )
    matrix = wide(ROWS[:3])
    buckets, signs = recipe.buckets.places(matrix.indices[:10], 3)
    single = [recipe.transform_row(row, buckets, signs) for row in ROWS[:3]]
    tolerance = 1e-5 if dtype == "float32" else 1e-13
    np.testing.assert_allclose(single, recipe.transform(matrix), atol=tolerance)


@pytest.mark.parametrize("tracker", [ClassMoments(3), TargetMoments(3, 1)])
def test_one_triangle_of_the_scatter_is_its_lower_one(tracker):
    targets = np.arange(80) % 2 if isinstance(tracker, ClassMoments) else ROWS[:, 3:4]
    tracker.update(ROWS[:, :3], targets)
    lower = tracker.summary(whole=False).scatter
    np.testing.assert_array_equal(np.tril(tracker.summary().scatter), np.tril(lower))


def test_leaving_an_inner_limit_does_not_lift_the_outer_one():
    with one_blas_thread:
        with one_blas_thread:
            pass
        assert {library.num_threads for library in _blas()} == {1}
