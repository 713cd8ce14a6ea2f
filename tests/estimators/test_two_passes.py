"""Two passes over a source: the model of one pass, without the joint scatter."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mapped_models import LABELS, ROWS, TARGETS, WEIGHTS, feature_map_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import Ridge

from streamchi2 import ExpChi2Classifier, ExpChi2PCA, ExpChi2Regressor
from streamchi2.errors import StateMismatchError
from streamchi2.persistence import dumped, loaded
from streamchi2.statistics.block_moments import BlockMoments
from streamchi2.statistics.moments import Moments

TWO = {"low": slice(0, 2), "high": [4, 2, 3]}
EXACT = {"adapt": False, "dtype": "float64"}
SCATTER = 8 * 24**2  # bytes


def batches(targets, n_rows=1100, *, weighted=False):
    """Some batches, one of them without targets."""
    edges = [0, 150, 250, 600, n_rows]
    found = []
    for place, (start, stop) in enumerate(pairwise(edges)):
        part = slice(start, stop)
        own = None if place == 1 else targets[part]
        found.append((ROWS[part], own, *((WEIGHTS[part],) if weighted else ())))
    return found


def model_of(kind=ExpChi2Regressor, **params):
    params = {"n_components": 24, "n_terms": 3, "random_state": 0, "n_pca": 9} | params
    return kind(**{"descriptors": TWO} | params)


def both(kind, source, **params):
    one, two = (model_of(kind, **params) for _ in range(2))
    one.fit_stream(source, memory_budget=SCATTER)
    two.fit_stream(source, memory_budget=SCATTER - 1)
    return one, two


@given(
    n_pca=st.one_of(st.integers(2, 20), st.just(0.9), st.just({"low": 3, "high": 0.8})),
    params=st.sampled_from(
        [{}, {"half_life": 300.0}, {"penalty": "group_lasso", "alpha": 1e-3}, {"alpha": 1.0}]
    ),
    weighted=st.booleans(),
)
@settings(max_examples=10)
def test_two_passes_equal_one_pass(n_pca, params, weighted):
    source = batches(TARGETS, weighted=weighted)
    one, two = both(ExpChi2Regressor, source, n_pca=n_pca, **EXACT, **params)
    # Sums of float64 in another order; a component turns by rounding over the gap to its
    # neighbour, and by GCV or alpha at most 1e6 of it comes through.
    atol = 1e-7 * np.abs(TARGETS).max()
    assert_allclose(two.predict(ROWS), one.predict(ROWS), atol=atol)
    assert_allclose(two.coef_, one.coef_, atol=1e-6 * np.abs(one.coef_).max())
    assert_allclose(two.alpha_, one.alpha_)
    for name, shares in one.explained_variance_ratio_.items():
        assert_allclose(two.explained_variance_ratio_[name], shares, atol=1e-10)
        assert two.kernel_error()[name] == one.kernel_error()[name]


def test_two_passes_equal_explicit_projection():
    source = [(ROWS[:700], TARGETS[:700]), (ROWS[700:1100], TARGETS[700:1100])]
    _, two = both(ExpChi2Regressor, source, alpha=0.5, **EXACT)
    features = feature_map_of(two).transform(ROWS)
    blocks = []
    for part, n in zip(np.split(features, 2, axis=1), (5, 4), strict=True):
        centred = part[:1100] - part[:1100].mean(axis=0)
        blocks.append(part @ np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :n])
    projected = np.hstack(blocks)
    explicit = Ridge(0.5).fit(projected[:1100], TARGETS[:1100])
    assert_allclose(two.predict(ROWS), explicit.predict(projected), atol=1e-8)


def test_classifiers_agree_in_their_probabilities_too():
    one, two = both(ExpChi2Classifier, batches(LABELS), calibrate="quantile", **EXACT)
    assert_array_equal(two.classes_, one.classes_)
    assert_allclose(two.decision_function(ROWS), one.decision_function(ROWS), atol=1e-7)
    assert_allclose(two.predict_proba(ROWS), one.predict_proba(ROWS), atol=1e-6)


def test_maps_that_adapt_agree_within_what_transport_has_moved():
    growing = ROWS * np.linspace(0.2, 3.0, len(ROWS))[:, None]
    source = [(growing[:700], TARGETS[:700]), (growing[700:], TARGETS[700:])]
    params = {"alpha": 1.0, "n_components": 300, "n_terms": 3, "n_pca": 9}
    one, two = (model_of(**params) for _ in range(2))
    one.fit_stream(source)
    two.fit_stream(source, memory_budget="100kB")
    moved = sum(one.transport_residual_.values())
    assert moved > 0.01
    assert two.transports_ == one.transports_
    # A penalised fit answers to features that moved by a share with scores that moved by less.
    known = one.predict(growing)
    difference = np.sqrt(np.mean((two.predict(growing) - known) ** 2))
    assert 1e-4 * moved < difference < moved * np.sqrt(np.mean(known**2))


def test_what_two_passes_have_learnt_is_saved_copied_and_goes_on():
    one, two = both(ExpChi2Regressor, batches(TARGETS), alpha=1.0, **EXACT)
    assert two.n_samples_seen_ == one.n_samples_seen_ == 1100
    twins = [loaded(dumped(two)), pickle.loads(pickle.dumps(two))]
    for model in (one, two, *twins):
        model.partial_fit(ROWS[1100:], TARGETS[1100:]).observe(ROWS[:50])
    for twin in twins:
        assert_array_equal(twin.predict(ROWS), two.predict(ROWS))
        assert dumped(twin) == dumped(two)
    assert two.input_histogram_ == one.input_histogram_
    assert two.kernel_error() == one.kernel_error()
    # The components stay those of the first pass.
    vectors = two._stream.feature_map.projection.vectors
    projected = vectors.coordinates(feature_map_of(two).transform(ROWS))
    labelled = np.r_[0:150, 250 : len(ROWS)]
    explicit = Ridge(1.0).fit(projected[labelled], TARGETS[labelled])
    assert_allclose(two.predict(ROWS), explicit.predict(projected), atol=1e-8)


def test_shards_of_what_two_passes_have_learnt_merge():
    _, two = both(ExpChi2Regressor, batches(TARGETS), alpha=1.0, **EXACT)
    whole = loaded(dumped(two)).partial_fit(ROWS[1100:], TARGETS[1100:])
    shard = two.new_shard().partial_fit(ROWS[1100:], TARGETS[1100:])
    assert_allclose(two.merge(shard).predict(ROWS), whole.predict(ROWS), atol=1e-9)
    other = both(ExpChi2Regressor, batches(TARGETS, 900), alpha=1.0, **EXACT)[1]
    with pytest.raises(StateMismatchError, match="components must be those of the same first pass"):
        two.merge(other)


def test_what_one_pass_has_learnt_does_not_merge_with_what_two_have():
    one, two = both(ExpChi2Regressor, batches(TARGETS), alpha=1.0)
    for left, right in ((one, two), (two, one)):
        before = dumped(left)
        with pytest.raises(StateMismatchError, match=r"same first pass|one pass or all in two"):
            left.merge(right)
        assert dumped(left) == before


def test_components_about_another_mean_are_others():
    projection = both(ExpChi2Regressor, batches(TARGETS))[1]._stream.feature_map.projection
    assert projection != replace(projection, mean=projection.mean + 1.0)


def test_components_that_are_settled_do_not_change_their_number():
    two = both(ExpChi2Regressor, batches(TARGETS))[1]
    for n_pca in (4, None, 0.5):
        with pytest.raises(ValueError, match="n_pca must not change after two passes"):
            two.set_params(n_pca=n_pca).partial_fit(ROWS[:5], TARGETS[:5])
    assert two.set_params(n_pca=9).partial_fit(ROWS[:5], TARGETS[:5]).n_samples_seen_ == 1105


def test_a_share_of_the_variance_is_settled_too():
    two = both(ExpChi2Regressor, batches(TARGETS), n_pca=0.9)[1]
    assert two.partial_fit(ROWS[:5], TARGETS[:5]).n_samples_seen_ == 1105
    for n_pca in (0.5, 0.999):
        with pytest.raises(ValueError, match="n_pca must not change after two passes"):
            two.set_params(n_pca=n_pca).partial_fit(ROWS[:5], TARGETS[:5])


def test_tables_are_read_twice_too(tmp_path):
    frame = pd.DataFrame(ROWS, columns=list("abcde")).assign(answer=TARGETS[:, 0])
    frame.to_parquet(tmp_path / "rows.parquet")
    model = model_of(descriptors={"low": ["a", "b"], "high": ["e", "c", "d"]}, **EXACT)
    path = tmp_path / "rows.parquet"
    model.fit_stream(path, target="answer", memory_budget="1kB")
    plain = model_of(**EXACT).fit(ROWS, TARGETS[:, 0])
    assert_allclose(model.predict(frame[list("abcde")]), plain.predict(ROWS), atol=1e-7)
    assert list(model.provenance_.values()) == [len(ROWS)]


def test_what_cannot_be_read_twice_is_refused_without_a_trace():
    model = model_of()
    source = batches(TARGETS)
    bad = [*source[:2], (-ROWS[:3], TARGETS[:3])]
    refusals = [
        (TypeError, "read twice", {}, iter(source)),
        (ValueError, "unless n_pca is given", {"n_pca": None}, source),
        (ValueError, "Negative values", {}, bad),
    ]
    for kind, rule, params, refused in refusals:
        model.set_params(**{"n_pca": 9} | params)
        with pytest.raises(kind, match=rule):
            model.fit_stream(refused, memory_budget="1kB")
        assert not hasattr(model, "coef_")
    model.set_params(n_pca=9)

    class Shrinking:
        n_left = 4

        def __iter__(self):
            self.n_left -= 1
            return iter(source[: self.n_left])

    with pytest.raises(ValueError, match="same rows when it is read again, got 600 rows and then"):
        model.fit_stream(Shrinking(), memory_budget="1kB")
    assert not hasattr(model, "coef_")
    for params in ({"checkpoint": "file", "source_name": "rows"}, {"forget": False}):
        with pytest.raises(ValueError, match="two passes start afresh and have no checkpoints"):
            model.fit_stream(source, memory_budget=1, **params)
    for budget in (0, -1, "4 gigs", 1.5, True, "0GB"):
        with pytest.raises(ValueError, match="memory_budget must be a positive number"):
            model.fit_stream(source, memory_budget=budget)
    plain = ExpChi2Regressor(8, random_state=0).fit_stream(source, memory_budget=1)
    assert plain.n_samples_seen_ == 1100  # without descriptors there is no choice


def test_components_of_descriptors_need_no_joint_scatter():
    pca = model_of(ExpChi2PCA).fit(ROWS)
    blocks = pca._stream.statistics.unlabelled
    assert isinstance(blocks, BlockMoments)
    assert [part.upper.shape for part in blocks.parts] == [(12, 12), (12, 12)]
    assert_array_equal(loaded(dumped(pca)).transform(ROWS), pca.transform(ROWS))


def test_block_moments_are_the_blocks_of_the_moments():
    rows = np.random.default_rng(0).normal(size=(300, 5))
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    whole, blocks = Moments(5), BlockMoments.of_sizes((2, 3))
    for moments in (whole, blocks):
        moments.update(rows[:200], weights=weights[:200]).fade(0.5)
        moments.merge(moments.copy().update(rows[200:]))
    for own in blocks.owns:
        # The same sums, in panels of another width.
        assert_allclose(blocks.part(own).scatter(), whole.part(own).scatter(), rtol=1e-12)
    assert_allclose(blocks.mean, whole.mean, rtol=1e-12)
    assert blocks.weight == whole.weight
    with pytest.raises(StateMismatchError, match="sizes must agree"):
        blocks.merge(BlockMoments.of_sizes((3, 2)))
