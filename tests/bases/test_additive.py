"""The additive basis: the exact additive kernel, hashing without bias, and every estimator."""

from itertools import pairwise

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from references import harmonic_kernel
from scipy import sparse

import streamchi2.dask
from streamchi2 import (
    ExpChi2Classifier,
    ExpChi2PCA,
    ExpChi2Regressor,
    ExpChi2Sampler,
    exp_chi2_kernel,
    river,
)
from streamchi2.bases import AdditiveBasis, HashBuckets
from streamchi2.errors import PrecisionWarning
from streamchi2.feature_map import MapBlock
from streamchi2.files import dumped, loaded

RANDOM = np.random.default_rng(0)
N_ROWS, WIDTH = 700, 6
ROWS = RANDOM.gamma(0.5, size=(N_ROWS, WIDTH)) * (RANDOM.random((N_ROWS, WIDTH)) < 0.8)
LABELS = np.array(["ham", "spam", "eggs"])[(ROWS[:, 0] > 0.4).astype(int) + (ROWS[:, 1] > 0.6)]
NUMBERS = np.sin(3 * ROWS[:, 0]) + ROWS[:, 1]
DICTS = [{f"c{j}": float(v) for j, v in enumerate(row) if v} for row in ROWS]


def sampler(n_components=None, **params):
    params = {"n_terms": 4, "random_state": 0, "dtype": "float64", "adapt": False, **params}
    return ExpChi2Sampler(n_components, basis="additive", **params)


def series_of(model):
    return model._stream.reading().feature_map.blocks[0].series


# The kernel


@pytest.mark.parametrize("series", ["direct", "chebyshev", "vz"])
@pytest.mark.parametrize("as_csr", [False, True])
def test_inner_products_are_the_additive_kernel_up_to_the_error_of_the_series(series, as_csr):
    n_terms = 5 if series == "vz" else 4
    model = sampler(series=series, n_terms=n_terms).fit(ROWS)
    features = model.transform(sparse.csr_array(ROWS[:60]) if as_csr else ROWS[:60])
    # Each of the columns errs by no more than the series does; zeros map to zeros exactly.
    positive = ROWS[ROWS > 0.0]
    bound = WIDTH * series_of(model).error_bound(positive.min(), positive.max())
    assert_allclose(features @ features.T, harmonic_kernel(ROWS[:60]), atol=bound + 1e-12)


def test_more_terms_reach_the_kernel():
    errors = []
    for n_terms in (1, 3, 6, 12):
        features = sampler(n_terms=n_terms).fit(ROWS).transform(ROWS[:60])
        errors.append(np.abs(features @ features.T - harmonic_kernel(ROWS[:60])).max())
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-3 * errors[0]


def test_the_exact_kernel_of_the_basis_is_the_additive_one():
    found = AdditiveBasis(4, 4).exact_kernel(ROWS[:50])
    # Half of the sums of rows, less their distance: sums of twelve numbers of order one.
    assert_allclose(found, harmonic_kernel(ROWS[:50]), atol=1e-13)
    assert_allclose(
        AdditiveBasis(4, 4).exact_kernel(sparse.csr_array(ROWS[:50])), found, atol=1e-13
    )


def test_the_measured_kernel_error_is_that_of_the_additive_kernel():
    model = sampler(n_terms=2).fit(ROWS)
    rows = model._stream.reading().inputs.parts[0].sample.rows.toarray()
    features = model.transform(rows)
    error = (features @ features.T - harmonic_kernel(rows))[np.triu_indices(len(rows), k=1)]
    found = model.kernel_error()
    assert found.rms == pytest.approx(np.sqrt(np.mean(error**2)), abs=1e-12)
    assert found.worst == pytest.approx(np.abs(error).max(), abs=1e-12)


@pytest.mark.parametrize("n_components", [8, 16])
def test_hashing_into_buckets_is_unbiased(n_components):
    n_seeds, rows = 400, ROWS[:20]
    model = sampler().fit(ROWS)
    whole, series = model.transform(rows), series_of(model)
    planned = sampler(n_components, random_state=3).fit(ROWS)
    assert planned._stream.reading().feature_map.blocks[0] == MapBlock(
        series,
        AdditiveBasis(n_components, n_components, model.beta_),
        HashBuckets(n_components, seed=planned._stream.feature_map.params.seed),
        "float64",
    )
    mean = np.zeros((20, 20))
    for seed in range(n_seeds):
        basis, buckets = AdditiveBasis(n_components, n_components), HashBuckets(n_components, seed)
        features = MapBlock(series, basis, buckets, "float64").transform(rows)
        mean += features @ features.T / n_seeds
    # Var <= 2 |c|^2 |c'|^2 / D for one seed; 210 correlated pairs within five deviations.
    lengths = np.linalg.norm(whole, axis=1)
    deviation = np.outer(lengths, lengths) * np.sqrt(2.0 / (n_components * n_seeds))
    assert (np.abs(mean - whole @ whole.T) <= 5.0 * deviation).all()


# How many features


def test_without_a_number_every_coordinate_is_kept():
    model = sampler().fit(ROWS)
    features = model.transform(ROWS)
    assert features.shape == (N_ROWS, 4 * WIDTH)
    assert_array_equal(features, series_of(model).transform(ROWS))


def test_more_features_than_coordinates_are_zeros():
    padded = sampler(30).fit(ROWS).transform(ROWS)
    assert_array_equal(padded[:, : 4 * WIDTH], sampler().fit(ROWS).transform(ROWS))
    assert not padded[:, 4 * WIDTH :].any()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"dof": 1.0}, "dof must be 2 with basis='additive', got 1.0"),
        ({"n_buckets": 7}, "n_buckets must be 'auto' or n_components with basis='additive'"),
        ({"n_components": 0}, "n_components must be at least 1, got 0"),
        ({"n_components": None, "basis": "orthogonal"}, "n_components must be an integer"),
    ],
)
def test_bad_params_are_refused(params, message):
    with pytest.raises((ValueError, TypeError), match=message):
        sampler().set_params(**params).fit(ROWS)


def test_basis_values_are_checked():
    with pytest.raises(ValueError, match="n_inputs must be at least 1"):
        AdditiveBasis(0, 4)
    with pytest.raises(ValueError, match="a feature for each input"):
        AdditiveBasis(5, 4).validate()


# Every estimator

DESCRIPTORS = {"low": slice(0, 3), "high": [5, 3, 4]}
MODELS = {
    "sampler": lambda **p: ExpChi2Sampler(None, basis="additive", random_state=0, **p),
    "pca": lambda **p: ExpChi2PCA(None, basis="additive", n_pca=3, random_state=0, **p),
    "classifier": lambda **p: ExpChi2Classifier(None, basis="additive", random_state=0, **p),
    "regressor": lambda **p: ExpChi2Regressor(None, basis="additive", random_state=0, **p),
    "folded": lambda **p: ExpChi2Classifier(12, basis="additive", random_state=0, **p),
    "descriptors": lambda **p: ExpChi2Classifier(
        None, basis="additive", descriptors=DESCRIPTORS, random_state=0, **p
    ),
}


def targets_of(name):
    return {"sampler": None, "pca": None, "regressor": NUMBERS}.get(name, LABELS)


def learnt(model, targets, edges):
    for start, stop in pairwise(edges):
        part = slice(start, stop)
        model.partial_fit(ROWS[part], None if targets is None else targets[part])
    return model


def answers(model):
    read = getattr(model, "decision_function", getattr(model, "predict", None))
    return model.transform(ROWS) if read is None else read(ROWS)


@pytest.mark.parametrize("name", MODELS)
def test_cutting_saving_and_reading_in_every_estimator(name):
    new, targets = MODELS[name], targets_of(name)
    whole = learnt(new(), targets, [0, N_ROWS])
    cut = learnt(new(), targets, [0, 1, 63, 200, 517])
    twin = loaded(dumped(cut))
    for model in (cut, twin):
        learnt(model, targets, [517, N_ROWS])
        assert dumped(model) == dumped(whole)
    found = answers(whole)
    assert np.isfinite(found).all()
    assert dumped(whole) == dumped(cut)


@pytest.mark.parametrize("name", MODELS)
def test_merged_shards_equal_one_pass_in_every_estimator(name):
    params = {"adapt": False, "dtype": "float64"}
    if name not in ("sampler", "pca"):
        params["alpha"] = 0.1
    new, targets = (lambda: MODELS[name](**params)), targets_of(name)
    whole = learnt(new(), targets, [0, N_ROWS])
    first = learnt(new(), targets, [0, 100])
    shards = [learnt(first.new_shard(), targets, edges) for edges in ([100, 400], [400, N_ROWS])]
    for shard in reversed(shards):
        first.merge(shard)
    found, expected = answers(first), answers(whole)
    if name == "pca":  # components are those of a scatter in another order of sums
        found, expected = np.abs(found), np.abs(expected)
    # Sums of 700 products of order one; the condition of the regression is below 700/alpha.
    assert_allclose(found, expected, atol=1e-8)


def test_additive_and_exponential_kernels_add_up():
    both = ExpChi2Classifier(
        {"sums": None, "exponential": 4096},
        basis={"sums": "additive", "exponential": "orthogonal"},
        descriptors={"sums": slice(0, WIDTH), "exponential": list(range(WIDTH))},
        n_terms=6,
        random_state=0,
    )
    both.partial_fit(ROWS[:200], LABELS[:200])
    features = both._stream.reading().feature_map.transform(ROWS[:40]).astype(np.float64)
    exact = harmonic_kernel(ROWS[:40]) + exp_chi2_kernel(ROWS[:40], beta=both.beta_["exponential"])
    # One deviation of the random features is below 1/sqrt(4096), of 780 pairs below five; the
    # series is held to a third of that.
    assert_allclose(features @ features.T, exact, atol=(5 + 1 / 3) / 64)


@pytest.mark.parametrize("name", MODELS)
def test_dask_gives_the_model_of_one_machine(name):
    params = {"adapt": False, "dtype": "float64"}
    if name not in ("sampler", "pca"):
        params["alpha"] = 0.1
    targets = targets_of(name)
    alone = MODELS[name](**params).fit(ROWS, targets)
    model = MODELS[name](**params)
    with dask.config.set(scheduler="synchronous"):
        y = None if targets is None else da.from_array(targets, chunks=150)
        streamchi2.dask.fit(model, da.from_array(ROWS, chunks=(150, WIDTH)), y)
    found, expected = answers(model), answers(alone)
    if name == "pca":
        found, expected = np.abs(found), np.abs(expected)
    assert_allclose(found, expected, atol=1e-8)


# River

RIVER = {
    "sampler": lambda: river.ExpChi2Sampler(24, basis="additive", seed=0),
    "classifier": lambda: river.ExpChi2Classifier(24, basis="additive", seed=0),
    "pca": lambda: river.ExpChi2Classifier(24, basis="additive", n_pca=8, seed=0),
    "regressor": lambda: river.ExpChi2Regressor(24, basis="additive", seed=0),
}


def one_by_one(model, name, start, stop):
    targets = NUMBERS if name == "regressor" else LABELS
    for place in range(start, stop):
        if name == "sampler":
            model.learn_one(DICTS[place])
        else:
            model.learn_one(DICTS[place], targets[place].item())
    return model


def river_answers(model, name):
    if name == "sampler":
        return [sorted(model.transform_one(row).items()) for row in DICTS[:20]]
    if name == "regressor":
        return [model.predict_one(row) for row in DICTS[:20]]
    return [sorted(model.predict_proba_one(row).items()) for row in DICTS[:20]]


@pytest.mark.parametrize("name", RIVER)
def test_river_saves_and_merges(name):
    model = one_by_one(RIVER[name](), name, 0, 150)
    twin, shard = loaded(dumped(model)), model.new_shard()
    assert river_answers(twin, name) == river_answers(model, name)
    model.merge(shard)
    assert river_answers(twin, name) == river_answers(model, name)
    one_by_one(shard, name, 150, 300)
    one_by_one(twin, name, 150, 300)
    model.merge(shard)
    assert model.n_samples_seen_ == twin.n_samples_seen_ == 300


def test_river_needs_a_number_since_names_keep_arriving():
    with pytest.raises((ValueError, TypeError), match="n_components must be"):
        river.ExpChi2Classifier(None, basis="additive").learn_one(DICTS[0], "ham")


def test_river_features_have_the_additive_kernel_without_bias():
    n_seeds, rows = 20, DICTS[:8]
    mean = np.zeros((8, 8))
    for seed in range(n_seeds):
        model = river.ExpChi2Sampler(
            32, basis="additive", n_terms=8, adapt=False, dtype="float64", seed=seed
        )
        for row in DICTS[:64]:
            model.learn_one(row)
        features = np.array([list(model.transform_one(row).values()) for row in rows])
        mean += features @ features.T / n_seeds
    exact = harmonic_kernel(ROWS[:8])
    lengths = np.sqrt(exact.diagonal())
    deviation = np.outer(lengths, lengths) * np.sqrt(2.0 / (32 * n_seeds))
    # Eight terms cost less than a hundredth of the deviation.
    assert (np.abs(mean - exact) <= 5.1 * deviation + 1e-9).all()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("dtype", "scale"), [("float32", 1e80), ("float64", 1e290)])
def test_values_whose_features_cannot_be_held_are_refused_without_a_trace(container, dtype, scale):
    """Infinite features were learnt without a word, and predict raised for ever."""
    model = ExpChi2Classifier(8, basis="additive", dtype=dtype, random_state=0)
    huge = np.where(ROWS[:100] > 0.0, 0.5, 0.0)
    huge[70, 2] = scale
    with pytest.raises(ValueError, match=r"X must be at most .* at row 70, column 2; divide X"):
        model.fit(container(huge), LABELS[:100])
    model.partial_fit(ROWS[:100], LABELS[:100])
    before = dumped(model)
    with pytest.raises(ValueError, match="X must be at most"):
        model.partial_fit(container(huge), LABELS[:100])
    assert dumped(model) == before


def test_only_columns_of_an_additive_descriptor_are_held_to_its_largest_value():
    huge = ROWS[:100].copy()
    huge[5, 1] = 1e80
    params = {"basis": {"sums": "additive", "rest": "orthogonal"}, "random_state": 0}
    some = ExpChi2Classifier(8, descriptors={"sums": [0, 2], "rest": [1, 3]}, **params)
    assert some.fit(huge, LABELS[:100]).n_samples_seen_ == 100
    all_of_them = ExpChi2Classifier(8, descriptors={"sums": [2, 1], "rest": [3]}, **params)
    with pytest.raises(ValueError, match="at row 5, column 1"):
        all_of_them.fit(huge, LABELS[:100])


@pytest.mark.parametrize("series", ["direct", "chebyshev", "vz"])
@pytest.mark.parametrize(("dtype", "scale"), [("float32", 1e59), ("float64", 1e279)])
def test_values_up_to_the_largest_are_learnt(series, dtype, scale):
    rows = ROWS / ROWS.max() * scale
    params = {"series": series, "dtype": dtype, "basis": "additive", "n_terms": 3}
    models = [ExpChi2Classifier(18, random_state=0, **params) for _ in range(2)]
    large, usual = (one.fit(X, LABELS) for one, X in zip(models, (rows, ROWS), strict=True))
    assert np.isfinite(large.predict_proba(rows)).all()
    assert large.score(rows, LABELS) > usual.score(ROWS, LABELS) - 0.02


def test_river_refuses_values_whose_features_cannot_be_held():
    learner = river.ExpChi2Classifier(16, basis="additive", seed=0)
    sampler = river.ExpChi2Sampler(16, basis="additive", seed=0)
    for row, label in zip(ROWS[:70].tolist(), LABELS.tolist(), strict=False):
        learner.learn_one(dict(enumerate(row)), label)
        sampler.learn_one(dict(enumerate(row)))
    before = dumped(learner), dumped(sampler)
    row, frame = {7: 1.0, 0: 1e80}, pd.DataFrame(ROWS[70:90])
    frame.loc[5, 1] = 1e80
    at_key = r"x must be at most 1e.60 .* got 1e.80 at key 0; divide x"
    at_row = r"X must be at most 1e.60 .* got 1e.80 at row 5; divide X"
    for call, match in (
        (lambda: learner.learn_one(row, "new"), at_key),
        (lambda: learner.observe_one(row), at_key),
        (lambda: sampler.learn_one(row), at_key),
        (lambda: learner.learn_many(frame, pd.Series(LABELS[70:90])), at_row),
        (lambda: learner.observe_many(frame), at_row),
        (lambda: sampler.learn_many(frame), at_row),
    ):
        with pytest.raises(ValueError, match=match):
            call()
    assert (dumped(learner), dumped(sampler)) == before


def test_only_descriptors_with_additive_features_limit_values():
    learner = river.ExpChi2Classifier(
        16,
        descriptors={"plain": "p", "kernel": "k"},
        basis={"plain": "additive", "kernel": "orthogonal"},
        seed=0,
    )
    learner.learn_one({"p1": 1.0, "k1": 1e80}, "a")
    with pytest.raises(ValueError, match="at key 'p1'"):
        learner.learn_one({"p1": 1e80, "k1": 1.0}, "a")
    assert learner.n_samples_seen_ == 1


def test_values_so_small_that_features_vanish_are_told():
    sampler = ExpChi2Sampler(16, basis="additive", random_state=0)
    with pytest.warns(PrecisionWarning, match="vanish in dtype='float32'"):
        sampler.fit(ROWS * 1e-200)
    ExpChi2Sampler(16, basis="additive", dtype="float64", random_state=0).fit(ROWS * 1e-200)
