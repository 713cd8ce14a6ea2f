"""From what a stream has learnt to a choice and a model, in dual form and from moments."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import ElasticNet, Ridge, RidgeClassifier
from solvers.regressions import drawn, refitted_residuals

from streamchi2.errors import NoTargetError
from streamchi2.model import LearnerSpec, choose, components_of, descriptor_entries, fit, is_dual
from streamchi2.statistics.feature_statistics import FeatureStatistics
from streamchi2.statistics.sample import keys_of
from streamchi2.statistics.targets import Targets

FORMS = {"dual": 10**6, "primal": 0}  # rows kept


def learnt_of(rows, y, weights=None, *, cap=0, sizes=None, by_class=False):
    """What a stream without a map has learnt of labels, -1 where absent, or of columns."""
    codes, targets = y, Targets("labels")
    if y.ndim == 2:
        targets = Targets.of_columns("numbers", y)
        targets, codes = targets.encode(y)
    else:
        has = y != -1
        targets, some = targets.encode(y[has])
        codes = np.full(len(y), -1)
        codes[has] = some
    learnt = SimpleNamespace(feature_map=None, targets=targets)
    weights = np.ones(len(rows)) if weights is None else weights
    origin, keys = rows.mean(axis=0), keys_of(rows, 0)
    learnt.statistics = FeatureStatistics(
        sizes or (rows.shape[1],),
        origin,
        np.zeros(targets.n_columns) if codes.ndim == 1 else codes.mean(axis=0),
        cap=cap,
        by_class=by_class,
    )
    learnt.statistics.add(rows, codes, targets.n_columns, weights, keys)
    return learnt


def classes_of(seed, n_rows=120, width=8, n_classes=3):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n_rows)
    centres = rng.normal(size=(n_classes, width))
    return centres[labels] + rng.normal(size=(n_rows, width)), labels


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_left_out_errors_and_the_model_are_those_of_scikit_learn(form, weighted, intercept):
    rows, targets = drawn(0, 50, n_targets=2, noise=5.0)
    weights = np.random.default_rng(0).uniform(0.5, 3.0, 50) if weighted else np.ones(50)
    learnt = learnt_of(rows, targets, weights, cap=FORMS[form])
    spec = LearnerSpec(fit_intercept=intercept)
    assert is_dual(learnt, spec) == (form == "dual" and intercept)
    choice = choose(learnt, spec)
    residuals = refitted_residuals(rows, targets, weights, choice.alpha, intercept)
    # Squares in units of the variances, capped where tails are heavy.
    means = weights @ targets / weights.sum() if intercept else 0.0
    variances = weights @ (targets - means) ** 2 / weights.sum()
    squares, expected = residuals**2 / variances, choice.expected
    assert_allclose(expected.largest, np.quantile(squares, 0.99, axis=0), rtol=1e-6)
    squares = np.minimum(squares, expected.largest)
    low = weights @ (squares[:, 0] * (targets[:, 0] <= expected.edges[0, 1]))
    of_low = weights @ (targets[:, 0] <= expected.edges[0, 1])
    assert_allclose(expected.errors[0], low / of_low, rtol=1e-6)
    assert_array_equal(expected.n_sampled.reshape(2, 8).sum(axis=1), [50, 50])
    model = fit(learnt, spec, choice)
    oracle = Ridge(choice.alpha, fit_intercept=intercept)
    oracle.fit(rows, targets, sample_weight=weights)
    assert_allclose(model.scores(rows), oracle.predict(rows), atol=1e-6)


def test_both_forms_and_copies_of_rows_agree():
    rows, labels = classes_of(0)
    again = np.repeat(np.arange(120), np.random.default_rng(0).integers(1, 4, 120))
    spec = LearnerSpec(class_shift="quantile")
    counts = np.bincount(again).astype(float)
    histories = [learnt_of(rows, labels, counts, cap=cap) for cap in FORMS.values()] + [
        learnt_of(rows[again], labels[again], cap=cap) for cap in FORMS.values()
    ]
    choices = [choose(learnt, spec) for learnt in histories]
    pairs = zip(histories, choices, strict=True)
    models = [fit(learnt, spec, choice) for learnt, choice in pairs]
    for choice, model in zip(choices[1:], models[1:], strict=True):
        assert choice.alpha == pytest.approx(choices[0].alpha, rel=1e-9)
        scores = models[0].scores(rows)
        assert_allclose(model.scores(rows), scores, atol=1e-5)
        assert_allclose(model.probabilities(scores), models[0].probabilities(scores), rtol=1e-4)


def test_copies_with_different_labels_are_left_out_together():
    rows, labels = classes_of(1, 40)
    others = (labels + 1) % 3
    twice = np.vstack([rows, rows]), np.append(labels, others)
    shares = (np.eye(3)[labels] + np.eye(3)[others]) / 2
    for cap in FORMS.values():
        learnt = learnt_of(*twice, cap=cap)
        choice = choose(learnt, LearnerSpec())
        errors = refitted_residuals(rows, shares, np.full(40, 2.0), choice.alpha)
        squares = shares.T @ np.square(errors).sum(axis=1) / shares.sum(axis=0)
        assert_allclose(choice.expected.errors, squares[list(learnt.targets.names)], rtol=1e-6)
        assert_allclose(choice.expected.n_sampled, shares.sum(axis=0)[list(learnt.targets.names)])


@pytest.mark.parametrize("form", FORMS)
def test_outputs_stand_in_the_order_of_sorted_labels(form):
    rows, labels = classes_of(2)
    names = np.array(["pear", "apple", "fig"])[labels]
    learnt = learnt_of(rows, names, cap=FORMS[form])
    model = fit(learnt, LearnerSpec(), choose(learnt, LearnerSpec()))
    assert model.labels == ["apple", "fig", "pear"]
    assert (model.classes[model.scores(rows).argmax(axis=1)] == names).mean() > 0.8
    assert_allclose(model.scores_of_row(rows[3]), model.scores(rows)[3], rtol=1e-9)
    assert_allclose(model.probabilities(model.scores(rows)).sum(axis=1), 1.0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("class_shift", [None, "quantile"])
def test_a_class_that_was_announced_changes_nothing_until_it_comes(form, class_shift):
    rows, labels = classes_of(3)
    spec = LearnerSpec(class_shift=class_shift)
    learnt = learnt_of(rows, labels, cap=FORMS[form])
    plain, early = fit(learnt, spec, choose(learnt, spec)), choose(learnt, spec)
    learnt.targets = Targets("labels", (*learnt.targets.names, 7))
    choice = choose(learnt, spec)
    assert choice.alpha == early.alpha
    assert_allclose(choice.expected.errors, [*early.expected.errors, 0.0], rtol=1e-12)
    wide, later = fit(learnt, spec, choice), fit(learnt, spec, early)
    assert_allclose(wide.scores(rows)[:, :3], plain.scores(rows), rtol=1e-9)
    assert_allclose(wide.scores(rows), later.scores(rows), rtol=1e-9)
    temperatures = [model.calibration.inverse_temperature for model in (wide, plain)]
    assert_allclose(*temperatures, rtol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_balanced_classes_are_those_of_scikit_learn(form):
    rows, labels = classes_of(4, 300)
    labels = np.where(np.random.default_rng(0).random(300) < 0.7, 0, labels)
    spec = LearnerSpec(alpha=0.5, class_weight="balanced")
    learnt = learnt_of(rows, labels, cap=FORMS[form], by_class=True)
    model = fit(learnt, spec, choose(learnt, spec))
    factors = 300 / (3 * np.bincount(labels))
    oracle = Ridge(0.5).fit(rows, np.eye(3)[labels], sample_weight=factors[labels])
    assert_allclose(model.scores(rows), oracle.predict(rows), atol=1e-6)
    errors = refitted_residuals(rows, np.eye(3)[labels], factors[labels], 0.5)
    by_class = [np.square(errors[labels == k]).sum(axis=1).mean() for k in range(3)]
    order = np.argsort(learnt.targets.names)
    assert_allclose(choose(learnt, spec).expected.errors[order], by_class, rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_classes_without_an_intercept_are_those_of_scikit_learn(form):
    rows, labels = classes_of(5)
    spec = LearnerSpec(alpha=0.3, fit_intercept=False, signed=True)
    learnt = learnt_of(rows, labels, cap=FORMS[form])
    choice = choose(learnt, spec)
    model = fit(learnt, spec, choice)
    peer = RidgeClassifier(0.3, fit_intercept=False).fit(rows, labels)
    assert_allclose(2.0 * model.scores(rows) - 1.0, peer.decision_function(rows), atol=1e-9)
    residuals = refitted_residuals(rows, 2 * np.eye(3)[labels] - 1, np.ones(120), 0.3, False) / 2
    assert_allclose(
        choice.expected.n_sampled @ choice.expected.errors, np.square(residuals).sum(), rtol=1e-9
    )


@pytest.mark.parametrize("n_pca", [3, 0.9])
def test_the_choice_after_pca_is_made_in_the_components(n_pca):
    rows, targets = drawn(6, 80, width=6, noise=5.0)
    spec = LearnerSpec(n_pca=n_pca)
    learnt = learnt_of(rows, targets, cap=1000)
    choice = choose(learnt, spec)
    vectors = components_of(learnt, n_pca).vectors
    inside = choose(learnt_of(rows @ vectors, targets), LearnerSpec())
    assert choice.alpha == inside.alpha
    assert_allclose(choice.expected.errors, inside.expected.errors, rtol=1e-6)
    expected = Ridge(choice.alpha).fit(rows @ vectors, targets).predict(rows @ vectors)
    assert_allclose(fit(learnt, spec, choice).scores(rows), expected, atol=1e-6)


def test_rows_without_targets_enter_components_alone():
    rows, labels = classes_of(7)
    half = np.where(np.arange(120) < 60, labels, -1)
    for cap in FORMS.values():
        some, all_rows = learnt_of(rows, half, cap=cap), learnt_of(rows, labels, cap=cap)
        alone = learnt_of(rows[:60], labels[:60], cap=cap)
        values = [components_of(learnt, 4).pairs[0].values for learnt in (some, all_rows)]
        assert_allclose(*values, rtol=1e-6)
        spec = LearnerSpec()
        scores = [fit(x, spec, choose(x, spec)).scores(rows) for x in (some, alone)]
        assert_allclose(*scores, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_lasso_and_group_lasso_choose_by_the_same_rows(form):
    rng = np.random.default_rng(8)
    rows = rng.normal(size=(200, 6))
    targets = rows[:, :2] @ rng.normal(size=(2, 1)) + 0.5 * rng.normal(size=(200, 1))
    learnt = learnt_of(rows, targets, cap=FORMS[form], sizes=(3, 3))
    for penalty, l1_ratio in (("lasso", 1.0), ("elastic_net", 0.5)):
        spec = LearnerSpec(penalty=penalty)
        choice = choose(learnt, spec)
        oracle = ElasticNet(alpha=choice.alpha, l1_ratio=l1_ratio, tol=1e-12)
        oracle.fit(rows, targets[:, 0])
        assert_allclose(fit(learnt, spec, choice).linear.coef[:, 0], oracle.coef_, atol=1e-6)
        error = choice.expected.errors.mean() * choice.expected.units[0]
        assert 0.2 < error < 0.35  # of noise of variance 1/4
    spec = LearnerSpec(penalty="group_lasso")
    choice = choose(learnt, spec)
    assert_array_equal(choice.scales > 0.0, [True, False])
    model = fit(learnt, spec, choice)
    assert_array_equal(model.scales, choice.scales)
    assert not model.linear.coef[3:].any()
    entries = descriptor_entries(learnt, spec)
    assert entries[0] > entries[1]
    given = LearnerSpec(penalty="group_lasso", alpha=0.5 * (entries[0] + entries[1]))
    assert not fit(learnt, given, choose(learnt, given)).linear.coef[3:].any()


@pytest.mark.parametrize("alpha", [0.0, 1e-30])
def test_hardly_any_penalty_gives_the_solution_of_least_norm(alpha):
    rows, targets = drawn(10, 30)
    rows = np.hstack([rows, rows])
    learnt, spec = learnt_of(rows, targets, cap=100), LearnerSpec(alpha=alpha)
    model = fit(learnt, spec, choose(learnt, spec))
    centred = rows - rows.mean(axis=0)
    expected = np.linalg.pinv(centred) @ (targets - targets.mean(axis=0))
    assert_allclose(model.linear.coef, expected, atol=1e-6)


def test_where_no_row_has_a_target_there_is_no_model():
    rows = classes_of(11)[0]
    learnt, spec = learnt_of(rows, np.full(120, -1)), LearnerSpec()
    for work in (choose, descriptor_entries):
        with pytest.raises(NoTargetError, match="no row has had a target yet"):
            work(learnt, spec)


def test_parameters_become_values_that_files_can_hold():
    params = {"n_pca": np.int64(5), "alpha": np.float32(0.5), "class_weight": {1: 2}}
    params |= {"descriptors": {"a": [0], "b": [1]}, "basis": "subspace"}
    spec = LearnerSpec.of(params)
    assert spec == LearnerSpec(n_pca=(3, 2), alpha=0.5, class_weight=((1, 2.0),))
    assert hash(spec) == hash(LearnerSpec.of(params))
