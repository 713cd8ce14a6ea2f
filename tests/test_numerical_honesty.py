"""Awkward numbers: right answers or clear errors, never NaN, never a warning of numpy's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge

from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    ExpChi2Sampler,
    exp_chi2_kernel,
)
from streamchi2.estimators.streaming_pca import StreamingPCA
from streamchi2.estimators.streaming_ridge import StreamingRidge, StreamingRidgeClassifier
from streamchi2.testing import readings

DRAWS = np.random.default_rng(0)
ROWS = DRAWS.dirichlet(np.ones(6), size=300)
LABELS = DRAWS.integers(0, 3, 300)
NUMBERS = np.sin(5 * ROWS[:, 0]) + ROWS[:, 1]
FEATURES = DRAWS.normal(size=(300, 6))


def learners(**params):
    """Return one of every estimator that learns histograms, with what it is to learn."""
    common = {"n_components": 32, "random_state": 0, **params}
    return [
        (ExpChi2Sampler(**common), ()),
        (ExpChi2PCA(**common, n_pca=3), ()),
        (ExpChi2Classifier(**common), (LABELS,)),
        (ExpChi2Classifier(**common, n_pca=5, class_shift="quantile"), (LABELS,)),
        (ExpChi2Regressor(**common), (NUMBERS,)),
        (ExpChi2Regressor(**common, penalty="lasso", alpha=0.01), (NUMBERS,)),
    ]


def linear_learners(**params):
    return [
        (StreamingPCA(2, **params), ()),
        (StreamingRidge(alpha="auto", **params), (NUMBERS,)),
        (StreamingRidge(alpha=0.1, penalty="elastic_net", **params), (NUMBERS,)),
        (StreamingRidgeClassifier(alpha="auto", **params), (LABELS,)),
    ]


def assert_finite(model, rows):
    for name, said in readings(model, rows).items():
        if said.dtype.kind == "f":
            assert np.isfinite(said).all(), f"{name} of {model}"


AWKWARD = {
    "tiny": 1e-12 * ROWS,
    "huge": 1e12 * ROWS,
    "tiny and huge": ROWS * np.where(np.arange(300) % 2, 1e-12, 1e12)[:, None],
    "all decades": ROWS * 10.0 ** np.linspace(-12, 12, 300)[:, None],
    "smallest floats": np.full((300, 6), 5e-324),
    "largest floats": np.full((300, 6), np.finfo(np.float64).max),
    "offset": 1e6 + ROWS,
    "constant columns": np.hstack([ROWS[:, :3], np.ones((300, 3))]),
    "zeros": np.zeros((300, 6)),
    "mostly zeros": np.where(np.arange(300)[:, None] % 100 == 7, ROWS, 0.0),
    "duplicates": np.repeat(ROWS[:1], 300, axis=0),
    "one column": np.where(np.arange(6) == 2, ROWS, 0.0),
    "float32": ROWS.astype(np.float32),
    "integers": np.round(20 * ROWS).astype(np.int64),
}


@pytest.mark.filterwarnings("ignore::streamchi2.errors.PrecisionWarning")  # of all decades
@pytest.mark.parametrize("name", AWKWARD)
@pytest.mark.parametrize("n_rows", [1, 2, 70, 300])
def test_awkward_histograms_give_finite_answers(name, n_rows):
    rows = AWKWARD[name]
    for model, targets in learners():
        model.partial_fit(rows[:n_rows], *[target[:n_rows] for target in targets])
        assert_finite(model, rows)
        assert_finite(model, ROWS)


@pytest.mark.parametrize("name", sorted(AWKWARD.keys() - {"largest floats"}))
@pytest.mark.parametrize("n_rows", [1, 2, 300])
def test_awkward_features_give_finite_answers(name, n_rows):
    rows = AWKWARD[name]
    for model, targets in linear_learners():
        model.partial_fit(rows[:n_rows], *[target[:n_rows] for target in targets])
        assert_finite(model, rows)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e6, 1e12])
def test_the_scale_of_the_data_does_not_matter(scale):
    plain = ExpChi2Sampler(256, random_state=0, adapt=False).fit(ROWS)
    scaled = ExpChi2Sampler(256, random_state=0, adapt=False).fit(scale * ROWS)
    exact = exp_chi2_kernel(ROWS, beta=plain.beta_)
    assert_allclose(scaled.beta_ * scale, plain.beta_, rtol=1e-9)
    for sampler, rows in ((plain, ROWS), (scaled, scale * ROWS)):
        features = sampler.transform(rows).astype(np.float64)
        assert np.sqrt(np.mean((features @ features.T - exact) ** 2)) < 1 / np.sqrt(256)


def test_a_large_offset_costs_digits_in_proportion_and_no_more():
    offset = 1e6
    pca = StreamingPCA(3).partial_fit(FEATURES + offset)
    wanted = PCA(3).fit(FEATURES)
    # An offset c leaves eps c of every value, hence 2 eps c sigma of a variance; 64 for the sums.
    tolerance = 64 * np.finfo(float).eps * offset
    assert_allclose(pca.explained_variance_, wanted.explained_variance_, rtol=tolerance)
    ridge = StreamingRidge(alpha=1.0).partial_fit(FEATURES + offset, NUMBERS + offset)
    plain = Ridge(alpha=1.0).fit(FEATURES, NUMBERS)
    assert_allclose(ridge.coef_, plain.coef_, atol=tolerance)


@pytest.mark.parametrize("half_life", [1, 1e12])
def test_the_shortest_and_the_longest_memory(half_life):
    for model, targets in [*learners(half_life=half_life), *linear_learners(half_life=half_life)]:
        model.partial_fit(ROWS[:100], *[target[:100] for target in targets])
        for start in range(100, 300, 50):
            model.partial_fit(ROWS[start : start + 50], *[t[start : start + 50] for t in targets])
        assert_finite(model, ROWS)


def test_a_memory_of_a_trillion_rows_is_as_good_as_one_without_end():
    for (fading, targets), (plain, _) in zip(
        learners(half_life=1e12)[2:], learners()[2:], strict=True
    ):
        for model in (fading, plain):
            model.partial_fit(ROWS, *targets)
        for name, said in readings(fading, ROWS).items():
            if said.dtype.kind == "f":
                assert_allclose(said, readings(plain, ROWS)[name], atol=1e-4)


def test_a_memory_of_one_row_predicts_the_last_target():
    model = StreamingRidge(alpha=1e-3, half_life=1).partial_fit(ROWS, np.arange(300.0))
    assert abs(model.predict(ROWS[-1:])[0] - 299.0) < 1.0


@pytest.mark.parametrize("weight", [0.0, 1e-140, 1e-60, 1e60, 1e100])
def test_extreme_weights_beside_ordinary_ones(weight):
    weights = np.ones(300)
    weights[::3] = weight
    for model, targets in [*learners(), *linear_learners()]:
        model.partial_fit(ROWS, *targets, sample_weight=weights)
        assert_finite(model, ROWS)


@pytest.mark.parametrize("weight", [1e-100, 1e-30, 1e30, 1e100])
def test_equal_weights_of_any_size_give_the_model_of_no_weights(weight):
    for name in ("float32", "float64"):
        rows = FEATURES.astype(name)
        weighted = StreamingPCA(2).partial_fit(rows, sample_weight=np.full(300, weight))
        plain = StreamingPCA(2).partial_fit(rows)
        assert_allclose(weighted.components_, plain.components_, atol=1e-5)
        assert_allclose(
            weighted.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=1e-5
        )


def test_float32_features_at_the_ends_of_their_range():
    for scale in (1e-37, 1e37):
        rows = (scale * FEATURES).astype(np.float32)
        pca = StreamingPCA(2).partial_fit(rows)
        assert_allclose(
            pca.explained_variance_ratio_,
            PCA(2).fit(FEATURES).explained_variance_ratio_,
            rtol=1e-4,
        )


def test_a_weight_of_zero_is_no_row_at_all():
    weights = (np.arange(300) % 3 > 0).astype(float)
    for model, targets in learners():
        twin = type(model)(**model.get_params())
        model.partial_fit(ROWS, *targets, sample_weight=weights)
        kept = weights > 0
        twin.partial_fit(ROWS[kept], *[t[kept] for t in targets], sample_weight=weights[kept])
        for name, said in readings(model, ROWS).items():
            assert_array_equal(said, readings(twin, ROWS)[name])


def test_one_class_is_always_predicted():
    for model in (ExpChi2Classifier(32, random_state=0), StreamingRidgeClassifier()):
        model.partial_fit(ROWS, np.full(300, "only"))
        assert (model.predict(ROWS) == "only").all()
        assert_finite(model, ROWS)
    assert_array_equal(ExpChi2Classifier(8).fit(ROWS, LABELS * 0).predict_proba(ROWS), 1.0)


def test_fewer_rows_than_features_interpolate_without_a_penalty_of_note():
    model = ExpChi2Regressor(512, alpha=1e-8, random_state=0).partial_fit(ROWS[:40], NUMBERS[:40])
    assert_allclose(model.predict(ROWS[:40]), NUMBERS[:40], atol=1e-3)


def test_targets_without_variance_are_predicted_exactly():
    for model in (ExpChi2Regressor(32, random_state=0), StreamingRidge(alpha="auto")):
        model.partial_fit(ROWS, np.full(300, 7.5))
        assert_allclose(model.predict(ROWS), 7.5, rtol=1e-12)


def test_float32_features_stay_close_to_float64():
    short = ExpChi2Sampler(256, random_state=0).fit(ROWS)
    long = ExpChi2Sampler(256, random_state=0, dtype="float64").fit(ROWS)
    # Phases of size p round by about eps p, and features move by sqrt(2/D) times as much.
    largest_phase = 40.0
    tolerance = np.finfo(np.float32).eps * largest_phase * np.sqrt(2 / 256) * 8
    assert_allclose(short.transform(ROWS), long.transform(ROWS), atol=tolerance)
